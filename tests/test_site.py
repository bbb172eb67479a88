"""The site: every page has its place, every link its goal, every public name its entry."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest
import typer

import sqrl
from api_pages import PAGES, api_index, api_page
from command_page import command_page
from page_links import anchors, links
from site_links import faults
from site_pages import (
    AT_ROOT,
    ROOT,
    folder_pages,
    load_settings,
    nav_values,
    navigation,
    page_for_site,
    place,
    sources,
)
from sqrl.cli import app

WRITTEN = [*sources(), Path("README.md")]
MADE = {"commands.md", "api/index.md", "decisions/index.md", "gallery/index.md"}
COMMANDS = command_page()


def order_of_pages():
    settings = load_settings()
    return nav_values(navigation(settings, folder_pages(settings)))


@pytest.mark.parametrize("source", WRITTEN, ids=str)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading_that_exist(source):
    """On GitHub, where pages are read as they lie in the repository."""
    text = (ROOT / source).read_text()
    for link in links(text):
        name, _, anchor = link.partition("#")
        goal = ROOT / source.parent / name if name else ROOT / source
        assert goal.exists(), link
        if anchor:
            assert anchor in anchors(goal.read_text()), link


def test_there_are_links_to_check():
    """The test above would hold of pages without any."""
    assert len(WRITTEN) > 60
    assert sum(len(links((ROOT / source).read_text())) for source in WRITTEN) > 100


@pytest.mark.parametrize("source", sources(), ids=str)
def test_every_link_of_a_page_leads_somewhere_on_the_site(source):
    """What lies outside of docs/ comes along, and links say where it went."""
    text, needed = page_for_site(source, (ROOT / source).read_text())
    lying = {place(one) for one in sources()} | {place(one) for one in needed} | MADE
    folder = Path(place(source)).parent

    for link in links(text):
        name = link.partition("#")[0]
        assert not name or _normal(folder / name) in lying, link


@pytest.mark.parametrize("source", sources(), ids=str)
def test_lists_begin_after_an_empty_line(source):
    """GitHub does not mind, but the site would take the list for part of the paragraph."""
    text = re.sub(r"^```.*?^```", "", (ROOT / source).read_text(), flags=re.M | re.S)

    assert re.findall(r"^(?![-*\d|\s>]).+\n((?:-|\*|1\.) .*)", text, flags=re.M) == []


def test_every_page_has_one_place_in_the_order_of_pages():
    """A page that is in no menu is found by nobody."""
    order = order_of_pages()

    assert len(order) == len(set(order))
    assert {place(source) for source in sources()} <= set(order)
    made = {f"api/{page.name}.md" for page in PAGES}
    assert set(order) <= {place(source) for source in sources()} | made | MADE


def test_the_pages_at_the_root_are_those_that_people_look_for():
    """The site takes the place of none of them."""
    assert {path.name for path in ROOT.glob("*.md")} == {*AT_ROOT, "README.md"}


def test_every_public_name_has_one_entry_in_the_api_reference():
    """A name that the reference does not have is not public, or forgotten."""
    names = [name for page in PAGES for name in page.names]
    elsewhere = {"__version__", "SqrlError"}  # on the first page, and in sqrl.errors

    assert sorted([*names, *elsewhere]) == sorted(sqrl.__all__)
    assert "sqrl.__version__" in api_index(str)
    for page in PAGES:
        assert all(f"\n::: sqrl.{name}\n" in api_page(page) for name in page.names)


def test_every_public_module_has_a_page_in_the_api_reference():
    """But the command line, which has a page of its own, and the plugin that pytest loads."""
    package = Path(sqrl.__file__).parent
    found = {path.stem for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}
    public = {f"sqrl.{name}" for name in found if not name.startswith("_")}
    pages = {page.title for page in PAGES if not page.names}

    assert pages == public - {"sqrl.cli", "sqrl.pytest_plugin", "sqrl.schemas"}
    assert all(f"\n::: {page.title}\n" in api_page(page) for page in PAGES if not page.names)


def test_every_command_and_option_is_in_the_reference_of_the_command_line():
    """The page is made from the commands; what they take is there."""
    sections = dict(re.findall(r"^## sqrl (\w+)\n(.*?)(?=^## |\Z)", COMMANDS, flags=re.M | re.S))
    names = [one.name or one.callback.__name__ for one in app.registered_commands]

    assert list(sections)[: len(names)] == names
    for name, command in typer.main.get_command(app).commands.items():
        assert f"| [`sqrl {name}`](#sqrl-{name}) | " in COMMANDS
        for parameter in command.params:
            for opt in parameter.opts if parameter.param_type_name == "option" else []:
                assert re.search(rf"^\| .*<code>{opt}[< ].* \| \S", sections[name], flags=re.M), opt


def test_the_reference_of_the_command_line_has_no_cell_that_is_cut():
    """A bar in a cell would begin the next one."""
    rows = [line for line in COMMANDS.splitlines() if line.startswith("|")]

    assert len(rows) > 100
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}


@pytest.mark.parametrize(
    "name", ["api_pages", "page_links", "site_pages", "command_page", "readable_code"]
)
def test_examples_of_the_site_maker_run(name):
    """Docstrings of website/ are examples too."""
    if name == "readable_code":
        pytest.importorskip("griffe", reason="griffe is not installed: make site")

    assert doctest.testmod(import_module(name)).failed == 0


def test_the_settings_name_no_other_host():
    """Pages are read without a network, and nobody learns who reads them."""
    settings = load_settings()
    files = [*settings["extra_css"], *settings["extra"]["polyfills"], "mkdocs.yml"]

    assert settings["theme"]["font"] is False
    for name in files:
        assert "//" not in re.sub(r"^// .*", "", (ROOT / "website" / name).read_text(), flags=re.M)


def test_faulty_links_of_a_built_page_are_found(tmp_path):
    """A file or an anchor that is not there, and what would be loaded from elsewhere."""
    right = ["#here", "b.html#x", "https://e.org", "a.html"]
    wrong = ["#gone", "c.html", "b.html#y"]
    tags = [f'<a href="{one}">a</a>' for one in right + wrong]
    page = "".join(['<h1 id="here">a</h1>', *tags, '<script src="//e.org/s.js"></script>'])
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text('<p id="x"><a href="a.html">a</a>')

    assert faults(tmp_path) == [
        "a.html: loads //e.org/s.js from another host",
        "a.html: #gone: there is no such anchor",
        "a.html: c.html: there is no such file",
        "a.html: b.html#y: there is no such anchor",
    ]


def _normal(path):
    parts = []
    for part in path.parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)
