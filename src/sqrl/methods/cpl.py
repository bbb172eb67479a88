"""CPL: conjugate pseudo-labels (Goyal et al., NeurIPS 2022)."""

from typing import Any, Literal, get_args

from torch import Tensor

from sqrl._adapt.objective import Context, Objective
from sqrl.errors import AdaptError, nearest
from sqrl.methods._logits import Pick, entropy, log_probabilities, logits_of, numbers_of

Loss = Literal["cross_entropy", "squared", "poly"]


class CPL(Objective):
    """The loss that the model was trained with, on the labels that this loss itself suggests.

    A loss f(h) - y g(h) of outputs h and labels y has the conjugate label y with
    Dg(h)' y = grad f(h), and f(h) - y(h) g(h) is minimised, through the label too:

        cross_entropy   y = softmax(h / T)                   the entropy; Tent where T = 1
        squared         y = h                                -1/2 ||h||^2
        poly            y proportional to p / (1 + eps p)    cross-entropy + eps (1 - y p)

    `temperature` is the T of the two losses with probabilities, `epsilon` that of the poly loss
    (Leng et al., ICLR 2022) in training.

    >>> import torch
    >>> float(CPL("squared")(None, torch.tensor([[3.0, 4.0]])))
    -12.5
    """

    statistics = "adapted"
    lr, epochs = 1e-3, 5  # nothing keeps it from collapsing: small steps, and few

    def __init__(
        self,
        loss: Loss = "cross_entropy",
        *,
        temperature: float = 1.0,
        epsilon: float = 1.0,
        logits: Pick | None = None,
    ) -> None:
        super().__init__()
        if loss not in get_args(Loss):
            raise AdaptError(f"Unknown loss {loss!r}.", fix=nearest(str(loss), get_args(Loss)))
        if not 0 < temperature < float("inf"):
            raise AdaptError(f"temperature is {temperature:g}.", fix="give a number above 0")
        if loss == "squared" and temperature != 1:
            raise AdaptError("The squared loss has no temperature.", fix="leave temperature out")
        if not -1 < epsilon < float("inf"):
            raise AdaptError(f"epsilon is {epsilon:g}.", fix="give a number above -1")
        self.loss, self.temperature, self.epsilon, self.logits = loss, temperature, epsilon, logits

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:  # noqa: ARG002
        """The number to minimise, averaged over rows."""
        if self.loss == "squared":
            return -numbers_of(out, self.logits).square().sum(dim=1).mean() / 2
        # The temperature belongs to the loss f(h / T) - y g(h / T), so that h / T is what label and
        # loss are both made of, as in the authors' code; with T in the label alone the two would
        # be of different losses, and the label no conjugate of either.
        log_p = log_probabilities(logits_of(out, self.logits) / self.temperature)
        if self.loss == "cross_entropy":
            return entropy(log_p).mean()
        p = log_p.exp()
        label = poly_label(p, self.epsilon)
        # The label adds up to one, so that f(h) - y g(h), with f = logsumexp(h) + eps and
        # g = h + eps p, is written without differences of large logits.
        loss = -(label * log_p).sum(dim=-1) + self.epsilon * (1 - (label * p).sum(dim=-1))
        return loss.mean()


def poly_label(p: Tensor, epsilon: float) -> Tensor:
    """The conjugate label of the poly loss for probabilities p.

    It solves (I + eps (diag p - p p')) y = p. By the formula of Sherman and Morrison that is
    p / (1 + eps p), made to add up to one: no matrix for each row.

    >>> import torch
    >>> poly_label(torch.tensor([[0.5, 0.5]]), 1.0)
    tensor([[0.5000, 0.5000]])
    """
    share = p / (1 + epsilon * p)
    return share / share.sum(dim=-1, keepdim=True)
