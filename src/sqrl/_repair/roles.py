"""What may change in a table of predictions, and what each rule can do about it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqrl._data.table import Table
from sqrl._language.forms import Form
from sqrl._language.names import sequence_of
from sqrl._language.tree import Name, Node
from sqrl._rows.sequences import RowOrder, columns_behind, is_sequence
from sqrl._rules.needed_columns import columns_of, names_in, parts_of
from sqrl.errors import DataError

GROUPED = "about mini-batches, not about single rows"
UNTOUCHED = "names nothing that may change"
EXPRESSION = "bounds an expression, not a column by itself"
CONDITION = "only its condition may change"
MIXED = "speaks of the label in another way than as a class"
UNRANKED = "another class can be chosen for it only with probabilities"
NO_CLASS = "implies something other than a class"
NEITHER = "neither bounds a value nor implies a class"
SEQUENCE = "looks at the rows before, which may change as well"


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """The rules that clip each column, those that decide on the label, and why others do neither.

    Rules are given by their places in the rule set.
    """

    clip: Mapping[str, tuple[int, ...]]
    label: tuple[int, ...]
    left_out: Mapping[int, str]

    def mended(self) -> list[int]:
        """The places of the rules that are repaired, in order."""
        return sorted({*self.label, *(place for places in self.clip.values() for place in places)})


def roles_of(
    forms: Sequence[Form],
    statistics: Mapping[str, Node],
    columns: Sequence[str],
    label: str | None,
    *,
    is_ranked: bool,
    row_order: RowOrder | None = None,
) -> Roles:
    """The role of each rule, where `columns` and the `label` (None: not even it) may change."""
    may_change = {*columns, *([] if label is None else [label])}
    clip: dict[str, list[int]] = {name: [] for name in columns}
    of_label: list[int] = []
    left_out: dict[int, str] = {}
    for place, form in enumerate(forms):
        sequences = [name for name in columns_of([form], statistics) if is_sequence(name)]
        if form.is_single and columns_behind(sequences, row_order, statistics) & may_change:
            left_out[place] = SEQUENCE
            continue
        bare = bare_subject(form, statistics)
        if bare in clip:
            clip[bare].append(place)
            continue
        reason = _why_not(form, statistics, set(columns), label, is_ranked=is_ranked)
        if reason is None:
            of_label.append(place)
        else:
            left_out[place] = reason
    used = {name: tuple(places) for name, places in clip.items() if places}
    return Roles(used, tuple(of_label), left_out)


def bare_subject(form: Form, statistics: Mapping[str, Node]) -> str | None:
    """The column that a rule about single rows bounds, if it is one and not an expression.

    >>> from sqrl._language.forms import read_form
    >>> from sqrl._language import parse
    >>> bare_subject(read_form(parse("a > 1 => x <= 3")), {})
    'x'
    """
    if form.bounds_rows and isinstance(form.subject, Name):
        name = form.subject.name
        return None if name in statistics or sequence_of(name) is not None else name
    return None


def _why_not(  # noqa: PLR0911  (one for each reason)
    form: Form,
    statistics: Mapping[str, Node],
    columns: set[str],
    label: str | None,
    *,
    is_ranked: bool,
) -> str | None:
    """Why a rule that clips nothing cannot decide on the label either; None where it can."""
    if not form.is_single:
        return GROUPED
    if not form.has_bounds and not form.implies_class:
        return NEITHER
    formulas, subject = parts_of(form)
    named = names_in((*formulas, *subject), statistics)
    if not named & (columns | ({label} if label else set())):
        return UNTOUCHED
    if label is None or label not in named:
        if form.implies_class:
            return NO_CLASS
        return EXPRESSION if names_in(subject, statistics) & columns else CONDITION
    if form.implies_class:
        assert form.head is not None
        is_plain = names_in((form.head,), statistics) == {label}
        return None if is_plain and label not in names_in(form.given, statistics) else MIXED
    others = (*(piece.test for piece in form.pieces if piece.test is not None), *subject)
    about = about_label(form, label, statistics)
    if label in names_in(others, statistics) or any(
        names_in((node,), statistics) != {label} for node in about
    ):
        return MIXED
    return None if is_ranked else UNRANKED


def about_label(form: Form, label: str, statistics: Mapping[str, Node]) -> tuple[Node, ...]:
    """The conditions of a rule that speak of the label."""
    return tuple(node for node in form.given if label in names_in((node,), statistics))


def predicted_columns(
    forms: Sequence[Form], statistics: Mapping[str, Node], table: Table
) -> list[str]:
    """The columns that rules bound and use for nothing else; raises where there is doubt.

    A column that is bounded here and a condition there may as well be what a model was given.
    """
    bare = dict.fromkeys(bare_subject(form, statistics) for form in forms)
    bare.pop(None, None)
    used: set[str] = set()
    for form in forms:
        formulas, subject = parts_of(form)
        is_expression = form.bounds_rows and bare_subject(form, statistics) is None
        used |= names_in((*formulas, *subject) if is_expression else formulas, statistics)
    numbers = [name for name in bare if name and table[name].kind == "number"]
    if not numbers:
        raise DataError(
            "Nothing says which columns are predictions.",
            where=table.source,
            fix="name them with columns=, or the column with the predicted class with prediction=",
        )
    doubtful = [name for name in numbers if name in used]
    if doubtful:
        raise DataError(
            f"It is not clear whether {doubtful[0]!r} is a prediction: "
            "some rules bound it, others use it.",
            where=table.source,
            fix=f"name the columns that may change, such as columns=[{doubtful[0]!r}]",
        )
    return numbers


def check_numbers(names: Iterable[str], table: Table) -> None:
    """Raise where a column that may change is not there, or holds no numbers."""
    for name in names:
        if table[name].kind != "number":
            raise DataError(
                f"Column {name!r} does not hold numbers, so it cannot be clipped.",
                where=table.source,
                fix="name the column with the predicted class with prediction=",
            )
