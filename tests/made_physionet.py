"""Small made files in the format of the PhysioNet Challenge 2012."""

import io
import tarfile

import numpy as np

from sqrl.tasks._physionet import FEATURES

HEADER = "Time,Parameter,Value"


def record(*lines):
    """A patient's file: the header, and a line for each measurement."""
    return "\n".join([HEADER, *lines]) + "\n"


def write_archive(folder, files, *, others=()):
    """The archive in the data folder, with each file's text by its number; gives its path."""
    path = folder / "physionet2012" / "set-a.tar.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        root = tarfile.TarInfo("set-a/")
        root.type = tarfile.DIRTYPE
        archive.addfile(root)
        for number, text in files:
            add(archive, f"set-a/{number}.txt", text.encode())
        for name, content in others:
            add(archive, name, content)
    return path


def add(archive, name, content):
    """A file in the archive."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def made_values(n_patients, *, seed=0, share=0.3):
    """Series about a level of each patient's own, a share of them observed, in whole numbers."""
    rng = np.random.default_rng(seed)
    level = rng.normal(100, 20, (n_patients, 1, len(FEATURES)))
    values = np.round(level + rng.normal(0, 5, (n_patients, 48, len(FEATURES))))
    return np.where(rng.random(values.shape) < share, values, np.nan)


def write_values(folder, values):
    """The archive of patients with these series, numbered from 132501; gives its path."""
    files = []
    for number, series in enumerate(values, start=132501):
        lines = [f"00:00,RecordID,{number}", "00:00,Height,-1"]
        for hour, place in np.argwhere(~np.isnan(series)):
            lines.append(f"{hour:02}:30,{FEATURES[place]},{series[hour, place]:g}")
        files.append((number, record(*lines)))
    return write_archive(folder, files)
