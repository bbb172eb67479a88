"""What a column is, judged by its values."""

import numpy as np
import pytest

import sqrl
from sqrl._learn.roles import role_of

RNG = np.random.default_rng(0)
DAYS = np.datetime64("2020-01-01") + np.arange(400) % 90
COLUMNS = {
    "number": RNG.normal(size=400),
    "few": RNG.integers(0, 9, 400),
    "truths": RNG.random(400) < 0.5,
    "category": RNG.choice(list("pqr"), 400),
    "code": [f"k{row % 80}" for row in range(400)],
    "income": RNG.permutation(10**6)[:400],
    "id": RNG.permutation(10_000)[:400],
    "row": np.arange(400),
    "dense": RNG.permutation(400),
    "name": [f"person {row}" for row in range(400)],
    "same": np.ones(400),
    "empty": np.full(400, np.nan),
    "day": DAYS,
    "day in words": DAYS.astype(str).tolist(),
    "moment in words": [f"{day} 10:0{row % 10}" for row, day in enumerate(DAYS)],
    "nearly days": [*DAYS.astype(str).tolist()[:-1], "soon"],
    "sentences": [f"word {row % 60} and more" for row in range(400)],
    "rarely twice": [f"w{row % 300}" for row in range(400)],
    "bytes": [b"x"] * 400,
}
ROLES = {
    "number": "number",
    "few": "few",
    "truths": "category",
    "category": "category",
    "code": "category",
    "income": "number",
    "id": "key",
    "row": "key",
    "dense": "key",
    "name": "key",
    "same": "constant",
    "empty": "none",
    "day": "date",
    "day in words": "date",
    "moment in words": "date",
    "nearly days": "category",
    "sentences": "text",
    "rarely twice": "text",
    "bytes": "none",
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_what_its_values_say(name):
    """An id says nothing of the next row; an income that happens to be unique may."""
    column = sqrl.as_table({name: COLUMNS[name]})[name]

    assert role_of(column).role == ROLES[name]


def test_what_is_watched_less_has_a_reason():
    """Numbers, categories and dates have none."""
    table = sqrl.as_table(COLUMNS)
    without = {name for name in table if role_of(table[name]).left_out is None}

    assert {ROLES[name] for name in without} == {"number", "few", "category", "date"}
