"""Errors: what is wrong, where, and how to mend it."""

import inspect
import pickle

import pytest

import sqrl.errors
from sqrl.errors import (
    DataError,
    ParseError,
    SqrlError,
    UnknownNameError,
    nearest,
    unknown,
)

FAMILY = {
    "DataError": ValueError,
    "ParseError": ValueError,
    "SchemaError": ValueError,
    "RulesFileError": ValueError,
    "HistoryError": ValueError,
    "OutputError": OSError,
    "LimitError": ValueError,
    "UnknownNameError": LookupError,
    "AdaptError": ValueError,
    "MissingExtraError": ImportError,
    "PluginError": ImportError,
}


def test_the_family_is_complete():
    """Every error is listed here and drawn at the top of its module."""
    found = {
        name
        for name, item in vars(sqrl.errors).items()
        if inspect.isclass(item) and issubclass(item, SqrlError) and item is not SqrlError
    }

    assert found == set(FAMILY)
    for name, builtin in FAMILY.items():
        assert f"── {name}" in sqrl.errors.__doc__
        assert f"({builtin.__name__})" in sqrl.errors.__doc__


@pytest.mark.parametrize(("name", "builtin"), FAMILY.items())
def test_every_error_is_ours_and_the_builtin_it_refines(name, builtin):
    """Callers catch the family, or what they always caught."""
    error = getattr(sqrl.errors, name)("The file is empty.", where="a.csv", fix="add rows")

    assert isinstance(error, SqrlError)
    assert isinstance(error, builtin)
    assert str(error) == "The file is empty.\n  where: a.csv\n  fix:   add rows"


def test_a_message_leaves_out_what_is_not_known():
    """No empty lines where there is no place or no way out."""
    assert str(DataError("It is empty.")) == "It is empty."
    assert str(DataError("It is empty.", where="a.csv")) == "It is empty.\n  where: a.csv"
    assert str(DataError("It is empty.", fix="add rows")) == "It is empty.\n  fix:   add rows"


def test_the_edge_adds_the_place():
    """Low layers state the fact; each layer above puts its place before."""
    error = ParseError("It is empty.", fix="write a rule").at("rules[0]").at("schema.yaml")

    assert type(error) is ParseError
    assert str(error) == ("It is empty.\n  where: schema.yaml, rules[0]\n  fix:   write a rule")


@pytest.mark.parametrize("name", FAMILY)
def test_an_error_survives_the_way_from_another_process(name):
    """Workers raise errors whose place and way out arrive with them."""
    error = getattr(sqrl.errors, name)("It is empty.", where="a.csv", fix="add rows")
    again = pickle.loads(pickle.dumps(error))

    assert type(again) is type(error)
    assert str(again) == str(error)


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("hieght", ["height", "width"], "did you mean 'height'?"),
        ("HEIGHT", ["height", "width"], "did you mean 'height'?"),
        ("glucose", ["Glucose", "GCS"], "did you mean 'Glucose'?"),
        ("zzz", ["height", "width"], "use one of: height, width"),
        ("zzz", [], "there are none to choose from"),
        (
            "zzz",
            list("abcdefghijklmn"),
            "use one of: a, b, c, d, e, f, g, h, i, j, k, l and 2 more",
        ),
        ("a", ["A", "a"], "did you mean 'A'?"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest_or_with_all(name, known, hint):
    """A typo costs its author one read of the message."""
    assert nearest(name, known) == hint


def test_an_unknown_name_says_what_kind_of_name_it_should_be():
    """What, where, and the nearest name that exists."""
    error = unknown("statistic", "rato", iter(["delta", "ratio"]), where="schema.toml")

    assert isinstance(error, UnknownNameError)
    assert str(error) == (
        "Unknown statistic 'rato'.\n  where: schema.toml\n  fix:   did you mean 'ratio'?"
    )
