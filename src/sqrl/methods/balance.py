"""rebalance: logits for another class balance, which is found without labels (Saerens et al. 2002).

It assumes that nothing has changed but how often each class occurs. Where a feed is broken or an
instrument has lost its zero it does harm: the classes then only seem to be more or less frequent.
"""

from torch import Tensor

from sqrl.errors import AdaptError

MOST_PASSES = 1000
ENOUGH = 1e-6  # by how much a share of a class still moves


def rebalance(logits: Tensor, balance: Tensor) -> tuple[Tensor, Tensor]:
    """The logits as they would be under the class balance of these rows, and that balance.

    `balance` is the share of each class in the data that the model was trained on. The balance of
    the rows is the one that makes them likeliest, by expectation maximisation: predict with it,
    count what is predicted, again. Cost: O(rows x classes) a pass, a few dozen passes.

    Shapes: logits and the first result (rows, classes); balance and the second (classes,).

    >>> import torch
    >>> logits = torch.tensor([[9.0, 0.0], [9.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    >>> _, found = rebalance(logits, torch.tensor([0.5, 0.5]))
    >>> [round(share, 2) for share in found.tolist()]
    [0.75, 0.25]
    """
    if logits.ndim != 2 or balance.shape != logits.shape[1:] or not len(logits):
        raise AdaptError(
            f"Logits of the shape {tuple(logits.shape)} and a balance of {tuple(balance.shape)}.",
            fix="give logits of (rows, classes) and the share of each class",
        )
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
    return logits + (now / before).log().to(logits), now
