"""The example of the cardio bench: a rule that a drift breaks, and a patient who is made up."""

from typing import Any

from torch import Tensor

from sqrl import Table, as_table
from sqrl_paper.cardio.data import STRONG, Prepared, Rows, prepared
from sqrl_paper.cardio.methods import OURS, Choice
from sqrl_paper.cardio.runs import predict, run
from sqrl_paper.cardio.scores import FIRST_SEED
from sqrl_paper.cardio.task import LABEL, NUMBERS
from sqrl_paper.jobs import Look
from sqrl_paper.logic_example import Floats, mended_most, tell_rule
from sqrl_paper.place import Place

Json = dict[str, Any]
SHOWN = 20  # mini-batches
MADE_UP = {
    "age": 14_610.0,
    "gender": 1.0,
    "height": 170.0,
    "weight": 65.0,
    "ap_hi": 120.0,
    "ap_lo": 80.0,
    "cholesterol": 1.0,
    "gluc": 1.0,
    "smoke": 0.0,
    "alco": 0.0,
    "active": 1.0,
}


def make_example(place: Place, job: Look) -> Json:
    """The rule mended most after a strong drift, on mini-batches, and a made-up patient."""
    data = prepared(place, job.seed)
    rows = data.rows("test", STRONG)
    before = predict(data, rows)
    one = _made_up(data)
    after, _ = run(place, data, rows, OURS, Choice())
    of_one, _ = run(place, data, rows, OURS, Choice(), asked=one)
    n_batches = min(SHOWN, data.sizes.n_counted)
    drawn = list(rows.drawn(n_batches, data.sizes.rules, seed=FIRST_SEED + job.seed))
    rule = mended_most(data.loss(), drawn, before, after, avoid=set())
    head = int(data.rules[rule].text.partition(f"{LABEL} = ")[2][0])
    chances = {"before": _chances(before, head), "after": _chances(after, head)}
    picked = [batch.rows.numpy() for batch in drawn if batch.rows is not None]
    told = tell_rule(
        data.rules,
        rule,
        [rows.made.true.take(one) for one in picked],
        {title: [values[one] for one in picked] for title, values in chances.items()},
    )
    return {"drift": STRONG, **told, "patient": _patient(data, rule, head, one, of_one)}


def _chances(logits: Tensor, head: int) -> Floats:
    found: Floats = logits.double().softmax(-1)[:, head].numpy()
    return found


def _made_up(data: Prepared) -> Rows:
    """One patient whom nobody has met, as the table has patients and as the model sees them."""
    table = as_table({name: [value] for name, value in MADE_UP.items()})
    made = data.drifts[STRONG].make(table, data.seed)
    return Rows(made, data.inputs(made.seen), data.model)


def _patient(data: Prepared, rule: int, head: int, one: Rows, after: Tensor) -> Json | None:
    """What the model says of the made-up patient; None where the rule does not speak of them."""
    if not data.rules.condition_holds(rule, one.made.true)[0]:
        return None
    return {
        "true": _values(one.made.true, 0),
        "seen": _values(one.made.seen, 0),
        "head": head,
        "before": float(_chances(predict(data, one), head)[0]),
        "after": float(_chances(after, head)[0]),
    }


def _values(table: Table, row: int) -> dict[str, float]:
    return {name: float(table[name].values[row]) for name in NUMBERS}


def tell_patient(example: Json) -> list[str]:
    """The made-up patient in lines; no row of the data, whose licence is not known, is shown."""
    patient = example["patient"]
    if patient is None:
        return ["The rule does not speak of the patient who was made up."]
    changed = [
        f"{name} {patient['true'][name]:g}, which the model sees as {patient['seen'][name]:.0f}"
        for name in patient["true"]
        if patient["true"][name] != patient["seen"][name]
    ]
    years = patient["true"]["age"] / 365.25
    chance = f"P({LABEL} = {patient['head']})"
    return [
        f"A made-up patient of {years:.0f} years, {'; '.join(changed)}.",
        f"{chance} before {patient['before']:.2f}, after {patient['after']:.2f}.",
    ]
