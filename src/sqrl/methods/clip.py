"""Clip: outputs moved to the nearest bound of the rules about their column."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.objective import Objective
from sqrl._check.row_outcomes import interval_ends
from sqrl._language.forms import Form
from sqrl._language.tree import Name
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import AdaptError
from sqrl.methods._logits import output_of, with_output


class Clip(Objective):
    """Outputs clipped to the rules that bound a column always, such as `3 <= GCS <= 15`; no steps.

    `columns` names what the last axis of the output carries. Rules that cannot be used so are in
    `left_out`, each with its reason. A missing output (nan) stays missing.

    >>> rules = RuleSet.from_texts(["3 <= GCS <= 15", "HR <= 200", "HR > 90 => GCS <= 9"])
    >>> clip = Clip(rules, ["GCS", "HR"])
    >>> clip.finish(None, torch.tensor([[2.0, 80.0], [9.0, 230.0]]))
    tensor([[  3.,  80.],
            [  9., 200.]])
    >>> clip.left_out
    {'HR > 90 => GCS <= 9': 'it has a condition'}
    """

    has_steps = False

    def __init__(self, rules: RuleSet, columns: Sequence[str]) -> None:
        super().__init__()
        self.columns = tuple(columns)
        lower, upper = [-math.inf] * len(columns), [math.inf] * len(columns)
        self.left_out: dict[str, str] = {}
        statistics = frozenset(rules.statistics())
        for text, form in zip(rules.texts(), rules.forms(), strict=True):
            reason = _reason(form, self.columns, statistics)
            if reason is not None:
                self.left_out[text] = reason
                continue
            assert isinstance(form.subject, Name)
            place = self.columns.index(form.subject.name)
            (low,), (high,) = interval_ends(form)
            lower[place], upper[place] = max(lower[place], low), min(upper[place], high)
        if lower == [-math.inf] * len(columns) and upper == [math.inf] * len(columns):
            raise AdaptError(
                f"None of the {len(rules):,} rules bounds an output by itself.",
                where=next((f"{text} ({why})" for text, why in self.left_out.items()), None),
                fix=f"give rules such as '3 <= {self.columns[0] if columns else 'x'} <= 15'",
            )
        for name, low, high in zip(columns, lower, upper, strict=True):
            if low > high:
                raise AdaptError(
                    f"The rules leave no value for {name!r}: at least {low:g}, at most {high:g}.",
                    fix="leave one of the rules out",
                )
        self.lower = torch.tensor(lower, dtype=torch.float64)
        self.upper = torch.tensor(upper, dtype=torch.float64)

    def finish(self, batch: Any, out: Any) -> Any:  # noqa: ARG002
        """The output with what lies outside its bounds on the nearest bound."""
        values = output_of(out)
        by_column = values[..., None] if values.ndim == 1 and len(self.columns) == 1 else values
        if by_column.ndim == 0 or by_column.shape[-1] != len(self.columns):
            raise AdaptError(
                f"The model's output has the shape {tuple(values.shape)}, and "
                f"{len(self.columns)} columns are named.",
                fix="name a column for each place of the last axis, in their order",
            )
        low = _rounded(self.lower, values.dtype, math.inf).to(values.device)
        high = _rounded(self.upper, values.dtype, -math.inf).to(values.device)
        return with_output(out, by_column.clamp(low, high).reshape(values.shape))


def _reason(form: Form, columns: tuple[str, ...], statistics: frozenset[str]) -> str | None:
    """Why a rule cannot be used to clip; None where it can."""
    name = form.subject.name if isinstance(form.subject, Name) else None
    checks = {
        "it implies a class": form.implies_class,
        "it is about mini-batches": not form.is_single,
        "it bounds nothing": not form.has_bounds,
        "it has a condition": bool(form.given) or len(form.pieces) > 1,
        "it bounds an expression, not a column": name is None or name in statistics,
        f"it bounds {name!r}, which is no output": name not in columns,
    }
    return next((reason for reason, holds in checks.items() if holds), None)


def _rounded(bounds: Tensor, dtype: torch.dtype, towards: float) -> Tensor:
    """The bounds in the output's precision, rounded inwards: 3.1 has no float32, and none below."""
    near = bounds.to(dtype)
    outside = near.double() < bounds if towards > 0 else near.double() > bounds
    return torch.where(outside, torch.nextafter(near, torch.full_like(near, towards)), near)
