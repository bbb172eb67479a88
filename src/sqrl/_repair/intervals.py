"""The bounds that rules set on the rows of a table."""

from collections.abc import Sequence

import numpy as np

from sqrl._check.row_outcomes import choose, interval_ends
from sqrl._kernels.arrays import Bools, Floats
from sqrl._language.forms import Form
from sqrl._rows.rows import Rows


def row_intervals(form: Form, rows: Rows, given: Bools) -> tuple[Floats, Floats]:
    """The bounds of a `sample` rule on each row; infinite where it does not apply or is open."""
    assert form.subject is not None
    left = given & ~np.isnan(rows.numbers(form.subject))
    lower, upper = np.full(rows.n, -np.inf), np.full(rows.n, np.inf)
    for piece, low, high in zip(form.pieces, *interval_ends(form), strict=True):
        here, left = choose(piece.test, left, rows)
        lower[here], upper[here] = low, high
    return lower, upper


def all_intervals(forms: Sequence[Form], rows: Rows) -> tuple[Floats, Floats]:
    """The bounds of several rules on each row.

    Shapes: (n_rows, n_rules) each.

    >>> from sqrl._data.table import as_table
    >>> from sqrl._language.forms import read_form
    >>> from sqrl._language import parse
    >>> rows = Rows(as_table({"a": [1.0, 5.0], "x": [3.0, 3.0]}), {})
    >>> lower, upper = all_intervals([read_form(parse("0 <= x <= 1 if a <= 2 else x <= 9"))], rows)
    >>> lower.tolist(), upper.tolist()
    ([[0.0], [-inf]], [[1.0], [9.0]])
    """
    lower, upper = (np.empty((rows.n, len(forms)), order="F") for _ in range(2))
    for place, form in enumerate(forms):
        given = rows.all_true(form.given)
        lower[:, place], upper[:, place] = row_intervals(form, rows, given)
    return lower, upper
