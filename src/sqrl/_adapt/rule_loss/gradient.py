"""Which rules can move a model: those from which a gradient flows back to its outputs."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from sqrl._adapt.rule_loss.named_tensors import Named
from sqrl._adapt.rule_loss.program import Program
from sqrl._language.forms import Form
from sqrl._rules.needed_columns import names_in, parts_of
from sqrl.errors import AdaptError


def rules_without_gradient(
    forms: Sequence[Form], program: Program, moving: frozenset[str], *, weighted: bool
) -> list[int]:
    """The rules in the program from which no gradient flows, by what depends on the model.

    One flows through what a rule bounds, and through the label's probabilities: in statistics of
    counts always, in conditions where rows are weighted by them. Comparisons of numbers are true or
    false; no gradient flows through them.
    """
    still = []
    for index, form in enumerate(forms):
        formulas, subject = parts_of(form)
        through = names_in(subject, program.statistics)
        if program.label is not None and (
            weighted or form.evidence == "counts" or form.implies_class
        ):
            through |= names_in(formulas, program.statistics) & {program.label}
        if index not in program.left_out and not through & moving:
            still.append(index)
    return still


def check_some_move(still: Sequence[str], n_rules: int, label: str | None, named: Named) -> None:
    """Raise where none of the rules can move the model, given the label of the rules."""
    if len(still) < n_rules:
        return
    fix = "let names(batch, out) compute what the rules bound from out, without detach or argmax"
    if label is not None:  # a table that has the label may have taken the prediction's place
        fix = (
            f"put the prediction last, so that no column replaces it: "
            f"{{**batch.columns, {label!r}: out.softmax(-1)}}"
        )
    fix = of_one_logit(named) or fix
    raise AdaptError(
        "No rule has a gradient: nothing that they bound depends on the model.",
        where=still[0] if still else None,
        fix=fix,
    )


def of_one_logit(named: Named) -> str | None:
    """How to give both classes where a probability came as one number a row; None elsewhere."""
    for name, values in named.numbers.items():
        if values.requires_grad and bool(((values >= 0) & (values <= 1)).all()):
            return (
                "of one logit give the probabilities of both classes, in their order:"
                f" p = out.sigmoid().flatten(); {{{name!r}: torch.stack([1 - p, p], 1)}}"
            )
    return None


def depends_on_model(out: Any) -> bool:
    """Whether a gradient can flow back from a model's output."""
    if isinstance(out, Tensor):
        return out.requires_grad
    if isinstance(out, Mapping):
        return any(map(depends_on_model, out.values()))
    if isinstance(out, Sequence) and not isinstance(out, str):
        return any(map(depends_on_model, out))
    return any(map(depends_on_model, getattr(out, "__dict__", {}).values()))
