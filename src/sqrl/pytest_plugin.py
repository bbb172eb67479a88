"""A plugin for pytest: rules as tests, and a fixture that asserts that data keeps them.

    pytest --sqrl-rules rules.json --sqrl-data new.csv      each rule is a test, and so are findings

    def test_the_export_is_as_it_was(sqrl_check):
        sqrl_check("rules.json", export())

It is loaded by every run of pytest, so nothing of sqrl is imported until it is asked for.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sqrl._check.violations import Violations

MARKER = "sqrl_rules"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that make tests of rules."""
    group = parser.getgroup("sqrl", "sqrl: data against learned rules")
    group.addoption("--sqrl-rules", metavar="FILE", help="File of rules; each becomes a test.")
    group.addoption("--sqrl-data", metavar="DATA", help="Rows that the rules are tested on.")
    group.addoption("--sqrl-prediction", metavar="COLUMN", help="Takes the place of the label.")
    group.addoption(
        "--sqrl-fail-on",
        choices=["significant", "any"],
        default="significant",
        help="What fails a rule's test: broken beyond chance, or at all.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse half of a pair of options; make the marker known."""
    config.addinivalue_line("markers", f"{MARKER}: tests made of rules by --sqrl-rules.")
    if bool(config.getoption("sqrl_rules")) != bool(config.getoption("sqrl_data")):
        given, other = ("rules", "data") if config.getoption("sqrl_rules") else ("data", "rules")
        raise pytest.UsageError(f"--sqrl-{given} goes with --sqrl-{other}: give both, or neither.")


@pytest.hookimpl(tryfirst=True)  # so that -k, -m and --lf choose among tests of rules too
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a test for each rule, and one for findings, where rules are given."""
    if config.getoption("sqrl_rules"):
        path = Path(config.getoption("sqrl_rules")).absolute()
        items.extend(RulesFile.from_parent(session, path=path).collect())


class RulesFile(pytest.File):
    """A file of rules, whose tests share one check, made when the first of them runs."""

    def collect(self) -> Iterator["RuleItem | FindingsItem"]:
        """A test for each rule, named by its id and what it is about, and one for findings."""
        import sqrl
        from sqrl.report._junit import case_names

        try:
            self.rules = sqrl.load_rules(self.path).in_force()  # which are those that are checked
        except sqrl.SqrlError as error:
            raise pytest.UsageError(f"--sqrl-rules: {error}") from None
        yield FindingsItem.from_parent(self, name="findings")
        names = zip(case_names(self.rules), self.rules.texts(), strict=True)
        for place, (name, text) in enumerate(names):
            known, _, about = name.partition(" ")
            yield RuleItem.from_parent(self, name=f"{known}[{about}]", place=place, text=text)

    @cached_property
    def found(self) -> "Violations":
        """What the check found."""
        import sqrl

        option = self.config.getoption
        return sqrl.check(self.rules, option("sqrl_data"), prediction=option("sqrl_prediction"))


class _Item(pytest.Item):
    """A test on what the check of its file found."""

    parent: RulesFile

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.add_marker(MARKER)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What is wrong with the data; a traceback would lead into sqrl."""
        from sqrl.errors import SqrlError

        if isinstance(excinfo.value, AssertionError | SqrlError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class RuleItem(_Item):
    """A test of one rule."""

    def __init__(self, *, place: int, text: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.place = place
        self.text = text

    def runtest(self) -> None:
        """Fail where the rule is broken, skip where it is waived or applied to nothing."""
        from sqrl.report._junit import case_message

        found = self.parent.found
        if self.place in found.waived:
            pytest.skip(found.waived[self.place].text)
        of_any = self.config.getoption("sqrl_fail_on") == "any"
        if found.significant[self.place] or (of_any and found.broken[self.place]):
            raise AssertionError(f"{self.text}\n{case_message(found, self.place)}")
        if found.idle[self.place]:
            pytest.skip("applied to no sample")

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The sentence stands above the failure."""
        return self.path, None, self.text


class FindingsItem(_Item):
    """The test that nothing has changed, of all rules together."""

    def runtest(self) -> None:
        """Fail where there is a finding."""
        assert_clean(self.parent.found)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """What is checked stands above the failure."""
        return self.path, None, f"findings of {self.config.getoption('sqrl_data')}"


def assert_clean(found: "Violations") -> None:
    """Raise an AssertionError that says what has changed, where something has."""
    from sqrl.report._text_findings import finding_lines

    __tracebackhide__ = True
    if found.findings():
        lines = "\n".join(finding_lines(found, width=96))
        raise AssertionError(f"{found.source}: {lines}")


@pytest.fixture
def sqrl_check() -> "Callable[..., Violations]":
    """A function `(rules, data, **options)` that asserts that a check has no findings.

    `rules` are a RuleSet or a file of them, `data` and options as `sqrl.check` takes them. What it
    found comes back where that is nothing beyond chance.
    """

    def check(rules: Any, data: Any, **options: Any) -> "Violations":
        import sqrl

        __tracebackhide__ = True
        known = rules if isinstance(rules, sqrl.RuleSet) else sqrl.load_rules(rules)
        found = sqrl.check(known, data, **options)
        assert_clean(found)
        return found

    return check
