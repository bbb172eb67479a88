"""How many rules each shipped schema has, and how that compares with the paper's counts."""

import numpy as np
from numpy.typing import NDArray

import sqrl
from datasets import FACTORS, Bools, Cardio, Columns, cardio_features, made_task_tables
from measure import Json, Settings
from sqrl._kernels import Bodies, body_counts, enumerate_bodies, pack_table

PAPER = {
    "cardio": 292_129,
    "imagenet_x": 73_032,
    "detection": 252,
    "imputation": 35,
    "sentiment": 7878,
}
# The share of the rows that the paper learns from: appendix on cardio; section 5 on ImageNet-X.
CARDIO_TRAIN, IMAGENET_X_TRAIN = 0.65, 0.8


def measure_rule_counts(
    cardio: Cardio, imagenet_x: Columns, imagenet_x_is_real: bool, settings: Settings
) -> Json:
    """Candidates by `sqrl.plan`, and rules that hold on some row, counted the paper's way."""
    tables: dict[str, object] = dict(made_task_tables(settings.seed))
    tables |= {"cardio": str(cardio.path), "imagenet_x": imagenet_x}
    real = {"cardio": cardio.is_real, "imagenet_x": imagenet_x_is_real}
    schemas = {
        name: {
            "candidates": sqrl.plan(tables[name], name).n_candidates,
            "paper": PAPER[name],
            "data": "real" if real.get(name, False) else "made",
        }
        for name in PAPER
    }
    return {
        "schemas": schemas,
        "cardio": _count_cardio(cardio, settings),
        "imagenet_x": _count_imagenet_x(imagenet_x, settings),
    }


def _count_cardio(cardio: Cardio, settings: Settings) -> Json:
    learned = sqrl.learn(str(cardio.path), "cardio").provenance
    assert learned is not None
    counts = learned.counts
    everything = np.arange(cardio.n_rows)
    features = cardio_features(cardio.columns, everything)
    body, both = _not_empty(features, cardio.head.astype(np.int32), 2)
    drawn = []
    for fit in _draws(cardio.n_rows, CARDIO_TRAIN, settings):
        some = cardio_features(cardio.columns, fit)[:, fit]
        drawn.append(_not_empty(some, cardio.head[fit].astype(np.int32), 2)[1])
    return {
        "candidates": counts["candidates"],
        "candidates_not_empty": counts["candidates"] - counts["empty"],
        "features": len(features),
        "features_never_true": int((~features.any(axis=1)).sum()),
        "all_rows": {"bodies_not_empty": body, "rules_not_empty": both},
        "train_share": CARDIO_TRAIN,
        "draws": len(drawn),
        "rules_not_empty": {"least": min(drawn), "most": max(drawn)},
    }


def _count_imagenet_x(columns: Columns, settings: Settings) -> Json:
    true = np.array([columns[name] == 1 for name in FACTORS])
    classes, parts = np.unique(columns["metaclass"], return_inverse=True)
    n = len(classes)
    body, both = _not_empty(true, parts.astype(np.int32), n)
    drawn = []
    for fit in _draws(len(parts), IMAGENET_X_TRAIN, settings):
        drawn.append(_not_empty(true[:, fit], parts[fit].astype(np.int32), n)[0] * n)
    return {
        "classes": n,
        "bodies": _bodies_of(true).n,
        "all_rows": {
            "bodies_not_empty": body,
            "times_classes": body * n,
            "rules_not_empty": both,
        },
        "train_share": IMAGENET_X_TRAIN,
        "draws": len(drawn),
        "times_classes": {"least": min(drawn), "most": max(drawn)},
    }


def _draws(n_rows: int, share: float, settings: Settings) -> list[NDArray[np.int64]]:
    """The train rows of several random splits."""
    rng = np.random.default_rng(settings.seed)
    n_draws = 2 if settings.quick else 50
    return [np.sort(rng.permutation(n_rows)[: round(share * n_rows)]) for _ in range(n_draws)]


def _not_empty(true: Bools, parts: NDArray[np.int32], n_parts: int) -> tuple[int, int]:
    """How many bodies have a row, and how many pairs of a body and a class have one."""
    counts = body_counts(_bodies_of(true), pack_table(true, ~true, parts, n_parts=n_parts))
    return int((counts.sum(axis=1) > 0).sum()), int((counts > 0).sum())


def _bodies_of(true: Bools) -> Bodies:
    n = len(true)
    return enumerate_bodies(np.arange(n, dtype=np.int32), np.zeros(n, np.bool_), 1, 3)
