"""Rows of Table 2 on all crops: the released code's setting, step by step."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs what sqrl-paper depends on")
pytest.importorskip("PIL", reason="needs what sqrl-paper depends on")

from sqrl import Batches, RuleLoss, RuleSet  # noqa: E402
from sqrl_paper.imagenet_x import all_crops  # noqa: E402
from sqrl_paper.imagenet_x.annotations import METACLASSES  # noqa: E402
from sqrl_paper.imagenet_x.made import write_imagenet_x  # noqa: E402
from sqrl_paper.imagenet_x.summary import summarise_all_crops  # noqa: E402
from sqrl_paper.place import Place  # noqa: E402
from sqrl_paper.shared.efficientnet_lite import EfficientNetLite0  # noqa: E402


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("all_crops")
    write_imagenet_x(folder)
    return Place(folder=folder, cache=folder / "cache", quick=True, data="made", is_made=True)


def test_a_network_in_two_is_the_network():
    """Wherever it is cut, the last blocks give the logits that the whole gives."""
    torch.manual_seed(0)
    network = EfficientNetLite0(5).eval()
    images = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)
    with torch.no_grad():
        whole = network(images)
        for n_blocks in (0, 7, 14, 16):
            first, last = network.cut(n_blocks)

            assert torch.equal(last(first(images)), whole)
            assert last.embed(first(images)).shape == (2, 1280)
        assert torch.equal(network.fc(last.embed(first(images))), whole)


def test_statistics_are_those_of_each_mini_batch():
    """Before and after, whatever mode the model is asked to be in; stored ones stay."""
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(1, affine=False))
    all_crops.use_batch_statistics(model)
    values = torch.tensor([[1.0], [3.0]])

    assert torch.allclose(model(values), torch.tensor([[-1.0], [1.0]]), atol=1e-3)
    assert model[0].running_mean.item() == 0.0


def test_the_released_steps_by_hand():
    """Plain SGD on scale and shift alone; the epoch whose steps had the lowest loss is kept."""
    torch.manual_seed(1)
    source = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 2))
    inputs = torch.randn(8, 2)
    rules = RuleSet.from_texts(["0.9 <= rate(y = 1) <= 1 over 8"])
    loss = RuleLoss(rules, lambda _, out: {"y": out.softmax(-1)})
    batches = Batches(inputs, {"x": [0.0] * 8}, size=8, seed=0)
    model, losses = all_crops.step_released(source, batches, loss, epochs=3)

    scale, shift = (value.clone().requires_grad_() for value in (torch.ones(2), torch.zeros(2)))
    plain = (inputs - inputs.mean(0)) / (inputs.var(0, unbiased=False) + source[0].eps).sqrt()
    for told in losses:
        cost = loss(None, source[1](plain * scale + shift))
        gradients = torch.autograd.grad(cost, (scale, shift))
        with torch.no_grad():
            for value, gradient in zip((scale, shift), gradients, strict=True):
                value.sub_(all_crops.RATE * gradient)
        assert told == pytest.approx(float(cost.detach()), rel=1e-4)

    assert losses == sorted(losses, reverse=True)
    assert torch.allclose(model[0].weight, scale, atol=1e-6)
    assert torch.allclose(model[0].bias, shift, atol=1e-6)
    assert torch.equal(model[1].weight, source[1].weight)
    assert source[0].weight.tolist() == [1.0, 1.0]


def test_rows_are_predicted_in_their_own_places():
    """Mini-batches are drawn, and their results put back."""
    values = torch.arange(600.0)[:, None]

    assert torch.equal(all_crops.predict_by_batches(torch.nn.Identity(), values, seed=3), values)


def test_released_rules_bound_the_f1_within_the_body(place):
    """Twenty of each metaclass at most, whose bounds overlap by more than 0.6."""
    rules = all_crops.learned(place, 0).released

    assert all("f1_given(" in text for text in rules.texts())
    assert min(rules.table["jaccard"].to_numpy()) >= 1 - all_crops.EPSILON
    heads = [text.rpartition("metaclass = ")[2].partition(")")[0] for text in rules.texts()]
    assert max(heads.count(head) for head in heads) == all_crops.TOP
    assert set(heads) <= set(METACLASSES)


def test_no_method_on_all_crops_looks_at_labels(place, monkeypatch):
    """With all labels changed each predicts the same, to the last bit."""
    crops, rules = all_crops.read_all(place), all_crops.learned(place, 0)
    other = replace(crops, labels=(crops.labels + 1) % len(METACLASSES))
    for method in all_crops.NAMES:
        one = all_crops.predict(place, method, rules, seed=0)[0]
        with monkeypatch.context() as patch:
            patch.setattr(all_crops, "read_all", lambda _: other)
            two = all_crops.predict(place, method, rules, seed=0)[0]

        assert torch.equal(one, two), method


def test_a_row_says_what_was_measured(place):
    """Accuracy and broken rules of either set; of the source also what true labels break."""
    found = all_crops.measure_row(place, all_crops.Row(seed=0, method=all_crops.NONE))
    logits = all_crops.halves(place, "source").logits
    right = (logits.argmax(1) == all_crops.read_all(place).labels).double().mean()

    assert found["accuracy"] == float(right)
    assert found["crops"] == len(all_crops.read_all(place))
    assert found["at_zero"] + found["anywhere"] <= found["rules"]["released"]
    assert set(found["truth"]) == {"plain", "released"}


def test_fewer_is_against_the_source_and_against_batch_statistics():
    """By hand: 10 rules broken by the source, 8 by BN, 6 by a method."""

    def run(plain, released):
        return {
            "accuracy": 0.5,
            "plain": {"n_likeliest": plain, "entropy": 0.1},
            "released": {"n_likeliest": released, "entropy": 0.1},
        }

    methods = {name: {"0": run(5.0, 5.0)} for name in all_crops.NAMES}
    methods[all_crops.NONE] = {"0": run(10.0, 10.0)}
    methods[all_crops.BATCH_NORM] = {"0": run(10.0, 8.0)}
    methods[all_crops.RELEASED] = {"0": run(9.0, 6.0)}
    found = summarise_all_crops({"all_crops": methods})[all_crops.RELEASED]

    assert [found[key]["mean"] for key in ("reduced", "released", "beyond")] == pytest.approx(
        [10.0, 40.0, 25.0]
    )
    assert np.isfinite(found["accuracy"]["mean"])
