"""Results say by which code they were measured, and a command tells what has changed since."""

import json
from pathlib import Path

import pytest

import stale
from sqrl_paper.sources import digests, read_sources

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
CODE = '''
def double(x):
    """Twice as much."""
    return 2 * x
'''


def digest_of(text):
    """The digest of a room with one file."""
    return digests([("src/sqrl/_room/file.py", text)])["_room"]


@pytest.mark.parametrize(
    "edited",
    [
        CODE.replace("Twice as much.", "Two times."),
        CODE.replace('    """Twice as much."""\n', ""),
        CODE.replace("2 * x", "(2 * x)  # a comment"),
    ],
)
def test_words_about_code_do_not_count(edited):
    """Comments, docstrings and layout leave the digest as it is."""
    assert digest_of(edited) == digest_of(CODE)


@pytest.mark.parametrize("edited", [CODE.replace("2 *", "3 *"), CODE.replace("double", "twice")])
def test_code_counts(edited):
    """Another number or name is another digest."""
    assert digest_of(edited) != digest_of(CODE)


def test_a_change_is_told_of_the_rooms_that_a_file_is_about(tmp_path):
    """Of a room inside another by the name in the table; other rooms are left out."""
    now = digests(read_sources(ROOT))
    other = dict.fromkeys(("_kernels/compiled", "_review"), "0" * 12)
    commit = {"id": "0" * 40, "dirty": False, "rooms": now | other}
    machine = {"processor": "a processor"}
    path = tmp_path / "learn.json"
    path.write_text(json.dumps({"made": "2026-01-02", "commit": commit, "machine": machine}))
    found = stale.look_at(path, now)

    assert found.changed == ("_kernels",)
    assert found.line() == (
        "| `learn.json` | [benchmarks](benchmarks.md) | 2026-01-02 | 000000000000 | a processor"
        " | `_kernels` |"
    )


def test_a_commit_that_is_nowhere_is_not_known(tmp_path):
    """Without digests and without history nobody can tell."""
    path = tmp_path / "learn.json"
    path.write_text(json.dumps({"date": "2026-01-02T03:04", "commit": {"id": "0" * 40}}))

    assert stale.look_at(path, {}).changed is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_results_file_is_on_the_page(path):
    """With its page, day, commit and machine; what has changed since is as of the release."""
    line = "| " + " | ".join(stale.look_at(path, {}).cells()) + " |"

    assert line in stale.PAGE.read_text(), "run: python benchmarks/stale.py --write"


def test_the_table_is_of_files_pages_and_rooms_that_exist():
    """A name that is gone would never be told of."""
    rooms = digests(read_sources(ROOT))
    for page, wanted in stale.MEASURES.values():
        assert (ROOT / "docs" / page).is_file()
        for one in wanted:
            assert any(stale.is_within(room, one) for room in rooms), one

    assert {path.stem for path in FILES} == set(stale.MEASURES)
