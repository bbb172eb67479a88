"""The package as others meet it: its extras, its citation, and what errors tell to install."""

import json
import re
import tomllib
from pathlib import Path

import yaml

from packaged import page
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


def test_the_sizes_of_an_install_are_those_measured():
    """The page has the table that the script would print."""
    results = json.loads((ROOT / "benchmarks" / "results" / "packaged.json").read_text())

    assert page(results) in (ROOT / "docs" / "release.md").read_text()
    assert results["plain_mb"] < 400
