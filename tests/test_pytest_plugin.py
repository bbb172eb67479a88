"""The pytest plugin, run by pytest itself in a folder of its own."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sqrl
from sqrl.report._text_findings import finding_lines

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parent.parent
TEXTS = ["0 <= x <= 9", "0 <= y <= 9", "kind = z => y <= 1"]


@pytest.fixture
def run(pytester):
    """Runs pytest with the plugin, beside rules.json and rows that break the first rule."""
    known = {"coverage": [0.98] * 3, "support": [900] * 3}
    rules = sqrl.RuleSet.from_texts(TEXTS, **known)
    rules.save(pytester.path / "rules.json")
    # What a run imports is forgotten at its end: let it be here before.
    list(finding_lines(sqrl.check(rules, {"kind": ["a"], "x": [50.0], "y": [1.0]})))
    (pytester.path / "bad.csv").write_text("kind,x,y\na,3,1\na,50,1\na,60,1\na,70,1\n")
    (pytester.path / "good.csv").write_text("kind,x,y\na,3,1\n")
    (pytester.path / "odd.csv").write_text("kind,x,y\n" + "a,3,1\n" * 99 + "a,12,1\n")

    def run(*arguments):
        options = ("-p", "no:cacheprovider", "-p", "no:xdist", "-W", "error")
        loaded = [] if _is_installed() else ["-p", "sqrl.pytest_plugin"]
        return pytester.runpytest_inprocess(*loaded, *options, *arguments)

    return run


def _is_installed():
    from importlib.metadata import entry_points

    return bool(entry_points(group="pytest11", name="sqrl"))


def ids():
    """The ids of the rules."""
    return sqrl.RuleSet.from_texts(TEXTS).ids()


def test_each_rule_is_a_test_and_so_are_findings(run):
    """By id and what it is about; a rule that applied to nothing is skipped, the broken fails."""
    result = run("--sqrl-rules", "rules.json", "--sqrl-data", "bad.csv", "-v")
    x, y, z = ids()

    assert result.parseoutcomes() == {"failed": 2, "passed": 1, "skipped": 1}
    result.stdout.fnmatch_lines(
        [
            "rules.json::findings FAILED*",
            f"rules.json::{x}[[]? <= x <= ?[]] FAILED*",
            f"rules.json::{y}[[]? <= y <= ?[]] PASSED*",
            f"rules.json::{z}[[]kind = z => y <= ?[]] SKIPPED*",
        ]
    )


def test_a_failure_says_what_is_wrong_and_shows_no_traceback(run):
    """The sentence, how often it is broken, and what chance would do."""
    result = run("--sqrl-rules", "rules.json", "--sqrl-data", "bad.csv")
    text = result.stdout.str()

    assert "0 <= x <= 9\nbroken by 3 of 4 rows, 0.0" in text
    assert "  1  x: 3 of 4 rows outside 0 to 9" in text
    assert "pytest_plugin.py" not in text


def test_clean_rows_pass_and_one_odd_row_fails_only_who_asks(run):
    """One row of a hundred is what chance gives; --sqrl-fail-on any is stricter."""
    given = ("--sqrl-rules", "rules.json", "--sqrl-data")

    assert run(*given, "good.csv").parseoutcomes() == {"passed": 3, "skipped": 1}
    assert run(*given, "odd.csv").parseoutcomes() == {"passed": 3, "skipped": 1}
    strict = run(*given, "odd.csv", "--sqrl-fail-on", "any")
    assert strict.parseoutcomes() == {"failed": 1, "passed": 2, "skipped": 1}


def test_rules_that_people_rejected_or_waived_fail_nothing(run, pytester):
    """The rejected has no test, the waived is skipped, and the others are who they were."""
    x, y, z = ids()
    path = pytester.path / "rules.json"
    given = ("--sqrl-rules", "rules.json", "--sqrl-data", "bad.csv", "--sqrl-fail-on", "any", "-v")
    rules = sqrl.load_rules(path).waive(x, until="2999-12-31", by="Ann", why="new form")
    rules.save(path)
    waived = run(*given, "-rs")
    rules.reject(x, by="Ann", why="two forms").save(path)
    rejected = run(*given)

    assert waived.parseoutcomes() == {"passed": 2, "skipped": 2}
    waived.stdout.fnmatch_lines(["*waived until 2999-12-31 by Ann: new form"])
    assert rejected.parseoutcomes() == {"passed": 2, "skipped": 1}
    rejected.stdout.fnmatch_lines([f"rules.json::{y}*PASSED*", f"rules.json::{z}*SKIPPED*"])


def test_tests_of_rules_are_chosen_as_others_are(run, pytester):
    """By -k with an id or a word, by -m, beside tests of Python."""
    pytester.makepyfile("def test_other(): pass")
    given = ("--sqrl-rules", "rules.json", "--sqrl-data", "good.csv")

    assert run(*given).parseoutcomes() == {"passed": 4, "skipped": 1}
    assert run(*given, "-k", ids()[0]).parseoutcomes() == {"passed": 1, "deselected": 4}
    marked = run(*given, "-m", "sqrl_rules", "--strict-markers").parseoutcomes()
    assert marked == {"passed": 3, "skipped": 1, "deselected": 1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["--sqrl-rules", "rules.json"],
            "ERROR: --sqrl-rules goes with --sqrl-data: give both, or neither.",
        ),
        (
            ["--sqrl-data", "good.csv"],
            "ERROR: --sqrl-data goes with --sqrl-rules: give both, or neither.",
        ),
        (
            ["--sqrl-rules", "gone.json", "--sqrl-data", "good.csv"],
            "ERROR: --sqrl-rules: There is no such rules file.",
        ),
    ],
)
def test_what_cannot_be_run_is_a_usage_error(run, given, message):
    """Not a failed test: nothing was tested."""
    result = run(*given)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str() + result.stdout.str()


def test_data_that_cannot_be_read_fails_the_tests_with_sqrls_message(run):
    """What, where, how to mend it."""
    result = run("--sqrl-rules", "rules.json", "--sqrl-data", "gone.csv")

    assert result.parseoutcomes() == {"failed": 4}
    result.stdout.fnmatch_lines(["There is no such file."])


def test_the_fixture_asserts_that_there_are_no_findings(run, pytester):
    """The findings are the message; what is clean comes back."""
    pytester.makepyfile(
        """
        import pytest
        import sqrl

        def test_good(sqrl_check):
            assert sqrl_check("rules.json", "good.csv").n_rows == 1

        def test_rules_in_memory(sqrl_check):
            rules = sqrl.load_rules("rules.json")
            with pytest.raises(AssertionError, match="x: 3 of 4 rows outside 0 to 9"):
                sqrl_check(rules, {"kind": ["a"] * 4, "x": [3.0, 50, 60, 70], "y": [1.0] * 4})

        def test_bad(sqrl_check):
            sqrl_check("rules.json", "bad.csv", level=0.05)
        """
    )
    result = run()

    assert result.parseoutcomes() == {"passed": 2, "failed": 1}
    result.stdout.fnmatch_lines(["E*AssertionError: bad.csv: 1 finding:", "E*1  x: 3 of 4 rows *"])


def test_unused_it_imports_nothing_but_pytest(tmp_path):
    """Every run of pytest loads it."""
    (tmp_path / "test_one.py").write_text("def test_one(): pass\n")
    report = (
        "import json, sys, pytest\n"
        "code = pytest.main(['-q', '-p', 'no:cacheprovider', '-p', 'sqrl.pytest_plugin',"
        f" {str(tmp_path)!r}])\n"
        "heavy = [n for n in ('numpy', 'pyarrow', 'msgspec', 'numba') if n in sys.modules]\n"
        "print(json.dumps([int(code), heavy, sorted(n for n in sys.modules if 'sqrl' in n)]))"
    )
    given = [sys.executable, "-c", report]
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        given, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
    )

    assert json.loads(done.stdout.splitlines()[-1]) == [
        0,
        [],
        ["sqrl", "sqrl._version", "sqrl.pytest_plugin"],
    ]


def test_the_package_says_where_the_plugin_is():
    """pytest finds it by its entry point."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"sqrl": "sqrl.pytest_plugin"}
    assert not [name for name in project["dependencies"] if name.startswith("pytest")]
