"""The significance story in plain words: what chance does, and what is left beyond it."""

import numpy as np

from sqrl._check.violations import Violations
from sqrl.report._wording import counted, percent, short_number


def what_was_checked(violations: Violations) -> str:
    """One sentence: the rows, the rules, and the prediction column in the label's place."""
    text = (
        f"{counted(violations.n_rows, 'row')}{units_text(violations)} of {violations.source}"
        " against "
        f"{counted(len(violations), 'rule')}"
    )
    made = violations.rules.provenance
    if made is not None:
        text += f" learned from {counted(made.train_rows, 'row')} of {made.source}"
    if violations.prediction is not None:
        text += f"; the column {violations.prediction} took the place of {violations.label}"
    return f"{text}."


def units_text(violations: Violations) -> str:
    """How many units the rows belong to, in words that follow a number of rows."""
    if not violations.unit:
        return ""
    return f" in {counted(violations.n_units, 'unit')} ({' and '.join(violations.unit)})"


def story(violations: Violations) -> list[str]:
    """Paragraphs that say how to read the counts, for someone who has not met a p-value."""
    paragraphs = (_expected, _significant, _unknown, _by_probabilities, _caveat)
    return [text for paragraph in paragraphs if (text := paragraph(violations))]


def _expected(violations: Violations) -> str:
    known = ~np.isnan(violations.expected)
    if not known.any():
        return (
            "The rules do not say how many samples they were learned from, so it cannot be said "
            "how often chance alone would break them."
        )
    left_out = _left_out(violations)
    expected = float(violations.expected[known].sum())
    n_broken = int(violations.broken[known].sum())
    text = "Some breaks are expected. "
    if left_out:
        text += f"A rule is made to leave out about {left_out} of the samples it was learned from"
        text += ", so new samples just like those break it about as often. "
    return text + (
        f"By chance alone these rules would be broken about {short_number(expected)} times; "
        f"{n_broken:,} breaks were counted."
    )


def _left_out(violations: Violations) -> str:
    """The share that the rules leave out, or the range of shares."""
    coverages = sorted(filter(None, violations.rules.table["coverage"].to_pylist()), reverse=True)
    shares = list(dict.fromkeys(percent(round(1 - value, 12)) for value in coverages))
    return f"{shares[0]} to {shares[-1]}" if len(shares) > 1 else "".join(shares)


def _significant(violations: Violations) -> str:
    n_known = int((~np.isnan(violations.p_value)).sum())
    if not n_known:
        return ""
    n, level = violations.n_significant, violations.level
    text = (
        "A rule's p-value is the probability of at least as many breaks if nothing had changed; it "
        "allows for the bounds having been learned from a sample themselves. Among "
        f"{counted(n_known, 'rule')} some p-values are small by luck. The Benjamini-Hochberg "
        f"procedure at {percent(level)} sorts out which to believe: "
    )
    if not n:
        return text + "here none, so what was counted can be put down to chance."
    return text + (
        f"{counted(n, 'rule')} {'is' if n == 1 else 'are'} broken beyond chance, and of rules "
        f"called so at most about {percent(level)} are expected to be false alarms."
    )


def _unknown(violations: Violations) -> str:
    n = int(np.isnan(violations.p_value).sum())
    if not n or n == len(violations):
        return ""
    these, they = ("it", "It is") if n == 1 else ("them", "They are")
    return (
        f"For {counted(n, 'rule')} it is not known what chance would do: too little was kept "
        f"of the data behind {these}. {they} never called beyond chance."
    )


def _by_probabilities(violations: Violations) -> str:
    soft = violations.weighted_broken
    if soft is None or np.isnan(soft).all():
        return ""
    known = ~np.isnan(soft)
    return (
        "Two counts are shown. With each row put in its most likely class, rules about the class "
        f"are broken {int(violations.broken[known].sum()):,} times; with the predicted "
        f"probabilities taken at their word, about {short_number(float(soft[known].sum()))} times. "
        "The most likely class is more extreme than the truth: where a model rightly gives a class "
        "30 % everywhere, no row is put in it, and rules that labels keep are broken. If the model "
        "is calibrated, believe the second count on whether it knows the rules, and the first on "
        "what its decisions will do."
    )


def _caveat(violations: Violations) -> str:
    if np.isnan(violations.p_value).all():
        return ""
    if violations.unit:
        return (
            f"Rows of one {' and '.join(violations.unit)} belong together, so that p-values "
            "compare units, not rows: what is asked is whether the new units could be some of "
            "those that the rules were learned from. Where units come in groups, name those."
        )
    return (
        "All this takes the rows to be drawn one by one. Where they come in groups, such as many "
        "boxes of one image or many visits of one patient, they break rules together and p-values "
        "are too small: learn the rules with the column that says so as the unit."
    )
