"""How every loop here is compiled, and the bit operations that Python has no word for."""

import contextlib
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numba  # noqa: TID253  this package is itself imported only when a kernel is called
from numba import types  # noqa: TID253
from numba.core import event  # noqa: TID253
from numba.extending import intrinsic  # noqa: TID253

from sqrl._progress import tell

F = TypeVar("F", bound=Callable[..., Any])
STAMP = "sqrl-kernels.sha256"  # beside what numba keeps: of which sources that is


class _Compiling(event.Listener):  # type: ignore[misc]
    """Tells those who wait, once, that a kernel of ours is not in numba's cache."""

    def __init__(self) -> None:
        self._is_told = False

    def on_start(self, event: Any) -> None:
        """Called when numba begins to compile a function, anyone's."""
        module = event.data["dispatcher"].py_func.__module__
        if not self._is_told and module.startswith("sqrl."):
            self._is_told = True
            tell("compiling, once")

    def on_end(self, event: Any) -> None:
        """Called when it is done."""


event.register("numba:compile", _Compiling())


def kernel(function: F) -> F:
    """`function`, compiled on its first call, kept on disk, and free of the interpreter lock."""
    # error_model: 0 / 0 is nan, as in numpy, so that divisions vectorise
    made = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    forget_older(Path(made.stats.cache_path))
    return cast(F, made)


@cache
def forget_older(folder: Path) -> None:
    """Delete what numba keeps in a folder of other sources than these.

    Numba notices a change of the file that holds a function, not of the files that it calls into,
    and fails to read what was kept when an argument's class had another name.
    """
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    digest = sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    stamp = folder / STAMP
    with contextlib.suppress(OSError):  # where nothing can be written, numba keeps nothing either
        if not stamp.exists() or stamp.read_text() != digest:
            for kept in (*folder.glob("*.nbi"), *folder.glob("*.nbc")):
                kept.unlink(missing_ok=True)
            folder.mkdir(parents=True, exist_ok=True)
            stamp.write_text(digest)


def inlined(function: F) -> F:
    """`function`, compiled into each kernel that calls it.

    Arrays handed to a function that stays apart are counted in and out again, atomically, which
    costs more than many of the loops.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True)(function))


@intrinsic  # type: ignore[untyped-decorator]
def popcount(_typing: Any, _word: Any) -> Any:
    """How many bits of a uint64 are set, as an int64: LLVM's own operation, which vectorises."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), emit


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(_typing: Any, _word: Any) -> Any:
    """The position of the lowest set bit of a uint64 that is not 0, as an int64."""

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        is_zero_undefined = context.get_constant(types.boolean, True)
        return builder.cttz(arguments[0], is_zero_undefined)

    return types.int64(types.uint64), emit
