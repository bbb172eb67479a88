"""The package as others meet it: its extras, its citation, and what errors tell to install."""

import json
import re
import tomllib
from pathlib import Path

import yaml

import first_minutes
import packaged
from sqrl._version import __version__

ROOT = Path(__file__).parent.parent
PROJECTS = [
    tomllib.loads((ROOT / place / "pyproject.toml").read_text())["project"]
    for place in (".", "paper")
]
HINT = re.compile(r"pip install (?:--no-deps )?(\"[^\"]+\"|[^\s,'\"\\]+)")


def sources():
    return [path for place in ("src", "paper/src") for path in (ROOT / place).rglob("*.py")]


def test_errors_name_only_packages_and_extras_that_the_project_defines():
    """What a person is told to type exists; word lists of the paper are its own requirements."""
    extras = {one["name"]: {*one["optional-dependencies"]} for one in PROJECTS}
    needed = {
        need
        for one in PROJECTS
        for needs in one["optional-dependencies"].values()
        for need in needs
    } | {need for one in PROJECTS for need in one["dependencies"]}
    hints = {
        hint.strip('"')
        for path in sources()
        for hint in HINT.findall(path.read_text())
        if not hint.startswith("{")  # filled in by names of needed ones
    }
    assert "sqrl-rules[fast]" in hints
    assert len(hints) > 6
    for hint in hints - {"./paper"} - needed:
        name, _, extra = hint.rstrip("]").replace("{self.needs}", "ray").partition("[")
        assert name in extras, hint
        assert not extra or extra in extras[name], hint


def test_what_all_installs_is_every_extra_but_those_of_developers():
    """An extra that is forgotten there would be tested by nobody."""
    extras = PROJECTS[0]["optional-dependencies"]
    inside = re.fullmatch(r"sqrl-rules\[(.*)\]", extras["all"][0])[1]

    pulls_much = {"training", "extract"}  # run against in an environment of its own
    assert set(inside.split(",")) == set(extras) - {"all", "dev", "docs"} - pulls_much


def test_numba_is_no_plain_dependency():
    """With llvmlite it is a third of what a plain install would take."""
    assert not [need for need in PROJECTS[0]["dependencies"] if need.startswith("numba")]


def test_the_citation_is_of_this_version():
    """It cites the paper, too."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())

    assert citation["version"] == __version__
    assert citation["license"] == PROJECTS[0]["license"]
    paper = citation["references"][0]
    assert paper["title"].startswith("Do Machine Learning Models Learn Statistical Rules")
    assert [one["family-names"] for one in paper["authors"]] == ["Naik", "Wu", "Naik", "Wong"]


def test_issue_forms_are_yaml_with_what_github_needs():
    """A form without a name is not offered."""
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))

    assert [form.name for form in forms] == ["bug.yml", "idea.yml"]
    for form in forms:
        content = yaml.safe_load(form.read_text())
        assert {"name", "description", "body"} <= set(content)
        assert all(part["type"] in {"markdown", "textarea", "input"} for part in content["body"])


def results_of(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def test_the_sizes_of_an_install_are_those_measured():
    """The page has the tables that the script would print; every extra is in them."""
    results = results_of("packaged")

    assert packaged.page(results) in (ROOT / "docs" / "release.md").read_text()
    assert results["plain_mb"] < 400
    for_users = {*PROJECTS[0]["optional-dependencies"]} - {"dev", "docs"}
    assert set(results["installs"]) == {"", *for_users}


def test_the_demo_ran_where_the_package_was_installed():
    """From wheel and sdist it says how to get torch; with torch it adapts a model."""
    demos = results_of("packaged")["demos"]

    assert set(demos) == {"wheel", "sdist", "everything"}
    assert "sqrl-rules[adapt]" in "".join(demos["wheel"]["said"])
    assert "% adapted" in "".join(demos["everything"]["said"])
    assert all(one["cpu"] < 20 for one in demos.values())
    assert all(len(one["said"]) <= 45 for one in demos.values())
    assert all(len(line) <= 80 for one in demos.values() for line in one["said"])


def test_what_an_install_needs_is_followed_to_the_end():
    """By hand: extras of what is needed count, markers that are false do not."""
    needs = {
        "sqrl-rules": ["a", 'b[x]; extra == "fast"', "d; python_version < '3'"],
        "a": [],
        "b": ['c>=1; extra == "x"', 'd; extra == "y"'],
        "c": ["a"],
        "d": [],
    }
    packages = {name: {"needs": lines} for name, lines in needs.items()}

    assert packaged.needed(packages, "") == {"sqrl-rules", "a"}
    assert packaged.needed(packages, "fast") == {"sqrl-rules", "a", "b", "c"}


def test_what_the_first_minutes_take_is_measured():
    """Three commands; the fault is named, by the column it was planted in."""
    results = results_of("first_minutes")

    assert first_minutes.page(results) in (ROOT / "docs" / "release.md").read_text()
    assert f"{results['cpu']:.1f} seconds of CPU" in " ".join(
        (ROOT / "README.md").read_text().split()
    )
    assert len(results["commands"]) == 3
    assert results["named"].split(":")[0].endswith("hours")
    assert all(one["met"] for one in results["bars"])
    assert results["cpu"] <= first_minutes.MOST
