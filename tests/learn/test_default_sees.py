"""What the default schema sees, without a line of schema: each fault, and the column to look at."""

import numpy as np
import pytest

import sqrl

N_ROWS, N_NEW = 6000, 2000


def people(n_rows, seed):
    """Made-up people, with an id, a date and missing incomes."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n_rows)
    years = np.maximum(age - 20 - rng.integers(0, 12, n_rows), 0)
    income = np.exp(10 + 0.01 * years + rng.normal(0, 0.3, n_rows)).round()
    day = np.datetime64("2025-01-01") + rng.integers(0, 200, n_rows)
    late = rng.random(n_rows) < np.where(income < 25_000, 0.4, 0.1)
    return {
        "id": seed * 10**6 + rng.permutation(n_rows),
        "day": day.astype(str),
        "age": age.astype(float),
        "years": years.astype(float),
        "city": rng.choice(["Oslo", "Rome", "Bonn", "Lyon"], n_rows, p=[0.4, 0.3, 0.2, 0.1]),
        "income": np.where(rng.random(n_rows) < 0.03, np.nan, income),
        "default": np.where(late, "yes", "no"),
    }


def some(share, seed=3):
    return np.random.default_rng(seed).random(N_NEW) < share


def first(n):
    return np.arange(N_NEW) % n


FAULTS = {
    "income x 1.3": ("income", lambda t: {"income": t["income"] * 1.3}),
    "Oslo renamed": ("city", lambda t: {"city": np.char.replace(t["city"], "Oslo", "OSLO")}),
    "income missing": ("income", lambda t: {"income": np.where(some(0.4), np.nan, t["income"])}),
    "a city missing": ("city", lambda t: {"city": np.where(some(0.02), None, t["city"])}),
    "months": ("years", lambda t: {"years": t["years"] * 12}),
    "a wild age": ("age", lambda t: {"age": np.where(some(0.01), 200.0, t["age"])}),
    "a year off": ("day", lambda t: {"day": np.char.replace(t["day"], "2025", "2026")}),
    "years of others": ("years", lambda t: {"years": t["years"][::-1]}),
    "defaults swapped": ("default", lambda _: {"default": np.where(some(0.3), "yes", "no")}),
}


@pytest.fixture(scope="module", params=[None, "default"])
def rules(request):
    return sqrl.learn(people(N_ROWS, 1), label=request.param)


def columns(rules, data):
    """The columns that broken rules name, the surest first."""
    found = sqrl.check(rules, data)
    order = [index for index in found.worst(3).tolist() if found.significant[index]]
    return " ".join(rules[index].text for index in order)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_seen_and_its_column_named(rules, name):
    """With a label and without."""
    column, fault = FAULTS[name]
    new = people(N_NEW, 2)

    assert column in columns(rules, new | fault(new))


def test_rows_that_are_there_three_times_are_seen(rules):
    """By the key, and by rows."""
    new = {name: values[first(N_NEW // 3)] for name, values in people(N_NEW, 2).items()}

    assert "repeats(key(" in columns(rules, new)


def test_clean_rows_are_clean(rules):
    """Four batches, large and small, of which none is suspected."""
    for seed, n_rows in ((11, 2000), (12, 2000), (13, 400), (14, 400)):
        data = people(n_rows, seed)

        assert columns(rules, data) == ""
