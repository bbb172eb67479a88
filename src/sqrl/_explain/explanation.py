"""Explanation: what explain gives, and how it is shown."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from sqrl._check.violations import Violations
from sqrl._data.html_table import html_table
from sqrl._explain.error_prediction import ErrorPrediction
from sqrl._language.short import INDENT, sentence_lines, short_text, wrapped

SHOWN = 10  # rules and rows on a screen


@dataclass(frozen=True, slots=True)
class RuleErrors:
    """How many of the predictions that break a rule are wrong.

    `base_rate` is the share of wrong ones among all predictions that the rule speaks of, `lift` the
    precision in units of it. `p_value` is that of so many wrong ones if breaking the rule
    said nothing (Fisher's exact test), `low` to `high` the precision's 95 % interval (Wilson's).
    `weight` is the rule's in a linear model of all broken rules, the predicted class and the score;
    0 where others say it better.
    """

    rule: int
    text: str
    broken: int
    wrong: int
    precision: float
    low: float
    high: float
    base_rate: float
    lift: float
    p_value: float
    significant: bool
    weight: float

    def summary(self) -> str:
        """The precision in a sentence."""
        n = self.broken
        noun = "1 prediction that breaks" if n == 1 else f"{n:,} predictions that break"
        verb = "is" if n == 1 else "are"
        return (
            f"{self.precision:.0%} of the {noun} this rule {verb} wrong "
            f"({self.low:.0%} to {self.high:.0%}), "
            f"against {self.base_rate:.0%} of all that it speaks of"
        ).replace("%", " %")


@dataclass(frozen=True, slots=True)
class Doubt:
    """A prediction that is called right, yet breaks rules; `row` is counted from 0."""

    row: int
    degree: float
    n_broken: int
    sentence: str


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Which broken rules predict errors, and which predictions called right are doubtful.

    `error_prediction` is empty where there are too few errors to cross-validate; `note` says so.
    `rules` has those that any prediction breaks: first those that predict an error beyond chance,
    each group by the lower end of the precision's interval. `doubts` are the worst `n_doubtful`.
    """

    n_rows: int
    n_left_out: int
    n_wrong: int
    folds: int
    error_prediction: tuple[ErrorPrediction, ...]
    rules: tuple[RuleErrors, ...]
    doubts: tuple[Doubt, ...]
    n_doubtful: int
    note: str | None
    violations: Violations = field(repr=False)

    foresight = property(lambda self: self.error_prediction)  # as it was once called

    @property
    def base_rate(self) -> float:
        """The share of predictions that are wrong, of those whose truth is known."""
        return self.n_wrong / max(self.n_rows - self.n_left_out, 1)

    @property
    def n_significant(self) -> int:
        """How many rules predict an error beyond chance."""
        return sum(rule.significant for rule in self.rules)

    def summary(self) -> str:
        """The result in one sentence."""
        known = self.n_rows - self.n_left_out
        share = f" ({self.base_rate:.1%})".replace("%", " %") if known else ""
        verb = "is" if self.n_wrong == 1 else "are"
        noun = "prediction" if known == 1 else "predictions"
        text = f"{self.n_wrong:,} of {known:,} {noun} {verb} wrong{share}"
        if self.n_left_out:
            rows = "1 row" if self.n_left_out == 1 else f"{self.n_left_out:,} rows"
            text += f"; {rows} with something missing left out"
        return text

    def lines(self, width: int = 80) -> list[str]:
        """The result as text of this width."""
        lines = wrapped(self.summary(), width)
        if self.note:
            lines += wrapped(self.note, width)
        if self.error_prediction:
            how = f"(AUC, {self.folds}-fold cross-validation)"
            lines += ["", f"How well errors are predicted {how}"]
            lines += [f"  {one.name:<31}{_auc_text(one)}" for one in self.error_prediction]
        lines += ["", *wrapped(self._rules_title(), width)]
        for number, rule in enumerate(self._shown(), start=1):
            lines += sentence_lines(short_text(rule.text), width, mark=f"{number:>3}  ")
            lines += wrapped(rule.summary(), width, INDENT)
        if self.doubts:
            lines += ["", *wrapped(self._doubts_title(), width)]
            for doubt in self.doubts[:SHOWN]:
                lines += wrapped(f"row {doubt.row:,}: {doubt.sentence}", width, "  ", "    ")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        predictions = [one.to_dict() for one in self.error_prediction]
        return {
            "n_rows": self.n_rows,
            "n_left_out": self.n_left_out,
            "n_wrong": self.n_wrong,
            "base_rate": self.base_rate,
            "folds": self.folds,
            "note": self.note,
            "error_prediction": predictions,
            "foresight": predictions,  # as it was once called
            "rules": [asdict(rule) for rule in self.rules],
            "n_doubtful": self.n_doubtful,
            "doubts": [asdict(doubt) for doubt in self.doubts],
        }

    def __repr__(self) -> str:
        best = max(self.error_prediction, key=lambda one: one.auc, default=None)
        how_well = f"; AUC {_auc_text(best)} from {best.name}" if best else ""
        return f"Explanation: {self.summary()}{how_well}"

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(text)}</p>" for text in (self.summary(), self.note) if text]
        if self.error_prediction:
            rows = [(escape(one.name), _auc_text(one)) for one in self.error_prediction]
            parts.append(html_table(("predicted by", "AUC"), rows))
        parts.append(f"<p>{escape(self._rules_title())}</p>")
        rows = [(f"<code>{escape(r.text)}</code>", escape(r.summary())) for r in self._shown()]
        if rows:
            parts.append(html_table(("rule", "errors"), rows))
        if self.doubts:
            parts.append(f"<p>{escape(self._doubts_title())}</p>")
            rows = [(f"{one.row:,}", escape(one.sentence)) for one in self.doubts[:SHOWN]]
            parts.append(html_table(("row", "why"), rows))
        return "".join(parts)

    def _shown(self) -> Iterator[RuleErrors]:
        return (rule for rule in self.rules[:SHOWN] if rule.significant)

    def _rules_title(self) -> str:
        if not self.rules:
            return "No prediction breaks a rule about single rows"
        found = self.n_significant
        broken = len(self.rules)
        title = f"Rules that predict an error beyond chance: {found:,} of {broken:,} broken ones"
        return f"{title}, the first {SHOWN} shown" if found > SHOWN else title

    def _doubts_title(self) -> str:
        n = self.n_doubtful
        noun = "1 prediction is" if n == 1 else f"{n:,} predictions are"
        verb = "breaks" if n == 1 else "break"
        worst = f", the worst {min(SHOWN, n)} shown" if n > 1 else ""
        return f"{noun} called right, yet {verb} rules{worst}"


def _auc_text(one: ErrorPrediction) -> str:
    return f"{one.auc:.3f} ± {one.spread:.3f}"
