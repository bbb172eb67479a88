"""Every code block of README and docs runs, or says why not."""

import doctest
import importlib
import json
import re
import tomllib
import warnings

import pytest
import typer
import yaml

import sqrl
from code_blocks import PAGES, ROOT, blocks_of, commands_in
from sqrl._language import parse
from sqrl._language.forms import read_form
from sqrl._rules.schema import Schema

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Run by pytest itself, with what else those pages say.
DOCTESTS = {ROOT / name for name in PYPROJECT["tool"]["pytest"]["ini_options"]["testpaths"]}
# Why a block may not be run; in the first case the file says how it is.
REASONS = re.compile(
    r"(?P<file>\S+\.py) runs it"
    r"|needs data that is not in the repository"
    r"|needs a model or data of your own"
)


def of(language):
    return [block for block in BLOCKS if block.language == language]


def by_page(language):
    """The pages with such blocks, with those that are run."""
    pages = {}
    for block in of(language):
        if block.why_not is None:
            pages.setdefault(block.page, []).append(block)
    return [pytest.param(page, one, id=page.name) for page, one in pages.items()]


def test_blocks_are_in_a_language_that_is_looked_at_here():
    """A language that nobody checks could say anything; `text` is what a program wrote."""
    known = {"shell", "python", "doctest", "yaml", "sql", "rules", "text", "json"}

    assert {block.language for block in BLOCKS} <= known
    assert len(of("python")) > 25
    assert len(of("shell")) > 15


def test_what_is_not_run_says_why_for_one_of_few_reasons():
    """And where something else runs it, that file is there."""
    for block in BLOCKS:
        if block.why_not is not None:
            why = REASONS.fullmatch(block.why_not)
            assert why, (block.place, block.why_not)
            assert why["file"] is None or (ROOT / why["file"]).is_file(), block.place
            assert block.language in {"python", "doctest"}, block.place


@pytest.mark.parametrize(("page", "blocks"), by_page("doctest"))
def test_examples_give_what_they_say(page, blocks):
    """Those of pages that pytest does not collect by itself."""
    if page in DOCTESTS:
        pytest.skip("collected as a file")
    text = "\n".join(block.code for block in blocks)
    parsed = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)

    assert doctest.DocTestRunner(verbose=False).run(parsed).failed == 0


IDS = ("9f0a3c1e", "1c2828fb", "35d8027d")  # that pages name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rules, with ids as pages have them, and rows of people of which some break them."""
    made = tmp_path_factory.mktemp("pages")
    texts = ["0 <= x <= 9", "18 <= age <= 90", "y = yes => 0 <= x <= 9"]
    rules = sqrl.RuleSet.from_texts(texts, coverage=[0.98] * 3, support=[900] * 3)
    rules.save(made / "rules.json")
    content = json.loads((made / "rules.json").read_text())
    for rule, known in zip(content["rules"], IDS, strict=True):
        rule["id"] = known
    (made / "rules.json").write_text(json.dumps(content))
    rows = ["x,age,income,y,y_hat,y_predicted"]
    for i in range(200):
        y, said = "yes" if i % 3 else "no", "yes" if i % 5 else "no"
        rows.append(f"{(i * 7) % 9},{20 + i % 60},{i % 11 * 100},{y},{said},{said}")
    for name in ("new.csv", "train.csv", "predictions.csv"):
        (made / name).write_text("\n".join(rows) + "\n")
    return made


@pytest.fixture
def names(folder, monkeypatch):
    """What stands for a reader's own things: rules, frames, a service's table."""
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(folder)
    rules, frame = sqrl.load_rules("rules.json"), pandas.read_csv("new.csv")
    return {
        "sqrl": sqrl,
        "np": importlib.import_module("numpy"),
        "rules": rules,
        "old": rules,
        "new": frame,
        "ids": IDS[:1],
        "train": frame,
        "frame": frame,
        "batch": frame,
    }


@pytest.mark.parametrize(("page", "blocks"), by_page("python"))
def test_python_runs(page, blocks, names, monkeypatch):
    """The blocks of a page one after the other, in a folder with rules and rows."""
    from sqrl.export import TARGETS

    monkeypatch.setitem(TARGETS, "list", None)  # which a page adds, and which is gone afterwards
    if page.name == "review.md":
        names["new"] = names["rules"]
    if page.name == "history.md":  # it accepts an alarm
        names["frame"] = names["frame"].assign(x=50)
    for block in blocks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            exec(compile(block.code, block.place, "exec"), names)


PROGRAM = typer.main.get_command(importlib.import_module("sqrl.cli").app)
UsageError = typer.BadParameter.__base__


def wrong_with(words):
    """What is wrong with a command of sqrl, by its name, options and choices; None if nothing."""
    try:
        group = PROGRAM.make_context("sqrl", words[1:])
        name, command, arguments = PROGRAM.resolve_command(group, words[1:])
        command.make_context(name, arguments, parent=group)  # reads what is given, runs nothing
    except UsageError as error:
        return error.format_message()
    return None


def test_commands_that_are_wrong_are_found():
    """The test below can fail: by a command, an argument, an option, a choice."""
    assert wrong_with(["sqrl", "check", "a.json", "b.csv", "--report", "c.html"]) is None
    assert "chek" in wrong_with(["sqrl", "chek", "a.json"])
    assert "DATA" in wrong_with(["sqrl", "check", "a.json"])
    assert "--reprot" in wrong_with(["sqrl", "check", "a.json", "b.csv", "--reprot", "c.html"])
    assert "sometimes" in wrong_with(["sqrl", "check", "a", "b", "--fail-on", "sometimes"])


@pytest.mark.parametrize("block", of("shell"), ids=lambda block: block.place)
def test_commands_exist_with_their_options(block):
    """Of sqrl, of the scripts in benchmarks, of make, and extras that pip is to install."""
    extras = {"", *PYPROJECT["project"]["optional-dependencies"]}
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([\w-]+):", makefile, flags=re.MULTILINE)
    settings = re.findall(r"^([A-Z]+) \?=", makefile, flags=re.MULTILINE)
    plugin = (ROOT / "src" / "sqrl" / "pytest_plugin.py").read_text()
    for words in commands_in(block.code):
        program, *arguments = words
        if program == "sqrl":
            assert wrong_with(words) is None, (block.place, words, wrong_with(words))
        elif program == "python" and arguments[0].endswith(".py"):
            script = (ROOT / arguments[0]).read_text()
            asked = [one for one in arguments if one.startswith("--")]
            used = [path.read_text() for path in (ROOT / "benchmarks").glob("*.py")]
            absent = [one for one in asked if f'"{one}"' not in script]
            assert not [one for one in absent if not any(f'"{one}"' in text for text in used)]
        elif program == "pytest":
            ours = [one for one in arguments if one.startswith("--sqrl")]
            assert all(f'"{one}"' in plugin for one in ours), block.place
        elif program == "make":
            set_to = [one.split("=")[0] for one in arguments if "=" in one]
            assert set(set_to) <= set(settings), block.place
            assert {one for one in arguments if "=" not in one} <= set(targets), block.place
        elif program == "pip":
            asked = re.findall(r"\[([\w,]+)\]", " ".join(arguments))
            assert {one for group in asked for one in group.split(",")} <= extras, block.place


@pytest.mark.parametrize("block", of("yaml"), ids=lambda block: block.place)
def test_yaml_is_a_schema_or_steps_that_are_there(block, tmp_path):
    """Steps of CI name inputs of the action, and hooks that this repository has."""
    content = yaml.safe_load(block.code)
    if isinstance(content, dict) and set(content) & set(Schema.__struct_fields__):
        (tmp_path / "schema.yaml").write_text(block.code)
        assert sqrl.load_schema(tmp_path / "schema.yaml").rules
        return
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    ours = [step for step in content if "sqrl" in step.get("uses", step.get("repo", ""))]

    assert ours
    for step in ours:
        assert set(step.get("with", {})) <= set(action["inputs"])
        needed = {name for name, one in action["inputs"].items() if one.get("required")}
        assert "uses" not in step or needed <= set(step["with"])
        assert {hook["id"] for hook in step.get("hooks", [])} <= {hook["id"] for hook in hooks}


@pytest.mark.parametrize("block", of("rules"), ids=lambda block: block.place)
def test_rules_are_sentences_of_the_language(block):
    """They print as they are written."""
    for line in block.code.strip().splitlines():
        assert read_form(parse(line.strip())), block.place


@pytest.mark.parametrize("block", of("sql"), ids=lambda block: block.place)
def test_sql_is_understood(block):
    """By the parser that exports use."""
    sqlglot = pytest.importorskip("sqlglot")

    assert sqlglot.parse_one(block.code)


@pytest.mark.parametrize("block", of("json"), ids=lambda block: block.place)
def test_json_is_json(block):
    """As other programs would read it."""
    assert json.loads(block.code)
