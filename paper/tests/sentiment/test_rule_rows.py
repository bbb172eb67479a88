"""Other rules about sentences: what truth breaks of them, and what they were learned from."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs what sqrl-paper depends on")
pytest.importorskip("safetensors", reason="needs what sqrl-paper depends on")

from sqrl_paper.place import Place  # noqa: E402
from sqrl_paper.runs import Runs  # noqa: E402
from sqrl_paper.sentiment import bench as sentiment  # noqa: E402
from sqrl_paper.sentiment import rule_sets  # noqa: E402
from sqrl_paper.sentiment.made import write_phrasebank  # noqa: E402
from sqrl_paper.sentiment.phrasebank import CLASSES, PhraseParts, Phrases  # noqa: E402
from sqrl_paper.sentiment.rule_rows import ROW_METHODS, Rules, describe_rules  # noqa: E402
from sqrl_paper.sentiment.rule_sets import SOURCES, learn_valid, learned_by  # noqa: E402


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sentiment")
    write_phrasebank(folder)
    return Place(folder=folder, cache=folder / "cache", quick=True, data="made", is_made=True)


@pytest.fixture(scope="module")
def result(place):
    runs = Runs(place, n_workers=1, track=lambda *_: None)
    with runs.working():
        return sentiment.rows(place, runs, [0])


def test_all_rules_are_described_and_methods_follow_some(result):
    """Those that any are left of; each method once a seed."""
    assert list(result["rule_sets"]) == [source.name for source in SOURCES]
    followed = [
        one.name for one in SOURCES if one.is_adapted_by and result["rule_sets"][one.name]["rules"]
    ]
    assert list(result["rule_rows"]) == followed[:1] != []  # one of them in a quick run
    for one in result["rule_rows"].values():
        assert list(one["measured"]) == [method.name for method in ROW_METHODS]


def test_what_truth_breaks_is_counted_as_by_a_loop(place):
    """Pairs of a rule and a test sentence in its body whose sentiment is another."""
    known = learned_by(place, "words")
    told = describe_rules(place, Rules(rules="words"))
    n_pairs = n_broken = 0
    for at, text in enumerate(known.rules.texts()):
        for row in np.flatnonzero(known.rules.condition_holds(at, known.features.test)):
            n_pairs += 1
            n_broken += not text.endswith(f"= {CLASSES[known.parts.test.labels[row]]}")

    assert (told["judged"], told["broken"]) == (n_pairs, n_broken)
    assert told["rules"] == len(known.rules) > 0


def test_rules_that_hold_are_some_of_those_that_agree(place):
    """Learned from all but test sentences, half of them held out; the more is asked, the fewer."""
    known = learned_by(place, "words")
    sets = {
        holds: learn_valid(known.parts, known.features, holds) for holds in (0.01, 0.5, 0.8, 0.95)
    }
    texts = [set(rules.texts()) for rules in sets.values()]
    made = sets[0.8].provenance

    assert texts[0] >= texts[1] >= texts[2] >= texts[3]
    assert made.rows == len(known.parts.train) + len(known.parts.valid)
    assert made.valid_rows == pytest.approx(made.rows / 2, abs=1)


def test_no_test_label_has_a_part_in_rules(place, monkeypatch):
    """With all of them turned round, the rules are the same."""
    before = {name: learned_by(place, name).rules.texts() for name in ("words", "words, holds 0.8")}
    parts = rule_sets.parts_of(place)
    turned = Phrases(parts.test.texts, 2 - parts.test.labels)
    monkeypatch.setattr(
        rule_sets, "parts_of", lambda _: PhraseParts(parts.train, parts.valid, turned)
    )

    for name, texts in before.items():
        assert learned_by.__wrapped__(place, name).rules.texts() == texts
