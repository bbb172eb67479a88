"""A state as bytes and back, for engines that carry rows of bytes."""

import io
import struct

import numpy as np

from sqrl._scan.job import State


def pack(state: State) -> bytes:
    """The state as bytes: for each array its name and numpy's own file format, never a pickle.

    >>> unpack(pack({"counts": np.array([3, 4])}))
    {'counts': array([3, 4])}
    """
    out = io.BytesIO()
    for name, array in state.items():
        encoded = name.encode()
        out.write(struct.pack("<I", len(encoded)))
        out.write(encoded)
        np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
    return out.getvalue()


def unpack(packed: bytes) -> State:
    """The state that `pack` made the bytes of, bit for bit, in arrays that can be changed."""
    source = io.BytesIO(packed)
    state: State = {}
    while length := source.read(4):
        name = source.read(*struct.unpack("<I", length)).decode()
        state[name] = np.lib.format.read_array(source, allow_pickle=False)
    return state
