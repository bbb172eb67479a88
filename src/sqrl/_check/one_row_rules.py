"""Rules about rows compiled to tests of one row's cells, and what these cells may be."""

from collections.abc import Callable

import numpy as np

from sqrl._check.row_outcomes import interval_ends
from sqrl._language.forms import Form
from sqrl._rows.one_row import Compiler
from sqrl._rows.row_functions import Cell, Cells, Days, odd
from sqrl._rules.needed_columns import Need

IsBroken = Callable[[Cells], bool]


def cell_test(needs: set[Need], *, by_value: bool) -> Callable[[Cell], bool]:
    """Whether a cell is of a kind that all rules take as it is."""
    takes_words = not needs & {"numbers", "truths"}
    takes_numbers = not needs & {"categories", "dates", "text"}
    takes_days = needs <= {"dates"} and not by_value
    digits, truths = "digits" in needs, "truths" in needs

    def suits(cell: Cell) -> bool:
        kind = type(cell)
        if kind is str:
            return takes_words and (not digits or _is_number(cell))
        if cell != cell:  # noqa: PLR0124  (nan is missing)
            return True
        if kind is Days:
            return takes_days
        return takes_numbers and (not truths or cell in (0.0, 1.0))

    return suits


def _is_number(cell: Cell) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _implied(form: Form, compiler: Compiler) -> IsBroken:
    """Whether the head is false."""
    assert form.head is not None
    head = compiler.truth(form.head)
    return lambda cells: head(cells) is False


def _bounded(form: Form, compiler: Compiler) -> IsBroken:
    """Whether the value is outside the bounds of the piece whose turn it is."""
    assert form.subject is not None
    value = compiler.number(form.subject)
    ends = [(float(low), float(high)) for low, high in zip(*interval_ends(form), strict=True)]
    tests = [None if piece.test is None else compiler.truth(piece.test) for piece in form.pieces]
    if tests == [None]:
        ((lower, upper),) = ends

        def is_outside(cells: Cells) -> bool:
            number = value(cells)
            return number < lower or number > upper

        return is_outside

    def is_outside_its_piece(cells: Cells) -> bool:
        number = value(cells)
        for test, (lower, upper) in zip(tests, ends, strict=True):
            chosen = True if test is None else test(cells)
            if chosen is None:
                return False
            if chosen:
                return number < lower or number > upper
        return False

    return is_outside_its_piece


def row_test(form: Form, compiler: Compiler) -> IsBroken:
    """Whether a row breaks a rule, given that its condition holds."""
    if form.has_bounds:
        return _bounded(form, compiler)
    return _implied(form, compiler) if form.implies_class else odd
