"""Many rows in memory: slices on threads give what all rows at once give."""

import numpy as np
import pytest

import sqrl
from sqrl._data.table import as_table
from sqrl._rows.questions import MemoryAnswers
from sqrl._scan import held_rows
from sqrl._scan.held_rows import HeldAnswers, HeldRows
from sqrl._scan.job import Chunk

SCHEMAS = {
    "by": ["kind = Y => ? <= x <= ? by z/3", "kind = Y => ? <= A <= ?", "? <= mean(x) <= ? over 8"],
    "in each": ["kind = Y and z in each of 2 => ? <= x / z <= ?"],
    "overlapping": ["x > C => ? <= z <= ?", "precision(x > C => kind = a) >= ? over 16"],
}


def some_rows(n_rows=1500):
    """Words and numbers, some of them missing or equal."""
    rng = np.random.default_rng(4)
    x = np.where(rng.random(n_rows) < 0.1, np.nan, rng.integers(0, 60, n_rows) / 4)
    kind = np.array(["a", "b", "c", None], object)[rng.integers(0, 4, n_rows)]
    return as_table({"x": x, "z": rng.normal(size=n_rows), "kind": kind.tolist()})


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("validate", [False, {"share": 0.3}])
def test_slices_give_the_rules_of_all_rows_at_once(monkeypatch, name, validate):
    """Every bound, support and piece of evidence is the same to the last bit."""
    let = {"Y": "values(kind)", "A": ["x", "z"], "C": [3, 6, 9]}
    used = {key: one for key, one in let.items() if any(key in rule for rule in SCHEMAS[name])}
    schema = {"let": used, "rules": SCHEMAS[name], "bounds": {"min_support": 5}}
    schema |= {"validate": validate, "label": "kind"}
    table = some_rows()
    whole = sqrl.learn(table, schema, keep="all")
    asked = []
    monkeypatch.setattr(held_rows, "CHUNK_ROWS", 64)
    monkeypatch.setattr("sqrl._learn.rows_in_memory.MANY_ROWS", 100)
    monkeypatch.setattr(MemoryAnswers, "_answer", watched(MemoryAnswers._answer, asked))
    sliced = sqrl.learn(table, schema, keep="all")

    assert len(whole) > 2
    assert sliced.texts() == whole.texts()
    assert repr(sliced.table.to_pylist()) == repr(whole.table.to_pylist())
    assert sliced.held_out == whole.held_out
    assert "OrderStatistics" not in asked


def watched(answer, asked):
    """The method, with the kinds of questions that it is asked noted down."""

    def noted(self, question, rows):
        asked.append(type(question).__name__)
        return answer(self, question, rows)

    return noted


class FirstRows:
    """A job that notes where each slice begins, and how many rows it has."""

    columns = None

    def start(self):
        return {"rows": np.empty((0, 2), np.int64)}

    def summarise(self, chunk: Chunk, state):
        here = np.array([[chunk.first, chunk.table.n_rows]])
        return {"rows": np.concatenate([state["rows"], here])}

    def merge(self, one, other):
        return {"rows": np.concatenate([one["rows"], other["rows"]])}


@pytest.mark.parametrize("threads", [1, None])
def test_every_row_is_in_one_slice_and_progress_is_told_in_rows(monkeypatch, threads):
    """With one thread, in their order."""
    monkeypatch.setattr(held_rows, "CHUNK_ROWS", 100)
    monkeypatch.setattr(held_rows, "available_cores", lambda: 3)
    heard = []
    held = HeldRows(some_rows(1234), frozenset({"x"}))
    state = held.run(FirstRows(), "rows", lambda *news: heard.append(news), threads=threads)

    assert state["rows"].tolist() == [[at, min(100, 1234 - at)] for at in range(0, 1234, 100)]
    assert heard[-1] == ("rows", 1234, 1234)
    assert len(heard) == (13 if threads == 1 else 12)


def test_no_rows_have_the_state_of_no_rows():
    """An empty table is one slice without rows."""
    held = HeldRows(some_rows(3).take(np.empty(0, np.int64)), frozenset({"x"}))

    assert held.run(FirstRows(), "rows", None)["rows"].tolist() == [[0, 0]]


def test_questions_come_back_in_the_order_they_were_asked():
    """Some are answered by slices and some at once."""
    from sqrl._rows.questions import FindUnits
    from sqrl._rows.rows import Rows

    rows = Rows(some_rows(), {})
    answers = HeldAnswers(rows, None, frozenset(rows.table.names), (FindUnits,))
    plain = MemoryAnswers(rows, None)

    def asking():
        found = yield [FindUnits("train", ("kind",)), FindUnits("train", ("kind", "x"))]
        return [one.keys.tolist() for one in found]

    assert answers.ask([asking()]) == plain.ask([asking()])
