"""rebalance: logits for another class balance, which is found without labels (Saerens et al. 2002).

It assumes that nothing has changed but how often each class occurs. Where a feed is broken or an
instrument has lost its zero the classes only seem to be more or less frequent, and outputs alone
cannot tell the two apart: so a balance that is far from the one known is not followed unless asked.
Rules can: `adapt` estimates the balance from the table's columns.
"""

import warnings

from torch import Tensor

from sqrl.errors import AdaptError, AdaptWarning

MOST_PASSES = 1000
ENOUGH = 1e-6  # by how much a share of a class still moves
MOST = 2.0  # times as often, or as rarely, as before


def rebalance(logits: Tensor, balance: Tensor, *, most: float = MOST) -> tuple[Tensor, Tensor]:
    """The logits as they would be under the class balance of these rows, and that balance.

    `balance` is the share of each class in the data that the model was trained on. The balance of
    the rows is the one that makes them likeliest, by expectation maximisation: predict with it,
    count what is predicted, again. Where the odds of a class would be more than `most` times what
    they were, or less than its inverse, the logits stay as they are, and an AdaptWarning says so:
    pass `most=float("inf")` where nothing but the balance can have changed.
    Cost: O(rows x classes) a pass, a few dozen passes.

    Shapes: logits and the first result (rows, classes); balance and the second (classes,).

    >>> import torch
    >>> logits = torch.tensor([[9.0, 0.0], [9.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    >>> _, found = rebalance(logits, torch.tensor([0.5, 0.5]), most=4)
    >>> [round(share, 2) for share in found.tolist()]
    [0.75, 0.25]
    """
    if logits.ndim != 2 or balance.shape != logits.shape[1:] or not len(logits):
        raise AdaptError(
            f"Logits of the shape {tuple(logits.shape)} and a balance of {tuple(balance.shape)}.",
            fix="give logits of (rows, classes) and the share of each class",
        )
    if not most > 1:
        raise AdaptError(f"most is {most:g}.", where="most=", fix="give a number above 1")
    if not bool((balance > 0).all()):
        raise AdaptError("A class with a share of 0.", fix="leave it out, or give a small share")
    before = balance.double() / balance.double().sum()
    probabilities = logits.double().softmax(dim=-1)
    now = before
    for _ in range(MOST_PASSES):
        weighed = probabilities * (now / before)
        counted = (weighed / weighed.sum(dim=-1, keepdim=True)).mean(dim=0)
        moved = float((counted - now).abs().max())
        now = counted
        if moved < ENOUGH:
            break
    odds = now / (1 - now).clamp(min=1e-300) * (1 - before) / before
    if bool(((odds > most) | (odds < 1 / most)).any()):
        place = int(odds.log().abs().argmax())
        warnings.warn(
            f"The outputs look as if class {place} had a share of {float(now[place]):.1%}, where it"
            f" had {float(before[place]):.1%}. So large a change is mostly one of the inputs:"
            " nothing was done. Where only the balance can have changed, pass"
            ' most=float("inf").',
            AdaptWarning,
            stacklevel=2,
        )
        return logits.clone(), before
    return logits + (now / before).log().to(logits), now
