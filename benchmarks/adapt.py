"""Measures the rule loss: what it adds to a step, against a loop over rules, memory, growth.

    python benchmarks/adapt.py [--data DIR] [--quick] [-o FILE]

400 logic rules learned from the cardio table on mini-batches of 4,096 patients, with an
FT-Transformer as its authors publish it (3 blocks) and a small one; and the 252 rules of the
detection schema on 1,000 boxes. The data is looked for in `--data`, `$SQRL_DATA` or `./data`; where
it is absent, data of the same shape is made up, and the JSON says so.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

import sqrl
from boxes import read_boxes
from datasets import data_folder
from measure import (
    ADAPT_LIBRARIES,
    HERE,
    Json,
    Settings,
    alternate,
    bar,
    describe_commit,
    describe_machine,
    describe_versions,
    settings,
    timing,
)
from rule_loop import loop_over_rules, rounding_of_loss
from rule_losses import Timed, cardio_loss, cardio_rules, detection_loss, patients
from sqrl.commands import write_atomically
from sqrl_paper.cardio.ft_transformer import Size, make_ft_transformer

RESULTS = HERE / "results" / "adapt.json"
CARDINALITIES = (2, 3, 3, 2, 2, 2)
PUBLISHED = Size(n_blocks=3, width=192, n_heads=8)
MOST_ADDED, LEAST_FASTER = 3.0, 100.0


class Sections:
    """What is measured, on the data of one folder."""

    def __init__(self, folder: Path, scratch: Path, chosen: Settings) -> None:
        self.folder, self.scratch, self.chosen = folder, scratch, chosen
        self.n_rows = 512 if chosen.quick else 4096
        self.n_rules = 40 if chosen.quick else 400

    def _cardio(self, *, rows: int | None = None, n_rules: int | None = None) -> Timed:
        return cardio_loss(
            self.folder,
            self.scratch,
            rows=rows or self.n_rows,
            n_rules=n_rules or self.n_rules,
            quick=self.chosen.quick,
            seed=self.chosen.seed,
        )

    def step(self) -> Json:
        """A forward and backward step of two models with and without the loss, and the loss."""
        timed = self._cardio()
        sizes = {"published, 3 blocks": PUBLISHED, "of the tasks, 2 blocks": Size()}
        if self.chosen.quick:
            sizes = {"tiny": Size(n_blocks=1, width=16, n_heads=2)}
        found, bars = {}, []
        for name, size in sizes.items():
            model = _norms_only(make_ft_transformer(5, CARDINALITIES, 2, size=size))
            times = self._steps(model, timed)
            whole, alone = (times[key]["seconds"] for key in ("step in two parts", "loss in it"))
            shares = [100 * loss / (step - loss) for step, loss in zip(whole, alone, strict=True)]
            least = times["step with rules"]["min"] / times["step without rules"]["min"]
            added = median(shares)
            found[name] = {
                "blocks": size.n_blocks,
                "width": size.width,
                "times": times,
                "added_percent": added,
                "difference_percent": 100 * (least - 1),
            }
            what = f"loss of {len(timed.rules)} rules beside a step of the FT-Transformer ({name})"
            bars.append(bar(what, added, "%", at_most=MOST_ADDED))
        return {"rules": len(timed.rules), "rows": self.n_rows, "models": found, "bars": bars}

    def _steps(self, model: nn.Module, timed: Timed) -> dict[str, Json]:
        generator = torch.Generator().manual_seed(self.chosen.seed)
        numbers = torch.randn(self.n_rows, 5, generator=generator)
        categories = torch.zeros(self.n_rows, len(CARDINALITIES), dtype=torch.int64)
        loss = sqrl.RuleLoss(timed.rules, patients)
        batch = sqrl.Batch((numbers, categories), timed.columns)

        def plain() -> None:
            model(numbers, categories).square().mean().backward()

        def with_rules() -> None:
            loss(batch, model(numbers, categories)).backward()

        alone: list[float] = []

        def in_two_parts() -> None:
            """The same step, with a clock around the loss: caches are as the model leaves them."""
            out = model(numbers, categories)
            logits = out.detach().requires_grad_()
            start = time.perf_counter()
            loss(batch, logits).backward()
            alone.append(time.perf_counter() - start)
            out.backward(logits.grad)

        works = {
            "step without rules": plain,
            "step with rules": with_rules,
            "step in two parts": in_two_parts,
        }
        for work in works.values():
            work()
        alone.clear()
        times = alternate(works, self.chosen.few + 2)
        return times | {"loss in it": timing(alone)}

    def loop(self) -> Json:
        """The same loss from a loop over rules with data-frame masks."""
        timed = self._cardio()
        forms = [timed.rules.form(index) for index in range(len(timed.rules))]
        frame = pd.DataFrame({name: values.numpy() for name, values in timed.columns.items()})

        def loop(of: Timed = timed) -> float:
            logits = of.logits.detach().requires_grad_()
            value = loop_over_rules(forms, frame, logits.softmax(-1))
            value.backward()  # type: ignore[no-untyped-call]
            return float(value.detach())

        # Both add up in an order of their own; in doubles that leaves room for no other error.
        exact = replace(timed, logits=timed.logits.double())
        ours, theirs = exact.run(), loop(exact)
        most = rounding_of_loss(forms, self.n_rows, np.finfo(np.float64).eps)
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=most)
        # Ten of ours in a row: a single one is over before a noisy machine has had its say.
        # Often, for whatever else runs slows the short work down by more than the long.
        repetitions = 3 * self.chosen.few + 6
        ten = alternate(
            {"sqrl": lambda: [timed.run() for _ in range(10)], "loop": loop}, repetitions
        )
        times = ten | {"sqrl": _divided(ten["sqrl"], 10)}
        ratio = times["loop"]["min"] / times["sqrl"]["min"]
        return {
            "rules": len(timed.rules),
            "rows": self.n_rows,
            "loss": {"sqrl": ours, "loop": theirs},
            "times": times,
            "ratio": ratio,
            "bars": [bar("times as fast as a loop over rules", ratio, "x", at_least=LEAST_FASTER)],
        }

    def memory(self) -> Json:
        """Bytes of tensors that one loss holds at its peak, with its backward pass."""
        cardio, boxes = ((1024,), (100,)) if self.chosen.quick else ((4096, 65_536), (1000, 16_000))
        losses = [("logic rules", self._cardio(rows=n)) for n in cardio]
        losses += [("detection rules", self._detection(n)) for n in boxes]
        return {
            "runs": [
                {
                    "what": what,
                    "rules": len(timed.rules),
                    "rows": len(timed.logits),
                    "measured": peak_bytes(timed.run),
                    "stated": timed.stated_bytes(),
                }
                for what, timed in losses
            ]
        }

    def growth(self) -> Json:
        """How the time grows with rules and with rows, forward and backward."""
        rules = (20, 40) if self.chosen.quick else (100, 400, 1600)
        rows = (256, 512) if self.chosen.quick else (1024, 4096, 16_384)
        losses = {f"rules {n}": self._cardio(n_rules=n) for n in rules}
        losses |= {f"rows {n}": self._cardio(rows=n) for n in rows}
        works = {name: timed.run for name, timed in losses.items()}
        for work in works.values():
            work()
        times = alternate(works, self.chosen.repetitions)
        runs = [
            {"rules": len(timed.rules), "rows": len(timed.logits), "time": times[name]}
            for name, timed in losses.items()
        ]
        return {"runs": runs}

    def _detection(self, rows: int) -> Timed:
        return detection_loss(self.folder, rows, seed=self.chosen.seed)

    def detection(self) -> Json:
        """252 rules about single boxes, each in four buckets, with soft conditions on the class."""
        n_boxes = (100,) if self.chosen.quick else (1000, 4000)
        losses = {n: self._detection(n) for n in n_boxes}
        for timed in losses.values():
            timed.run()
        times = alternate({str(n): t.run for n, t in losses.items()}, self.chosen.repetitions)
        return {
            "rules": len(losses[n_boxes[0]].rules),
            "runs": [{"boxes": n, "time": times[str(n)]} for n in n_boxes],
        }


def _norms_only(model: nn.Module) -> nn.Module:
    """The model as adaptation has it: gradients for LayerNorm parameters and nothing else."""
    model.eval().requires_grad_(False)
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.requires_grad_(True)
    return model


def _divided(timing: Json, by: int) -> Json:
    seconds = [value / by for value in timing["seconds"]]
    return {"seconds": seconds, "min": timing["min"] / by, "median": timing["median"] / by}


def peak_bytes(work: Callable[[], object]) -> int:
    """The most bytes that torch's allocator gave out at once beyond those held before the work."""
    work()  # whatever is compiled or kept for next time
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        work()
    assert found.profiler is not None
    assert found.profiler.kineto_results is not None
    events = [one for one in found.profiler.kineto_results.events() if one.name() == "[memory]"]
    events.sort(key=lambda one: one.start_ns())
    return int(np.cumsum([0, *(one.nbytes() for one in events)]).max())


def measure(folder: Path, chosen: Settings, scratch: Path) -> Json:
    """All sections, with what is needed to judge and repeat them."""
    _, _, is_real = cardio_rules(folder, scratch, n_rules=20, quick=True, seed=chosen.seed)
    _, boxes_are_real = read_boxes(folder, seed=chosen.seed)
    made: Json = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine() | {"torch_threads": torch.get_num_threads()},
        "versions": describe_versions(ADAPT_LIBRARIES),
        "seed": chosen.seed,
        "quick": chosen.quick,
        "data": {
            "cardio": "real" if is_real else "made",
            "boxes": "real" if boxes_are_real else "made",
        },
        "sections": {},
    }
    sections = Sections(folder, scratch, chosen)
    for name in ("step", "loop", "memory", "growth", "detection"):
        start, load = time.perf_counter(), round(os.getloadavg()[0], 2)
        made["sections"][name] = getattr(sections, name)() | {"load_before": load}
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return made


def main() -> None:
    """Parse the command line, measure and write."""
    parser = argparse.ArgumentParser(description="Measures the rule loss.")
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="small sizes, under a minute")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)  # two wait for each other wherever the machine does something else
    with tempfile.TemporaryDirectory() as scratch:
        result = measure(data_folder(given.data), settings(quick=given.quick), Path(scratch))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(given.output, (json.dumps(result, indent=1) + "\n").encode())
    for section in result["sections"].values():
        for one in section.get("bars", []):
            verdict = "met" if one["met"] else "NOT met"
            print(f"{one['what']}: {one['measured']} {one['unit']} ({verdict})", file=sys.stderr)


if __name__ == "__main__":
    main()
