"""Hypothesis strategies for trees of the rule language, for tables, and for formulas about them."""

from hypothesis import strategies as st

from sqrl._language.printer import KEYWORDS
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
    Name,
    Negative,
    Not,
    Number,
    Or,
    Repeat,
    Sentence,
    Truth,
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


def expressions(inner=None):
    """Trees that give a number, or are a name; `inner` are the arguments that a call can have."""
    leaves = st.one_of(numbers().map(Number), names().map(Name), st.just(Hole()))

    def grow(below):
        arguments = st.lists(below if inner is None else st.one_of(below, inner), max_size=3)
        operators = st.sampled_from(["+", "-", "*", "/", "**"])
        return st.one_of(
            st.builds(Binary, operators, below, below),
            below.filter(lambda node: not isinstance(node, Number)).map(Negative),
            st.builds(Call, names(), arguments.map(tuple)),
        )

    return st.recursive(leaves, grow, max_leaves=8)


def formulas():
    """Trees that are true or false, or are a name."""
    return st.recursive(_comparisons(expressions()), _connect, max_leaves=8)


def sentences():
    """Whole sentences, as any text could give them: most are no rules."""
    claims = st.one_of(expressions(inner=formulas()), formulas())
    buckets = st.builds(Bucket, expressions(), st.integers(2, 16))
    by = st.lists(buckets, max_size=2).map(tuple)
    return st.builds(Sentence, claims, by, st.none() | counts(1))


def _comparisons(operands):
    """Formulas without connectives."""
    equality = st.sampled_from(["=", "!="])
    places = operands.filter(lambda node: not isinstance(node, Number | Hole))
    categories = st.one_of(words().map(Word), st.booleans().map(Truth))
    computed = operands.filter(lambda node: not isinstance(node, Name))
    rising = st.sampled_from(["<", "<="])
    spans = st.tuples(counts(1), counts(1)).map(sorted)
    return st.one_of(
        names().map(Name),
        st.builds(Compare, operands, st.sampled_from(ORDERED), operands),
        st.builds(Compare, places, equality, categories),
        st.builds(Compare, operands, equality, computed),
        st.builds(Between, operands, rising, operands, rising, operands),
        st.builds(In, operands, st.lists(constants(), min_size=1, max_size=4).map(tuple)),
        st.builds(Each, operands, counts(2)),
        st.builds(lambda name, span: Repeat(name, *span), names(), spans),
    )


def _connect(below):
    """Formulas joined to larger ones; `and` and `or` are flat."""
    return st.one_of(
        below.map(Not),
        _several(below, And),
        _several(below, Or),
        st.builds(Implies, below, below),
        st.builds(Choice, below, below, below),
    )


def _several(below, kind):
    other = below.filter(lambda node: not isinstance(node, kind))
    return st.lists(other, min_size=2, max_size=3).map(lambda items: kind(tuple(items)))


# Tables with two numbers, a boolean, a number of zeros and ones, and categories; any can be missing.
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


def table_numbers():
    """Expressions about the columns of `table_rows`, of operations that are exact everywhere."""
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


def table_formulas():
    """Formulas about the columns of `table_rows`."""
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
    )
    return st.recursive(comparisons, _connect, max_leaves=6)
