"""Rules as SQL and as pandas masks, for comparison with other engines."""

from typing import Any

import pandas as pd

from sqrl._language.forms import Form
from sqrl._language.tree import Between, Compare, Node, Not, Number, Word


def sql(node: Node) -> str:
    """A plain condition as SQL."""
    match node:
        case Not(item):
            return f"NOT ({sql(item)})"
        case Compare(left, op, right):
            return f"{operand(left)} {op} {operand(right)}"
        case Between(lower, lower_op, item, upper_op, upper):
            name = operand(item)
            low, high = operand(lower), operand(upper)
            return f"({low} {lower_op} {name} AND {name} {upper_op} {high})"
    raise AssertionError(node)


def operand(node: Any) -> str:
    """A column, number or text as SQL."""
    if isinstance(node, Number):
        return repr(node.value)
    if isinstance(node, Word):
        return "'" + node.text.replace("'", "''") + "'"
    return f'"{node.name}"'


def sql_of_interval(form: Form, index: int) -> str:
    """Two sums: rows a rule applies to, and rows that break it."""
    subject = operand(form.subject)
    given = " AND ".join(sql(part) for part in form.given)
    cases = ""
    for piece in form.pieces:
        low, high = operand(piece.lower), operand(piece.upper)
        outside = f"({subject} < {low} OR {subject} > {high})"
        cases += f" WHEN {sql(piece.test)} THEN {outside}" if piece.test else f" ELSE {outside}"
    broken = f"CASE{cases} END" if len(form.pieces) > 1 else cases.removeprefix(" ELSE ")
    return (
        f"count(*) FILTER (WHERE {given} AND {subject} IS NOT NULL) AS a{index}, "
        f"count(*) FILTER (WHERE {given} AND {broken}) AS b{index}"
    )


def sql_of_logic(form: Form, index: int) -> str:
    """Three sums: rows in the body, in the head, in both."""
    body = " AND ".join(f"({sql(part)})" for part in form.body)
    assert form.head is not None
    head = sql(form.head)
    return (
        f"count(*) FILTER (WHERE {body}) AS b{index}, count(*) FILTER (WHERE {head}) AS h{index}, "
        f"count(*) FILTER (WHERE {body} AND {head}) AS c{index}"
    )


def batch_counts(form: Any, drawn: pd.DataFrame) -> pd.DataFrame:
    """The F1 of a logic rule on each mini-batch, with a mask for each literal."""
    body = pd.Series(True, index=drawn.index)
    for part in form.body:
        body &= mask(part, drawn)
    assert form.head is not None
    head = mask(form.head, drawn)
    parts = {"body": body, "head": head, "both": body & head}
    return pd.DataFrame(parts).groupby(drawn["batch"]).sum()


def mask(node: Any, frame: pd.DataFrame) -> Any:
    """Where a plain condition holds."""
    if isinstance(node, Not):
        return ~mask(node.item, frame)
    if isinstance(node, Between):
        values = frame[operand(node.item).strip(chr(34))]
        return (values > float(operand(node.lower))) & (values <= float(operand(node.upper)))
    values, number = frame[node.left.name], float(operand(node.right))
    return {"=": values == number, "<=": values <= number, ">": values > number}[node.op]
