"""How well scores of rows find planted faults: sqrl beside ECOD, isolation forest and HBOS.

    python benchmarks/power_rows.py [--quick] [-o results.json]

Each table is halved. A tool learns from one half; in batches of the other 2 % of the rows get a
fault of one kind, and the tool gives every row a score. Average precision: 1 where all faulty rows
come first, about 0.02 where the score knows nothing. The others need numbers: medians stand for
missing ones, with a column that says so, and each value of a category is a column, as is usual.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from datasets import data_folder
from measure import describe_run
from power_faults import Fault, faults
from power_planting import MANY, Clean, Frame
from power_tables import Source, tables

SIZE, SHARE = 2000, 0.02
RELATIONS = (
    "numbers swapped",
    "column shuffled",
    "categories swapped",
    "dependency broken",
    "labels flipped",
)
VALUES = (
    "missing in a number",
    "sentinel -999",
    "sentinel 0",
    "unit x10",
    "unit x1000",
    "unit x0.45",
    "sign flip",
    "outliers",
    "column frozen",
    "missing in a category",
    "typos",
    "other case",
    "trailing blank",
    "new category",
    "dates off by a year",
)
Json = dict[str, Any]
Scores = np.ndarray
Scorer = Callable[[Frame], Scores]  # of each row: the higher the worse


def sqrl_rows(reference: Frame, label: str | None) -> Scorer:
    """`sqrl learn` and `found.rows()` without any option."""
    import sqrl

    del label
    rules = sqrl.learn(reference)
    return lambda batch: np.asarray(sqrl.check(rules, batch).row_scores())


def sqrl_label_rows(reference: Frame, label: str | None) -> Scorer:
    """`sqrl learn --label` and `found.rows()`."""
    import sqrl

    rules = sqrl.learn(reference, label=label)
    return lambda batch: np.asarray(sqrl.check(rules, batch).row_scores())


def _pyod(name: str) -> Callable[[Frame, str | None], Scorer]:
    def fit(reference: Frame, label: str | None) -> Scorer:
        del label
        from importlib import import_module

        module, kind = {
            "ECOD": ("ecod", "ECOD"),
            "isolation forest": ("iforest", "IForest"),
            "HBOS": ("hbos", "HBOS"),
        }[name]
        made = getattr(import_module(f"pyod.models.{module}"), kind)
        model = made(random_state=0) if kind == "IForest" else made()
        encode = _encoder(reference)
        model.fit(encode(reference))
        return lambda batch: np.asarray(model.decision_function(encode(batch)))

    return fit


def _encoder(reference: Frame) -> Callable[[Frame], np.ndarray]:
    """Numbers as they are, categories with few values as a column for each."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    numbers = [name for name in reference if is_numeric_dtype(reference[name])]
    words = [
        name for name in reference if name not in numbers and reference[name].nunique() <= MANY
    ]

    def typed(frame: Frame) -> Frame:
        plain = {name: frame[name].astype(float) for name in numbers}
        return pd.DataFrame(plain | {name: frame[name].fillna("?").astype(str) for name in words})

    coded = make_column_transformer(
        (SimpleImputer(strategy="median", add_indicator=True), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
    ).fit(typed(reference))
    return lambda frame: np.asarray(coded.transform(typed(frame)))


TOOLS: Mapping[str, Callable[[Frame, str | None], Scorer]] = {
    "sqrl": sqrl_rows,
    "sqrl --label": sqrl_label_rows,
    **{name: _pyod(name) for name in ("ECOD", "isolation forest", "HBOS")},
}


def main() -> None:
    arguments = _parse()
    warnings.filterwarnings("ignore")
    cases = [case for source in _chosen(arguments) for case in _measure(source, arguments)]
    names = ("sqrl-rules", "numpy", "scikit-learn", "pyod")
    result = {
        **describe_run(names, arguments.seed),
        "quick": arguments.quick,
        "n_rows": SIZE,
        "share": SHARE,
        "summary": summary(cases),
        "cases": cases,
    }
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    print("\n".join(lines(cases)))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few batches")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--tools", nargs="+", default=list(TOOLS))
    parser.add_argument("--kinds", nargs="+", default=[*VALUES, *RELATIONS])
    parser.add_argument("--repeats", type=int, default=4, help="batches a fault and table")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.repeats = 1
    return arguments


def _chosen(arguments: argparse.Namespace) -> Iterator[Source]:
    for source in tables(data_folder(arguments.data), seed=arguments.seed):
        if arguments.tables is None or source.name in arguments.tables:
            yield source


def _measure(source: Source, arguments: argparse.Namespace) -> Iterator[Json]:
    """Every batch of a table, and the average precision of each tool."""
    rng = np.random.default_rng(arguments.seed)
    frame = source.frame.iloc[rng.permutation(len(source.frame))].reset_index(drop=True)
    half = len(frame) // 2
    reference, others = frame[:half], frame[half:].reset_index(drop=True)
    clean, made = Clean(reference, source.label), {}
    for name in arguments.tools:
        if name == "sqrl --label" and source.label is None:
            continue
        start = time.perf_counter()
        made[name] = TOOLS[name](reference, source.label)
        print(f"{source.name}: {name} in {time.perf_counter() - start:.1f} s", file=sys.stderr)
    for kind in arguments.kinds:
        fault = next(one for one in faults() if one.kind == kind)
        for repeat in range(arguments.repeats):
            case = _case(fault, others, clean, made, (arguments.seed, repeat))
            if case is not None:
                yield {"table": source.name, "kind": kind, **case}


def _case(
    fault: Fault,
    others: Frame,
    clean: Clean,
    made: Mapping[str, Scorer],
    seed: tuple[int, int],
) -> Json | None:
    from sklearn.metrics import average_precision_score

    words = [ord(letter) for letter in fault.kind]
    rng = np.random.default_rng([*seed, len(others), *words])
    rows = rng.permutation(len(others))[:SIZE]
    batch = others.iloc[rows].reset_index(drop=True)
    planted = fault.plant(batch, clean, rng, SHARE)
    if planted is None:
        return None
    faulty = is_changed(batch, planted.batch)
    if not faulty.any():
        return None
    precision = {
        name: float(average_precision_score(faulty, score(planted.batch)))
        for name, score in made.items()
    }
    return {"n_faulty": int(faulty.sum()), "columns": list(planted.columns), "precision": precision}


def is_changed(before: Frame, after: Frame) -> np.ndarray:
    """The rows of which a value is another one than before."""
    changed = np.zeros(len(before), bool)
    for name in before:
        one, other = before[name].astype(object), after[name].astype(object)
        same = (one == other) | (one.isna() & other.isna())
        changed |= ~same.fillna(False).to_numpy(bool)
    return changed


def summary(cases: list[Json]) -> dict[str, dict[str, Any]]:
    """The mean average precision of each tool: by kind, over kinds, and over relations."""
    flat = pd.DataFrame(
        [{"kind": case["kind"], "table": case["table"], **case["precision"]} for case in cases]
    )
    tools = [name for name in TOOLS if name in flat]
    by_kind = flat.groupby("kind")[tools].mean()
    related = by_kind[by_kind.index.isin(RELATIONS)]
    return {
        "by_kind": {kind: dict(row) for kind, row in by_kind.round(4).iterrows()},
        "all kinds": dict(by_kind.mean().round(4)),
        "relations": dict(related.mean().round(4)),
        "by_table": {
            table: dict(rows.groupby("kind")[tools].mean().mean().round(4))
            for table, rows in flat.groupby("table")
        },
    }


def lines(cases: list[Json]) -> Iterator[str]:
    """The means as a table."""
    found = summary(cases)
    tools = list(found["all kinds"])
    yield f"{'':24}" + "".join(f"{name:>18}" for name in tools)
    rows = {**found["by_kind"], **found["by_table"]}
    rows |= {name: found[name] for name in ("all kinds", "relations")}
    for kind, row in rows.items():
        yield f"{kind:24}" + "".join(f"{row[name]:18.3f}" for name in tools)


if __name__ == "__main__":
    main()
