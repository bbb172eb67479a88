"""Centre and spread of rules: what all rows say, and how sure that is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqrl
from sqrl._check.centres import centre_of
from sqrl._language import parse
from sqrl._language.forms import read_form

FORM = read_form(parse("precision(x > 1 => y = 1) <= 0.9 over 9"))
MEAN = read_form(parse("x > 1 => 0 <= mean(y) <= 9 over 9"))


@given(both=st.integers(1, 400), alone=st.integers(1, 400), head=st.integers(0, 300))
def test_the_spread_of_a_rate_is_the_binomial_one(both, alone, head):
    """sqrt(p (1 - p) / n), with half a row in each cell; rows outside of the body do not matter."""
    n = both + alone
    found = centre_of(FORM, [[n, both + head, both, n + head + 50]])
    smooth = (both + 0.5) / (n + 1)

    assert found is not None
    assert found[0] == both / n
    assert found[1] == pytest.approx((smooth * (1 - smooth) / (n + 1)) ** 0.5, rel=1e-3)


def test_the_spread_of_f1_is_what_resampled_rows_have():
    """The delta method gives the standard deviation that multinomial draws of the rows show."""
    form = read_form(parse("f1(x > 1 => y = 1) <= 0.9 over 9"))
    cells = np.array([300, 200, 150, 350])
    drawn = np.random.default_rng(0).multinomial(1000, cells / 1000, size=4000)
    f1 = 2 * drawn[:, 0] / (2 * drawn[:, 0] + drawn[:, 1] + drawn[:, 2])
    found = centre_of(form, [[500, 450, 300, 1000]])

    assert found is not None
    assert found[1] == pytest.approx(f1.std(), rel=0.05)


def test_a_rule_that_held_out_rows_contradict_weighs_less():
    """Rates of 20 % and 40 % of 1,000 rows each are further apart than chance makes them."""
    agrees = centre_of(FORM, [[1000, 500, 300, 3000], [1000, 500, 310, 3000]])
    differs = centre_of(FORM, [[1000, 500, 200, 3000], [1000, 500, 400, 3000]])

    assert agrees is not None
    assert differs is not None
    assert agrees[1] < 0.011
    assert differs[1] == pytest.approx(0.2 / 2**0.5, rel=0.02)


def test_means_of_two_parts_are_pooled_by_hand():
    """Two rows of 1 and 3 and two of 5 and 7: a mean of 4, a variance of 5, a spread of 5/4."""
    found = centre_of(MEAN, [[2, 2.0, 1.0], [2, 6.0, 1.0]])

    assert found is not None
    assert found[0] == 4.0
    assert found[1] >= (5 / 4) ** 0.5


def test_files_keep_centres_and_older_files_are_read(tmp_path):
    """JSON and Parquet hold both numbers; a rule without them is as it was."""
    rules = sqrl.learn(
        {"x": list(range(400)), "y": [int(x > 250) for x in range(400)]},
        {
            "label": "y",
            "let": {"F": ["x <= 100", "x > 100"]},
            "validate": False,
            "rules": ["? <= precision(F => y = 1) <= ? over 64"],
        },
    )
    for name in ("rules.json", "rules.parquet"):
        rules.save(tmp_path / name)
        again = sqrl.load_rules(tmp_path / name)
        assert [(one.centre, one.spread) for one in again] == [
            (one.centre, one.spread) for one in rules
        ]
    assert rules[1].centre == 149 / 299
    text = (tmp_path / "rules.json").read_text().replace('"centre"', '"once"')
    (tmp_path / "old.json").write_text(text.replace('"spread"', '"twice"'))
    assert sqrl.load_rules(tmp_path / "old.json")[0].centre is None


def test_means_too_far_apart_to_be_squared_have_no_centre():
    """Rows that lie at both ends of what a float can say give no spread, and no error either."""
    form = read_form(parse("0 <= mean(x) <= 1 over 9"))

    assert centre_of(form, [[10, 1e308, 0.0], [10, -1e308, 0.0]]) is None
    assert centre_of(form, [[10, 1e200, 1.0], [10, 0.0, 1.0]]) is None
