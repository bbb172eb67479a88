"""How time and memory grow with features, literals, rows and number of mini-batches."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from datasets import ROWS, ROWS_QUICK, Cardio, boolean_schema, made_features, write_booleans
from measure import Json, Settings, bar, run_child, timing
from sqrl import load_schema

FEATURES = 52
STEPS: dict[str, tuple[int, ...]] = {
    "features": (13, 26, 52, 104),
    "literals": (1, 2, 3, 4),
    "over": (256, 1024, 4096, 8192),
    "train": (17, 67, 268, 1072),
}
STEPS_QUICK: dict[str, tuple[int, ...]] = {
    "features": (6, 12),
    "literals": (2,),
    "over": (256,),
    "train": (34,),
}


def measure_growth(cardio: Cardio, settings: Settings, scratch: Path) -> Json:
    """One thing at a time varies from 52 features, 3 literals, 67 mini-batches of 4,096 rows."""
    n_rows = ROWS_QUICK if settings.quick else ROWS
    steps = STEPS_QUICK if settings.quick else STEPS
    start = {"features": 12 if settings.quick else FEATURES, "literals": 3, "over": 4096}
    curves: dict[str, list[Json]] = {}
    for name, values in steps.items():
        curves[name] = []
        for value in values:
            options: dict[str, Any] = {**start, "train": 67, name: value}
            # as many held-out mini-batches for each of the train rows as in the paper
            options["valid"] = max(1, round(options["train"] * 22 / 67))
            n_features = options.pop("features")
            table = _made_table(n_features, n_rows, settings.seed, scratch)
            schema = boolean_schema(n_features, **options)
            curves[name].append({"value": value} | _learn(table, schema, settings.few))
    literals = 2 if settings.quick else 4
    longest = _learn(cardio.path, _longer_cardio(literals, scratch), 1)
    return {
        "rows": n_rows,
        "start": start | {"train": 67},
        "curves": curves,
        "longest": {"literals": literals} | longest,
        "bars": [
            bar(
                f"{literals} literals on cardio, peak memory as a share of what was stated",
                longest["memory_above"] / longest["memory_stated"],
                "",
                at_most=1.0,
            )
        ],
    }


def _made_table(n_features: int, n_rows: int, seed: int, scratch: Path) -> Path:
    path = scratch / f"made_{n_features}.parquet"
    return path if path.exists() else write_booleans(*made_features(n_features, n_rows, seed), path)


def _longer_cardio(literals: int, scratch: Path) -> str:
    """A file with the cardio schema, its bodies longer or shorter."""
    schema = load_schema("cardio")
    rules = tuple(rule.replace("L{1..3}", f"L{{1..{literals}}}") for rule in schema.sentences)
    path = scratch / "cardio.yaml"
    replace(schema, rules=rules).save(path)
    return str(path)


def _learn(table: Path, schema: Json | str, repetitions: int) -> Json:
    job = {"table": str(table), "schema": schema, "repetitions": repetitions, "warm": True}
    found = run_child(job)
    return found | timing(found["seconds"])
