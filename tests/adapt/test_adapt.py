"""adapt(): modes, statistics, the anchor, half precision, and batches of all kinds."""

import copy
import math
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sqrl
from adapt_models import Size, Within, bits, excess, some_batches, with_batch_norm, with_layer_norm
from sqrl._adapt.anchor import Anchor
from sqrl._adapt.batch_norm import Pooled
from sqrl._adapt.objective import Objective
from sqrl.errors import AdaptError


class Nothing(Objective):
    has_steps = False


class Recompute(Nothing):
    statistics = "recomputed"


class Follow(Nothing):
    statistics = "adapted"


def test_violations_fall_and_the_model_is_called_as_before():
    """An adapted copy takes what the model takes, in evaluation mode."""
    model, batches = with_layer_norm().train(), some_batches()

    adapted = sqrl.adapt(model, batches, Within(), lr=0.05)

    assert excess(adapted, batches) < 0.5 * excess(model, batches)
    assert torch.equal(adapted(batches[0]), adapted(batches[0]))  # dropout is off
    assert repr(adapted) == "<Adapted Sequential by Within: 2 tensors differ>"
    assert adapted.outputs is None


def test_the_same_seed_gives_the_same_bits():
    """Also with a shuffling DataLoader, and with sqrl.Batches that were used before."""
    rows = torch.cat(some_batches())
    shuffled = DataLoader(TensorDataset(rows), batch_size=16, shuffle=True)
    ours = sqrl.Batches(rows, size=16)

    model = with_batch_norm()
    for batches in (shuffled, ours):
        first = sqrl.adapt(model, batches, Within(), seed=3)
        list(batches)
        again = sqrl.adapt(model, batches, Within(), seed=3)
        assert bits(first.model) == bits(again.model)
        assert first.changed


def test_torchs_random_state_stays_as_it_was():
    """A seed here does not seed the rest of the program."""
    model, rows = with_layer_norm(), torch.cat(some_batches())
    loader = DataLoader(TensorDataset(rows), batch_size=16, shuffle=True)
    before = torch.get_rng_state()

    sqrl.adapt(model, loader, Within())

    assert torch.equal(torch.get_rng_state(), before)


def test_predictions_of_our_batches_are_in_the_order_of_the_table():
    """Rows are shuffled for steps, not for predictions; none is left out."""
    rows = torch.randn(21, 3)
    batches = sqrl.Batches(rows, {"row": list(range(21))}, size=8)

    adapted = sqrl.adapt(with_layer_norm(), batches, Within())

    with torch.no_grad():
        assert torch.allclose(adapted.predict(batches), adapted(rows), atol=1e-6)


def test_outputs_are_joined_where_they_are_tensors():
    """Tuples and dicts part by part; what has no rows to join comes as a list."""

    class Many(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(3)

        def forward(self, x):
            out = self.norm(x)
            return {"logits": out, "parts": (out[:, 0], out), "boxes": [{"n": 1}] * len(x)}

    class Logits(Size):
        def forward(self, batch, out, _context=None):
            return super().forward(batch, out["logits"])

    found = sqrl.adapt(Many(), some_batches(3), Logits(), epochs=1).predict(some_batches(3))

    assert found["logits"].shape == (48, 3)
    assert [part.shape for part in found["parts"]] == [(48,), (48, 3)]
    assert [len(boxes) for boxes in found["boxes"]] == [16, 16, 16]


def test_predictions_are_finished_as_the_method_says():
    """In predict, which has the batch, and not in a plain call."""

    class Clipped(Nothing):
        def finish(self, _batch, out):
            return out.clamp(-0.1, 0.1)

    batches = some_batches(2)
    adapted = sqrl.adapt(with_layer_norm(), batches, Clipped())

    assert float(adapted.predict(batches).abs().max()) == pytest.approx(0.1)
    assert (adapted(batches[0]).abs() > 0.2).any()
    assert float(adapted.predict(batches[0]).abs().max()) == pytest.approx(0.1)


def test_predict_puts_the_mode_back():
    """Whoever trains an adapted model further may predict in between."""
    adapted = sqrl.adapt(with_layer_norm(), some_batches(2), Size(), epochs=1).train()

    first, second = adapted.predict(some_batches(2)), adapted.predict(some_batches(2))

    assert torch.equal(first, second)
    assert adapted.training
    assert adapted.model[2].training


def test_recomputed_statistics_are_those_of_all_rows():
    """The pooled mean and variance by hand, for batches of different sizes."""
    model = with_batch_norm()
    batches = [torch.randn(size, 3) + size for size in (4, 9, 2)]

    adapted = sqrl.adapt(model, batches, Recompute())

    entering = model[0](torch.cat(batches)).detach()
    assert torch.allclose(adapted.model[1].running_mean, entering.mean(0), atol=1e-5)
    assert torch.allclose(adapted.model[1].running_var, entering.var(0), rtol=1e-5)
    assert adapted.changed == ("1.running_mean", "1.running_var")
    adapted.reset()
    assert bits(adapted.model)[0] == bits(model)[0]


@settings(deadline=None, max_examples=30)
@given(sizes=st.lists(st.integers(2, 7), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_pooled_statistics_agree_with_all_rows_at_once(sizes, seed):
    """Merging loses nothing, for images too."""
    chance = torch.Generator().manual_seed(seed)
    batches = [torch.randn(n, 2, 3, 3, generator=chance) * 5 + n for n in sizes]
    layer = nn.BatchNorm2d(2)
    pooled = Pooled(layer)
    for batch in batches:
        pooled.add(layer, batch)
    pooled.apply()
    rows = torch.cat(batches).transpose(0, 1).flatten(1)

    assert torch.allclose(layer.running_mean, rows.mean(1), atol=1e-5)
    assert torch.allclose(layer.running_var, rows.var(1), rtol=1e-4)
    assert layer.num_batches_tracked == 0
    assert layer.track_running_stats


def test_adapted_statistics_follow_each_batch():
    """One pass without steps: the running mean moves by the layer's momentum, batch by batch."""
    model, batches = with_batch_norm(), some_batches(2)

    adapted = sqrl.adapt(model, batches, Follow())

    mean = torch.zeros(4)
    for batch in batches:
        mean = 0.9 * mean + 0.1 * model[0](batch).detach().mean(0)
    assert torch.allclose(adapted.model[1].running_mean, mean, atol=1e-6)
    assert int(adapted.model[1].num_batches_tracked) == 2


def test_steps_see_the_statistics_chosen():
    """Frozen: the trained ones, which stay; adapted: each batch's own, and the running follow."""
    batches = some_batches(1, shift=5.0)
    seen = {}

    class Look(Size):
        def forward(self, batch, out, context=None):
            seen[context.generator] = out.detach().clone()
            return super().forward(batch, out)

    for statistics in ("frozen", "adapted"):
        model = with_batch_norm()
        seen.clear()
        adapted = sqrl.adapt(model, batches, Look(), statistics=statistics, epochs=1, lr=1e-9)
        first = next(iter(seen.values()))
        expected = copy.deepcopy(model).train(statistics == "adapted")(batches[0])
        assert torch.allclose(first, expected, atol=1e-5)
        assert ("1.running_mean" in adapted.changed) == (statistics == "adapted")


def test_a_layer_that_keeps_no_statistics_is_left_alone():
    """track_running_stats=False uses each batch's own whatever is chosen, and a note says so."""
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, track_running_stats=False))

    for statistics in ("frozen", "adapted", "recomputed"):
        adapted = sqrl.adapt(model, some_batches(), Size(), statistics=statistics, epochs=1)
        assert adapted.changed == ("1.weight", "1.bias")
        assert any("no BatchNorm layers that keep" in note for note in adapted.trace.notes) == (
            statistics != "frozen"
        )


def test_a_batch_of_one_row_has_no_statistics():
    """The message says what to choose instead."""
    with pytest.raises(AdaptError) as caught:
        sqrl.adapt(with_batch_norm(), [torch.zeros(1, 3)], Size(), statistics="adapted")

    assert "mini-batch 1, float32 1 x 3" in caught.value.what
    assert caught.value.fix == "use mini-batches of several rows, or statistics='frozen'"


def test_the_anchor_is_the_divergence_by_hand():
    """KL of (0.5, 0.5) from (0.8, 0.2) is 0.5 log(0.5/0.8) + 0.5 log(0.5/0.2)."""
    source, adapted = torch.zeros(3, 2), torch.tensor([[math.log(4.0), 0.0]]).expand(3, 2)

    expected = 0.5 * math.log(0.5 / 0.8) + 0.5 * math.log(0.5 / 0.2)
    assert float(Anchor().between(source, adapted)) == pytest.approx(expected, rel=1e-6)
    assert float(Anchor().between({"logits": source}, {"logits": adapted})) == pytest.approx(
        expected
    )
    assert float(Anchor().between(source, source)) == 0


def test_a_class_that_the_source_rules_out_adds_nothing_to_the_anchor():
    """A logit of -inf is probability 0, not nan, and neither is its gradient."""
    source = torch.tensor([[0.0, 0.0, -math.inf]])
    adapted = torch.tensor([[1.0, 0.0, -math.inf]], requires_grad=True)

    value = Anchor().between(source, adapted)
    (gradient,) = torch.autograd.grad(value, adapted)

    assert float(value.detach()) == pytest.approx(0.1201, abs=1e-4)
    assert torch.allclose(gradient, torch.tensor([[0.2311, -0.2311, 0.0]]), atol=1e-4)


def test_other_outputs_are_anchored_by_their_squared_distance():
    """The mean over values, then over tensors."""
    one, other = (
        (torch.zeros(2), torch.zeros(2, 3, 4)),
        (torch.full((2,), 2.0), torch.ones(2, 3, 4)),
    )

    assert float(Anchor().between(one, other)) == 2.5


def test_anchor_is_short_for_a_term():
    """anchor=0.5 minimises what objective + 0.5 * Anchor() does, and holds the model back."""
    model, batches = with_layer_norm(), some_batches()

    def distance(adapted):
        return float(Anchor().between(model.eval()(batches[0]), adapted(batches[0])).detach())

    free = sqrl.adapt(model, batches, Within(), lr=0.05)
    held = sqrl.adapt(model, batches, Within(), lr=0.05, anchor=5.0)
    term = sqrl.adapt(model, batches, Within() + 5.0 * Anchor(), lr=0.05)

    assert bits(held.model) == bits(term.model)
    assert distance(held) < 0.5 * distance(free)
    assert held.trace.objective == "Within + 5 x Anchor"


def test_online_predicts_each_batch_right_after_its_step():
    """By hand: a step of Adam on each batch, then its prediction; steps add up."""
    model, batches = with_layer_norm(), some_batches(3)

    adapted = sqrl.adapt(model, iter(batches), Size(), mode="online", lr=0.1)

    by_hand = copy.deepcopy(model).eval()
    adam = torch.optim.Adam(by_hand[1].parameters(), lr=0.1)
    for batch, out in zip(batches, adapted.outputs, strict=True):
        adam.zero_grad()
        by_hand(batch).square().mean().backward()
        adam.step()
        assert torch.allclose(out, by_hand(batch), atol=1e-6)
        assert not out.requires_grad
    assert [record.number for record in adapted.trace.records] == [1, 2, 3]


def test_episodic_starts_from_the_source_each_time():
    """The order of the batches does not matter, and the model is the source's in the end."""
    model, batches = with_layer_norm(), some_batches(3)

    def outputs(order):
        return sqrl.adapt(model, order, Size(), mode="episodic", epochs=3, lr=0.1)

    forwards, backwards = outputs(batches), outputs(batches[::-1])

    for one, other in zip(forwards.outputs, backwards.outputs[::-1], strict=True):
        assert torch.equal(one, other)
    assert forwards.changed == ()
    assert not torch.allclose(forwards.outputs[0], model.eval()(batches[0]), atol=1e-3)


def test_a_stream_without_end_is_adapted_to_as_it_comes():
    """The generator holds nothing back: each prediction comes before the next batch is asked."""
    asked = []

    def endless():
        while True:
            asked.append(len(asked))
            yield some_batches(1, seed=len(asked))[0]

    stream = sqrl.adapt_stream(with_layer_norm(), endless(), Within(), lr=0.05)

    for number in (1, 2, 3):
        out, record = next(stream)
        assert (out.shape, record.number, len(asked)) == ((16, 2), number, number)
    stream.close()


def test_online_statistics_are_those_of_the_rows_so_far():
    """Recomputed in a stream: pooled over all batches that have come, without steps."""
    model, batches = with_batch_norm().eval(), some_batches(3)

    adapted = sqrl.adapt(model, batches, Recompute(), mode="online")

    by_hand = copy.deepcopy(model)
    entering = model[0](torch.cat(batches[:2])).detach()
    by_hand[1].running_mean.copy_(entering.mean(0))
    by_hand[1].running_var.copy_(entering.var(0))
    assert torch.allclose(adapted.outputs[1], by_hand(batches[1]), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_half_precision_model_is_adapted_in_single_precision(dtype):
    """Sixty steps of 1e-4 add up, though each is lost next to 1.0 in half precision."""
    model = with_layer_norm().to(dtype)
    batches = [batch.to(dtype) for batch in some_batches(4)]

    adapted = sqrl.adapt(model, batches, Size(), guard=False, lr=1e-4, epochs=15)

    moved = (model[1].weight - adapted.model[1].weight).float()
    assert adapted.model[1].weight.dtype == dtype
    assert torch.allclose(moved.abs(), torch.full((4,), 60e-4), atol=4e-3)
    assert (moved != 0).all()
    adapted.reset()
    assert torch.equal(adapted.model[1].weight, model[1].weight)


def test_small_gradients_survive_float16():
    """A gradient of 1e-9 is zero in float16 unless the loss is scaled; Adam's step is lr anyway."""
    model = nn.LayerNorm(3).half()

    class Tiny(Objective):
        def forward(self, _batch, out, _context=None):
            return out.float().square().mean() * 1e-8

    adapted = sqrl.adapt(model, [b.half() for b in some_batches(2)], Tiny(), epochs=2, lr=0.1)

    assert (adapted.model.weight != model.weight).all()


def test_a_loader_of_pairs_needs_to_be_told_what_the_model_takes():
    """And forward= tells it."""
    pairs = DataLoader(TensorDataset(torch.randn(32, 3), torch.zeros(32)), batch_size=16)

    with pytest.raises(AdaptError, match="it is not clear what of it the model takes") as caught:
        sqrl.adapt(with_layer_norm(), pairs, Size())
    assert caught.value.where == "mini-batch 1"

    adapted = sqrl.adapt(
        with_layer_norm(), pairs, Size(), forward=lambda model, batch: model(batch[0]), epochs=1
    )
    assert adapted.changed == ("1.weight", "1.bias")
    assert adapted.predict(pairs).shape == (32, 2)


def test_context_runs_the_adapted_model_and_the_source():
    """With the user's forward, on any batch, the first with gradients."""
    model, seen = with_layer_norm(), []

    class Both(Objective):
        def forward(self, batch, out, context=None):
            again, source = context.run(batch), context.source(batch)
            seen.append((torch.equal(again, out), again.requires_grad == out.requires_grad, source))
            return out.square().mean()

    batches = [(batch, None) for batch in some_batches(2)]
    sqrl.adapt(model, batches, Both(), forward=lambda m, b: m(b[0]), epochs=2, lr=0.1)

    assert all(same and as_steps_need for same, as_steps_need, _ in seen)
    assert all(not source.requires_grad for _, _, source in seen)
    assert torch.equal(seen[-1][2], model.eval()(batches[-1][0]))


def test_an_empty_loader_is_refused():
    """In every mode, instead of a model that was not adapted."""
    for mode in ("offline", "online", "episodic"):
        with pytest.raises(AdaptError, match="gave no mini-batches"):
            sqrl.adapt(with_layer_norm(), [], Size(), mode=mode)
    with pytest.raises(AdaptError) as caught:
        sqrl.adapt(with_batch_norm(), [], Recompute())
    assert str(caught.value) == (
        "The loader gave no mini-batches.\n"
        "  fix:   check that its dataset has rows, and that drop_last does not drop them all"
    )


def test_a_batch_that_the_model_refuses_is_named():
    """Its number, what it holds, and what the model said, with the first error behind it."""
    batches = [*some_batches(2), torch.zeros(16, 5)]

    with pytest.raises(AdaptError) as caught:
        sqrl.adapt(with_layer_norm(), batches, Size())

    assert caught.value.what.startswith(
        "The model refused mini-batch 3, float32 16 x 5: RuntimeError: mat1 and mat2"
    )
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_what_can_be_gone_through_once_is_refused_for_several_passes():
    """Before anything is taken from it."""
    batches = iter(some_batches(3))

    with pytest.raises(AdaptError) as caught:
        sqrl.adapt(with_layer_norm(), batches, Size(), epochs=2)

    assert str(caught.value) == (
        "The batches can be gone through once, and 2 passes are to be made.\n"
        "  where: list_iterator\n"
        "  fix:   give list(batches), a DataLoader or sqrl.Batches; or pass mode='online'"
    )
    assert len(list(batches)) == 3
    once = sqrl.adapt(with_layer_norm(), iter(some_batches(3)), Within(), epochs=1)
    assert once.changed


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_a_loader_of_unknown_length_is_adapted_to(mode):
    """Generators behind a class; as a DataLoader it has a length that raises."""

    class Endless:
        def __iter__(self):
            return iter(some_batches(3))

        def __len__(self):
            raise TypeError("object of type 'Endless' has no len()")

    adapted = sqrl.adapt(with_layer_norm(), Endless(), Within(), lr=0.05, mode=mode)

    assert excess(adapted, some_batches(3)) < excess(with_layer_norm(), some_batches(3))


def test_an_interrupt_leaves_the_model_as_it_was():
    """Control-C in the middle of a pass goes through, and nothing of the user's has changed."""

    class Interrupted:
        def __iter__(self):
            yield from some_batches(3)
            raise KeyboardInterrupt

    model = with_batch_norm().train()
    before, state = bits(model), torch.get_rng_state()

    with pytest.raises(KeyboardInterrupt):
        sqrl.adapt(model, Interrupted(), Size(), statistics="adapted")

    assert bits(model) == before
    assert torch.equal(torch.get_rng_state(), state)


def test_gradients_are_made_even_where_they_are_switched_off():
    """Evaluation code often runs under no_grad or inference_mode."""
    for context in (torch.no_grad(), torch.inference_mode()):
        with context:
            model = with_layer_norm()
            adapted = sqrl.adapt(model, some_batches(), Size(), epochs=1)
        assert adapted.changed == ("1.weight", "1.bias")
    with torch.no_grad():
        _, record = next(sqrl.adapt_stream(model, some_batches(), Size()))
    assert record.n_steps == 1


def test_a_model_that_cannot_be_copied_is_refused():
    """Its lock is named, and what to do about it."""
    model = with_layer_norm()
    model.lock = threading.Lock()

    with pytest.raises(AdaptError, match="cannot be copied: TypeError: cannot pickle") as caught:
        sqrl.adapt(model, some_batches(), Size())
    assert caught.value.where == "Sequential"


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ({"mode": "of-line"}, "There is no mode 'of-line'.", "did you mean 'offline'?"),
        (
            {"statistics": "none"},
            "There is no statistics 'none'.",
            "use one of: frozen, adapted, recomputed",
        ),
        ({"epochs": 0}, "epochs is 0.", "give a number at least 1"),
        ({"lr": 0.0}, "lr is 0.0.", "give a number above 0"),
        ({"lr": math.nan}, "lr is nan.", "give a number above 0"),
        ({"patience": 0}, "patience is 0.", "give a number at least 1"),
        ({"anchor": -1}, "anchor is -1.", "give a number 0 or above"),
        (
            {"guard": "steps"},
            "A str cannot be a guard.",
            "pass True, False, 'step' or a sqrl.RuleLoss",
        ),
    ],
)
def test_options_outside_their_range_are_refused(options, what, fix):
    """Each with its name and what it may be."""
    with pytest.raises(AdaptError) as caught:
        sqrl.adapt(with_layer_norm(), some_batches(), Size(), **options)

    assert str(caught.value) == f"{what}\n  where: {next(iter(options))}=\n  fix:   {fix}"


def test_what_is_no_model_no_loader_and_no_objective_is_refused():
    """A first call with arguments mixed up says which."""
    model, batches = with_layer_norm(), some_batches()

    with pytest.raises(AdaptError, match="The model is a list, not a torch module"):
        sqrl.adapt([], batches, Size())
    with pytest.warns(DeprecationWarning, match="torch.jit"), pytest.raises(AdaptError) as raised:
        sqrl.adapt(torch.jit.script(model), batches, Size())
    assert str(raised.value) == (
        "The model is compiled by torch.jit, which lets nobody choose what has a gradient.\n"
        "  where: RecursiveScriptModule\n"
        "  fix:   give the module that was scripted or traced; script what adapt gives back"
    )
    with pytest.raises(AdaptError, match="The batches are a Tensor, not a loader"):
        sqrl.adapt(model, batches[0], Size())
    with pytest.raises(AdaptError, match="The objective is a builtin_function_or_method"):
        sqrl.adapt(model, batches, len)


def test_a_model_with_lazy_layers_is_refused_until_it_has_shapes():
    """Parameters without a shape can be neither chosen nor kept."""
    model = nn.Sequential(nn.LazyLinear(3), nn.LayerNorm(3))
    batches = some_batches()
    with pytest.raises(AdaptError) as raised:
        sqrl.adapt(model, batches, Size())

    assert str(raised.value) == (
        "The model has lazy layers, whose parameters have no shape yet.\n"
        "  where: Sequential\n"
        "  fix:   run it once on a batch first: model(batch)"
    )


def test_a_model_that_is_its_own_copy_is_refused():
    """It would be changed itself, and left in eval mode."""

    class Single(nn.Linear):
        def __deepcopy__(self, memo):
            return self

    model = Single(3, 2)
    with pytest.raises(AdaptError, match="its __deepcopy__ gives the model itself"):
        sqrl.adapt(model, some_batches(), Size())

    assert model.training


def test_an_objective_gives_one_number():
    """A loss for each row is refused with its shape."""

    class Rows(Objective):
        def forward(self, _batch, out, _context=None):
            return out.sum(1)

    with pytest.raises(AdaptError, match=r"The objective gave \(16,\), not one number"):
        sqrl.adapt(with_layer_norm(), some_batches(), Rows())


def test_progress_is_reported_to_a_function():
    """Every batch of every pass, out of as many as there are at most."""
    seen = []
    sqrl.adapt(
        with_layer_norm(), some_batches(3), Size(), epochs=2, track=lambda *now: seen.append(now)
    )

    assert seen == [("adapt", done, 6) for done in range(1, 7)]


def test_the_old_name_of_track_is_taken_with_a_warning(capsys):
    """A function is told as ever; False, which once hid the bar, has none to hide."""
    seen = []
    for progress in (lambda *now: seen.append(now), False, True):
        with pytest.warns(DeprecationWarning, match="'progress' is called 'track' now"):
            sqrl.adapt(with_layer_norm(), some_batches(1), Size(), epochs=1, progress=progress)

    assert seen == [("adapt", 1, 1)]
    assert capsys.readouterr() == ("", "")


def test_buffers_that_hold_one_number_in_many_places_do_not_matter():
    """Expanded buffers, as position ids often are, cannot be written to in place."""
    model = with_layer_norm()
    model.register_buffer("positions", torch.zeros(1).expand(4))

    adapted = sqrl.adapt(model, some_batches(), Within(), lr=0.05)

    assert set(adapted.changed) == {"1.weight", "1.bias"}
