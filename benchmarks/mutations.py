"""Edits of product lines that a test should notice: where they are, and what each changes.

An edit changes one node of the tree of one file, in place, so that all else keeps its lines.
What nobody could notice is left out: docstrings, strings (error texts have tests word for word
of their own), annotations, imports, `assert`, decorators, blocks for type checkers, and functions
without a body (overloads, protocols), `os.fsync`.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FLIPPED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
SWAPPED: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one file: the bytes from `start` to `end` become `text`."""

    path: str
    line: int
    kind: str
    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        """The source of the file with this change."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def sample_edits(root: Path, sources: Path, *, n: int, seed: int) -> list[Edit]:
    """One edit on each of `n` lines, drawn evenly from all lines that have one."""
    lines: dict[tuple[str, int], list[Edit]] = defaultdict(list)
    for path in sorted(sources.rglob("*.py")):
        for edit in edits_of(path.read_bytes(), str(path.relative_to(root))):
            lines[edit.path, edit.line].append(edit)
    draw = random.Random(seed)
    chosen = draw.sample(sorted(lines), min(n, len(lines)))
    return [draw.choice(lines[place]) for place in chosen]


def edits_of(source: bytes, path: str) -> list[Edit]:
    """All edits of one file, in its order; each still is Python."""
    finder = _Finder(source, path)
    finder.visit(ast.parse(source))
    return [edit for edit in finder.edits if _parses(edit.applied(source))]


def _parses(source: bytes) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class _Finder(ast.NodeVisitor):
    """Walks a file and notes what can be changed in it."""

    def __init__(self, source: bytes, path: str) -> None:
        self.source = source
        self.path = path
        self.edits: list[Edit] = []
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    # Places in the file.

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr) -> str:
        return self.source[self._start(node) : self._end(node)].decode()

    def _note(self, node: ast.expr | ast.stmt, kind: str, text: str) -> None:
        self._between(node.lineno, kind, self._start(node), self._end(node), text)

    def _between(self, line: int, kind: str, start: int, end: int, text: str) -> None:
        self.edits.append(Edit(self.path, line, kind, start, end, text))

    def _operator(self, left: ast.expr, right: ast.expr, kind: str, new: str) -> None:
        """Writes another operator between two operands; brackets around them stay."""
        start, end = self._end(left), self._start(right)
        between = self.source[start:end].decode()
        if "#" in between:
            return
        opening = len(between) - len(between.rstrip("( \n"))
        closing = len(between) - len(between.lstrip(") \n"))
        text = between[:closing] + new + between[len(between) - opening :]
        line = left.end_lineno or left.lineno
        self._between(line, kind, start, end, text)

    # What is left out.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Bodies and defaults; neither decorators nor annotations."""
        if all(_says_nothing(one) for one in node.body):
            return
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """The body alone."""
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """The value, unless it is a type."""
        if node.value is not None and "TypeAlias" not in self._text(node.annotation):
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        """What cannot happen has no test."""

    def visit_TypeAlias(self, node: ast.AST) -> None:
        """A type is no behaviour."""

    # What is changed.

    def visit_If(self, node: ast.If) -> None:
        """The condition negated, but for `if TYPE_CHECKING`."""
        if "TYPE_CHECKING" in self._text(node.test):
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """The condition negated."""
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """The condition negated."""
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Each filter negated."""
        for condition in node.ifs:
            self._negate(condition)
        self.generic_visit(node)

    def _negate(self, test: ast.expr) -> None:
        self._note(test, "negated condition", f"(not ({self._text(test)}))")

    def visit_Compare(self, node: ast.Compare) -> None:
        """Each comparison takes or loses equality, or is turned round."""
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            self._operator(left, right, "comparison", f" {FLIPPED[type(operator)]} ")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """`and` for `or`, at the first of a chain."""
        new = " or " if isinstance(node.op, ast.And) else " and "
        self._operator(node.values[0], node.values[1], "and/or", new)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Arithmetic with the other sign; not the `|` of types, nor text."""
        texts = (self._text(node.left), self._text(node.right))
        if type(node.op) in SWAPPED and not any("None" in t or '"' in t for t in texts):
            self._operator(node.left, node.right, "arithmetic", f" {SWAPPED[type(node.op)]} ")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """A number one more or one less."""
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            for step in (1, -1):
                self._note(node, f"constant {step:+d}", f"({node.value + step!r})")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Formats in texts are left alone."""

    def visit_Return(self, node: ast.Return) -> None:
        """Nothing for what was computed."""
        if node.value is not None and not _is_none(node.value):
            self._note(node, "return None", "return None")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """The error not raised; its text is left alone."""
        self._note(node, "dropped statement", "pass")

    def visit_Continue(self, node: ast.Continue) -> None:
        """Not skipped."""
        self._note(node, "dropped statement", "pass")

    def visit_Break(self, node: ast.Break) -> None:
        """Not ended."""
        self._note(node, "dropped statement", "pass")

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Not added, or with the other sign."""
        self._note(node, "dropped statement", "pass")
        if type(node.op) in SWAPPED:
            new = f" {SWAPPED[type(node.op)]}= "
            self._operator(node.target, node.value, "arithmetic", new)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Not set, where something is there without it; new names would only be missing."""
        names = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
        target = node.targets[0]
        if isinstance(target, ast.Name):
            if target.id == "__all__":
                return
            is_there = target.id in names
        else:
            is_there = isinstance(target, ast.Attribute | ast.Subscript)
        if is_there:
            self._note(node, "dropped statement", "pass")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call not made; docstrings are left alone, and what only a power cut would show."""
        if _says_nothing(node):
            return
        if isinstance(node.value, ast.Call) and "fsync" not in self._text(node.value):
            self._note(node, "dropped statement", "pass")
        self.generic_visit(node)


def _says_nothing(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, ast.Pass)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def kinds_of(edits: Sequence[Edit]) -> Iterator[tuple[str, int]]:
    """How many edits there are of each kind."""
    for kind in sorted({edit.kind for edit in edits}):
        yield kind, sum(edit.kind == kind for edit in edits)
