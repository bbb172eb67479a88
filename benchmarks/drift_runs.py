"""Runs of adaptation whose predictions are kept in files, so that an interrupted benchmark goes on.

A file is found again only by the same code, data, seed and options.
"""

import hashlib
import json
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

import sqrl
from drift_data import Prepared, prepare
from drift_methods import Choice, Method, make_objective
from measure import HERE
from sqrl._atomic import write_atomically
from sqrl.errors import AdaptWarning

CODE = ("drift_data.py", "drift_methods.py", "drift_runs.py", "rule_losses.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a seed's data and files are; `code` is the fingerprint of what computes."""

    table: Path
    cache: Path
    seed: int
    quick: bool
    code: str
    earlier: str = ""  # a fingerprint of code whose runs without a guard are still good

    def prepared(self) -> Prepared:
        """Split, model and rules, made or read once in a process."""
        return _prepared(self.table, self.cache, self.seed, self.quick)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A part of the table under a drift, and whether rules see the columns as they truly are."""

    part: str
    drift: str
    rules_see: str = "true"


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The logits of all rows after adaptation, and what is to be told of it."""

    logits: Tensor
    told: Mapping[str, Any]


@cache
def _prepared(table: Path, folder: Path, seed: int, quick: bool) -> Prepared:
    return prepare(table, seed=seed, quick=quick, cache=folder)


def fingerprint_of_code() -> str:
    """Hex digits that change with the library and with what is run here."""
    package = Path(sqrl.__file__).parent
    digest = hashlib.sha256()
    for path in [*sorted(package.rglob("*.py")), *(HERE / name for name in CODE)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run(place: Place, setting: Setting, method: Method, choice: Choice) -> Run:
    """The run, read from its file if it was made before."""
    kind = "Tent" if method.objective == "CPL" and choice.temperature == 1 else method.objective
    options = asdict(choice) if method.is_tuned or method.uses_rules else {}
    key = {
        "code": place.code,
        "data": place.prepared().parts["train"].fingerprint(),
        "seed": place.seed,
        "part": setting.part,
        "drift": setting.drift,
        # What rules see is nothing to a method that does not ask them.
        "rules see": setting.rules_see if method.uses_rules else "",
        "objective": kind,
        "guard": method.guard,
        "options": options,
    }
    if place.earlier and not method.guard:
        found = _read(*_file(place, kind, key | {"code": place.earlier}))
        if found is not None:
            return Run(found.logits, {**found.told, "code": place.earlier})
    path, text = _file(place, kind, key)
    found = _read(path, text)
    if found is None:
        found = _adapt(place, setting, kind, method.guard, choice)
        path.parent.mkdir(parents=True, exist_ok=True)
        metadata = {"key": text, "told": json.dumps(dict(found.told))}
        write_atomically(path, save({"logits": found.logits}, metadata=metadata))
    return Run(found.logits, {**found.told, "code": place.code})


def _file(place: Place, kind: str, key: Mapping[str, Any]) -> tuple[Path, str]:
    """Where the run of a key is kept, and the key as text."""
    text = json.dumps(key, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    return place.cache / "runs" / f"{kind}-{name}.safetensors", text


def _read(path: Path, key: str) -> Run | None:
    if not path.is_file():
        return None
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        if metadata["key"] != key:
            return None
        return Run(file.get_tensor("logits"), json.loads(metadata["told"]))


def _adapt(place: Place, setting: Setting, kind: str, guard: bool, choice: Choice) -> Run:
    data = place.prepared()
    # Other mini-batches than those of the figures, which are drawn from seeds above a thousand.
    batches = data.batches(
        setting.part, setting.drift, rules_see=setting.rules_see, seed=place.seed
    )
    objective = make_objective(kind, choice, data.rules, data.labels(setting.part))
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AdaptWarning)
        adapted = sqrl.adapt(
            data.model,
            batches,
            objective,
            lr=choice.lr,
            epochs=choice.epochs,
            guard=guard,
            seed=place.seed,
            progress=False,
        )
    seconds = time.perf_counter() - start
    trace = adapted.trace
    told = {
        "seconds": round(seconds, 3),
        "epochs": len(trace),
        "kept": trace.n_accepted,
        "ending": trace.ending,
        "warnings": [str(one.message) for one in caught],
    }
    return Run(adapted.predict(batches).detach().contiguous(), told)


def one_thread() -> None:
    """Let torch work in one thread: two processes side by side do more than one with two."""
    torch.set_num_threads(1)
