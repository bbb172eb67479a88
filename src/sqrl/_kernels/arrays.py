"""The array types that the kernels take and give."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Array = NDArray[Any]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Float32s = NDArray[np.float32]
Int16s = NDArray[np.int16]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Ints = Int64s  # outside the kernels: rows, counts, places
Uint32s = NDArray[np.uint32]
Words64 = NDArray[np.uint64]


def frozen(values: ArrayLike, dtype: DTypeLike) -> Array:
    """The values as a contiguous array that cannot be written to, copied only if need be.

    Numba compiles a kernel anew for each kind of array; this leaves one kind.

    >>> frozen([1, 2], np.int32).flags.writeable
    False
    """
    array = np.ascontiguousarray(values, dtype).view()
    array.flags.writeable = False
    return array


def distinct(values: Array) -> Array:
    """The values that occur, sorted, each once: as np.unique, which would import numpy.ma."""
    ordered = np.sort(values, axis=None)
    return np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])
