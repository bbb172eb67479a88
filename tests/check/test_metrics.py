"""found.metrics(): numbers by name, counted here by hand."""

import json
import math
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import sqrl
from sqrl._check.findings.findings import FindingKind

ROOT = Path(__file__).parent.parent.parent
TEXTS = ["0 <= x <= 9", "kind = a => 0 <= y <= 9", "kind = z => y <= 1", "mean(x) <= 20 over 2"]
DATA = {"kind": ["a", "a", "b", "b"], "x": [3.0, 50.0, 60.0, 70.0], "y": [1.0, 12.0, 99.0, 99.0]}


@pytest.fixture
def found():
    """Three rows beyond x, one beyond y given a, a rule without rows, and two mini-batches."""
    known = {"coverage": [0.98] * 4, "support": [900] * 4}
    return sqrl.check(sqrl.RuleSet.from_texts(TEXTS, **known), DATA)


def test_every_number_is_what_counting_by_hand_gives(found):
    """Of four rows three break a rule; two mini-batches of two rows have means above 20."""
    numbers = found.metrics()
    x, y, idle, mean = found.rules.ids()

    assert {name: numbers[name] for name in list(numbers)[:8]} == {
        "n_rows": 4,
        "n_rules": 4,
        "n_rules_unchecked": 1,
        "n_rules_broken": 3,
        "n_significant": found.n_significant,
        "n_findings": 1,
        "violations": 3 + 1 + 2,
        "violations_per_sample": (3 + 1) / 4 + 2 / 2,
    }
    assert numbers["share_broken"] == 6 / (4 + 2 + 0 + 2)
    assert numbers["n_rows_broken"] == 3
    assert numbers["least_p_value"] == np.nanmin(found.p_value)
    assert (numbers[f"rule.{x}.share"], numbers[f"rule.{y}.share"]) == (0.75, 0.5)
    assert numbers[f"rule.{mean}.share"] == 1.0
    assert f"rule.{idle}.share" not in numbers
    assert numbers[f"rule.{x}.p_value"] == found.p_value[0]


def test_each_kind_of_finding_is_counted_also_where_there_is_none(found):
    """A dashboard has its line before the first alarm."""
    numbers = found.metrics()
    kinds = {kind: numbers[f"findings.{kind}"] for kind in get_args(FindingKind)}

    assert sum(kinds.values()) == numbers["n_findings"] == len(found.findings())
    assert all(kinds[finding.kind] for finding in found.findings())
    assert 0 in kinds.values()


def test_they_are_plain_finite_numbers_under_names_that_trackers_take(found):
    """As JSON allows, and MLflow's names of metrics."""
    numbers = found.metrics()

    assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers
    assert all(type(value) in {int, float} and math.isfinite(value) for value in numbers.values())
    assert all(re.fullmatch(r"[a-z0-9_.-]+", name) for name in numbers)


def test_rules_can_be_left_out_and_what_is_not_known_has_no_entry():
    """Without support nothing is known of chance; without rows nothing is broken by any."""
    numbers = sqrl.check(sqrl.RuleSet.from_texts(["x <= 9"]), {"x": [None]}).metrics(rules=False)

    assert not {"least_p_value", "share_broken", "n_units"} & set(numbers)
    assert not [name for name in numbers if name.startswith("rule.")]
    assert (numbers["n_rows"], numbers["n_rows_broken"]) == (1, 0)


def test_scanned_rows_give_the_same_numbers_but_for_rows(found, tmp_path):
    """Which rows break rules is not kept of a scan."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(DATA), tmp_path / "rows.parquet")
    scanned = sqrl.check(found.rules, sqrl.scan(tmp_path / "rows.parquet")).metrics()
    in_memory = found.metrics()

    assert {"n_rows_broken": 3, **scanned} == in_memory


def test_of_rules_with_the_same_id_the_worse_counts():
    """Sets that were joined may name a rule twice."""
    rules = sqrl.RuleSet.from_texts(["x <= 9", "x <= 2"]).with_ids()
    table = rules.table.set_column(
        rules.table.schema.get_field_index("id"), "id", [["same", "same"]]
    )
    joined = sqrl.RuleSet(table, rules.nodes)

    assert sqrl.check(joined, {"x": [1.0, 5.0]}).metrics()["rule.same.share"] == 0.5


def test_every_name_is_documented(found):
    """And nothing that is documented is missing."""
    page = (ROOT / "docs" / "metrics.md").read_text()
    documented = set(re.findall(r"^\| `([^`]+)`", page, flags=re.MULTILINE))
    names = {re.sub(r"^rule\.[^.]+", "rule.ID", name) for name in found.metrics()} | {"n_units"}
    names = {re.sub(r"^findings\..*", "findings.KIND", name) for name in names}

    assert documented == names
