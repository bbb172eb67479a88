"""What an alarm is about, in a sentence."""

from collections.abc import Collection

from sqrl._history.record import CheckRecord, Numbers
from sqrl._language.short import short_text


def cause_of(
    record: CheckRecord, rules: Collection[str], place: int, baseline: Numbers | None, rises: bool
) -> str:
    """The first finding of the window that shares rules with the alarm; else its first rule's own.

    `place` is that of the alarm's first rule in the record, and `rises` says which way its
    statistic has moved.
    """
    for text, of_finding in zip(record.findings, record.finding_rules, strict=True):
        if not set(rules).isdisjoint(of_finding):
            return text
    sentence = short_text(record.texts[place])
    new = record.evidence[place]
    if record.layout[place] == "outcomes" and new is not None and baseline is not None:
        expected = new[0] * baseline[1] / max(baseline[0], 1.0)
        rows = f"{new[1]:,.0f} of {new[0]:,.0f} rows break it"
        return f"{sentence}: {rows}, {expected:,.3g} expected by the baseline"
    if record.layout[place] in {"cells", "units", "p"}:
        return f"{sentence}: it is further off than in the baseline"
    return f"{sentence}: it is {'higher' if rises else 'lower'} than in the baseline"
