"""Rules files in JSON, with values, keys, sentences or bytes damaged."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from draw import Draw, as_bytes, as_text

from targets.rules_files import some_rules, use


@cache
def _text(number: int) -> str:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        some_rules(number).save(Path(folder, "r.json"))
        return Path(folder, "r.json").read_text()


def make(draw: Draw) -> dict[str, Any]:
    """The bytes of a file."""
    content = _text(draw.randint(0, 2))
    kind = draw.random()
    if kind < 0.75:
        file = json.loads(content)
        if draw.chance(0.8) and file["rules"]:
            place = draw.randint(0, len(file["rules"]) - 1)
            file["rules"] = [draw.damaged_json(file["rules"][place]), *file["rules"][:2]]
        else:
            file = draw.damaged_json(file)
        content = json.dumps(file)
    elif kind < 0.85:
        file = json.loads(content)
        text = draw.sentence(hole=draw.chance(0.1))
        file["rules"] = [
            {"text": text, "lower": None, "upper": None, "coverage": 0.9, "support": 9}
        ]
        content = json.dumps(file)
    made = content.encode("utf-8", "surrogatepass")
    if kind >= 0.85:
        made = draw.damaged_bytes(made)
    return {"content": as_text(made)}


def run(case: dict[str, Any], folder: Path) -> None:
    """Load it and use what loads."""
    path = folder / "r.json"
    path.write_bytes(as_bytes(case["content"]))
    use(path, folder)
