"""How the image bench measures, in words."""

from typing import Any

from sqrl_paper.imagenet_x.data import FULL

Json = dict[str, Any]


def tell_protocol(result: Json) -> str:
    """Paragraphs of Markdown."""
    source = next(iter(result["sources"].values()))
    seeds = ", ".join(map(str, result["seeds"]))
    drifted = [one["drifted_conditions"] for one in result["sources"].values()]
    methods = "\n".join(f"- **{name}**: {one['about']}." for name, one in result["methods"].items())
    return f"""\
Rules are learned from {source["annotations"][0]:,} train annotations and checked on
{source["annotations"][1]:,} others; no image has a part in it. For each seed ({seeds}) methods see
{source["crops"]} crops, a fixed sample that no other seed has, as they are and under corruptions of
severity {result["severity"]} of five, all at once and without labels, and change BatchNorm layers
only. Steps are made on {FULL.steps} crops, in one epoch (*ours*: two). Figures are means over seeds
± the standard deviation between them; violations are counted on the same mini-batches for all
methods.

Every tuned method had three tries, with labels, on crops that are no one's test and under a
corruption that is not tested ({result["tried"]["condition"]}): Tent, RPL and CPL of which BatchNorm
statistics to use, MEMO and rules of the rate, ours of the weight of the rules. Before that about
ten forms of *ours* were tried on those crops, also under the corruptions of the test, and that
statistics of the first half of the layers help was found there: crops and labels of the test were
not seen in it, the kinds of corruption were.

Between {min(drifted):.0%} and {max(drifted):.0%} of the rules' conditions hold far more or less
often among the test's annotations than among those of training. `adapt` would refuse by default;
here it is told to trust the columns. {_paper_loss(result)}

{methods}"""


def _paper_loss(result: Json) -> str:
    if "all_crops" not in result:
        return "The paper's loss was not run on this task."
    return "The paper's loss is run on all crops, in the table that says so, and on no sample."
