"""What a schema asks for, before anything is enumerated: counts, memory and examples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from sqrl._data.extractors import Extractor
from sqrl._kernels import bounds_nbytes
from sqrl._language.forms import sentence_of
from sqrl._language.printer import to_text
from sqrl._language.tree import Each, Node, Repeat, conjunction, rewrite
from sqrl._learn.candidates import Template
from sqrl._learn.prepare import Prepared, count_units, prepare
from sqrl._rows.unit_batches import rows_in_batch
from sqrl._rules.schema import Schema

BYTES_A_CANDIDATE = 170  # indices, bounds on train and held-out rows, agreement, status: measured


@dataclass(frozen=True, slots=True)
class TemplatePlan:
    """One template: how many candidates, how much memory, and a few of the candidates."""

    text: str
    n_candidates: int
    nbytes: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What learning with a schema would do."""

    templates: tuple[TemplatePlan, ...]
    train_rows: int
    valid_rows: int
    schema: Schema

    @property
    def n_candidates(self) -> int:
        """How many candidates there are in all."""
        return sum(template.n_candidates for template in self.templates)

    @property
    def nbytes(self) -> int:
        """About how much memory learning takes beyond the table: templates come one by one."""
        return max((template.nbytes for template in self.templates), default=0)


def plan(
    train: Any,
    schema: Schema | Mapping[str, Any] | str | Path | None = None,
    *,
    valid: Any = None,
    label: str | None = None,
    unit: str | Sequence[str] | None = None,
    order: str | Sequence[str] | None = None,
    entity: str | Sequence[str] | None = None,
    seed: int = 0,
    extractors: Sequence[Extractor] = (),
) -> Plan:
    """Counts, memory and examples of the rules that `learn` would infer, without inferring them.

    >>> ages = {"age": [1.5, 2.5, 3.5, 4.5], "kind": ["a", "b", "a", "b"]}
    >>> made = plan(ages, {"let": {"Y": "values(kind)"}, "rules": ["kind = Y => ? <= age <= ?"]})
    >>> made.n_candidates, made.templates[0].examples
    (2, ('kind = a => ? <= age <= ?', 'kind = b => ? <= age <= ?'))
    """
    given = {"valid": valid, "label": label, "order": order, "entity": entity, "unit": unit}
    given |= {"seed": seed, "extractors": extractors}
    data = prepare(train, schema, **given)
    return Plan(
        tuple(
            TemplatePlan(
                template.text, template.count(), _nbytes(template, data), _examples(template)
            )
            for template in data.templates
        ),
        data.provenance.train_rows,
        data.provenance.valid_rows,
        data.schema,
    )


def _nbytes(template: Template, data: Prepared) -> int:
    """Memory for the candidates' columns and, for logic rules, the kernel's tables."""
    n_candidates = template.count()
    total = n_candidates * BYTES_A_CANDIDATE
    form = template.form
    if form.evidence != "counts" or not form.over or not template.families:
        return total
    family = next(iter(template.families.values()))
    n_heads = max(1, len(next(iter(template.values.values()), ())))
    n_units = next(iter(count_units([template], data.rows, data.schema)), 0)
    batch_rows = ceil(rows_in_batch(form.over, data.provenance.train_rows, n_units))
    kernel: int = bounds_nbytes(
        family.literals.group,
        family.literals.complete,
        family.low,
        family.high,
        n_batches=data.schema.batches.train,
        batch_rows=batch_rows,
        n_parts=n_heads + 1,
        n_heads=n_heads,
    )
    bits = len(family.literals.features) * data.schema.batches.train * batch_rows // 8
    return total + kernel + bits


def _examples(template: Template, most: int = 3) -> tuple[str, ...]:
    """The first, the last and one between of the candidates, made without enumerating."""
    examples: list[str] = []
    for share in np.linspace(0.0, 1.0, most):
        choice = {
            hole: round(share * (len(domain) - 1)) for hole, domain in template.values.items()
        }
        taken: set[Node] = set()
        for hole, domain in template.names.items():
            free = [index for index, node in enumerate(domain) if node not in taken]
            if not free:
                return tuple(examples)
            choice[hole] = free[round(share * (len(free) - 1))]
            taken.add(domain[choice[hole]])
        filled = template.fill(sentence_of(template.form), choice)
        examples.append(to_text(_show_families(filled, template, share)))
    return tuple(dict.fromkeys(examples))


def _show_families(sentence: Node, template: Template, share: float) -> Node:
    """The sentence with an example in place of enumerated literals."""

    def change(node: Node) -> Node | None:
        if isinstance(node, Repeat):
            features = template.families[node.name].literals.features
            size = min(len(features), node.low + round(share * (node.high - node.low)))
            step = max(1, len(features) // size)
            return conjunction(tuple(features[index * step] for index in range(size)))
        return node if isinstance(node, Each) else None

    return rewrite(sentence, change)
