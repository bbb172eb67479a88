"""Scores of held-out rows in rules files: kept, checked when read, dropped when rules change."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import sqrl
from sqrl._rules.held_out import ScoreCounts
from sqrl.errors import RulesFileError


@pytest.fixture(scope="module")
def rules():
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(0, 1, 500), "y": rng.choice(["a", "b"], 500)}
    schema = {"label": "y", "let": {"Y": "values(y)"}, "rules": ["? <= x <= ?", "y = Y => ? <= x"]}
    return sqrl.learn({**data, "said": data["y"]}, {**schema, "coverage": 0.9}, prediction="said")


@pytest.mark.parametrize("name", ["rules.json", "rules.parquet"])
def test_scores_and_counts_come_back_from_a_file(rules, name, tmp_path):
    """Both of labels and of predictions, with what train rows say of each rule."""
    rules.save(tmp_path / name)
    loaded = sqrl.load_rules(tmp_path / name)

    assert loaded.held_out.labels == rules.held_out.labels
    assert loaded.held_out.predictions == rules.held_out.predictions
    assert [rule.tail for rule in loaded] == [rule.tail for rule in rules]
    evidence = [rule.prediction_evidence for rule in rules]
    assert [rule.prediction_evidence for rule in loaded] == evidence
    assert any(evidence)


def test_rules_that_were_edited_lose_the_scores(rules, tmp_path):
    """Another bound would have given held-out rows other scores."""
    path = Path(tmp_path / "rules.json")
    rules.save(path)
    content = json.loads(path.read_text())
    content["rules"][0]["text"] = "-9 <= x <= 9"
    path.write_text(json.dumps(content))

    assert sqrl.load_rules(path).held_out is None


def test_a_part_that_is_saved_keeps_the_scores(rules, tmp_path):
    """It breaks no more than the whole."""
    rules[:1].save(tmp_path / "rules.json")

    assert sqrl.load_rules(tmp_path / "rules.json").held_out.labels == rules.held_out.labels


@pytest.mark.parametrize(
    ("scores", "counts", "why"),
    [
        ([1, 2], [1], "scores of rows and their counts are not equally many"),
        ([2, 1], [1, 1], "scores of rows are not above 0 and ascending"),
        ([0, 1], [1, 1], "scores of rows are not above 0 and ascending"),
        ([1, 2], [1, 0], "counts of scores are not those of so many rows"),
        ([1, 2], [6, 5], "counts of scores are not those of so many rows"),
    ],
)
def test_scores_that_cannot_be_are_damage(rules, scores, counts, why, tmp_path):
    """Found when the file is read, not when a row is ranked."""
    path = Path(tmp_path / "rules.json")
    rules.save(path)
    content = json.loads(path.read_text())
    content["held_out"]["labels"] = {"rows": 10, "scores": scores, "counts": counts}
    path.write_text(json.dumps(content))

    with pytest.raises(RulesFileError) as caught:
        sqrl.load_rules(path)
    assert str(caught.value) == (
        f"The rules file is damaged: {why} - at `$.held_out.labels`.\n"
        f"  where: {path}\n"
        "  fix:   it may have been cut off or edited by hand; learn the rules again"
    )
    with pytest.raises(ValueError, match=why):
        ScoreCounts(rows=10, scores=scores, counts=counts)


def test_files_from_before_there_were_scores_are_read(rules, tmp_path):
    """They have neither the columns nor the scores."""
    old = Path(tmp_path / "old.parquet")
    rules.save(old)
    table = pq.read_table(old).drop_columns(["tail", "prediction_evidence"])
    meta = json.loads(table.schema.metadata[b"sqrl-rules"])
    del meta["held_out"]
    pq.write_table(table.replace_schema_metadata({"sqrl-rules": json.dumps(meta)}), old)
    plain = Path(tmp_path / "old.json")
    rules.save(plain)
    content = json.loads(plain.read_text())
    del content["held_out"]
    for rule in content["rules"]:
        rule.pop("tail", None)
        rule.pop("prediction_evidence", None)
    plain.write_text(json.dumps(content))

    for path in (old, plain):
        loaded = sqrl.load_rules(path)
        assert loaded.held_out is None
        assert loaded.texts() == rules.texts()
        assert {rule.tail for rule in loaded} == {None}
