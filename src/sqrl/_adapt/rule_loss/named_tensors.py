"""Named: the tensors that rules speak of, as a user's function names them, checked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.batches import Categories, columns_of
from sqrl._language.names import sequence_of
from sqrl._language.tree import Node, Number
from sqrl._rows.rows import constant_of
from sqrl.errors import AdaptError, UnknownNameError, nearest

TOLERANCE = 0.02  # of probabilities that should add up to one, in half precision too
HOW = "return it from names=lambda batch, out: {...}"


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """Numbers and categories by name, and the probabilities of the label's classes.

    Shapes: numbers and codes (n,), probabilities (n, n_classes). Numbers without a gradient are
    in double precision, so that a value on a bound is on it here as everywhere else; half precision
    is made single.
    """

    n: int
    device: torch.device
    numbers: Mapping[str, Tensor]
    categories: Mapping[str, Categories]
    label: str | None
    probabilities: Tensor | None

    def with_gradient(self) -> set[str]:
        """The names whose values a gradient can change."""
        found = {name for name, values in self.numbers.items() if values.requires_grad}
        if self.probabilities is not None and self.probabilities.requires_grad:
            assert self.label is not None
            found.add(self.label)
        return found


def read_named(values: Any, needed: Iterable[str]) -> Named:
    """What rules need of the values that a user's function gave, by name."""
    if not isinstance(values, Mapping):
        raise AdaptError(
            f"The names function gave a {type(values).__name__}, not a dict of tensors.",
            fix='write names=lambda batch, out: {"label": out.softmax(-1), **batch.columns}',
        )
    found = {name: _read(name, _look_up(name, values)) for name in sorted(needed)}
    columns = {name: _codes(value) for name, value in found.items()}
    labels = [name for name, values in columns.items() if values.ndim == 2]
    if len(labels) > 1:
        raise AdaptError(
            f"Two names hold probabilities of classes: {' and '.join(labels)}.",
            fix="rules can be about the classes of one label; adapt to the other in another loss",
        )
    label, probabilities = None, None
    for label in labels:
        found.pop(label)
        probabilities = columns[label]
    _check_rows(columns)
    some = next(iter(columns.values()), None)
    return Named(
        n=0 if some is None else some.shape[0],
        device=torch.device("cpu") if some is None else _device(columns),
        numbers={name: value for name, value in found.items() if isinstance(value, Tensor)},
        categories={name: value for name, value in found.items() if isinstance(value, Categories)},
        label=label,
        probabilities=probabilities,
    )


def _look_up(name: str, values: Mapping[str, Any]) -> Any:
    if name not in values:
        fix = f"{HOW}; {nearest(name, map(str, values))}"
        if sequence_of(name) is not None:  # no mini-batch has the rows before
            fix = f"compute it for all rows, by rules.with_sequences(data), and {HOW}"
        raise UnknownNameError(
            f"The rules speak of {name!r}, which the names function does not give.", fix=fix
        )
    return values[name]


def _read(name: str, value: Any) -> Tensor | Categories:
    """A value as a tensor or categories, in a precision in which it can be compared."""
    if isinstance(value, Categories):
        return value
    if not isinstance(value, Tensor):
        try:
            return columns_of({name: value})[name]
        except Exception as error:
            raise AdaptError(
                f"{name!r} is a {type(value).__name__}, not a tensor or a column.",
                fix="give a tensor with a value for each row",
            ) from error
    tensor: Tensor = value
    if tensor.ndim == 2 and tensor.shape[1] == 1:
        tensor = tensor[:, 0]
    if tensor.ndim not in {1, 2}:
        raise AdaptError(
            f"{name!r} has the shape {tuple(tensor.shape)}.",
            fix="give (rows,) for numbers, such as out[..., 0].flatten(), "
            "or (rows, classes) for probabilities",
        )
    if tensor.dtype in {torch.float16, torch.bfloat16}:
        return tensor.float()
    if tensor.ndim == 1 and not tensor.requires_grad and tensor.device.type != "mps":
        return tensor.double()
    return tensor if tensor.is_floating_point() else tensor.float()


def check_probabilities(named: Named) -> None:
    """Raise where rows of probabilities are not probabilities; nan is left for others to find."""
    if named.probabilities is None:
        return
    with torch.no_grad():
        total = named.probabilities.sum(dim=1)
        wrong = ((total - 1).abs() > TOLERANCE) | (named.probabilities < -TOLERANCE).any(dim=1)
        if not bool(wrong.any()):
            return
        row = int(wrong.int().argmax())
        raise AdaptError(
            f"The probabilities of {named.label!r} add up to {float(total[row]):.3g}"
            f" in row {row + 1:,}.",
            fix="give probabilities, such as out.softmax(-1), not logits",
        )


def _codes(value: Tensor | Categories) -> Tensor:
    return value.codes if isinstance(value, Categories) else value


def _device(columns: Mapping[str, Tensor]) -> torch.device:
    """Where the computation takes place: where the model's outputs are."""
    devices = [value.device for value in columns.values()]
    return next((device for device in devices if device.type != "cpu"), devices[0])


def _check_rows(columns: Mapping[str, Tensor]) -> None:
    counts = {name: value.shape[0] for name, value in columns.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name}: {count:,}" for name, count in list(counts.items())[:6])
        raise AdaptError(
            f"The names have different numbers of rows ({listed}).",
            fix="give every name a value for each row of the batch",
        )


def class_constants(
    label: str, n_classes: int, known: Sequence[str], given: Sequence[Any] | None
) -> list[Node]:
    """The value of the label that each column of probabilities stands for.

    Without `given` they are the classes that the rules speak of, in order, or 0, 1, 2, ...

    >>> class_constants("y", 3, ["10", "2"], None)
    Traceback (most recent call last):
    sqrl.errors.AdaptError: 'y' has 3 columns of probabilities, and the rules speak of 2 classes.
      fix:   say which is which: classes=['2', '10']
    """
    ordered = sorted(known, key=_by_value)
    if given is not None:
        if len(given) != n_classes:
            raise AdaptError(
                f"{label!r} has {n_classes} columns of probabilities, and {len(given)} classes "
                "are named.",
                fix="name a class for each column, in their order",
            )
        return [constant_of(value) for value in given]
    if len(ordered) == n_classes:
        return [constant_of(value) for value in ordered]
    places = {str(index) for index in range(n_classes)}
    if set(ordered) <= places:
        return [Number(float(index)) for index in range(n_classes)]
    raise AdaptError(
        f"{label!r} has {n_classes} columns of probabilities, and the rules speak of "
        f"{len(ordered)} classes.",
        fix=f"say which is which: classes={ordered[:8]}",
    )


def _by_value(text: str) -> tuple[bool, float, str]:
    try:
        return False, float(text), text
    except ValueError:
        return True, 0.0, text
