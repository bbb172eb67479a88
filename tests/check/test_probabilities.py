"""Counts under predicted probabilities, against drawing labels from them."""

import numpy as np
import pytest

import sqrl
from sqrl._check.probabilities import ADVICE
from sqrl.errors import DataError

RULES = [
    "kind = a => 0 <= x <= 1",
    "kind = b => 0 <= x <= 1 if z <= 0 else x <= 0.5",
    "z > 0 and kind != c => x <= 1",
    "kind in [a, c] => 0 <= x",
    "0 <= x <= 2",
    "x > 1 => kind = a",
    "x > 1 and z > 0 => kind in [a, b]",
    "z > 0 => x <= 1",
]


def predictions(n_rows=60, seed=0):
    """Rows with a probability for each of three classes, and the likeliest class."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet([1, 1, 1], n_rows)
    table = {"x": rng.normal(1, 1, n_rows), "z": rng.normal(size=n_rows)}
    table |= {f"p_{name}": probabilities[:, i] for i, name in enumerate("abc")}
    return table | {"kind": np.array(list("abc"))[probabilities.argmax(axis=1)].tolist()}


COLUMNS = {name: f"p_{name}" for name in "abc"}


def test_weighted_counts_are_what_drawn_labels_give_on_average():
    """Draw labels from the probabilities, count violations, and average."""
    rng = np.random.default_rng(1)
    table, rules = predictions(), sqrl.RuleSet.from_texts(RULES)
    found = sqrl.check(rules, table, probabilities=COLUMNS)
    probabilities = np.stack([table[f"p_{name}"] for name in "abc"], axis=1)
    applicable, broken = [], []
    for _ in range(600):
        drawn = (rng.random(60)[:, None] > probabilities.cumsum(axis=1)).sum(axis=1)
        labels = np.array(list("abc"))[np.minimum(drawn, 2)].tolist()
        one = sqrl.check(rules, table | {"kind": labels})
        applicable.append(one.applicable)
        broken.append(one.broken)

    np.testing.assert_allclose(found.weighted_applicable, np.mean(applicable, axis=0), atol=0.6)
    np.testing.assert_allclose(found.weighted_broken, np.mean(broken, axis=0), atol=0.6)


def test_certain_predictions_count_as_they_are():
    """Probabilities of 0 and 1 give the counts of the predictions, mini-batches included."""
    table = predictions(200)
    texts = [*RULES, "0.2 <= f1(x > 1 => kind = a) <= 0.4 over 20", "rate(x > 1) <= 0.5 over 20"]
    certain = {f"p_{name}": [float(label == name) for label in table["kind"]] for name in "abc"}
    found = sqrl.check(sqrl.RuleSet.from_texts(texts), table | certain, probabilities=COLUMNS)

    np.testing.assert_allclose(found.weighted_applicable, found.applicable)
    np.testing.assert_allclose(found.weighted_broken, found.broken)


def test_expected_statistics_put_probabilities_in_the_place_of_labels():
    """|body and head| becomes the sum of P(head) over the body."""
    table = predictions(40)
    rules = sqrl.RuleSet.from_texts(["0.45 <= f1(x > 1 => kind = a) <= 1 over 10"])
    found = sqrl.check(rules, table, probabilities=COLUMNS)
    body, probability = table["x"] > 1, table["p_a"]
    f1 = [
        2 * probability[rows][body[rows]].sum() / (body[rows].sum() + probability[rows].sum())
        for rows in found.batches[10]
    ]

    assert found.weighted_broken.tolist() == [sum(value < 0.45 for value in f1)]
    assert found.weighted_applicable.tolist() == [4]


def test_arg_max_predictions_of_a_calibrated_model_break_rules_that_labels_keep():
    """Why both counts are shown: a model that knows the truth still fails on its arg-max."""
    rng = np.random.default_rng(0)

    def people(n_rows):
        risk = np.where(rng.random(n_rows) < 0.5, 0.35, 0.6)
        sick = (rng.random(n_rows) < risk).astype(int)
        return {"old": (risk > 0.5).astype(int), "sick": sick, "p": risk}

    schema = {
        "label": "sick",
        "let": {"Y": "values(sick)", "L": "literals(old)"},
        "rules": ["? <= f1(L => sick = Y) <= ? over 256"],
        "coverage": 0.9,
    }
    rules = sqrl.learn(people(8000), schema)
    new = people(8000)
    new["said"] = (new["p"] > 0.5).astype(int)
    true = sqrl.check(rules, new)
    found = sqrl.check(rules, new, prediction="said", probabilities={1: "p"})

    assert true.n_significant == 0
    assert (found.share() > 0.9).all()
    assert found.n_significant == 0, "they are not tested against labels"
    assert len(rules) >= 3
    assert found.weighted_broken.sum() <= true.broken.sum() < 0.3 * found.broken.sum()
    assert found.to_dict()["advice"] == ADVICE


def test_rules_that_need_the_label_itself_have_no_weighted_count():
    """Where the label is a number, or stands in a formula with others, a class is not enough."""
    texts = ["kind = 1 or x > 0 => x <= 1", "x <= 1 if kind = 1 else x <= 2", "0 <= x + kind <= 2"]
    texts += ["kind = 1 => kind = 1", "kind = 1 => 0 <= mean(x) <= 1 over 2", "x > 0 => kind = 1"]
    texts += [
        "0 <= f1(kind = 1 => x > 0) <= 1 over 2",
        "0 <= f1(x > 0 => kind + x = 1) <= 1 over 2",
    ]
    table = {"x": [0.5, 1.5, -1.0], "kind": [1, 0, 1], "p": [0.9, 0.2, 0.5]} | {
        "q": [0.1, 0.8, 0.5]
    }
    found = sqrl.check(sqrl.RuleSet.from_texts(texts), table, probabilities={1: "p", 0: "q"})

    assert np.isnan(found.weighted_broken).tolist() == [True] * 5 + [False] + [True] * 2
    assert found.weighted_broken[5] == pytest.approx(0.1 + 0.8)


def test_a_missing_probability_counts_nowhere():
    """Unknown is neither held nor broken."""
    table = {"x": [5.0, 5.0, 5.0], "kind": ["a", "b", "a"], "p": [0.25, None, 0.5]}
    rules = sqrl.RuleSet.from_texts(
        ["kind = a => x <= 1", "kind = b => x <= 1", "x > 1 => kind = a"]
    )
    found = sqrl.check(rules, table, probabilities={"a": "p"})

    assert found.weighted_applicable.tolist() == [0.75, 1.25, 2.0]
    assert found.weighted_broken.tolist() == [0.75, 1.25, 1.25]


def test_old_names_of_weighted_counts_still_work():
    """Programs that read `soft_violations` or `soft_broken` go on reading the same numbers."""
    rules = sqrl.RuleSet.from_texts(["x > 1 => kind = a", "x <= 1 => kind = b"])
    found = sqrl.check(rules, {"x": [5.0], "kind": ["a"], "p": [0.25]}, probabilities={"a": "p"})
    rule = found.to_dict()["rules"][0]

    assert rule["weighted_applicable"] == rule["soft_applicable"] == found.soft_applicable[0] == 1.0
    assert rule["weighted_violations"] == rule["soft_violations"] == found.soft_broken[0] == 0.75


@pytest.mark.parametrize(
    ("values", "keys"),
    [([1, 0, 1], (1, 0)), ([True, False, True], (True, False)), (["1", "x", "1"], ("1", "x"))],
)
def test_classes_may_be_numbers_booleans_or_text(values, keys):
    """The keys name classes as the rules do."""
    names = {True: "true", False: "false"} if isinstance(keys[0], bool) else {}
    heads = [names.get(key, f'"{key}"' if isinstance(key, str) else key) for key in keys]
    rules = sqrl.RuleSet.from_texts([f"x > 0 => y = {head}" for head in heads])
    table = {"x": [1.0, 1.0, 1.0], "y": values, "p": [0.5, 0.75, 1.0]}
    found = sqrl.check(rules, table, probabilities={keys[0]: "p"})

    assert found.weighted_broken.tolist() == [0.75, 2.25]


def refused(table, probabilities, texts=("kind = a => 0 <= x", "kind = b => 0 <= x")):
    """The text of the error."""
    with pytest.raises(DataError) as error:
        sqrl.check(sqrl.RuleSet.from_texts(texts), table, probabilities=probabilities)
    return str(error.value)


def test_wrong_probabilities_are_refused():
    """Each message names the column and what to do."""
    table = {"x": [1.0, 2.0], "kind": ["a", "b"], "p": [0.5, 1.5], "q": [0.5, 0.2], "t": ["u", "v"]}

    assert refused(table, {"a": "p"}) == (
        "Column 'p' has values outside 0 to 1.\n  where: dict\n"
        "  fix:   give probabilities, not scores or logits"
    )
    assert refused(table, {"a": "t"}) == (
        "Column 't' does not hold probabilities.\n  where: dict\n"
        "  fix:   name a column of numbers between 0 and 1 for the class a"
    )
    assert refused(table, {"a": "q", "b": "q"}) == (
        "The probabilities of row 2 add up to 0.4, not to 1.\n  where: dict\n"
        "  fix:   give a column of probabilities for every class"
    )
    three = ("kind = a => 0 <= x", "kind = b => 0 <= x", "kind = c => 0 <= x")
    assert refused(table, {"a": "q"}, three) == (
        "The probabilities of row 1 add up to 0.5, not to 1.\n  where: dict\n"
        "  fix:   give a column of probabilities for every class, such as b"
    )
    assert refused({"x": [1.0], "q": [0.5]}, {"a": "q"}, ["0 <= x <= 1"]) == (
        "Probabilities need rules with a label.\n"
        "  fix:   learn the rules with a schema that has 'label:'"
    )
