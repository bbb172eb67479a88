"""The example of the sentiment bench: a rule, a sentence that breaks it, and what becomes of it."""

from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqrl_paper.jobs import Trial
from sqrl_paper.logic_example import AFTER, BEFORE, plain
from sqrl_paper.place import Place
from sqrl_paper.sentiment.as_seen import Seen, see
from sqrl_paper.sentiment.methods import Choice, method_of
from sqrl_paper.sentiment.phrasebank import CLASSES
from sqrl_paper.sentiment.runs import run

Json = dict[str, Any]
Floats = NDArray[np.float64]
SIZE = (8.0, 3.6)  # inches
WIDTH = 100  # characters of a line in the figure


def make_example(place: Place, job: Trial[Choice]) -> Json:
    """The pair of a rule and a sentence that is mended most, with probabilities before and after.

    Where there is one, the sentiment that the rule implies is the true one: the example is a good
    one, and so not a typical one. How many predictions became right and wrong is told beside it.
    """
    seen = see(place, job.seed, "test", job.condition)
    adapted = run(place, seen, method_of(job.method), job.choice)[0]
    before, after = (logits.double().softmax(-1).numpy() for logits in (seen.logits, adapted))
    rule, row = mended_most(seen, before, after)
    rules = seen.data.rules
    named = [name for name in rules[[rule]].columns() if name in seen.features]
    return {
        "method": job.method,
        "rule": rules[rule].short_text,
        "words": len(seen.phrases.texts[row].split()),  # the sentence itself is not ours to publish
        "features": {name: float(seen.features[name].values[row]) for name in named},
        "truth": seen.phrases.sentiments[row],
        "before": before[row].tolist(),
        "after": after[row].tolist(),
        "changed": count_changes(before.argmax(1), after.argmax(1), seen.phrases.labels),
    }


def mended_most(seen: Seen, before: Floats, after: Floats) -> tuple[int, int]:
    """A rule and a sentence: the rule is broken before, then not, and right if it can be.

    Among such pairs the one whose chance grows most; where no rule is mended, one that is broken.
    """
    heads = seen.data.heads[:, None]
    is_broken, is_kept = before.argmax(1) != heads, after.argmax(1) == heads
    is_mended = is_broken & is_kept
    grown = (after - before)[:, seen.data.heads].T
    worth = grown + 4 * is_broken + 2 * is_mended + 2 * (is_mended & (heads == seen.phrases.labels))
    rule, row = divmod(int(np.where(seen.bodies, worth, -np.inf).argmax()), len(seen.phrases))
    return rule, row


def count_changes(
    before: NDArray[np.int64], after: NDArray[np.int64], truth: NDArray[np.int64]
) -> Json:
    """How many predictions became right, and how many wrong.

    >>> count_changes(np.array([0, 1, 1]), np.array([1, 1, 0]), np.array([1, 1, 1]))
    {'right': 1, 'wrong': 1}
    """
    was_right, is_right = before == truth, after == truth
    return {
        "right": int((is_right & ~was_right).sum()),
        "wrong": int((was_right & ~is_right).sum()),
    }


def lines_of(told: Json) -> list[str]:
    """The rule, the sentence and what rules see of it, in lines."""
    seen = ", ".join(f"{name} = {value:.3g}" for name, value in told["features"].items())
    changed = told["changed"]
    return [
        *wrap(f"Rule: {told['rule']}", WIDTH),
        *wrap(
            f"A sentence of {told['words']} words: the rule sees {seen}. In truth it is "
            f"{told['truth']}.",
            WIDTH,
        ),
        f"By '{told['method']}' {changed['right']} predictions became right, "
        f"{changed['wrong']} wrong.",
    ]


def draw_example(told: Json, path: Path) -> None:
    """Write the figure: what is said above, and bars for the chance of each sentiment."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=150, layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(CLASSES))
    for way, colour, shift in (("before", BEFORE, -0.2), ("after", AFTER, 0.2)):
        axes.barh(places + shift, told[way], 0.36, color=colour, label=f"{way} adaptation")
    names = [f"{name} (true)" if name == told["truth"] else name for name in CLASSES]
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("predicted probability")
    axes.legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    text = "\n".join(plain(line) for line in lines_of(told))
    figure.suptitle(text, fontsize="small", x=0.02, ha="left")
    figure.savefig(path, metadata={"Software": None} if path.suffix == ".png" else {"Date": None})
