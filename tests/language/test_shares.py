"""Sentences about shares: read, printed and taken apart."""

import numpy as np
import pytest

from sqrl._language import parse, parse_formula, to_text
from sqrl._language.cell_text import cell_text
from sqrl._language.forms import read_form, sentence_of
from sqrl._language.parser import as_axis
from sqrl._language.reference import CellAxis, Reference
from sqrl._language.statistics import batch_statistic
from sqrl._language.tree import Bucket, Name
from sqrl.errors import ParseError

TEXTS = (
    "distance(city) <= 0.08 over 256",
    "distance(age/10) <= 0.1 over 256",
    "distance(income/4 given age/4) <= 0.12 over 256",
    "distance(currency given country) <= ? over 256",
    "type = Car => ? <= distance((a - b)/8 given type) <= ? over 64",
    "distance(given/4 given given) <= 0.1 over 8",
    "distance(a / b) <= 0.1 over 8",
    "distance(a / 2.5) <= 0.1 over 8",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_sentence_about_shares_is_printed_as_it_is_read(text):
    """And put together again from its form."""
    sentence = parse(text)

    assert to_text(sentence) == text
    assert sentence_of(read_form(sentence)) == sentence
    assert read_form(sentence).kind == "shares"


def test_the_axes_are_what_stands_before_and_after_given():
    """With their buckets; a column may be called given."""
    form = read_form(parse("distance(income/4 given age) <= 0.12 over 256"))

    assert form.axes == (Bucket(Name("income"), 4), Name("age"))
    assert read_form(parse("? <= mean(given) <= ? over 9")).subject == Name("given")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("distance(a > 3) <= 1 over 9", "distance(...) needs columns or expressions."),
        ("mean(a given b) <= 1 over 9", "mean(...) needs a number of each row."),
        ("rate(a given b) <= 1 over 9", "rate(...) needs a formula."),
        ("distance(a) <= 1", "distance(...) is a statistic of a mini-batch of unknown size."),
        (
            "distance(a > 3 given b) <= 1 over 9",
            "'a > 3' is true or false where a number is needed.",
        ),
    ],
)
def test_what_is_no_axis_is_refused(text, message):
    """In the words of the statistic."""
    with pytest.raises(ParseError) as error:
        read_form(parse(text))

    assert str(error.value).splitlines()[0] == message


def test_distance_is_the_share_of_rows_that_would_have_to_move():
    """Of several strata the mean, weighed by rows; a stratum the reference lacks does not count."""
    distance = batch_statistic("distance")
    reference = np.array([[50.0, 50.0], [10.0, 30.0], [0.0, 0.0]])
    counts = np.array([[[8.0, 2.0], [0.0, 10.0], [5.0, 5.0]], np.zeros((3, 2))])

    assert distance(counts, reference).tolist() == [
        pytest.approx((0.3 * 10 + 0.25 * 10) / 20),
        pytest.approx(np.nan, nan_ok=True),
    ]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (CellAxis, "only one of them"),
        (lambda: CellAxis(cuts=(1.0,), words=("a",)), "only one of them"),
        (lambda: CellAxis(cuts=(2.0, 1.0)), "rise"),
        (lambda: CellAxis(numbers=(1.0, float("inf"))), "finite"),
        (lambda: CellAxis(words=("a", "a")), "differ"),
        (lambda: CellAxis(cuts=tuple(map(float, range(1001)))), "at most 1,000"),
        (lambda: Reference(axes=(), counts=()), "one axis, or two"),
        (lambda: Reference(axes=(CellAxis(cuts=()),), counts=(0,)), "some above"),
        (lambda: Reference(axes=(CellAxis(cuts=()),), counts=(-1,)), "none below 0"),
        (lambda: Reference(axes=(CellAxis(cuts=()),), counts=(1, 2)), "of 1 cells has 2 counts"),
    ],
)
def test_a_reference_that_makes_no_sense_is_refused(made, why):
    """Whoever makes it: a file, or code."""
    with pytest.raises(ValueError, match=why):
        made()


def test_cells_are_told_in_words():
    """A number with a cell of its own is told as one; below it and above it are others."""
    zero = float(np.nextafter(0.0, -1.0))
    axis, node = CellAxis(cuts=(zero, 0.0, 5.0)), parse_formula("x/4")

    assert [cell_text(node, axis, cell) for cell in range(4)] == [
        *["x / 4 < 0", "x / 4 = 0"],
        *["0 < x / 4 <= 5", "x / 4 > 5"],
    ]
    assert [cell_text(as_axis(node), axis, cell) for cell in range(2)] == ["x < 0", "x = 0"]
    numbers = CellAxis(numbers=(1.0, 2.0))
    assert [cell_text(Name("n"), numbers, cell) for cell in (1, 2)] == [
        "n = 2",
        "other values of n",
    ]
    assert cell_text(Name("n"), CellAxis(cuts=()), 0) == "n"
