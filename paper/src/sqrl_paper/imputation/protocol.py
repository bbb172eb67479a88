"""How the imputation bench measures, in words."""

from typing import Any

from sqrl_paper.imputation.task import BATCH

Json = dict[str, Any]


def tell_protocol(result: Json) -> str:
    """Paragraphs of Markdown."""
    source = next(iter(result["sources"].values()))
    patients, seeds = source["patients"], ", ".join(map(str, result["seeds"]))
    how_long, note = tell_steps(result)
    methods = "\n".join(f"- **{name}**: {one['about']}." for name, one in result["methods"].items())
    return f"""\
For each seed ({seeds}) the patients are split at random; SAITS, written from its paper, is trained
on {patients["train"]:,} of them and stopped by {patients["valid"]:,} others; {patients["test"]:,}
are the test, of whom 60 % of the observed values are hidden from the model and from every method.
Units and bounds come from train patients. Figures are means over seeds ± the standard deviation
between them.

Every method that takes steps has four tries on valid patients ({how_long}, two rates for
normalisation layers, two for all parameters{_small(result)}), and the last iterate is taken.{note}
{result["selection"]} How the four tries were laid out, the weight of the rules and the share that
is withheld were found beforehand on the valid patients of seed 0 by about thirty runs, most of them
of our own method: within the bench methods are tuned alike, and before it they were not. The
length of the source's training was chosen there too; some of those patients are test patients of
other seeds.

{methods}"""


def _small(result: Json) -> str:
    """That rates are smaller for some, where they are."""
    if "steps" not in result:
        return ""
    return "; smaller ones for rules alone, and smaller still for the norm, which has no bound"


def tell_steps(result: Json) -> tuple[str, str]:
    """How long methods learn, and what is to be noted: once tests made more steps than tuning.

    >>> tell_steps({"steps": 160})
    ('160 steps, as in the tests', '')
    """
    if "steps" in result:
        return f"{result['steps']} steps, as in the tests", ""
    epochs = result["epochs"]
    patients = next(iter(result["sources"].values()))["patients"]
    tuned, tested = (epochs * (patients[part] // BATCH) for part in ("valid", "test"))
    note = f"""
**These figures are of an old setting**: tests made {tested} steps with what was chosen for {tuned},
since test patients are more. That is hard on what has no bound, as *Tent, as a norm*, and on rules
alone. The bench makes as many in both now; it has not been run again since."""
    return f"{epochs} epochs", note
