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
from sqrl_paper.cardio.ft_transformer import make_ft_transformer
from sqrl_paper.train.tables import LABEL

Floats = NDArray[np.float64]
WIDTH, SIZE, EPOCHS, PATIENCE, LR = 64, 512, 40, 6, 2e-3  # of all networks, whatever they learn
FT_LR, FT_EPOCHS, FT_PATIENCE = 1e-3, 15, 3  # of the FT-Transformer, which is slow
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
    """The network of all methods that have one."""
    torch.manual_seed(seed)
    return nn.Sequential(
        *(nn.Linear(n_inputs, WIDTH), nn.ReLU()),
        *(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, n_classes)),
    )


def predict(model: nn.Module, inputs: Tensor) -> Floats:
    """The probabilities of the classes."""
    model.eval()
    with torch.no_grad():
        return np.asarray(model(inputs).softmax(-1).double().numpy())


def train_labelled(
    model: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    seed: int,
    *,
    lr: float = LR,
    epochs: int | None = None,
    patience: int = PATIENCE,
) -> nn.Module:
    """By labels (or probabilities), with a sixth of the rows held out to stop by.

    Of fewer than 60 rows a sixth says nothing: all are learned from, and judged by.
    """
    torch.manual_seed(seed)
    order = torch.randperm(len(inputs))
    is_few = len(order) < FEW
    held_out = order if is_few else order[: len(order) // 6]
    rest = order if is_few else order[len(held_out) :]
    optimiser = torch.optim.AdamW(model.parameters(), lr, weight_decay=1e-4)
    size = min(SIZE, max(16, len(rest) // 8))
    best, kept, since = float("inf"), None, 0
    usual = 50 if is_few else EPOCHS if len(rest) > 2000 else 4 * EPOCHS
    for _ in range(epochs or usual):
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
        if since >= patience:
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


def by_private(split: Split, rules: sqrl.RuleSet) -> Floats:
    """`RuleClassifier`; where noise has left nothing but shares of classes, those for every row."""
    if any(" => " in rule.text for rule in rules):
        return by_rules(split, rules)
    said = {rule.text.split(f"{LABEL} = ")[1].split(")")[0]: rule.centre for rule in rules}
    shares = np.array([said.get(name) or 0.0 for name in split.classes])
    return np.tile(shares / shares.sum(), (len(split.test), 1))


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


def by_proportions(split: Split, bags: "Bags") -> Floats:
    """Learning from label proportions: each fact is a bag, cross-entropy of its proportions."""

    def loss(batch: sqrl.Batch, out: Tensor) -> Tensor:
        inside = bags.held[batch.rows]
        counts = inside.sum(0)
        expected = (inside.T @ out.softmax(-1)) / counts.clamp(min=1)[:, None]
        costs = -(bags.rates * expected.clamp(min=1e-6).log()).sum(1)
        return costs[counts > 0].mean()

    return _by_loss(split, loss)


def by_expectations(split: Split, bags: "Bags") -> Floats:
    """Generalised expectation criteria: a logistic model, KL from the stated rates, and L2."""
    train, test = inputs_of(split)
    torch.manual_seed(split.seed)
    model = nn.Linear(train.shape[1], len(split.classes))
    nn.init.zeros_(model.weight)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(STEPS):
        rows = torch.randint(len(train), (min(len(train), 2 * SIZE),))
        inside = bags.held[rows]
        counts = inside.sum(0)
        expected = (inside.T @ model(train[rows]).softmax(-1)) / counts.clamp(min=1)[:, None]
        apart = (bags.rates * (bags.rates.clamp(min=1e-6) / expected.clamp(min=1e-6)).log()).sum(1)
        loss = apart[counts > 0].sum() + 0.5 * model.weight.square().sum() / 100
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return predict(model, test)


def by_votes(split: Split, bags: "Bags") -> Floats:
    """A label model: facts vote as if independent, and the network learns their verdicts."""
    votes = (bags.rates.clamp(min=1e-3) / bags.base).log()
    n_columns = bags.held.sum(1, keepdim=True).clamp(min=1)
    soft = (bags.held @ votes / n_columns.sqrt() + bags.base.log()).softmax(-1)
    train, test = inputs_of(split)
    model = network(train.shape[1], len(split.classes), split.seed)
    return predict(train_labelled(model, train, soft, split.seed), test)


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """Where facts hold in the rows to train on, the rate of each class in each, and in all rows.

    Shapes: held (n_rows, n_facts), rates (n_facts, n_classes), base (n_classes,).
    """

    held: Tensor
    rates: Tensor
    base: Tensor


def read_bags(split: Split, rules: sqrl.RuleSet) -> Bags:
    """The facts of rules that state rates of classes within facts, and nothing else."""
    rows = split.train.drop(columns=LABEL)
    facts: dict[str, int] = {}
    held: list[NDArray[np.bool_]] = []
    said: list[tuple[int, int, float]] = []
    base = np.full(len(split.classes), np.nan)
    for place, rule in enumerate(rules):
        body, arrow, head = rule.text.partition(" => ")
        name = (head if arrow else body).split(f"{LABEL} = ")[1].split(")")[0].strip('"')
        which = split.classes.index(name)
        if not arrow:
            base[which] = rule.centre
            continue
        fact = body.rpartition("precision(")[2]  # without the bounds, which are each rule's own
        if fact not in facts:
            facts[fact] = len(held)
            held.append(rules.condition_holds(place, rows))
        said.append((facts[fact], which, float(rule.centre or 0.0)))
    base = np.where(np.isnan(base), max(0.0, 1 - np.nansum(base)), base)
    rates = np.full((len(held), len(base)), np.nan)
    for line, which, centre in said:
        rates[line, which] = centre
    left = np.clip(1 - np.nansum(rates, axis=1), 1e-4, 1)
    share = np.isnan(rates) * base
    filled = left[:, None] * share / np.maximum(share.sum(axis=1, keepdims=True), 1e-9)
    rates = np.where(np.isnan(rates), filled, rates)
    rates /= rates.sum(axis=1, keepdims=True)
    made = (np.stack(held, axis=1), rates, base / base.sum())
    return Bags(*(torch.tensor(one, dtype=torch.float32) for one in made))


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


class _Transformer(nn.Module):
    """The FT-Transformer of the cardio bench, of numbers alone."""

    def __init__(self, n_inputs: int, n_classes: int, seed: int) -> None:
        super().__init__()
        self.model = make_ft_transformer(n_inputs, (), n_classes, seed=seed)

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.model(inputs, None)
        return logits


def by_transformer(split: Split) -> Floats:
    """The FT-Transformer, supervised with all labels, with early stopping."""
    train, test = inputs_of(split)
    torch.manual_seed(split.seed)
    model = _Transformer(train.shape[1], len(split.classes), split.seed)
    targets = torch.from_numpy(split.codes(split.train))
    options = {"lr": FT_LR, "epochs": FT_EPOCHS, "patience": FT_PATIENCE}
    return predict(train_labelled(model, train, targets, split.seed, **options), test)  # type: ignore[arg-type]


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
