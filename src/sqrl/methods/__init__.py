"""Test-time adaptation methods, all behind the same call: `sqrl.adapt(model, batches, Tent())`.

| method      | what it does                              | paper                 |
|-------------|-------------------------------------------|-----------------------|
| `Unadapted` | nothing: the source model                 |                       |
| `BN`        | BatchNorm statistics from the test data   | Schneider et al. 2020 |
| `Tent`      | entropy; for regression minus the norm    | Wang et al. 2021      |
| `RPL`       | robust loss of the model's own labels     | Rusak et al. 2022     |
| `CPL`       | the training loss on its conjugate labels | Goyal et al. 2022     |
| `MEMO`      | entropy of the average over augmentations | Zhang et al. 2022     |
| `EATA`      | entropy of reliable and new rows alone    | Niu et al. 2022       |
| `SAR`       | entropy that small changes do not undo    | Niu et al. 2023       |
| `CoTTA`     | labels of an averaged model               | Wang et al. 2022      |
| `Distil`    | predictions of a classifier of the table  |                       |
| `Clip`      | outputs clipped to the rules' bounds      |                       |
| `Mask`      | classes that rules exclude not predicted  |                       |
| `Bias`      | one bias on the logits fitted to a loss   |                       |

`rebalance` is a function of logits: another class balance, found without labels.
`MEMO` and `CoTTA` take `TableNoise`, or any function of a batch and a random generator that gives
another batch of the same rows:
`MEMO(lambda x, generator: x + torch.randn(x.shape, generator=generator))`.
`METHODS` has the methods by name; one of your own needs no entry.

A method of your own is a subclass of `Objective`; what it may ask for besides a batch and the
model's output is a `Context`, and how BatchNorm layers get their statistics one of `Statistics`:

>>> class Certain(Objective):  # the entropy of the predictions, as in Tent
...     def forward(self, batch, out, context=None):
...         return -(out.softmax(-1) * out.log_softmax(-1)).sum(-1).mean()
>>> import torch
>>> round(float(Certain()(None, torch.zeros(1, 2))), 4)  # log 2: two classes, equally likely
0.6931
"""

from sqrl._adapt.objective import Context, Objective, Statistics
from sqrl._registry import Registry
from sqrl.methods.balance import rebalance
from sqrl.methods.bias import Bias
from sqrl.methods.bn import BN
from sqrl.methods.clip import Clip
from sqrl.methods.cotta import CoTTA
from sqrl.methods.cpl import CPL
from sqrl.methods.distil import Distil
from sqrl.methods.eata import EATA
from sqrl.methods.mask import Mask
from sqrl.methods.memo import MEMO, TableNoise
from sqrl.methods.none import Unadapted
from sqrl.methods.rpl import RPL
from sqrl.methods.sar import SAR
from sqrl.methods.tent import Tent

__all__ = [
    "BN",
    "CPL",
    "EATA",
    "MEMO",
    "METHODS",
    "RPL",
    "SAR",
    "Bias",
    "Clip",
    "CoTTA",
    "Context",
    "Distil",
    "Mask",
    "Objective",
    "Statistics",
    "TableNoise",
    "Tent",
    "Unadapted",
    "rebalance",
]

_BUILT_IN: tuple[type[Objective], ...] = (
    *(Unadapted, BN, Tent, RPL, CPL, MEMO, EATA, SAR, CoTTA, Distil),
    *(Clip, Mask, Bias),
)
METHODS = Registry("method", {method.__name__: method for method in _BUILT_IN})
