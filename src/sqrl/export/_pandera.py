"""to_pandera(): a Python file with a pandera schema that checks the rules about single rows."""

import ast
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from sqrl._language.forms import Form, Piece
from sqrl._language.kinds import handler
from sqrl._language.tree import Number, conjunction
from sqrl._rules.ruleset import RuleSet
from sqrl.export._columns import Columns, find_columns
from sqrl.export._pandas import FRAME, Code, call, choice
from sqrl.export._rules_to_export import (
    MOST_RULES,
    Allowance,
    allowances,
    refuse_all_batches,
    rules_as_forms,
)


def to_pandera(
    rules: RuleSet, *, like: Any = None, prediction: str | None = None, limit: int = MOST_RULES
) -> str:
    """Python code that needs pandas and pandera, and not sqrl; `schema` in it is the schema.

    >>> code = to_pandera(RuleSet.from_texts(["0 <= x <= 9"]))
    >>> "outside(number(frame['x']), 0.0, 9.0)" in code
    True
    """
    rules = rules.in_force()
    forms = rules_as_forms(rules, limit)
    refuse_all_batches(forms)
    columns = find_columns(rules, forms, like=like, prediction=prediction)
    code = Code(columns, rules.statistics())
    facts = zip(rules.texts(), forms, allowances(rules, forms), strict=True)
    checks = {
        f"rule_{number}": _check(number, text, is_broken(form, code), allowed)
        for number, (text, form, allowed) in enumerate(facts, start=1)
    }
    made = [_function(name, value) for name, value in code.functions.items()]
    rest = [ast.Assign([ast.Name(name)], check) for name, check in checks.items()]
    needed = ast.Import([ast.alias("pandera.pandas")])
    body = [*made, ast.Module([needed, *rest, _schema(columns, list(checks))], [])]
    written = [ast.unparse(ast.fix_missing_locations(part)) for part in body]
    helpers = files("sqrl.export").joinpath("_pandera_template.py").read_text(encoding="utf-8")
    return "\n\n\n".join([helpers.rstrip(), *written]) + "\n"


def is_broken(form: Form, code: Code) -> ast.expr:
    """Where a row breaks a rule about single rows; unknown where it does not apply."""
    condition = conjunction(form.given)
    made = handler(CLAIMS, form.kind, "pandas")(form, code)
    return made if condition is None else call("given", code.truth(condition), made)


def _lacks_head(form: Form, code: Code) -> ast.expr:
    assert form.head is not None
    return ast.UnaryOp(ast.Invert(), code.truth(form.head))


def _is_out_of_bounds(form: Form, code: Code) -> ast.expr:
    assert form.subject is not None
    value = code.number(form.subject)
    outside = [(piece.test, _outside(value, piece)) for piece in form.pieces]
    pieces = [(code.truth(test), broken) for test, broken in outside if test is not None]
    last = outside[-1][1] if outside[-1][0] is None else None
    return last if last is not None and not pieces else choice(pieces, last)


CLAIMS: Mapping[str, Callable[[Form, Code], ast.expr]] = {
    "sample": _is_out_of_bounds,
    "class": _lacks_head,
}


def _outside(value: ast.expr, piece: Piece) -> ast.expr:
    ends = [end.value if isinstance(end, Number) else None for end in (piece.lower, piece.upper)]
    return call("outside", value, *map(ast.Constant, ends))


def _check(number: int, text: str, broken: ast.expr, allowed: Allowance) -> ast.expr:
    made = call("rule", ast.Lambda(_one_argument(), broken))
    assert isinstance(made, ast.Call)
    pair = ast.Tuple([ast.Constant(allowed.share), ast.Constant(allowed.learned_from)])
    made.keywords = [
        ast.keyword("name", ast.Constant(f"rule {number}")),
        ast.keyword("text", ast.Constant(text)),
        ast.keyword("allowed", pair),
    ]
    return made


def _function(name: str, value: ast.expr) -> ast.stmt:
    return ast.FunctionDef(name, _one_argument(), [ast.Return(value)], [])


def _one_argument() -> ast.arguments:
    return ast.arguments([], [ast.arg(FRAME.id)], None, [], [], None, [])


def _schema(columns: Columns, checks: list[str]) -> ast.stmt:
    """The columns that rules read, which may be missing in a row but not in a frame; the checks."""
    names: list[ast.expr | None] = [ast.Constant(name) for name in columns.to_read()]
    pandera = ast.Attribute(ast.Name("pandera"), "pandas")
    column = ast.Call(
        ast.Attribute(pandera, "Column"), [], [ast.keyword("nullable", ast.Constant(True))]
    )
    keywords = [ast.keyword("checks", ast.List([ast.Name(check) for check in checks]))]
    schema = ast.Attribute(pandera, "DataFrameSchema")
    made = ast.Call(schema, [ast.Dict(names, [column] * len(names))], keywords)
    return ast.Assign([ast.Name("schema")], made)
