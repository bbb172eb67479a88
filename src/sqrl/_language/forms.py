"""The forms a sentence can take, the same for a template with holes and for a finished rule.

    sample   given => lower <= subject <= upper             each row by itself, perhaps in pieces
    batch    given => lower <= mean(subject) <= upper over n  a statistic of the mini-batch's rows
    logic    lower <= f1(body => head) <= upper over n      a statistic of a formula
    class    given => head                                  a formula, mostly a class, holds
    shares   distance(axis given axis) <= upper over n      shares of cells, against a reference

What each kind needs is in `kinds.py`. `read_form` takes a sentence apart, `sentence_of` puts it
together again.
"""

from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from sqrl._language.kinds import KINDS, Kind, Layout
from sqrl._language.parser import is_expression, is_formula
from sqrl._language.printer import to_text
from sqrl._language.reference import Reference
from sqrl._language.statistics import batch_statistic, batch_statistics, is_batch_statistic
from sqrl._language.tree import (
    And,
    Between,
    Bucket,
    Call,
    Choice,
    Compare,
    Given,
    Hole,
    Implies,
    In,
    Known,
    Name,
    Node,
    Not,
    Number,
    Or,
    Over,
    Repeat,
    Sentence,
    Truth,
    Word,
    conjunction,
    conjuncts,
    walk,
)
from sqrl.errors import ParseError, nearest


class Piece(Struct, frozen=True):
    """The bounds that hold where `test` is true and no earlier test is; None is open or always."""

    lower: Node | None
    upper: Node | None
    test: Node | None = None
    support: int | None = None


class Form(Struct, frozen=True, kw_only=True):
    """A sentence taken apart; `KINDS` says which fields each kind uses."""

    kind: Kind
    given: tuple[Node, ...] = ()
    statistic: str | None = None
    subject: Node | None = None
    body: tuple[Node, ...] = ()
    head: Node | None = None
    axes: tuple[Node, ...] = ()
    reference: Reference | None = None
    pieces: tuple[Piece, ...] = ()
    by: tuple[Bucket, ...] = ()
    over: Over | None = None

    @property
    def is_single(self) -> bool:
        """Whether the rule is about each row by itself, not about a mini-batch of rows."""
        return KINDS[self.kind].is_single

    @property
    def has_bounds(self) -> bool:
        """Whether the finished rule bounds a number, perhaps with an interval for each piece."""
        return KINDS[self.kind].has_bounds

    @property
    def bounds_rows(self) -> bool:
        """Whether the rule bounds a value of each row by itself."""
        return self.is_single and self.has_bounds

    @property
    def implies_class(self) -> bool:
        """Whether the rule says that its head holds, mostly a class, where its condition does."""
        return KINDS[self.kind].implies_class

    @property
    def evidence(self) -> Layout:
        """Which numbers of held-out rows say how the rule stands to them."""
        return KINDS[self.kind].evidence


def read_form(sentence: Sentence) -> Form:
    """The sentence taken apart.

    >>> from sqrl._language import parse
    >>> form = read_form(parse("type = Car => ? <= width <= ?"))
    >>> form.kind, to_text(form.given[0]), to_text(form.subject)
    ('sample', 'type = Car', 'width')
    """
    given: tuple[Node, ...] = ()
    claim = sentence.claim
    while isinstance(claim, Implies) and _is_claim(claim.head):
        given, claim = (*given, *conjuncts(claim.body)), claim.head
    if isinstance(claim, Implies):
        form = _class_form(sentence, (*given, *conjuncts(claim.body)), claim.head)
    elif _says_what_is_there(claim):
        form = _class_form(sentence, given, claim)
    else:
        form = _bounded_form(sentence, given, _pieces(sentence, claim))
    _check_holes(sentence, form)
    return form


def sentence_of(form: Form) -> Sentence:
    """The sentence of a form; reading it gives the form back.

    Only a class rule's interval is read back as one of its conditions once its bounds are known.

    >>> from sqrl._language import parse
    >>> sentence = parse("type = Car => 1 <= mean(width) <= 3 over 64")
    >>> sentence_of(read_form(sentence)) == sentence
    True
    """
    if form.implies_class:
        assert form.head is not None
        given = form.given
        if form.subject is not None:
            given = (*given, _bounded(form.subject, form.pieces[0]))
        body = conjunction(given)
        return Sentence(form.head if body is None else Implies(body, form.head))
    subject = _subject(form)
    *firsts, last = form.pieces
    claim = _bounded(subject, last)
    for piece in reversed(firsts):
        assert piece.test is not None
        claim = Choice(_bounded(subject, piece), piece.test, claim)
    condition = conjunction(form.given)
    return Sentence(Implies(condition, claim) if condition else claim, form.by, form.over)


def _subject(form: Form) -> Node:
    """What the bounds are about: an expression, or the call of a statistic."""
    if form.statistic is None:
        assert form.subject is not None
        return form.subject
    if form.subject is not None:
        return Call(form.statistic, (form.subject,))
    if form.axes:
        return Call(form.statistic, (Given(*form.axes) if len(form.axes) > 1 else form.axes[0],))
    body = conjunction(form.body)
    assert body is not None
    return Call(form.statistic, (Implies(body, form.head) if form.head else body,))


def _bounded(subject: Node, piece: Piece) -> Node:
    if piece.lower is None and piece.upper is None:  # a candidate that got no bounds
        return Between(Hole(), "<=", subject, "<=", Hole())
    if piece.lower is None:
        assert piece.upper is not None
        return Compare(subject, "<=", piece.upper)
    if piece.upper is None:
        return Compare(piece.lower, "<=", subject)
    return Between(piece.lower, "<=", subject, "<=", piece.upper)


def _is_claim(node: Node) -> bool:
    return isinstance(node, Implies | Choice) or _bounds_of(node) is not None


def _says_what_is_there(node: Node) -> bool:
    """Whether a formula is a rule by itself: that there are values, or which."""
    match node:
        case Known() | In() | Compare(_, "=" | "!=", Word() | Number() | Truth()):
            return True
        case Not(item):
            return _says_what_is_there(item)
        case And(items) | Or(items):
            return all(map(_says_what_is_there, items))
    return False


def learned_values(head: Node | None) -> Node | None:
    """What `item in ?` is about, whose values are to be learned; None for another head."""
    match head:
        case In(item, (Hole(),)):
            return item
    return None


def _bounds_of(node: Node) -> tuple[Node, Piece] | None:
    """What a closed comparison with constants bounds, and the bounds; None for other formulas."""
    match node:
        case Between(Hole() | Number() as lower, "<=", item, "<=", Hole() | Number() as upper):
            return item, Piece(lower, upper)
        case Compare(Hole() | Number() as lower, "<=", item):
            return item, Piece(lower, None)
        case Compare(Hole() | Number() as upper, ">=", item):
            return item, Piece(None, upper)
        case Compare(item, "<=", Hole() | Number() as upper):
            return item, Piece(None, upper)
        case Compare(item, ">=", Hole() | Number() as lower):
            return item, Piece(lower, None)
    return None


def _pieces(sentence: Sentence, claim: Node) -> list[tuple[Node, Piece]]:
    """What each piece of a claim bounds, and the piece; raises where these are not one rule."""
    pieces = _flatten(claim)
    if not pieces:
        raise ParseError(
            f"'{to_text(sentence)}' is a formula, not a rule.",
            fix="a rule bounds something ('? <= age <= ?', never '<') "
            "or implies a class ('... => y = 1'); known(age) and city in [Oslo] are rules too",
        )
    subject = pieces[0][0]
    if any(item != subject for item, _ in pieces):
        raise ParseError(
            "Every piece of a rule must bound the same thing.",
            where=to_text(sentence),
            fix=f"write {to_text(subject)} in each piece, or make several rules",
        )
    if len(pieces) > 1 and sentence.by:
        raise ParseError(
            "A rule in pieces cannot be bucketed once more with 'by'.",
            where=to_text(sentence),
            fix="leave out either 'if ... else ...' or 'by'",
        )
    return pieces


def _flatten(claim: Node, tests: tuple[Node, ...] = ()) -> list[tuple[Node, Piece]]:
    """The pieces of nested choices in the order they are tried; empty for another formula."""
    pieces: list[tuple[Node, Piece]] = []
    while isinstance(claim, Choice):
        first = _flatten(claim.then, (*tests, *conjuncts(claim.test)))
        if not first:
            return []
        pieces += first
        claim = claim.otherwise
    found = _bounds_of(claim)
    if found is None:
        return []
    item, piece = found
    return [*pieces, (item, Piece(piece.lower, piece.upper, conjunction(tests)))]


def _bounded_form(
    sentence: Sentence, given: tuple[Node, ...], found: list[tuple[Node, Piece]]
) -> Form:
    """A claim that bounds something: a value of each row, or a statistic of a mini-batch."""
    subject, pieces = found[0][0], tuple(piece for _, piece in found)
    _check_subject(sentence, subject)
    if not _is_mini_batch(sentence, subject):
        return Form(kind="sample", given=given, subject=subject, pieces=pieces, by=sentence.by)
    assert isinstance(subject, Call)
    if sentence.by or len(pieces) > 1:
        raise ParseError(
            "A mini-batch rule cannot be bucketed with 'by'.",
            where=to_text(sentence),
            fix="make the bucket a condition: 'area in each of 4 => ? <= mean(width) <= ? over 64'",
        )
    name, argument = subject.function, subject.arguments[0]
    common = Form(kind="logic", given=given, statistic=name, pieces=pieces, over=sentence.over)
    return _with_argument(sentence, common, argument)


def _with_argument(sentence: Sentence, form: Form, argument: Node) -> Form:
    """The form with what its statistic is of: an expression, a formula, or a body and a head."""
    name = form.statistic
    assert name is not None
    kind = batch_statistic(name).of
    axes = (argument.item, argument.given) if isinstance(argument, Given) else (argument,)
    if kind == "cells" and not any(is_formula(axis) or isinstance(axis, Repeat) for axis in axes):
        return replace(form, kind="shares", axes=axes)
    if kind == "values" and not is_formula(argument) and not isinstance(argument, Repeat | Given):
        return replace(form, kind="batch", subject=argument)
    if kind == "share" and not is_expression(argument):
        return replace(form, body=conjuncts(argument))
    if kind == "counts" and isinstance(argument, Implies):
        return replace(form, body=conjuncts(argument.body), head=argument.head)
    needs = {
        "values": ("a number of each row", f"{name}(age), or rate(age > 50)"),
        "share": ("a formula", f"{name}(age > 50)"),
        "counts": ("a body and a head", f"{name}(smoke and age > 50 => cardio = 1)"),
        "cells": ("columns or expressions", f"{name}(age/10), or {name}(age/10 given city)"),
    }
    needed, example = needs[kind]
    raise ParseError(
        f"{name}(...) needs {needed}.", where=to_text(sentence), fix=f"write {example}"
    )


def _is_mini_batch(sentence: Sentence, subject: Node) -> bool:
    """Whether the subject is a statistic of a mini-batch; raises where `over` and it disagree."""
    if not isinstance(subject, Call) or len(subject.arguments) != 1:
        if sentence.over:
            raise ParseError(
                f"'over {sentence.over}' needs a statistic of a mini-batch.",
                where=to_text(sentence),
                fix=f"write mean({to_text(subject)}), or leave 'over' out",
            )
        return False
    if is_batch_statistic(subject.function):
        if not sentence.over:
            raise ParseError(
                f"{subject.function}(...) is a statistic of a mini-batch of unknown size.",
                where=to_text(sentence),
                fix="add its size at the end, such as 'over 256'",
            )
        return True
    if sentence.over:
        raise ParseError(
            f"Unknown statistic {subject.function!r}.",
            where=to_text(sentence),
            fix=nearest(subject.function, batch_statistics()),
        )
    return False


def _class_form(sentence: Sentence, body: tuple[Node, ...], head: Node) -> Form:
    """A formula that implies a class; in a template one `? <= x <= ?` is to be inferred."""
    if sentence.by or sentence.over:
        raise ParseError(
            "A rule that implies a class takes neither 'by' nor 'over'.",
            where=to_text(sentence),
            fix="make the bucket a condition: 'area in each of 4 and ? <= x <= ? => y = 1'",
        )
    item = learned_values(head)
    if item is not None:
        _check_subject(sentence, item)
    open_parts: list[Node] = [] if item is None else [head]
    open_parts += [part for part in body if any(isinstance(node, Hole) for node in walk(part))]
    if not open_parts or open_parts == [head]:
        return Form(kind="class", given=body, head=head)
    found = _bounds_of(open_parts[0])
    if len(open_parts) > 1 or found is None:
        raise ParseError(
            "A rule that implies a class can infer one interval.",
            where=to_text(sentence),
            fix="write '? <= a <= ? => y = Y', or bucket the other: 'b in each of 4 and ...'",
        )
    _check_subject(sentence, found[0])
    given = tuple(part for part in body if part is not open_parts[0])
    return Form(kind="class", given=given, subject=found[0], pieces=(found[1],), head=head)


def _check_subject(sentence: Sentence, subject: Node) -> None:
    """Raise where the bounds are about nothing that differs from row to row."""
    if not any(isinstance(node, Name | Repeat) for node in walk(subject)):
        raise ParseError(
            f"'{to_text(subject)}' is the same in every row: there is nothing to bound.",
            where=to_text(sentence),
            fix="bound a column or an expression of columns, such as '? <= age <= ?'",
        )


def _check_holes(sentence: Sentence, form: Form) -> None:
    """Raise where a `?` stands for something other than a bound."""
    parts = [*form.given, form.subject, *form.body, *form.axes, *form.by]
    parts.append(learned_values(form.head) or form.head)
    parts += [piece.test for piece in form.pieces]
    if any(isinstance(node, Hole) for part in parts if part is not None for node in walk(part)):
        raise ParseError(
            "'?' can stand only for a bound of what the rule is about.",
            where=to_text(sentence),
            fix="write '? <= age <= ?' or 'city in ?' last, and a number or a hole such as A "
            "elsewhere",
        )


def bucket_formulas(subject: Node, cuts: NDArray[np.float64]) -> list[Node]:
    """One formula for each bucket between the cut points.

    >>> from sqrl._language.printer import to_text
    >>> from sqrl._language.tree import Name
    >>> [to_text(formula) for formula in bucket_formulas(Name("age"), np.array([30.0, 60.0]))]
    ['age <= 30', '30 < age <= 60', 'age > 60']
    """
    numbers = [Number(float(cut)) for cut in cuts]
    inner = [Between(low, "<", subject, "<=", high) for low, high in pairwise(numbers)]
    return [Compare(subject, "<=", numbers[0]), *inner, Compare(subject, ">", numbers[-1])]
