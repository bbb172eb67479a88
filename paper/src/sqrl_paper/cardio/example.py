"""The example of the cardio bench: a rule that a drift breaks, and a patient whom it sets right."""

from typing import Any

import numpy as np
from torch import Tensor

from sqrl import Table
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


def make_example(place: Place, job: Look) -> Json:
    """The rule mended most after a strong drift, on mini-batches, and one patient."""
    data = prepared(place, job.seed)
    rows = data.rows("test", STRONG)
    before = predict(data, rows)
    after, _ = run(place, data, rows, OURS, Choice())
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
    return {"drift": STRONG, **told, "patient": _patient(data, rows, rule, head, chances)}


def _chances(logits: Tensor, head: int) -> Floats:
    found: Floats = logits.double().softmax(-1)[:, head].numpy()
    return found


def _patient(
    data: Prepared, rows: Rows, rule: int, head: int, chances: dict[str, Floats]
) -> Json | None:
    """Of the patients whom the rule speaks of and who were set right the one that moved most."""
    is_in_body = data.rules.condition_holds(rule, rows.made.true)
    is_head = rows.labels.numpy() == head
    before, after = (chances[title] > 0.5 for title in ("before", "after"))
    candidates = np.flatnonzero(is_in_body & (before != is_head) & (after == is_head))
    if not candidates.size:
        return None
    moved = np.abs(chances["after"] - chances["before"])[candidates]
    chosen = int(candidates[moved.argmax()])
    return {
        "true": _values(rows.made.true, chosen),
        "seen": _values(rows.made.seen, chosen),
        "head": head,
        "before": float(chances["before"][chosen]),
        "after": float(chances["after"][chosen]),
        "label": int(rows.labels[chosen]),
    }


def _values(table: Table, row: int) -> dict[str, float]:
    return {name: float(table[name].values[row]) for name in NUMBERS}


def tell_patient(example: Json) -> list[str]:
    """The patient in lines."""
    patient = example["patient"]
    if patient is None:
        return ["No patient whom the rule speaks of was set right."]
    changed = [
        f"{name} {patient['true'][name]:g}, which the model sees as {patient['seen'][name]:.0f}"
        for name in patient["true"]
        if patient["true"][name] != patient["seen"][name]
    ]
    years = patient["true"]["age"] / 365.25
    chance = f"P({LABEL} = {patient['head']})"
    return [
        f"A patient of {years:.0f} years, {'; '.join(changed)}.",
        f"{chance} before {patient['before']:.2f}, after {patient['after']:.2f}; "
        f"in truth {LABEL} = {patient['label']}.",
    ]
