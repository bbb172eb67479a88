"""The kinds of rules in one table: what each says, what it needs, and which compilers leave it out.

Other code asks a form (`form.is_single`, `form.implies_class`, ...), never whether its kind has a
name. A compiler that differs from kind to kind has a table by kind of its own and looks in it with
`handler`. So a new kind is an entry here, its sentence in `forms.py`, and an entry in each of those
tables, or a reason in `refused`; `tests/test_conformance.py` says what is missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeVar

from sqrl.errors import SchemaError

Kind = Literal["sample", "batch", "logic", "class", "shares"]
Compiler = Literal["learn", "rows", "batches", "torch", "sql", "pandas"]
Layout = Literal["outcomes", "moments", "counts", "cells"]
T = TypeVar("T")

COMPILERS: Mapping[Compiler, str] = MappingProxyType(
    {
        "learn": "bounds of all candidates",
        "rows": "rows of a table, in memory or in parts",
        "batches": "mini-batches of a table, in memory or in parts",
        "torch": "tensors, with a gradient",
        "sql": "SQL",
        "pandas": "pandas",
    }
)
# What held-out rows say of a rule, by how it is tested.
EVIDENCE: Mapping[Layout, tuple[str, ...]] = MappingProxyType(
    {
        "outcomes": ("applicable", "broken"),
        "moments": ("rows", "mean", "variance"),
        "counts": ("body", "head", "both", "rows"),
        "cells": (),  # as many counts as the rule's reference has
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleKind:
    """What a kind of rules says and needs.

    `fields` are those of a form that it may use. `refused` has the reason for each compiler that
    does not take the kind.
    """

    says: str
    example: str
    template: str  # of which such a rule is learned
    fields: tuple[str, ...]
    is_single: bool  # about each row by itself, not about a mini-batch of rows
    has_bounds: bool  # a finished rule bounds a number: its pieces are intervals
    implies_class: bool  # a finished rule says that its head holds
    evidence: Layout
    refused: Mapping[Compiler, str] = field(default_factory=dict)


_ABOUT_ROWS = "it is about single rows"
_ABOUT_BATCHES: Mapping[Compiler, str] = {
    "rows": "it is about mini-batches",
    "pandas": "no single row breaks a rule about mini-batches",
}

KINDS: Mapping[str, RuleKind] = MappingProxyType(
    {
        "sample": RuleKind(
            says="a value of each row lies within bounds, perhaps others in each piece",
            example="type = Car => 0.5 <= width <= 3.3",
            template="type = Car => ? <= width <= ?",
            fields=("given", "subject", "pieces", "by"),
            is_single=True,
            has_bounds=True,
            implies_class=False,
            evidence="outcomes",
            refused={"batches": _ABOUT_ROWS},
        ),
        "batch": RuleKind(
            says="a statistic of the values of a mini-batch's rows lies within bounds",
            example="type = Car => 40 <= mean(width) <= 60 over 256",
            template="type = Car => ? <= mean(width) <= ? over 256",
            fields=("given", "statistic", "subject", "pieces", "over"),
            is_single=False,
            has_bounds=True,
            implies_class=False,
            evidence="moments",
            refused=_ABOUT_BATCHES,
        ),
        "logic": RuleKind(
            says="a statistic of how often formulas hold in a mini-batch lies within bounds",
            example="0.61 <= f1(smoke and age > 50 => cardio = 1) <= 0.66 over 4096",
            template="? <= f1(smoke and age > 50 => cardio = 1) <= ? over 4096",
            fields=("given", "statistic", "body", "head", "pieces", "over"),
            is_single=False,
            has_bounds=True,
            implies_class=False,
            evidence="counts",
            refused=_ABOUT_BATCHES,
        ),
        "class": RuleKind(
            says="where a formula holds, so does another, mostly a class",
            example="0.31 <= joy < 0.64 => sentiment = positive",
            template="? <= joy <= ? => sentiment = positive",
            fields=("given", "subject", "pieces", "head"),
            is_single=True,
            has_bounds=False,
            implies_class=True,
            evidence="outcomes",
            refused={"batches": _ABOUT_ROWS},
        ),
        "shares": RuleKind(
            says="shares of a mini-batch's rows are close to those of the reference",
            example="distance(width/4 given type) <= 0.3 over 256",
            template="distance(width/4 given type) <= ? over 256",
            fields=("given", "statistic", "axes", "reference", "pieces", "over"),
            is_single=False,
            has_bounds=True,
            implies_class=False,
            evidence="cells",
            refused={
                **_ABOUT_BATCHES,
                "torch": "which cell a row is in has no gradient",
                "sql": "its cells would make a query of thousands of terms",
            },
        ),
    }
)


def single_kinds() -> tuple[str, ...]:
    """The kinds that are about single rows, as a filter of rules names them.

    >>> single_kinds()
    ('sample', 'class')
    """
    return tuple(name for name, kind in KINDS.items() if kind.is_single)


def handler(table: Mapping[str, T], kind: str, compiler: Compiler) -> T:
    """What a compiler's table has for a kind; raises with the reason where it has nothing.

    >>> handler({"sample": 1}, "sample", "pandas")
    1
    """
    if kind in table:
        return table[kind]
    reason = KINDS[kind].refused.get(compiler, "nobody has written it") if kind in KINDS else ""
    raise SchemaError(
        f"Rules of kind {kind!r} cannot be computed on {COMPILERS[compiler]}"
        + (f": {reason}." if reason else "."),
        fix=f"leave them out: --where 'kind != {kind}'",
    )
