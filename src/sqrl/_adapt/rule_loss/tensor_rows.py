"""A tree over named tensors: numbers with their gradient, true / false without one.

The torch counterpart of `_rows/rows.py`, with the same meaning of missing and undefined values.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_

import torch
from torch import Tensor

from sqrl._adapt.batches import Categories
from sqrl._adapt.rule_loss.named_tensors import Named
from sqrl._language import tree
from sqrl._language.parser import is_formula
from sqrl._language.printer import to_text
from sqrl._language.tree import Name, Node, Number, Truth, Word
from sqrl._rows.column_functions import COLUMN_FUNCTIONS
from sqrl._rows.rows import category_text
from sqrl._rows.truths import Truths, connect
from sqrl.errors import AdaptError


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A value for each row, and where it is known; it is finite, and meaningless, elsewhere."""

    values: Tensor
    known: Tensor


TensorTruths = Truths[Tensor]
_ORDER: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "=": torch.eq,
    "!=": torch.ne,
    "<": torch.lt,
    "<=": torch.le,
    ">": torch.gt,
    ">=": torch.ge,
}


@dataclass(slots=True, eq=False)
class TensorRows:
    """A mini-batch's named tensors, the statistics derived from them, and what was computed.

    >>> from sqrl._adapt.rule_loss.named_tensors import read_named
    >>> from sqrl._language import parse_formula
    >>> named = read_named({"w": torch.tensor([1.0, 2.0]), "h": torch.tensor([2.0, 0.0])}, "wh")
    >>> TensorRows(named, {}).numbers(parse_formula("w / h")).known.tolist()
    [True, False]
    """

    named: Named
    statistics: Mapping[str, Node]
    _numbers: dict[Node, Numbers] = field(default_factory=dict)
    _truths: dict[Node, TensorTruths] = field(default_factory=dict)

    def numbers(self, node: Node) -> Numbers:
        """The expression's value on each row."""
        if node not in self._numbers:
            self._numbers[node] = self._compute(node)
        return self._numbers[node]

    def or_nan(self, node: Node) -> Tensor:
        """The expression's value on each row, nan where it is unknown, without a gradient."""
        if isinstance(node, Name) and node.name not in self.statistics:
            column = self.named.numbers.get(node.name)
            if column is not None:  # as it is, nan says what is unknown
                return column.detach().to(self.named.device)
        numbers = self.numbers(node)
        return torch.where(numbers.known, numbers.values.detach(), math.nan)

    def truths(self, node: Node) -> TensorTruths:
        """Where the formula is true and where it is false."""
        if node not in self._truths:
            self._truths[node] = connect(node, self.truths) or self._compare(node)
        return self._truths[node]

    def _compute(self, node: Node) -> Numbers:
        match node:
            case Number(value):
                device = self.named.device
                values = torch.full((self.named.n,), value, dtype=wide(device), device=device)
                return Numbers(values, torch.ones_like(values, dtype=torch.bool))
            case Name(name):
                return self._named(name)
            case tree.Negative(item):
                inner = self.numbers(item)
                return Numbers(-inner.values, inner.known)
            case tree.Binary(op, left, right):
                return _arithmetic(op, self.numbers(left), self.numbers(right))
        assert isinstance(node, tree.Call), node
        if node.function in COLUMN_FUNCTIONS:
            return self._of_column(node)
        return _call(node.function, [self.numbers(argument) for argument in node.arguments])

    def _of_column(self, node: tree.Call) -> Numbers:
        """A function of a column of dates or of text, which has no gradient."""
        function, (item,) = COLUMN_FUNCTIONS[node.function], node.arguments
        assert isinstance(item, Name), item
        device = self.named.device
        if item.name in self.named.categories:
            column = self.named.categories[item.name]
            of_names = torch.from_numpy(function.of_words([*column.names, ""]))
            codes = column.codes.cpu()
            values = torch.where(codes >= 0, of_names[codes], math.nan)
        elif function.of == "dates":
            values = torch.from_numpy(function.of_days(self._named(item.name).values.cpu().numpy()))
            values = torch.where(self._named(item.name).known.cpu(), values, math.nan)
        else:
            raise AdaptError(
                f"The rules need text in {item.name!r}, but it holds numbers.",
                fix="give sqrl.Categories(codes, names) under this name",
            )
        values = values.to(device=device, dtype=wide(device))
        known = ~torch.isnan(values)
        return Numbers(torch.where(known, values, 0.0), known)

    def _named(self, name: str) -> Numbers:
        if name in self.statistics:
            return self.numbers(self.statistics[name])
        if name in self.named.categories:
            column = self.named.categories[name]
            if not column.names:  # all missing: nobody can say what it would hold
                nothing = torch.zeros_like(column.codes, dtype=torch.float64)
                return Numbers(nothing, torch.zeros_like(column.codes, dtype=torch.bool))
            raise AdaptError(
                f"The rules need numbers in {name!r}, but it holds categories.",
                fix="give a tensor of numbers under this name",
            )
        values = self.named.numbers[name].to(self.named.device)
        known = ~torch.isnan(values)
        return Numbers(torch.where(known, values, 0.0), known)

    def _compare(self, node: Node) -> TensorTruths:
        match node:
            case tree.Known(item):
                known = self._known(item)
                return Truths(known, ~known)
            case Name():
                return self._member(node, (Truth(True),))
            case tree.In(item, values):
                return self._member(item, values)
            case tree.Compare(left, op, Word() | Truth() | Number() as right) if op in {"=", "!="}:
                equal = self._member(left, (right,))
                return equal if op == "=" else ~equal
            case tree.Compare(left, op, right):
                return self._ordered(self.numbers(left), op, self.numbers(right))
        assert isinstance(node, tree.Between), node
        between = self.numbers(node.item)
        above = self._ordered(self.numbers(node.lower), node.lower_op, between)
        return above & self._ordered(between, node.upper_op, self.numbers(node.upper))

    def _known(self, item: Node) -> Tensor:
        """Where a column or expression has a value, or a formula is true or false."""
        if is_formula(item):
            truths = self.truths(item)
            return truths.true | truths.false
        if isinstance(item, Name) and item.name in self.named.categories:
            return self.named.categories[item.name].codes.to(self.named.device) >= 0
        return self.numbers(item).known

    def _ordered(self, left: Numbers, op: str, right: Numbers) -> TensorTruths:
        known = left.known & right.known
        dtype = wide(self.named.device)
        holds = _ORDER[op](left.values.detach().to(dtype), right.values.detach().to(dtype))
        return Truths(holds & known, known & ~holds)

    def _member(self, item: Node, values: Sequence[Node]) -> TensorTruths:
        if isinstance(item, Name) and item.name in self.named.categories:
            return _in_categories(self.named.categories[item.name], values, self.named.device)
        numbers = self.numbers(item)
        values_wide = numbers.values.detach().to(wide(self.named.device))
        true = torch.zeros_like(numbers.known)
        for value in values:
            number = _as_number(value)
            if number is not None:
                true |= values_wide == number
            elif bool(numbers.known.any()):  # an all-missing column may well be one of categories
                fix = (
                    "give sqrl.Categories(codes, names) under this name, or probabilities"
                    " (rows, classes)"
                )
                if numbers.values.requires_grad:
                    fix += "; of one logit: p = out.sigmoid().flatten(); torch.stack([1 - p, p], 1)"
                raise AdaptError(
                    f"The rules compare '{to_text(item)}' with '{to_text(value)}', but it holds"
                    " numbers.",
                    fix=fix,
                )
        return Truths(true & numbers.known, numbers.known & ~true)


def wide(device: torch.device) -> torch.dtype:
    """The precision in which values are compared with bounds."""
    return torch.float32 if device.type == "mps" else torch.float64


def widest(*tensors: Tensor) -> torch.dtype:
    """The precision that holds the values of all these tensors, single at least."""
    return reduce(torch.promote_types, (one.dtype for one in tensors), torch.float32)


def _as_number(value: Node) -> float | None:
    """The number that a constant stands for; None where it stands for a category."""
    assert isinstance(value, Number | Truth | Word), value
    try:
        return float(value.text if isinstance(value, Word) else value.value)
    except ValueError:
        return None


def _in_categories(
    column: Categories, values: Sequence[Node], device: torch.device
) -> TensorTruths:
    wanted = {category_text(value) for value in values}
    hit = torch.tensor([name in wanted for name in column.names] + [False], device=device)
    codes = column.codes.to(device)
    known = codes >= 0
    true = hit[codes] & known  # code -1 picks the False at the end
    return Truths(true, known & ~true)


def _arithmetic(op: str, left: Numbers, right: Numbers) -> Numbers:
    """The result where it is finite. Undefined arguments are replaced before, not after.

    A gradient through an undefined result is nan even where the result is not used.
    """
    x, y, known = left.values, right.values, left.known & right.known
    if op == "/":
        known = known & (y != 0)
        y = torch.where(known, y, 1.0)
        return _finite(x / y, known)
    if op == "**":
        whole = y.detach() == y.detach().round()
        known = known & ((x > 0) | ((x == 0) & (y >= 0)) | ((x < 0) & whole))
        # Where the base is zero, the gradient of the exponent is 0 * log(0): keep it away.
        base, exponent = torch.where(known, x, 1.0), torch.where(known, y, 1.0)
        if exponent.requires_grad:
            base = torch.where(base == 0, torch.finfo(base.dtype).tiny, base)
        return _finite(base**exponent, known)
    return _finite(x + y if op == "+" else x - y if op == "-" else x * y, known)


def _call(function: str, arguments: list[Numbers]) -> Numbers:
    known = reduce(and_, (argument.known for argument in arguments))
    values = [argument.values for argument in arguments]
    if function == "min":
        return _finite(reduce(torch.minimum, _alike(values)), known)
    if function == "max":
        return _finite(reduce(torch.maximum, _alike(values)), known)
    x = values[0]
    if function == "abs":
        return Numbers(x.abs(), known)
    if function == "exp":
        known = known & (x < math.log(torch.finfo(x.dtype).max))
        return _finite(torch.where(known, x, 0.0).exp(), known)
    if function == "log":
        known = known & (x > 0)
        return _finite(torch.where(known, x, 1.0).log(), known)
    assert function == "sqrt", function
    known = known & (x >= 0)
    positive = known & (x > 0)  # the slope of the root is infinite at zero
    return Numbers(torch.where(positive, torch.where(positive, x, 1.0).sqrt(), 0.0), known)


def _alike(values: list[Tensor]) -> list[Tensor]:
    return [value.to(widest(*values)) for value in values]


def _finite(values: Tensor, known: Tensor) -> Numbers:
    known = known & torch.isfinite(values)
    return Numbers(torch.where(known, values, 0.0), known)
