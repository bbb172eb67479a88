"""`--order` and `--entity`: rules about the rows before, from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest


def write_visits(path, *, seed, jumps=0):
    """Visits in no order, in which a pulse moves little from day to day, but for some jumps."""
    rng = np.random.default_rng(seed)
    pulse = 70 + np.cumsum(rng.normal(size=(20, 30)), axis=1)
    pulse[rng.permutation(20)[:jumps], 17] += 40
    rows = [f"{day},p{who},{pulse[who, day]:.3f}" for who in range(20) for day in range(30)]
    Path(path).write_text("\n".join(["day,who,pulse", *rng.permutation(rows), ""]))


@pytest.fixture
def learned(sqrl):
    """Rules of visits, learned in their order."""
    write_visits("visits.csv", seed=0)
    outcome = sqrl("learn", "visits.csv", "--order", "day", "--entity", "who")
    assert outcome.code == 0
    return outcome


def test_a_schema_is_proposed_in_which_moves_are_watched(sqrl, learned):
    """It says the order, so that it can be used again as it is."""
    assert "order: day\nentity: who\n" in learned.err
    assert "delta(pulse)" in learned.out
    again = sqrl("learn", "visits.csv", "--schema", "rules.schema.yaml", "-o", "again.json")
    assert again.code == 0
    texts = [
        [rule["text"] for rule in json.loads(Path(name).read_text())["rules"]]
        for name in ("rules.json", "again.json")
    ]
    assert texts[0] == texts[1]


def test_a_check_knows_the_order_from_the_rules(sqrl, learned):  # noqa: ARG001
    """Fifteen jumps among 580 moves are found, and the column that jumped is named."""
    write_visits("jumps.csv", seed=0, jumps=15)

    outcome = sqrl("check", "rules.json", "jumps.csv")

    assert outcome.code == 1
    assert "delta(pulse)" in outcome.out
    assert sqrl("check", "rules.json", "visits.csv").code == 0


def test_a_column_that_is_not_there_is_an_error(sqrl):
    """With the nearest name."""
    write_visits("visits.csv", seed=0)
    outcome = sqrl("learn", "visits.csv", "--order", "days")

    assert outcome.code == 2
    assert outcome.err == (
        "sqrl: Unknown column 'days'.\n  where: order, visits.csv\n  fix:   did you mean 'day'?\n"
    )
