"""df.sqrl: what the functions give, found on the frame."""

import subprocess
import sys

import pandas as pd
import polars as pl
import pytest

import sqrl
import sqrl.frames

DATA = {"kind": ["a", "b"] * 50, "x": [float(i % 10) for i in range(100)]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_a_frame_learns_and_checks_as_the_functions_do(make, tmp_path):
    """Rules in memory or in a file; options as they are."""
    frame, rows = make(DATA), make({"kind": ["a"], "x": [50.0]})
    rules = frame.sqrl.learn({"rules": ["? <= x <= ?"]}, seed=3)
    rules.save(tmp_path / "rules.json")
    found = rows.sqrl.check(rules, level=0.05)

    assert rules.texts() == sqrl.learn(frame, {"rules": ["? <= x <= ?"]}, seed=3).texts()
    assert (found.broken.tolist(), found.level) == ([1], 0.05)
    assert rows.sqrl.check(tmp_path / "rules.json").broken.tolist() == [1]


def test_it_is_there_only_once_it_was_asked_for():
    """`import sqrl` touches no other library."""
    code = (
        "import pandas, polars, sqrl; sqrl.learn\n"
        "assert not hasattr(pandas.DataFrame, 'sqrl') and not hasattr(polars.DataFrame, 'sqrl')\n"
        "import sqrl.frames\n"
        "assert hasattr(pandas.DataFrame, 'sqrl') and hasattr(polars.LazyFrame, 'sqrl')\n"
        "sqrl.frames.register()  # again: nothing is overwritten, so nothing warns"
    )
    subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], check=True)


def test_without_pandas_and_polars_it_says_what_to_install(monkeypatch):
    """Word for word."""
    monkeypatch.setattr(sqrl.frames, "find_spec", lambda _: None)
    with pytest.raises(sqrl.errors.MissingExtraError) as raised:
        sqrl.frames.register()

    assert str(raised.value) == (
        "sqrl.frames needs pandas or polars, and neither is installed.\n"
        '  fix:   pip install "sqrl-rules[frames]"'
    )
