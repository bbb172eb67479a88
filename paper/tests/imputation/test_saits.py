"""SAITS imputes from what it is given, and never looks at what it is not."""

import copy
import math

import pytest
import torch
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from sqrl_paper.imputation.saits import (
    Block,
    DiagonalAttention,
    Estimates,
    SaitsSize,
    make_saits,
    positions,
)
from sqrl_paper.imputation.saits_training import (
    SaitsExamples,
    SaitsTraining,
    joint_loss,
    mean_error,
    train_saits,
    valid_error,
    withhold,
)

NAN = float("nan")
SMALL = SaitsSize(n_layers=1, width=8, n_heads=2, inner=8, dropout=0.0)


def made(n=6, n_steps=5, n_features=3, seed=0):
    """Random values, and which of them are given."""
    draw = torch.Generator().manual_seed(seed)
    values = torch.randn(n, n_steps, n_features, generator=draw)
    return values, (torch.rand(values.shape, generator=draw) < 0.5).float()


def by_loops(attention, state):
    """What the attention should give for one series, a number at a time."""
    attention = copy.deepcopy(attention).requires_grad_(False)
    n_steps, width = state.shape
    size = width // attention.n_heads
    query, key, value = (state @ attention.project.weight.T).split(width, dim=1)
    joined = torch.zeros(n_steps, width)
    for head in range(attention.n_heads):
        places = slice(head * size, (head + 1) * size)
        for step in range(n_steps):
            others = [other for other in range(n_steps) if other != step]
            scores = [float(query[step, places] @ key[other, places]) for other in others]
            powers = [math.exp(score / math.sqrt(size)) for score in scores]
            for other, power in zip(others, powers, strict=True):
                joined[step, places] += power / sum(powers) * value[other, places]
    return joined @ attention.join.weight.T


def test_attention_agrees_with_a_loop_over_heads_and_steps():
    """Softmax over the other steps of scaled products, the heads joined."""
    torch.manual_seed(0)
    attention, state = DiagonalAttention(6, 2), torch.randn(3, 4, 6)
    found, weights = attention(state)

    for series, expected in zip(state, found, strict=True):
        assert torch.allclose(by_loops(attention, series), expected, atol=1e-6)
    assert weights.shape == (3, 2, 4, 4)
    assert torch.equal(weights.diagonal(dim1=-2, dim2=-1), torch.zeros(3, 2, 4))
    assert torch.allclose(weights.sum(-1), torch.ones(3, 2, 4))


def test_what_a_step_gets_by_attention_does_not_come_from_itself():
    """In the first block too: with equal queries, a step's own key and value have no effect."""
    torch.manual_seed(0)
    attention, state = DiagonalAttention(6, 2), torch.randn(1, 4, 6)
    attention.project.weight.data[:6] = 0.0  # queries, which may depend on the step itself
    before, _ = attention(state)
    state[0, 2] += 10.0
    after, _ = attention(state)

    assert torch.equal(before[0, 2], after[0, 2])
    assert not torch.isclose(before[0, [0, 1, 3]], after[0, [0, 1, 3]]).all(-1).any()


def test_a_block_tells_steps_apart_by_their_positions():
    """The same values at all hours still have different states."""
    torch.manual_seed(0)
    state, weights = Block(5, 3, SMALL)(torch.ones(2, 5, 3), torch.ones(2, 5, 3))

    assert state.shape == (2, 5, 8)
    assert weights.shape == (2, 5, 5)
    assert not torch.allclose(state[:, 0], state[:, 1], atol=1e-3)


@for_all(st.integers(1, 9), st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_positions_are_sines_and_cosines(n_steps, width):
    """Of step / 10,000^(2 i / width), in turn, for odd widths too."""
    found = positions(n_steps, width)

    assert found.shape == (n_steps, width)
    for step in range(n_steps):
        for place in range(width):
            angle = step / 10_000 ** (place // 2 * 2 / width)
            wave = math.cos(angle) if place % 2 else math.sin(angle)
            assert float(found[step, place]) == pytest.approx(wave, abs=1e-5)


def test_given_values_stay_and_others_are_estimated():
    """The output has the shape of the input, and its values where they are given."""
    values, given = made()
    network = make_saits(5, 3, size=SMALL).eval()
    out = network(values, given)
    found = network.estimates(values, given)

    assert out.shape == (6, 5, 3)
    assert torch.equal(out[given > 0], values[given > 0])
    assert torch.equal(out[given == 0], found.mixed[given == 0])


@pytest.mark.parametrize("other", [99.0, NAN, math.inf])
def test_what_is_not_given_has_no_effect(other):
    """Whatever stands there, be it the hidden truth: every estimate is the same to the last bit."""
    values, given = made()
    network = make_saits(5, 3, size=SMALL).eval()
    changed = torch.where(given > 0, values, other)

    assert torch.equal(network(values, given), network(changed, given))


def test_the_mix_lies_between_the_two_estimates():
    """Its weight is a share, between 0 and 1."""
    values, given = made()
    found = make_saits(5, 3, size=SMALL).eval().estimates(values, given)
    lower, upper = (
        torch.minimum(found.first, found.second),
        torch.maximum(found.first, found.second),
    )

    assert bool(((found.mixed >= lower - 1e-6) & (found.mixed <= upper + 1e-6)).all())
    assert not torch.allclose(found.first, found.second, atol=1e-2)


def test_the_second_block_sees_what_the_first_estimated():
    """Its estimates change with those of the first block, where nothing is given."""
    values, given = made()
    network = make_saits(5, 3, size=SMALL).eval()
    before = network.estimates(values, given)
    network.first_estimate.bias.data += 1.0
    after = network.estimates(values, given)

    assert torch.allclose(after.first, before.first + 1.0, atol=1e-5)
    assert not torch.allclose(after.second, before.second, atol=1e-3)
    everything = torch.ones_like(given)
    network.first_estimate.bias.data -= 1.0
    before = network.estimates(values, everything)
    network.first_estimate.bias.data += 1.0
    assert torch.equal(network.estimates(values, everything).second, before.second)


def test_the_seed_decides_the_weights_and_leaves_torch_alone():
    """Making a network draws from a generator of its own."""
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    first, same, other = (make_saits(5, 3, size=SMALL, seed=seed) for seed in (1, 1, 2))

    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(first.share.weight, same.share.weight)
    assert not torch.equal(first.share.weight, other.share.weight)


def test_the_joint_loss_by_hand():
    """Errors of 1, 2 and 3 on what is given make 2; the error withheld is 5, at half the weight."""
    values = torch.tensor([[[10.0, 20.0, NAN]]])
    given, withheld = torch.tensor([[[1.0, 0.0, 0.0]]]), torch.tensor([[[0.0, 1.0, 0.0]]])
    found = Estimates(
        torch.tensor([[[11.0, 99.0, 99.0]]]),
        torch.tensor([[[8.0, 99.0, 99.0]]]),
        torch.tensor([[[13.0, 25.0, 99.0]]]),
    )

    assert float(joint_loss(found, values, given, withheld)) == pytest.approx(7.0)
    assert float(joint_loss(found, values, given, withheld, weight=0.5)) == pytest.approx(4.5)


def test_an_error_over_nothing_is_zero():
    """A mini-batch of which nothing is withheld teaches nothing about imputing."""
    assert float(mean_error(torch.ones(2), torch.zeros(2), torch.zeros(2))) == 0.0


def test_a_share_of_what_is_given_is_withheld():
    """Never what is not given, and about as much as was asked for."""
    given = made(200)[1]
    draw = torch.Generator().manual_seed(0)
    withheld = withhold(given, 0.2, generator=draw)

    assert bool((withheld <= given).all())
    assert float(withheld.sum() / given.sum()) == pytest.approx(0.2, abs=0.03)
    assert not torch.equal(withheld, withhold(given, 0.2, generator=draw))


def test_a_gradient_reaches_every_weight():
    """Both blocks, both estimates, the mix and every normalisation layer learn from the loss."""
    values, given = made()
    network = make_saits(5, 3, size=SMALL)
    withheld = withhold(given, 0.5, generator=torch.Generator().manual_seed(0))
    found = network.estimates(values, given - withheld)
    joint_loss(found, values, given - withheld, withheld).backward()

    assert [name for name, weight in network.named_parameters() if not weight.grad.any()] == []


def waves(n, seed):
    """Series that one can impute: three features in step, the level of each its own."""
    draw = torch.Generator().manual_seed(seed)
    level = torch.randn(n, 1, 1, generator=draw)
    values = level + torch.sin(torch.arange(6.0))[None, :, None] + torch.zeros(n, 6, 3)
    observed = (torch.rand(values.shape, generator=draw) < 0.8).float()
    hidden = withhold(observed, 0.5, generator=draw)
    return SaitsExamples(values, observed - hidden, hidden)


def test_training_makes_imputations_better_and_keeps_the_best_epoch():
    """Better than imputing the mean; what comes back are the errors after each epoch."""
    train, valid = waves(128, 0), waves(64, 1)
    network = make_saits(6, 3, size=SaitsSize(n_layers=1, width=16, n_heads=2, inner=16))
    how = SaitsTraining(epochs=12, batch=16, lr=5e-3, patience=12)
    told = []
    errors = train_saits(
        network, train, valid, training=how, seed=0, track=lambda *done: told.append(done)
    )

    assert len(errors) == 12
    assert valid_error(network, valid) == min(errors)
    assert min(errors) < 0.5 * float(mean_error(torch.zeros(64, 6, 3), valid.values, valid.hidden))
    assert not network.training
    assert told[-1] == ("training", 12, 12)


def test_training_never_sees_what_is_hidden():
    """Other hidden values in train lead to the same weights, to the last bit."""
    train, valid = waves(20, 0), waves(20, 1)
    other = SaitsExamples(
        torch.where(train.hidden > 0, 77.0, train.values), train.given, train.hidden
    )
    how = SaitsTraining(epochs=1, batch=10)
    networks = [make_saits(6, 3, size=SMALL) for _ in range(2)]
    for network, examples in zip(networks, (train, other), strict=True):
        train_saits(network, examples, valid, training=how, seed=0)

    first, second = (network.state_dict() for network in networks)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_training_is_decided_by_its_seed_and_leaves_torch_alone():
    """The same seed twice gives the same weights, dropout included."""
    train, valid = waves(20, 0), waves(20, 1)
    source = make_saits(6, 3, size=SaitsSize(n_layers=1, width=8, n_heads=2))
    how = SaitsTraining(epochs=2, batch=10)
    weights = []
    for seed in (0, 0, 1):
        network = copy.deepcopy(source)
        torch.manual_seed(5)
        expected = torch.rand(1)
        torch.manual_seed(5)
        train_saits(network, train, valid, training=how, seed=seed)
        assert torch.equal(torch.rand(1), expected)
        weights.append(network.first.embed.weight)

    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_training_stops_where_the_error_no_longer_falls():
    """With a learning rate that ruins the network, after `patience` epochs."""
    how = SaitsTraining(epochs=30, batch=10, lr=3.0, patience=2)
    errors = train_saits(
        make_saits(6, 3, size=SMALL), waves(20, 0), waves(20, 1), training=how, seed=0
    )

    assert len(errors) == errors.index(min(errors)) + 3
    assert len(errors) < 30
