"""Small made files in the format of the PhysioNet Challenge 2012."""

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sqrl_paper.imputation.physionet import FEATURES, N_HOURS
from sqrl_paper.imputation.physionet import HEADER as HEADER_BYTES
from sqrl_paper.imputation.physionet_files import ARCHIVE

HEADER = HEADER_BYTES.decode()
FIRST_RECORD = 132501


def record(*lines: str) -> str:
    r"""A patient's file: the header, and a line for each measurement.

    >>> record("00:07,GCS,15")
    'Time,Parameter,Value\n00:07,GCS,15\n'
    """
    return "\n".join([HEADER, *lines]) + "\n"


def write_archive(
    folder: Path,
    files: Iterable[tuple[object, str]],
    *,
    others: Iterable[tuple[str, bytes]] = (),
) -> Path:
    """Where the archive is that was written to the data folder: each file's text by its number."""
    path = folder / ARCHIVE
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        root = tarfile.TarInfo("set-a/")
        root.type = tarfile.DIRTYPE
        archive.addfile(root)
        for number, text in files:
            _add(archive, f"set-a/{number}.txt", text.encode())
        for name, content in others:
            _add(archive, name, content)
    return path


def made_values(
    n_patients: int, *, seed: int = 0, share: float = 0.3, alike: bool = False
) -> NDArray[np.float64]:
    """Series about a level of each patient's own, a share of them observed, in whole numbers.

    With `alike` the level is the same for all features, and so easily imputed.
    """
    rng = np.random.default_rng(seed)
    level = rng.normal(100, 20, (n_patients, 1, 1 if alike else len(FEATURES)))
    values = np.round(level + rng.normal(0, 5, (n_patients, N_HOURS, len(FEATURES))))
    return np.where(rng.random(values.shape) < share, values, np.nan)


def write_values(folder: Path, values: NDArray[np.float64]) -> Path:
    """Where the archive is of patients with these series, numbered from 132501."""
    files = []
    for number, series in enumerate(values, start=FIRST_RECORD):
        lines = [f"00:00,RecordID,{number}", "00:00,Height,-1"]
        for hour, place in np.argwhere(~np.isnan(series)):
            lines.append(f"{hour:02}:30,{FEATURES[place]},{series[hour, place]:g}")
        files.append((number, record(*lines)))
    return write_archive(folder, files)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))
