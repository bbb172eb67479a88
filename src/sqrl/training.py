"""Rules while a model is trained: checks of its predictions, and rules as a part of its loss.

    watch = sqrl.training.lightning(rules, rows, prediction="y_hat")
    Trainer(callbacks=[watch])

    watch = sqrl.training.hugging_face(rules, valid, classes=["no", "yes"])
    Trainer(compute_metrics=watch.compute_metrics, callbacks=[watch])

Both log the numbers of `found.metrics()`, keep the last result as `watch.found`, and stop training
on a finding where that is asked for. Neither library is imported before.

    RuleTrainer = sqrl.training.rule_trainer(sqrl.RuleLoss(rules, names), weight=10)

is Hugging Face's Trainer with rules in its loss; in Lightning and in a loop of one's own a RuleLoss
is added to the loss as it is.
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from sqrl._check.check import check
from sqrl._check.violations import Violations
from sqrl._data.table import Table, as_table
from sqrl._kernels.arrays import Array
from sqrl._rules.label import label_of
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import AdaptError, DataError, MissingExtraError

__all__ = ["hugging_face", "lightning", "rule_trainer"]

Columns = Mapping[str, Any]
LIGHTNING = ("lightning.pytorch", "pytorch_lightning")
PREDICTION = "prediction"


def lightning(
    rules: RuleSet,
    rows: Callable[[Any, Any], Columns],
    *,
    prediction: str = PREDICTION,
    prefix: str = "rules/",
    stop: bool = False,
) -> Any:
    """A callback of Lightning that checks what is predicted in each epoch of validation.

    `rows(batch, outputs)` gives the columns of a batch, tensors or arrays, from the batch and what
    `validation_step` returned; `prediction` names the one that takes the label's place. Numbers are
    logged under `prefix`; with `stop` a finding ends training.
    """
    base = _lightning().Callback

    class LightningRules(base):  # type: ignore[misc, valid-type]
        """Gathers the rows of an epoch, and checks them at its end."""

        found: Violations | None = None

        def on_validation_epoch_start(self, *_: Any) -> None:
            """Forget the rows of the epoch before."""
            self.parts: list[dict[str, Array]] = []

        def on_validation_batch_end(
            self, trainer: Any, _: Any, outputs: Any, batch: Any, *__: Any, **___: Any
        ) -> None:
            """Keep the rows of a batch, but for those of Lightning's trial run."""
            if not trainer.sanity_checking:
                self.parts.append({k: plain(v) for k, v in rows(batch, outputs).items()})

        def on_validation_epoch_end(self, trainer: Any, module: Any) -> None:
            """Check them, and log what was found."""
            if self.parts:
                names = self.parts[0]
                columns = {k: np.concatenate([part[k] for part in self.parts]) for k in names}
                self.found = check(rules, columns, prediction=prediction)
                numbers = self.found.metrics(rules=False)
                module.log_dict({f"{prefix}{name}": float(one) for name, one in numbers.items()})
                trainer.should_stop |= stop and bool(self.found.findings())

    return LightningRules()


def hugging_face(
    rules: RuleSet,
    data: Any,
    *,
    classes: Sequence[Any] | None = None,
    prediction: str = PREDICTION,
    prefix: str = "rules_",
    stop: bool = False,
) -> Any:
    """A callback of Hugging Face's Trainer whose `compute_metrics` checks what is predicted.

    `data` is a table of the rows that are evaluated, in their order. Of scores for several classes
    the largest counts; `classes` names them as the rules do. With `stop` a finding ends training.
    """
    table = as_table(data)
    base = _imported(["transformers"], "hugging_face").TrainerCallback

    class HuggingFaceRules(base):  # type: ignore[misc, valid-type]
        """Checks the predictions of each evaluation."""

        found: Violations | None = None

        def compute_metrics(self, evaluated: Any) -> dict[str, float]:
            """The numbers of a check, for the log."""
            said = predicted(evaluated.predictions, classes)
            self.found = check(rules, with_column(table, prediction, said), prediction=prediction)
            numbers = self.found.metrics(rules=False)
            return {f"{prefix}{name}": float(one) for name, one in numbers.items()}

        def on_evaluate(self, _: Any, __: Any, control: Any, **___: Any) -> Any:
            """End training on a finding, where that is asked for."""
            if stop and self.found is not None and self.found.findings():
                control.should_training_stop = True
            return control

    return HuggingFaceRules()


def rule_trainer(loss: Any, *, weight: float = 1.0, base: Any = None) -> Any:
    """Hugging Face's Trainer whose training loss is its own plus `weight` times the rules'.

    `loss` is a `sqrl.RuleLoss`, or a sum with one; its `names(batch, out)` gets the batch as the
    collator made it and the model's output. Columns that rules name and the model does not take are
    kept from the model. The loss of evaluations is the Trainer's own. `base` is the class to
    build on, where that is not `transformers.Trainer`.
    """
    terms = [term for _, term in loss.rule_terms()]
    wanted = {name for term in terms for name in term.rules.columns()}
    labels = {label_of(term.rules) for term in terms}
    trainer = base or _imported(["transformers"], "rule_trainer").Trainer

    class RuleTrainer(trainer):  # type: ignore[misc, valid-type]
        """A Trainer that adds the loss of rules to its own."""

        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            taken = inspect.signature(self.model.forward).parameters
            self.rule_columns = frozenset(wanted - set(taken))
            needed = self.rule_columns - labels
            if needed and self.args.remove_unused_columns:
                some = ", ".join(sorted(needed)[:3])
                raise AdaptError(
                    f"The Trainer takes columns out of batches that the rules speak of: {some}.",
                    where="TrainingArguments",
                    fix="set remove_unused_columns=False",
                )

        def compute_loss(
            self, model: Any, inputs: Any, return_outputs: bool = False, **options: Any
        ) -> Any:
            """The Trainer's loss, while training with that of the rules."""
            batch, inputs = dict(inputs), self._without_rule_columns(inputs)
            cost, out = super().compute_loss(model, inputs, return_outputs=True, **options)
            if model.training:
                cost = cost + weight / self._parts_of_a_step(options) * loss(batch, out)
            return (cost, out) if return_outputs else cost

        def prediction_step(self, model: Any, inputs: Any, *given: Any, **options: Any) -> Any:
            """What the Trainer does with rows to predict, without what is for rules alone."""
            return super().prediction_step(
                model, self._without_rule_columns(inputs), *given, **options
            )

        def _without_rule_columns(self, inputs: Any) -> dict[str, Any]:
            return {name: one for name, one in inputs.items() if name not in self.rule_columns}

        def _parts_of_a_step(self, options: Mapping[str, Any]) -> int:
            """In how many batches a step comes, where the Trainer will not divide by it itself.

            It does not where its own loss is divided by the items of the whole step already.
            """
            is_divided = getattr(self, "loss_is_scaled_for_ga", None)
            if is_divided is None:
                counted = options.get("num_items_in_batch") is not None
                is_divided = (
                    self.model_accepts_loss_kwargs and counted
                ) or self.compute_loss_func is not None
            whole = self.args.gradient_accumulation_steps
            found = getattr(self, "current_gradient_accumulation_steps", whole)
            return int(found) if is_divided else 1

    return RuleTrainer


def predicted(scores: Any, classes: Sequence[Any] | None) -> Array:
    """What is predicted: of scores for several classes the class of the largest, else themselves.

    >>> predicted(np.array([[0.1, 0.9], [2.0, -1.0]]), ["no", "yes"]).tolist()
    ['yes', 'no']
    """
    values = plain(scores[0] if isinstance(scores, tuple) else scores)
    if values.ndim == 1:
        return values
    places: Array = np.asarray(values.reshape(len(values), -1).argmax(axis=1))
    if classes is None:
        return places
    if len(classes) != values.shape[1]:
        raise DataError(
            f"There are {len(classes)} classes and scores for {values.shape[1]}.",
            where="classes",
            fix="name the class of each score, in their order",
        )
    return np.asarray(np.asarray(classes)[places])


def with_column(table: Table, name: str, values: Array) -> Table:
    """The table with the predictions as a column; raises where they are of other rows."""
    if len(values) != table.n_rows:
        raise DataError(
            f"There are {len(values):,} predictions for {table.n_rows:,} rows.",
            where=table.source,
            fix="give the table of the rows that are evaluated, in their order",
        )
    return table.with_columns({name: values.tolist()}, replace=True)


def plain(values: Any) -> Array:
    """A tensor, on whatever device, or a list as an array."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    return np.asarray(values)


def _lightning() -> Any:
    """Lightning under the name by which it is loaded already, else by which it is installed."""
    loaded = [name for name in LIGHTNING if name in sys.modules]
    return _imported(loaded or LIGHTNING, "lightning")


def _imported(names: Sequence[str], what: str) -> Any:
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name.partition(".")[0]:  # it is there, and lacks something itself
                raise
    raise MissingExtraError(
        f"sqrl.training.{what} needs {names[0].partition('.')[0]}, which is not installed.",
        fix='pip install "sqrl-rules[training]"',
    )
