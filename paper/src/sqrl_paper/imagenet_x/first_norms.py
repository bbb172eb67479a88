"""BatchNorm statistics of the first layers alone taken from the data at hand.

The first layers see edges and colours, which corruptions change and classes do not, and have
thousands of places in each image to measure them by. The last ones see what is in the images, with
a few places each: their statistics from a few hundred images are worse than those of training.
"""

import copy
from collections.abc import Iterable

from torch import Tensor, nn

from sqrl import adapt
from sqrl.errors import DataError
from sqrl.methods import BN


def with_first_statistics(
    model: nn.Module, batches: Iterable[Tensor], *, share: float = 0.5
) -> nn.Module:
    """A copy of the model whose first BatchNorm layers have the statistics of all the batches.

    `share` of the layers, in the order in which the model lists them; the others keep those of
    training, and so do all parameters. In evaluation mode.

    >>> import torch
    >>> model = nn.Sequential(nn.BatchNorm1d(1), nn.BatchNorm1d(1)).eval()
    >>> made = with_first_statistics(model, [torch.tensor([[1.0], [3.0]])])
    >>> made[0].running_mean.item(), made[1].running_mean.item(), model[0].running_mean.item()
    (2.0, 0.0, 0.0)
    """
    if not 0 <= share <= 1:
        raise DataError(f"A share of {share:g} of the layers.", fix="give one from 0 to 1")
    made = copy.deepcopy(model).eval()
    layers = _batch_norms(made)
    # What enters a layer follows from those before it, so that all may be renewed for the first.
    renewed = _batch_norms(adapt(made, batches, BN(), guard=False).model)
    n_first = round(share * len(layers))
    for layer, other in zip(layers[:n_first], renewed[:n_first], strict=True):
        layer.load_state_dict(other.state_dict())
    return made


def _batch_norms(model: nn.Module) -> list[nn.Module]:
    kinds = (nn.BatchNorm1d, nn.BatchNorm2d)
    return [layer for layer in model.modules() if isinstance(layer, kinds)]
