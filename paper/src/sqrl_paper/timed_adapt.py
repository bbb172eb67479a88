"""adapt_told: a model adapted, and what is to be told of it."""

import time
import warnings
from typing import Any

from torch import nn

from sqrl import Adapted, adapt
from sqrl.errors import AdaptWarning
from sqrl.methods import Objective

Json = dict[str, Any]


def adapt_told(
    model: nn.Module, batches: Any, objective: Objective, **options: Any
) -> tuple[Adapted, Json]:
    """What `adapt` gives, with its options; and its time, its ending and what it warned of."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AdaptWarning)
        adapted = adapt(model, batches, objective, **options)
    return adapted, {
        "seconds": time.perf_counter() - began,
        "epochs": len(adapted.trace),
        "kept": adapted.trace.n_accepted,
        "ending": adapted.trace.ending,
        "warnings": [str(one.message) for one in caught],
    }
