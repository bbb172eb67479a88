"""The part of docs/adapt-results.md that tells what guarded adaptation gains and harms."""

from collections.abc import Callable, Sequence
from textwrap import fill

import numpy as np

from harm_tables import BALANCES, FEEDS, OF_TABLE
from measure import Json
from sqrl_paper.table import markdown_table

FILE, OTHER_FILE = "harm.json", "harm_seed1.json"
LOOKED_FILE, UNSEEN_FILE = "harm_looked.json", "harm_unseen.json"  # tables of other_tables.py
HARM, WORST = -0.5, -1.5  # points of AUC or of accuracy
RETURN = 3  # mini-batches
GROUPS = {
    "what the model is fed is broken, the table is true": FEEDS,
    "the table drifts too, or rows are others": OF_TABLE,
    "the class balance is 5 % or 50 %": BALANCES,
    "nothing": ("none",),
}
VERSIONS = (("before", "before"), ("now", "now"))
ABOUT = """\
## What guarded adaptation gains, and how often it harms

`sqrl.adapt(model, batches, RuleLoss(rules, names))` with nothing chosen, compared with the source
by true labels, which nothing else sees: an MLP with LayerNorm, one with BatchNorm and a small
FT-Transformer; rules of F1 and the default ones; rows through `Batches`, DataLoaders of tuples and
of dicts, a list, and a model whose output has `.logits`, by turns. Cardio, PhysioNet's mortality,
scikit-learn's breast cancer and three made tables. A *harm* is a run that ends more than 0.5 points
of AUC or of accuracy below the source. *Before* is the version of the library before
[decision 35](decisions/0035-adapt-rule-by-rule.md), in the same runs. The runs of the first seed
were looked at while the guard was built, and its few thresholds chosen with them in view; another
seed has other splits, models, rules and made rows. Real tables that had no part in this stand
[below](#tables-that-nothing-was-built-on)."""


def harms(found: Sequence[Json]) -> list[Json]:
    """The runs that end below the source by more than HARM."""
    return [one for one in found if change(one) < HARM]


def change(one: Json) -> float:
    """The worse of what a run does to AUC and to accuracy, in points."""
    return float(min(one["auc_change"], one["accuracy_change"]))


def returned(streams: Sequence[Json]) -> list[float]:
    """Of each stream's last part: accuracy less the source's, after RETURN mini-batches."""
    made = []
    for one in streams:
        differences = np.subtract(one["adapted"], one["source"])
        made.append(float(differences[2 * len(differences) // 3 + RETURN :].mean()))
    return made


def bars(result: Json) -> list[list[str]]:
    """What was promised, measured, and whether it is met."""
    now, before = result["now"]["runs"], result["before"]["runs"]
    gains = [_mean(_of(some, FEEDS), key) for some in (before, now) for key in KEYS]
    online = [one for one in result["now"]["streams"] if one["mode"] == "online"]
    share = 100 * len(harms(now)) / len(now)
    worst, back = min(map(change, now)), min(returned(online))
    return [
        ["runs", "≥ 300", f"{len(now)}", _met(len(now) >= 300)],
        [
            "of these more than 0.5 points below the source",
            "≤ 1 %",
            f"{len(harms(now))} runs, {share:.1f} %",
            _met(share <= 1),
        ],
        ["the worst", "≥ -1.5 points", f"{worst:+.2f}", _met(worst >= WORST)],
        [
            "mean gain of AUC and accuracy where the feed is broken",
            f"≥ {gains[0]:+.2f}, {gains[1]:+.2f} (before)",
            f"{gains[2]:+.2f}, {gains[3]:+.2f}",
            _met(gains[2] >= gains[0] and gains[3] >= gains[1]),
        ],
        [
            "accuracy of a stream 3 mini-batches after a drift's end, less the source's, worst",
            "≥ -0.5 points",
            f"{back:+.2f}",
            _met(back >= HARM),
        ],
    ]


KEYS = ("auc_change", "accuracy_change")


def _met(is_met: bool) -> str:
    return "yes" if is_met else "**no**"


def _of(found: Sequence[Json], drifts: Sequence[str]) -> list[Json]:
    return [one for one in found if one["drift"] in drifts]


def _mean(found: Sequence[Json], key: str) -> float:
    return float(np.mean([one[key] for one in found]))


def _by_drift(result: Json) -> str:
    rows = []
    for what, drifts in GROUPS.items():
        for name, version in VERSIONS:
            some = _of(result[version]["runs"], drifts)
            rows.append(
                [
                    f"{what}, {name}",
                    str(len(some)),
                    *(f"{_mean(some, key):+.2f}" for key in KEYS),
                    str(len(harms(some))),
                    f"{min(map(change, some)):+.2f}",
                ]
            )
    header = ["what drifts", "runs", "AUC", "accuracy", "harmed", "worst of either"]
    return "\n".join(markdown_table(header, rows))


def _by(result: Json, key: str, title: str) -> str:
    rows = []
    for value in dict.fromkeys(one[key] for one in result["now"]["runs"]):
        cells = []
        for _, version in VERSIONS:
            some = [one for one in result[version]["runs"] if one[key] == value]
            cells += [f"{len(harms(some))} of {len(some)}"]
        rows.append([str(value), *cells])
    return "\n".join(markdown_table([title, "harmed before", "harmed now"], rows))


def _harmed(result: Json) -> str:
    rows = [
        [
            one["table"],
            one["model"],
            one["drift"],
            *(f"{one[key]:+.2f}" for key in KEYS),
            "yes" if one["warned"] else "no",
        ]
        for one in harms(result["now"]["runs"])
    ]
    header = ["harmed now", "model", "drift", "AUC", "accuracy", "warned"]
    return "\n".join(markdown_table(header, rows)) if rows else "No run was harmed."


def _baselines(result: Json) -> str:
    found = result["now"]["baselines"]
    tables = {one["table"] for one in found}
    own = [
        {**one, "method": "sqrl, rules of F1"}
        for one in result["now"]["runs"]
        if one["table"] in tables and one["model"] == "LayerNorm" and one["rules"] == "logic"
    ]
    rows = []
    for method in dict.fromkeys(one["method"] for one in [*own, *found]):
        every = [one for one in [*own, *found] if one["method"] == method]
        broken, whole = _of(every, FEEDS), _of(every, ("none",))
        rows.append(
            [
                method,
                *(f"{_mean(broken, key):+.2f}" for key in KEYS),
                f"{len(harms(broken))} of {len(broken)}",
                *(f"{_mean(whole, key):+.2f}" for key in KEYS),
            ]
        )
    header = ["", "AUC", "accuracy", "harmed", "AUC, no drift", "accuracy, no drift"]
    listed = " and ".join(sorted(tables))
    return (
        f"### Beside simpler things\n\nBroken feeds of {listed}, the MLP with LayerNorm. *True"
        " column fed* needs to know that the feed is broken, and to have the column. The logistic"
        " regression is of the table's columns, fitted to the training labels; *inputs clipped* is"
        " to the range of 98 % of training.\n\n" + "\n".join(markdown_table(header, rows))
    )


def _streams(result: Json) -> str:
    parts: Sequence[tuple[str, Callable[[int], slice]]] = (
        ("before", lambda n: slice(0, n)),
        ("during", lambda n: slice(n, 2 * n)),
        ("after", lambda n: slice(2 * n, 3 * n)),
    )
    rows = []
    for name, version in VERSIONS:
        streams = result[version]["streams"]
        for mode in dict.fromkeys(one["mode"] for one in streams):
            for drift in dict.fromkeys(one["drift"] for one in streams):
                some = [
                    np.subtract(one["adapted"], one["source"])
                    for one in streams
                    if (one["mode"], one["drift"]) == (mode, drift)
                ]
                n = len(some[0]) // 3
                cells = [f"{np.mean([one[at(n)] for one in some]):+.2f}" for _, at in parts]
                rows.append([f"{mode}, {drift}, {name}", *cells])
    header = ["accuracy less the source's", *(f"{part} the drift" for part, _ in parts)]
    return (
        "### Streams\n\nEight mini-batches of 512 rows as before, eight drifted, eight as before;"
        " `online` makes one step for each, `episodic` ten from the source. Means over the"
        " tables.\n\n" + "\n".join(markdown_table(header, rows))
    )


def _other_seed(other: Json) -> str:
    """The same runs with another seed, in a sentence."""
    found = other["now"]["runs"]
    gains = [_mean(_of(found, FEEDS), key) for key in KEYS]
    return (
        f"Seed {other['seed']}, this version: {len(harms(found))} of {len(found)} runs harmed, the"
        f" worst {min(map(change, found)):+.2f} points; where the feed is broken {gains[0]:+.2f}"
        f" AUC and {gains[1]:+.2f} accuracy on average (`{OTHER_FILE}`)."
    )


def _tables_not_built_on(looked: Json, unseen: Json) -> str:
    """Real tables of others: those that were looked at in the end, and those that were not."""
    rows = []
    for result in (looked, unseen):
        runs = result["now"]["runs"]
        for name in [*dict.fromkeys(one["table"] for one in runs), "all of these"]:
            some = [one for one in runs if name in (one["table"], "all of these")]
            feeds = _of(some, FEEDS)
            rows.append(
                [
                    name,
                    f"{len(harms(some))} of {len(some)}",
                    f"{min(map(change, some)):+.2f}",
                    *(f"{_mean(feeds, key):+.2f}" for key in KEYS),
                ]
            )
    late, later = _tables(looked, "before"), _tables(looked, "then")
    first = [name for name in _tables(looked, "now") if name not in (*late, *later)]
    found, seen = unseen["now"]["runs"], looked["now"]["runs"]
    share = 100 * len(harms(found)) / len(found)
    paid = sum(max(one[key] for key in KEYS) > -change(one) for one in harms(found))
    header = ["table", "harmed", "worst of either", "AUC, broken feed", "accuracy, broken feed"]
    listed = "\n".join(markdown_table(header, rows))
    about = (
        "The same runs on real tables from other packages, as `benchmarks/other_tables.py` writes"
        " them. Three times tables were measured that nothing had been built on, and what did harm"
        f" there was mended. {', '.join(first)} showed that a class balance that had not changed"
        " was taken for another one, and that what the source knows beyond the rules was lost. On"
        f" {', '.join(late)}, measured once after that, {_harmed_once(looked, 'before')}: what"
        " rules said of each row was too certain, and chance was not asked. On"
        f" {', '.join(later)}, measured once after that, {_harmed_once(looked, 'then')}: rows were"
        " ranked anew where nothing but log loss was to be gained. Now"
        f" {len(harms(seen))} of {len(seen)} runs on all of these are harmed (every second run was"
        f" made: `--every 2`). {', '.join(_tables(unseen, 'now'))} were measured once, in the end,"
        f" and nothing was changed afterwards: {len(harms(found))} of {len(found)} runs are harmed"
        f" ({share:.1f} %; the aim is 1 %), the worst by {-min(map(change, found)):.2f} points (the"
        f" aim is {-WORST}). {_where_worst(found)}"
    )
    if paid:
        about += f" In {paid} of these either AUC or accuracy rose by more than the other fell."
    return "\n\n".join(
        ["### Tables that nothing was built on", fill(about, 100), listed, _harmed(unseen)]
    )


def _where_worst(found: Sequence[Json]) -> str:
    """The table of the worst run, and how good the source is there when nothing drifts."""
    worst = min(found, key=change)
    table, drift = worst["table"], worst["drift"]
    whole = [one["auc"] for one in found if (one["table"], one["drift"]) == (table, "none")]
    return (
        f"That was on {table} ({drift}), where the source's AUC is {max(whole):.1f} when nothing"
        " drifts."
    )


def _tables(result: Json, version: str) -> list[str]:
    """The tables that a version was measured on."""
    return list(dict.fromkeys(one["table"] for one in result[version]["runs"]))


def _harmed_once(result: Json, version: str) -> str:
    """How many runs of an earlier version were harmed, and how much the worst."""
    runs = result[version]["runs"]
    worst = -min(map(change, runs))
    return f"{len(harms(runs))} of {len(runs)} runs were harmed, the worst by {worst:.2f} points"


def render_harm(
    result: Json, other: Json | None, looked: Json | None = None, unseen: Json | None = None
) -> str:
    """The section; `other` is another seed's, `looked` and `unseen` those of other tables."""
    promised = "\n".join(markdown_table(["", "promised", "measured", "met"], bars(result)))
    parts = [
        ABOUT,
        promised,
        *([] if other is None else [_other_seed(other)]),
        _by_drift(result),
        _by(result, "loader", "loader"),
        _by(result, "table", "table"),
        _by(result, "model", "model"),
        _harmed(result),
        *([] if looked is None or unseen is None else [_tables_not_built_on(looked, unseen)]),
        _baselines(result),
        _streams(result),
        _source(result),
    ]
    return "\n\n".join(parts)


def _source(result: Json) -> str:
    machine, versions = result["machine"], result["versions"]
    return (
        f"- `{FILE}`: {result['made']}, commit {result['now']['library']['commit'][:12]}, before it"
        f" {result['before']['library']['commit'][:12]}, {machine['processor']}, 1 thread, seed"
        f" {result['seed']}; torch {versions['torch']}. `--as before` measures another version of"
        " the library that is first on PYTHONPATH."
    )
