"""The bounds of the rules of `detection` as numbers, and how far those of others are from them."""

from collections.abc import Iterator
from typing import Any

from sqrl import RuleSet
from sqrl._language.forms import Form
from sqrl._language.tree import Compare, Name, Number, Word

STATISTICS = ("width", "height", "aspect_ratio", "area", "x_center", "y_bottom")
TAILS, CUTS = (0.01, 0.99), (0.25, 0.5, 0.75)
N_BUCKETS = len(CUTS) + 1
# Of a class: the bounds of a statistic; and by the statistic that is cut, its cuts and the bounds
# within each bucket.
Plain = dict[tuple[str, str], list[float]]
Bucketed = dict[tuple[str, str, str], tuple[list[float], list[list[float]]]]
# Of a class, the statistic that is cut and the one that is bounded: the bounds in each bucket, and
# how often the rule applies and is broken. A rule that cuts nothing has its own statistic as both.
Ends = dict[tuple[str, str, str], list[tuple[float, float]]]
Cuts = dict[tuple[str, str], list[float]]
Found = dict[tuple[str, str, str], list[int]]


def differences(rules: RuleSet, plain: Plain, bucketed: Bucketed) -> Iterator[float]:
    """How far each bound and cut point of the rules is from the given, relative to its size."""
    for index in range(len(rules)):
        form = rules.form(index)
        word, subject, by = _parts(form)
        ours = [bound for pair in _pairs(form) for bound in pair]
        theirs = plain[word, subject]
        if by is not None:
            cuts, pairs = bucketed[word, by, subject]
            ours += _cut_points(form)
            theirs = [bound for pair in pairs for bound in pair] + cuts
        for one, other in zip(ours, theirs, strict=True):
            yield abs(one - other) / max(abs(one), abs(other), 1e-300)


def bounds_of(rules: RuleSet) -> tuple[Ends, Cuts]:
    """The bounds of every rule in every bucket, and the cut points of every class."""
    ends: Ends = {}
    cuts: Cuts = {}
    for form in map(rules.form, range(len(rules))):
        word, subject, by = _parts(form)
        ends[word, by or subject, subject] = _pairs(form) * (1 if by else N_BUCKETS)
        if by:
            cuts[word, by] = _cut_points(form)
    return ends, cuts


def in_order(rules: RuleSet, found: Found) -> list[list[int]]:
    """How often each rule applies and is broken, in the order of the rules."""
    parts = (_parts(rules.form(index)) for index in range(len(rules)))
    return [found[word, by or subject, subject] for word, subject, by in parts]


def _parts(form: Form) -> tuple[str, str, str | None]:
    """The class, the statistic that is bounded, and the one that is cut."""
    (given,) = form.given
    assert isinstance(given, Compare)
    assert isinstance(given.right, Word)
    assert isinstance(form.subject, Name)
    test = form.pieces[0].test
    if test is None:
        return given.right.text, form.subject.name, None
    assert isinstance(test, Compare)
    assert isinstance(test.left, Name)
    return given.right.text, form.subject.name, test.left.name


def _pairs(form: Form) -> list[tuple[float, float]]:
    return [(_number(piece.lower), _number(piece.upper)) for piece in form.pieces]


def _cut_points(form: Form) -> list[float]:
    tests = [piece.test for piece in form.pieces[:-1]]
    return [_number(test.right) for test in tests if isinstance(test, Compare)]


def _number(node: Any) -> float:
    assert isinstance(node, Number)
    return node.value
