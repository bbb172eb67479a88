"""Every baseline minimises what its paper says."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch.nn.functional import cross_entropy

import sqrl
import sqrl.methods
from sqrl._adapt.objective import Context, Objective
from sqrl.errors import AdaptError, AdaptWarning
from sqrl.methods import BN, CPL, MEMO, RPL, Tent, Unadapted, rebalance
from sqrl.methods._logits import logits_of, output_of, with_output
from sqrl.methods.cpl import poly_label
from sqrl.methods.rpl import generalised_cross_entropy

EXTREME = torch.tensor([[1e4, -1e4, 0.0], [3e38, -3e38, 0.0], [0.0, -torch.inf, 1.0]])
OBJECTIVES = {
    "tent": Tent(),
    "tent regression": Tent(task="regression"),
    "rpl": RPL(),
    "rpl at q = 0": RPL(q=0),
    "cpl": CPL(temperature=2.0),
    "cpl squared": CPL("squared"),
    "cpl poly": CPL("poly", temperature=1.5, epsilon=3.0),
    "memo": MEMO(lambda batch, _: batch, n=2),
}


def logits(n=5, classes=3, seed=0):
    """Some logits in double precision that a gradient can flow to."""
    made = torch.randn(n, classes, generator=torch.Generator().manual_seed(seed)).double()
    return made.requires_grad_()


def context(run=lambda batch: batch, seed=0):
    return Context(run=run, source=run, generator=torch.Generator().manual_seed(seed))


def gradient(objective, out):
    """The gradient of an objective by the outputs; a batch here is the output itself."""
    return torch.autograd.grad(objective(out, out, context()), out)[0]


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_gradient_is_the_slope_of_its_objective(name):
    """What autograd gives is what moving a logit a little gives."""
    objective = OBJECTIVES[name]

    assert torch.autograd.gradcheck(lambda out: objective(out, out, context()), logits())


@pytest.mark.parametrize("name", ["tent", "rpl", "rpl at q = 0", "cpl", "cpl poly", "memo"])
def test_extreme_logits_give_finite_numbers_and_gradients(name):
    """Neither certainty nor a class that is ruled out makes a nan."""
    out = EXTREME.clone().requires_grad_()
    value = OBJECTIVES[name](out, out, context())
    value.backward()

    assert value.isfinite()
    assert out.grad.isfinite().all()


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(name, dtype):
    """The value is that of the same outputs in single precision."""
    objective, out = OBJECTIVES[name], logits().detach().to(dtype)
    value = objective(out, out, context())

    assert value.dtype == torch.float32
    assert value == objective(out.float(), out.float(), context())


def test_tent_is_the_entropy_and_its_gradient_the_entropys():
    """dH / dh_i = -p_i (log p_i + H), over the number of rows."""
    out = logits()
    p = out.detach().softmax(-1)
    by_hand = -(p * p.log()).sum(-1, keepdim=True)

    torch.testing.assert_close(Tent()(None, out), by_hand.mean().reshape(()))
    torch.testing.assert_close(gradient(Tent(), out), -p * (p.log() + by_hand) / len(out))


def test_tent_of_regression_is_minus_the_norm_averaged_over_rows():
    """(3, 4) has the norm 5 and (0, 0) the norm 0, at which the gradient is zero and not nan."""
    out = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    tent = Tent(task="regression")

    assert tent(None, out) == -2.5
    assert gradient(tent, out).flatten().tolist() == pytest.approx([-0.3, -0.4, 0, 0])


def test_tent_of_regression_takes_a_number_a_row_and_series():
    """The norm is over everything that belongs to a row."""
    tent = Tent(task="regression")

    assert float(tent(None, torch.tensor([1.0, -2.0]))) == -1.5
    assert float(tent(None, torch.ones(2, 2, 2))) == -2.0


def test_the_squared_loss_has_the_direction_of_the_norm():
    """Goyal et al.'s -1/2 ||h||^2 and the paper's -||h|| differ in length only, row by row."""
    out = logits()
    squared, norm = gradient(CPL("squared"), out), gradient(Tent(task="regression"), out)

    torch.testing.assert_close(CPL("squared")(None, out), -out.square().sum() / 2 / 5)
    torch.testing.assert_close(squared, norm * out.detach().norm(dim=1, keepdim=True))


def test_cpl_of_cross_entropy_is_tent_at_temperature_one():
    """The conjugate label of the cross-entropy is the prediction: value and gradient agree."""
    out = logits()

    assert torch.equal(CPL()(None, out), Tent()(None, out))
    assert torch.equal(gradient(CPL(), out), gradient(Tent(), out))


def test_the_temperature_is_that_of_label_and_loss():
    """A model at temperature 2 is a model whose logits are half as large."""
    out = logits()
    halved = (out / 2).detach()

    assert torch.equal(CPL(temperature=2)(None, out), Tent()(None, halved))
    assert torch.equal(
        CPL("poly", temperature=2)(None, out), CPL("poly", temperature=1)(None, halved)
    )


@given(
    epsilon=st.floats(-0.9, 20),
    seed=st.integers(0, 100),
    classes=st.integers(2, 6),
    scale=st.floats(0.1, 5),
)
@settings(max_examples=50, deadline=None)
def test_the_poly_label_solves_its_linear_system(epsilon, seed, classes, scale):
    """(I + eps (diag p - p p')) y = p, and the objective is f(h) - g(h) y with that label."""
    out = logits(4, classes, seed).detach() * scale
    p = out.softmax(-1)
    matrix = torch.eye(classes) + epsilon * (torch.diag_embed(p) - p[:, :, None] * p[:, None, :])
    label = torch.linalg.solve(matrix, p)
    value = out.logsumexp(-1) + epsilon - ((out + epsilon * p) * label).sum(-1)

    torch.testing.assert_close(poly_label(p, epsilon), label)
    torch.testing.assert_close(CPL("poly", epsilon=epsilon)(None, out), value.mean())


def test_the_poly_loss_without_epsilon_is_the_entropy():
    """At eps = 0 it is the cross-entropy, whose conjugate is Tent."""
    out = logits()

    torch.testing.assert_close(CPL("poly", epsilon=0)(None, out), Tent()(None, out))
    torch.testing.assert_close(gradient(CPL("poly", epsilon=0), out), gradient(Tent(), out))


def test_rpl_is_the_generalised_cross_entropy_of_the_likeliest_class():
    """By hand: p = (0.2, 0.8) and q = 0.5 give (1 - sqrt(0.8)) / 0.5."""
    out = torch.tensor([[0.2, 0.8]]).log()

    assert float(RPL(q=0.5)(None, out)) == pytest.approx((1 - math.sqrt(0.8)) / 0.5)
    assert float(RPL(q=1)(None, out)) == pytest.approx(0.2)


def test_rpl_at_q_zero_is_the_cross_entropy_of_its_own_labels():
    """The limit, exactly, with its gradient."""
    out = logits()
    supervised = cross_entropy(out, out.argmax(-1))

    torch.testing.assert_close(RPL(q=0)(None, out), supervised)
    torch.testing.assert_close(gradient(RPL(q=0), out), torch.autograd.grad(supervised, out)[0])


@given(p=st.floats(1e-6, 1), q=st.sampled_from([1e-3, 1e-6, 1e-9, 1e-12]))
def test_the_generalised_cross_entropy_goes_to_the_cross_entropy(p, q):
    """It falls short of -log p by about q (log p)^2 / 2, with no digits lost at small q."""
    log_p = torch.tensor([p], dtype=torch.float64).log()
    short = float(-log_p - generalised_cross_entropy(log_p, q))

    assert short == pytest.approx(q * float(log_p) ** 2 / 2, rel=0.02, abs=1e-12)


def test_rpl_weighs_a_label_by_its_probability_to_the_q():
    """The gradient is that of the cross-entropy times p^q, row by row."""
    out = logits(1)
    p = out.detach().softmax(-1).max()

    torch.testing.assert_close(gradient(RPL(q=0.8), out), gradient(RPL(q=0), out) * p**0.8)


def test_memo_without_any_change_is_tent():
    """The average of equal predictions is the prediction."""
    out = logits()
    memo = MEMO(lambda batch, _: batch, n=3)

    torch.testing.assert_close(memo(out, None, context()), Tent()(None, out))
    torch.testing.assert_close(gradient(memo, out), gradient(Tent(), out))


def test_memo_is_the_entropy_of_the_average_prediction():
    """Two augmentations with p = (0.9, 0.1) and (0.3, 0.7) average to (0.6, 0.4)."""
    views = iter([torch.tensor([[0.9, 0.1]]).log(), torch.tensor([[0.3, 0.7]]).log()])
    memo = MEMO(lambda *_: next(views), n=2)
    by_hand = -0.6 * math.log(0.6) - 0.4 * math.log(0.4)

    assert float(memo(None, None, context())) == pytest.approx(by_hand)


def test_memo_runs_the_model_on_what_the_augmentation_gives():
    """As often as asked, by the generator of the context: the same seed, the same number."""
    seen = []

    def run(batch):
        seen.append(batch)
        return batch @ torch.tensor([[1.0, -1.0]])

    def noise(batch, generator):
        return batch + torch.rand(batch.shape, generator=generator)

    memo, batch = MEMO(noise, n=4), torch.ones(3, 1)
    values = [float(memo(batch, None, context(run, seed))) for seed in (1, 1, 2)]

    assert len(seen) == 12
    assert values[0] == values[1] != values[2]


def test_memo_needs_a_model_to_run():
    """Called by hand, it says how it is used."""
    with pytest.raises(AdaptError) as caught:
        MEMO(lambda batch, _: batch)(torch.zeros(1, 2), torch.zeros(1, 2))

    assert str(caught.value) == (
        "MEMO runs the model on augmented batches, and there is no model here to run.\n"
        "  fix:   use it through sqrl.adapt(model, batches, MEMO(...)), or pass a context"
    )


def test_memo_refuses_augmentations_that_lose_rows():
    """An average over other rows would mean nothing."""
    views = iter([torch.zeros(2, 2), torch.zeros(1, 2)])

    with pytest.raises(AdaptError, match=r"differ in shape: \[\(1, 2\), \(2, 2\)\]"):
        MEMO(lambda *_: next(views), n=2)(None, None, context())


def test_methods_without_steps_say_so():
    """The source model, and the one with new statistics."""
    assert not Unadapted().has_steps
    assert not BN().has_steps
    assert Unadapted().statistics == "frozen"
    assert BN().statistics == "recomputed"


def test_statistics_are_those_of_the_papers():
    """Tent, RPL and CPL normalise by the test batch; one test point of MEMO has no statistics."""
    assert {Tent().statistics, RPL().statistics, CPL().statistics} == {"adapted"}
    assert MEMO(lambda batch, _: batch).statistics == "frozen"


def test_methods_add_and_scale():
    """`Tent() + 10 * RPL()` is a method too; one without steps adds nothing."""
    out = logits()
    total = Tent() + 10 * RPL() + BN()

    torch.testing.assert_close(total(None, out), Tent()(None, out) + 10 * RPL()(None, out))
    assert total.statistics == "adapted"


def test_every_method_is_an_objective_and_all_are_listed():
    """What the package offers is what its page lists."""
    offered = {name: getattr(sqrl.methods, name) for name in sqrl.methods.__all__}
    classes = {name: one for name, one in offered.items() if isinstance(one, type)}
    methods = {
        name: one
        for name, one in classes.items()
        if issubclass(one, Objective) and one is not Objective
    }

    assert methods == {name: sqrl.methods.METHODS[name] for name in sqrl.methods.METHODS}
    assert all(f"`{name}`" in sqrl.methods.__doc__ for name in sqrl.methods.__all__)


class Two(NamedTuple):
    logits: torch.Tensor
    loss: float


@dataclass(frozen=True)
class Output:
    logits: torch.Tensor
    loss: float


class Plain:
    def __init__(self, logits, loss):
        self.logits, self.loss = logits, loss


@pytest.mark.parametrize("kind", [Two, Output, Plain, dict])
def test_logits_are_found_in_what_models_give_and_put_back(kind):
    """A named tuple, a dataclass, any object, a dict: the rest of it stays, and so does it."""
    out = kind(logits=torch.ones(2, 3), loss=7.0)
    made = with_output(out, torch.zeros(2, 3))
    loss = made["loss"] if kind is dict else made.loss

    assert torch.equal(output_of(out), torch.ones(2, 3))
    assert torch.equal(output_of(made), torch.zeros(2, 3))
    assert type(made) is kind
    assert loss == 7.0


def test_one_logit_is_that_of_the_second_of_two_classes():
    """(rows,) and (rows, 1) alike: the probabilities are 1 - sigmoid and sigmoid."""
    out = torch.tensor([-1.0, 2.0], dtype=torch.float64)
    chances = logits_of(out).softmax(-1)

    torch.testing.assert_close(chances, torch.stack([1 - out.sigmoid(), out.sigmoid()], -1))
    assert torch.equal(logits_of(out[:, None]), logits_of(out))


def test_the_user_says_where_logits_are():
    """Any output will do."""
    out = ("boxes", logits())

    assert Tent(logits=lambda out: out[1])(None, out) == Tent()(None, out[1])


@pytest.mark.parametrize(
    ("out", "pick", "what"),
    [
        ((torch.zeros(2),), None, "The model's output is a tuple, and it is not clear where"),
        ({"scores": 1}, None, "The model's output is a dict, and it is not clear where"),
        ([1], lambda out: out[0], "What logits= takes of the output is a int, and it is not clear"),
        (torch.zeros(2, 3).long(), None, "The model's output holds torch.int64 values"),
        (torch.zeros(2, 3, 4, 4), None, "The model's output has the shape (2, 3, 4, 4), not"),
        (torch.zeros(()), None, "The model's output has the shape (), not (rows, classes)."),
    ],
)
def test_outputs_without_logits_are_refused(out, pick, what):
    """The message names what was given."""
    with pytest.raises(AdaptError) as caught:
        logits_of(out, pick)

    assert str(caught.value).startswith(what)
    assert caught.value.fix


def test_more_than_two_axes_are_refused_with_the_line_that_mends_it():
    """The fix works as it is written."""
    out = logits(24, 3).detach().reshape(2, 3, 3, 4)
    with pytest.raises(AdaptError) as caught:
        Tent()(None, out)
    flat = out.movedim(1, -1).flatten(0, -2)

    assert "logits=lambda out: out.movedim(1, -1).flatten(0, -2)" in caught.value.fix
    assert Tent(lambda out: out.movedim(1, -1).flatten(0, -2))(None, out) == Tent()(None, flat)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: Tent(task="regresion"),
            "Unknown task 'regresion'.\n  fix:   did you mean 'regression'?",
        ),
        (lambda: CPL("pooly"), "Unknown loss 'pooly'.\n  fix:   did you mean 'poly'?"),
        (lambda: RPL(q=2), "q is 2.\n  fix:   give a q from 0 to 1; the authors take 0.8"),
        (lambda: CPL(temperature=0), "temperature is 0.\n  fix:   give a number above 0"),
        (lambda: CPL("poly", epsilon=-1), "epsilon is -1.\n  fix:   give a number above -1"),
        (
            lambda: CPL("squared", temperature=2),
            "The squared loss has no temperature.\n  fix:   leave temperature out",
        ),
        (lambda: MEMO(None, n=0), "MEMO with 0 augmentations.\n  fix:   give n of at least 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(make, text):
    """When the method is made, not in the middle of a run."""
    with pytest.raises(AdaptError) as caught:
        make()

    assert str(caught.value) == text


def test_regression_needs_outputs_for_each_row():
    """One number for a whole batch is an average already."""
    with pytest.raises(AdaptError, match="one number for the whole batch"):
        Tent(task="regression")(None, torch.zeros(()))


def test_another_class_balance_is_found_without_labels():
    """Rows drawn with a share of 20 % where the model was trained with 50 %, its chances exact."""
    generator = torch.Generator().manual_seed(0)
    labels = (torch.rand(20_000, generator=generator) < 0.2).double()
    x = torch.randn(20_000, generator=generator, dtype=torch.float64) + 2 * labels
    logits = torch.stack([torch.zeros_like(x), 2 * x - 2], 1)  # log p(x | 1) / p(x | 0)

    found, balance = rebalance(logits, torch.tensor([0.5, 0.5]), most=math.inf)
    moved = found - logits

    assert balance[1] == pytest.approx(0.2, abs=0.01)
    assert moved.std(dim=0).max() < 1e-12
    assert float(moved[0, 1] - moved[0, 0]) == pytest.approx(math.log(balance[1] / balance[0]))
    right = [float((one.argmax(1) == labels).double().mean()) for one in (logits, found)]
    assert right[1] > right[0]


def test_a_balance_far_from_the_one_known_is_not_followed_unless_asked():
    """Broken inputs look the same, and would ruin the predictions; a warning gives the way."""
    logits = torch.tensor([[3.0, 0.0]] * 9 + [[0.0, 3.0]])
    with pytest.warns(AdaptWarning, match=r"most=float\(\"inf\"\)"):
        same, balance = rebalance(logits, torch.tensor([0.5, 0.5]))
    found, other = rebalance(logits, torch.tensor([0.5, 0.5]), most=math.inf)

    assert torch.equal(same, logits)
    assert balance.tolist() == [0.5, 0.5]
    assert other[0] > 0.85
    assert not torch.equal(found, logits)
    with pytest.raises(AdaptError, match="most is 1"):
        rebalance(logits, torch.tensor([0.5, 0.5]), most=1)


def test_methods_that_nothing_guards_make_small_steps_and_few():
    """Those of rules, under the guard, are twenty times as large."""
    rules = sqrl.RuleLoss(
        sqrl.RuleSet.from_texts(["rate(y = 1) <= 0.3 over 8"]), lambda _, out: {"y": out}
    )
    for made in (Tent(), RPL(), CPL(), MEMO(lambda batch, _: batch)):
        assert (made.lr, made.epochs) == (1e-3, 5)
        both = made + 10 * rules
        assert (both.lr, both.epochs) == (rules.lr, rules.epochs) == (2e-2, 60)
    pair = Tent() + Objective()
    assert (pair.lr, pair.epochs) == (1e-3, 5)


def test_a_balance_that_has_not_changed_is_left_alone():
    """The chances are counted as they are."""
    logits = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    found, balance = rebalance(logits, torch.tensor([1.0, 1.0]))

    assert balance.tolist() == pytest.approx([0.5, 0.5])
    assert torch.allclose(found, logits)


@pytest.mark.parametrize(
    ("logits", "balance", "message"),
    [
        (torch.zeros(2), torch.ones(2), "Logits of the shape (2,) and a balance of (2,)."),
        (torch.zeros(2, 3), torch.ones(2), "Logits of the shape (2, 3) and a balance of (2,)."),
        (torch.zeros(2, 2), torch.tensor([1.0, 0.0]), "A class with a share of 0."),
    ],
)
def test_a_balance_that_makes_no_sense_is_refused(logits, balance, message):
    """Shapes, and classes that cannot be."""
    with pytest.raises(AdaptError) as caught:
        rebalance(logits, balance)

    assert str(caught.value).startswith(message)
