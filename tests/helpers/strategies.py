"""Hypothesis strategies for trees of the rule language, for tables, and for formulas about them."""

from functools import cache

from hypothesis import strategies as st

from sqrl._language.forms import Form, Piece
from sqrl._language.names import KEYWORDS
from sqrl._language.tree import (
    And,
    Between,
    Binary,
    Bucket,
    Call,
    Choice,
    Compare,
    Each,
    Hole,
    Implies,
    In,
    Known,
    Name,
    Negative,
    Not,
    Number,
    Or,
    Repeat,
    Sentence,
    Truth,
    Units,
    Word,
)

ODD_NAMES = (
    "Glasgow Coma Score",
    "a`b",
    "``",
    "1st",
    "größe",
    "年齢",
    "a.b",
    "x\ny",
    "?",
    "-",
    " ",
)
ODD_WORDS = ("", "Person sitting", 'say "hi"', "it's", "a\\b", "a\nb", "\t", "1", "-1", "ß", "🚗")
ORDERED = ("<", "<=", ">", ">=")


def plain_names():
    """Names that need no backticks, with some that begin like a keyword."""
    near = [f"{keyword}{end}" for keyword in sorted(KEYWORDS) for end in ("x", "_", "1")]
    return st.sampled_from(["age", "width", "L", "A", "_x", "é", *near])


def names():
    """Any text that can name a column."""
    odd = st.sampled_from([*ODD_NAMES, *sorted(KEYWORDS)])
    return st.one_of(plain_names(), odd, st.text(min_size=1, max_size=6))


def words():
    """Any text that can be a category."""
    odd = st.sampled_from([*ODD_WORDS, *sorted(KEYWORDS)])
    return st.one_of(plain_names(), odd, st.text(max_size=6))


def numbers():
    """Any number that a rule can hold: whole, tiny, huge, negative."""
    exact = st.sampled_from([0.0, 1.0, 0.1, 1e15, 1e16, 1e-300, 5e-324, 1.7976931348623157e308])
    signed = st.builds(lambda size, sign: size * sign, exact, st.sampled_from([1.0, -1.0]))
    return st.one_of(
        st.integers(-1000, 1000).map(float),
        st.floats(allow_nan=False, allow_infinity=False),
        signed,
    )


def constants():
    """A value to compare a column with."""
    return st.one_of(numbers().map(Number), words().map(Word), st.booleans().map(Truth))


def counts(least, most=1_000_000_000):
    """How many buckets, literals or rows."""
    return st.one_of(st.integers(least, 10), st.integers(least, most))


@st.composite
def expressions(draw):
    """A tree that gives a number, or is a name."""
    return draw(_expressions())


@st.composite
def formulas(draw):
    """A tree that is true or false, or is a name."""
    return draw(_formulas())


@st.composite
def sentences(draw):
    """A whole sentence, as any text could give it: most are no rules."""
    claim = draw(st.one_of(expressions(), formulas(), _calls()))
    by = draw(st.lists(st.builds(Bucket, expressions(), st.integers(2, 16)), max_size=2))
    over = st.none() | counts(1) | st.builds(Units, counts(1))
    return Sentence(claim, tuple(by), draw(over))


@cache
def _calls():
    arguments = st.lists(formulas() | expressions(), max_size=3).map(tuple)
    return st.builds(Call, names(), arguments)


@cache
def _expressions():
    leaves = st.one_of(numbers().map(Number), names().map(Name), st.just(Hole()))

    def grow(below):
        arguments = st.lists(below, max_size=3)
        operators = st.sampled_from(["+", "-", "*", "/", "**"])
        return st.one_of(
            st.builds(Binary, operators, below, below),
            below.map(lambda node: node if isinstance(node, Number) else Negative(node)),
            st.builds(Call, names(), arguments.map(tuple)),
        )

    return st.recursive(leaves, grow, max_leaves=8)


@cache
def _formulas():
    return st.recursive(_comparisons(expressions()), _connect, max_leaves=8)


def _comparisons(operands):
    """Formulas without connectives."""
    equality = st.sampled_from(["=", "!="])
    # What the parser would read as another tree is mapped, not filtered: that is faster.
    places = operands.map(lambda node: Name("a") if isinstance(node, Number | Hole) else node)
    categories = st.one_of(words().map(Word), st.booleans().map(Truth))
    computed = operands.map(lambda node: Negative(node) if isinstance(node, Name) else node)
    rising = st.sampled_from(["<", "<="])
    spans = st.tuples(counts(1), counts(1)).map(sorted)
    return st.one_of(
        names().map(Name),
        st.builds(Compare, operands, st.sampled_from(ORDERED), operands),
        st.builds(Compare, places, equality, categories),
        st.builds(Compare, operands, equality, computed),
        st.builds(Between, operands, rising, operands, rising, operands),
        st.builds(In, operands, st.lists(constants(), min_size=1, max_size=4).map(tuple)),
        st.builds(In, operands, st.just((Hole(),))),
        st.builds(Known, operands),
        st.builds(Each, operands, counts(2)),
        st.builds(lambda name, span: Repeat(name, *span), names(), spans),
    )


def _connect(below):
    """Formulas joined to larger ones; `and` and `or` are flat."""
    return st.one_of(
        below.map(Not),
        below.map(Known),
        _several(below, And),
        _several(below, Or),
        st.builds(Implies, below, below),
        st.builds(Choice, below, below, below),
    )


def _several(below, kind):
    other = below.map(lambda node: Not(node) if isinstance(node, kind) else node)
    return st.lists(other, min_size=2, max_size=3).map(lambda items: kind(tuple(items)))


# Tables of two numbers, a boolean, zeros and ones, and categories; any can be missing.
STATISTICS = {
    "ratio": Binary("/", Name("x"), Name("y")),
    "twice": Binary("*", Number(2.0), Name("ratio")),
}
CATEGORIES = ("Car", "Van", "Person sitting", "1", "true")


def table_rows(min_size=1, max_size=12):
    """The rows of a table: dicts of plain values, None where a value is missing."""
    number = st.none() | st.integers(-3, 3).map(float) | st.sampled_from([0.5, -0.25, 1e-3, 1e9])
    row = st.fixed_dictionaries(
        {
            "x": number,
            "y": number,
            "flag": st.none() | st.booleans(),
            "bit": st.none() | st.sampled_from([0.0, 1.0]),
            "kind": st.none() | st.sampled_from(CATEGORIES[:3]) | st.sampled_from(CATEGORIES),
        }
    )
    return st.lists(row, min_size=min_size, max_size=max_size)


def columns_of(rows):
    """The same rows as a dict of columns, of which `as_table` makes a table."""
    return {name: [row[name] for row in rows] for name in ("x", "y", "flag", "bit", "kind")}


@st.composite
def table_numbers(draw):
    """An expression about the columns of `table_rows`, of operations that are exact everywhere."""
    return draw(_table_numbers())


@st.composite
def table_formulas(draw):
    """A formula about the columns of `table_rows`."""
    return draw(_table_formulas())


@cache
def _table_numbers():
    literals = st.sampled_from([-2.0, -0.5, 0.0, 1.0, 3.0]).map(Number)
    columns = st.sampled_from(["x", "y", "flag", "bit", "ratio", "twice"]).map(Name)

    def grow(below):
        operators = st.sampled_from(["+", "-", "*", "/"])
        one = st.tuples(below)
        several = st.lists(below, min_size=1, max_size=3).map(tuple)
        return st.one_of(
            st.builds(Binary, operators, below, below),
            below.map(Negative),
            st.builds(Call, st.sampled_from(["abs", "sqrt"]), one),
            st.builds(Call, st.sampled_from(["min", "max"]), several),
        )

    return st.recursive(literals | columns, grow, max_leaves=5)


@cache
def _table_formulas():
    operands, rising = table_numbers(), st.sampled_from(["<", "<="])
    equality = st.sampled_from(["=", "!="])
    any_order = st.sampled_from([*ORDERED, "=", "!="])
    categories = st.sampled_from([*CATEGORIES, "Tram"]).map(Word) | st.sampled_from(
        [Number(1.0), Truth(True)]
    )
    values = st.sampled_from([Number(1.0), Number(0.0), Truth(True), Truth(False), Word("1")])
    kind = st.just(Name("kind"))
    comparisons = st.one_of(
        st.sampled_from(["flag", "bit"]).map(Name),
        st.builds(Compare, operands, any_order, operands),
        st.builds(Compare, operands, equality, values),
        st.builds(Compare, kind, equality, categories),
        st.builds(Between, operands, rising, operands, rising, operands),
        st.builds(In, kind, st.lists(categories, min_size=1, max_size=3).map(tuple)),
        st.builds(In, operands, st.lists(values, min_size=1, max_size=3).map(tuple)),
        st.builds(Known, operands),
        st.builds(Known, kind),
    )
    return st.recursive(comparisons, _connect, max_leaves=6)


CUTS = [-1.0, 0.0, 1.0, 2.0]


@st.composite
def intervals_of(draw, test=None):
    """A closed interval, open on one side at most."""
    low = draw(st.none() | st.integers(-3, 3))
    high = draw(st.none() | st.integers(low if low is not None else -3, 4))
    if low is None and high is None:
        high = 1
    return Piece(*(None if end is None else Number(float(end)) for end in (low, high)), test)


@st.composite
def piece_tests(draw):
    """The tests of all pieces but the last: none, by one expression, by two, or any formulas."""
    way = draw(st.sampled_from(["none", "by one", "by two", "any"]))
    if way == "none":
        return []
    cuts = sorted(draw(st.sets(st.sampled_from(CUTS), min_size=1, max_size=3)))
    if way == "any":
        return [draw(table_formulas()) for _ in cuts]
    by = draw(table_numbers())
    tests = [Compare(by, "<=", Number(cut)) for cut in cuts]
    if way == "by two":
        other = Name(draw(st.sampled_from(["x", "y", "bit"])))
        ends = [Compare(other, "<=", Number(end)) for end in (0.0, 1.0)]
        tests = [And((test, end)) for test in tests for end in ends]
    return tests


@st.composite
def single_forms(draw):
    """A sample or a class rule about the columns of `table_rows`."""
    given = tuple(draw(st.lists(table_formulas(), max_size=2)))
    if draw(st.sampled_from(["sample", "sample", "class"])) == "class":
        return Form(kind="class", given=given, head=draw(table_formulas()))
    tests = [*draw(piece_tests()), None]
    pieces = tuple(draw(intervals_of(test)) for test in tests)
    subject = draw(table_numbers())
    return Form(kind="sample", given=given, subject=subject, pieces=pieces)
