"""Private rules: noise as large as promised, budgets that add up, neighbours that look alike."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

import sqrl
from sqrl._data.table import as_table
from sqrl._learn.noise import draw_noise, source_of
from sqrl._learn.private import FOR_CLASSES, FOR_SIZE, add_noise
from sqrl._learn.private_plan import DIGITS, LIMIT, noise_variance, plan_tables
from sqrl._rows.rows import Rows


def people(n=600, seed=0):
    draw = np.random.default_rng(seed)
    age = draw.uniform(20, 80, n).round(1)
    return {
        "age": age.tolist(),
        "city": draw.choice(["Rome", "Oslo"], n).tolist(),
        "sick": (draw.random(n) < age / 100).astype(int).tolist(),
    }


def fits(drawn, epsilon):
    """The p-value of draws under exp(-epsilon |x|), in cells of at least five."""
    q = math.exp(-epsilon)
    reach = int(3 / epsilon)
    values = np.arange(-reach, reach + 1)
    share = (1 - q) / (1 + q) * q ** np.abs(values)
    counts = np.array([(np.asarray(drawn) == v).sum() for v in values], float)
    rest = len(drawn) - counts.sum()
    return chisquare(
        [*counts, rest], [*(share * len(drawn)), (1 - share.sum()) * len(drawn)]
    ).pvalue


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3, 2)])
def test_noise_is_distributed_as_promised_and_less_would_be_seen(epsilon):
    """A chi-square test passes for the noise, and fails for noise a tenth too small."""
    below = source_of(1)
    drawn = [draw_noise(epsilon, below) for _ in range(12_000)]
    smaller = [draw_noise(epsilon * Fraction(11, 10), below) for _ in range(12_000)]

    assert fits(drawn, float(epsilon)) > 1e-3
    assert fits(smaller, float(epsilon)) < 1e-3
    assert np.var(drawn) == pytest.approx(noise_variance(epsilon), rel=0.1)


def plan_of(public, epsilon, n_rows=600):
    """The plan for rows as many as the public ones, half of them of each class."""
    table, per_class = as_table(public), np.full(2, n_rows / 2)
    return plan_tables(table, "sick", table, n_rows, per_class, epsilon)


def measured(n=600, seed=1):
    """People with three more numbers, all of which are large where one of them is."""
    draw = np.random.default_rng(seed)
    size = draw.gamma(2.0, 10.0, n)
    more = {name: (size + draw.normal(0, 8, n)).tolist() for name in ("arm", "leg", "foot")}
    return people(n, seed) | more


@pytest.mark.parametrize("age", [20.0, 79.9, 1e9, -1e9, None])
@pytest.mark.parametrize("leg", [25.0, 1e9, math.inf, None])
def test_a_row_more_changes_numbers_by_what_the_noise_is_for(age, leg):
    """The sensitivity, measured on neighbours: a count by 1, all sums together by LIMIT at most."""
    table = measured(seed=2)
    plan = plan_of(measured(), Fraction(1))
    more = {name: [*values, values[0]] for name, values in table.items()}
    more["age"][-1], more["leg"][-1], more["arm"][-1] = age, leg, leg

    def numbers(data):
        rows, classes = Rows(as_table(data), {}), np.array(data["sick"])
        counts = [one.count(rows, classes, 2) for one in plan.cells]
        return counts, plan.sums.add_up(rows, classes, 2)

    (counts, sums), (more_counts, more_sums) = numbers(table), numbers(more)
    changes = [np.abs(a - b).sum() for a, b in zip(counts, more_counts, strict=True)]
    moved = np.abs(more_sums - sums)
    assert changes == [1] * len(plan.cells)
    assert len(plan.cells) == 1
    assert len(plan.sums.numbers) >= 4
    assert moved.sum() <= LIMIT
    assert (moved.sum(axis=0) > 0).sum() <= 1  # of one class alone
    if age in {1e9, -1e9} and leg in {1e9, math.inf}:  # some rows change nearly as much
        assert moved.sum() > LIMIT - len(plan.sums.numbers)


@pytest.mark.parametrize(("epsilon", "within"), [(Fraction(1, 10), 0.9), (Fraction(1_000), 1.0)])
def test_a_row_far_out_keeps_its_direction(epsilon, within):
    """All of its numbers become smaller by one factor; rows that are not far out stay as they are.

    Nine of ten public rows are not where noise is large; where there is little of it, none is.
    """
    plan = plan_of(measured(), epsilon)
    rows = Rows(as_table(measured()), {})
    made = plan.sums.steps(rows)
    whole = np.stack([one.from_middle(rows) / one.step for one in plan.sums.numbers], axis=1)
    total = np.abs(whole).sum(axis=1)

    slack = len(plan.sums.numbers)  # what rounding can add to a row
    inside = total <= LIMIT - slack
    assert (total <= LIMIT + slack).mean() == pytest.approx(within, abs=0.01)
    assert (made[inside] == np.rint(whole[inside])).all()
    factor = np.minimum(1.0, LIMIT / total)[:, None]
    assert np.abs(made - factor * whole).max() <= 2  # rounding, twice


def test_no_number_is_too_large_to_be_made_smaller_exactly():
    """Nearly all public rows differ by 1e-13, and steps are as small: a row still has LIMIT."""
    public = {"x": [1 + 1e-13 * (i % 7) for i in range(598)] + [2.0, 1e6]}
    plan = plan_of(public, Fraction(1))
    made = plan.sums.steps(Rows(as_table({"x": [1.0, 2.0, 1e6, 1e300, -1e300, math.inf]}), {}))

    assert len(plan.sums.numbers) >= 1
    assert (np.abs(made).sum(axis=1) <= LIMIT).all()
    assert (made[2:4] > 0).any()


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 3)])
@pytest.mark.parametrize("public", [people(seed=1), measured(), {"city": ["Rome", "Oslo"] * 9}])
def test_budgets_add_up_to_no_more_than_epsilon(epsilon, public):
    """Exactly, as fractions; and the noise of sums is for what one row changes them by."""
    plan = plan_of(public, epsilon * (1 - FOR_SIZE - FOR_CLASSES))
    budgets = [one.budget for one in plan.cells] + [plan.sums.budget] * bool(plan.sums.numbers)

    assert all(budget > 0 for budget in budgets)
    assert sum(budgets) + epsilon * (FOR_SIZE + FOR_CLASSES) <= epsilon
    assert plan.sums.noise * LIMIT == plan.sums.budget


def test_a_number_that_others_tell_is_left_out_where_noise_is_large():
    """Width is right less left: it costs budget and says nothing more; with little noise it may."""
    draw = np.random.default_rng(0)
    left, width = draw.uniform(0, 50, 400), draw.uniform(5, 20, 400)
    boxes = {"left": left, "right": left + width, "width": width, "high": draw.normal(size=400)}
    boxes = {name: values.tolist() for name, values in boxes.items()}
    noisy, clear = plan_of(boxes, Fraction(1), 400), plan_of(boxes, Fraction(500), 400)

    kept = [one.column for one in noisy.sums.numbers]
    assert "high" in kept
    assert len(kept) == 3
    assert {one.column for one in clear.sums.numbers} == set(boxes)


def odds_of_sums(noise, n_draws=4_000):
    """How much likelier a noisy sum of 0 or less is without a row that adds LIMIT, at least."""
    below = source_of(5)
    one, other = (
        add_noise(np.full(n_draws, total), noise, below) <= 0 for total in (-LIMIT // 2, LIMIT // 2)
    )
    p, q = one.mean(), other.mean()
    error = math.sqrt((1 - p) / p / n_draws + (1 - q) / q / n_draws)
    return math.log(p / q) - 3 * error


def test_sums_of_neighbours_are_told_apart_no_better_than_the_budget_allows():
    """Within the budget; with half of the noise it would be seen."""
    budget = Fraction(1)
    assert odds_of_sums(budget / LIMIT) <= 1.0
    assert odds_of_sums(2 * budget / LIMIT) > 1.0


def test_means_with_little_noise_are_those_of_the_rows():
    """With a large budget a class's mean is that of its rows, held between public limits."""
    rows = people(3000)
    made = sqrl.Private(epsilon=200, public=people(seed=1), noise_seed=1)
    rules = sqrl.learn(rows, label="sick", private=made)
    age, sick = np.array(rows["age"]), np.array(rows["sick"])
    (one,) = [rule for rule in rules if rule.text.startswith("sick = 1") and "max(2" in rule.text]
    low, high = (float(x) for x in one.text.split("max(")[1].split(")")[0].split(", min(age,"))

    assert one.centre == pytest.approx(age[sick == 1].clip(low, high).mean(), abs=0.2)
    assert one.spread == pytest.approx(age.std() / math.sqrt(sick.sum()), rel=0.15)
    unsure = sqrl.learn(
        rows, label="sick", private=sqrl.Private(epsilon=0.02, public=people(seed=1))
    )
    widest = max(rule.spread for rule in unsure if rule.text.startswith("sick = 1"))
    assert widest > 2 * one.spread  # noise is in the spread
    assert unsure.schema.train.strength > rules.schema.train.strength


def largest_ratio(budget, n_draws=20_000):
    """How much likelier a noisy count of 5 or less is from 5 rows than from 6, at least."""
    below = source_of(3)
    one, other = (add_noise(np.full(n_draws, count), budget, below) <= 5 for count in (5, 6))
    p, q = one.mean(), other.mean()
    error = math.sqrt((1 - p) / p / n_draws + (1 - q) / q / n_draws)
    return math.log(p / q) - 3 * error


def test_neighbours_are_told_apart_no_better_than_epsilon_allows():
    """Log odds of an event of two neighbouring tables: within epsilon, and not with half noise."""
    assert largest_ratio(Fraction(1, 2)) <= 0.5
    assert largest_ratio(Fraction(1)) > 0.5  # had half of the noise been drawn, it would be seen


def test_a_private_file_has_nothing_else_of_the_rows(tmp_path):
    """No evidence, no fingerprint, no true number of rows; and it can be loaded and checked by."""
    rows = people()
    made = sqrl.Private(epsilon=2, public={name: people(seed=1)[name] for name in ("age", "city")})
    rules = sqrl.learn(rows, label="sick", private=made)
    rules.save(tmp_path / "rules.json")
    again = sqrl.load_rules(tmp_path / "rules.json")

    assert again.provenance.fingerprint == ""
    assert "epsilon=2" in again.provenance.private
    assert all(rule.evidence is None and rule.tail is None for rule in again)
    assert sqrl.check(again, people(seed=2)) is not None
    other = sqrl.learn(rows, label="sick", private=made)
    assert [one.centre for one in other] != [one.centre for one in rules]  # other noise each time


def test_a_seed_gives_the_same_noise_and_says_so():
    """For tests and tables that are no secret."""
    made = sqrl.Private(epsilon=1, public=people(seed=1), noise_seed=7)
    one, other = (sqrl.learn(people(), label="sick", private=made) for _ in range(2))

    assert [rule.centre for rule in one] == [rule.centre for rule in other]
    assert "who knows it can undo it" in one.provenance.private


def test_what_private_rules_cannot_do_is_said():
    """Units, numbers, and an epsilon that is none."""
    made = sqrl.Private(epsilon=1, public=people(seed=1))
    with pytest.raises(sqrl.SqrlError, match="privacy is of rows, not of units"):
        sqrl.learn(people(), label="sick", unit="city", private=made)
    with pytest.raises(sqrl.SqrlError, match="is a number"):
        sqrl.learn(people(), label="age", private=made)
    with pytest.raises(sqrl.SqrlError, match="epsilon is 0"):
        sqrl.Private(epsilon=0, public=None)
    assert DIGITS == 10**6
