"""Pairs of facts whose rates an additive model does not have."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sqrl._learn.productive_pairs import PairOfFacts, productive_pairs


def naive_pairs(codes, residual, variance, *, fewest, most):
    """By the definition: every cell counted anew before each choice."""
    left, chosen, found = residual.copy(), set(), []
    cells = [
        PairOfFacts(a, i, b, j)
        for a in range(len(codes))
        for b in range(a + 1, len(codes))
        for i in range(int(codes[a].max()) + 1)
        for j in range(int(codes[b].max()) + 1)
    ]
    inside = {
        one: (codes[one.column] == one.fact) & (codes[one.other_column] == one.other_fact)
        for one in cells
    }
    enough = [one for one in cells if inside[one].sum() >= fewest]
    threshold = 2 * np.log(max(2, len(enough) * residual.shape[1]))
    while len(found) < most:
        best, score = None, threshold
        for one in enough:
            if one in chosen:
                continue
            rows = inside[one]
            squares = left[rows].sum(axis=0) ** 2 / np.maximum(variance[rows].sum(axis=0), 1e-9)
            if squares.max() > score * (1 + 1e-9):
                best, score = one, squares.max()
        if best is None:
            break
        left[inside[best]] -= left[inside[best]].mean(axis=0)
        chosen.add(best)
        found.append(best)
    return found


@given(
    seed=st.integers(0, 10_000),
    n_columns=st.integers(0, 4),
    n_classes=st.integers(1, 3),
    fewest=st.integers(1, 15),
    most=st.integers(0, 6),
)
def test_cells_are_those_of_the_definition(seed, n_columns, n_classes, fewest, most):
    """Sums that are kept up to date choose what counting anew before each choice does."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, 120))
    codes = [draw.integers(-1, 3, n) for _ in range(n_columns)]
    residual = draw.normal(size=(n, n_classes)) + draw.integers(0, 2, n)[:, None]
    variance = draw.uniform(0.05, 0.25, (n, n_classes))

    found = productive_pairs(codes, residual, variance, fewest=fewest, most=most)

    assert found == naive_pairs(codes, residual, variance, fewest=fewest, most=most)


def test_of_noise_next_to_nothing_is_chosen():
    """Where expected rates are right, a cell is further off than all chance less than half of
    the time."""
    n_found = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        codes = [draw.integers(0, 4, 3000) for _ in range(8)]
        expected = draw.uniform(0.1, 0.9, 3000)
        label = draw.random(3000) < expected
        residual = (label - expected)[:, None]
        variance = (expected * (1 - expected))[:, None]
        n_found += len(productive_pairs(codes, residual, variance, fewest=20, most=50))

    assert n_found <= 20


def test_what_a_cell_explains_is_taken_off():
    """Of four cells that say the same, one is stated."""
    one, other = np.array([0, 0, 1, 1] * 100), np.array([0, 1, 0, 1] * 100)
    copies = [one, other, one.copy(), other.copy()]
    residual = np.where((one == 1) & (other == 1), 0.4, 0.0)[:, None]

    found = productive_pairs(copies, residual, np.full((400, 1), 0.2), fewest=20, most=50)

    assert found == [PairOfFacts(0, 1, 1, 1)]


def test_columns_without_facts_have_no_pairs():
    """No column, one column, columns of which no fact holds."""
    residual, variance = np.ones((9, 1)), np.ones((9, 1))
    none = np.full(9, -1)

    for codes in ([], [np.zeros(9, int)], [none, none]):
        assert productive_pairs(codes, residual, variance, fewest=1, most=5) == []
