"""The language: what is read is the tree it says, and what is printed parses back."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import strategies
from sqrl._language import name_text, number_text, parse, parse_formula, to_text
from sqrl._language.names import KEYWORDS
from sqrl._language.parser import is_expression, is_formula
from sqrl._language.printer import body_text, item_text, word_text
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
    children,
    conjunction,
    conjuncts,
    rewrite,
    walk,
)
from sqrl.errors import ParseError

a, b, c = Name("a"), Name("b"), Name("c")
one, two = Number(1.0), Number(2.0)

# Every sentence of the design, the one with an ellipsis cut short.
DESIGN = [
    "type = Car => 0.07 <= aspect_ratio <= 2.77",
    "type = Pedestrian => 302.6 <= y_bottom <= 514.1 if area <= 4172"
    " else 348.76 <= y_bottom <= 513.24 if area <= 13680.5 else y_bottom <= 520",
    "0.61 <= f1(age > 19834 and not cholesterol = 3 => cardio = 1) <= 0.66 over 4096",
    "3 <= GCS <= 15",
    "0.31 <= fitness_and_health <= 0.64 => sentiment = positive",
    "-0.02 <= mean(residual) <= 0.03 over 256",
    "type = Y => ? <= A <= ?",
    "type = Y => ? <= B <= ? by A/4",
    "? <= f1(L{1..3} => cardio = Y) <= ? over 4096",
    "? <= A <= ? => sentiment = Y",
]


TREES = [
    ("age", Name("age")),
    ("`Glasgow Coma Score`", Name("Glasgow Coma Score")),
    ("`a``b`", Name("a`b")),
    ("`and`", Name("and")),
    ("android", Name("android")),
    ("12", Number(12.0)),
    (".5", Number(0.5)),
    ("1e-5", Number(1e-5)),
    ("-3", Number(-3.0)),
    ("--3", Number(3.0)),
    ("-(3)", Number(-3.0)),
    ("?", Hole()),
    ("-a", Negative(a)),
    ("a - -1", Binary("-", a, Number(-1.0))),
    ("a--1", Binary("-", a, Number(-1.0))),
    ("a - b - c", Binary("-", Binary("-", a, b), c)),
    ("a - (b - c)", Binary("-", a, Binary("-", b, c))),
    ("a + b * c", Binary("+", a, Binary("*", b, c))),
    ("(a + b) * c", Binary("*", Binary("+", a, b), c)),
    ("a / b / c", Binary("/", Binary("/", a, b), c)),
    ("a ** b ** c", Binary("**", a, Binary("**", b, c))),
    ("(a ** b) ** c", Binary("**", Binary("**", a, b), c)),
    ("-a ** b", Negative(Binary("**", a, b))),
    ("(-1) ** b", Binary("**", Number(-1.0), b)),
    ("a ** -b", Binary("**", a, Negative(b))),
    ("f()", Call("f", ())),
    ("f(a, b > 1)", Call("f", (a, Compare(b, ">", one)))),
    ("f1(a => b)", Call("f1", (Implies(a, b),))),
    ("`my f`(a)", Call("my f", (a,))),
    ("a = b", Compare(a, "=", Word("b"))),
    ("a == b", Compare(a, "=", Word("b"))),
    ("a != 'b c'", Compare(a, "!=", Word("b c"))),
    ('a = "b\\nc"', Compare(a, "=", Word("b\nc"))),
    ("a = 'b\\nc'", Compare(a, "=", Word("b\nc"))),
    ("a = 'it\\'s \"so\"'", Compare(a, "=", Word("it's \"so\""))),
    ("a = '\\\\'", Compare(a, "=", Word("\\"))),
    ('a = "two\nlines"', Compare(a, "=", Word("two\nlines"))),
    ("a = true", Compare(a, "=", Truth(True))),
    ("1 = a", Compare(a, "=", one)),
    ("'x' != a", Compare(a, "!=", Word("x"))),
    ("false = a", Compare(a, "=", Truth(False))),
    ("a = (b)", Compare(a, "=", Word("b"))),
    ("a = b + 1", Compare(a, "=", Binary("+", b, one))),
    ("a < b", Compare(a, "<", b)),
    ("1 <= a < 2", Between(one, "<=", a, "<", two)),
    ("2 > a >= 1", Between(one, "<=", a, "<", two)),
    ("a in [b, 1, -2, true, 'x y']",
     In(a, (Word("b"), one, Number(-2.0), Truth(True), Word("x y")))),
    ("a in each of 4", Each(a, 4)),
    ("a in 1 of 4", Each(a, 4)),
    ("L{2}", Repeat("L", 2, 2)),
    ("L{1..3}", Repeat("L", 1, 3)),
    ("not not a", Not(Not(a))),
    ("not a = 1", Not(Compare(a, "=", one))),
    ("not a and b", And((Not(a), b))),
    ("a and b or c", Or((And((a, b)), c))),
    ("a and (b or c)", And((a, Or((b, c))))),
    ("(a and b) and c", And((a, b, c))),
    ("a or (b or c)", Or((a, b, c))),
    ("a => b => c", Implies(a, Implies(b, c))),
    ("(a => b) => c", Implies(Implies(a, b), c)),
    ("a or b => c", Implies(Or((a, b)), c)),
    ("a if b else c", Choice(a, b, c)),
    ("a if b else a if c else b", Choice(a, b, Choice(a, c, b))),
    ("(a if b else c) if c else b", Choice(Choice(a, b, c), c, b)),
    ("a => b if c else a", Implies(a, Choice(b, c, a))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tree"), TREES)
def test_a_text_is_read_as_the_tree_it_says(text, tree):
    """Precedence is that of arithmetic and of logic; a name after `=` is a category."""
    assert parse_formula(text) == tree


def test_by_and_over_follow_the_claim():
    """How a rule is bucketed and how large a mini-batch is stand at the end."""
    assert parse("a <= 1 by b/4, (b + c)/2 over 64") == Sentence(
        Compare(a, "<=", one), (Bucket(b, 4), Bucket(Binary("+", b, c), 2)), 64
    )
    assert parse("a by b/c/4").by == (Bucket(Binary("/", b, c), 4),)


@pytest.mark.parametrize("text", DESIGN)
def test_every_sentence_of_the_design_prints_as_it_is_written(text):
    """What people read in the design is what the program reads and writes."""
    assert to_text(parse(text)) == text


def test_buckets_of_the_design_have_a_second_spelling():
    """`in 1 of 4` says `in each of 4`."""
    tree = parse("A in 1 of 4 and ? <= B <= ? => sentiment = Y")

    assert to_text(tree) == "A in each of 4 and ? <= B <= ? => sentiment = Y"


@given(strategies.sentences())
def test_what_is_printed_parses_back_to_the_same_sentence(sentence):
    """A rule survives a file, a terminal and a diff."""
    assert parse(to_text(sentence)) == sentence


@given(strategies.formulas() | strategies.expressions())
def test_what_is_printed_parses_back_to_the_same_formula(tree):
    """Formulas are saved as text by themselves."""
    assert parse_formula(to_text(tree)) == tree


@given(strategies.formulas())
def test_an_item_and_a_body_can_be_put_into_a_larger_text(tree):
    """Rules are also put together from the texts of their parts."""
    assert parse_formula(f"{item_text(tree)} and z") == conjunction((tree, Name("z")))
    assert parse_formula(f"{body_text(tree)} => z") == Implies(tree, Name("z"))


@given(strategies.numbers())
@example(-0.0)
def test_a_number_is_printed_so_that_no_digit_is_lost(value):
    """A bound that is read again is the same bound."""
    assert parse_formula(number_text(value)) == Number(value)


@given(strategies.names())
def test_any_name_can_be_written(name):
    """No column is out of reach, whatever it is called."""
    assert parse_formula(name_text(name)) == Name(name)


@given(strategies.words())
def test_any_category_can_be_written(word):
    """No category is out of reach, whatever it is called."""
    assert parse_formula(f"a = {word_text(word)}") == Compare(a, "=", Word(word))


@pytest.mark.parametrize("keyword", sorted(KEYWORDS))
def test_a_keyword_can_be_a_name_and_a_category_when_marked(keyword):
    """Keywords are set off: names in backticks, categories in quotes."""
    tree = Compare(Name(keyword), "=", Word(keyword))

    assert to_text(tree) == f'`{keyword}` = "{keyword}"'
    assert parse_formula(to_text(tree)) == tree


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4172.0, "4172"),
        (0.1, "0.1"),
        (-0.0, "0"),
        (-1e-05, "-1e-05"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e+16"),
        (5e-324, "5e-324"),
        (0.1 + 0.2, "0.30000000000000004"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_are_printed_as_people_write_them(value, text):
    """Whole numbers have no point; others have as many digits as they need."""
    assert number_text(value) == text


@given(strategies.sentences(), st.data())
def test_white_space_between_words_does_not_matter(sentence, data):
    """A long rule can be broken into lines."""
    spaces = st.sampled_from([" ", "  ", "\n", "\t", " \r\n "])
    sentence = rewrite(sentence, _without_spaces)
    text = to_text(sentence)
    spread = "".join(data.draw(spaces) if sign == " " else sign for sign in text)

    assert parse(f"\n{spread} ") == sentence


def _without_spaces(node):
    """Names and words replaced where white space in them would be part of them."""
    match node:
        case Name():
            return Name("n")
        case Word():
            return Word("w")
        case Repeat(_, low, high):
            return Repeat("n", low, high)
        case Call(_, arguments):
            return Call("n", tuple(rewrite(part, _without_spaces) for part in arguments))


@pytest.mark.parametrize(
    ("tight", "loose"),
    [
        ("a+b*c<=1", "a + b * c <= 1"),
        ("type=Car=>?<=a/b<=?", "type = Car => ? <= a / b <= ?"),
        ("a in[b,c]", "a in [b, c]"),
        ("L { 1 .. 3 }", "L{1..3}"),
        ("f1 (a=>b)", "f1(a => b)"),
        ("not(a)and(b)", "not a and b"),
        ("a**-b", "a ** -b"),
        ("a <= 5 by b / 4 over 64", "a <= 5 by b/4 over 64"),
    ],
)
def test_white_space_around_signs_does_not_matter(tight, loose):
    """People space as they like; the printer spaces one way."""
    assert to_text(parse(tight)) == loose


@given(strategies.sentences())
def test_walking_gives_every_node_parents_first(sentence):
    """A walk is the node, then the walks of its children from left to right."""

    def by_definition(node):
        return [node] + [found for child in children(node) for found in by_definition(child)]

    assert list(walk(sentence)) == by_definition(sentence)


@given(strategies.sentences())
def test_rewriting_nothing_gives_an_equal_tree(sentence):
    """A tree is taken apart and put together without loss."""
    assert rewrite(sentence, lambda _: None) == sentence


def test_rewriting_does_not_enter_what_it_replaced():
    """A hole may be filled by an expression that bears the hole's own name."""
    grown = rewrite(Not(a), lambda node: Binary("+", a, one) if node == a else None)

    assert grown == Not(Binary("+", a, one))


def test_conjunctions_are_flat():
    """Formulas that are joined stay one list of conditions."""
    assert conjunction((a, And((b, c)))) == And((a, b, c))
    assert conjuncts(And((a, b))) == (a, b)
    assert (conjunction(()), conjunction((a,)), conjuncts(None)) == (None, a, ())


def test_formulas_and_expressions_are_told_apart():
    """A name can be a number, or true or false; nothing else can be both."""
    assert is_formula(Compare(a, "<", one))
    assert not is_formula(Binary("+", a, one))
    assert is_expression(Call("f", ()))
    assert not is_expression(Not(a))
    assert not is_formula(a)
    assert not is_expression(a)


def test_a_formula_has_no_buckets_and_no_mini_batches():
    """What stands under `let` and `statistics` is about single rows."""
    with pytest.raises(ParseError) as error:
        parse_formula("a over 64")

    assert str(error.value) == (
        "A formula cannot have 'by' or 'over'.\n  where: a over 64\n  fix:   leave that part out"
    )
