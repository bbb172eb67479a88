"""The tables that the parser is loaded from say what the grammar says."""

import json
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark, __version__
from lark.grammar import Rule
from lark.lexer import TerminalDef

import strategies
from sqrl._language import parse, parser, to_text
from sqrl.errors import ParseError

FOLDER = files("sqrl._language")
GRAMMAR = FOLDER.joinpath("grammar.lark").read_text(encoding="utf-8")


LOADED = parser._lark.__wrapped__()
with pytest.MonkeyPatch.context() as patched:
    patched.setattr(parser, "__version__", "another")
    BUILT = parser._lark.__wrapped__()


def answer(lark, text):
    """What a sentence is read as by this parser, or why it is not."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parser, "_lark", lambda: lark)
        try:
            return parse(text)
        except ParseError as error:
            return str(error)


def test_the_tables_are_of_this_grammar_and_of_the_lark_that_is_installed(request):
    """pytest --update-golden makes them anew: its states have other numbers each time."""
    path = FOLDER.joinpath("grammar.json")
    if request.config.getoption("--update-golden"):
        made = Lark(GRAMMAR, parser="lalr", start="sentence")
        data, memo = made.memo_serialize([TerminalDef, Rule])
        tables = {"lark": __version__, "grammar": GRAMMAR, "data": data, "memo": memo}
        path.write_text(json.dumps(tables, separators=(",", ":")) + "\n", encoding="utf-8")
    tables = json.loads(path.read_text(encoding="utf-8"))

    assert (tables["lark"], tables["grammar"]) == (__version__, GRAMMAR)


def test_tables_are_used_unless_another_lark_is_installed():
    """The tables of another may have another form."""
    assert LOADED.source_path == "<deserialized>"
    assert BUILT.source_path != "<deserialized>"


@given(strategies.sentences(), st.data())
def test_either_parser_reads_the_same_and_refuses_with_the_same_words(sentence, data):
    """Sentences, and sentences in which a piece is missing."""
    text = to_text(sentence)
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    damaged = text[:begin] + text[end:]

    assert answer(LOADED, text) == answer(BUILT, text)
    assert answer(LOADED, damaged) == answer(BUILT, damaged)
