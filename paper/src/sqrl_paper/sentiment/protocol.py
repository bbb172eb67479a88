"""How the sentiment bench measures, in words."""

from typing import Any

from sqrl_paper.sentiment.drifts import CLEAN
from sqrl_paper.sentiment.methods import NONE

Json = dict[str, Any]


def tell_protocol(result: Json) -> str:
    """Paragraphs of Markdown."""
    source = next(iter(result["sources"].values()))
    rows, seeds = source["sentences"], ", ".join(map(str, result["seeds"]))
    epochs = sorted({len(one["losses"]) for one in result["sources"].values()})
    scores = result["summary"]["conditions"][CLEAN][NONE.name]
    accuracy, f1 = (f"{100 * scores[name]['mean']:.1f} %" for name in ("accuracy", "macro_f1"))
    methods = "\n".join(f"- **{name}**: {one['about']}." for name, one in result["methods"].items())
    return f"""\
The parts are FinBERT's for all seeds ({seeds}): {rows["train"]:,} sentences to learn from,
{rows["valid"]:,} to choose by, {rows["test"]:,} to test on. Rules are learned from the first and
checked on the second; nothing in them is drawn at random, so all seeds have the same. Seeds vary
the last layer's first weights, the order and dropout of training, and mini-batches of adaptation:
the spread between them is not that between test sets. MiniLM is fine-tuned for
{" or ".join(map(str, epochs))} epochs and kept as it was after the one with the lowest loss on
valid sentences; on test sentences its accuracy is {accuracy}, its macro F1 {f1}. FinBERT cannot be
had from PyPI. Methods see test sentences without labels, all at once, and change LayerNorm
parameters only.

Every tuned method had four tries on valid sentences, with the model of seed
{result["tried"]["seed"]}: of the rate, and for *rules + entropy* of the weight of the rules.
{result["tried"]["selection"]} The rates were laid out after about ten runs on valid sentences with
a model trained on 1,000 sentences: ten times as fast, entropy and rules alike made all sentences
neutral. *Ours* has the library's defaults. Methods that follow rules alone make their steps on the
{source["judged_sentences"]} test sentences that rules speak of: no other has a part in their loss.

{methods}"""
