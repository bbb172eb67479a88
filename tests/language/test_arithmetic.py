"""Functions of counts as formulas: what is arithmetic is understood, and nothing else is."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqrl._language import to_text
from sqrl._language.statistics.arithmetic import COUNTS, compute, formula_of
from sqrl._language.statistics.registry import ratio
from sqrl._language.tree import Name

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda top, bottom: top / bottom if bottom else None,
}
ARITHMETIC = {
    "both / (body + head - both)": lambda body, head, both, _: both / (body + head - both),
    "2 * both / (body + head)": lambda body, head, both, _: ratio(2 * both, body + head),
    "both / rows": lambda _, __, both, rows: ratio(both, rows),
    "3 - body": lambda body, *_: np.float64(3) - body,
    "body - 3": lambda body, *_: body - 3,
    "3 + body": lambda body, *_: np.int64(3) + body,
    "3 * body / 4": lambda body, *_: np.float32(3) * body / 4.0,
    "1 / body": lambda body, *_: 1 / body,
    "-1 * body": lambda body, *_: -body,
    "rows * rows": lambda _, __, ___, rows: rows**2,
}
OTHERS = {
    "where": lambda body, _, both, __: np.where(body > 0, both, 0.0),
    "sqrt": lambda body, *_: np.sqrt(body),
    "array": lambda body, *_: np.array([1.0, 2.0]) * body,
    "power": lambda body, *_: body**0.5,
    "order": lambda body, head, *_: body if body > head else head,
    "equality": lambda body, *_: 0.0 if body == 0 else 1 / body,
    "truth": lambda body, *_: body or 1.0,
    "method": lambda body, *_: body.sum(),
    "constant": lambda *_: 1.0,
    "too few": lambda body: body,
}


@pytest.mark.parametrize("text", ARITHMETIC)
def test_arithmetic_is_read_off_a_function(text):
    """With plain numbers and numpy's on either side."""
    assert to_text(formula_of(ARITHMETIC[text])) == text


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_more_than_arithmetic_is_not_understood(name):
    """Half an understanding, such as one branch of a condition, would give wrong numbers."""
    assert formula_of(OTHERS[name]) is None


@pytest.mark.parametrize("text", list(ARITHMETIC)[:3])
@given(counts=st.lists(st.integers(1, 99), min_size=4, max_size=4))
def test_a_formula_computes_what_its_function_computes(text, counts):
    """To the last bit, as the operators come in the same order."""
    function, numbers = ARITHMETIC[text], [np.float64(count) for count in counts]
    named = dict(zip(COUNTS, map(float, counts), strict=True))
    found = compute(
        formula_of(function),
        lambda leaf: named[leaf.name] if isinstance(leaf, Name) else leaf.value,
        lambda op, left, right: OPERATORS[op](left, right),
    )
    if counts[0] + counts[1] == counts[2]:
        return

    assert found == function(*numbers)
