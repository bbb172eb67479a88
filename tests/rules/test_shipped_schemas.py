"""The schemas of the paper's five tasks, and the number of rules each of them has."""

import itertools

import numpy as np
import pytest

import sqrl
from real_data import folder, kitti_boxes
from sqrl._rows.rows import Rows
from sqrl._rules.schema import load_schema, shipped_schemas


def test_there_is_a_schema_for_each_of_the_papers_tasks():
    """Each loads, and is written back as it was read; `boxes` and `supervise` are for any."""
    tasks = ("cardio", "detection", "imagenet_x", "imputation", "sentiment")
    assert shipped_schemas() == ("boxes", *tasks, "supervise")
    for name in shipped_schemas():
        schema = load_schema(name)
        from sqrl._rules.schema import parse_schema

        assert parse_schema(schema.to_yaml()) == schema


def made_boxes(n=400):
    rng = np.random.default_rng(0)
    left, top = rng.uniform(0, 900, n), rng.uniform(0, 200, n)
    return {
        "type": rng.choice(load_schema("detection").let["Y"], n).tolist(),
        "left": left,
        "top": top,
        "right": left + rng.uniform(5, 300, n),
        "bottom": top + rng.uniform(5, 150, n),
    }


def test_detection_has_252_rules():
    """7 classes x (6 statistics + 30 ordered pairs), as in the paper."""
    assert sqrl.plan(made_boxes(), "detection").n_candidates == 252


def test_imputation_has_35_rules():
    """One for each feature, as in the paper."""
    features = load_schema("imputation").let["A"]
    table = {name: np.random.default_rng(0).normal(size=50) for name in features}

    assert sqrl.plan(table, "imputation").n_candidates == 35


def test_sentiment_has_7878_rules():
    """3 classes x (26 features + 650 ordered pairs x 4 buckets), as in the paper."""
    features = load_schema("sentiment").let["A"]
    rng = np.random.default_rng(0)
    table = {name: rng.random(300) for name in features}
    table["sentiment"] = rng.choice(["negative", "neutral", "positive"], 300).tolist()

    assert sqrl.plan(table, "sentiment").n_candidates == 7878


def consistent_bodies(groups, high=3):
    """Signed conjunctions without contradiction, counted one by one."""
    literals = [(g, v) for g, size in enumerate(groups) for v in range(size)]
    total = 0
    for size in range(1, high + 1):
        for chosen in itertools.combinations(literals, size):
            for signs in itertools.product((0, 1), repeat=size):
                plain = [g for (g, _), sign in zip(chosen, signs, strict=True) if not sign]
                negated = [g for (g, _), sign in zip(chosen, signs, strict=True) if sign]
                if len(set(plain)) < len(plain):
                    continue
                if any(groups[g] > 1 and negated.count(g) == groups[g] for g in set(negated)):
                    continue
                total += 1
    return total


def test_imagenet_x_has_16_features_and_17_classes():
    """All signed conjunctions of at most 3 of 16 free factors, for each of 17 metaclasses."""
    rng = np.random.default_rng(0)
    factors = "multiple_objects background color brighter darker style larger smaller"
    factors += " object_blocking person_blocking partial_view pattern pose shape subcategory"
    factors += " texture"
    table = {name: rng.integers(0, 2, 1700) for name in factors.split()}
    table["metaclass"] = [f"m{i % 17}" for i in range(1700)]

    assert consistent_bodies([1] * 16) == 32 + 480 + 4480
    assert sqrl.plan(table, "imagenet_x").n_candidates == 17 * 4992


def cardio_like(n=24_000):
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=n) for name in ("age", "height", "weight", "ap_hi", "ap_lo")}
    table |= {name: rng.integers(1, 4, n) for name in ("cholesterol", "gluc")}
    table |= {name: rng.integers(0, 2, n) for name in ("smoke", "alco", "active", "cardio")}
    return table


def test_cardio_has_52_features_where_no_two_cuts_coincide():
    """5 columns in 8 buckets, 2 of 3 values, 3 of 2: 167,418 consistent bodies, two classes."""
    assert consistent_bodies([8] * 5 + [3] * 2 + [2] * 3) == 167_418
    assert sqrl.plan(cardio_like(), "cardio").n_candidates == 2 * 167_418


def test_real_kitti_bounds_are_numpys_percentiles_and_a_plain_loops():
    """Every single-statistic rule and every bucketed rule of the 252, recomputed."""
    boxes = kitti_boxes("train")
    rules = sqrl.learn(boxes, "detection")
    kind = np.array(boxes["type"])
    width, height = boxes["right"] - boxes["left"], boxes["bottom"] - boxes["top"]
    statistics = {
        "aspect_ratio": width / height,
        "width": width,
        "height": height,
        "area": width * height,
        "x_center": (boxes["left"] + boxes["right"]) / 2,
        "y_bottom": boxes["bottom"],
    }
    classes = load_schema("detection").let["Y"]
    found = {rule.text.split(" => ")[0].removeprefix("type = "): 0 for rule in rules}
    expected = []
    for name, subject in itertools.product(classes, statistics):
        values = statistics[subject][kind == name]
        expected.append((name, subject, [np.percentile(values, [1, 99]).tolist()], []))
    for subject_by in itertools.permutations(statistics, 2):
        by, subject = subject_by
        for name in classes:
            by_values = statistics[by][kind == name]
            values = statistics[subject][kind == name]
            cuts = np.percentile(by_values, [25, 50, 75]).tolist()
            pieces = []
            for low, high in itertools.pairwise([-np.inf, *cuts, np.inf]):
                inside = [v for v, b in zip(values, by_values, strict=True) if low < b <= high]
                pieces.append(np.percentile(inside, [1, 99]).tolist())
            expected.append((name, subject, pieces, [f"{by} <= {cut!r}" for cut in cuts]))
    texts = set(rules.texts())
    for name, subject, pieces, tests in expected:
        parts = [f"{low!r} <= {subject} <= {high!r}" for low, high in pieces]
        sentence = parts[-1]
        for part, test in reversed(list(zip(parts[:-1], tests, strict=True))):
            sentence = f"{part} if {test} else {sentence}"
        text = sqrl.RuleSet.from_texts([f"type = {name} => {sentence}"]).texts()[0]
        assert text in texts
        found[name] += 1

    assert len(rules) == len(expected) == 252
    assert set(found.values()) == {36}


def test_real_kitti_rules_hold_on_held_out_rows_within_the_binomial_error():
    """98 % rules from half of the boxes hold on 98 % of the other half, rule by rule."""
    boxes = sqrl.as_table(
        {
            name: [*one, *other]
            for (name, one), other in zip(
                kitti_boxes("train").items(), kitti_boxes("val").values(), strict=True
            )
        }
    )
    order = np.random.default_rng(0).permutation(boxes.n_rows)
    half = boxes.n_rows // 2
    schema = load_schema("detection")
    rules = sqrl.learn(boxes.take(order[:half]), schema)
    rows = Rows(boxes.take(order[half:]), schema.expressions())
    scores, ties = [], []
    for index in range(len(rules)):
        form = rules.form(index)
        left = rows.all_true(form.given)
        values = rows.numbers(form.subject)
        applicable = broken = on_bound = 0
        for piece in form.pieces:
            here = left & (rows.truths(piece.test).true if piece.test else True)
            left &= ~here
            applicable += here.sum()
            low, high = piece.lower.value, piece.upper.value
            broken += (here & ((values < low) | (values > high))).sum()
            on_bound += (here & ((values == low) | (values == high))).sum()
        ties.append(on_bound > 1)
        scores.append(_score(broken, applicable, rules[index].support, len(form.pieces)))
    single, bucketed = np.array(scores[:42]), np.array(scores[42:])

    # A standard normal score, or less where values tie on a bound (boxes cut off by the image's
    # edge): a value on the bound holds.
    assert single.max() < 4
    assert bucketed.max() < 4.5
    assert np.mean(single < 2) > 0.9
    untied = ~np.array(ties[:42])
    assert untied.sum() > 25
    assert np.abs(single[untied]).max() < 3.5


def _score(broken, applicable, n, n_pieces):
    """How far the share of broken rows is from its expectation, in standard errors.

    Of n samples, the interpolated 1st percentile lies at rank 0.01 (n - 1), below which a share of
    (0.01 (n - 1) + 1) / (n + 1) of new rows is expected: 1 % for large n, more for small n.
    """
    n_each = n / n_pieces
    expected = 2 * (0.01 * (n_each - 1) + 1) / (n_each + 1)
    error = np.sqrt(expected * (1 - expected) * (1 / n + 1 / applicable))
    return (broken / applicable - expected) / error


def test_real_cardio_gives_400_rules():
    """200 for each class, the same file for the same seed."""
    path = folder("cardio") / "cardio_train.csv"
    rules = sqrl.learn(path, "cardio")
    again = sqrl.learn(path, "cardio")

    assert len(rules) == 400
    assert rules.texts() == again.texts()
    for value in (0, 1):
        assert len(rules.search(f"cardio = {value})")) == 200
    counts = rules.provenance.counts
    assert counts["candidates"] == 263_352


def test_real_imagenet_x_gives_340_rules():
    """20 for each of 17 metaclasses."""
    import gzip
    import json

    root = folder("imagenet_x")
    metaclass = {}
    for line in (root / "class_to_17_metaclasses.csv").read_text().splitlines()[1:]:
        number, name = line.split(",")[:2]
        metaclass[int(number)] = name
    with gzip.open(root / "annotations" / "imagenet_x_train_multi_factor.jsonl.gz", "rt") as file:
        records = [json.loads(line) for line in file]
    others = {"file_name", "class", "justification", "one_word"}
    factors = [name for name in records[0] if name not in others]
    table = {name: [record[name] for record in records] for name in factors}
    table["metaclass"] = [metaclass[record["class"]] for record in records]
    rules = sqrl.learn(table, "imagenet_x")

    assert len(rules) == 340
    assert pytest.approx(73_032, rel=0.17) == rules.provenance.counts["candidates"]
