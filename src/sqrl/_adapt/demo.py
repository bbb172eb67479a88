"""What `sqrl demo` adds where torch is: a small model, its feed broken, adapted without labels."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from sqrl._adapt.adapt import adapt
from sqrl._adapt.batches import Batches
from sqrl._adapt.rule_loss.loss import RuleLoss
from sqrl._data.table import Table
from sqrl._progress import Track
from sqrl._rules.ruleset import RuleSet

LABEL, SEEN = "repaid", ("age", "owner", "income", "loan")
N_STEPS, N_HIDDEN, SIZE = 150, 32, 256
TIMES = 2.0  # what the broken feed multiplies loans by


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracies:
    """Shares of new rows that a model gets right; `guess` is the commoner answer for all rows."""

    trained: float
    broken: float
    adapted: float
    guess: float


def adapt_demo(
    people: Table, new: Table, rules: RuleSet, *, seed: int = 0, track: Track | None = None
) -> Accuracies:
    """A model trained on people, fed wrong loans of new ones, and adapted by rules alone.

    The labels of new rows only say at the end how often it was right.
    """
    with _one_thread():
        return _adapt_demo(people, new, rules, seed=seed, track=track)


def _adapt_demo(
    people: Table, new: Table, rules: RuleSet, *, seed: int, track: Track | None
) -> Accuracies:
    model = _train(people, seed=seed, track=track)
    right_feed, wrong_feed = _feed(new, people), _feed(new, people, loans=TIMES)
    loss = RuleLoss(
        rules,
        names=lambda batch, out: {**batch.columns, LABEL: out.softmax(-1)},
        classes=people[LABEL].categories,
    )
    columns = {name: new[name] for name in new.names if name not in (LABEL, "predicted")}
    known = Table(columns, new.n_rows, new.source)
    adapted = adapt(model, Batches(wrong_feed, known, size=SIZE), loss, seed=seed, track=track)
    labels = _labels(new, people[LABEL].categories)

    def accuracy(of: nn.Module, feed: Tensor) -> float:
        with torch.no_grad():
            return float((of(feed).argmax(-1) == labels).double().mean())

    return Accuracies(
        trained=accuracy(model, right_feed),
        broken=accuracy(model, wrong_feed),
        adapted=accuracy(adapted, wrong_feed),
        guess=float(labels.bincount().max() / len(labels)),
    )


def adapt_lines(got: Accuracies) -> Iterator[str]:
    """The last step of the story, whatever came of it."""
    shares = (got.trained, got.broken, got.adapted, got.guess)
    trained, broken, adapted, guess = (f"{100 * share:.0f} %" for share in shares)
    answers = f"{trained} as trained, {broken} broken, {adapted} adapted"
    yield ""
    yield "6. A small torch model learns who repays. Then its feed breaks: it gets loans"
    yield "   doubled. sqrl adapts a copy by rules alone, without labels. Right answers:"
    yield f"   > {answers} (always the same: {guess})"


@contextmanager
def _one_thread() -> Iterator[None]:
    """Threads would wait for each other longer than they work on so little."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)


def _train(people: Table, *, seed: int, track: Track | None) -> nn.Sequential:
    """A network of one hidden layer that tells from what is known of people who repays."""
    feed, labels = _feed(people, people), _labels(people, people[LABEL].categories)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(
            nn.Linear(len(SEEN), N_HIDDEN),
            nn.LayerNorm(N_HIDDEN),
            nn.ReLU(),
            nn.Linear(N_HIDDEN, len(people[LABEL].categories)),
        )
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(N_STEPS):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(feed), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if track is not None:
            track("train", step + 1, N_STEPS)
    return model.eval()


def _feed(table: Table, people: Table, *, loans: float = 1.0) -> Tensor:
    """What the model sees of rows, in standard deviations of the people it was trained on."""
    columns = []
    for name in SEEN:
        known = people[name].values.astype(np.float64)
        values = table[name].values * (loans if name == "loan" else 1.0)
        columns.append((values - known.mean()) / known.std())
    return torch.from_numpy(np.stack(columns, axis=1)).float()


def _labels(table: Table, classes: tuple[str, ...]) -> Tensor:
    column = table[LABEL]
    return torch.tensor([classes.index(column.categories[code]) for code in column.values])
