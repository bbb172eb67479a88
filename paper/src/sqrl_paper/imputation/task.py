"""Time series imputation: what was not measured of 4,000 patients in intensive care.

The PhysioNet Challenge 2012: 35 vital signs and laboratory values in each of 48 hours, of which
four in five are missing. In the test patients 60 % of what was observed is hidden as well; those
values are what imputations are compared with.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from msgspec import structs
from torch import Tensor, nn

from sqrl import Adapted, Batches, RuleLoss, RuleSet, learn, load_schema
from sqrl.errors import DataError
from sqrl_paper.imputation.imputer import Imputer, examples_of
from sqrl_paper.imputation.parts import Bools, Parts, Scaling, fit_scaling, split_series
from sqrl_paper.imputation.physionet import FEATURES, Series
from sqrl_paper.imputation.reconstruction import Reconstruction
from sqrl_paper.imputation.saits import SaitsSize, make_saits
from sqrl_paper.imputation.saits_training import SaitsTraining, train_saits
from sqrl_paper.shared.checkpoints import load_or_train
from sqrl_paper.shared.training import predict

SCHEMA = "imputation"
BATCH = 50  # patients in a mini-batch of adaptation

Track = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Imputation:
    """All that adapting an imputation model takes, and how well it did.

    `names` is for `RuleLoss`; `valid` and `test` are without the hidden values.
    """

    parts: Parts
    scaling: Scaling
    model: Imputer
    rules: RuleSet
    valid: Batches
    test: Batches

    @staticmethod
    def names(batch: Any, out: Tensor) -> dict[str, Tensor]:
        """What rules are checked on: each feature's imputed values, nan where a value was given."""
        return name_values(out, batch.inputs[1] == 0)

    def reconstruction(self, *, share: float = 0.3) -> Reconstruction:
        """The objective that keeps imputations near what is given, to be added to rules."""
        return Reconstruction(self.model.standardised, share=share)

    def evaluate(
        self, predicted: nn.Module | Tensor, *, on: Literal["valid", "test"] = "test"
    ) -> dict[str, float]:
        """How far imputations are from the hidden values, and how many of them break rules.

        - mse, mae: on hidden values, in standard deviations of the train values.
        - range_mse: the same with values in shares of the train values' range, the paper's unit.
        - violations, judged, share: how many imputed values lie outside their bounds, of how many.
        - hidden_violations, hidden: the same of those alone that are compared with hidden values.
        """
        out = self._outputs(predicted, on)
        part = getattr(self.parts, on)
        error = (out.double().numpy() - part.values)[part.hidden]
        at = np.nonzero(part.hidden)[-1]
        standard = error / self.scaling.spreads[at]
        n_broken, n_judged = count_violations(self.rules, out, ~part.given)
        n_hidden_broken, n_hidden = count_violations(self.rules, out, part.hidden)
        return {
            "mse": float(np.square(standard).mean()),
            "mae": float(np.abs(standard).mean()),
            "range_mse": float(np.square(error / self.scaling.ranges[at]).mean()),
            "violations": n_broken,
            "judged": n_judged,
            "share": n_broken / max(1, n_judged),
            "hidden_violations": n_hidden_broken,
            "hidden": n_hidden,
        }

    def evaluate_truth(self, *, on: Literal["valid", "test"] = "test") -> dict[str, float]:
        """How many of the hidden values themselves lie outside the bounds, of how many."""
        part = getattr(self.parts, on)
        n_broken, n = count_violations(self.rules, torch.from_numpy(part.values), part.hidden)
        return {"hidden_violations": n_broken, "hidden": n, "share": n_broken / max(1, n)}

    def _outputs(self, predicted: nn.Module | Tensor, on: str) -> Tensor:
        batches: Batches = getattr(self, on)
        if isinstance(predicted, Adapted):
            predicted = predicted.predict(batches)
        elif isinstance(predicted, nn.Module):
            predicted = predict(predicted, batches.inputs, batch=200)
        shape = getattr(self.parts, on).values.shape
        if not isinstance(predicted, Tensor) or tuple(predicted.shape) != shape:
            raise DataError(
                f"The outputs are not {shape[0]:,} series of {shape[1]} x {shape[2]} values.",
                fix=f"give those of all {on} patients, in their order, or the model itself",
            )
        return predicted.detach().cpu()


def make_imputation(
    series: Series,
    *,
    seed: int,
    size: SaitsSize | None = None,
    training: SaitsTraining | None = None,
    batch: int = BATCH,
    cache: Path | None = None,
    track: Track | None = None,
) -> Imputation:
    """The task of these patients: split, hidden by the seed, rules learned, model trained.

    Units, rules and weights follow from the train patients alone, when to stop training from the
    valid ones. The weights are kept in `cache`, by default a folder of the user's.
    """
    parts = split_series(series, seed=seed)
    return Imputation(
        parts=parts,
        scaling=fit_scaling(parts.train),
        model=train_imputer(
            parts, seed=seed, size=size, training=training, cache=cache, track=track
        ),
        rules=learn_imputation(parts, seed=seed, track=track),
        valid=Batches(parts.valid.inputs(), size=batch, seed=seed),
        test=Batches(parts.test.inputs(), size=batch, seed=seed),
    )


def learn_imputation(parts: Parts, *, seed: int, track: Track | None = None) -> RuleSet:
    """The 35 rules of the paper: what 98 % of a feature's observed train values lie within.

    PAPER: it keeps all of them, and so nothing is held out to validate them. On the valid patients
    those of ALT and TroponinI would fail for want of values.
    """
    schema = structs.replace(load_schema(SCHEMA), validate=False)
    return learn(parts.train.table(), schema, seed=seed, track=track)


def train_imputer(
    parts: Parts,
    *,
    seed: int,
    size: SaitsSize | None = None,
    training: SaitsTraining | None = None,
    cache: Path | None = None,
    track: Track | None = None,
) -> Imputer:
    """The source model: SAITS that has seen only the train and valid parts."""
    chosen, how = size or SaitsSize(), training or SaitsTraining()
    scaling = fit_scaling(parts.train)
    _, n_hours, n_features = parts.train.values.shape
    model = Imputer(make_saits(n_hours, n_features, size=chosen, seed=seed), scaling)

    def train(_: nn.Module) -> dict[str, list[float]]:
        examples = [examples_of(part, scaling) for part in (parts.train, parts.valid)]
        errors = train_saits(model.network, *examples, training=how, seed=seed, track=track)
        return {"errors": errors}

    key = {
        "train": parts.train.fingerprint(),
        "valid": parts.valid.fingerprint(),
        "size": asdict(chosen),
        "training": asdict(how),
        "seed": seed,
    }
    load_or_train(model, train, name="imputation", key=key, folder=cache)
    return model.eval()


def name_values(out: Tensor, is_judged: Tensor) -> dict[str, Tensor]:
    """The values of each feature, patient after patient, nan where they are not checked.

    >>> out = torch.arange(70.0).reshape(1, 2, 35)
    >>> name_values(out, out > 0)["ALP"]
    tensor([nan, 35.])
    """
    judged = torch.where(is_judged, out, torch.nan).flatten(0, -2)
    return dict(zip(FEATURES, judged.unbind(dim=-1), strict=True))


def count_violations(rules: RuleSet, out: Tensor, is_judged: Bools) -> tuple[int, int]:
    """How many of the checked values break their rule, and how many a rule speaks of."""
    loss = RuleLoss(rules, names=lambda judged, values: name_values(values, judged))
    measured = loss.measure(torch.from_numpy(is_judged), out)
    return round(float(measured.broken.sum())), round(float(measured.applicable.sum()))
