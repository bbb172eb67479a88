"""The sentiment bench: what is compared is comparable, and sums are as by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs what sqrl-paper depends on")
pytest.importorskip("safetensors", reason="needs what sqrl-paper depends on")

from sqrl import Batches  # noqa: E402
from sqrl.errors import DataError  # noqa: E402
from sqrl_paper.bench import run_bench  # noqa: E402
from sqrl_paper.jobs import Look, Try  # noqa: E402
from sqrl_paper.place import Place  # noqa: E402
from sqrl_paper.sentiment import bench as sentiment  # noqa: E402
from sqrl_paper.sentiment.as_seen import see  # noqa: E402
from sqrl_paper.sentiment.batches import AlikeBatches  # noqa: E402
from sqrl_paper.sentiment.data import CONDITIONS, prepared  # noqa: E402
from sqrl_paper.sentiment.drifts import CLEAN, DRIFTS, drop_words, misspell  # noqa: E402
from sqrl_paper.sentiment.example import lines_of, mended_most  # noqa: E402
from sqrl_paper.sentiment.made import make_lines, write_phrasebank  # noqa: E402
from sqrl_paper.sentiment.methods import (  # noqa: E402
    BOTH,
    LOSS,
    MASK,
    METHODS,
    NONE,
    ONE_BIAS,
    OURS,
    PAPER,
    TENT,
    WHOLE,
    Choice,
    make_objective,
    method_of,
)
from sqrl_paper.sentiment.phrasebank import Phrases, read_phrasebank  # noqa: E402
from sqrl_paper.sentiment.runs import describe_source, run  # noqa: E402
from sqrl_paper.sentiment.scores import count_heads, score, score_ways  # noqa: E402
from sqrl_paper.sentiment.summary import summarise  # noqa: E402

DRIFT = CONDITIONS[1]
NOTHING_TO_TUNE = ["none", "BN", "mask", "ours", "ours, trusted"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sentiment")
    write_phrasebank(folder)
    return Place(folder=folder, cache=folder / "cache", quick=True, data="made", is_made=True)


@pytest.fixture(scope="module")
def seen(place):
    return see(place, 0, "test", CLEAN)


@pytest.fixture(scope="module")
def result(_slowly):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SQRL_DATA", raising=False)
        patch.chdir("/")
        return run_bench("sentiment", quick=True, n_workers=1)


def test_every_tuned_method_is_tried_as_often():
    """Four times each; what has nothing to tune is not tuned."""
    tuned = [method for method in (*METHODS, WHOLE) if method.choices]

    assert {len(set(method.choices)) for method in tuned} == {4}
    assert [m.name for m in METHODS if not m.choices] == NOTHING_TO_TUNE


def test_the_choice_is_that_of_valid_sentences():
    """The fewest violations where nothing is lost, whatever other methods had."""
    tries = [Try(seed=0, method="Tent", choice=Choice(lr=lr)) for lr in (1.0, 2.0, 3.0)]
    others = [Try(seed=0, method=name, choice=Choice(lr=9.0)) for name in ("RPL", "none")]
    figures = [(0.8, 50), (0.9, 40), (0.7, 10), (0.9, 5), (0.8, 60)]
    tried = {
        job: {"accuracy": accuracy, "violations": violations}
        for job, (accuracy, violations) in zip([*tries, *others], figures, strict=True)
    }

    assert sentiment._best(tried, TENT).lr == 2.0


def test_made_files_are_in_the_official_format(tmp_path):
    """Latin-1, lines that end as on Windows, and too few of them to pass for the real ones."""
    path = write_phrasebank(tmp_path, n=50)
    phrases = read_phrasebank(tmp_path, is_complete=False)

    assert b"yhti\xf6" in path.read_bytes()
    assert len(phrases) == path.read_bytes().count(b"\r\n") == 50
    assert [f"{t}@{s}" for t, s in zip(phrases.texts, phrases.sentiments, strict=True)] == list(
        make_lines(50, seed=0)
    )
    with pytest.raises(DataError, match="50 sentences instead of 4,846"):
        read_phrasebank(tmp_path)


def test_mini_batches_hold_rows_that_are_near_each_other():
    """No row twice in a pass, other rows together each time, and the same from the start."""
    batches = AlikeBatches(torch.arange(1000), size=10, seed=0)
    first, second, again = (
        [batch.inputs for batch in them] for them in (batches, batches, batches.from_start())
    )
    spread = np.mean([int(rows.max() - rows.min()) for rows in first])

    assert len(set(torch.cat(first).tolist())) == 1000
    assert [len(rows) for rows in first] == [10] * 100
    assert spread < 150  # of ten rows of a thousand drawn at random, 818
    assert [rows.tolist() for rows in first] != [rows.tolist() for rows in second]
    assert [rows.tolist() for rows in first] == [rows.tolist() for rows in again]


def test_rows_that_do_not_fill_a_mini_batch_are_left_out_in_turn():
    """As in other mini-batches of the library; fewer rows than fill one make one."""
    batches = AlikeBatches(torch.arange(7), size=3, seed=0)

    assert sorted(len(batch.inputs) for batch in batches) == [3, 3]
    assert [len(b.inputs) for b in AlikeBatches(torch.arange(2), size=3)] == [2]


def test_drifts_change_what_is_read_and_no_more():
    """Words are left out, or letters within them swapped; numbers, short words and ends stay."""
    texts = ["the operating profit rose to 1234567 from the 2009 loss"] * 50
    dropped, misspelt = drop_words(texts, 0), misspell(texts, 0)
    words = [word for text in misspelt for word in text.split()]

    assert 0.6 < sum(len(text.split()) for text in dropped) / 500 < 0.8
    assert all(set(text.split()) <= set(texts[0].split()) for text in dropped)
    assert len(words) == 500
    assert words.count("the") == 100
    assert words.count("1234567") == 50
    assert 20 < words.count("operating") < 50
    assert {(w[0], w[-1], "".join(sorted(w))) for w in words} == {
        (w[0], w[-1], "".join(sorted(w))) for w in texts[0].split()
    }
    assert misspell(texts, 1) != misspelt == misspell(texts, 0)
    assert set(CONDITIONS) <= set(DRIFTS)


def test_sentences_come_from_short_to_long_with_all_that_is_known_of_them(place, seen):
    """Also after a drift, of which the features know nothing."""
    drifted = see(place, 0, "test", DRIFT)
    lengths = seen.inputs[1].sum(1)
    joy = [
        dict(zip(one.phrases.texts, one.features["joy"].values, strict=True))
        for one in (seen, drifted)
    ]
    labels = [
        sorted(zip(one.phrases.texts, one.phrases.labels, strict=True)) for one in (seen, drifted)
    ]

    assert bool((lengths.diff() >= 0).all())
    assert lengths[0] < lengths[-1]
    assert joy[0] == joy[1]
    assert labels[0] == labels[1]
    assert not torch.equal(seen.inputs[0], drifted.inputs[0])


def test_sentences_of_which_no_rule_speaks_have_no_part_in_the_loss(seen):
    """Their logits have no gradient, whatever the loss; so steps may do without them."""
    is_judged = torch.from_numpy(seen.bodies.any(0))
    (batch,) = Batches(seen.logits, seen.features, size=len(seen.phrases)).in_order()
    for method in (PAPER, LOSS):
        logits = seen.logits.flip(1).requires_grad_()
        loss = make_objective(method, seen.data, Choice())(batch, logits)
        (gradient,) = torch.autograd.grad(loss, logits)

        assert bool((gradient[~is_judged] == 0).all())
        assert bool((gradient[is_judged] != 0).any())
    assert 0 < int(is_judged.sum()) < len(is_judged)
    assert seen.batches("judged", 5).n_rows == int(is_judged.sum())


def test_rules_speak_of_the_same_sentences_as_for_the_loss(seen):
    """Pairs counted one by one, and by the loss."""
    assert seen.bodies.sum() == score(seen, seen.logits)["judged"]


def test_what_leaves_the_network_alone_is_done_to_its_logits(seen, place):
    """As when the model itself were given: a mask and a bias need no forward pass of their own."""
    for method in (NONE, MASK, ONE_BIAS):
        fast = run(place, seen, method, Choice())[0]
        slow = run(place, seen, replace(method, reads="judged"), Choice())[0]

        assert torch.allclose(fast, slow, atol=1e-4), method.name


def test_no_method_looks_at_labels(seen, place):
    """With all labels changed each predicts the same, to the last bit."""
    wrong = Phrases(seen.phrases.texts, (seen.phrases.labels + 1) % 3)
    other = replace(seen, phrases=wrong)
    for method in (*METHODS, WHOLE):
        one, two = (run(place, these, method, Choice(lr=1e-3))[0] for these in (seen, other))

        assert torch.equal(one, two), method.name


def test_methods_that_follow_rules_break_fewer(seen, place):
    """On sentences that the source model has wrong, and without a change to the source."""
    before = score(seen, seen.logits)
    for method, lr in ((PAPER, 3e-2), (LOSS, 3e-2), (BOTH, 3e-2), (OURS, 2e-2)):
        logits, told = run(place, seen, method, Choice(lr=lr, weight=30.0))

        assert score(seen, logits)["expected"] < before["expected"], method.name
        assert told["epochs"] >= 1
    assert score(seen, run(place, seen, MASK, Choice())[0])["violations"] < before["violations"]
    assert score(seen, see(place, 0, "test", CLEAN).logits) == before


def test_the_source_is_described_with_what_true_labels_break(place):
    """How many rules there were, and what the truth and a constant prediction break of them."""
    told = describe_source(place, Look(seed=0))
    ways, heads = told["ways"], told["heads"]

    assert told["counts"]["candidates"] == 7878
    assert told["sentences"] == {"train": 432, "valid": 48, "test": 120}
    assert ways["true"]["accuracy"] == 1.0
    assert ways["always neutral"]["predicted"] == [0.0, 100.0, 0.0]
    assert sum(one["rules"] for one in heads.values()) == told["rules"]
    assert sum(one["judged"] for one in heads.values()) == ways["true"]["judged"]
    assert sum(one["broken"] for one in heads.values()) == ways["true"]["violations"]
    others = heads["negative"]["judged"] + heads["positive"]["judged"]
    assert ways["always neutral"]["violations"] == others
    assert len(told["losses"]) == len(prepared(place, 0).losses) >= 1


def test_pairs_that_labels_break_are_counted_by_what_rules_imply(seen):
    """With other labels than the true ones, which break none of the made rules."""
    other = replace(seen, phrases=Phrases(seen.phrases.texts, (seen.phrases.labels + 1) % 3))
    broken = sum(one["broken"] for one in count_heads(other).values())

    assert broken == score_ways(other)["true"]["violations"] > 0


def made_run(accuracy, violations, predicted=(20.0, 50.0, 30.0)):
    figures = dict.fromkeys(("macro_f1", "entropy", "expected", "per_sample", "seconds"), 0.1)
    return {
        "accuracy": accuracy, "violations": violations, "predicted": list(predicted), **figures
    }  # fmt: skip


def made_results():
    """Two seeds; ours breaks half as many rules and loses a point, both break fewer and gain."""
    figures = {"none": (0.8, 100), "ours": (0.79, 50), "rules + entropy": (0.81, 80)}
    figures |= {"paper's loss": (0.8, 90), "our loss": (0.8, 84)}
    clean = {
        name: {"0": made_run(*pair), "1": made_run(pair[0], pair[1] * 2, (10.0, 80.0, 10.0))}
        for name, pair in figures.items()
    }
    whole = {str(seed): made_run(0.7, 0) for seed in (0, 1)}
    return {
        "conditions": {CLEAN: clean, DRIFT: {"none": {"0": made_run(0.5, 0)}}},
        "ablation": {WHOLE.name: whole},
    }


def test_the_summary_is_as_by_hand():
    """Changes are taken within a seed; nothing to break means nothing to reduce."""
    summary = summarise(made_results())["summary"]
    ours = summary["conditions"][CLEAN]["ours"]

    assert ours["reduced"]["seeds"] == [50.0, 50.0]
    assert ours["gain"]["mean"] == pytest.approx(-1.0)
    assert ours["violations"]["mean"] == 75.0
    assert ours["predicted"] == [15.0, 65.0, 20.0]
    assert summary["ablation"][WHOLE.name]["reduced"]["mean"] == 100.0
    assert summary["conditions"][DRIFT]["none"]["reduced"]["mean"] == 0.0


def test_aims_that_are_missed_are_told():
    """Ours breaks fewer rules and is wrong more often; the paper's loss is the other way round."""
    aims = {one["what"]: one["met"] for one in summarise(made_results())["aims"]}

    assert aims == {
        "paper's loss: violations fewer": False,
        "paper's loss: accuracy gained": True,
        "our loss: violations fewer": True,
        "our loss: accuracy gained": True,
        "rules + entropy: violations fewer": True,
        "rules + entropy: accuracy gained": True,
        "ours: violations fewer": True,
        "ours: accuracy gained": False,
    }


def test_a_quick_run_has_all_tables(result):
    """On made-up data, without weights or lists of words, within the width of a terminal."""
    sheets = sentiment.sheets(result)
    drift = sheets[5]

    assert result["data"] == "made"
    assert [sheet.title[:9] for sheet in sheets] == [
        *("Table 1. ", "Rules bro", "Rules by ", "Other rul", "Table 2. ", "A drift ("),
        *("Methods t", "Ablation:"),
    ]
    assert max(len(line) for sheet in sheets for line in sheet.lines()) <= 80
    assert [row[0] for row in sheets[4].rows] == [method.name for method in METHODS]
    assert [row[0] for row in drift.rows] == [m.name for m in METHODS if m.is_run(DRIFT)]
    assert set(result["methods"]) == {method.name for method in (*METHODS, WHOLE)}
    assert set(result["tried"]["chosen"]) == {m.name for m in (*METHODS, WHOLE) if m.choices}
    assert "432 sentences to learn from" in sentiment.protocol(result)


def test_wide_figures_fit_a_terminal_too(result):
    """With three digits before the point, a minus and a spread."""
    wide = {"mean": -123.45, "spread": 123.45, "seeds": []}
    summary = {
        part: {
            name: {
                method: dict.fromkeys(one, wide) | {"predicted": [100.0, 0.0, 100.0]}
                for method, one in methods.items()
            }
            for name, methods in (found if part == "conditions" else {"": found}).items()
        }
        for part, found in result["summary"].items()
    }
    summary["ablation"] = summary["ablation"][""]
    for conditions in (*summary["conditions"].values(), summary["ablation"]):
        for one in conditions.values():
            one["accuracy"] = one["macro_f1"] = {"mean": 1.0, "spread": 0.1, "seeds": []}
    sheets = sentiment.sheets({**result, "summary": summary})

    assert max(len(line) for sheet in sheets for line in sheet.lines()) <= 80


def test_the_example_is_a_sentence_set_right():
    """Rule 0 says class 2, rule 1 class 0; of what is mended the truly right one is shown."""
    before = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.1, 0.6, 0.3], [0.2, 0.5, 0.3]])
    after = np.array([[0.5, 0.1, 0.4], [0.8, 0.1, 0.1], [0.1, 0.4, 0.5], [0.1, 0.0, 0.9]])
    bodies = np.array([[True, False, True, False], [False, True, False, False]])
    phrases = Phrases(("a", "b", "c", "d"), np.array([0, 1, 2, 2]))
    seen = SimpleNamespace(
        data=SimpleNamespace(heads=np.array([2, 0])), bodies=bodies, phrases=phrases
    )

    # Sentence b is mended by rule 1, and wrongly; c by rule 0, rightly; of d no rule speaks.
    assert mended_most(seen, before, after) == (0, 2)
    assert mended_most(seen, before, before) == (0, 0)  # nothing is mended: the first of all
    seen.phrases = Phrases(phrases.texts, np.array([0, 1, 1, 2]))
    assert mended_most(seen, before, after) == (1, 1)


def test_the_figure_is_drawn_from_the_results_alone(result, tmp_path):
    """Without the sentence itself, which is not ours to publish."""
    pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    path = tmp_path / "figure.png"
    sentiment.draw(result, path)
    told = result["example"]

    assert path.stat().st_size > 10_000
    assert sum(told["before"]) == pytest.approx(1)
    assert told["features"]
    assert any(f"A sentence of {told['words']} words" in line for line in lines_of(told))
    assert not any(isinstance(value, str) and "@" in value for value in told.values())


def test_a_missing_file_is_named_with_its_page(tmp_path):
    """And found once it is there."""
    with pytest.raises(DataError, match="FinancialPhraseBank-v10"):
        sentiment.files(tmp_path)
    sentiment.make_files(tmp_path)

    assert [path.name for path in sentiment.files(tmp_path)] == ["Sentences_50Agree.txt"]


def test_methods_are_found_by_name():
    """All of them, the ablation's too."""
    assert all(method_of(method.name) is method for method in (*METHODS, WHOLE))
