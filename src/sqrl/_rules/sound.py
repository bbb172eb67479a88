"""Rules that were loaded, looked through once: are they rules, and is what they claim possible?

Everything after this trusts them. A file may have been edited by hand, cut off or damaged.
"""

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sqrl._language.forms import Form, read_form, sentence_of
from sqrl._language.kinds import EVIDENCE, KINDS
from sqrl._language.reference import LARGEST
from sqrl._language.statistics import batch_statistic, is_batch_statistic
from sqrl._language.tree import Hole
from sqrl._rules.rule_columns import OF_FORM
from sqrl._rules.ruleset import RuleSet, check_rule
from sqrl.errors import RulesFileError, SqrlError

Columns = dict[str, list[Any]]
SHARES = ("coverage", "jaccard")
LONGEST_TAIL = 19  # train rows, and how many of them break a rule, by how far
LISTS = ("evidence", "prediction_evidence", "unit_evidence", "prediction_unit_evidence")
AGAIN = "it may have been edited by hand or damaged; learn the rules again"


def refuse_unsound(rules: RuleSet) -> None:
    """Raise where numbers beside the sentences are impossible.

    >>> refuse_unsound(RuleSet.from_texts(["x <= 3"], coverage=[5.0]))
    Traceback (most recent call last):
        ...
    sqrl.errors.RulesFileError: A rule has 5.0 as its coverage, which is a share: from 0 to 1.
      where: rules[0]
      fix:   it may have been edited by hand or damaged; learn the rules again
    """
    for name in SHARES:
        _refuse_outside(rules.table[name], name, 1, "a share: from 0 to 1")
    for name in ("support", "rows"):
        _refuse_outside(rules.table[name], name, LARGEST, "a number of rows")
    tails = rules.table["tail"].to_pylist()
    for place in range(len(rules)):
        tail = tails[place]
        if tail is not None and not _is_tail(tail):
            raise _unsound(place, "'tail'", "numbers of rows, and at most 19")
    for name in LISTS:
        column = rules.table[name]
        if column.null_count == len(rules):
            continue
        kinds = rules.table["kind"].to_pylist()
        for place, numbers in enumerate(column.to_pylist()):
            if numbers is not None:
                _refuse_evidence(rules, place, name, KINDS[kinds[place]].evidence, numbers)


def _refuse_outside(column: pa.ChunkedArray, name: str, most: float, what: str) -> None:
    for place, value in enumerate(column.to_pylist()):
        if value is not None and not 0 <= value <= most:
            raise RulesFileError(
                f"A rule has {value} as its {name}, which is {what}.",
                where=f"rules[{place}]",
                fix=AGAIN,
            )


def _is_tail(tail: Sequence[Any]) -> bool:
    return len(tail) <= LONGEST_TAIL and all(
        count is not None and 0 <= count <= LARGEST for count in tail
    )


def _refuse_evidence(
    rules: RuleSet, place: int, name: str, layout: str, numbers: Sequence[Any]
) -> None:
    """Raise where the numbers are none that rows could give."""
    if any(x is None or not math.isfinite(x) or abs(x) > 1e300 for x in numbers):
        raise _unsound(place, repr(name), "finite numbers")
    if "unit" in name:
        if numbers and not 0 <= numbers[0] <= LARGEST:
            raise _unsound(place, repr(name), "numbers of units and their sums")
        return
    if layout == "cells":
        reference = rules.form(place).reference
        n_cells = len(reference.counts) if reference else 0
        if len(numbers) != n_cells or min(numbers, default=0) < 0:
            raise _unsound(place, repr(name), f"{n_cells} numbers of rows")
        return
    words = EVIDENCE[layout]  # type: ignore[index]
    least = len(words)
    if len(numbers) < least or (layout != "moments" and len(numbers) != least):
        raise _unsound(place, repr(name), f"{least} numbers: {', '.join(words)}")
    is_sound = {
        "outcomes": lambda: 0 <= numbers[1] <= numbers[0],
        "counts": lambda: 0 <= numbers[2] <= min(numbers[:2]) and max(numbers[:2]) <= numbers[3],
        "moments": lambda: numbers[0] >= 0 and numbers[2] >= 0,
    }[layout]()
    if not is_sound or (layout != "moments" and max(numbers) > LARGEST):
        raise _unsound(place, repr(name), f"{', '.join(words)} that some rows could have")


def _unsound(place: int, name: str, what: str) -> RulesFileError:
    message = f"Of a rule, {name} is not what it should be: {what}."
    return RulesFileError(message, where=f"rules[{place}]", fix=AGAIN)


def refuse_shapeless(rules: RuleSet) -> None:
    """Raise where columns of a file do not make up a sentence, though each may be right by itself.

    Rules of formulas alone can be many, so that of those only the columns are looked at.
    """
    columns = {name: rules.table[name].to_pylist() for name in OF_FORM}
    for name in ("given", "body", "axes", "pieces"):
        for place, parts in enumerate(columns[name]):
            if parts is not None and None in parts:
                raise _damaged(place, f"a gap in {name!r}")
    for name in ("lower", "upper"):
        for place, bound in enumerate(columns[name]):
            if bound is not None and not math.isfinite(bound):
                raise _damaged(place, f"{name!r} is no number")
    many = [place for place in range(len(rules)) if _is_plain_logic(columns, place)]
    _refuse_statistics(columns, many)
    for place in sorted(set(range(len(rules))) - set(many)):
        _refuse_shapeless(rules, place)


def _is_plain_logic(columns: Columns, place: int) -> bool:
    """Whether a rule has a body, a head, a statistic and bounds, and nothing else."""
    kind = KINDS.get(columns["kind"][place])
    if kind is None or kind.evidence != "counts" or not columns["body"][place]:
        return False
    empty = ("given", "subject", "axes", "reference", "pieces")
    return columns["head"][place] is not None and not any(columns[name][place] for name in empty)


def _refuse_statistics(columns: Columns, places: Sequence[int]) -> None:
    for name, place in _firsts(columns["statistic"], places).items():
        if name is None or not is_batch_statistic(name) or batch_statistic(name).of != "counts":
            raise _damaged(place, f"there is no statistic {name!r} of formulas")
    for over, place in _firsts(columns["over"], places).items():
        if over is None or over < 1:
            raise _damaged(place, "'over' is no number of rows")


def _firsts(values: Sequence[Any], places: Sequence[int]) -> dict[Any, int]:
    """The values at some places, each with the first place that it has."""
    found: dict[Any, int] = {}
    for place in places:
        found.setdefault(values[place], place)
    return found


def _refuse_shapeless(rules: RuleSet, place: int) -> None:
    try:
        form = rules.form(place)
        check_rule(form)
        again = read_form(sentence_of(form))
    except SqrlError as error:
        raise error.at(f"rules[{place}]") from None
    except (AssertionError, TypeError, ValueError, KeyError, IndexError, AttributeError):
        raise _damaged(place, "its columns make no sentence") from None
    if _spoken(again) != _spoken(form):
        raise _damaged(place, "its columns make another sentence")


def _spoken(form: Form) -> tuple[Any, ...]:
    """What a sentence says of a rule: all but what is kept beside it, and `?` as no bound."""
    bounds = [_known((piece.lower, piece.upper, piece.test)) for piece in form.pieces]
    said = (form.kind, form.given, form.statistic, form.subject, form.body, form.head)
    return (*said, form.over, form.axes, bounds)


def _known(bounds: tuple[Any, ...]) -> list[Any]:
    return [None if isinstance(bound, Hole) else bound for bound in bounds]


def _damaged(place: int, why: str) -> RulesFileError:
    return RulesFileError(f"A rule is damaged: {why}.", where=f"rules[{place}]", fix=AGAIN)
