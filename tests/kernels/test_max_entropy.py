"""Probabilities with wanted moments: the equations at the solution, and a naive search for it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqrl._kernels.max_entropy import attainable, best_scale, level_of, match_moments, softmax


def drawn(seed, n=60, d=3, k=3):
    draw = np.random.default_rng(seed)
    features = draw.normal(size=(n, d))
    features[:, -1] += features[:, 0]
    features -= features.mean(axis=0)
    p = softmax(features @ draw.normal(size=(d, k)) + draw.normal(size=k))
    return features, features.T @ p / n, p.mean(axis=0), p


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_the_probabilities_that_made_the_moments_are_found(seed):
    """Without penalty they are the only ones of this form that have them."""
    features, wanted, base, p = drawn(seed)
    weights, level = match_moments(features, wanted, base, np.zeros((3, 3, 3)))

    assert np.abs(softmax(features @ weights + level) - p).max() < 5e-3


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 1))
def test_a_naive_descent_finds_no_lower_objective(seed, strength):
    """The same minimum as many small steps along the gradient, row by row."""
    features, wanted, base, _ = drawn(seed, n=30)
    penalty = np.repeat(strength * np.eye(3)[None], 3, axis=0)

    def objective(weights, level):
        total = 0.0
        for row in features:
            z = row @ weights + level
            total += np.log(np.exp(z).sum())
        total = total / len(features) - (weights * wanted).sum() - level @ base
        return total + 0.5 * sum(w @ penalty[c] @ w for c, w in enumerate(weights.T))

    weights, level = np.zeros((3, 3)), np.zeros(3)
    for _ in range(2000):
        p = softmax(features @ weights + level)
        weights = weights - 0.5 * (features.T @ p / len(p) - wanted + strength * weights)
        level = level - 0.5 * (p.mean(axis=0) - base)

    assert (
        objective(*match_moments(features, wanted, base, penalty))
        <= objective(weights, level) + 1e-6
    )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_levels_keep_the_base(seed):
    """Whatever the logits, the mean probability of a class is its base."""
    draw = np.random.default_rng(seed)
    logits, base = draw.normal(size=(40, 4)), draw.dirichlet(np.full(4, 3.0))

    found = softmax(logits + level_of(logits, base)).mean(axis=0)
    assert np.abs(found - base).max() < 1e-5


def test_what_no_rows_could_have_is_taken_off():
    """Facts that fill all rows add up to the class: what is over is shared out."""
    facts = np.eye(3)[np.arange(30) % 3] - 1 / 3
    wanted = np.array([[0.1], [0.0], [0.05]])

    assert attainable(facts, wanted).sum() == pytest.approx(0, abs=1e-12)
    assert (wanted - attainable(facts, wanted)).std() < 1e-12


def test_the_scale_is_the_likeliest_one():
    """No factor on a fine grid does better."""
    draw = np.random.default_rng(0)
    z = np.column_stack([np.zeros(400), draw.normal(size=400)])
    codes = (draw.random(400) < softmax(2.5 * z)[:, 1]).astype(int)
    base = np.bincount(codes) / 400
    scale, cost = best_scale([(z, base, codes)])

    def cost_of(factor):
        p = softmax(factor * z + level_of(factor * z, base))
        return -np.log(p[np.arange(400), codes]).mean()

    assert cost <= min(cost_of(one) for one in np.linspace(0.3, 6, 60)) + 1e-4
    assert scale == pytest.approx(2.5, abs=0.6)
