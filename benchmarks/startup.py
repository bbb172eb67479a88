"""How long `import sqrl` and `sqrl --help` take, and what they load."""

import json
import sys

from measure import Json, Settings, alternate, bar, run_command, sqrl_command

HEAVY = ("torch", "numba", "pandas", "matplotlib", "scipy")


def measure_startup(settings: Settings) -> Json:
    """Wall times of whole processes; an empty Python is measured beside them."""
    python = [sys.executable, "-c"]
    timed = alternate(
        {
            "python -c pass": lambda: run_command([*python, "pass"]),
            'python -c "import sqrl"': lambda: run_command([*python, "import sqrl"]),
            "sqrl --help": lambda: run_command([*sqrl_command(), "--help"]),
        },
        settings.repetitions,
    )
    ask = f"import json, sys, sqrl; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    loaded = json.loads(run_command([*python, ask]))
    return {
        "timed": timed,
        "looked_for": HEAVY,
        "loaded": loaded,
        "bars": [
            bar("`sqrl --help`", timed["sqrl --help"]["min"], "s", at_most=0.5),
            bar("heavy libraries that `import sqrl` loads", len(loaded), "", at_most=0),
        ],
    }
