"""The gallery shows the scripts as they are, and what they print."""

import re
import runpy
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import render_gallery
from render_gallery import GALLERY, page, read_example

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "gallery"
PRINTED = re.compile(r"## What it prints\n\n```text\n(.*?)\n```\n", flags=re.DOTALL)
# What starts a process of its own, Spark, or torch; the others run in this process.
LONG = {
    "pytest_plugin": ["pytest"],
    "spark_dataframe": ["pyspark"],
    "image_extractors": ["torch", "sklearn"],
    "lightning_callback": ["torch", "lightning"],
    "camera_by_scale": ["torch"],
    "hugging_face_rule_loss": ["torch", "transformers", "accelerate"],
}


def printed_on(name):
    """What the page of a script says that it prints."""
    return PRINTED.search((PAGES / f"{name}.md").read_text()).group(1)


def shape(text):
    """The first words of lines: figures of a trained model are not the same everywhere."""
    return [line.split()[:2] for line in text.splitlines() if not line.startswith(" ")]


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "examples").glob("*.py")))
def test_a_page_holds_the_script_as_it_is(name):
    """Whoever edits a script runs `python benchmarks/render_gallery.py NAME`."""
    text = (PAGES / f"{name}.md").read_text()
    made = page(read_example(name), printed_on(name))
    opening, script = made.split("```text")[0], made.split("## The script")[1]

    assert text.startswith(opening)
    assert text.endswith(script)
    assert all(f"{package} " in text for package in GALLERY[name].packages)
    assert (ROOT / "docs" / "images" / "gallery" / f"{name}.png").stat().st_size < 80_000


@pytest.mark.parametrize("name", [*sorted(GALLERY), "index"])
def test_links_and_pictures_of_a_page_are_there(name):
    """No link leads nowhere."""
    text = (PAGES / f"{name}.md").read_text()
    targets = re.findall(r"\]\(([^)]+)\)", text.split("```")[0]) + re.findall(r'src="(.+?)"', text)

    assert targets
    assert [target for target in targets if not (PAGES / target).exists()] == []


def test_the_index_lists_every_script():
    """And no page or picture is left of one that is gone."""
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    pictures = (ROOT / "docs" / "images" / "gallery").iterdir()

    assert names == set(GALLERY)
    assert {path.stem for path in PAGES.glob("*.md")} == {*names, "index"}
    assert {path.stem for path in pictures} == names
    assert (PAGES / "index.md").read_text() == render_gallery.index()


@pytest.mark.parametrize("name", sorted(set(GALLERY) - set(LONG)))
def test_a_script_prints_what_its_page_says(name, tmp_path, monkeypatch, capsys):
    """Of made-up data, on any machine."""
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("SQRL_DATA", raising=False)
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")

    assert capsys.readouterr().out.rstrip() == printed_on(name)


@pytest.mark.usefixtures("_slowly")
@pytest.mark.parametrize("name", sorted(LONG))
def test_a_script_that_takes_longer_runs(name, tmp_path, monkeypatch):
    """In a process of its own, with its picture; of a trained model but for its figures."""
    absent = [package for package in LONG[name] if find_spec(package) is None]
    if absent:
        pytest.skip(f"{', '.join(absent)} not installed")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("SQRL_DATA", raising=False)
    said = render_gallery.run(name, tmp_path / "picture.png").rstrip()

    assert (tmp_path / "picture.png").stat().st_size > 1000
    if GALLERY[name].packages:
        assert shape(said) == shape(printed_on(name))
    else:
        assert said == printed_on(name)


def test_without_an_optional_package_a_script_says_what_to_install(monkeypatch):
    """And ends, without a traceback."""
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "examples" / "repair_predictions.py"))

    assert ended.value.code == (
        'This example needs scikit-learn: pip install "sqrl-rules[explain]"'
    )
