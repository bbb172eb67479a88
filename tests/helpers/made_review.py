"""Review sessions made up for tests and pictures, served as `sqrl review --data` serves them."""

import contextlib
import threading

import numpy as np

import sqrl
from sqrl._review.saved_rules import SavedRules
from sqrl._review.server import ReviewServer
from sqrl._review.session import Session
from sqrl._rules.ruleset import RuleSet


def patients(n_rows, seed=0):
    """Rows of a made-up ward: a few numbers, some of them with long tails."""
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(18, 95, n_rows).astype(float),
        "heart_rate": rng.normal(80, 14, n_rows).round(1),
        "temperature": rng.normal(37.1, 0.6, n_rows).round(2),
        "creatinine": np.exp(rng.normal(0, 0.4, n_rows)).round(3),
        "ward": rng.choice(["A", "B", "C"], n_rows).astype(object),
    }


SCHEMA = {
    "let": {"A": ["age", "heart_rate", "temperature", "creatinine"], "W": "values(ward)"},
    "rules": [
        "? <= A <= ?",
        "ward = W => ? <= A <= ?",
        "? <= mean(A) <= ? over 256",
        "? <= heart_rate <= ? by age/3",
    ],
}


def ward_rules():
    """Rules of every kind that the page knows: of rows, of mini-batches, in buckets."""
    return sqrl.learn(patients(4000), SCHEMA)


def many_row_rules(n):
    """As many rules about rows of the ward as asked for, each about something else."""
    texts = [f"age > {20 + 0.005 * i:.3f} => 40 <= heart_rate <= {120 + i}" for i in range(n)]
    rules = RuleSet.from_texts(texts, coverage=[0.98] * n, support=[4000] * n)
    return rules.with_ids()


@contextlib.contextmanager
def serving(path, table=None, *, by="Ann"):
    """A server for the rules of a file, in a thread of its own."""
    rows = sqrl.as_table(patients(4000) if table is None else table, source="ward.parquet")
    rules = SavedRules(path, again="stop sqrl review with Ctrl-C and start it again")
    server = ReviewServer(Session(rules, rows, by=by))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
