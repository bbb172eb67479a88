"""How large images are, from the first bytes of their files."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqrl._data.formats.boxes.collected import Size
from sqrl._data.formats.boxes.picture_sizes import picture_size
from sqrl.errors import DataError

sizes = st.tuples(st.integers(1, 65_535), st.integers(1, 65_535))


def png(width, height):
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02"


def gif(width, height):
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\xf7\0\0"


def bmp(width, height):
    return b"BM" + b"\0" * 12 + struct.pack("<Iii", 40, width, -height)


def old_bmp(width, height):
    return b"BM" + b"\0" * 12 + struct.pack("<IHH", 12, width, height)


def segment(marker, content):
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def jpeg(width, height, *before):
    frame = segment(0xC2, struct.pack(">BHHB", 8, height, width, 3))
    return b"\xff\xd8" + b"".join(before) + segment(0xDB, b"\0" * 65) + b"\xff" + frame


def exif(order, orientation):
    """An Exif segment whose only entry is the orientation."""
    entry = struct.pack(f"{order}HHIHH", 0x0112, 3, 1, orientation, 0)
    head = struct.pack(f"{order}2sHIH", b"II" if order == "<" else b"MM", 42, 8, 1)
    return segment(0xE1, b"Exif\0\0" + head + entry)


@pytest.mark.parametrize("write", [png, gif, old_bmp, jpeg])
@given(size=sizes)
def test_what_is_written_is_read(tmp_path_factory, write, size):
    """Whatever the size."""
    path = tmp_path_factory.mktemp("pictures") / "a.bin"
    path.write_bytes(write(*size))

    assert picture_size(path) == Size(*size)


def test_rows_that_begin_at_the_top_make_no_height_negative(tmp_path):
    """A BMP says so by a minus."""
    path = tmp_path / "a.bmp"
    path.write_bytes(bmp(70_000, 3))

    assert picture_size(path) == Size(70_000, 3)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("orientation", "size"), [(1, (40, 30)), (3, (40, 30)), (6, (30, 40))])
def test_a_photograph_on_its_side_is_measured_as_it_is_shown(tmp_path, order, orientation, size):
    """Labels are made of what people see."""
    path = tmp_path / "a.jpg"
    path.write_bytes(jpeg(40, 30, exif(order, orientation)))

    assert picture_size(path) == Size(*size)


@given(
    start=st.sampled_from(
        [b"", png(3, 4)[:20], b"BM", b"GIF89a", b"\xff\xd8\xff", jpeg(3, 4)[:75]]
    ),
    rest=st.binary(max_size=40),
)
def test_any_bytes_are_measured_or_refused(tmp_path_factory, start, rest):
    """Never another error than ours."""
    path = tmp_path_factory.mktemp("pictures") / "a.png"
    path.write_bytes(start + rest)
    try:
        found = picture_size(path)
    except DataError:
        return

    assert found.width > 0
    assert found.height > 0


@pytest.mark.parametrize(
    "content", [b"text", png(0, 4), jpeg(3, 4)[:60], b"\xff\xd8" + segment(0xE0, b"") * 2000]
)
def test_what_tells_no_size_is_refused(tmp_path, content):
    """A JPEG without end, too."""
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        picture_size(path)

    assert str(caught.value) == (
        "The size of the image cannot be read: it is no PNG, JPEG, GIF or BMP, or damaged.\n"
        f"  where: {path}\n"
        "  fix:   mend the image, or give sizes as a CSV with images= (--images)"
    )
