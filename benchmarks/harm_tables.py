"""Tables, models, drifts and loaders for `harm.py`.

A drift of the feed changes what the model is given, while the rules' table stays true. A drift of
the table changes both, or which rows there are. Columns that drift are those that the model relies
on most, by permutation on rows that are neither trained on nor tested.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import power_tables
import sqrl
from other_tables import OTHERS, read_other
from sqrl_paper.cardio.ft_transformer import Size, make_ft_transformer

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
MOST_TRAIN, MOST_TEST, TUNING = 16_000, 2_560, 1_500
EPOCHS, WIDTH = 8, 32
MODELS = ("LayerNorm", "BatchNorm", "FT-Transformer")
TABLES = ("cardio", "physionet", "loans", "clients", "sensor", "breast cancer")
LOADERS = ("Batches", "tuples", "dicts", "list", "logits")
FEEDS = (
    *("shift", "shift down", "half of rows", "times 10", "swap", "noise", "zeroed", "codes"),
    *("all shifted", "sentinel"),
)
OF_TABLE = ("column shifted", "column scaled", "column noisy", "recoded", "older", "other group")
BALANCES = ("balance 5%", "balance 50%")
DRIFTS = ("none", *FEEDS, *OF_TABLE, *BALANCES)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a table: columns of numbers and of text, and the true classes as numbers."""

    columns: Mapping[str, NDArray[Any]]
    y: Labels

    def take(self, rows: NDArray[Any]) -> "Rows":
        """Some of the rows."""
        return Rows({name: values[rows] for name, values in self.columns.items()}, self.y[rows])

    def put(self, name: str, values: NDArray[Any]) -> "Rows":
        """The rows with another column."""
        return replace(self, columns={**self.columns, name: values})


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """Columns as a model takes them: standardised numbers, 0 where missing, then codes."""

    means: Mapping[str, float]
    spreads: Mapping[str, float]
    words: Mapping[str, tuple[str, ...]]

    def __call__(self, rows: Rows) -> Tensor:
        """The rows as one tensor."""
        numbers = [
            np.nan_to_num((rows.columns[name] - self.means[name]) / self.spreads[name]).clip(-9, 9)
            for name in self.means
        ]
        codes = [
            pd.Categorical(rows.columns[name], categories=list(known)).codes.clip(0)
            for name, known in self.words.items()
        ]
        return torch.tensor(np.stack([*numbers, *codes], 1), dtype=torch.float32)


@dataclass(eq=False)
class Table:
    """A table divided into rows to train on, to choose columns by, and to test on; its rules."""

    name: str
    label: str
    classes: tuple[str, ...]
    train: Rows
    tuning: Rows
    test: Rows
    encoder: Encoder
    seed: int
    models: dict[str, nn.Module] = field(default_factory=dict)
    rules: dict[str, sqrl.RuleSet] = field(default_factory=dict)
    important: list[str] = field(default_factory=list)

    @property
    def numbers(self) -> list[str]:
        """The columns of numbers."""
        return list(self.encoder.means)

    @property
    def texts(self) -> list[str]:
        """The columns of text."""
        return list(self.encoder.words)


def load_table(name: str, folder: Path, seed: int) -> Table:
    """A table with its split."""
    frame, label = _frame(name, folder, seed)
    rng = default_rng([seed, 1])
    frame = frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)
    n_test = min(MOST_TEST, len(frame) // 4)
    n_tuning = min(TUNING, len(frame) // 6)
    classes, y = np.unique(frame.pop(label).astype(str).to_numpy(str), return_inverse=True)
    columns = {str(one).replace(" ", "_"): _plain(frame[one]) for one in frame}
    rows = Rows(columns, y.astype(np.int64))
    every = np.arange(len(y))
    train = rows.take(every[n_test + n_tuning :][:MOST_TRAIN])
    numbers = [one for one, values in columns.items() if values.dtype.kind == "f"]
    words = {
        one: tuple(map(str, np.unique(train.columns[one]))) for one in columns if one not in numbers
    }
    encoder = Encoder(
        {one: float(np.nanmedian(train.columns[one])) for one in numbers},
        {one: _spread(train.columns[one]) for one in numbers},
        words,
    )
    tuning = rows.take(every[n_test : n_test + n_tuning])
    names = tuple(map(str, classes))
    made = Table(name, label, names, train, tuning, rows.take(every[:n_test]), encoder, seed)
    made.important = _importance(made, model_of(made, "LayerNorm"))
    return made


def _spread(values: Floats) -> float:
    """A standard deviation that a few odd values do not change, as those of blood pressures do."""
    low, high = np.nanpercentile(values, (16, 84))
    return float(high - low) / 2 or float(np.nanstd(values)) or 1.0


def _plain(values: Any) -> NDArray[Any]:
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return np.asarray(values, np.float64)
    return np.asarray(values.astype(str), dtype=str)


def _frame(name: str, folder: Path, seed: int) -> tuple[pd.DataFrame, str]:
    if name == "breast cancer":
        return load_breast_cancer(as_frame=True).frame, "target"
    if name in OTHERS:
        return read_other(name, folder)
    if name in MADE:
        return MADE[name](default_rng([seed, len(name)])), "y"
    (source,) = power_tables.tables(folder, [name], seed=seed)
    assert source.label is not None
    left = [one for one in ("id", "machine") if one in source.frame]
    return source.frame.drop(columns=left), source.label


def _loans(rng: Generator) -> pd.DataFrame:
    """One in eight is positive; numbers interact."""
    n = 26_000
    age, score = rng.normal(45, 12, n), rng.normal(0, 1, n)
    income = np.exp(10 + 0.01 * (age - 45) + rng.normal(0, 0.5, n))
    job = rng.choice(6, n, p=(0.3, 0.25, 0.2, 0.1, 0.1, 0.05))
    months, calls = rng.gamma(2, 10, n), rng.poisson(2 + (job == 2), n)
    odds = (
        -2.9 + 0.9 * score + 0.8 * np.tanh((np.log(income) - 10) * score) + 0.04 * (age - 45)
        + 0.6 * (job == 1) - 0.8 * (job == 3) + 0.25 * calls - 0.02 * months
    )  # fmt: skip
    columns = {"age": age, "score": score, "income": income, "months": months, "calls": calls}
    return pd.DataFrame(columns).assign(
        job=np.array(list("abcdef"))[job],
        home=rng.choice(["own", "rent", "other"], n),
        y=np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no"),
    )


def _clients(rng: Generator) -> pd.DataFrame:
    """One in three is positive; eight correlated numbers and two texts."""
    n = 26_000
    mixed = rng.normal(size=(n, 8)) @ (np.eye(8) + 0.35 * rng.normal(size=(8, 8)))
    region, plan = rng.choice(5, n), rng.choice(3, n, p=(0.6, 0.3, 0.1))
    odds = -0.9 + mixed @ np.array([1.0, -0.7, 0.5, 0.4, -0.3, 0.2, 0, 0]) / 1.3
    odds += 0.5 * mixed[:, 0] * (region == 2) + 0.7 * (plan == 2) - 0.4 * (mixed[:, 1] > 1)
    columns = {f"x{place}": mixed[:, place] for place in range(8)}
    return pd.DataFrame(columns).assign(
        region=np.array(["n", "s", "e", "w", "c"])[region],
        plan=np.array(["free", "basic", "full"])[plan],
        y=np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no"),
    )


MADE: Mapping[str, Callable[[Generator], pd.DataFrame]] = {"loans": _loans, "clients": _clients}


class Network(nn.Module):
    """An MLP over standardised numbers and one-hot codes."""

    def __init__(self, n_numbers: int, sizes: tuple[int, ...], n_classes: int, norm: str) -> None:
        super().__init__()
        self.n_numbers, self.sizes = n_numbers, sizes
        made = nn.LayerNorm if norm == "LayerNorm" else nn.BatchNorm1d
        width = n_numbers + sum(sizes)
        self.layers = nn.Sequential(
            *(nn.Linear(width, WIDTH), made(WIDTH), nn.ReLU()),
            *(nn.Linear(WIDTH, WIDTH), made(WIDTH), nn.ReLU(), nn.Linear(WIDTH, n_classes)),
        )

    def forward(self, x: Tensor) -> Tensor:
        """A logit for each class."""
        codes = x[:, self.n_numbers :].long()
        hot = [
            nn.functional.one_hot(codes[:, place], size) for place, size in enumerate(self.sizes)
        ]
        made: Tensor = self.layers(torch.cat([x[:, : self.n_numbers], *hot], 1))
        return made


class Transformer(nn.Module):
    """A small FT-Transformer that takes numbers and codes as one tensor."""

    def __init__(self, n_numbers: int, sizes: tuple[int, ...], n_classes: int) -> None:
        super().__init__()
        self.n_numbers = n_numbers
        size = Size(n_blocks=1, width=16, n_heads=2)
        self.inner = make_ft_transformer(n_numbers, sizes, n_classes, size=size)

    def forward(self, x: Tensor) -> Tensor:
        """A logit for each class."""
        codes = x[:, self.n_numbers :].long()
        made: Tensor = self.inner(x[:, : self.n_numbers], codes if codes.shape[1] else None)
        return made


class WithLogits(nn.Module):
    """A model whose output has its logits in an attribute, as many libraries' have."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> "Output":
        """The logits in an attribute."""
        return Output(logits=self.model(x))


@dataclass(frozen=True)
class Output:
    """What such a model gives."""

    logits: Tensor


def model_of(table: Table, kind: str) -> nn.Module:
    """The table's model of a kind, trained once."""
    if kind not in table.models:
        sizes = tuple(len(known) for known in table.encoder.words.values())
        torch.manual_seed(table.seed)
        shape = len(table.numbers), sizes, len(table.classes)
        made = Transformer(*shape) if kind == "FT-Transformer" else Network(*shape, kind)
        table.models[kind] = _trained(made, table)
    return table.models[kind]


def _trained(model: nn.Module, table: Table) -> nn.Module:
    """The model after the epoch that is best on the rows for tuning."""
    x, y = table.encoder(table.train), torch.tensor(table.train.y)
    x_other, y_other = table.encoder(table.tuning), torch.tensor(table.tuning.y)
    optimiser = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=1e-4)
    best, kept = np.inf, {}
    for _ in range(EPOCHS):
        model.train()
        order = torch.randperm(len(x))
        for first in range(0, len(x), 256):
            rows = order[first : first + 256]
            if len(rows) > 1:
                optimiser.zero_grad()
                cost = nn.functional.cross_entropy(model(x[rows]), y[rows])
                cost.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        model.eval()
        with torch.no_grad():
            loss = float(nn.functional.cross_entropy(model(x_other), y_other))
        if loss < best:
            best, kept = loss, {name: one.clone() for name, one in model.state_dict().items()}
    model.load_state_dict(kept)
    return model.eval()


def _importance(table: Table, model: nn.Module) -> list[str]:
    """The columns, those first whose permutation raises the loss most."""
    rng, y = default_rng(table.seed), torch.tensor(table.tuning.y)
    order = rng.permutation(len(y))
    risen = {}
    with torch.no_grad():
        for name, values in table.tuning.columns.items():
            out = model(table.encoder(table.tuning.put(name, values[order])))
            risen[name] = float(nn.functional.cross_entropy(out, y))
    return sorted(risen, key=lambda name: -risen[name])


def rules_of(table: Table, kind: str) -> sqrl.RuleSet:
    """Rules learned from the rows trained on: the default's, or the paper's about F1."""
    if kind not in table.rules:
        y = np.array(table.classes)[table.train.y]
        rows = {**table.train.columns, table.label: y}
        if kind == "default":
            table.rules[kind] = sqrl.learn(rows, label=table.label, seed=table.seed)
        else:
            table.rules[kind] = sqrl.learn(rows, _logic_schema(table), seed=table.seed)
    return table.rules[kind]


def _logic_schema(table: Table) -> dict[str, Any]:
    n = len(table.train.y)
    over = min(1024, 2 ** int(np.log2(n / 6)))
    literals = [
        *(f"{name}/6" for name in table.important if name in table.numbers),
        *(name for name in table.important if name in table.texts),
    ]
    depth = 2 if len(literals) > 8 else 3
    names = ", ".join(literals[:14])
    return {
        "label": table.label,
        "let": {"Y": f"values({table.label})", "L": f"literals({names})"},
        "rules": [f"? <= f1(L{{1..{depth}}} => {table.label} = Y) <= ? over {over}"],
        "batches": {"train": 67, "valid": 22},
        "validate": {"epsilon": 0.5, "share": 0.25},
        "select": {"top": 60, "per": "Y", "by": "lower"},
    }


@dataclass(frozen=True, slots=True, eq=False)
class Drifted:
    """Rows as the model is fed them, and as the rules' table has them."""

    fed: Rows
    seen: Rows


def drifted(table: Table, drift: str, test: Rows | None = None) -> Drifted:
    """The test rows after a drift."""
    rows = table.test if test is None else test
    rng = default_rng([table.seed, DRIFTS.index(drift)])
    if drift == "none":
        return Drifted(rows, rows)
    if drift in FEEDS:
        return Drifted(_broken(table, rows, drift, rng), rows)
    changed = _other_table(table, rows, drift, rng)
    return Drifted(changed, changed)


def _broken(  # noqa: C901, PLR0911  (one drift after the other)
    table: Table, rows: Rows, drift: str, rng: Generator
) -> Rows:
    numbers = [name for name in table.important if name in table.numbers]
    first, second = numbers[0], numbers[1]
    if drift == "shift":
        return _moved(table, rows, first, 1.0)
    if drift == "shift down":
        return _moved(table, rows, second, -1.0)
    if drift == "half of rows":
        half = rng.random(len(rows.y)) < 0.5
        moved = _moved(table, rows, first, 1.5).columns[first]
        return rows.put(first, np.where(half, moved, rows.columns[first]))
    if drift == "times 10":
        return rows.put(first, 10 * rows.columns[first])
    if drift == "swap":
        return rows.put(first, _in_units(table, rows, second, first)).put(
            second, _in_units(table, rows, first, second)
        )
    if drift == "noise":
        for name in numbers:
            noise = rng.normal(0, 0.7 * table.encoder.spreads[name], len(rows.y))
            rows = rows.put(name, rows.columns[name] + noise)
        return rows
    if drift == "zeroed":
        return rows.put(first, np.zeros(len(rows.y)))
    if drift == "codes":
        return _recoded(table, rows, rng)
    if drift == "all shifted":
        for name in numbers:
            rows = _moved(table, rows, name, 0.5)
        return rows
    assert drift == "sentinel"
    lost = rng.random(len(rows.y)) < 0.2
    odd = table.encoder.means[first] - 6 * table.encoder.spreads[first]
    return rows.put(first, np.where(lost, odd, rows.columns[first]))


def _other_table(table: Table, rows: Rows, drift: str, rng: Generator) -> Rows:  # noqa: PLR0911
    numbers = [name for name in table.important if name in table.numbers]
    first, second = numbers[0], numbers[1]
    if drift == "column shifted":
        return _moved(table, rows, first, 1.0)
    if drift == "column scaled":
        middle = table.encoder.means[second]
        return rows.put(second, middle + 1.6 * (rows.columns[second] - middle))
    if drift == "column noisy":
        noise = rng.normal(0, table.encoder.spreads[first], len(rows.y))
        return rows.put(first, rows.columns[first] + noise)
    if drift == "recoded":
        return _recoded(table, rows, rng)
    if drift == "older":
        return rows.take(np.flatnonzero(rows.columns[first] >= np.nanmedian(rows.columns[first])))
    if drift == "other group":
        name = next((one for one in table.important if one in table.texts), second)
        values = rows.columns[name]
        if name in table.texts:
            words, counts = np.unique(values, return_counts=True)
            chosen = values == words[counts.argsort()[-2 if len(words) > 1 else -1]]
        else:
            chosen = values > np.nanmedian(values)
        return rows.take(np.flatnonzero(chosen | (rng.random(len(chosen)) < 0.1)))
    return _rebalanced(rows, float(drift.split()[1].rstrip("%")) / 100, rng)


def _rebalanced(rows: Rows, share: float, rng: Generator) -> Rows:
    """As many rows as possible with another share of the rarest class."""
    rare = np.bincount(rows.y).argmin()
    inside, outside = np.flatnonzero(rows.y == rare), np.flatnonzero(rows.y != rare)
    n = int(min(len(inside) / share, len(outside) / (1 - share)))
    chosen = [
        rng.choice(inside, round(n * share), replace=False),
        rng.choice(outside, n - round(n * share), replace=False),
    ]
    return rows.take(rng.permutation(np.concatenate(chosen)))


def _moved(table: Table, rows: Rows, name: str, spreads: float) -> Rows:
    return rows.put(name, rows.columns[name] + spreads * table.encoder.spreads[name])


def _in_units(table: Table, rows: Rows, name: str, other: str) -> Floats:
    """A column in the units of another."""
    means, spreads = table.encoder.means, table.encoder.spreads
    made: Floats = (rows.columns[name] - means[name]) / spreads[name] * spreads[other]
    return made + means[other]


def _recoded(table: Table, rows: Rows, rng: Generator) -> Rows:
    """Words of the most important text in another order; without texts a number's sign turned."""
    texts = [name for name in table.important if name in table.texts]
    if not texts:
        name = next(one for one in table.important if one in table.numbers)
        return rows.put(name, 2 * table.encoder.means[name] - rows.columns[name])
    words = table.encoder.words[texts[0]]
    other = dict(zip(words, np.roll(words, 1 + int(rng.integers(len(words) - 1))), strict=True))
    return rows.put(texts[0], np.array([other[word] for word in rows.columns[texts[0]]]))


class _Dataset(Dataset[Any]):
    def __init__(self, inputs: Tensor, columns: Mapping[str, Tensor], kind: str) -> None:
        self.inputs, self.columns, self.kind = inputs, columns, kind

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, row: int) -> Any:
        columns = {name: values[row] for name, values in self.columns.items()}
        return (self.inputs[row], columns) if self.kind == "tuples" else {
            "x": self.inputs[row], "columns": columns
        }  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Door:
    """The same rows through one kind of loader, with what `adapt` and `RuleLoss` need for it."""

    batches: Any
    names: Callable[[Any, Any], Mapping[str, Any]]
    options: Mapping[str, Any]
    has_logits: bool = False


def door(kind: str, table: Table, rows: Drifted, size: int) -> Door:
    """The rows through a kind of loader."""
    inputs, label = table.encoder(rows.fed), table.label
    batches = sqrl.Batches(inputs, dict(rows.seen.columns), size=size, seed=table.seed)

    def of_batch(batch: Any, out: Any) -> Mapping[str, Any]:
        return {**batch.columns, label: out.softmax(-1)}

    if kind == "Batches":
        return Door(batches, of_batch, {})
    if kind == "list":
        return Door(list(batches), of_batch, {})
    if kind == "logits":
        named = lambda batch, out: {**batch.columns, label: out.logits.softmax(-1)}  # noqa: E731
        return Door(batches, named, {}, has_logits=True)
    columns = batches.columns
    codes = {
        name: one.codes if isinstance(one, sqrl.Categories) else one
        for name, one in columns.items()
    }
    words = {name: one.names for name, one in columns.items() if isinstance(one, sqrl.Categories)}

    def named_codes(found: Mapping[str, Tensor], out: Any) -> Mapping[str, Any]:
        texts = {name: sqrl.Categories(found[name], words[name]) for name in words}
        return {**found, **texts, label: out.softmax(-1)}

    loader = DataLoader(_Dataset(inputs, codes, kind), batch_size=size, shuffle=True)
    if kind == "tuples":
        return Door(
            loader,
            lambda batch, out: named_codes(batch[1], out),
            {"forward": lambda model, batch: model(batch[0])},
        )
    return Door(
        loader,
        lambda batch, out: named_codes(batch["columns"], out),
        {"forward": lambda model, batch: model(batch["x"])},
    )


def scores(logits: Tensor, y: Labels, n_classes: int) -> tuple[float, float]:
    """AUC, averaged over classes against the rest, and accuracy, in percent."""
    p = logits.detach().softmax(-1).numpy().astype(float)
    there = [one for one in range(n_classes) if 0 < (y == one).sum() < len(y)]
    chosen = there[-1:] if n_classes == 2 else there
    auc = np.mean([roc_auc_score(y == one, p[:, one]) for one in chosen]) if chosen else np.nan
    return 100 * float(auc), 100 * float((p.argmax(1) == y).mean())
