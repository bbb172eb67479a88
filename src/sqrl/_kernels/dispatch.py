"""Which loops do the work: plain numpy for little of it, compiled ones for much.

Numba takes half a second to import, a kernel a tenth to load from numba's cache, and seconds to be
compiled when that is empty. So each kernel begins with numpy, and goes over to the compiled loops
once what it has done in this process would have paid for them. Both give the same bits, so that
numba may be missing: then numpy does all of the work, and those who wait are told once.
"""

import os
import sys
import threading
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from sqrl._progress import tell
from sqrl.errors import MissingExtraError

VARIABLE = "SQRL_KERNELS"  # "plain" or "compiled", for those who want one of them
FIRST = 5e8  # steps of numpy, each about a nanosecond: what loading numba and a kernel may cost
LATER = 5e7  # what loading a kernel costs where numba is loaded already
ROW_STEPS = 100.0  # of numpy for a row, in most kernels, or more
LOADER = "sqrl loads numba"  # the thread

INSTALL = 'pip install "sqrl-rules[fast]"'
HINT = f"much work, and numba would do it in less time: {INSTALL}"

_steps: dict[str, float] = {}
_ahead = [0.0]  # steps that each kernel in use is said to have before it


def loops(name: str, steps: float) -> Any:
    """The module of loops called `name` that is to do so much work next.

    `steps` is how long the plain loops would take, in nanoseconds; no more than a guess is needed.

    >>> loops("intervals", steps=2 * FIRST).__name__
    'sqrl._kernels.compiled.intervals'
    """
    asked = os.environ.get(VARIABLE)
    kind = asked or ("compiled" if _is_much(name, steps) else "plain")
    if kind == "compiled" and not has_numba():
        if asked:
            what = f"{VARIABLE}=compiled needs numba."
            raise MissingExtraError(what, fix=f"{INSTALL}, or unset {VARIABLE}")
        _tell_once()
        kind = "plain"
    return import_module(f"sqrl._kernels.{kind}.{name}")


def expect(n_rows: int) -> None:
    """Say that each kernel that is used has so many rows before it.

    Who goes through many rows knows that before the first of them. Numba is then loaded beside the
    first of the work, and from there on no kernel begins with numpy.
    """
    steps = ROW_STEPS * n_rows
    if steps > FIRST and not _ahead[0] and has_numba() and not os.environ.get(VARIABLE):
        _ahead[0] = 1.0  # so that it is loaded once
        threading.Thread(target=_load, args=(steps,), name=LOADER, daemon=True).start()


def _load(steps: float) -> None:
    """Load numba, and what it loads with its first kernel."""
    import_module("sqrl._kernels.compiled.keys").fill_keys(np.uint64(0), np.empty(1, np.uint64))
    _ahead[0] = steps


def is_plain(kernel: Any) -> bool:
    """Whether a module of loops is one of numpy: those are not shared out to threads.

    >>> is_plain(loops("intervals", steps=2 * FIRST))
    False
    """
    return str(kernel.__name__).startswith("sqrl._kernels.plain.")


@cache
def has_numba() -> bool:
    """Whether numba is installed; it is not imported to find out."""
    return find_spec("numba") is not None


@cache
def _tell_once() -> None:
    tell(HINT)


def _is_much(name: str, steps: float) -> bool:
    """Whether a kernel's plain work, with what is next, is worth the compiled loops."""
    limit = LATER if "numba" in sys.modules else FIRST
    if _steps.get(name, 0.0) + max(steps, _ahead[0]) > limit:
        return True
    _steps[name] = _steps.get(name, 0.0) + steps
    return False
