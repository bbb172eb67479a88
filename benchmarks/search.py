"""The paper's tabular search, end to end: from a table to the 200 best rules of each class."""

import tempfile
from pathlib import Path

import numpy as np

from datasets import Cardio, boolean_schema, cardio_features, write_booleans
from measure import Json, Settings, bar, repeat, run_child, run_command, sqrl_command, timing


def measure_search(cardio: Cardio, settings: Settings, scratch: Path) -> Json:
    """Time and memory of the search, of its first run, and of the whole command."""
    true = cardio_features(cardio.columns, np.arange(cardio.n_rows))
    booleans = write_booleans(true, cardio.head, scratch / "free.parquet")
    shipped = _learn(cardio.path, "cardio", settings.repetitions)
    free = _learn(booleans, boolean_schema(len(true)), settings.repetitions)
    command = repeat(lambda: _command(cardio.path, scratch), settings.few)
    first = _first_run(cardio, quick=settings.quick)
    return {
        "cardio": shipped,
        "free": free,
        "command": command,
        "first_run": first,
        "bars": [
            bar("cardio schema, time", shipped["min"], "s", at_most=1.0),
            bar("cardio schema, peak memory", shipped["memory_peak"] / 2**30, "GiB", at_most=1.0),
            bar("52 free booleans, time", free["min"], "s", at_most=1.0),
            bar("52 free booleans, peak memory", free["memory_peak"] / 2**30, "GiB", at_most=1.0),
            bar("`sqrl learn` as a command", command["min"], "s", at_most=5.0),
        ],
    }


def _learn(table: Path, schema: str | Json, repetitions: int) -> Json:
    job = {"table": str(table), "schema": schema, "repetitions": repetitions, "warm": True}
    found = run_child(job)
    return found | timing(found["seconds"])


def _command(path: Path, scratch: Path) -> None:
    output = scratch / "rules.json"
    run_command([*sqrl_command(), "learn", str(path), "--schema", "cardio", "-o", str(output)])


def _first_run(cardio: Cardio, *, quick: bool) -> Json:
    """The first call of learn() ever: every loop is compiled, unless it has to be quick."""
    job = {"table": str(cardio.path), "schema": "cardio", "repetitions": 1, "warm": False}
    with tempfile.TemporaryDirectory() as cache:
        environment = {} if quick else {"NUMBA_CACHE_DIR": cache}
        return timing(run_child(job, environment=environment)["seconds"])
