"""Mask: classes that rules exclude on a row are not predicted there."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.batches import Batch, Categories
from sqrl._adapt.objective import Objective
from sqrl._adapt.rule_loss.loss import Names
from sqrl._adapt.rule_loss.named_tensors import Named, class_constants, read_named
from sqrl._adapt.rule_loss.tensor_rows import TensorRows
from sqrl._language.forms import Form
from sqrl._rows.rows import category_text
from sqrl._rules.label import classes_of, label_of
from sqrl._rules.needed_columns import names_in
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import AdaptError
from sqrl.methods._logits import output_of, with_output


class Mask(Objective):
    """Logits of -inf for the classes that a rule such as `body => label = Y` excludes; no steps.

    A row on which every class is excluded stays as it is. `names(batch, out)` gives the columns
    that the bodies speak of, as for `RuleLoss`; by default they are the batch's own. `classes` says
    which class each logit is of, by default those of the rules in order. Rules that cannot be used
    are in `left_out`, each with its reason.

    >>> rules = RuleSet.from_texts(["width <= 2 => type = Person", "width > 9 => type != Person"])
    >>> batch = Batch(None, {"width": torch.tensor([1.0, 5.0])})
    >>> mask = Mask(rules, classes=["Car", "Person"])
    >>> mask.finish(batch, torch.tensor([[2.0, 1.0], [2.0, 1.0]]))
    tensor([[-inf, 1.],
            [2., 1.]])
    """

    has_steps = False

    def __init__(
        self,
        rules: RuleSet,
        names: Names | None = None,
        *,
        label: str | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        super().__init__()
        found = label if label is not None else label_of(rules)
        if found is None:
            raise AdaptError(
                "The rules do not say which column the classes are of.", fix="pass label='...'"
            )
        self.label, self.names, self.classes = found, names, classes
        self.known = classes_of(rules, found)
        self.statistics_of = rules.statistics()
        self.forms: list[Form] = []
        self.left_out: dict[str, str] = {}
        for text, form in zip(rules.texts(), rules.forms(), strict=True):
            reason = self._reason(form)
            if reason is None:
                self.forms.append(form)
            else:
                self.left_out[text] = reason
        if not self.forms:
            raise AdaptError(
                f"None of the {len(rules):,} rules excludes a class of {found!r}.",
                where=next((f"{text} ({why})" for text, why in self.left_out.items()), None),
                fix=f"give rules such as 'age <= 50 => {found} = 0'",
            )

    def finish(self, batch: Any, out: Any) -> Any:
        """The output with the logits of excluded classes at -inf."""
        logits = output_of(out)
        if logits.ndim != 2 or logits.shape[1] < 2:
            raise AdaptError(
                f"The model's output has the shape {tuple(logits.shape)}, not (rows, classes).",
                fix="give a model with a logit for each class",
            )
        excluded = self._excluded(batch, out, logits)
        excluded &= ~excluded.all(dim=1, keepdim=True)
        return with_output(out, logits.masked_fill(excluded, -torch.inf))

    def _excluded(self, batch: Any, out: Any, logits: Tensor) -> Tensor:
        """Which classes some rule excludes on each row."""
        given = [node for form in self.forms for node in form.given]
        needed = names_in(given, self.statistics_of)
        with torch.no_grad():
            named = read_named(self._columns(batch, out), needed)
            if needed and named.n != len(logits):
                raise AdaptError(
                    f"The columns have {named.n:,} rows, the model's output {len(logits):,}.",
                    fix="give columns with a value for each row of the batch",
                )
            rows = TensorRows(named, self.statistics_of)
            heads = TensorRows(self._each_class(logits.shape[1]), {})
            excluded = torch.zeros_like(logits, dtype=torch.bool)
            for form in self.forms:
                assert form.head is not None
                applies = torch.ones(len(logits), dtype=torch.bool, device=named.device)
                for node in form.given:
                    applies = applies & rows.truths(node).true
                wrong = heads.truths(form.head).false.to(logits.device)
                excluded |= applies.to(logits.device)[:, None] & wrong
        return excluded

    def _columns(self, batch: Any, out: Any) -> Mapping[str, Any]:
        if self.names is not None:
            return self.names(batch, out)
        if isinstance(batch, Batch):
            return batch.columns
        raise AdaptError(
            f"A batch is a {type(batch).__name__}, and it is not clear what its columns are.",
            fix="make batches with sqrl.Batches, or pass names=lambda batch, out: {...}",
        )

    def _each_class(self, n_classes: int) -> Named:
        """A row for each class, on which heads say whether they allow it."""
        constants = class_constants(self.label, n_classes, self.known, self.classes)
        texts = tuple(category_text(constant) for constant in constants)
        column = Categories(torch.arange(n_classes), texts)
        return Named(n_classes, torch.device("cpu"), {}, {self.label: column}, None, None)

    def _reason(self, form: Form) -> str | None:
        """Why a rule cannot be used to mask; None where it can."""
        if not form.implies_class:
            return "it does not imply a class"
        assert form.head is not None
        if names_in([form.head], self.statistics_of) != {self.label}:
            return f"its head is not about {self.label!r} alone"
        if self.label in names_in(form.given, self.statistics_of):
            return f"its condition is about {self.label!r} itself"
        return None
