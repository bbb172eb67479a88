"""Which loops do the work: plain numpy for little of it, compiled ones for much.

Numba takes half a second to import, a kernel a tenth to load from numba's cache, and seconds to be
compiled when that is empty. So each kernel begins with numpy, and goes over to the compiled loops
once what it has done in this process would have paid for them. Both give the same bits.
"""

import os
import sys
from importlib import import_module
from typing import Any

VARIABLE = "SQRL_KERNELS"  # "plain" or "compiled", for those who want one of them
FIRST = 5e8  # steps of numpy, each about a nanosecond: what loading numba and a kernel may cost
LATER = 5e7  # what loading a kernel costs where numba is loaded already

_steps: dict[str, float] = {}


def loops(name: str, steps: float) -> Any:
    """The module of loops called `name` that is to do so much work next.

    `steps` is how long the plain loops would take, in nanoseconds; no more than a guess is needed.

    >>> loops("intervals", steps=2 * FIRST).__name__
    'sqrl._kernels.compiled.intervals'
    """
    kind = os.environ.get(VARIABLE) or ("compiled" if _is_much(name, steps) else "plain")
    return import_module(f"sqrl._kernels.{kind}.{name}")


def is_plain(kernel: Any) -> bool:
    """Whether a module of loops is one of numpy: those are not shared out to threads.

    >>> is_plain(loops("intervals", steps=2 * FIRST))
    False
    """
    return str(kernel.__name__).startswith("sqrl._kernels.plain.")


def _is_much(name: str, steps: float) -> bool:
    """Whether a kernel's plain work, with what is next, is worth the compiled loops."""
    limit = LATER if "numba" in sys.modules else FIRST
    if _steps.get(name, 0.0) + steps > limit:
        return True
    _steps[name] = _steps.get(name, 0.0) + steps
    return False
