"""Made-up data: boxes as a camera on a car would see them, and the people of `sqrl demo`."""

import numpy as np

from sqrl._data.table import Table, as_table
from sqrl._kernels.arrays import Bools

# Width and height in metres, and how much they vary between individuals.
_SIZES = {"Car": (1.8, 1.5), "Pedestrian": (0.6, 1.75), "Cyclist": (0.7, 1.75), "Truck": (2.5, 3.3)}
_SHARES = (0.62, 0.2, 0.1, 0.08)
_FOCAL_LENGTH = 720.0
_CAMERA_HEIGHT = 1.65
_HORIZON = 180.0


def demo_table(n_rows: int = 6000, *, seed: int = 0) -> Table:
    """Boxes with their class: pixels follow from size and distance by perspective."""
    rng = np.random.default_rng(seed)
    kinds = np.array(list(_SIZES))
    kind = rng.choice(len(kinds), n_rows, p=_SHARES)
    metres = np.array(list(_SIZES.values()))[kind]
    distance = rng.gamma(3.0, 9.0, n_rows) + 4.0
    side_view = rng.random(n_rows) < 0.25
    length = np.where(side_view & (kind != 1), 2.3, 1.0)
    width = metres[:, 0] * length * rng.normal(1.0, 0.08, n_rows) * _FOCAL_LENGTH / distance
    height = metres[:, 1] * rng.normal(1.0, 0.05, n_rows) * _FOCAL_LENGTH / distance
    bottom = _HORIZON + _CAMERA_HEIGHT * _FOCAL_LENGTH / distance + rng.normal(0, 2, n_rows)
    centre = rng.uniform(40, 1200, n_rows)
    boxes = {
        "left": centre - width / 2,
        "top": bottom - height,
        "right": centre + width / 2,
        "bottom": bottom,
    }
    rounded = {name: values.round(2) for name, values in boxes.items()}
    return as_table({"type": kinds[kind].tolist(), **rounded}, source="demo")


_CITIES = {"Lyon": 0.35, "Oslo": 0.3, "Porto": 0.2, "Turin": 0.15}


def demo_people(n_rows: int = 4000, *, seed: int = 0) -> Table:
    """People, their loans, whether these were repaid, and what a model had predicted.

    >>> demo_people(2).names
    ('age', 'city', 'owner', 'income', 'loan', 'repaid', 'predicted')
    """
    rng = np.random.default_rng(seed)
    age = rng.integers(21, 70, n_rows)
    city = rng.choice(list(_CITIES), n_rows, p=list(_CITIES.values()))
    owner = rng.random(n_rows) < 0.2 + 0.008 * (age - 21)
    income = np.exp(rng.normal(10.3 + 0.25 * owner + 0.004 * (age - 21), 0.3)).round(-2)
    share = rng.uniform(0.1, 0.6, n_rows)
    log_odds = 1.2 + 3.6 * owner - 18 * (share - 0.3) + 0.06 * (age - 40)
    repaid = rng.random(n_rows) < 1 / (1 + np.exp(-log_odds))
    columns = {
        "age": age.astype(np.float64),
        "city": city.tolist(),
        "owner": _answers(owner),
        "income": income,
        "loan": (income * share).round(-2),
        "repaid": _answers(repaid),
        "predicted": _answers(log_odds > 0),
    }
    return as_table(columns, source="demo")


def _answers(are_so: Bools) -> list[str]:
    return ["yes" if is_so else "no" for is_so in are_so.tolist()]
