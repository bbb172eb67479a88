"""CoTTA: labels of an averaged model, now and then restored weights (Wang et al., CVPR 2022)."""

from typing import Any

import torch
from torch import Tensor, nn

from sqrl._adapt.model_copy import evaluating
from sqrl._adapt.objective import Context, Objective
from sqrl.errors import AdaptError
from sqrl.methods._logits import Pick, log_probabilities, logits_of
from sqrl.methods._parameters import Parameters
from sqrl.methods.memo import Augment


class CoTTA(Objective):
    """The cross-entropy to the probabilities of a teacher: the model's average over its steps.

    Rows of which the source is not sure (no probability of `confidence`) are labelled by the
    teacher's average over `n` augmentations, as for `MEMO`. After each step the teacher becomes
    `memory` teacher + (1 - memory) model, and each weight of the model is set back to the source's
    with the probability `restore`.

    Cost: n + 3 runs of the model a step, of which one is kept for the gradient.

    >>> from sqrl._adapt.objective import Context
    >>> context = Context(run=lambda x: x, source=lambda x: x, generator=torch.Generator())
    >>> x = torch.zeros(3, 2)
    >>> float(CoTTA(lambda x, generator: x)(x, x, context))  # log(2)
    0.6931471824645996
    """

    statistics = "adapted"
    lr = 1e-3
    epochs = 5

    def __init__(
        self,
        augment: Augment,
        n: int = 8,
        *,
        memory: float = 0.999,
        restore: float = 0.01,
        confidence: float = 0.92,
        logits: Pick | None = None,
    ) -> None:
        super().__init__()
        if n < 1:
            raise AdaptError(f"CoTTA with {n} augmentations.", fix="give n of at least 1")
        for name, value in (("memory", memory), ("restore", restore), ("confidence", confidence)):
            if not 0 <= value <= 1:
                raise AdaptError(f"{name} is {value:g}.", fix="give a number from 0 to 1")
        self.augment, self.n, self.memory = augment, n, memory
        self.restore, self.confidence, self.logits = restore, confidence, logits
        self._own: Parameters | None = None
        self._teacher: dict[str, Tensor] = {}

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model itself, which is its own teacher to begin with."""
        self._own, self._teacher = Parameters(model), {}
        return model

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:
        """The number to minimise, averaged over rows."""
        if context is None:
            raise AdaptError(
                "CoTTA runs the model on augmented batches, and there is no model here to run.",
                fix="use it through sqrl.adapt(model, batches, CoTTA(...)), or pass a context",
            )
        log_p = log_probabilities(logits_of(out, self.logits))
        if log_p.requires_grad and self._follow(context.generator):
            log_p = log_probabilities(logits_of(context.run(batch), self.logits))
        label = self._labels(batch, context)
        if label.shape != log_p.shape:
            raise AdaptError(
                f"The model gives the shape {tuple(log_p.shape)}, on augmented batches "
                f"{tuple(label.shape)}.",
                fix="let augment keep the number of rows and their order",
            )
        return -(label * log_p).sum(dim=-1).mean()

    def _follow(self, generator: torch.Generator) -> bool:
        """What comes after a step, made before the next one; whether weights were set back."""
        # PAPER: Eq. 2, then Eq. 6 and 7. Nobody calls a method after the last step, whose average
        # and restoring are left out.
        if self._own is None:
            return False
        now, source = self._own.now, self._own.source
        if not self._teacher:  # before the first step
            self._teacher = {name: value.clone() for name, value in source.items()}
            return False
        for name, value in now.items():
            self._teacher[name].lerp_(value.detach().to(self._teacher[name]), 1 - self.memory)
        if not self.restore:
            return False
        self._own.set(restored(now, source, self.restore, generator))
        return True

    @torch.no_grad()
    def _labels(self, batch: Any, context: Context) -> Tensor:
        """The probabilities that the teacher gives each class."""
        sure = self._probabilities(context.source(batch)).max(dim=-1).values >= self.confidence
        plain = self._taught(batch, context)
        if sure.all():
            return plain
        views = [
            self._taught(self.augment(batch, context.generator), context) for _ in range(self.n)
        ]
        if any(view.shape != plain.shape for view in views):
            return next(view for view in views if view.shape != plain.shape)
        return torch.where(sure[:, None], plain, torch.stack(views).mean(dim=0))

    def _taught(self, batch: Any, context: Context) -> Tensor:
        if self._own is None:
            return self._probabilities(context.run(batch))
        # With running statistics, so that those of BatchNorm layers do not follow augmented rows.
        with evaluating(self._own.model):
            return self._probabilities(self._own.run(self._teacher, context.run, batch))

    def _probabilities(self, out: Any) -> Tensor:
        return log_probabilities(logits_of(out, self.logits)).exp()


@torch.no_grad()
def restored(
    now: dict[str, nn.Parameter],
    source: dict[str, Tensor],
    share: float,
    generator: torch.Generator,
) -> dict[str, Tensor]:
    """The values now, of which a random share is that of the source.

    >>> now, source = {"a": nn.Parameter(torch.ones(4))}, {"a": torch.zeros(4)}
    >>> restored(now, source, 0.5, torch.Generator().manual_seed(0))
    {'a': tensor([0., 1., 0., 0.])}
    """
    made = {}
    for name, value in now.items():
        drawn = torch.rand(value.shape, generator=generator, device=generator.device)
        made[name] = torch.where(drawn.to(value.device) < share, source[name], value.detach())
    return made
