"""Writing a file: it is either the old one or the new one, never half of it."""

import os
from pathlib import Path

import pytest

from sqrl._data.write_file import check_writable, replacing, write_atomically
from sqrl.errors import DataError, OutputError


def listing(folder):
    """The names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_holds_the_content_and_nothing_else_is_left(tmp_path):
    """What was written under another name has become the file."""
    write_atomically(tmp_path / "a.json", b"new")

    assert (tmp_path / "a.json").read_bytes() == b"new"
    assert listing(tmp_path) == ["a.json"]


def break_off(path, error):
    """Begin to write the file, then fail."""
    with replacing(path) as temporary:
        temporary.write_bytes(b"half")
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), DataError("no")])
def test_the_old_file_stays_when_writing_breaks_off(tmp_path, error):
    """Whatever goes wrong goes on unchanged, and leaves the old file and no other."""
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with pytest.raises(type(error)):
        break_off(path, error)

    assert path.read_bytes() == b"old"
    assert listing(tmp_path) == ["a.json"]


def test_a_full_disk_is_an_output_error(tmp_path):
    """What the system says is passed on, with the place and a way out."""
    path = tmp_path / "a.json"
    with pytest.raises(OutputError) as caught:
        break_off(path, OSError(28, "No space left on device"))

    assert str(caught.value) == (
        "Cannot write the file: No space left on device.\n"
        f"  where: {path}\n"
        "  fix:   check the name, the disk's free space and the permissions"
    )
    assert listing(tmp_path) == []


def test_permissions_of_the_old_file_are_kept(tmp_path):
    """A file that only its owner may read stays so."""
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write_atomically(path, b"new")

    assert path.stat().st_mode & 0o777 == 0o600


def test_a_new_file_gets_the_permissions_that_any_new_file_gets(tmp_path):
    """The temporary file's tight permissions do not stay."""
    (tmp_path / "plain").write_bytes(b"")
    write_atomically(tmp_path / "a.json", b"new")

    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_stays_a_link(tmp_path):
    """What the link points to is replaced, not the link."""
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")

    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_path_without_a_folder_is_in_the_current_one(tmp_path, monkeypatch):
    """A bare file name can be written."""
    monkeypatch.chdir(tmp_path)
    write_atomically(Path("a.json"), b"new")

    assert listing(tmp_path) == ["a.json"]


@pytest.mark.parametrize(
    ("path", "what", "fix"),
    [
        ("none/a.json", "The folder of the output does not exist.", "create it: mkdir -p none"),
        ("file/a.json", "'file' is a file, not a folder.", "choose another place"),
        ("file/b/a.json", "'file' is a file, not a folder.", "choose another place"),
        ("folder", "The output is a folder.", "name a file in it"),
    ],
)
def test_a_place_that_cannot_hold_a_file_is_refused(tmp_path, monkeypatch, path, what, fix):
    """The check comes before any work and says what is in the way."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_bytes(b"")
    Path("folder").mkdir()
    with pytest.raises(OutputError) as caught:
        check_writable(Path(path))

    assert str(caught.value) == f"{what}\n  where: {path}\n  fix:   {fix}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path):
    """Permissions are looked at before any work."""
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="cannot be written to"):
        check_writable(tmp_path / "a.json")
    tmp_path.chmod(0o700)
