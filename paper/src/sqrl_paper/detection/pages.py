"""The tables of the detection bench, from its results alone."""

from statistics import fmean
from typing import Any

from sqrl_paper.detection.data import CITY, KITTI, RAIN
from sqrl_paper.detection.methods import NONE, PAPER, RULES, WHOLE
from sqrl_paper.detection.task import LEAST_SCORE
from sqrl_paper.results import show_spread
from sqrl_paper.table import Sheet

Json = dict[str, Any]
PAPER_COUNTS = {  # Tables 1 and 4: images, violations, violations an image
    KITTI: ("200", "1,561", "7.80"),
    CITY: ("500", "7,673", "15.34"),
    RAIN: ("500", "8,108", "16.21"),
}
PAPER_FIGURES = {  # Tables 2 and 5: mAP and % reduced, by the name of the method here
    KITTI: {
        "none": ("44.23", "-"),
        "BN": ("44.23", "0.0"),
        "Tent": ("44.84", "0.2"),
        "RPL": ("44.26", "0.4"),
        "CPL": ("44.62", "-3.7"),
        PAPER.name: ("44.27", "0.1"),
    },
    CITY: {
        "none": ("56.15", "-"),
        "BN": ("56.15", "0.0"),
        "Tent": ("56.24", "0.0"),
        "RPL": ("56.67", "-0.7"),
        "CPL": ("57.13", "0.2"),
        PAPER.name: ("56.91", "6.1"),
    },
    RAIN: {
        "none": ("25.49", "-"),
        "BN": ("25.49", "0.0"),
        "Tent": ("25.52", "-1.4"),
        "RPL": ("25.70", "0.2"),
        "CPL": ("24.95", "-0.1"),
        PAPER.name: ("27.01", "31.4"),
        WHOLE.name: ("26.87", "31.3"),
    },
}
SHORT = {PAPER.name: "paper's loss"}  # for want of width
TITLES = {
    RAIN: "Table 2. Cityscapes in synthetic rain",
    KITTI: "Table 5. KITTI",
    CITY: "Table 5. Cityscapes as it is",
}


def sheets_of(result: Json) -> list[Sheet]:
    """All tables, in the order of the paper."""
    return [
        _rules(result),
        *([_rule_sets(result)] if "rule_sets" in result else []),
        *(_methods(result, condition) for condition in (RAIN, KITTI, CITY)),
        *([_rule_rows(result)] if "rule_rows" in result else []),
        _ablation(result),
    ]


def _rules(result: Json) -> Sheet:
    sources = list(result["sources"].values())
    rows = []
    for name, (n_images, total, each) in PAPER_COUNTS.items():
        truth = {
            figure: fmean(one["truth"][name][figure] for one in sources)
            for figure in ("violations", "share", "boxes")
        }
        found = result["summary"][name][NONE.name]
        n = sources[0]["images"][name]
        rows += [
            (f"{name}: images", n_images, f"{n:,}", ""),
            ("  violations in all", total, f"{n * found['violations']['mean']:,.0f}", ""),
            (
                "  violations an image",
                each,
                f"{found['violations']['mean']:.2f}",
                f"{truth['violations']:.2f}",
            ),
            ("  boxes an image", "", f"{found['boxes']['mean']:.2f}", f"{truth['boxes']:.2f}"),
            (
                "  % of pairs broken",
                "",
                f"{100 * found['share']['mean']:.2f}",
                f"{100 * truth['share']:.2f}",
            ),
        ]
    return Sheet(
        title=f"Tables 1 and 4. What boxes with a score of {LEAST_SCORE:g} or more break of "
        f"{sources[0]['rules']} rules, and what true boxes break",
        header=("", "paper", "ours", "true boxes"),
        rows=rows,
        note="Differs from the paper: a small detector of our own, trained on "
        f"{sources[0]['images']['train']} images, for EfficientPS; rules from all "
        f"{sources[0]['boxes']:,} boxes of KITTI's train frames; our own rain. A pair is a box "
        "and a rule that applies to it: 36 a box.",
    )


def _rule_sets(result: Json) -> Sheet:
    sets = result["rule_sets"]
    rows = [
        (
            name,
            f"{one['rules']}",
            " ".join(f"{kind.removeprefix('type = ')} {n}" for kind, n in one["classes"].items()),
            *(f"{100 * one['truth'][condition]['share']:.2f}" for condition in (KITTI, CITY)),
        )
        for name, one in sets.items()
    ]
    first = next(iter(sets.values()))
    return Sheet(
        title="Rules that hold from drive to drive: how many, of which classes, and % of pairs "
        f"that true boxes break on {first['images'][KITTI]} images of KITTI and "
        f"{first['images'][CITY]} of Cityscapes",
        header=("rules", "kept", "of each class", KITTI, "City"),
        rows=[(name, n, _short(classes), *shares) for name, n, classes, *shares in rows],
        note="Not in the paper. Classes by their first two letters (Tr is Truck, then Tram). Kept "
        "are rules of which drives show that they hold on such a share of their boxes (confidence "
        "0.95, by the boxes and by their spread between drives). "
        "KITTI's object labels name no drive, and their frames are in random order: the "
        f"{first['boxes_of_drives']:,} boxes on {len(first['drives'])} drives of its tracking "
        "labels are held out in their place; some may be drives of the object labels too."
        + ("" if "rule_rows" in result else " Methods that follow these rules were not run."),
    )


def _short(classes: str) -> str:
    """The classes by their first letters, for want of width.

    >>> _short("Car 36 Person_sitting 2")
    'Ca36 Si2'
    """
    words = classes.replace("Person_sitting", "Sitting").split()
    pairs = zip(words[::2], words[1::2], strict=True)
    return " ".join(f"{kind[:2]}{n}" for kind, n in pairs)


def _rule_rows(result: Json) -> Sheet:
    rows = [
        (
            rules if name == NONE.name else "",
            name,
            show_spread(one["map"], 1, factor=100),
            show_spread(one["share_reduced"], 1),
            f"{100 * one['share']['mean']:.1f}",
            f"{one['boxes']['mean']:.1f}",
            f"{100 * one['recall']['mean']:.1f}",
        )
        for rules, found in result["rule_rows"].items()
        for name, one in found["summary"].items()
    ]
    return Sheet(
        title="Rules that hold from drive to drive, in rain: mAP, % lower share of pairs broken, "
        "that share in %, boxes an image, recall",
        header=("rules", "method", "mAP", "lower", "broken", "boxes", "recall"),
        rows=rows,
        note="Not in the paper. Each method is tuned anew for the rules it follows, as in the "
        "other tables, and violations are of these rules alone.",
    )


def _methods(result: Json, condition: str) -> Sheet:
    figures = result["summary"][condition]
    has_recall = all("recall" in one for one in figures.values())
    rows = [
        (
            SHORT.get(name, name),
            *PAPER_FIGURES[condition].get(name, ("", "")),
            show_spread(one["map"], 1, factor=100),
            show_spread(one["reduced"], 1),
            f"{100 * one['share']['mean']:.1f}",
            f"{one['boxes']['mean']:.1f}",
            f"{100 * one['recall' if has_recall else 'map50']['mean']:.1f}",
        )
        for name, one in figures.items()
    ]
    last = "recall" if has_recall else "mAP at an overlap of 0.5"
    missing = "" if has_recall else "; recall was not recorded"
    return Sheet(
        title=f"{TITLES[condition]}: mAP and % fewer violations, the paper's and ours; % of "
        f"pairs broken, boxes an image, {last}",
        header=(
            *("method", "paper", "reduced", "mAP", "reduced", "broken", "boxes"),
            "recall" if has_recall else "mAP50",
        ),
        rows=rows,
        note="Differs from the paper: the detector, the images"
        + (" and the rain" if condition == RAIN else "")
        + f". Fewer boxes break fewer rules, hence the share and the number beside{missing}. "
        f"{_finding_less(figures)}True boxes: {_truth(result, condition)}. "
        f"'{SHORT[PAPER.name]}' is the loss of the paper's text; Tent, RPL and CPL see the classes "
        "of the boxes found, where the paper's Tent has a norm of box outputs.",
    )


def _finding_less(figures: Json) -> str:
    """How much of what rules mend is fewer boxes: the share of pairs is what is left of it."""
    none, rules = figures[NONE.name], figures[RULES.name]
    if rules["reduced"]["mean"] <= 0 or rules["boxes"]["mean"] >= none["boxes"]["mean"]:
        return ""
    fewer = 100 * (1 - rules["boxes"]["mean"] / none["boxes"]["mean"])
    return (
        f"The {rules['reduced']['mean']:.0f} % of '{RULES.name}' are partly mended by finding "
        f"less: {fewer:.0f} % fewer boxes; the share of pairs is "
        f"{rules['share_reduced']['mean']:.0f} % lower. "
    )


def _truth(result: Json, condition: str) -> str:
    """How many boxes people drew on an image, and the share of pairs that they break."""
    truth = [one["truth"][condition] for one in result["sources"].values()]
    boxes, share = (fmean(one[figure] for one in truth) for figure in ("boxes", "share"))
    return f"{boxes:.1f} an image, {100 * share:.1f} % of pairs broken"


def _ablation(result: Json) -> Sheet:
    rows = [
        (
            title,
            *PAPER_FIGURES[RAIN][name],
            show_spread(one["map"], 1, factor=100),
            show_spread(one["reduced"], 1),
            f"{100 * one['share']['mean']:.1f}",
            f"{one['boxes']['mean']:.1f}",
        )
        for title, name in (("norm layers", PAPER.name), ("whole model", WHOLE.name))
        for one in (result["ablation_summary"][name],)
    ]
    return Sheet(
        title="Ablation: which parameters follow the paper's loss, in rain",
        header=("adapted", "paper", "reduced", "mAP", "reduced", "broken", "boxes"),
        rows=rows,
        note="Differs from the paper: the detector, the images and the rain; for each the best "
        "of three learning rates, those for the whole model being smaller.",
    )
