"""Histories: folders of which a file is damaged, gone or of another; and monitors."""

import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from draw import Draw, as_bytes, as_text

import sqrl

RULES = sqrl.RuleSet.from_texts(
    ["x <= 1", "mean(x) <= 2 over 8", "x > 1 => y <= 2"],
    coverage=[0.98] * 3,
    support=[1000] * 3,
    evidence=[[1000.0, 20.0], [500.0, 1.0, 0.5], [500.0, 3.0]],
)


def _rows(shift: float) -> dict[str, list[float]]:
    return {"x": [shift + i % 3 / 2 for i in range(60)], "y": [float(i % 4) for i in range(60)]}


@cache
def _whole() -> Path:
    """A history of a few windows, and a monitor, made once."""
    folder = Path(mkdtemp(prefix="sqrl-fuzz-history-"))
    history = sqrl.History(folder / "kept")
    monitor = sqrl.Monitor(RULES)
    for day in range(1, 5):
        rows = _rows(0.3 * day)
        history.add(sqrl.check(RULES, rows), at=f"2026-01-0{day}")
        monitor.update(rows)
    for alarm in history.alarms()[:1]:
        history.accept(alarm.at)
    monitor.save(folder / "monitor.json")
    return folder


def make(draw: Draw) -> dict[str, Any]:
    """What becomes of one of the files."""
    files = sorted(file for file in _whole().rglob("*") if file.is_file())
    file = draw.one(files)
    content = file.read_bytes()
    kind = draw.random()
    if file.suffix == ".json" and kind < 0.6:
        made = json.dumps(draw.damaged_json(json.loads(content))).encode("utf-8", "surrogatepass")
    elif kind < 0.8:
        made = draw.damaged_bytes(content)
    else:
        made = draw.one(files).read_bytes()
    name = str(file.relative_to(_whole()))
    return {"name": name, "content": None if draw.chance(0.05) else as_text(made)}


def run(case: dict[str, Any], folder: Path) -> None:
    """Read what is there, add a window and go on."""
    shutil.copytree(_whole(), folder / "all")
    path = folder / "all" / case["name"]
    path.parent.mkdir(exist_ok=True, parents=True)
    path.unlink(missing_ok=True)
    if case["content"] is not None:
        path.write_bytes(as_bytes(case["content"]))
    if path.name == "monitor.json":
        monitor = sqrl.Monitor.load(path, RULES)
        monitor.update(_rows(0.5))
        monitor.save(path)
        return
    history = sqrl.History(folder / "all" / "kept")
    history.add(sqrl.check(RULES, _rows(0.2)), at="2026-01-05")
    history.records()
    str(history.timeline())
