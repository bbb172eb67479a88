"""What is tried out where the labels are: what halves state of each other, by hand."""

import numpy as np
import pytest

from sqrl._language import parse_formula, to_text
from sqrl._learn.number_terms import limits_of, number_terms
from sqrl._learn.try_training import TermsOfRows, standard, stated_by, try_training


def test_what_one_half_states_of_the_other_is_computed_row_by_row():
    """A fact: rate within x share here; a number: share of the class x how far its mean is off."""
    draw = np.random.default_rng(0)
    fact = draw.integers(0, 2, 80).astype(float)
    number = draw.normal(3, 2, 80)
    number[::7] = np.nan
    codes = draw.integers(0, 3, 80)
    terms = TermsOfRows(np.column_stack([fact, number]), 1, np.array([False, False]))
    behind, here = np.arange(40), np.arange(40, 80)
    base, wanted = stated_by(terms, behind, here, codes, 3)
    inputs = standard(terms, here)

    known = ~np.isnan(number)
    middle = np.mean([number[i] for i in behind if known[i]])
    for which in range(3):
        share = sum(codes[i] == which for i in behind) / 40
        assert base[which] == pytest.approx(share)
        inside = [i for i in behind if fact[i]]
        rate = sum(codes[i] == which for i in inside) / len(inside)
        expected = fact[here].mean() * (rate - share) / fact[here].std()
        assert wanted[0, which] == pytest.approx(expected)
        off = sum(number[i] - middle for i in behind if known[i] and codes[i] == which) / 40
        assert wanted[1, which] == pytest.approx(off / np.nanstd(number[here]))
    assert np.allclose(inputs.mean(axis=0), 0)
    assert (inputs[~known[here], 1] == 0).all()


def test_noise_is_held_back_more_than_signal():
    """With 20 columns of noise the best strength is higher than with one that tells."""
    draw = np.random.default_rng(1)
    signal, noise = draw.normal(size=(300, 1)), draw.normal(size=(300, 20))
    codes = (draw.random(300) < 1 / (1 + np.exp(-3 * signal[:, 0]))).astype(int)

    def trial(values):
        kept = TermsOfRows(values, 0, np.zeros(values.shape[1], bool))
        return try_training(lambda _: kept, codes, 2)

    clear, hidden = trial(signal), trial(np.hstack([0.1 * signal, noise]))
    assert clear.strength < hidden.strength
    assert clear.cost < hidden.cost < np.log(2) + 0.01


def test_limits_do_not_follow_single_rows():
    """One value of 16,020 moves nothing, and no limit is a value that few rows lie beyond."""
    values = np.append(np.linspace(90, 180, 999), 16_020.0)
    low, high = limits_of(values)
    terms = [to_text(one) for one in number_terms(parse_formula("ap_hi"), values, 1)]

    assert (values < low).sum() >= 5
    assert (values > high).sum() >= 5
    assert high < 181
    assert terms == ["max(90.9, min(ap_hi, 179.2))", "max(135, min(ap_hi, 179.2))"]
