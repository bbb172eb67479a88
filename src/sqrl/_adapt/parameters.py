"""Which parameters of a model adaptation may change: collect them, check them, let them learn."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm

from sqrl._adapt.objective import Objective
from sqrl.errors import AdaptError, nearest

NORM_LAYERS = (_BatchNorm, _InstanceNorm, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)
# Layers of other libraries say what they are: LlamaRMSNorm, LayerNorm2d, BatchNormAct2d.
NORM_NAME = re.compile(r"norm(act)?(\d+d)?$", re.IGNORECASE)
MOST_NAMES = 6  # of a model's parameters, in an error

Chosen = dict[str, nn.Parameter]


def default_parameters(objective: Objective) -> str | Sequence[str]:
    """What is adapted unless the user chooses: what the objective asks for, else "norm".

    An objective that wraps the model in parameters of its own has a `parameters_pattern`.
    """
    patterns = [getattr(term, "parameters_pattern", None) for _, term in objective.terms()]
    return [pattern for pattern in patterns if pattern] or "norm"


def is_norm(layer: nn.Module) -> bool:
    """Whether a layer normalises, by its class or by the name of its class.

    >>> is_norm(nn.GroupNorm(1, 4)), is_norm(nn.Linear(4, 4))
    (True, False)
    """
    name = str(getattr(layer, "original_name", type(layer).__name__))  # TorchScript keeps it there
    return isinstance(layer, NORM_LAYERS) or NORM_NAME.search(name) is not None


def collect(
    model: nn.Module, choice: str | Sequence[str], *, inner: nn.Module | None = None
) -> Chosen:
    """The parameters that "norm", "all" or patterns of names choose, in the model's order.

    A pattern may also speak of the names within `inner`, the model that `model` wraps.

    >>> model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
    >>> list(collect(model, "norm")), list(collect(model, "0.*"))
    (['1.weight', '1.bias'], ['0.weight', '0.bias'])
    """
    known = dict(model.named_parameters())
    if choice == "all":
        return known
    if choice == "norm":
        own = {
            id(parameter)
            for layer in model.modules()
            if is_norm(layer)
            for parameter in layer.parameters(recurse=False)
        }
        return {name: parameter for name, parameter in known.items() if id(parameter) in own}
    names = {id(value): [name] for name, value in known.items()}
    for name, value in inner.named_parameters() if inner is not None else ():
        names.get(id(value), []).append(name)
    return _match(known, names, [choice] if isinstance(choice, str) else list(choice))


def _match(known: Chosen, names: Mapping[int, list[str]], patterns: list[str]) -> Chosen:
    """The parameters one of whose names fits a pattern; each pattern has to fit something."""
    found = set()
    for pattern in patterns:
        fitting = [
            key for key, all_ in names.items() if any(fnmatchcase(name, pattern) for name in all_)
        ]
        if not fitting:
            raise AdaptError(
                f"No parameter of the model is called {pattern!r}.",
                where="parameters=",
                fix=nearest(pattern, known, most=MOST_NAMES),
            )
        found.update(fitting)
    return {name: value for name, value in known.items() if id(value) in found}


def check(model: nn.Module, choice: str | Sequence[str], chosen: Chosen) -> None:
    """Raise where what was chosen cannot be adapted."""
    if not chosen and choice == "norm":
        has_layers = any(is_norm(layer) for layer in model.modules())
        what = (
            "The model's normalisation layers have no parameters."
            if has_layers
            else "The model has no normalisation layers."
        )
        raise AdaptError(what, where='parameters="norm"', fix=_other_choice(model))
    if not chosen:
        raise AdaptError(
            "The model has no parameters to adapt.",
            fix="use a method without steps, such as sqrl.methods.BN(), or sqrl.repair",
        )
    for name, parameter in chosen.items():
        if not (parameter.is_floating_point() or parameter.is_complex()):
            raise AdaptError(
                f"Parameter {name!r} holds whole numbers ({parameter.dtype}), which have no"
                " gradient.",
                where="parameters=",
                fix="choose others by a pattern, such as parameters='*norm*'",
            )


def _other_choice(model: nn.Module) -> str:
    names = [name for name, _ in model.named_parameters()]
    if not names:
        return "adapt a model that has parameters"
    shown = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
    return f"pass parameters='all' or a pattern of names; there are {shown}"


@contextmanager
def configured(model: nn.Module, chosen: Chosen) -> Iterator[None]:
    """Meanwhile the chosen parameters, and only these, have gradients."""
    flags = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    own = {id(parameter) for parameter in chosen.values()}
    try:
        for parameter, _ in flags:
            parameter.requires_grad_(id(parameter) in own)
        yield
    finally:
        for parameter, flag in flags:
            parameter.requires_grad_(flag)
