"""The guard rolls back what does not help, and numbers that are not finite are undone."""

import math
import sys
import warnings

import pytest
import torch
from torch import nn

import sqrl
from adapt_models import (
    Measured,
    Size,
    Within,
    bits,
    excess,
    some_batches,
    with_batch_norm,
    with_layer_norm,
)
from sqrl._adapt.guard import Breakage, Decision
from sqrl._adapt.objective import Objective
from sqrl._adapt.trace import Record, Trace
from sqrl.errors import AdaptError, AdaptWarning, MissingExtraError


class Stay(Size):
    """Minimises the outputs' size, and is measured by how far they are from the source's."""

    def __init__(self, model):
        super().__init__()
        self.source = [model]  # a list, so that it is no part of the objective

    def measure(self, batch, out):
        model = self.source[0]
        was = model.training
        moved = (out - model.eval()(batch)).abs().mean()
        model.train(was)
        return Measured(1.0, 1 + float(moved.detach()))


class Bigger(Objective):
    """An objective below zero that only grows, as the negative norm of Tent for regression does."""

    def forward(self, _batch, out, _context=None):
        return -out.square().mean()


@pytest.mark.filterwarnings("ignore::sqrl.errors.AdaptWarning")
@pytest.mark.parametrize("make", [with_layer_norm, with_batch_norm])
@pytest.mark.parametrize("lr", [10.0, 30.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_with_a_rate_far_too_high_the_guard_does_no_harm(make, lr, seed):
    """Without it rules are broken more than before, with it never, on all batches."""
    model, batches, rules = make(), some_batches(seed=seed), Within(0.1)
    before = excess(model, batches, 0.1)

    unguarded = sqrl.adapt(model, batches, rules, lr=lr, guard=False, epochs=4, seed=seed)
    guarded = sqrl.adapt(model, batches, rules, lr=lr, epochs=8, seed=seed)
    by_steps = sqrl.adapt(model, batches, rules, lr=lr, guard="step", epochs=8, seed=seed)

    assert excess(unguarded, batches, 0.1) > before
    assert excess(guarded, batches, 0.1) <= before
    assert excess(by_steps, batches, 0.1) <= before


@pytest.mark.parametrize("statistics", ["frozen", "adapted"])
def test_what_does_not_help_is_rolled_back_to_the_last_bit(statistics):
    """Parameters and buffers; the rate is halved each time, and the third in a row ends it."""
    model, batches = with_batch_norm(), some_batches()

    adapted = sqrl.adapt(model, batches, Stay(model), lr=4e-3, statistics=statistics, patience=2)

    assert adapted.changed == ()
    assert bits(adapted.model)[0] == bits(model)[0]
    records = adapted.trace.records
    assert [record.accepted for record in records] == [False] * 6
    assert [record.lr for record in records] == [4e-3, 4e-3, 2e-3, 2e-3, 1e-3, 1e-3]
    assert adapted.trace.ending == "Stopped after rolling back 3 times in a row."


def test_recomputed_statistics_that_do_harm_are_rolled_back_too():
    """The result is compared with the source, statistics and all, and the source is returned."""
    model, batches = with_batch_norm(), some_batches()

    adapted = sqrl.adapt(model, batches, Stay(model), statistics="recomputed")

    assert adapted.changed == ()
    assert "All was rolled back in the end" in adapted.trace.ending
    assert adapted.trace.result is None


def test_the_optimiser_is_rolled_back_too():
    """After a pass that was undone the next one is as if it had been the first."""
    answers = iter([2.0, 1.0, 0.5, 1.0, 1.0, 0.5])  # after, before: worse, better; source, result
    options = {"lr": 0.1, "patience": 1}

    class Moody(Size):
        def measure(self, _batch, _out):
            return Measured(1.0, next(answers))

    model, batch = with_layer_norm(), some_batches(1)
    adapted = sqrl.adapt(model, batch, Moody(), epochs=2, **options)
    once = sqrl.adapt(model, batch, Size(), epochs=1, lr=0.05)

    assert [record.accepted for record in adapted.trace.records] == [False, True]
    assert bits(adapted.model) == bits(once.model)


def test_a_pass_that_overshoots_may_be_followed_by_a_better_one():
    """Waiting is rolled back to the state kept last only when patience is at its end."""
    worse, better = (2.0, 1.0), (0.5, 1.0)  # after and before
    in_the_end = (1.0, 0.5)  # the source, the result

    def kept(decisions, **options):
        answers = iter([number for decision in decisions for number in decision])

        class Moody(Size):
            def measure(self, _batch, _out):
                return Measured(1.0, next(answers))

        model, batch = with_layer_norm(), some_batches(1)
        return model, batch, sqrl.adapt(model, batch, Moody(), lr=0.1, **options)

    model, batch, waited = kept([worse, better, in_the_end], epochs=2, patience=2)
    once, twice = (sqrl.adapt(model, batch, Size(), epochs=n, lr=0.1) for n in (1, 2))
    assert [record.accepted for record in waited.trace.records] == [False, True]
    for mean, first, second in zip(
        waited.parameters(), once.parameters(), twice.parameters(), strict=True
    ):  # what is measured and kept is the average over the last steps, each 0.9 times the next
        assert torch.allclose(mean, (0.9 * first + second) / 1.9)

    model, batch, ended = kept([better, worse, in_the_end], epochs=2, patience=2)
    once = sqrl.adapt(model, batch, Size(), epochs=1, lr=0.1)
    assert [record.accepted for record in ended.trace.records] == [True, False]
    assert bits(ended.model) == bits(once.model)


def test_each_step_is_measured_where_that_is_asked_for():
    """A step that does not help is undone before the next one is made."""
    model, batches = with_layer_norm(), some_batches()

    def outputs(guard):
        seen = []

        class Look(Stay):
            def forward(self, batch, out, context=None):
                seen.append((out - model.eval()(batch)).abs().max().item())
                return super().forward(batch, out, context)

        sqrl.adapt(model, batches, Look(model), guard=guard, lr=0.1, epochs=1)
        return seen

    assert max(outputs("step")) == 0
    assert max(outputs(True)) > 0.01


def test_held_out_batches_are_not_used_for_steps():
    """In each pass another of the batches, by turns."""
    batches = some_batches(3)
    stepped, measured = [], []

    def number(batch):
        return next(i for i, one in enumerate(batches) if torch.equal(one, batch))

    class Look(Within):
        def forward(self, batch, out, context=None):
            stepped.append(number(batch))
            return super().forward(batch, out, context)

        def measure(self, batch, out):
            measured.append(number(batch))
            return super().measure(batch, out)

    sqrl.adapt(with_layer_norm(), batches, Look(), epochs=3, lr=0.01)

    assert stepped == [1, 2, 0, 2, 0, 1]
    assert measured == [0, 0, 1, 1, 2, 2, 2, 2]  # the last two: the result against the source


def test_one_batch_serves_for_steps_and_for_judging():
    """And a note says so."""
    adapted = sqrl.adapt(with_layer_norm(), some_batches(1), Within(), epochs=2)

    assert adapted.trace.n_accepted == 2
    assert adapted.trace.notes == (
        "There is one mini-batch only: the guard goes by what steps used.",
    )


def test_it_ends_when_nothing_is_left_to_mend():
    """Rules that are kept from the start change nothing; those that get kept end the passes."""
    model, batches = with_layer_norm(), some_batches()

    kept = sqrl.adapt(model, batches, Within(bound=100.0))
    mended = sqrl.adapt(model, batches, Within(bound=1.4), lr=0.05, epochs=60)

    assert kept.changed == ()
    assert len(kept.trace) == 1
    assert len(mended.trace) < 60
    assert mended.trace.records[-1].excess_after == 0
    for trace in (kept.trace, mended.trace):
        assert trace.ending == "Stopped: on the mini-batches held out nothing is left to mend."


def test_without_a_guard_it_ends_when_every_loss_is_zero():
    """Algorithm 2 makes no step where the loss is zero."""
    model = with_layer_norm()

    adapted = sqrl.adapt(model, some_batches(), Within(bound=100.0), guard=False)

    assert adapted.changed == ()
    assert (len(adapted.trace), adapted.trace.ending) == (1, "Stopped: nothing is left to mend.")


def test_another_objective_can_be_guarded_by_rules():
    """guard=RuleLoss(...) keeps a method from collapsing; here the guard wants the opposite."""
    model, batches = with_layer_norm(), some_batches()

    assert sqrl.adapt(model, batches, Bigger(), lr=0.05, guard=Within()).changed == ()
    alone = sqrl.adapt(model, batches, Bigger(), lr=0.05, epochs=15)
    assert excess(alone, batches) > excess(model, batches)
    assert alone.trace.notes == (
        "There was no guard, for the objective has no rules to go by; guard=RuleLoss(...)"
        " gives it some.",
    )


def test_online_a_step_is_measured_on_the_batch_before():
    """The first by itself; what does not help is rolled back before the prediction."""
    model, batches = with_layer_norm(), some_batches(3)

    rejected = sqrl.adapt(model, batches, Stay(model), mode="online", lr=0.1)
    helped = sqrl.adapt(model, batches, Within(), mode="online", lr=0.01)

    for batch, out in zip(batches, rejected.outputs, strict=True):
        assert torch.equal(out, model.eval()(batch))
    assert [record.lr for record in rejected.trace.records] == [0.1] * 3
    by_first = float((model.eval()(batches[0]).abs() - 0.2).clamp(min=0).mean().detach())
    assert helped.trace.records[0].excess_before == pytest.approx(by_first)
    assert helped.trace.records[1].excess_before == helped.trace.records[0].excess_after
    assert helped.trace.n_accepted == 3


def test_episodic_a_step_is_measured_on_its_own_batch():
    """From the source each time."""
    model, batches = with_layer_norm(), some_batches(3)

    adapted = sqrl.adapt(model, batches, Within(), mode="episodic", lr=0.01)

    for batch, record in zip(batches, adapted.trace.records, strict=True):
        assert record.excess_before == pytest.approx(excess(model, [batch]))
        assert record.accepted


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (1.0, 0.5, True),
        (1.0, 1.0, False),
        (1.0, 1 - 1e-9, False),
        (0.0, 0.0, False),
        (1.0, math.nan, False),
        (1.0, math.inf, False),
        (math.inf, 1.0, True),
    ],
)
def test_only_less_is_less(before, after, expected):
    """Equal up to rounding is no fall, and nothing that is not finite is."""
    assert Decision(Breakage(0.5, before), Breakage(0.5, after)).has_fallen == expected


class Explosive(nn.Module):
    """Gives nan as soon as its parameter has moved by more than a little."""

    def __init__(self, limit=0.5, value=math.nan):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.limit, self.value = limit, value

    def forward(self, x):
        out = x.mean(1, keepdim=True) * self.weight
        return out if abs(float(self.weight.detach()) - 1) < self.limit else out * self.value


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e6])
@pytest.mark.parametrize("mode", ["offline", "online"])
def test_numbers_that_are_not_finite_are_undone(value, mode):
    """So is a loss that explodes; one warning says so, and the state returned is a good one."""
    model, batches = Explosive(value=value), some_batches()

    with pytest.warns(AdaptWarning, match="had to be undone; what is returned is the last good"):
        adapted = sqrl.adapt(
            model, batches, Size(), parameters="all", lr=0.7, guard=False, epochs=3, mode=mode
        )

    assert abs(float(adapted.model.weight.detach()) - 1) < 0.5
    assert adapted.predict(batches).isfinite().all()
    assert sum(record.n_undone for record in adapted.trace.records) >= 1
    assert "had to be undone" in adapted.trace.notes[-1]


def test_after_patience_in_a_row_it_stops():
    """Each time the rate is halved, until there is no patience left."""
    model = Explosive(limit=1e-9)

    with pytest.warns(AdaptWarning, match="^2 steps led to numbers"):
        adapted = sqrl.adapt(
            model, some_batches(), Size(), parameters="all", guard=False, patience=2
        )

    assert adapted.changed == ()
    assert adapted.trace.ending == "Stopped after 2 steps in a row that had to be undone."


def test_what_was_gained_before_is_kept():
    """Only the step that led too far is undone; later ones, half as long, go on from there."""
    model = Explosive(limit=0.5)

    with pytest.warns(AdaptWarning, match="had to be undone"):
        adapted = sqrl.adapt(
            model, some_batches(), Size(), parameters="all", guard=False, lr=0.2, epochs=4
        )

    assert 0.5 < float(adapted.model.weight.detach()) < 0.6
    undone = sum(record.n_undone for record in adapted.trace.records)
    assert undone > 3  # more than patience, but not so many in a row
    first, second = adapted.trace.records[:2]
    assert (first.lr, second.lr) == (0.2, 0.2 / 2**first.n_undone)


def test_gradients_that_are_not_finite_make_no_step():
    """The square root has an infinite slope at zero, where the loss itself is finite."""

    class Root(Objective):
        def forward(self, _batch, out, _context=None):
            return 1 + (out * 0).abs().sqrt().mean()

    model = with_layer_norm()
    with pytest.warns(AdaptWarning, match="steps led to numbers that are not finite"):
        adapted = sqrl.adapt(model, some_batches(), Root(), guard=False)

    assert adapted.changed == ()


def test_a_batch_that_no_model_could_use_is_left_out():
    """Rows with nan make the source fail too: the steps are not to blame, and the rate stays."""
    batches = some_batches(4)
    batches[3][3, 1] = math.nan

    with pytest.warns(AdaptWarning) as caught:
        adapted = sqrl.adapt(with_layer_norm(), batches, Size(), guard=False, epochs=2)

    assert [str(one.message) for one in caught] == [
        "2 mini-batches had to be left out, for on them the model as it came gives numbers that are"
        " not finite."
    ]
    assert [record.lr for record in adapted.trace.records] == [2e-2, 2e-2]
    assert [record.n_steps for record in adapted.trace.records] == [3, 3]
    assert all(value.isfinite().all() for value in adapted.parameters())


def test_outputs_that_are_not_finite_from_the_start_are_refused():
    """How many rows, where, and what to look at."""
    batches = some_batches(2)
    batches[0][:5, 0] = math.nan

    with pytest.raises(AdaptError) as caught:
        sqrl.adapt(with_layer_norm(), batches, Size())

    assert str(caught.value) == (
        "The model as it came gives numbers that are not finite for 5 of 16 rows.\n"
        "  where: mini-batch 1\n"
        "  fix:   look for missing or huge values in its inputs, and for nan in its weights"
    )


def test_a_class_that_is_ruled_out_is_no_such_output():
    """A logit of -inf is how models say never."""

    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(3)

        def forward(self, x):
            return torch.cat([self.norm(x), torch.full((len(x), 1), -math.inf)], 1)

    class Certain(Objective):
        def forward(self, _batch, out, _context=None):
            return 1 - out.softmax(1).max(1).values.mean()

    assert sqrl.adapt(Masked(), some_batches(), Certain(), epochs=1).changed


def test_the_guard_takes_nan_for_infinitely_bad():
    """Rules would not apply to missing values, and a broken model would seem to keep them all."""

    class Applies(Within):
        def measure(self, _batch, out):
            known = out[~out.isnan()]
            return Measured(0.0, float((known.abs() - 0.2).clamp(min=0).sum()) / out.numel())

    model = Explosive(limit=0.5)
    adapted = sqrl.adapt(model, some_batches(2), Applies(), parameters="all", lr=0.6, epochs=1)

    assert not adapted.trace.records[0].accepted
    assert adapted.trace.records[0].excess_after == math.inf
    assert adapted.changed == ()


def test_harder_batches_are_no_explosion():
    """A loss 1,000 times the first one is fine where the source has it too."""
    batches = [some_batches(1)[0] * 1e-3, *some_batches(3)]
    model = nn.Sequential(nn.Linear(3, 2, bias=False))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapted = sqrl.adapt(
            model, batches, Size(), parameters="all", guard=False, epochs=2, lr=1e-3
        )

    assert [record.n_steps for record in adapted.trace.records] == [4, 4]


def test_a_trace_is_a_table_that_fits_the_terminal(golden):
    """What was adapted, a row for each epoch, how it ended, and notes."""
    measured = {"share_before": 1.0, "share_after": 0.999, "excess_before": 1.234e-05}
    trace = Trace(
        mode="offline",
        objective="Tent + 10 x RuleLoss",
        n_tensors=24,
        n_values=12_288,
        records=(
            Record(number=1, loss=None, n_steps=0, lr=0.005, seconds=0.1),
            Record(number=2, loss=0.12345, n_steps=9, lr=0.005, seconds=1.25),
            Record(
                number=1003,
                loss=1.5e-07,
                n_steps=9,
                lr=0.000125,
                seconds=1234.5,
                accepted=False,
                excess_after=5.6789e-05,
                **measured,
            ),
        ),
        notes=("3 rules had no part, such as '3 <= x <= 15': the model does not give x.",),
        ending="All 3 epochs were made.",
        result=Decision(Breakage(0.25, 0.5), Breakage(0.125, 0.03125)),
    )

    assert max(map(len, str(trace).splitlines())) <= 80
    golden("adapt_trace.txt", f"{trace}\n")


def test_a_trace_is_a_table_of_its_records():
    """Null where nothing was measured."""
    model, batches = with_layer_norm(), some_batches()

    measured = sqrl.adapt(model, batches, Within(), epochs=3).trace
    alone = sqrl.adapt(model, batches, Size(), epochs=3).trace

    assert measured.to_arrow()["excess_after"].to_pylist() == [
        r.excess_after for r in measured.records
    ]
    assert alone.to_arrow()["excess_after"].null_count == 3
    assert alone.to_arrow()["n_steps"].to_pylist() == [6, 6, 6]


def test_a_long_trace_shows_its_ends():
    """A stream of a hundred batches is not a hundred lines."""
    adapted = sqrl.adapt(with_layer_norm(), some_batches(100, rows=4), Size(), mode="online")
    lines = str(adapted.trace).splitlines()

    assert len(lines) < 40
    assert "... 76 more" in str(adapted.trace)
    assert sum(line.startswith("    100 ") for line in lines) == 1


def test_a_trace_in_a_notebook_is_escaped():
    """Names of rules may hold anything."""
    trace = Trace(mode="offline", objective="<b>", n_tensors=1, n_values=1, notes=("a < b",))

    assert trace._repr_html_().startswith("<pre>Adapted offline by &lt;b&gt;: 1 value in 1 tensor.")
    assert "note: a &lt; b" in trace._repr_html_()


def test_a_drawing_without_matplotlib_names_the_extra(monkeypatch):
    """As everywhere."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(MissingExtraError, match="Plots need matplotlib"):
        Trace(mode="offline", objective="Size", n_tensors=1, n_values=1).plot()


def test_a_trace_is_drawn():
    """Lines for the loss and the excess, red dots for what was not kept."""
    pytest.importorskip("matplotlib").use("agg")
    adapted = sqrl.adapt(with_layer_norm(), some_batches(), Within(), lr=3.0, epochs=4)

    ax = adapted.trace.plot()

    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [
        "loss, on mini-batches of steps",
        "excess, on mini-batches held out",
        "not kept",
    ]
    undone = [record.number for record in adapted.trace.records if not record.accepted]
    assert [int(x) for x, _ in ax.collections[0].get_offsets()] == undone
    ax.figure.clear()
