"""Tent: predictions are made more certain (Wang et al., ICLR 2021)."""

from typing import Any, Literal, get_args

import torch
from torch import Tensor

from sqrl._adapt.objective import Context, Objective
from sqrl.errors import AdaptError, nearest
from sqrl.methods._logits import Pick, entropy, log_probabilities, logits_of, numbers_of

Task = Literal["classification", "regression"]


class Tent(Objective):
    """The mean entropy of the predictions; for regression minus the norm of the output.

    `logits` says where a model's output has them, if not in the output itself or its `logits`.

    >>> float(Tent()(None, torch.zeros(3, 2)))  # log(2), all that two classes can have
    0.6931471824645996
    >>> float(Tent(task="regression")(None, torch.tensor([[3.0, 4.0]])))
    -5.0
    """

    statistics = "adapted"
    lr, epochs = 1e-3, 5  # nothing keeps it from collapsing: small steps, and few

    def __init__(self, logits: Pick | None = None, *, task: Task = "classification") -> None:
        super().__init__()
        if task not in get_args(Task):
            raise AdaptError(f"Unknown task {task!r}.", fix=nearest(str(task), get_args(Task)))
        self.logits, self.task = logits, task

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:  # noqa: ARG002
        """The number to minimise, averaged over rows."""
        if self.task == "regression":
            # PAPER: Sec. 4.2 minimises the "negative L2 norm of the model output" after Goyal et
            # al., whose squared loss gives -1/2 ||h||^2: that is CPL("squared") here. Both have the
            # direction of h in each row; this gradient has the length 1, that one the output's.
            norms: Tensor = torch.linalg.vector_norm(numbers_of(out, self.logits), dim=1)
            return -norms.mean()
        return entropy(log_probabilities(logits_of(out, self.logits))).mean()
