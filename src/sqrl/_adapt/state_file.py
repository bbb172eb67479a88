"""Adapted state as a file: the tensors that differ from the source, and what they belong to."""

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from sqrl._adapt.adapted import Adapted
from sqrl._adapt.model_copy import changeable, copy_model, fingerprint, restore, take
from sqrl._adapt.objective import Objective
from sqrl._adapt.runner import Forward
from sqrl._adapt.trace import Trace
from sqrl._data.write_file import write_atomically
from sqrl._version import __version__
from sqrl.errors import AdaptError

FORMAT = "sqrl-adapted"
VERSION = "1"
MOST_RECORDS = 1000  # of a trace; a long stream's are left out


def save_adapted(adapted: Adapted, path: str | Path) -> None:
    """Write what differs from the source; an old file stays until the new one is whole."""
    now = changeable(adapted.model, adapted.source)
    tensors = {name: now[name].detach().cpu().contiguous() for name in adapted.changed}
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        "sqrl": __version__,
        "trace": _trace_text(adapted.trace),
        "model": fingerprint(_all_tensors(adapted.model), values=False),
        "source": fingerprint({name: adapted.source[name] for name in tensors}),
        "values": fingerprint(tensors),
    }
    write_atomically(Path(path), _in_order(save(tensors, metadata)))


def _in_order(saved: bytes) -> bytes:
    """The file with the keys of its header sorted: safetensors writes metadata in any order.

    The header is JSON of as many bytes as the first eight say, padded with blanks.
    """
    size = int.from_bytes(saved[:8], "little")
    header = json.loads(saved[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + saved[8 + size :]


def load_adapted(
    model: nn.Module,
    path: str | Path,
    *,
    objective: Objective | None = None,
    forward: Forward | None = None,
) -> Adapted:
    """The adapted model that a file and the model it was made from give; nothing is executed.

    `objective` is needed where it wraps the model or finishes its predictions.
    """
    path = Path(path)
    metadata, tensors = _read(path)
    copied = copy_model(model)
    if objective is not None:
        copied = objective.wrap(copied).eval()
    known = _all_tensors(copied)
    if fingerprint(known, values=False) != metadata["model"]:
        raise AdaptError(
            "This was made from a model with other parameters or shapes.",
            where=str(path),
            fix=_fix_shapes(tensors, known),
        )
    strange = [name for name, one in tensors.items() if not _fits(one, known.get(name))]
    if strange:
        raise _damaged(path, f": the model has no place for its {strange[0]!r}")
    if fingerprint({name: known[name] for name in tensors}) != metadata["source"]:
        raise AdaptError(
            "This was made from a model of the same kind with other weights.",
            where=str(path),
            fix="load the weights that were adapted first",
        )
    source = take(copied, tensors)
    restore(copied, tensors)
    trace = _read_trace(metadata["trace"], path)
    return Adapted(copied, source, trace, objective=objective, forward=forward)


def _fits(tensor: Tensor, place: Tensor | None) -> bool:
    return place is not None and (tensor.shape, tensor.dtype) == (place.shape, place.dtype)


def _all_tensors(model: nn.Module) -> dict[str, Tensor]:
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """What a file says and holds, if it is one of ours and whole."""
    if not path.is_file():
        raise AdaptError(
            "There is no such file.", where=str(path), fix="write one with adapted.save(path)"
        )
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            _check_header(metadata, path)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise _damaged(path, f" ({error})") from None
    if fingerprint(tensors) != metadata["values"]:
        raise _damaged(path, ": its numbers are not those that were written")
    return metadata, tensors


def _check_header(metadata: Mapping[str, str], path: Path) -> None:
    if metadata.get("format") != FORMAT:
        raise AdaptError(
            "This safetensors file does not hold an adapted state.",
            where=str(path),
            fix="give a file written with adapted.save(path)",
        )
    if metadata.get("version") != VERSION:
        made_by = metadata.get("sqrl", "another sqrl")
        raise AdaptError(
            f"This file is of version {metadata.get('version')} (written by sqrl {made_by}); sqrl"
            f" {__version__} reads version {VERSION}.",
            where=str(path),
            fix="load it with the sqrl that wrote it, or adapt again",
        )
    if not {"trace", "model", "source", "values"} <= metadata.keys():
        raise _damaged(path, ": its header is not complete")


def _damaged(path: Path, how: str) -> AdaptError:
    return AdaptError(f"The file is damaged{how}.", where=str(path), fix="adapt and save again")


def _fix_shapes(tensors: Mapping[str, Tensor], known: Mapping[str, Tensor]) -> str:
    missing = next((name for name in tensors if name not in known), None)
    if missing is not None:
        return (
            f"give the model that has {missing!r}; where the objective wraps the model, pass"
            " objective= too"
        )
    return "give the model that was adapted"


def _trace_text(trace: Trace) -> str:
    if len(trace) > MOST_RECORDS:
        note = f"The {len(trace):,} records were not saved."
        trace = msgspec.structs.replace(trace, records=(), notes=(*trace.notes, note))
    # Python's own JSON keeps inf, which an excess may be.
    return json.dumps(msgspec.to_builtins(trace))


def _read_trace(text: str, path: Path) -> Trace:
    try:
        return msgspec.convert(json.loads(text), Trace)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f": its trace cannot be read ({error})") from None
