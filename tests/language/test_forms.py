"""Forms: a sentence taken apart and put together, for templates and for rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from sqrl._language import parse, parse_formula, to_text
from sqrl._language.forms import Form, Piece, read_form, sentence_of
from sqrl._language.tree import Bucket, Choice, Hole, Name, Number, Sentence, conjuncts
from sqrl.errors import ParseError


def formulas(*texts):
    """Several formulas as trees."""
    return tuple(parse_formula(text) for text in texts)


def piece(lower, upper, test=None):
    """A piece with numbers for bounds, or holes, or open ends."""
    bounds = [Hole() if b == "?" else None if b is None else Number(b) for b in (lower, upper)]
    return Piece(*bounds, None if test is None else parse_formula(test))


FORMS = [
    (
        "3 <= GCS <= 15",
        Form(kind="sample", subject=Name("GCS"), pieces=(piece(3.0, 15.0),)),
    ),
    (
        "type = Y and a => ? <= w / h <= ? by area/4, w/2",
        Form(
            kind="sample",
            given=formulas("type = Y", "a"),
            subject=parse_formula("w / h"),
            pieces=(piece("?", "?"),),
            by=(Bucket(Name("area"), 4), Bucket(Name("w"), 2)),
        ),
    ),
    ("known(x)", Form(kind="class", head=parse_formula("known(x)"))),
    ("not known(x) or x = 3", Form(kind="class", head=parse_formula("not known(x) or x = 3"))),
    ("city in ?", Form(kind="class", head=parse_formula("city in ?"))),
    (
        "a and b => city in [Oslo, Bergen]",
        Form(kind="class", given=formulas("a", "b"), head=parse_formula("city in [Oslo, Bergen]")),
    ),
    ("age <= 5", Form(kind="sample", subject=Name("age"), pieces=(piece(None, 5.0),))),
    ("? <= age", Form(kind="sample", subject=Name("age"), pieces=(piece("?", None),))),
    (
        "a => x <= 1 if t <= 3 else 2 <= x <= 4 if u and v else 5 <= x",
        Form(
            kind="sample",
            given=formulas("a"),
            subject=Name("x"),
            pieces=(piece(None, 1.0, "t <= 3"), piece(2.0, 4.0, "u and v"), piece(5.0, None)),
        ),
    ),
    (
        "a => -0.02 <= mean(x - y) <= 0.03 over 256",
        Form(
            kind="batch",
            given=formulas("a"),
            statistic="mean",
            subject=parse_formula("x - y"),
            pieces=(piece(-0.02, 0.03),),
            over=256,
        ),
    ),
    (
        "0.6 <= f1(a and not b => y = 1) over 64",
        Form(
            kind="logic",
            statistic="f1",
            body=formulas("a", "not b"),
            head=parse_formula("y = 1"),
            pieces=(piece(0.6, None),),
            over=64,
        ),
    ),
    (
        "? <= rate(a and b) <= ? over 64",
        Form(
            kind="logic",
            statistic="rate",
            body=formulas("a", "b"),
            pieces=(piece("?", "?"),),
            over=64,
        ),
    ),
    (
        "a and 0.31 <= x <= 0.64 => y = p",
        Form(kind="class", given=formulas("a", "0.31 <= x <= 0.64"), head=parse_formula("y = p")),
    ),
    (
        "a in each of 4 and ? <= x <= ? => y = Y",
        Form(
            kind="class",
            given=formulas("a in each of 4"),
            subject=Name("x"),
            pieces=(piece("?", "?"),),
            head=parse_formula("y = Y"),
        ),
    ),
    ("smoke => cardio", Form(kind="class", given=formulas("smoke"), head=Name("cardio"))),
    (
        "a => 0.5 < x",
        Form(kind="class", given=formulas("a"), head=parse_formula("0.5 < x")),
    ),
]


@pytest.mark.parametrize(("text", "form"), FORMS)
def test_a_sentence_is_taken_apart(text, form):
    """Each kind of rule has its own parts, and no others."""
    assert read_form(parse(text)) == form


@pytest.mark.parametrize("text", [text for text, _ in FORMS])
def test_a_form_gives_its_sentence_back(text):
    """Taking apart and putting together are inverse to each other."""
    assert to_text(sentence_of(read_form(parse(text)))) == text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("5 >= age", "age <= 5"),
        ("age >= 5", "5 <= age"),
        ("15 >= GCS >= 3", "3 <= GCS <= 15"),
        ("a => b => x <= 5", "a and b => x <= 5"),
        ("a => (b and c => y = 1)", "a and b and c => y = 1"),
        ("? <= x <= ? and a => y = 1", "a and ? <= x <= ? => y = 1"),
        (
            "(x <= 1 if a else x <= 2) if b else x <= 3",
            "x <= 1 if b and a else x <= 2 if b else x <= 3",
        ),
        (
            "x <= 1 if a else (x <= 2 if b else x <= 3)",
            "x <= 1 if a else x <= 2 if b else x <= 3",
        ),
    ],
)
def test_sentences_that_say_the_same_have_the_same_form(text, same):
    """There is one way to write each rule down."""
    assert read_form(parse(text)) == read_form(parse(same))
    assert to_text(sentence_of(read_form(parse(text)))) == same


subjects = strategies.expressions().filter(lambda node: "?" not in to_text(node))
varying = subjects.map(lambda node: parse_formula(f"({to_text(node)}) + z"))
closed = strategies.formulas().filter(lambda node: "?" not in to_text(node))
numbers = strategies.numbers().map(Number)
bounds = st.one_of(
    st.builds(Piece, numbers, numbers),
    st.builds(Piece, numbers, st.none()),
    st.builds(Piece, st.none(), numbers),
    st.just(Piece(Hole(), Hole())),
)


@st.composite
def forms(draw):
    """A form of any kind, as `read_form` gives it."""
    given = tuple(part for f in draw(st.lists(closed, max_size=2)) for part in conjuncts(f))
    kind = draw(st.sampled_from(["sample", "batch", "logic", "rate", "class"]))
    over = draw(strategies.counts(1))
    if kind == "class":
        return Form(kind="class", given=(Name("z"), *given), head=Name("y"))
    if kind == "logic":
        head = draw(closed)
        body = conjuncts(draw(closed))
        common = {"given": given, "pieces": (draw(bounds),), "over": over}
        return Form(kind="logic", statistic="f1", body=(*body, Name("z")), head=head, **common)
    if kind == "rate":
        common = {"given": given, "pieces": (draw(bounds),), "over": over}
        return Form(kind="logic", statistic="rate", body=(Name("z"), *given), **common)
    if kind == "batch":
        common = {"given": given, "pieces": (draw(bounds),), "over": over}
        return Form(kind="batch", statistic="mean", subject=draw(varying), **common)
    tests = draw(st.lists(closed, max_size=3))
    pieces = [Piece(p.lower, p.upper, t) for t in tests for p in [draw(bounds)]]
    return Form(kind="sample", given=given, subject=draw(varying), pieces=(*pieces, draw(bounds)))


@given(forms())
def test_reading_the_sentence_of_a_form_gives_the_form_back(form):
    """Rules are saved as sentences and nothing is lost."""
    text = to_text(sentence_of(form))

    assert read_form(parse(text)) == form


@given(strategies.sentences())
def test_any_sentence_has_a_form_or_is_refused(sentence):
    """No sentence fails in another way than by a message."""
    try:
        form = read_form(sentence)
    except ParseError:
        return

    assert read_form(sentence_of(form)) == form


def test_a_rule_of_many_pieces_is_taken_apart():
    """Hundreds of buckets are no reason to run out of stack."""
    claim = parse_formula("x <= 1")
    for _ in range(255):
        claim = Choice(parse_formula("x <= 1"), Name("t"), claim)
    form = read_form(Sentence(claim))

    assert len(form.pieces) == 256
    assert sentence_of(form) == Sentence(claim)


REFUSED = [
    (
        "? <= x <= ? => city in ?",
        "A rule that implies a class can infer one interval.\n"
        "  where: ? <= x <= ? => city in ?\n"
        "  fix:   write '? <= a <= ? => y = Y', or bucket the other: 'b in each of 4 and ...'",
    ),
    (
        "3 in ?",
        "'3' is the same in every row: there is nothing to bound.\n"
        "  where: 3 in ?\n"
        "  fix:   bound a column or an expression of columns, such as '? <= age <= ?'",
    ),
    (
        "a and b",
        "'a and b' is a formula, not a rule.\n"
        "  fix:   a rule bounds something ('? <= age <= ?', never '<') "
        "or implies a class ('... => y = 1'); known(age) and city in [Oslo] are rules too",
    ),
    (
        "0 < age < 5",
        "'0 < age < 5' is a formula, not a rule.\n"
        "  fix:   a rule bounds something ('? <= age <= ?', never '<') "
        "or implies a class ('... => y = 1'); known(age) and city in [Oslo] are rules too",
    ),
    (
        "x <= 5 if a else b",
        "'x <= 5 if a else b' is a formula, not a rule.\n"
        "  fix:   a rule bounds something ('? <= age <= ?', never '<') "
        "or implies a class ('... => y = 1'); known(age) and city in [Oslo] are rules too",
    ),
    (
        "x <= 5 if a else w <= 3",
        "Every piece of a rule must bound the same thing.\n"
        "  where: x <= 5 if a else w <= 3\n"
        "  fix:   write x in each piece, or make several rules",
    ),
    (
        "x <= 5 if a else x <= 3 by b/4",
        "A rule in pieces cannot be bucketed once more with 'by'.\n"
        "  where: x <= 5 if a else x <= 3 by b/4\n"
        "  fix:   leave out either 'if ... else ...' or 'by'",
    ),
    (
        "? <= ?",
        "'?' is the same in every row: there is nothing to bound.\n"
        "  where: ? <= ?\n"
        "  fix:   bound a column or an expression of columns, such as '? <= age <= ?'",
    ),
    (
        "1 <= 2 <= 3",
        "'2' is the same in every row: there is nothing to bound.\n"
        "  where: 1 <= 2 <= 3\n"
        "  fix:   bound a column or an expression of columns, such as '? <= age <= ?'",
    ),
    (
        "1 <= ? => y = 1",
        "'?' is the same in every row: there is nothing to bound.\n"
        "  where: 1 <= ? => y = 1\n"
        "  fix:   bound a column or an expression of columns, such as '? <= age <= ?'",
    ),
    (
        "? <= age + ? <= 5",
        "'?' can stand only for a bound of what the rule is about.\n"
        "  where: ? <= age + ? <= 5\n"
        "  fix:   write '? <= age <= ?' or 'city in ?' last, and a number or a hole such as A "
        "elsewhere",
    ),
    (
        "? <= a <= ? => ? <= b <= ?",
        "'?' can stand only for a bound of what the rule is about.\n"
        "  where: ? <= a <= ? => ? <= b <= ?\n"
        "  fix:   write '? <= age <= ?' or 'city in ?' last, and a number or a hole such as A "
        "elsewhere",
    ),
    (
        "a => y = ?",
        "'?' can stand only for a bound of what the rule is about.\n"
        "  where: a => y = ?\n"
        "  fix:   write '? <= age <= ?' or 'city in ?' last, and a number or a hole such as A "
        "elsewhere",
    ),
    (
        "? <= f1(a > ? => y = 1) over 64",
        "'?' can stand only for a bound of what the rule is about.\n"
        "  where: ? <= f1(a > ? => y = 1) over 64\n"
        "  fix:   write '? <= age <= ?' or 'city in ?' last, and a number or a hole such as A "
        "elsewhere",
    ),
    (
        "x <= 1 if a > ? else x <= 2",
        "'?' can stand only for a bound of what the rule is about.\n"
        "  where: x <= 1 if a > ? else x <= 2\n"
        "  fix:   write '? <= age <= ?' or 'city in ?' last, and a number or a hole such as A "
        "elsewhere",
    ),
    (
        "? <= x <= ? by ?/4",
        "'?' can stand only for a bound of what the rule is about.\n"
        "  where: ? <= x <= ? by ?/4\n"
        "  fix:   write '? <= age <= ?' or 'city in ?' last, and a number or a hole such as A "
        "elsewhere",
    ),
    (
        "? <= age <= ? over 64",
        "'over 64' needs a statistic of a mini-batch.\n"
        "  where: ? <= age <= ? over 64\n"
        "  fix:   write mean(age), or leave 'over' out",
    ),
    (
        "? <= mean(age) <= ?",
        "mean(...) is a statistic of a mini-batch of unknown size.\n"
        "  where: ? <= mean(age) <= ?\n"
        "  fix:   add its size at the end, such as 'over 256'",
    ),
    (
        "? <= meen(age) <= ? over 64",
        "Unknown statistic 'meen'.\n"
        "  where: ? <= meen(age) <= ? over 64\n"
        "  fix:   did you mean 'mean'?",
    ),
    (
        "? <= mean(age) <= ? by area/4 over 64",
        "A mini-batch rule cannot be bucketed with 'by'.\n"
        "  where: ? <= mean(age) <= ? by area/4 over 64\n"
        "  fix:   make the bucket a condition: "
        "'area in each of 4 => ? <= mean(width) <= ? over 64'",
    ),
    (
        "mean(age) <= 1 if a else mean(age) <= 2 over 64",
        "A mini-batch rule cannot be bucketed with 'by'.\n"
        "  where: mean(age) <= 1 if a else mean(age) <= 2 over 64\n"
        "  fix:   make the bucket a condition: "
        "'area in each of 4 => ? <= mean(width) <= ? over 64'",
    ),
    (
        "? <= f1(a and b) over 64",
        "f1(...) needs a body and a head.\n"
        "  where: ? <= f1(a and b) over 64\n"
        "  fix:   write f1(smoke and age > 50 => cardio = 1)",
    ),
    (
        "? <= mean(age > 50) over 64",
        "mean(...) needs a number of each row.\n"
        "  where: ? <= mean(age > 50) over 64\n"
        "  fix:   write mean(age), or rate(age > 50)",
    ),
    (
        "? <= rate(age + 1) over 64",
        "rate(...) needs a formula.\n"
        "  where: ? <= rate(age + 1) over 64\n"
        "  fix:   write rate(age > 50)",
    ),
    (
        "a => y = 1 by b/4",
        "A rule that implies a class takes neither 'by' nor 'over'.\n"
        "  where: a => y = 1 by b/4\n"
        "  fix:   make the bucket a condition: 'area in each of 4 and ? <= x <= ? => y = 1'",
    ),
    (
        "a => y = 1 over 64",
        "A rule that implies a class takes neither 'by' nor 'over'.\n"
        "  where: a => y = 1 over 64\n"
        "  fix:   make the bucket a condition: 'area in each of 4 and ? <= x <= ? => y = 1'",
    ),
    (
        "? <= a <= ? and ? <= b <= ? => y = 1",
        "A rule that implies a class can infer one interval.\n"
        "  where: ? <= a <= ? and ? <= b <= ? => y = 1\n"
        "  fix:   write '? <= a <= ? => y = Y', or bucket the other: 'b in each of 4 and ...'",
    ),
    (
        "? < a < ? => y = 1",
        "A rule that implies a class can infer one interval.\n"
        "  where: ? < a < ? => y = 1\n"
        "  fix:   write '? <= a <= ? => y = Y', or bucket the other: 'b in each of 4 and ...'",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_sentence_that_is_no_rule_is_refused(text, message):
    """The message says which form is meant and how it is written."""
    with pytest.raises(ParseError) as error:
        read_form(parse(text))

    assert str(error.value) == message
