"""The reader of the PhysioNet Challenge 2012 takes its files as published, or says what is bad."""

import gzip
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from real_data import folder as real_folder
from sqrl import load_schema
from sqrl.errors import DataError
from sqrl_paper.imputation.made import HEADER, made_values, record, write_archive, write_values
from sqrl_paper.imputation.physionet import FEATURES, NOT_USED, read_physionet
from sqrl_paper.imputation.physionet_files import MOST_BYTES

PAGE = "https://physionet.org/content/challenge-2012/"
SOUND = record("00:00,RecordID,132539", "00:07,GCS,15")


def read_one(folder, *lines):
    """The series (48, 35) of an archive with one patient."""
    write_archive(folder, [(132539, record(*lines))])
    return read_physionet(folder, n_records=None).values[0]


def at(values, hour, name):
    return values[hour, FEATURES.index(name)]


def refusal(folder, **options):
    with pytest.raises(DataError) as caught:
        read_physionet(folder, **options)
    return str(caught.value)


def test_the_features_are_those_that_the_rules_speak_of():
    """The shipped schema and the reader name the same 35, in the same order."""
    assert list(FEATURES) == load_schema("imputation").let["A"]
    assert len(FEATURES) == 35
    assert not set(FEATURES) & set(NOT_USED)


def test_a_value_lands_in_its_hour_and_feature(tmp_path):
    """The first and the last minute of hours, as the hours are counted."""
    values = read_one(tmp_path, "00:00,HR,60", "00:59,GCS,15", "01:00,HR,61.5", "47:59,pH,7.4")

    assert at(values, 0, "HR") == 60
    assert at(values, 0, "GCS") == 15
    assert at(values, 1, "HR") == 61.5
    assert at(values, 47, "pH") == 7.4
    assert np.isfinite(values).sum() == 4


def test_the_last_value_of_an_hour_counts(tmp_path):
    """Whatever the order of the lines; of the same minute the later line, as in CSDI."""
    values = read_one(
        tmp_path, "03:50,HR,80", "03:10,HR,70", "05:07,Temp,36", "05:07,Temp,37", "05:06,Temp,35"
    )

    assert at(values, 3, "HR") == 80
    assert at(values, 5, "Temp") == 37


def test_the_end_of_the_last_hour_is_left_out(tmp_path):
    """48:00 begins an hour of which nothing else is known."""
    values = read_one(tmp_path, "47:30,HR,80", "48:00,HR,90")

    assert at(values, 47, "HR") == 80
    assert np.isfinite(values).sum() == 1


def test_what_is_known_of_the_patient_is_no_series(tmp_path):
    """Age and weight are left out, with their -1 for unknown; an impossible value is kept."""
    values = read_one(
        tmp_path, "00:00,Age,54", "00:00,Height,-1", "02:00,Weight,-1", "02:00,MechVent,1",
        "02:00,Temp,-17.8", "02:00,pH,735",
    )  # fmt: skip

    assert at(values, 2, "Temp") == -17.8
    assert at(values, 2, "pH") == 735
    assert np.isfinite(values).sum() == 2


def test_patients_are_in_the_order_of_their_numbers(tmp_path):
    """The order in the archive has no effect."""
    files = [(140000 - at, record(f"00:00,HR,{60 + at}")) for at in (2, 0, 1)]
    write_archive(tmp_path, files)
    series = read_physionet(tmp_path, n_records=3)

    assert series.records.tolist() == [139998, 139999, 140000]
    assert series.values[:, 0, FEATURES.index("HR")].tolist() == [62, 61, 60]
    assert not series.values.flags.writeable


def test_a_patient_of_whom_nothing_was_measured_has_an_empty_series(tmp_path):
    """Such records are published: only the header and who the patient is, or less."""
    write_archive(tmp_path, [(132501, SOUND), (132502, HEADER + "\n"), (132503, HEADER)])
    series = read_physionet(tmp_path, n_records=None)

    assert np.isfinite(series.values).sum(axis=(1, 2)).tolist() == [1, 0, 0]


def test_lines_may_end_as_on_windows_and_files_in_blank_lines(tmp_path):
    """An archive that was unpacked and packed again elsewhere is no other data."""
    text = SOUND.replace("\n", "\r\n") + "\r\n\r\n"
    write_archive(tmp_path, [(132539, text), (132540, SOUND.rstrip())])
    series = read_physionet(tmp_path, n_records=2)

    assert np.array_equal(series.values[0], series.values[1], equal_nan=True)


def test_an_unpacked_folder_serves_as_well(tmp_path):
    """The same series, whether packed or not; other files beside them have no effect."""
    packed, unpacked = tmp_path / "packed", tmp_path / "unpacked"
    values = made_values(3)
    write_values(packed, values)
    root = unpacked / "physionet2012" / "set-a"
    root.mkdir(parents=True)
    for number in (132501, 132502, 132503):
        series = values[number - 132501]
        lines = [
            f"{hour:02}:30,{FEATURES[place]},{series[hour, place]:g}"
            for hour, place in np.argwhere(np.isfinite(series))
        ]
        (root / f"{number}.txt").write_text(record(*lines), encoding="utf-8")
    (root / "index.html").write_text("not a record", encoding="utf-8")

    read = [read_physionet(folder, n_records=3).values for folder in (packed, unpacked)]
    assert np.array_equal(read[0], values, equal_nan=True)
    assert np.array_equal(read[1], values, equal_nan=True)


def test_names_in_the_archive_never_become_paths(tmp_path):
    """What is no record is passed over, and nothing is written."""
    others = [("../../132540.txt", b"x"), ("/set-a/132541.txt", b"x"), ("set-a/._132539.txt", b"x")]
    write_archive(tmp_path, [(132539, SOUND)], others=others)
    before = sorted(tmp_path.rglob("*"))

    assert read_physionet(tmp_path, n_records=None).records.tolist() == [132539]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_missing_archive_is_answered_with_the_official_page(tmp_path):
    """Whoever has not downloaded it yet learns where from."""
    path = tmp_path / "physionet2012" / "set-a.tar.gz"

    assert refusal(tmp_path) == (
        "The data set 'PhysioNet Challenge 2012, set A' is not there.\n"
        f"  where: {path}\n"
        f"  fix:   download it from {PAGE} and put the file there, or say with --data DIR or "
        "SQRL_DATA=DIR which folder holds it"
    )


def flipped(whole, place):
    """The bytes with one of them changed."""
    return whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda whole: b"<html>not found</html>"[: len(whole)],
        lambda whole: whole[:0],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-8],
        gzip.compress,
        lambda whole: flipped(whole, 30),
        lambda whole: flipped(whole, len(whole) // 2),
        lambda whole: flipped(whole, len(whole) - 6),
    ],
    ids=["page", "empty", "cut off", "no sum", "no tar", "start", "middle", "sum"],
)
def test_a_damaged_archive_is_answered_with_the_official_page(tmp_path, spoil):
    """An interrupted download is not taken for data."""
    path = write_values(tmp_path, made_values(20))
    path.write_bytes(spoil(path.read_bytes()))
    what, where, fix = refusal(tmp_path, n_records=20).split("\n")

    assert what.startswith("The archive cannot be read: ")
    assert where == f"  where: {path}"
    assert fix == f"  fix:   fetch it again from {PAGE}"


def test_another_number_of_records_is_taken_for_damage(tmp_path):
    """So is none at all, even where any number is taken."""
    path = write_archive(tmp_path, [(132539, SOUND)])

    fix = f"\n  where: {path}\n  fix:   fetch it again from {PAGE}"
    assert refusal(tmp_path) == f"There are 1 records instead of 4,000.{fix}"
    write_archive(tmp_path, [])
    assert refusal(tmp_path, n_records=None) == f"There are 0 records.{fix}"


def test_the_same_record_twice_is_taken_for_damage(tmp_path):
    """It is not clear which of them is right."""
    path = write_archive(tmp_path, [(132539, SOUND), (132539, SOUND)])

    assert refusal(tmp_path, n_records=None) == (
        f"There are two records 132539.\n  where: {path}\n  fix:   fetch it again from {PAGE}"
    )


def test_an_archive_far_larger_than_published_is_refused(tmp_path):
    """A small file that unpacks to a large one cannot fill the memory."""
    path = write_archive(tmp_path, [(132539, SOUND)])
    path.write_bytes(gzip.compress(bytes(MOST_BYTES + 1), compresslevel=1))

    assert refusal(tmp_path) == (
        "The records have more than 67,108,864 bytes.\n"
        f"  where: {path}\n  fix:   fetch it again from {PAGE}"
    )


def test_another_header_is_refused(tmp_path):
    """The columns might be in another order."""
    path = write_archive(tmp_path, [(132539, "Parameter,Time,Value\nGCS,00:07,15\n")])

    assert refusal(tmp_path, n_records=None) == (
        "The header is not 'Time,Parameter,Value'.\n"
        f"  where: {path}, set-a/132539.txt\n  fix:   fetch it again from {PAGE}"
    )


@pytest.mark.parametrize(
    "line",
    [
        "00:08,HR",
        "00:08,HR,73,1",
        "00:08,HR,",
        "00:08,HR,high",
        "00:08,HR,nan",
        "00:08,HR,inf",
        "00:08,,73",
        "00:08,Hr,73",
        "0:08,HR,73",
        "00:60,HR,73",
        "48:01,HR,73",
        "",
        '"00:08",HR,73',
    ],
)
def test_a_bad_line_is_named(tmp_path, line):
    """File and line are said, and what is there."""
    text = record("00:07,GCS,15", line, "00:09,HR,73")
    path = write_archive(tmp_path, [(132538, SOUND), (132539, text)])

    assert refusal(tmp_path, n_records=None) == (
        f"This is no measurement at a time within two days: {line!r}.\n"
        f"  where: {path}, set-a/132539.txt, line 3\n  fix:   fetch it again from {PAGE}"
    )


def test_an_archive_without_any_measurement_is_refused(tmp_path):
    """There is nothing to learn from."""
    path = write_archive(tmp_path, [(132539, HEADER)])

    assert refusal(tmp_path, n_records=None) == (
        f"There are no measurements.\n  where: {path}\n  fix:   fetch it again from {PAGE}"
    )


lines = st.lists(
    st.tuples(
        st.integers(0, 2880), st.sampled_from(["HR", "pH", "Age"]), st.integers(-99, 999)
    ),
    min_size=1,
    max_size=30,
)  # fmt: skip


@given(patients=st.lists(lines, min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_the_reader_agrees_with_a_loop_over_lines(tmp_path_factory, patients):
    """Minutes in any order, hours with several values, features that are not used."""
    folder = tmp_path_factory.mktemp("made")
    files = []
    for number, found in enumerate(patients, start=132501):
        texts = [f"{m // 60:02}:{m % 60:02},{name},{value}" for m, name, value in found]
        files.append((number, record(*texts)))
    write_archive(folder, files)
    values = read_physionet(folder, n_records=None).values

    for found, series in zip(patients, values, strict=True):
        expected, latest = {}, {}
        for minute, name, value in found:
            key = minute // 60, name
            if name in FEATURES and minute < 2880 and minute >= latest.get(key, -math.inf):
                latest[key], expected[key] = minute, value
        assert np.isfinite(series).sum() == len(expected)
        assert all(at(series, hour, name) == value for (hour, name), value in expected.items())


def test_the_published_archive_is_read_whole():
    """4,000 patients, of whose values four in five are missing."""
    real_folder("physionet2012")
    series = read_physionet()

    assert series.values.shape == (4000, 48, 35)
    assert np.isfinite(series.values).sum() == 1_308_246
