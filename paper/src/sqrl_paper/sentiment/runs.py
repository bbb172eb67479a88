"""The jobs of the sentiment bench: look at the source, try a choice, measure a method."""

from typing import Any

from torch import Tensor

from sqrl_paper.jobs import Look, Trial, Try
from sqrl_paper.place import Place
from sqrl_paper.sentiment.as_seen import Seen, see
from sqrl_paper.sentiment.data import prepared
from sqrl_paper.sentiment.drifts import CLEAN
from sqrl_paper.sentiment.methods import Choice, Method, make_objective, method_of
from sqrl_paper.sentiment.scores import count_heads, score, score_ways, shares_of
from sqrl_paper.timed_adapt import adapt_told

Json = dict[str, Any]
FEW_EPOCHS = 2  # of a quick run


def prepare_or_try(place: Place, job: Look | Try[Choice]) -> Json:
    """What either job gives: some models may be trained while others are tuned with."""
    return describe_source(place, job) if isinstance(job, Look) else try_choice(place, job)


def describe_source(place: Place, job: Look) -> Json:
    """Sizes, counts of rules, how the model was trained, and what ways to take a label break."""
    data, seen = prepared(place, job.seed), see(place, job.seed, "test", CLEAN)
    provenance, parts = data.rules.provenance, data.known.parts
    return {
        "sentences": {name: len(getattr(parts, name)) for name in ("train", "valid", "test")},
        "counts": {} if provenance is None else provenance.counts,
        "rules": len(data.rules),
        "heads": count_heads(seen),
        "judged_sentences": int(seen.bodies.any(0).sum()),
        "losses": list(data.losses),
        "truly": shares_of(seen.phrases.labels),
        "ways": score_ways(seen),
    }


def try_choice(place: Place, job: Try[Choice]) -> Json:
    """How good a choice is on valid sentences, by their labels."""
    seen = see(place, job.seed, "valid", CLEAN)
    logits, told = run(place, seen, method_of(job.method), job.choice)
    return score(seen, logits) | told


def measure_method(place: Place, job: Trial[Choice]) -> Json:
    """How good a method is on test sentences; labels are for these figures alone."""
    seen = see(place, job.seed, "test", job.condition)
    logits, told = run(place, seen, method_of(job.method), job.choice)
    return score(seen, logits) | told


def run(place: Place, seen: Seen, method: Method, choice: Choice) -> tuple[Tensor, Json]:
    """The logits of all sentences after adaptation, and what is to be told of it."""
    epochs = method.epochs
    if place.quick:
        epochs = FEW_EPOCHS if epochs is None else min(epochs, FEW_EPOCHS)
    adapted, told = adapt_told(
        seen.model(method.reads),
        seen.batches(method.reads, method.n_batches),
        make_objective(method, seen.data, choice),
        parameters=method.parameters,
        epochs=epochs,
        lr=choice.lr,
        guard=method.guard,
        trust_rules=method.trust_rules,
        seed=seen.data.seed,
    )
    logits: Tensor = adapted.predict(seen.whole(method.reads)).detach()
    return logits, told
