"""The loss of logic rules the authors' way: rule after rule, with a data-frame mask for each."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from predicates import mask


def loop_over_rules(forms: Sequence[Any], frame: pd.DataFrame, chances: Tensor) -> Tensor:
    """The mean over rules of how far the expected F1 lies outside its bounds, in widths.

    The class of a rule `... => cardio = 1` is the place in `chances`, (rows, classes).
    """
    total = chances.new_zeros(())
    for form in forms:
        body = pd.Series(True, index=frame.index)
        for part in form.body:
            body &= mask(part, frame)
        head = chances[:, int(form.head.right.value)]
        inside = head[torch.tensor(body.to_numpy())]
        f1 = 2 * inside.sum() / (len(inside) + head.sum())
        piece = form.pieces[0]
        low, high = piece.lower.value, piece.upper.value
        total = total + torch.relu(torch.maximum(low - f1, f1 - high)) / (high - low)
    return total / len(forms)


def rounding_of_loss(forms: Sequence[Any], n_rows: int, eps: float) -> float:
    """The most that two orders of adding up can move the loss apart.

    An F1 is at most 1 and a quotient of two sums of at most `n_rows` terms of one sign: each sum is
    right to `n_rows * eps / 2` of itself, the quotient to twice that, and two of them lie at most
    twice that apart. The loss counts it in widths of the rule.
    """
    pieces = [form.pieces[0] for form in forms]
    widths = [float(piece.upper.value - piece.lower.value) for piece in pieces]
    return 2 * n_rows * eps * sum(1 / width for width in widths) / len(widths)
