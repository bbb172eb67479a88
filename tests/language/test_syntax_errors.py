"""Texts that are no sentences: each is refused with its place and what to write instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from sqrl._language import parse, to_text
from sqrl._language.names import KEYWORDS
from sqrl._language.parser import LONGEST_SENTENCE, MOST_PIECES
from sqrl._language.tree import (
    Name,
    Number,
    rewrite,
)
from sqrl.errors import ParseError

a, b, c = Name("a"), Name("b"), Name("c")
one, two = Number(1.0), Number(2.0)


UNREADABLE = [
    (
        "! a",
        [
            "Cannot read column 1: '!' is unexpected.",
            "    ! a",
            "    ^",
            "  fix:   write 'not' instead of '!'",
        ],
    ),
    (
        "a ! b",
        [
            "Cannot read column 3: '!' is unexpected.",
            "    a ! b",
            "      ^",
            "  fix:   write 'not' instead of '!'",
        ],
    ),
    (
        "a -> b",
        [
            "Cannot read column 4: '>' is unexpected.",
            "    a -> b",
            "       ^",
            "  fix:   write '=>' instead of '->'",
        ],
    ),
    (
        "a =< 5",
        [
            "Cannot read column 4: '<' is unexpected.",
            "    a =< 5",
            "       ^",
            "  fix:   write '<=' instead of '=<'",
        ],
    ),
    (
        "a <> 5",
        [
            "Cannot read column 4: '>' is unexpected.",
            "    a <> 5",
            "       ^",
            "  fix:   write '!=' instead of '<>'",
        ],
    ),
    (
        "x^2 > 1",
        [
            "Cannot read column 2: '^' is unexpected.",
            "    x^2 > 1",
            "     ^",
            "  fix:   write '**' instead of '^'",
        ],
    ),
    (
        "a AND b",
        [
            "Cannot read column 3: 'AND' is unexpected.",
            "    a AND b",
            "      ^",
            "  fix:   write 'and' in small letters",
        ],
    ),
    (
        "NOT a",
        [
            "Cannot read column 5: 'a' is unexpected.",
            "    NOT a",
            "        ^",
            "  fix:   write 'not' in small letters",
        ],
    ),
    (
        "a IN [b]",
        [
            "Cannot read column 3: 'IN' is unexpected.",
            "    a IN [b]",
            "      ^",
            "  fix:   write 'in' in small letters",
        ],
    ),
    (
        "a in {b, c}",
        [
            "Cannot read column 6: '{' is unexpected.",
            "    a in {b, c}",
            "         ^",
            "  fix:   write '[' instead of '{'",
        ],
    ),
    (
        "a in (b, c)",
        [
            "Cannot read column 6: '(' is unexpected.",
            "    a in (b, c)",
            "         ^",
            "  fix:   write '[' instead of '('",
        ],
    ),
    (
        "a in b",
        [
            "Cannot read column 6: 'b' is unexpected.",
            "    a in b",
            "         ^",
            "  fix:   expected '[', 'each' or a number",
        ],
    ),
    (
        "type = “Car”",
        [
            "Cannot read column 8: '“' is unexpected.",
            "    type = “Car”",
            "           ^",
            "  fix:   write '\"' instead of '“'",
        ],
    ),
    (
        "age > 5 adn b",
        [
            "Cannot read column 9: 'adn' is unexpected.",
            "    age > 5 adn b",
            "            ^",
            "  fix:   did you mean 'and'?",
        ],
    ),
    (
        "a andb",
        [
            "Cannot read column 3: 'andb' is unexpected.",
            "    a andb",
            "      ^",
            "  fix:   did you mean 'and'?",
        ],
    ),
    (
        "a and and b",
        [
            "Cannot read column 7: 'and' is unexpected.",
            "    a and and b",
            "          ^",
            "  fix:   put something before 'and', or write `and` in backticks if it is a name",
        ],
    ),
    (
        "and > 5",
        [
            "Cannot read column 1: 'and' is unexpected.",
            "    and > 5",
            "    ^",
            "  fix:   put something before 'and', or write `and` in backticks if it is a name",
        ],
    ),
    (
        "a and",
        [
            "Cannot read column 6: the end of the text is unexpected.",
            "    a and",
            "         ^",
            "  fix:   expected a name or a number",
        ],
    ),
    (
        "age >",
        [
            "Cannot read column 6: the end of the text is unexpected.",
            "    age >",
            "         ^",
            "  fix:   expected a name or a number",
        ],
    ),
    (
        "a if b",
        [
            "Cannot read column 7: the end of the text is unexpected.",
            "    a if b",
            "          ^",
            "  fix:   expected 'else'",
        ],
    ),
    (
        "a if b else",
        [
            "Cannot read column 12: the end of the text is unexpected.",
            "    a if b else",
            "               ^",
            "  fix:   expected a name or a number",
        ],
    ),
    (
        "(a",
        [
            "Cannot read column 3: the end of the text is unexpected.",
            "    (a",
            "      ^",
            "  fix:   expected ')'",
        ],
    ),
    (
        "a)",
        [
            "Cannot read column 2: ')' is unexpected.",
            "    a)",
            "     ^",
            "  fix:   expected 'by', 'over' or the end",
        ],
    ),
    (
        "a in [",
        [
            "Cannot read column 7: the end of the text is unexpected.",
            "    a in [",
            "          ^",
            "  fix:   expected a name or a number",
        ],
    ),
    (
        "a in [b",
        [
            "Cannot read column 8: the end of the text is unexpected.",
            "    a in [b",
            "           ^",
            "  fix:   expected ',' or ']'",
        ],
    ),
    (
        "a in [b,]",
        [
            "Cannot read column 9: ']' is unexpected.",
            "    a in [b,]",
            "            ^",
            "  fix:   expected a name or a number",
        ],
    ),
    (
        "f1(a => )",
        [
            "Cannot read column 9: ')' is unexpected.",
            "    f1(a => )",
            "            ^",
            "  fix:   expected a name or a number",
        ],
    ),
    (
        "f(a",
        [
            "Cannot read column 4: the end of the text is unexpected.",
            "    f(a",
            "       ^",
            "  fix:   expected ')' or ','",
        ],
    ),
    (
        "L{1",
        [
            "Cannot read column 4: the end of the text is unexpected.",
            "    L{1",
            "       ^",
            "  fix:   expected '..' or '}'",
        ],
    ),
    (
        "L{1..}",
        [
            "Cannot read column 6: '}' is unexpected.",
            "    L{1..}",
            "         ^",
            "  fix:   expected a number",
        ],
    ),
    (
        "a over",
        [
            "Cannot read column 7: the end of the text is unexpected.",
            "    a over",
            "          ^",
            "  fix:   expected a number",
        ],
    ),
    (
        "a by",
        [
            "Cannot read column 5: the end of the text is unexpected.",
            "    a by",
            "        ^",
            "  fix:   expected a name or a number",
        ],
    ),
    (
        "a <= 5 over 256 by b/4",
        [
            "Cannot read column 17: 'by' is unexpected.",
            "    a <= 5 over 256 by b/4",
            "                    ^",
            "  fix:   expected 'units' or the end",
        ],
    ),
    (
        "mean(a) <= 5 over 64 rows",
        [
            "Cannot read column 22: 'rows' is unexpected.",
            "    mean(a) <= 5 over 64 rows",
            "                         ^",
            "  fix:   expected 'units' or the end",
        ],
    ),
    (
        "mean(a) <= 5 over units",
        [
            "Cannot read column 19: 'units' is unexpected.",
            "    mean(a) <= 5 over units",
            "                      ^",
            "  fix:   expected a number",
        ],
    ),
    (
        "1 < a < 3 < 4",
        [
            "Cannot read column 11: '<' is unexpected.",
            "    1 < a < 3 < 4",
            "              ^",
            "  fix:   expected '=>', 'and', 'by', 'if', 'or', 'over' or the end",
        ],
    ),
    (
        "blood pressure > 3",
        [
            "Cannot read column 7: 'pressure' is unexpected.",
            "    blood pressure > 3",
            "          ^",
            "  fix:   write a name of several words in backticks: `blood pressure`",
        ],
    ),
    (
        "blood pressure-high > 3",
        [
            "Cannot read column 7: 'pressure' is unexpected.",
            "    blood pressure-high > 3",
            "          ^",
            "  fix:   write a name of several words in backticks: `blood pressure`",
        ],
    ),
    (
        "a.b > 3",
        [
            "Cannot read column 2: '.' is unexpected.",
            "    a.b > 3",
            "     ^",
            "  fix:   write a name with such a character in backticks: `a.b`",
        ],
    ),
    (
        "a # 5",
        [
            "Cannot read column 3: '#' is unexpected.",
            "    a # 5",
            "      ^",
            '  fix:   leave it out; odd names are written in `backticks`, odd values in "quotes"',
        ],
    ),
    (
        "2x > 3",
        [
            "Cannot read column 2: 'x' is unexpected.",
            "    2x > 3",
            "     ^",
            "  fix:   expected '<=', '=>', 'and', 'by', 'if', 'in', 'or', 'over' or the end",
        ],
    ),
    (
        "a > 5 5",
        [
            "Cannot read column 7: '5' is unexpected.",
            "    a > 5 5",
            "          ^",
            "  fix:   expected '<=', '=>', 'and', 'by', 'if', 'or', 'over' or the end",
        ],
    ),
    (
        "a = 'Car",
        [
            'Cannot read column 5: "\'" is unexpected.',
            "    a = 'Car",
            "        ^",
            "  fix:   close what ' opens with another '",
        ],
    ),
    (
        'a = "Car',
        [
            "Cannot read column 5: '\"' is unexpected.",
            '    a = "Car',
            "        ^",
            '  fix:   close what " opens with another "',
        ],
    ),
    (
        "`abc",
        [
            "Cannot read column 1: '`' is unexpected.",
            "    `abc",
            "    ^",
            "  fix:   close what ` opens with another `",
        ],
    ),
    (
        "a[1] > 3",
        [
            "Cannot read column 2: '[' is unexpected.",
            "    a[1] > 3",
            "     ^",
            "  fix:   expected '<=', '=>', 'and', 'by', 'if', 'in', 'or', 'over' or the end",
        ],
    ),
    (
        "a;",
        [
            "Cannot read column 2: ';' is unexpected.",
            "    a;",
            "     ^",
            '  fix:   leave it out; odd names are written in `backticks`, odd values in "quotes"',
        ],
    ),
    (
        "a\nand\n  & b",
        [
            "Cannot read line 3, column 3: '&' is unexpected.",
            "      & b",
            "      ^",
            "  fix:   write 'and' instead of '&'",
        ],
    ),
    (
        "a\tb",
        [
            "Cannot read column 3: 'b' is unexpected.",
            "    a b",
            "      ^",
            "  fix:   write a name of several words in backticks: `a b`",
        ],
    ),
]

SENSELESS = [
    (
        "",
        [
            "The sentence is empty.",
            "  fix:   write a rule, such as '0 <= age <= 120'",
        ],
    ),
    (
        " \n",
        [
            "The sentence is empty.",
            "  fix:   write a rule, such as '0 <= age <= 120'",
        ],
    ),
    (
        "x => 5",
        [
            "'5' is a value where something true or false is needed.",
            "  where: x => 5",
            "  fix:   compare it with something, such as 'age > 50'; 'at least' is written '>='",
        ],
    ),
    (
        "not 5",
        [
            "'5' is a value where something true or false is needed.",
            "  where: not 5",
            "  fix:   compare it with something, such as 'age > 50'; 'at least' is written '>='",
        ],
    ),
    (
        "5 and a",
        [
            "'5' is a value where something true or false is needed.",
            "  where: 5 and a",
            "  fix:   compare it with something, such as 'age > 50'; 'at least' is written '>='",
        ],
    ),
    (
        "'Car' or a",
        [
            "'Car' is a value where something true or false is needed.",
            "  where: 'Car' or a",
            "  fix:   compare it with something, such as 'age > 50'; 'at least' is written '>='",
        ],
    ),
    (
        "a <= b >= c",
        [
            "A chain of comparisons cannot join '<=' and '>='.",
            "  where: a <= b >= c",
            "  fix:   write lower <= item <= upper, or join two comparisons with 'and'",
        ],
    ),
    (
        "a = b = c",
        [
            "A chain of comparisons cannot join '=' and '='.",
            "  where: a = b = c",
            "  fix:   write lower <= item <= upper, or join two comparisons with 'and'",
        ],
    ),
    (
        "a < b = c",
        [
            "A chain of comparisons cannot join '<' and '='.",
            "  where: a < b = c",
            "  fix:   write lower <= item <= upper, or join two comparisons with 'and'",
        ],
    ),
    (
        "a by b",
        [
            "'by b' does not say how many buckets.",
            "  where: a by b",
            "  fix:   write 'by area/4' for four buckets of equal frequency",
        ],
    ),
    (
        "a <= 5 by b/1",
        [
            "'by b / 1' does not say how many buckets.",
            "  where: a <= 5 by b/1",
            "  fix:   write 'by area/4' for four buckets of equal frequency",
        ],
    ),
    (
        "a <= 5 by b/2.5",
        [
            "'by b / 2.5' does not say how many buckets.",
            "  where: a <= 5 by b/2.5",
            "  fix:   write 'by area/4' for four buckets of equal frequency",
        ],
    ),
    (
        "a <= 5 by b + c/4",
        [
            "'by b + c / 4' does not say how many buckets.",
            "  where: a <= 5 by b + c/4",
            "  fix:   write 'by area/4' for four buckets of equal frequency",
        ],
    ),
    (
        "a <= 5 by b/300",
        [
            "The rule has 300 pieces; at most 256 are read.",
            "  where: a <= 5 by b/300",
            "  fix:   use fewer buckets",
        ],
    ),
    (
        "a <= 5 by b/16, c/17",
        [
            "The rule has 272 pieces; at most 256 are read.",
            "  where: a <= 5 by b/16, c/17",
            "  fix:   use fewer buckets",
        ],
    ),
    (
        "a over 0",
        [
            "0 after 'over' is not a whole number from 1 to 1,000,000,000.",
            "  where: a over 0",
            "  fix:   write 'over 256'",
        ],
    ),
    (
        "a over 2.5",
        [
            "2.5 after 'over' is not a whole number from 1 to 1,000,000,000.",
            "  where: a over 2.5",
            "  fix:   write 'over 256'",
        ],
    ),
    (
        "a over 1e999",
        [
            "1e999 after 'over' is not a whole number from 1 to 1,000,000,000.",
            "  where: a over 1e999",
            "  fix:   write 'over 256'",
        ],
    ),
    (
        "a over 1e10",
        [
            "1e10 after 'over' is not a whole number from 1 to 1,000,000,000.",
            "  where: a over 1e10",
            "  fix:   write 'over 256'",
        ],
    ),
    (
        "a > 1e999",
        [
            "1e999 is too large a number.",
            "  where: a > 1e999",
            "  fix:   write it in other units",
        ],
    ),
    (
        "a in [1e999]",
        [
            "1e999 is too large a number.",
            "  where: a in [1e999]",
            "  fix:   write it in other units",
        ],
    ),
    (
        "a in each of 1",
        [
            "'in each of' needs 2 buckets or more.",
            "  where: a in each of 1",
            "  fix:   write 'in each of 4'",
        ],
    ),
    (
        "a in each of 2.5",
        [
            "2.5 after 'of' is not a whole number from 1 to 1,000,000,000.",
            "  where: a in each of 2.5",
            "  fix:   write 'in each of 4'",
        ],
    ),
    (
        "a in 2 of 4",
        [
            "'in 2 of 4' would pick one bucket.",
            "  where: a in 2 of 4",
            "  fix:   write 'in each of 4' for one rule in each bucket",
        ],
    ),
    (
        "L{0..2}",
        [
            "0 after '{' is not a whole number from 1 to 1,000,000,000.",
            "  where: L{0..2}",
            "  fix:   write 'L{1..3}'",
        ],
    ),
    (
        "L{3..1}",
        [
            "L{3..1} asks for no literals.",
            "  where: L{3..1}",
            "  fix:   write L{1..3}",
        ],
    ),
    (
        "L{1.5}",
        [
            "1.5 after '{' is not a whole number from 1 to 1,000,000,000.",
            "  where: L{1.5}",
            "  fix:   write 'L{1..3}'",
        ],
    ),
    (
        'a = "b\\d"',
        [
            '"b\\d" is not a well-formed quoted value.',
            '  where: a = "b\\d"',
            "  fix:   write a backslash as two: \\\\",
        ],
    ),
    (
        'a = "\\ud800"',
        [
            '"\\ud800" is not a well-formed quoted value.',
            '  where: a = "\\ud800"',
            "  fix:   write a backslash as two: \\\\",
        ],
    ),
    (
        "a = 'b\\x'",
        [
            "'b\\x' is not a well-formed quoted value.",
            "  where: a = 'b\\x'",
            "  fix:   write a backslash as two: \\\\",
        ],
    ),
    (
        '"Car" + 1 > 2',
        [
            "'Car' is a category where a number is needed.",
            '  where: "Car" + 1 > 2',
            "  fix:   put categories after '=' or '!=', such as 'type = Car'",
        ],
    ),
    (
        'a < "x"',
        [
            "'x' is a category where a number is needed.",
            '  where: a < "x"',
            "  fix:   put categories after '=' or '!=', such as 'type = Car'",
        ],
    ),
    (
        '"x" = "y"',
        [
            "'x' is a category where a number is needed.",
            '  where: "x" = "y"',
            "  fix:   put categories after '=' or '!=', such as 'type = Car'",
        ],
    ),
    (
        '1 = "y"',
        [
            "'y' is a category where a number is needed.",
            '  where: 1 = "y"',
            "  fix:   put categories after '=' or '!=', such as 'type = Car'",
        ],
    ),
    (
        "? = true",
        [
            "'true' is a category where a number is needed.",
            "  where: ? = true",
            "  fix:   put categories after '=' or '!=', such as 'type = Car'",
        ],
    ),
    (
        "1 <= a <= true",
        [
            "'true' is a category where a number is needed.",
            "  where: 1 <= a <= true",
            "  fix:   put categories after '=' or '!=', such as 'type = Car'",
        ],
    ),
    (
        "'Car' in [a]",
        [
            "'Car' is a category where a number is needed.",
            "  where: 'Car' in [a]",
            "  fix:   put categories after '=' or '!=', such as 'type = Car'",
        ],
    ),
    (
        "true",
        [
            "'true' is a category where a formula or a number is needed.",
            "  where: true",
            "  fix:   compare a column with it, such as 'type = Car'; odd names go in `backticks`",
        ],
    ),
    (
        "'Car'",
        [
            "'Car' is a category where a formula or a number is needed.",
            "  where: 'Car'",
            "  fix:   compare a column with it, such as 'type = Car'; odd names go in `backticks`",
        ],
    ),
    (
        "f('a')",
        [
            "'a' is a category where a formula or a number is needed.",
            "  where: f('a')",
            "  fix:   compare a column with it, such as 'type = Car'; odd names go in `backticks`",
        ],
    ),
    (
        "f(true)",
        [
            "'true' is a category where a formula or a number is needed.",
            "  where: f(true)",
            "  fix:   compare a column with it, such as 'type = Car'; odd names go in `backticks`",
        ],
    ),
    (
        "(a > 1) + 2 > 3",
        [
            "'a > 1' is true or false where a number is needed.",
            "  where: (a > 1) + 2 > 3",
            "  fix:   join comparisons with 'and' or 'or'",
        ],
    ),
    (
        "-(a > 1) > 0",
        [
            "'a > 1' is true or false where a number is needed.",
            "  where: -(a > 1) > 0",
            "  fix:   join comparisons with 'and' or 'or'",
        ],
    ),
    (
        "a = L{1}",
        [
            "'L{1}' is true or false where a number is needed.",
            "  where: a = L{1}",
            "  fix:   join comparisons with 'and' or 'or'",
        ],
    ),
    (
        "(a => b) <= 3",
        [
            "'a => b' is true or false where a number is needed.",
            "  where: (a => b) <= 3",
            "  fix:   join comparisons with 'and' or 'or'",
        ],
    ),
    (
        "a = (b = c)",
        [
            "'b = c' is true or false where a number is needed.",
            "  where: a = (b = c)",
            "  fix:   join comparisons with 'and' or 'or'",
        ],
    ),
    (
        "a if 5 else b",
        [
            "'5' is a value where something true or false is needed.",
            "  where: a if 5 else b",
            "  fix:   compare it with something, such as 'age > 50'; 'at least' is written '>='",
        ],
    ),
]
HABITS = [
    ("&", "and"),
    ("&&", "and"),
    ("|", "or"),
    ("||", "or"),
    ("∧", "and"),
    ("\N{LOGICAL OR}", "or"),
    ("⇒", "=>"),
    ("→", "=>"),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("^", "**"),
    ("\N{MULTIPLICATION SIGN}", "*"),
    ("÷", "/"),
    ("\N{MINUS SIGN}", "-"),
    ("\N{EN DASH}", "-"),
    ("~", "not"),
    ("¬", "not"),
]


@pytest.mark.parametrize(("sign", "ours"), HABITS)
def test_a_sign_of_another_language_is_answered_with_ours(sign, ours):
    """Habits from elsewhere cost one read of the message."""
    with pytest.raises(ParseError) as error:
        parse(f"age {sign} 5")

    assert str(error.value) == (
        f"Cannot read column 5: '{sign[0]}' is unexpected.\n"
        f"    age {sign} 5\n"
        "        ^\n"
        f"  fix:   write '{ours}' instead of '{sign}'"
    )


@pytest.mark.parametrize(("text", "message"), UNREADABLE)
def test_a_text_outside_the_grammar_is_pointed_at(text, message):
    """The message shows the place and says what to write there."""
    with pytest.raises(ParseError) as error:
        parse(text)

    assert str(error.value) == "\n".join(message)


@pytest.mark.parametrize(("text", "message"), SENSELESS)
def test_a_text_that_makes_no_sense_is_refused(text, message):
    """What the grammar lets pass but no rule can mean fails where it is read."""
    with pytest.raises(ParseError) as error:
        parse(text)

    assert str(error.value) == "\n".join(message)


def test_only_the_surroundings_of_a_far_place_are_shown():
    """The pointer stays on the screen in a sentence of any length."""
    with pytest.raises(ParseError) as error:
        parse("a and " * 50 + "& b" + " and a" * 50)

    assert str(error.value) == (
        "Cannot read column 301: '&' is unexpected.\n"
        "    ...a and a and a and a and a and a and & b and a and a and a and a and a an...\n"
        "                                           ^\n"
        "  fix:   write 'and' instead of '&'"
    )


DEEP = [
    pytest.param("-" * 5000 + "a", id="minus"),
    pytest.param("a > " + "-" * 5000 + "b", id="minus in a comparison"),
    pytest.param("not " * 5000 + "a", id="not"),
    pytest.param("a + " * 5000 + "a", id="sum"),
    pytest.param("a ** " * 5000 + "a", id="power"),
    pytest.param("a => " * 5000 + "a", id="implies"),
    pytest.param("f(" * 5000 + "a" + ")" * 5000, id="calls"),
    pytest.param("not (" * 5000 + "a" + ")" * 5000, id="not in parentheses"),
    pytest.param("a and (b or " * 2500 + "a" + ")" * 2500, id="or in and"),
    pytest.param("(a if " * 5000 + "a" + " else b)" * 5000, id="tests of choices"),
    pytest.param("(" * 5000 + "a" + " if a else b)" * 5000, id="first pieces of choices"),
    pytest.param("a by " + "-" * 5000 + "b/4", id="buckets"),
]


@pytest.mark.parametrize("text", DEEP)
def test_a_sentence_nested_too_deeply_is_refused(text):
    """No text makes Python run out of stack."""
    with pytest.raises(ParseError) as error:
        parse(text)

    assert str(error.value) == (
        "The sentence is nested more than 100 levels deep.\n"
        f"  where: {text[:97]}...\n"
        "  fix:   split it into several rules, or give parts of it a name under 'statistics'"
    )


def test_a_deep_part_is_not_quoted_in_a_message():
    """Nor does the message about a deep text run out of stack."""
    with pytest.raises(ParseError) as error:
        parse("not " + "-" * 5000 + "a")

    assert error.value.what == "'...' is a value where something true or false is needed."


FLAT = [
    pytest.param("(" * 5000 + "a" + ")" * 5000, id="parentheses"),
    pytest.param("a and " * 5000 + "a", id="and"),
    pytest.param("a or " * 5000 + "a", id="or"),
    pytest.param("a in [" + "b, " * 5000 + "c]", id="in"),
    pytest.param("a <= 1 if b else " * (MOST_PIECES - 1) + "a <= 1", id="pieces"),
    pytest.param("not " * 90 + "a", id="not, not too often"),
    pytest.param("a + " * 90 + "a", id="a sum of many columns"),
]


@pytest.mark.parametrize("text", FLAT)
def test_a_long_sentence_that_is_flat_is_read(text):
    """Length alone is no fault, and every walk bears what the parser lets pass."""
    tree = parse(text)

    assert parse(to_text(tree)) == tree
    assert rewrite(tree, lambda _: None) == tree
    assert len({tree, parse(text)}) == 1
    assert len(repr(tree)) > 0


def test_a_text_longer_than_any_rule_is_refused_unread():
    """Data that is taken for a schema costs no time."""
    with pytest.raises(ParseError) as error:
        parse("a" * (LONGEST_SENTENCE + 1))

    assert str(error.value) == (
        "The sentence has 100,001 characters; at most 100,000 are read.\n"
        f"  where: {'a' * 97}...\n"
        "  fix:   split it into several rules"
    )


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    """No text fails in another way than by a message."""
    read_or_refused(text)


TOKENS = [*sorted(KEYWORDS), *"+-*/()[]{}?,<>=!&|.`'\"", "**", "<=", ">=", "=>", "==", "!=", ".."]
TOKENS += ["a", "L", "type", "`a b`", "'x'", '"y"', "1", "2.5", "1e999", ".5", "\n", "AND", "é"]


@given(st.lists(st.sampled_from(TOKENS), max_size=14), st.sampled_from(["", " "]))
def test_any_soup_of_words_is_read_or_refused(tokens, space):
    """What is read at all is printed and read again as the same."""
    read_or_refused(space.join(tokens))


@given(strategies.sentences(), st.data())
def test_a_damaged_sentence_is_read_or_refused(sentence, data):
    """A slip of the hand in a long rule fails by a message, too."""
    text = to_text(sentence)
    place = data.draw(st.integers(0, len(text)))
    gone = data.draw(st.integers(0, 3))
    slip = data.draw(st.sampled_from(["", *TOKENS]))
    read_or_refused(text[:place] + slip + text[place + gone :])


def read_or_refused(text):
    """Check that the text is refused by a message, or printed and read again as the same."""
    refusal, tree = None, None
    try:
        tree = parse(text)
    except ParseError as error:
        refusal = error

    if refusal:
        assert refusal.fix
    else:
        assert parse(to_text(tree)) == tree
