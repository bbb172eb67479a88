"""Adapts an FT-Transformer for the cardio table under drifts, by rules and by other methods.

    python benchmarks/adapt_cardio.py [--data DIR] [--seeds N ...] [--workers N] [--quick] [-o FILE]

For each seed: a split, a model trained on the train part, 400 rules. Learning rate and epochs of
each method are chosen on validation rows, with their labels, under a drift that the test does not
have; test labels serve for the figures alone (and for the ceiling, which says so). Runs are kept in
the cache folder (`SQRL_CACHE`), and an interrupted benchmark goes on where it was.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

from datasets import data_folder, read_cardio
from drift_data import DRIFTS
from drift_methods import METHODS, Choice, Method
from drift_runs import Place, Setting, fingerprint_of_code, one_thread, run
from drift_scores import score, summarise
from measure import (
    ADAPT_LIBRARIES,
    HERE,
    Json,
    describe_commit,
    describe_machine,
    describe_versions,
)
from sqrl._atomic import write_atomically
from sqrl.tasks._checkpoints import cache_folder

RESULTS = HERE / "results" / "adapt_cardio.json"
SETTINGS = {
    "no drift": Setting(part="test", drift="none"),
    "ap_hi +1 sd": Setting(part="test", drift="ap_hi +1 sd"),
    "ap_hi +1 sd, rules see it too": Setting(part="test", drift="ap_hi +1 sd", rules_see="drifted"),
}
TUNING = Setting(part="valid", drift="ap_hi -1 sd")


def do_job(place: Place, name: str) -> tuple[int, str, Json]:
    """The choice for a method and the figures of it in every setting, for one seed."""
    method = next(method for method in METHODS if method.name == name)
    choice, tried = _tune(place, method) if method.is_tuned else (_defaults(place), [])
    found = {}
    for title, setting in SETTINGS.items():
        made = run(place, setting, method, choice)
        found[title] = score(place.prepared(), setting, made, quick=place.quick) | dict(made.told)
    chosen = {"lr": choice.lr, "epochs": choice.epochs}
    if method.last == "temperature":
        chosen["temperature"] = choice.temperature
    has_choice = method.is_tuned or method.uses_rules
    return place.seed, name, {"chosen": chosen if has_choice else {}, "tried": tried, **found}


def _defaults(place: Place) -> Choice:
    return Choice(epochs=3) if place.quick else Choice()


def _tune(place: Place, method: Method) -> tuple[Choice, list[Json]]:
    """The choice with the best AUC and accuracy, on average, on drifted validation rows."""
    tried: list[tuple[float, Choice]] = []

    def attempt(choice: Choice) -> None:
        made = run(place, TUNING, method, choice)
        found = score(place.prepared(), TUNING, made, quick=place.quick)
        tried.append(((found["auc"] + found["accuracy"]) / 2, choice))

    for choice in method.first(quick=place.quick):
        attempt(choice)
    attempt(method.second(_best(tried)))
    told = [
        {"lr": c.lr, "epochs": c.epochs, "temperature": c.temperature, "score": round(value, 5)}
        for value, c in tried
    ]
    return _best(tried), told


def _best(tried: list[tuple[float, Choice]]) -> Choice:
    """The choice with the highest score, the first of equals."""
    return max(tried, key=lambda one: one[0])[1]


def _jobs(places: list[Place], workers: int) -> Iterator[tuple[int, str, Json]]:
    """The results of all jobs as they come, from processes side by side."""
    names = [method.name for method in METHODS]
    if workers == 1:
        one_thread()
        yield from (do_job(place, name) for place in places for name in names)
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=one_thread)
    with pool:
        # The models first: all that comes after reads them.
        first = [pool.submit(do_job, place, names[0]) for place in places]
        for done in as_completed(first):
            yield done.result()
        rest = [pool.submit(do_job, place, name) for place in places for name in names[1:]]
        for done in as_completed(rest):
            yield done.result()


def measure(places: list[Place], workers: int) -> dict[str, dict[str, Json]]:
    """The results by seed and method; progress goes to stderr."""
    found: dict[str, dict[str, Json]] = {str(place.seed): {} for place in places}
    start, total = time.perf_counter(), len(places) * len(METHODS)
    for number, (seed, name, result) in enumerate(_jobs(places, workers), start=1):
        found[str(seed)][name] = result
        line = f"{number} of {total}: seed {seed}, {name} ({time.perf_counter() - start:.0f} s)"
        print(line, file=sys.stderr, flush=True)
    order = [method.name for method in METHODS]
    return {seed: {name: methods[name] for name in order} for seed, methods in found.items()}


def describe(given: argparse.Namespace, places: list[Place], is_real: bool) -> Json:
    """What is needed to judge and repeat the results."""
    first = places[0].prepared()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine() | {"processes": given.workers, "torch_threads": 1},
        "versions": describe_versions(ADAPT_LIBRARIES),
        "code": {"fingerprint": places[0].code, "earlier": given.earlier or None},
        "seeds": given.seeds,
        "quick": given.quick,
        "data": {"cardio": "real" if is_real else "made"},
        "rows": {part: table.n_rows for part, table in first.parts.items()},
        "rules": len(first.rules),
        "mini_batch": first.size,
        "mini_batch_of_rules": first.size_of_rules,
        "settings": {
            title: {"about": DRIFTS[one.drift], "rules_see": one.rules_see}
            for title, one in SETTINGS.items()
        },
        "tuning": {"rows": TUNING.part, "about": DRIFTS[TUNING.drift]},
        "methods": {
            method.name: {
                "about": method.about,
                "is_tuned": method.is_tuned,
                "rates": list(method.rates) if method.is_tuned else [],
            }
            for method in METHODS
        },
    }


def main() -> None:
    """Parse the command line, measure and write."""
    parser = argparse.ArgumentParser(description="Adapts a model for cardio under drifts.")
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--workers", type=int, default=2, help="processes side by side")
    parser.add_argument(
        "--earlier",
        default="",
        metavar="CODE",
        help="fingerprint of earlier code whose runs without a guard are to be used again; say so",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, under a minute")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.quick:
        given.seeds, given.workers = given.seeds[:1], 1
    with tempfile.TemporaryDirectory() as scratch:
        table = read_cardio(data_folder(given.data), Path(scratch), quick=given.quick, seed=0)
        cache = Path(scratch) if given.quick else cache_folder() / "adapt_cardio"
        common: Json = {"table": table.path, "cache": cache, "code": fingerprint_of_code()}
        common |= {"quick": given.quick, "earlier": given.earlier}
        places = [Place(seed=seed, **common) for seed in given.seeds]
        found = measure(places, given.workers)
        result = describe(given, places, table.is_real)
    result |= {"runs": found, **summarise(found, list(SETTINGS))}
    given.output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(given.output, (json.dumps(result, indent=1) + "\n").encode())
    for one in result["bars"]:
        verdict = "met" if one["met"] else "NOT met"
        print(f"{one['what']}: {one['measured']} {one['unit']} ({verdict})", file=sys.stderr)


if __name__ == "__main__":
    main()
