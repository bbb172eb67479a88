"""What another tool says of batches: run by the interpreter of that tool's own environment.

    python benchmarks/power_others.py TOOL

Imports nothing of this project. Each line that it reads is a folder with `job.json`, which names
references and batches, as Parquet. It writes `decisions.jsonl` there, a line for each batch, and
says when it is done. Every tool decides as it does by default.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Frame = Any  # pandas has no types here
Json = dict[str, Any]
Judge = Callable[[Frame], dict[str, Json]]  # by the name that a decision has in the results
MOST_WORDS = 1000  # distinct values, above which a column of text is no category


def alarm(first: list[str], *, raised: bool | None = None) -> Json:
    """A decision: whether there is an alarm, the column named first, and how many are named."""
    is_raised = bool(first) if raised is None else raised
    return {"raised": is_raised, "first": first[:1], "n_findings": len(first)}


def evidently(reference: Frame) -> Judge:
    """The preset for data drift: an alarm where half of the columns drifted, or where any did."""
    from evidently import Report
    from evidently.metrics.column_statistics import ValueDriftCalculation
    from evidently.presets import DataDriftPreset

    # Nobody looks at the plots, which take longer than the tests; what is decided stays the same.
    DataDriftPreset.render = lambda *_, **__: []
    ValueDriftCalculation._render = lambda *_, **__: []

    def judge(batch: Frame) -> dict[str, Json]:
        metrics = Report([DataDriftPreset()]).run(batch, reference).dict()["metrics"]
        counted, *columns = (metric["value"] for metric in metrics)
        settings = [metric["config"] for metric in metrics[1:]]
        excess = {}
        for one, value in zip(settings, columns, strict=True):
            is_p_value = "p_value" in one["method"]
            ratio = (
                one["threshold"] / max(value, 1e-300) if is_p_value else value / one["threshold"]
            )
            excess[one["column"]] = float(ratio)
        first = sorted(excess, key=lambda name: -excess[name])[: int(counted["count"])]
        share = metrics[0]["config"]["drift_share"]
        return {
            "Evidently": alarm(first, raised=counted["share"] >= share),
            "Evidently, any column": alarm(first),
        }

    return judge


def alibi_detect(reference: Frame) -> Judge:
    """TabularDrift: a test for each column at 5 %, Bonferroni; words are coded as they come."""
    from alibi_detect.cd import TabularDrift

    names = [
        name
        for name in reference
        if pd.api.types.is_numeric_dtype(reference[name]) or reference[name].nunique() <= MOST_WORDS
    ]
    words = {name for name in names if not pd.api.types.is_numeric_dtype(reference[name])}
    codes: dict[str, float] = {}

    def numbers(rows: Frame) -> Frame:
        coded = {
            name: [codes.setdefault(str(value), float(len(codes))) for value in rows[name]]
            if name in words
            else pd.to_numeric(rows[name]).astype(float)
            for name in names
        }
        return pd.DataFrame(coded)[names].to_numpy(np.float64)

    places = {place: None for place, name in enumerate(names) if name in words}
    few = {
        place: None
        for place, name in enumerate(names)
        if name not in words and reference[name].nunique() <= 20
    }
    detector = TabularDrift(
        numbers(reference), p_val=0.05, categories_per_feature=places | few or None
    )

    def judge(batch: Frame) -> dict[str, Json]:
        said = detector.predict(numbers(batch))["data"]
        p_values = dict(zip(names, said["p_val"], strict=True))
        below = [name for name in names if p_values[name] < said["threshold"]]
        first = sorted(below, key=lambda name: p_values[name])
        return {"alibi-detect": alarm(first, raised=bool(said["is_drift"]))}

    return judge


def tfdv(reference: Frame) -> Judge:
    """TensorFlow Data Validation: statistics of the batch against the inferred schema."""
    import tensorflow_data_validation as validation

    schema = validation.infer_schema(validation.generate_statistics_from_dataframe(reference))

    def judge(batch: Frame) -> dict[str, Json]:
        statistics = validation.generate_statistics_from_dataframe(batch)
        return {
            "TFDV": alarm(sorted(validation.validate_statistics(statistics, schema).anomaly_info))
        }

    return judge


TOOLS: dict[str, tuple[Callable[[Frame], Judge], str, tuple[str, ...]]] = {
    "evidently": (evidently, "evidently", ("Evidently", "Evidently, any column")),
    "alibi-detect": (alibi_detect, "alibi-detect", ("alibi-detect",)),
    "tfdv": (tfdv, "tensorflow-data-validation", ("TFDV",)),
}


def main() -> None:
    """Import the tool once, then answer for one folder after the other."""
    warnings.filterwarnings("ignore")
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    answers, sys.stdout = sys.stdout, sys.stderr  # tools may print
    for line in sys.stdin:
        _decide(Path(line.strip()), sys.argv[1])
        print("done", file=answers, flush=True)


def _decide(folder: Path, tool: str) -> None:
    """Learn from each reference when it is first needed, decide, write; stop at the time limit."""
    learn, package, names = TOOLS[tool]
    job = json.loads((folder / "job.json").read_text())
    judges: dict[str, Judge] = {}
    lines: list[Json] = [{"package": package, "version": version(package)}]
    started = time.monotonic()
    for one in job["batches"]:
        if time.monotonic() - started > (job["limit"] or float("inf")):
            break
        reference = one["reference"]
        if reference not in judges:
            judges[reference] = learn(pd.read_parquet(folder / reference))
        rows = pd.read_parquet(folder / one["path"])
        start = time.perf_counter()
        try:
            alarms = judges[reference](rows)
        except Exception as error:  # a tool that refuses a batch has caught the fault
            alarms = {name: alarm([], raised=True) | {"error": repr(error)} for name in names}
        seconds = time.perf_counter() - start
        lines.append({"id": one["id"], "seconds": seconds, "alarms": alarms})
    (folder / "decisions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
