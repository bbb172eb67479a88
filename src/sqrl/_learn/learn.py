"""learn(): Algorithm 1 of the paper, for every rule of a schema at once."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace

from sqrl._check.evidence import with_evidence
from sqrl._data.extractors import Extractor
from sqrl._learn.bounds import FormulaMeasure, Sampler, make_measure
from sqrl._learn.build_rules import build_rules
from sqrl._learn.candidates import Template, check_limit, enumerate_candidates
from sqrl._learn.prepare import Prepared, prepare
from sqrl._learn.selection import STATUSES, Learned, jaccard, select_candidates
from sqrl._progress import Track, labelled
from sqrl._rows.questions import Asking, Of, together
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.schema import Schema


def learn(
    train: Any,
    schema: Schema | dict[str, Any] | str | None = None,
    *,
    valid: Any = None,
    label: str | None = None,
    seed: int = 0,
    keep: Literal["selected", "all"] = "selected",
    extractors: Sequence[Extractor] = (),
    limit: int | None = None,
    track: Track | None = None,
) -> RuleSet:
    """Every rule of the schema whose bounds, inferred from `train`, agree on `valid`.

    `train` and `valid` are paths, tables or dataframes; with no `valid`, a share of the train rows
    is held out. `schema` is a Schema, a mapping, a path to YAML or the name of a shipped one; with
    none, one is proposed for the `label`. `keep="all"` keeps the rejected candidates too, each
    with its status.

    Data that is larger than memory is scanned, and gives the same rules: a glob, a folder or a list
    of files, a large file, a Ray dataset, a Spark dataframe. `scan` has options for that.

    Cost: about the cost of counting: see `body_bounds` for logic rules (time grows with the sets
    of features, not with signs or classes), one sort a statistic for interval rules.

    >>> ages = {"age": list(range(100)), "kind": ["old" if a > 60 else "young" for a in range(100)]}
    >>> schema = {"let": {"Y": "values(kind)"}, "rules": ["kind = Y => ? <= age <= ?"],
    ...           "coverage": 0.9, "validate": False}
    >>> for rule in learn(ages, schema):
    ...     print(rule)
    kind = old => 63 <= age <= 97
    kind = young => 3 <= age <= 57
    """
    given = {"valid": valid, "label": label, "seed": seed, "extractors": extractors}
    data = prepare(train, schema, track=track, **given)
    check_limit(data.templates, limit or data.schema.limit)
    learned = data.rows.ask(
        [_learn_template(template, data, seed, track) for template in data.templates], track=track
    )
    rules = build_rules(learned, everything=keep == "all")
    provenance = replace(data.provenance, counts=_counts(learned))
    rules = RuleSet(rules.table, rules.nodes, data.schema, provenance)
    of: Of = "valid" if provenance.valid_rows else "train"
    return data.rows.ask([with_evidence(rules, of)], track=track)[0].with_ids()


def _learn_template(
    template: Template, data: Prepared, seed: int, track: Track | None
) -> Asking[Learned]:
    """Algorithm 1, with its lines 4 to 12 done for all abstract rules of a template at once."""
    schema = data.schema
    candidates = enumerate_candidates(template)
    measure = yield from make_measure(candidates, data.table, schema)
    train_batches = Sampler("train", schema.batches.train, seed)  # line 1
    valid_batches = Sampler("valid", schema.batches.valid, seed + 1)  # line 2
    bounding = [measure.bounds(train_batches, measure.method, track=labelled(track, "train"))]
    if data.provenance.valid_rows and schema.validate:
        method, watch = measure.method.for_validation(), labelled(track, "validation")
        bounding.append(measure.bounds(valid_batches, method, track=watch))
    bounds, *on_valid = yield from together(*bounding)  # lines 5 to 7
    agreement = np.full(candidates.n, np.nan)
    agrees = np.ones(candidates.n, np.bool_)
    if isinstance(measure, FormulaMeasure):
        agreement, agrees = measure.agreement(bounds, on_valid[0] if on_valid else None)
    elif schema.validate and on_valid:
        agreement = jaccard(bounds, on_valid[0], measure.method)  # line 8
        agrees = agreement > 1.0 - schema.validate.epsilon  # line 9
        if template.delta == 0 and template.form.bounds_rows:
            # How far the ends of all rows lie apart says how many rows there are, and the test of
            # rows beyond them is exact whatever they are: that they meet is enough.
            agrees = agreement > 0.0
    described = yield from measure.described("train")
    return select_candidates(candidates, measure, bounds, agreement, agrees, described, schema)


def _counts(learned: list[Learned]) -> dict[str, int]:
    """How many candidates there were, and what became of them."""
    counts = {"candidates": sum(part.candidates.n for part in learned)}
    for index, status in enumerate(STATUSES):
        counts[status] = sum(int((part.status == index).sum()) for part in learned)
    return counts
