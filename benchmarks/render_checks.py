"""Writes docs/findings.md from the results of check.py, kitti_check.py and real_checks.py.

python benchmarks/render_checks.py [--results DIR] [--docs DIR]
"""

import argparse
import json
from pathlib import Path

from measure import HERE, Json

FALSE_ALARMS = (
    "kitti, no shift",
    "kitti, cars 10 % wider",
    "cardio, no shift",
    "cardio, 10 % of labels flipped",
)


OPENING = """\
# What checking finds, and how fast

Every figure here is written by `benchmarks/render_checks.py` from the files in
`benchmarks/results`.
[What has changed since](measured.md).
To measure anew, with `DIR` holding the data:

```
python benchmarks/check.py --data DIR
python benchmarks/kitti_check.py --data DIR
python benchmarks/real_checks.py --data DIR
python benchmarks/render_checks.py
```"""


def render(speed: Json, kitti: Json, real: Json) -> str:
    """The page."""
    sources = "\n".join(_source(name, result) for name, result in _sources(speed, kitti, real))
    parts = [OPENING, _chance(real), _kitti(kitti), _imagenet(real["imagenet_x"]), _speed(speed)]
    return "\n\n".join([*parts, sources]) + "\n"


def _chance(real: Json) -> str:
    lines = [
        "## False alarms and power",
        "",
        "Real tables split at random: rules learned from one part, the other checked at 5 %. Where "
        "nothing was changed, a run with any rule called *beyond chance* is a false alarm.",
        "",
        "| data | runs | runs with an alarm | rules called, on average | share of samples broken |",
        "|---|--:|--:|--:|--:|",
    ]
    for name in FALSE_ALARMS:
        one = real[name]
        broken = one["share_broken"]
        lines.append(
            f"| {name} | {one['runs']} | {one['runs_with_an_alarm']} ({one['share']:.1%}) "
            f"| {one['mean_significant_rules']:.1f} | {broken['mean']:.1%} ± {broken['std']:.1%} |"
        )
    return "\n".join(lines)


def _kitti(kitti: Json) -> str:
    truth, found = kitti["violations"]["val_labels"], kitti["violations"]["detections"]
    everything, strict = kitti["all"], kitti["without_what_kitti_forgives"]
    best = everything["highest_precision"]
    lines = [
        "## KITTI: a real detector's boxes",
        "",
        f"{kitti['rules']} rules from the boxes labelled in the train frames; those of the "
        "detector's three classes on the val frames. True boxes break a rule "
        f"{truth['share_broken_a_rule']['median']:.1%} of the time (median over rules), detections "
        f"{found['share_broken_a_rule']['median']:.1%}. More than 2 % of true boxes break them: "
        "the split is by drive, and a random split of the same boxes shows no such excess (above).",
        "",
        f"Of {everything['detections']:,} detections {everything['share_wrong']:.1%} are wrong (no "
        f"labelled box of the class at IoU 0.5): {everything['share_wrong_breaking']:.1%} of those "
        f"that break a rule, {everything['share_wrong_others']:.1%} of the others.",
        "",
        "| score | wrong, breaking a rule | wrong, breaking none |",
        "|---|--:|--:|",
    ]
    for one in everything["at_equal_scores"]:
        low, high = one["score"]
        lines.append(
            f"| {low:g} to {high:g} | {one['wrong_breaking']:.1%} | {one['wrong_others']:.1%} |"
        )
    lines += [
        "",
        "| AUC of predicting an error, 5 folds | all detections | without what KITTI forgives |",
        "|---|--:|--:|",
    ]
    for name, one in everything["auc"].items():
        other = strict["auc"][name]
        lines.append(
            f"| {name} | {one['auc']:.3f} ± {one['spread']:.3f} "
            f"| {other['auc']:.3f} ± {other['spread']:.3f} |"
        )
    gain, less = (part["auc_that_rules_add"]["to class and score"] for part in (everything, strict))
    lines += [
        "",
        f"With class and score known, rules add {gain['auc']:.4f} ± {gain['spread']:.4f} "
        f"({less['auc']:.4f} ± {less['spread']:.4f} without what KITTI's own evaluation forgives): "
        "little. What they add is a reason. The most precise: "
        f"`{best['text']}`; {best['wrong']} of the {best['broken']} detections that break it are "
        f"wrong ({best['precision']:.1%}, against {best['base_rate']:.1%} of its class).",
        "",
        f"{everything['right_yet_breaking']:,} detections are right by IoU and break a rule all "
        "the same: errors that the metric does not see, or rare boxes that are right. True boxes "
        "break "
        f"{truth['broken_beyond_chance']} of the {truth['rules_of_the_classes']} rules beyond "
        "chance on other drives, so that not every one is an error. The worst:",
        "",
        *(f"- {text}" for text in everything["right_yet_breaking_worst"]),
    ]
    return "\n".join(lines)


def _imagenet(found: Json) -> str:
    lines = [
        "## ImageNet-X: two models' predictions",
        "",
        f"{found['rules']} rules from the train annotations, on {found['images']:,} validation "
        "images. The paper reports 42.62 violations a mini-batch for a ResNet-34. The true labels "
        "break about as many: most of it lies between the two sets of annotations, not in models. "
        "Whether predictions break rules beyond chance is tested where rules were learned beside "
        "predictions of the same model (`learn --prediction`); there are none for train images.",
        "",
        "| who | accuracy | violations a mini-batch | rules beyond chance | of which metaclasses |",
        "|---|--:|--:|--:|---|",
    ]
    for name, one in found["results"].items():
        accuracy = f"{one['accuracy']:.1%}" if "accuracy" in one else ""
        classes = ", ".join(f"{key} {n}" for key, n in one["significant_by_metaclass"].items())
        lines.append(
            f"| {name} | {accuracy} | {one['violations_per_mini_batch']:.1f} "
            f"| {one['significant'] if one['tested'] else 'not tested'} | {classes} |"
        )
    return "\n".join(lines)


def _speed(speed: Json) -> str:
    lines = [
        "## Speed and memory",
        "",
        "The same counts from DuckDB (one query) and pandas (a mask for each rule and piece, a "
        "group for each mini-batch). Interval rules: all of `check`, which also says which rows. "
        "Logic rules: the statistics on mini-batches drawn beforehand, as the others get them; all "
        f"of `check`, with drawing and p-values, takes {_whole(speed):.3g} s. Least of the "
        "repetitions, in seconds.",
        "",
        "| | rules | rows | sqrl | DuckDB | pandas | times DuckDB | times pandas |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in ("intervals", "logic"):
        one = speed["sections"][name]
        times = [f"{one['times'][who]['min']:.3g}" for who in ("sqrl", "duckdb", "pandas")]
        ratios = [f"{one['ratios'][who]:.1f}" for who in ("duckdb", "pandas")]
        lines.append(
            f"| {one['what']} | {one['rules']} | {one['rows']:,} | "
            + " | ".join([*times, *ratios])
            + " |"
        )
    lines += ["", "| 252 rules over | time | table and program | peak |", "|---|--:|--:|--:|"]
    for rows, one in speed["sections"]["memory"].items():
        lines.append(
            f"| {int(rows):,} boxes | {one['seconds']:.2f} s | "
            f"{one['table_and_program'] / 2**20:,.0f} MiB | {one['peak'] / 2**20:,.0f} MiB |"
        )
    return "\n".join(lines)


def _whole(speed: Json) -> float:
    return float(speed["sections"]["logic"]["times"]["whole check"]["min"])


def _sources(speed: Json, kitti: Json, real: Json) -> list[tuple[str, Json]]:
    return [("check.json", speed), ("kitti_check.json", kitti), ("real_checks.json", real)]


def _source(name: str, result: Json) -> str:
    machine, commit = result["machine"], result["commit"]
    changed = " with changes" if commit["dirty"] else ""
    return (
        f"- `{name}`: {result['date'][:10]}, commit {str(commit['id'])[:12]}{changed}, "
        f"{machine['processor']}, {machine['cores']} cores"
    )


def main() -> None:
    """Read the results and write the page."""
    parser = argparse.ArgumentParser(description="Writes docs/findings.md.")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    given = parser.parse_args()
    names = ("check.json", "kitti_check.json", "real_checks.json")
    results = [json.loads((given.results / name).read_text()) for name in names]
    (given.docs / "findings.md").write_text(render(*results))


if __name__ == "__main__":
    main()
