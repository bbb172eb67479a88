"""The paper's Tables 1 and 2 over all tasks, its figures beside those of `sqrl bench`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from measure import Json
from sqrl_paper.cardio import pages as cardio_pages
from sqrl_paper.cardio.released import RULES
from sqrl_paper.cardio.summary import summarise_rows
from sqrl_paper.detection import pages as detection_pages
from sqrl_paper.imagenet_x import all_crops
from sqrl_paper.imagenet_x import pages as imagenet_x_pages
from sqrl_paper.imagenet_x.summary import summarise_all_crops
from sqrl_paper.imputation import pages as imputation_pages
from sqrl_paper.results import show_spread, spread
from sqrl_paper.sentiment import pages as sentiment_pages

Pair = tuple[str, str]  # the paper's figure and ours, or a metric and a reduction
Named = tuple[str, str, str]  # what was done, its metric and its reduction


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a task says in the two tables.

    A figure of Table 2 is that of the task's metric and by how many % fewer rules are broken.
    """

    model: Pair
    rules: Pair
    selected: Pair
    broken: Pair  # rules, for each sample
    truly_broken: str  # by true labels
    metric: str
    source: Pair
    paper_method: Pair  # the metric and the reduction that the paper reports
    paper_loss: Sequence[Named]  # what its loss gives here, by setting; none where it was not run
    library: Named  # what our loss gives
    simple: Sequence[Named]  # simple baselines


def row_of(task: str, result: Json) -> Row:
    """The row of a task."""
    return ROWS[task](result)


def _cardio(result: Json) -> Row:
    sources = list(result["sources"].values())
    broken = {
        way: fmean(one["violations"][way] * one["rules"] for one in sources)
        for way in ("likeliest", "true")
    }
    found = result["summary"]["paper_setting"]
    clean = result["summary"]["drifts"]["no drift"]
    ours = clean["ours"]
    less = 100 * (1 - ours["likeliest_broken"]["mean"] / clean["none"]["likeliest_broken"]["mean"])
    counts, paper = cardio_pages.PAPER_COUNTS, cardio_pages.PAPER
    replica, bias = found["paper's loss, lr 0.005"], found["one bias"]
    return Row(
        model=("FT-Transformer", "FT-Transformer"),
        rules=(counts["total"], f"{sources[0]['counts']['candidates']:,}"),
        selected=(counts["selected"], f"{sources[0]['rules']}"),
        broken=(counts["broken"], f"{broken['likeliest']:.1f}"),
        truly_broken=f"{broken['true']:.1f}",
        metric="AUC",
        source=(paper["none"][0], show_spread(found["none"]["auc"], 2, factor=100)),
        paper_method=paper["paper's loss, lr 0.005"],
        paper_loss=[("our setting", *_figures(replica, "auc", 2, 100)), *_released(result)],
        library=("ours", show_spread(ours["auc"], 2, factor=100), f"{less:.1f}"),
        simple=[
            ("one bias", *_figures(bias, "auc", 2, 100)),
            ("labels drawn", show_spread(found["none"]["auc"], 2, factor=100), _drawn(sources)),
        ],
    )


def _released(result: Json) -> list[Named]:
    """The paper's loss as its authors' code sets it, if that was run."""
    if "released" not in result:
        return []
    return [
        ("released setting", *_figures(summarise_rows(result)["released"][RULES], "auc", 2, 100))
    ]


def _drawn(sources: list[Json]) -> str:
    """By how many % fewer rules labels break that are drawn by the probabilities."""
    ways = [one["violations"] for one in sources]
    return show_spread(spread([100 * (1 - one["sampled"] / one["likeliest"]) for one in ways]), 1)


def _imagenet_x(result: Json) -> Row:
    sources = list(result["sources"].values())
    found = result["summary"]["conditions"]["clean"]
    counts, paper = imagenet_x_pages.PAPER_COUNTS, imagenet_x_pages.PAPER
    return Row(
        model=("ResNet-34", "EfficientNet-Lite0"),
        rules=(counts["total"], f"{sources[0]['counts']['candidates']:,}"),
        selected=(counts["selected"], f"{fmean(one['rules'] for one in sources):.0f}"),
        broken=(counts["broken"], f"{found['none']['n_likeliest']['mean']:.1f}"),
        truly_broken=f"{fmean(one['truth']['n_likeliest'] for one in sources):.1f}",
        metric="accuracy",
        source=(paper["none"][0], show_spread(found["none"]["accuracy"], 1, factor=100)),
        paper_method=paper["rules"],
        paper_loss=_on_all_crops(result),
        library=("rules alone", *_figures(found["rules"], "accuracy", 1, 100)),
        simple=[("class rates", *_figures(found["class rates"], "accuracy", 1, 100))],
    )


def _on_all_crops(result: Json) -> list[Named]:
    """The paper's loss and its authors' setting on all crops, if that was run."""
    if "all_crops" not in result:
        return []
    found = summarise_all_crops(result)
    source = show_spread(found[all_crops.NONE]["accuracy"], 1, factor=100)
    return [
        (f"all crops (source {source}), its text's", *_figures(text, "accuracy", 1, 100))
        if name == all_crops.TEXT
        else (
            "released setting",
            *_figures(text | {"reduced": text["released"]}, "accuracy", 1, 100),
        )
        for name, text in found.items()
        if name in (all_crops.TEXT, all_crops.RELEASED)
    ]


def _detection(result: Json) -> Row:
    sources, rain = list(result["sources"].values()), "Cityscapes, rain"
    found = result["summary"][rain]
    paper = detection_pages.PAPER_FIGURES[rain]
    each = detection_pages.PAPER_COUNTS[rain][-1]
    return Row(
        model=("EfficientPS", "a small one-stage detector"),
        rules=("252", f"{sources[0]['rules']}"),
        selected=("252", f"{sources[0]['rules']}"),
        broken=(each, f"{found['none']['violations']['mean']:.1f}"),
        truly_broken=f"{fmean(one['truth'][rain]['violations'] for one in sources):.1f}",
        metric="mAP, rain",
        source=(paper["none"][0], show_spread(found["none"]["map"], 1, factor=100)),
        paper_method=paper["rules, paper's loss"],
        paper_loss=[("tuned", *_figures(found["rules, paper's loss"], "map", 1, 100))],
        library=("rules, by finding less", *_figures(found["rules"], "map", 1, 100)),
        simple=[("drop", *_figures(found["drop"], "map", 1, 100))],
    )


def _imputation(result: Json) -> Row:
    sources, found = result["sources"], result["summary"]
    n_patients = {seed: one["patients"]["test"] for seed, one in sources.items()}
    each = fmean(
        one["plain"]["violations"] / n_patients[seed]
        for seed, one in result["measured"]["none"].items()
    )
    truth = 100 * fmean(one["truth"]["share"] for one in sources.values())
    ours = found["rules + reconstruction"]["plain"]
    counts, paper = imputation_pages.PAPER_COUNTS, imputation_pages.PAPER_FIGURES
    return Row(
        model=("SAITS", "SAITS"),
        rules=(counts["rules"], counts["rules"]),
        selected=(counts["rules"], f"{len(next(iter(sources.values()))['rules'])}"),
        broken=(counts["each"], f"{each:.1f}"),
        truly_broken=f"{truth:.1f} % of values",
        metric="MSE x 1e-3",
        source=(paper["none"][0], show_spread(found["none"]["plain"]["range_mse"], 2, factor=1e3)),
        paper_method=paper["rules, paper's loss"],
        paper_loss=[
            ("tuned", *_figures(found["rules, paper's loss"]["plain"], "range_mse", 2, 1e3))
        ],
        library=("rules + reconstruction", *_figures(ours, "range_mse", 2, 1e3)),
        simple=[("clip", *_figures(found["none"]["clipped"], "range_mse", 2, 1e3))],
    )


def _sentiment(result: Json) -> Row:
    source = next(iter(result["sources"].values()))
    found = result["summary"]["conditions"]["no drift"]
    truth = source["ways"]["true"]["violations"] / source["sentences"]["test"]
    counts, paper = sentiment_pages.PAPER_COUNTS, sentiment_pages.PAPER_FIGURES
    return Row(
        model=("FinBERT", "MiniLM"),
        rules=(counts["total"], f"{source['counts']['candidates']:,}"),
        selected=(counts["selected"], f"{source['rules']}"),
        broken=(counts["each"], f"{found['none']['per_sample']['mean']:.2f}"),
        truly_broken=f"{truth:.2f}",
        metric="accuracy",
        source=(paper["none"][0], show_spread(found["none"]["accuracy"], 1, factor=100)),
        paper_method=paper["paper's loss"],
        paper_loss=[("tuned", *_figures(found["paper's loss"], "accuracy", 1, 100))],
        library=("ours", *_figures(found["ours"], "accuracy", 1, 100)),
        simple=[("mask", *_figures(found["mask"], "accuracy", 1, 100))],
    )


def _figures(one: Json, figure: str, digits: int, factor: float) -> Pair:
    """The metric, and how many % fewer rules are broken."""
    return show_spread(one[figure], digits, factor=factor), show_spread(one["reduced"], 1)


ROWS: dict[str, Callable[[Json], Row]] = {
    "cardio": _cardio,
    "imagenet-x": _imagenet_x,
    "detection": _detection,
    "imputation": _imputation,
    "sentiment": _sentiment,
}
