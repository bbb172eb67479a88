"""The words of docs/story.md: what each task taught, with figures from its results."""

from collections.abc import Callable
from textwrap import fill

from measure import Json
from sqrl_paper.results import show_spread

WIDTH = 100
OPENING = """\
# What five tasks say together

The paper asks whether models obey rules that are inferred from their own training data, and mends
them where they do not. `sqrl bench` asks the same of its five tasks, on real data, on two cores,
beside simple baselines, with three seeds. The paper's figures stand first in each cell or column,
ours after them. Where the paper's model or data cannot be had the table says what took its place;
so figures differ for that reason too, and are to be compared down a column rather than across.
"""

CLOSING = """\
## What we would tell a practitioner

- **Learn and check first.** Rules cost a second and no model; a rule that is broken says what is
  wrong, where, and how sure one can be. [check](check.md) compares with chance and with what true
  labels break: without that, a count of violations says nothing.
- **Do not count violations by the likeliest label** where rules are about how often something
  occurs. Give probabilities.
- **Look at the true labels of a few test rows before following a rule.** Where they break it as
  often as the model does, the rule is no longer true, and a model bent to it gets worse.
- **Where bounds are hard facts, clip or mask.** It costs nothing and removes every violation.
- **Adapt where inputs have drifted and the rules' own columns have not.** That is where rules give
  back most of what labels would. Keep the guard on: it does nothing where nothing is to be gained.
- **Normalisation layers first.** {ablation}
"""


def tell_tasks(results: dict[str, Json]) -> str:
    """A section for each task that has results."""
    sections = [
        f"### {name}\n\n{_wrapped(tell(results[name]))}"
        for name, tell in TOLD.items()
        if name in results
    ]
    return "\n\n".join(["## What we can and cannot reproduce, and why", *sections])


def tell_practitioner(results: dict[str, Json]) -> str:
    """What follows from all that."""
    told = ["On the other tasks the whole model does about as well, on imputation slightly better."]
    if "cardio" in results:
        found = results["cardio"]["summary"]["paper_setting"]
        layers, whole = (
            show_spread(found[f"paper's loss, {which}"]["auc"], 1, factor=100)
            for which in ("lr 0.005", "all parameters")
        )
        told.insert(
            0,
            f"On cardio the paper's loss leaves an AUC of {layers}, {whole} if it may "
            "change all parameters.",
        )
    line = fill(" ".join(told), WIDTH, initial_indent=" " * 34, subsequent_indent="  ").strip()
    return CLOSING.format(ablation=line)


def _wrapped(text: str) -> str:
    """Paragraphs, whose lines are broken anew once figures stand in them."""
    return "\n\n".join(fill(part, WIDTH) for part in text.strip().split("\n\n"))


def _cardio(result: Json) -> str:
    summary, sources = result["summary"], list(result["sources"].values())
    taken = {
        way: 100 * sum(one["violations"][way] for one in sources) / len(sources)
        for way in ("likeliest", "expected", "true")
    }
    replica = summary["paper_setting"]["paper's loss, lr 0.005"]
    none = summary["paper_setting"]["none"]
    gained = {name: summary["recovered"][name] for name in ("ours", "paper's loss", "one bias")}
    either = summary["recovered"]["ours, or class balance"]
    return f"""
The counts and the source model come out as in the paper. The paper's violations are owed to the
likeliest label: by it the source breaks {taken["likeliest"]:.0f} % of the rules, by its
probabilities {taken["expected"]:.1f} %, and true labels break {taken["true"]:.1f} %. So there is
nothing to mend without a drift, and the paper's loss mends it at a price: violations fall by
{show_spread(replica["reduced"], 0)} %, the AUC from {show_spread(none["auc"], 2, factor=100)} to
{show_spread(replica["auc"], 2, factor=100)}, which the paper did not see, and the accuracy from
{100 * none["accuracy"]["mean"]:.1f} to {100 * replica["accuracy"]["mean"]:.1f}, which it did not
look at. Our defaults do nothing there.

After drifts of the inputs rules do help: over ten drifts ours gains
{show_spread(gained["ours"]["auc"]["points"], 2)} points of AUC and
{show_spread(gained["ours"]["accuracy"]["points"], 2)} of accuracy, which is
{show_spread(gained["ours"]["auc"]["of_held_out"], 0)} % and
{show_spread(gained["ours"]["accuracy"]["of_held_out"], 0)} % of what the labels of half the test
rows gain for the other half (of what all labels gain for themselves
{gained["ours"]["auc"]["of_ceiling"]["mean"]:.0f} and
{gained["ours"]["accuracy"]["of_ceiling"]["mean"]:.0f} %). The paper's loss gains
{gained["paper's loss"]["auc"]["points"]["mean"]:.2f} and
{gained["paper's loss"]["accuracy"]["points"]["mean"]:.2f} points; one number added to the logits,
the simplest that follows rules, {gained["one bias"]["auc"]["points"]["mean"]:.2f} and
{gained["one bias"]["accuracy"]["points"]["mean"]:.2f}. Under another class balance rules say
nothing, and `rebalance` does: both together have
{either["accuracy"]["of_held_out"]["mean"]:.0f} % of the accuracy."""


def _imagenet_x(result: Json) -> str:
    summary, sources = result["summary"], list(result["sources"].values())
    clean, corrupted = summary["conditions"]["clean"], summary["corrupted"]
    truth = sum(one["truth"]["n_likeliest"] for one in sources) / len(sources)
    drifted = 100 * sum(one["drifted_conditions"] for one in sources) / len(sources)
    return f"""
The number of rules comes out as in the paper, and violations of the same order:
{clean["none"]["n_likeliest"]["mean"]:.1f} on a mini-batch. But true labels break {truth:.1f}:
ImageNet-X was annotated differently in its two
parts ({drifted:.0f} % of the rules' conditions hold far more or less often), and most of what the
paper counts are violations by the truth. Following the rules takes
{show_spread(clean["rules"]["reduced"], 0)} % of them away and changes the accuracy by
{100 * (clean["rules"]["accuracy"]["mean"] - clean["none"]["accuracy"]["mean"]):+.1f} points; rules
that only bound how often each class occurs do as well
({show_spread(clean["class rates"]["reduced"], 0)} %).

On corrupted images the gain is owed to statistics and entropy, and not to rules: over all
corruptions the source has {100 * corrupted["none"]["accuracy"]["mean"]:.1f} %, rules alone
{100 * corrupted["rules"]["accuracy"]["mean"]:.1f}, Tent
{100 * corrupted["Tent"]["accuracy"]["mean"]:.1f}, CPL
{100 * corrupted["CPL"]["accuracy"]["mean"]:.1f}; entropy and rules together
{100 * corrupted["ours"]["accuracy"]["mean"]:.1f}, without the rules
{100 * corrupted["ours, no rules"]["accuracy"]["mean"]:.1f}. They break the fewest rules
({100 * corrupted["ours"]["likeliest"]["mean"]:.0f} % against
{100 * corrupted["none"]["likeliest"]["mean"]:.0f}), which is no merit where the truth breaks as
many: `adapt` refuses to follow such rules unless it is told to, by `trust_rules=True`."""


def _imputation(result: Json) -> str:
    found = result["summary"]
    ours, paper = found["rules + reconstruction"]["plain"], found["rules, paper's loss"]["plain"]
    on = found["training goes on"]["clipped"]
    return f"""
Most violations are where nobody measured anything, so that no truth can tell whether they matter.
The paper's loss alone removes {show_spread(paper["reduced"], 0)} % and changes the MSE by
{show_spread(paper["beyond_source"], 1)} %; beside the reconstruction of given values rules remove
{show_spread(ours["reduced"], 0)} % at an MSE of {show_spread(ours["beyond_source"], 1)} % to the
source and {show_spread(ours["beyond_clip"], 1)} % to clipping, which removes all of them at once.
But as many more steps of plain training, then clipping, change it by
{show_spread(on["beyond_source"], 1)} %: the gain is owed to more training, and the paper's large
gain may have been that of a source with more to learn."""


def _detection(result: Json) -> str:
    sources, rain = list(result["sources"].values()), "Cityscapes, rain"
    found, settings = result["summary"][rain], result["settings"]
    truth = {
        name: 100 * sum(one["truth"][name]["share"] for one in sources) / len(sources)
        for name in ("KITTI", rain)
    }
    none, paper = found["none"], found["rules, paper's loss"]
    rules, drop, rescore = found["rules"], found["drop"], found["re-score"]
    return f"""
EfficientPS cannot be had; a small detector trained on {sources[0]["images"]["train"]} images takes
its place, with a mAP of {100 * result["summary"]["KITTI"]["none"]["map"]["mean"]:.1f} on KITTI and
{100 * none["map"]["mean"]:.1f} on Cityscapes in rain of severity {settings["rain"]}. Rules from
KITTI's labels are broken by {truth["KITTI"]:.1f} % of the pairs of a true box and a rule on KITTI's
own val images, and by {truth[rain]:.1f} % on Cityscapes': another city and another camera, where a
part of the violations is the truth. In rain the source breaks {none["violations"]["mean"]:.2f} for
each image. The paper's loss changes that by {-paper["reduced"]["mean"]:+.0f} % at a mAP of
{100 * paper["map"]["mean"]:.1f}, our rules under the guard by {-rules["reduced"]["mean"]:+.0f} % at
{100 * rules["map"]["mean"]:.1f}. Dropping boxes that break rules changes it by
{-drop["reduced"]["mean"]:+.0f} % at {100 * drop["map"]["mean"]:.1f}, lowering their score by
{-rescore["reduced"]["mean"]:+.0f} % at {100 * rescore["map"]["mean"]:.1f}, without any step."""


def _sentiment(result: Json) -> str:
    source = next(iter(result["sources"].values()))
    found, ways = result["summary"]["conditions"]["no drift"], source["ways"]
    judged = ways["true"]["judged"]
    none, paper, mask = found["none"], found["paper's loss"], found["mask"]
    trusted = found["ours, trusted"]
    return f"""
Counting words in lists in the place of two networks leaves {source["rules"]} rules,
{source["heads"]["neutral"]["rules"]} of which imply neutral. A bound that holds 98 % of a class
does not say that what lies within it is of that class: true labels break
{ways["true"]["violations"]} of {judged} pairs of a sentence and a rule, the source
{none["violations"]["mean"]:.0f}, and predicting neutral always
{ways["always neutral"]["violations"]}. So there is little to mend, and whoever breaks fewer rules
follows them against the truth: the paper's loss removes {show_spread(paper["reduced"], 0)} % and
changes the accuracy by {paper["gain"]["mean"]:+.1f} points, masking removes
{show_spread(mask["reduced"], 0)} % and changes it by {mask["gain"]["mean"]:+.1f}. Our defaults do
nothing, because held-out sentences broke the rules with their true labels; who trusts the rules all
the same gets {trusted["gain"]["mean"]:+.1f} points and {trusted["predicted"][1]:.0f} % of the
sentences neutral."""


TOLD: dict[str, Callable[[Json], str]] = {
    "cardio": _cardio,
    "imagenet-x": _imagenet_x,
    "detection": _detection,
    "imputation": _imputation,
    "sentiment": _sentiment,
}
