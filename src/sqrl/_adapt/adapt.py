"""adapt(): a model and unlabelled batches in, an adapted copy out."""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import nn

from sqrl._adapt.adapted import Adapted
from sqrl._adapt.batches import Batches
from sqrl._adapt.objective import Objective, Statistics
from sqrl._adapt.offline import adapt_offline, known_length
from sqrl._adapt.online import adapt_online
from sqrl._adapt.runner import Forward
from sqrl._adapt.setup import Options, Work, name_of, prepared
from sqrl._adapt.trace import Record, Trace
from sqrl._progress import Track
from sqrl.errors import AdaptError, AdaptWarning
from sqrl.report._wording import counted

Mode = Literal["offline", "online", "episodic"]


def adapt(  # noqa: PLR0913  (each is a choice of its own)
    model: nn.Module,
    batches: Iterable[Any],
    objective: Objective,
    *,
    parameters: str | Sequence[str] | None = None,
    statistics: Statistics | None = None,
    mode: Mode = "offline",
    epochs: int | None = None,
    lr: float | None = None,
    guard: Any = True,
    trust_rules: bool = False,
    patience: int = 3,
    anchor: float = 0.0,
    seed: int = 0,
    forward: Forward | None = None,
    track: Track | None = None,
    progress: Track | bool | None = None,
) -> Adapted:
    """A copy of the model, adapted to unlabelled batches so that the objective falls.

    The model itself, its buffers and its mode stay as they are, and so does torch's random state.

    - parameters: "norm" (those of normalisation layers, the default), "all", or patterns of names.
    - statistics: of BatchNorm layers: "frozen" as trained; "adapted", each batch's own during steps
      while the running ones follow; "recomputed" from all batches beforehand. The objective's
      choice unless given.
    - mode: "offline", `epochs` passes over all batches; "online", one pass over a stream with
      `epochs` steps (1) a batch, after which it is predicted; "episodic", the same from the source
      each time. The predictions are in `outputs`, so a stream has to fit into memory.
    - epochs, lr: the objective's own unless given; 60 and 0.02 for rules.
    - guard: True measures each epoch by the objective's own rules, on batches not used for its
      steps, and keeps what it led to only if they are broken less than ever before, by a ranking
      that the rules do not say is worse; "step" measures each step too; a RuleLoss measures by
      other rules; False keeps whatever comes.
    - trust_rules: under a guard rules are left out whose columns have drifted or that held-out rows
      broke by their true labels, bounds move with the balance of classes, and nothing is done where
      too little is left, or too few rows are there to tell. True warns and uses all rules.
    - patience: after so many epochs in a row that were not kept all is rolled back to what was, and
      the learning rate is halved. Also how many steps in a row may not be finite.
    - anchor: the weight of the distance from the source's predictions, added to the objective.
    - forward: a function (model, batch) -> output, for batches that are no tensors.
    - track: a function (label, done, total) called with how far the work is.
    - progress: what `track` was once called.

    Steps to numbers that are not finite, or to a loss 1,000 times the source's, are undone, and an
    AdaptWarning says so.

    >>> class Size(Objective):
    ...     def forward(self, batch, out, context=None):
    ...         return out.square().mean()
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
    >>> adapted = adapt(model, [torch.randn(8, 2)], Size(), guard=False, epochs=3)
    >>> adapted.changed
    ('1.weight', '1.bias')
    """
    options = Options(
        parameters=parameters,
        statistics=statistics,
        mode=mode,
        epochs=epochs,
        lr=lr,
        guard=guard,
        trust_rules=trust_rules,
        patience=patience,
        anchor=anchor,
        seed=seed,
        forward=forward,
    )
    _check_batches(batches)
    if progress is not None:
        warnings.warn("'progress' is called 'track' now.", DeprecationWarning, stacklevel=2)
        track = track or (progress if callable(progress) else None)
    with _own_random(seed), prepared(model, objective, options, track) as work:
        outputs = _run(work, _from_start(batches))
    warning = _finish(work)
    if warning:
        warnings.warn(warning, AdaptWarning, stacklevel=2)
    return _make(work, outputs)


def adapt_stream(
    model: nn.Module,
    batches: Iterable[Any],
    objective: Objective,
    *,
    mode: Literal["online", "episodic"] = "online",
    **options: Any,
) -> Iterator[tuple[Any, Record]]:
    """The prediction and the record of each batch as it comes: for streams without end.

    Takes the options of `adapt`; holds two batches and no outputs.

    >>> class Size(Objective):
    ...     def forward(self, batch, out, context=None):
    ...         return out.square().mean()
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
    >>> for out, record in adapt_stream(model, [torch.randn(8, 2)], Size()):
    ...     print(record.number, record.n_steps, tuple(out.shape))
    1 1 (8, 2)
    """
    _check_batches(batches)
    with prepared(model, objective, Options(mode=mode, **options), None) as work:
        said = 0
        for out, record in adapt_online(work, _from_start(batches)):
            for alarm in list(work.diary.alarms)[said:]:
                warnings.warn(alarm, AdaptWarning, stacklevel=2)
            said = len(work.diary.alarms)
            yield out, record


def _run(work: Work, batches: Iterable[Any]) -> list[Any] | None:
    if work.options.mode == "offline":
        adapt_offline(work, batches)
        return None
    outputs = []
    for out, record in adapt_online(work, batches):
        outputs.append(out)
        work.diary.records.append(record)
        total = max(record.number, known_length(batches) or 0)
        work.diary.track("adapt", record.number, total)
    _say_why(work)
    return outputs


def _say_why(work: Work) -> None:
    """Sum up why mini-batches of a stream were not learned from; warn where that is all of them."""
    reasons = Counter(record.why for record in work.diary.records if record.why)
    for why, n in reasons.items():
        said = f"{counted(n, 'mini-batch', 'mini-batches')}: {why}"
        if n == len(work.diary.records):
            work.diary.alarm(said)
        else:
            work.diary.note(said)


def _finish(work: Work) -> str:
    """Note what went wrong, and give it as a warning."""
    for term in work.objective.modules():  # those within others too
        for note in getattr(term, "notes", ()):  # such as rules that have no gradient
            work.diary.note(str(note))
        left_out: dict[str, str] = getattr(term, "left_out", {})
        for text, why in list(left_out.items())[:1]:
            rules = counted(len(left_out), "rule")
            work.diary.note(f"{rules} had no part, such as {text!r}: {why}.")
    steps, parts = work.steps, list(work.diary.alarms)
    if steps.undone:
        parts.append(
            f"{counted(steps.undone, 'step')} led to numbers that are not finite, or to a loss that"
            " exploded, and had to be undone; what is returned is the last good state. A smaller"
            " lr may help."
        )
    if steps.left_out:
        parts.append(
            f"{counted(steps.left_out, 'mini-batch', 'mini-batches')} had to be left out, for on"
            " them the model as it came gives numbers that are not finite."
        )
    for part in parts:
        work.diary.note(part)
    return " ".join(parts)


def _make(work: Work, outputs: list[Any] | None) -> Adapted:
    diary = work.diary
    trace = Trace(
        mode=work.options.mode,
        objective=name_of(work.objective),
        n_tensors=len(work.chosen),
        n_values=sum(parameter.numel() for parameter in work.chosen.values()),
        records=tuple(diary.records),
        notes=diary.notes,
        ending=diary.ending,
        result=diary.result,
    )
    return Adapted(
        work.runner.model,
        work.steps.source.tensors,
        trace,
        objective=work.objective,
        forward=work.options.forward,
        outputs=outputs,
    )


@contextmanager
def _own_random(seed: int) -> Iterator[None]:
    """Meanwhile torch draws by the seed and makes gradients; afterwards all is as it was."""
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices), torch.inference_mode(False):
        torch.manual_seed(seed)
        yield


def _from_start(batches: Iterable[Any]) -> Iterable[Any]:
    return batches.from_start() if isinstance(batches, Batches) else batches


def _check_batches(batches: Any) -> None:
    if isinstance(batches, torch.Tensor) or not isinstance(batches, Iterable):
        raise AdaptError(
            f"The batches are a {type(batches).__name__}, not a loader.",
            fix="give a list of tensors, a DataLoader or sqrl.Batches(inputs, table, size=...)",
        )
