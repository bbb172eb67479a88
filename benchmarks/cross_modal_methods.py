"""Ways to train a model of pixels or words by rules about other columns, and what else one does."""

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import sqrl
from cross_modal_data import Embedded
from sqrl.methods import BN, Objective, Tent
from sqrl_paper.timed_adapt import adapt_told
from sqrl_paper.train import methods as ways
from sqrl_paper.train.tables import LABEL

Floats = NDArray[np.float64]
Json = dict[str, Any]
WIDTH, SIZE = 64, 128
CLUSTERS = 10  # for each class
REGULAR = 0.01  # scikit-learn's C, for more than a thousand inputs
FIT_ON: Json = {"lr": 1e-3, "epochs": 5}
ORACLE_EPOCHS, ORACLE_RATE = 10, 0.02  # as rules have


@dataclass(frozen=True, slots=True, eq=False)
class Pairs(ways.Split):
    """Rows behind the rules (columns alone), rows to train on and to test, and their embeddings."""

    train_x: Tensor
    test_x: Tensor


def head(n_inputs: int, n_classes: int, seed: int) -> nn.Module:
    """The small network that all methods train, on a normalised embedding."""
    torch.manual_seed(seed)
    return nn.Sequential(
        *(nn.LayerNorm(n_inputs), nn.Linear(n_inputs, WIDTH)),
        *(nn.ReLU(), nn.Linear(WIDTH, n_classes)),
    )


def new_head(split: Pairs) -> nn.Module:
    """An untrained one for the embeddings and classes of a split."""
    return head(split.train_x.shape[1], len(split.classes), split.seed)


def columns_of(rows: pd.DataFrame) -> pd.DataFrame:
    """What rules see: all but the label."""
    return rows.drop(columns=LABEL)


# Without a label: the model sees the embedding alone, rules the columns alone.


def by_fit(split: Pairs, rules: sqrl.RuleSet, share: float = 0.0) -> nn.Module:
    """The head, trained by `sqrl.fit`; with a share of the labels too."""
    batches = sqrl.Batches(split.train_x, columns_of(split.train), size=SIZE, seed=split.seed)
    labels = None if not share else ways._some_labels(split, share)
    options: Json = {"classes": split.classes, "seed": split.seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sqrl.fit(new_head(split), batches, rules, labels, **options).model


def by_targets(split: Pairs, targets: Floats) -> nn.Module:
    """The head, trained as if these were the labels, or their probabilities."""
    made = torch.from_numpy(targets)
    made = made.float() if made.ndim == 2 else made
    return ways.train_labelled(new_head(split), split.train_x, made, split.seed)


def said_by_rules(split: Pairs, rules: sqrl.RuleSet) -> Floats:
    """What the additive model of the columns says of the rows to train on."""
    model = sqrl.RuleClassifier(rules, classes=split.classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(columns_of(split.train))
    return model.predict_proba(columns_of(split.train))


def by_clusters(split: Pairs, said: Floats) -> Floats:
    """k-means of the embeddings; a cluster has the mean of what rules say of its rows."""
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(split.train_x.numpy())
    n = min(CLUSTERS * len(split.classes), len(split.train_x) // 5)
    model = KMeans(n, n_init=3, random_state=split.seed)
    places = model.fit_predict(scaler.transform(split.train_x.numpy()))
    means = np.stack([said[places == k].mean(axis=0) for k in range(n)])
    return np.asarray(means[model.predict(scaler.transform(split.test_x.numpy()))])


def votes_of(split: Pairs, rules: sqrl.RuleSet) -> Floats:
    """What rates within facts say of rows to train on, each as if independent of the others."""
    bags = ways.read_bags(split, rules)
    votes = (bags.rates.clamp(min=1e-3) / bags.base).log()
    n_facts = bags.held.sum(1, keepdim=True).clamp(min=1)
    soft = (bags.held @ votes / n_facts.sqrt() + bags.base.log()).softmax(-1)
    return soft.double().numpy()


# With labels.


def by_labels(split: Pairs, share: float) -> nn.Module:
    """The head, supervised, with early stopping."""
    rows = torch.from_numpy(ways.labelled_rows(split, share))
    targets = torch.from_numpy(split.codes(split.train))
    model = new_head(split)
    return ways.train_labelled(model, split.train_x[rows], targets[rows], split.seed)


def by_regression(split: Pairs, share: float) -> Floats:
    """Logistic regression on the standardised embedding, as scikit-learn has it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    rows = ways.labelled_rows(split, share)
    scaler = StandardScaler().fit(split.train_x.numpy())
    model = LogisticRegression(max_iter=300, C=REGULAR)
    model.fit(scaler.transform(split.train_x.numpy())[rows], split.codes(split.train)[rows])
    found = model.predict_proba(scaler.transform(split.test_x.numpy()))
    return ways._all_classes(found, model.classes_, len(split.classes))


def by_columns(split: Pairs) -> Floats:
    """Boosted trees on the columns themselves, all labels: what the columns know at most."""
    return ways.by_trees(split, 1.0)


# Adapted: the pixels have changed, the columns have not.


class Model(nn.Module):
    """The last convolution of the encoder with a trained head, whose norm layers can adapt."""

    def __init__(self, trained: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = Embedded(), copy.deepcopy(trained)
        self.eval()

    def forward(self, values: Tensor) -> Tensor:
        """Logits, of what the first blocks gave."""
        logits: Tensor = self.head(self.encoder(values))
        return logits


def predict_model(model: nn.Module, values: Tensor) -> Floats:
    """Probabilities, a part after the other."""
    return np.concatenate([ways.predict(model, part) for part in torch.split(values, SIZE)])


def adapt_by(
    source: nn.Module, values: Tensor, columns: pd.DataFrame, objective: Objective, **options: Any
) -> tuple[Floats, Json]:
    """Probabilities after `sqrl.adapt` on the rows of the test, without labels."""
    batches = sqrl.Batches(values, columns, size=SIZE, seed=0)
    adapted, told = adapt_told(source, batches, objective, **options)
    return predict_model(adapted.model, values), told


def rule_loss(rules: sqrl.RuleSet, classes: tuple[str, ...]) -> sqrl.RuleLoss:
    """The loss of rules about the columns, for the model's predicted classes."""

    def names(batch: sqrl.Batch, out: Tensor) -> dict[str, Any]:
        return {**batch.columns, LABEL: out.softmax(-1)}

    return sqrl.RuleLoss(rules, names, classes=classes)


def by_norms(source: nn.Module, values: Tensor, columns: pd.DataFrame) -> tuple[Floats, Json]:
    """BatchNorm statistics of the test's rows."""
    return adapt_by(source, values, columns, BN())


def by_entropy(source: nn.Module, values: Tensor, columns: pd.DataFrame) -> tuple[Floats, Json]:
    """Tent at its defaults."""
    return adapt_by(source, values, columns, Tent())


def with_test_labels(source: nn.Module, values: Tensor, codes: NDArray[np.int64]) -> Floats:
    """The ceiling: the same layers fitted to half of the test's labels, the other half told.

    And the other way round, so that no row is told by a model that saw its label.
    """
    order = np.random.default_rng(0).permutation(len(codes))
    found = predict_model(source, values)
    for seen, told in (np.array_split(order, 2), np.array_split(order, 2)[::-1]):
        model = copy.deepcopy(source)
        chosen = _only_norms(model)
        optimiser = torch.optim.Adam(chosen, ORACLE_RATE)
        torch.manual_seed(0)
        for _ in range(ORACLE_EPOCHS):
            for rows in torch.split(torch.from_numpy(seen)[torch.randperm(len(seen))], SIZE):
                optimiser.zero_grad()
                wanted = torch.from_numpy(codes[rows.numpy()])
                nn.functional.cross_entropy(model(values[rows]), wanted).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        found[told] = predict_model(model, values[torch.from_numpy(told)])
    return found


def _only_norms(model: nn.Module) -> list[Tensor]:
    """The scales and shifts of norm layers, all else frozen."""
    kinds = (nn.BatchNorm2d, nn.LayerNorm)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    layers = [layer for layer in model.modules() if isinstance(layer, kinds)]
    return [parameter.requires_grad_() for layer in layers for parameter in layer.parameters()]


def by_fit_on(
    source: nn.Module,
    values: Tensor,
    columns: pd.DataFrame,
    rules: sqrl.RuleSet,
    split: Pairs,
) -> Floats:
    """The whole of the adaptable model trained on by `sqrl.fit`, on the test's rows."""
    batches = sqrl.Batches(values, columns, size=SIZE, seed=split.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = sqrl.fit(source, batches, rules, classes=split.classes, **FIT_ON)
    return predict_model(fitted.model, values)
