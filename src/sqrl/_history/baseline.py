"""The baseline of a rule: what all rows before a window say of it, as evidence that adds up."""

from sqrl._check.value_tests import MOMENTS, VALUE_TESTS, ValueTest
from sqrl._history.record import Numbers
from sqrl._language.statistics import batch_statistic
from sqrl._rules.ids import digest
from sqrl.errors import HistoryError

Moments = tuple[float, float, float]


def value_test_named(statistic: str | None) -> ValueTest:
    """The test of a statistic of values whose evidence adds up."""
    assert statistic is not None
    return VALUE_TESTS[batch_statistic(statistic).function]


def add_evidence(
    layout: str, statistic: str | None, one: Numbers | None, other: Numbers | None
) -> Numbers | None:
    """The evidence of the rows of both; None where there are none, or it does not add up.

    >>> add_evidence("outcomes", None, (1000.0, 20.0), (100.0, 3.0))
    (1100.0, 23.0)
    >>> add_evidence("moments", "mean", (2.0, 1.0, 1.0), (2.0, 3.0, 1.0))
    (4.0, 2.0, 2.0)
    """
    if one is None or other is None or layout == "p":
        return other if one is None else one
    is_empty = layout == "moments" and one[:1] != () != other[:1] and not (one[0] and other[0])
    if len(one) != len(other) and not is_empty:
        raise HistoryError(
            f"What was kept of a rule has {len(one)} numbers, and a check of it {len(other)}.",
            fix="the file may be damaged, or of other rules; begin anew",
        )
    if layout == "moments":
        return _add_values(value_test_named(statistic), one, other)
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _add_values(test: ValueTest, one: Numbers, other: Numbers) -> Numbers:
    """Moments of both; of what follows the marks stay, and counts are added up."""
    if not one[0] or not other[0]:
        return other if not one[0] else one
    both = _add_moments(_first(one), _first(other))
    marks, more = one[MOMENTS : MOMENTS + test.n_marks], MOMENTS + test.n_marks
    if test.ranked is not None:
        counts = (a + b for a, b in zip(one[more:], other[more:], strict=True))
        return (*both, *marks, *counts)
    if not marks:
        return both
    # The squared distances from the mark have a mean of their own, and a variance about it.
    squares = [
        (rows, variance + (mean - marks[0]) ** 2, part[more])
        for part in (one, other)
        for rows, mean, variance in [_first(part)]
    ]
    return (*both, *marks, _add_moments(squares[0], squares[1])[2])


def _first(numbers: Numbers) -> Moments:
    return numbers[0], numbers[1], numbers[2]


def _add_moments(one: Moments, other: Moments) -> Moments:
    """Rows, mean and variance of both."""
    (n, mean, variance), (m, new_mean, new_variance) = one, other
    rows, apart = n + m, new_mean - mean
    spread = (n * variance + m * new_variance) / rows + apart * apart * n * m / (rows * rows)
    return rows, mean + apart * m / rows, spread


def identity_of(text: str, layout: str, statistic: str | None, evidence: Numbers | None) -> str:
    """A digest that changes where evidence of a rule no longer adds up with what came before.

    Of the sentence with its bounds, the layout, and the marks that its values are compared with.

    >>> identity_of("x <= 9", "outcomes", None, None), identity_of("x <= 8", "outcomes", None, None)
    ('4ca9c34e', '18fb7c00')
    """
    marks: Numbers = ()
    if layout == "moments" and evidence is not None:
        marks = evidence[MOMENTS : MOMENTS + value_test_named(statistic).n_marks]
    size = len(evidence) if evidence is not None and layout != "p" else 0
    return digest("\n".join([text, layout, str(size), *map(repr, marks)]))
