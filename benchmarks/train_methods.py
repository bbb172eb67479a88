"""Ways to train a classifier with few labels or none: by rules, and what one would do otherwise."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import sqrl
from sqrl._data.table import as_table
from sqrl._train.stated import Stated, read_stated
from train_tables import LABEL

Floats = NDArray[np.float64]
WIDTH, SIZE, EPOCHS, PATIENCE, LR = 64, 512, 40, 6, 2e-3  # of all networks, whatever they learn
STEPS = 400  # of losses that have no labels to stop by
FEW = 60  # labels of which none can be held out
CONFIDENT = 0.9  # of pseudo-labels


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows behind the rules, rows to train on (whose labels are hidden, or some), rows to test."""

    behind: pd.DataFrame
    train: pd.DataFrame
    test: pd.DataFrame
    classes: tuple[str, ...]
    seed: int

    def codes(self, rows: pd.DataFrame) -> NDArray[np.int64]:
        """The place of each row's class."""
        places = {name: place for place, name in enumerate(self.classes)}
        return np.array([places[str(value)] for value in rows[LABEL]], np.int64)


class Inputs:
    """Columns as a network takes them: numbers standardised without far values, one-hot words."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.columns = [name for name in rows.columns if name != LABEL]
        self.words = {
            name: sorted(rows[name].dropna().unique())
            for name in self.columns
            if rows[name].dtype == object
        }
        self.scales = {
            name: self._scale(rows[name]) for name in self.columns if name not in self.words
        }

    @staticmethod
    def _scale(values: pd.Series) -> tuple[float, float, float, float]:
        low, high = np.nanpercentile(values, [0.5, 99.5])
        if not high > low:
            low, high = np.nanmin(values), np.nanmax(values)
        inside = values.clip(low, high)
        return low, high, float(inside.mean()), float(inside.std()) or 1.0

    def __call__(self, rows: pd.DataFrame) -> Tensor:
        """The inputs of rows: (n_rows, n_inputs)."""
        made = []
        for name in self.columns:
            if name in self.words:
                made += [(rows[name] == word).astype(float) for word in self.words[name]]
                continue
            low, high, mean, spread = self.scales[name]
            made.append(((rows[name].clip(low, high) - mean) / spread).fillna(0.0))
            if rows[name].isna().any():
                made.append(rows[name].isna().astype(float))
        return torch.tensor(np.stack(made, axis=1), dtype=torch.float32)


def inputs_of(split: Split) -> tuple[Tensor, Tensor]:
    """Those of the rows to train on and of the test rows, scaled by the former."""
    both = pd.concat([split.train, split.test])
    made = Inputs(split.train)(both)
    return made[: len(split.train)], made[len(split.train) :]


def network(n_inputs: int, n_classes: int, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        *(nn.Linear(n_inputs, WIDTH), nn.ReLU()),
        *(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, n_classes)),
    )


def predict(model: nn.Module, inputs: Tensor) -> Floats:
    model.eval()
    with torch.no_grad():
        return np.asarray(model(inputs).softmax(-1).double().numpy())


def train_labelled(model: nn.Module, inputs: Tensor, targets: Tensor, seed: int) -> nn.Module:
    """By labels (or probabilities), with a sixth of the rows held out to stop by.

    Of fewer than 60 rows a sixth says nothing: all are learned from, and judged by.
    """
    torch.manual_seed(seed)
    order = torch.randperm(len(inputs))
    is_few = len(order) < FEW
    held_out = order if is_few else order[: len(order) // 6]
    rest = order if is_few else order[len(held_out) :]
    optimiser = torch.optim.AdamW(model.parameters(), LR, weight_decay=1e-4)
    size = min(SIZE, max(16, len(rest) // 8))
    best, kept, since = float("inf"), None, 0
    for _ in range(50 if is_few else EPOCHS if len(rest) > 2000 else 4 * EPOCHS):
        model.train()
        for rows in torch.split(rest[torch.randperm(len(rest))], size):
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs[rows]), targets[rows])
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        model.eval()
        with torch.no_grad():
            now = float(nn.functional.cross_entropy(model(inputs[held_out]), targets[held_out]))
        if now < best:
            best, since = now, 0
            kept = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            since += 1
        if since >= PATIENCE:
            break
    assert kept is not None
    model.load_state_dict(kept)
    return model


# By rules, without a label.


def by_rules(split: Split, rules: sqrl.RuleSet, share: float = 0.0) -> Floats:
    """The additive model; with a share of the labels too."""
    model = sqrl.RuleClassifier(rules, classes=split.classes)
    labels = None if not share else _some_labels(split, share)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(split.train.drop(columns=LABEL), labels)
    return model.predict_proba(split.test.drop(columns=LABEL))


def by_fit(split: Split, rules: sqrl.RuleSet, share: float = 0.0) -> Floats:
    """The network, by `sqrl.fit`."""
    train, test = inputs_of(split)
    batches = sqrl.Batches(train, split.train.drop(columns=LABEL), size=SIZE, seed=split.seed)
    labels = None if not share else _some_labels(split, share)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = sqrl.fit(
            network(train.shape[1], len(split.classes), split.seed),
            *(batches, rules, labels),
            classes=split.classes,
            seed=split.seed,
        )
    return fitted.predict(test).double().numpy()


def by_hinge(split: Split, rules: sqrl.RuleSet) -> Floats:
    """The network, by the rule loss of bounds that adapts models."""

    def names(batch: sqrl.Batch, out: Tensor) -> dict[str, object]:
        return {**batch.columns, LABEL: out.softmax(-1)}

    loss = sqrl.RuleLoss(rules, names, classes=split.classes)
    return _by_loss(split, loss)


def by_proportions(split: Split, rules: sqrl.RuleSet) -> Floats:
    """Learning from label proportions: each fact is a bag, cross-entropy of its proportions."""
    stated = read_stated(rules, split.classes)
    held, rates = _bags(split, stated)

    def loss(batch: sqrl.Batch, out: Tensor) -> Tensor:
        inside = held[batch.rows]
        counts = inside.sum(0)
        expected = (inside.T @ out.softmax(-1)) / counts.clamp(min=1)[:, None]
        costs = -(rates * expected.clamp(min=1e-6).log()).sum(1)
        return costs[counts > 0].mean()

    return _by_loss(split, loss)


def by_expectations(split: Split, rules: sqrl.RuleSet) -> Floats:
    """Generalised expectation criteria: a logistic model, KL from the stated rates, and L2."""
    stated = read_stated(rules, split.classes)
    held, rates = _bags(split, stated)
    train, test = inputs_of(split)
    torch.manual_seed(split.seed)
    model = nn.Linear(train.shape[1], len(split.classes))
    nn.init.zeros_(model.weight)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(STEPS):
        rows = torch.randint(len(train), (min(len(train), 2 * SIZE),))
        inside = held[rows]
        counts = inside.sum(0)
        expected = (inside.T @ model(train[rows]).softmax(-1)) / counts.clamp(min=1)[:, None]
        apart = (rates * (rates.clamp(min=1e-6) / expected.clamp(min=1e-6)).log()).sum(1)
        loss = apart[counts > 0].sum() + 0.5 * model.weight.square().sum() / 100
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return predict(model, test)


def by_votes(split: Split, rules: sqrl.RuleSet) -> Floats:
    """A label model: facts vote as if independent, and the network learns their verdicts."""
    stated = read_stated(rules, split.classes)
    held, rates = _bags(split, stated)
    base = torch.tensor(stated.base, dtype=torch.float32)
    votes = (rates.clamp(min=1e-3) / base).log()
    n_columns = held.sum(1, keepdim=True).clamp(min=1)
    soft = (held @ votes / n_columns.sqrt() + base.log()).softmax(-1)
    train, test = inputs_of(split)
    model = network(train.shape[1], len(split.classes), split.seed)
    return predict(train_labelled(model, train, soft, split.seed), test)


def _bags(split: Split, stated: Stated) -> tuple[Tensor, Tensor]:
    """Where facts hold in the rows to train on, and the rate of each class in each."""
    held = stated.held(as_table(split.train.drop(columns=LABEL)), {})
    rates = np.full((len(stated.bodies), len(stated.classes)), np.nan)
    for body, which, value in zip(stated.body, stated.which_class, stated.value, strict=True):
        rates[body, which] = value
    left = np.clip(1 - np.nansum(rates, axis=1), 1e-4, 1)
    unknown = np.isnan(rates)
    share = unknown * stated.base
    filled = left[:, None] * share / np.maximum(share.sum(axis=1, keepdims=True), 1e-9)
    rates = np.where(unknown, filled, rates)
    rates /= rates.sum(axis=1, keepdims=True)
    return torch.tensor(held, dtype=torch.float32), torch.tensor(rates, dtype=torch.float32)


def _by_loss(split: Split, loss: Callable[[sqrl.Batch, Tensor], Tensor]) -> Floats:
    train, test = inputs_of(split)
    model = network(train.shape[1], len(split.classes), split.seed)
    optimiser = torch.optim.AdamW(model.parameters(), LR, weight_decay=1e-4)
    size = min(2 * SIZE, len(train))
    batches = sqrl.Batches(train, split.train.drop(columns=LABEL), size=size, seed=split.seed)
    done = 0
    while done < STEPS:
        for batch in batches:
            optimiser.zero_grad()
            cost = loss(batch, model(batch.inputs))
            if cost.requires_grad:
                cost.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            done += 1
            if done >= STEPS:
                break
    return predict(model, test)


# By labels.


def labelled_rows(split: Split, share: float) -> NDArray[np.int64]:
    """The rows whose labels are known: at least two of each class."""
    order = np.random.default_rng(split.seed).permutation(len(split.train))
    chosen = list(order[: max(4, round(share * len(order)))])
    codes = split.codes(split.train)
    for which in range(len(split.classes)):
        lacking = 2 - int((codes[chosen] == which).sum())
        chosen += [row for row in order if codes[row] == which and row not in chosen][
            : max(0, lacking)
        ]
    return np.array(sorted(chosen))


def _some_labels(split: Split, share: float) -> Sequence[object]:
    labels = np.array([None] * len(split.train), object)
    rows = labelled_rows(split, share)
    labels[rows] = split.train[LABEL].to_numpy()[rows]
    return list(labels)


def by_labels(split: Split, share: float) -> Floats:
    """The network, supervised, with early stopping."""
    train, test = inputs_of(split)
    rows = torch.from_numpy(labelled_rows(split, share))
    model = network(train.shape[1], len(split.classes), split.seed)
    targets = torch.from_numpy(split.codes(split.train))
    return predict(train_labelled(model, train[rows], targets[rows], split.seed), test)


def by_pseudo_labels(split: Split, share: float) -> Floats:
    """The network, supervised, then again with what it is sure of in the other rows."""
    train, test = inputs_of(split)
    rows = torch.from_numpy(labelled_rows(split, share))
    n_classes = len(split.classes)
    targets = torch.from_numpy(split.codes(split.train))
    first = network(train.shape[1], n_classes, split.seed)
    guessed = predict(train_labelled(first, train[rows], targets[rows], split.seed), train)
    sure = torch.from_numpy(guessed.max(1) >= CONFIDENT)
    labels = torch.from_numpy(guessed.argmax(1))
    labels[rows], sure[rows] = targets[rows], True
    chosen = torch.nonzero(sure)[:, 0]
    second = network(train.shape[1], n_classes, split.seed + 1)
    return predict(train_labelled(second, train[chosen], labels[chosen], split.seed), test)


def by_regression(split: Split, share: float) -> Floats:
    """Logistic regression as scikit-learn has it."""
    from sklearn.linear_model import LogisticRegression

    train, test = inputs_of(split)
    rows = labelled_rows(split, share)
    codes = split.codes(split.train)[rows]
    model = LogisticRegression(max_iter=300, C=1.0).fit(train.numpy()[rows], codes)
    return _all_classes(model.predict_proba(test.numpy()), model.classes_, len(split.classes))


def by_trees(split: Split, share: float) -> Floats:
    """Boosted trees with early stopping."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    train, test = inputs_of(split)
    rows = labelled_rows(split, share)
    model = HistGradientBoostingClassifier(early_stopping=True, random_state=split.seed)
    model.fit(train.numpy()[rows], split.codes(split.train)[rows])
    return _all_classes(model.predict_proba(test.numpy()), model.classes_, len(split.classes))


def _all_classes(found: Floats, there: NDArray[np.int64], n_classes: int) -> Floats:
    made = np.full((len(found), n_classes), 1e-6)
    made[:, there] = found
    return np.asarray(made / made.sum(axis=1, keepdims=True))
