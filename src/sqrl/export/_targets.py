"""What rules are exported to. TARGETS is the door for another target: see CONTRIBUTING.md.

Nothing heavy is imported here: a target is loaded when it is first used.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqrl._data.write_file import check_folder, replacing_folder
from sqrl._registry import Registry
from sqrl.errors import OutputError

if TYPE_CHECKING:
    from sqrl._rules.ruleset import RuleSet

DIALECTS = ("duckdb", "spark", "bigquery", "snowflake", "postgres")
EVERYWHERE = ("like", "prediction", "limit")  # options that every target takes


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder that a target writes: how its files begin and end, and words for messages."""

    prefix: str
    suffix: str
    files: str  # "tests"
    what: str  # "Tests of dbt"
    example: str  # "tests/sqrl"

    def check(self, path: Path) -> None:
        """Raise before any work where a folder could not be replaced, or holds what is not ours."""
        fix = f"name a folder of its own, such as {self.example}"
        others = "files that were not exported"
        check_folder(path, is_ours=self._is_exported, others=others, fix=fix)

    def write(self, path: Path, files: Mapping[str, str]) -> None:
        """Write the files; of those exported before, rules that are gone leave no file."""
        self.check(path)
        with replacing_folder(path) as new:
            for name, text in files.items():
                (new / name).write_text(text, encoding="utf-8", newline="\n")

    def _is_exported(self, entry: Path) -> bool:
        is_named_so = entry.name.startswith(self.prefix) and entry.suffix == self.suffix
        return is_named_so and entry.is_file()


@dataclass(frozen=True, slots=True)
class Target:
    """A program that rules are exported to.

    `write(rules, **options)` gives the text of a file, or with a `folder` the text of each file by
    its name. Besides `like`, `prediction` and `limit` it takes the options that it names.
    """

    name: str
    write: "Callable[..., str | Mapping[str, str]]"
    options: tuple[str, ...] = ()  # of: table, dialect, batch_column, rows
    folder: Folder | None = None

    def export(self, rules: "RuleSet", **given: Any) -> str | Mapping[str, str]:
        """What the target gives for the rules; options that it does not take are left out."""
        taken = {*EVERYWHERE, *self.options}
        return self.write(rules, **{name: given[name] for name in given if name in taken})

    def check_output(self, output: Path | None) -> None:
        """Raise before any work where the result is a folder and could not be written there."""
        if self.folder is None:
            return
        if output is None:
            what = f"{self.folder.what} are written to a folder, and none was named."
            raise OutputError(what, fix=f"name one, such as -o {self.folder.example}")
        self.folder.check(output)


def _when_used(name: str) -> "Callable[..., Any]":
    """The function of `sqrl.export` by this name, which is loaded when it is called."""

    def write(rules: "RuleSet", **given: Any) -> Any:
        return getattr(import_module("sqrl.export"), name)(rules, **given)

    return write


TESTS = Folder("sqrl_", ".sql", files="tests", what="Tests of dbt", example="tests/sqrl")
TARGETS = Registry(
    "export target",
    {
        "sql": Target("sql", _when_used("to_sql"), ("table", "dialect", "batch_column", "rows")),
        "dbt": Target("dbt", _when_used("to_dbt"), ("table", "dialect", "batch_column"), TESTS),
        "pandera": Target("pandera", _when_used("to_pandera")),
    },
)
