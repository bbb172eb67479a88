"""The example of the image bench: a rule that a corruption breaks, and images set right.

Images are told by their names: those of ImageNet may not be passed on.
"""

from typing import Any

import numpy as np
from torch import Tensor

from sqrl_paper.imagenet_x.annotations import LABEL, METACLASSES
from sqrl_paper.imagenet_x.as_seen import Seen, see
from sqrl_paper.imagenet_x.data import SCORED_WITH, Prepared, prepared
from sqrl_paper.imagenet_x.image_scores import draw_scored
from sqrl_paper.imagenet_x.methods import Choice, method_of
from sqrl_paper.imagenet_x.runs import run
from sqrl_paper.jobs import Trial
from sqrl_paper.logic_example import Floats, mended_most, tell_rule
from sqrl_paper.place import Place

Json = dict[str, Any]
MOST = 4  # images


def make_example(place: Place, job: Trial[Choice]) -> Json:
    """The rule mended most, on mini-batches, and images that it speaks of, before and after."""
    data = prepared(place, job.seed)
    seen = see(place, job.seed, job.condition)
    before = seen.logits
    after = run(data, seen, method_of(job.method), job.choice)[0]
    drawn = list(draw_scored(seen.crops, seed=SCORED_WITH + job.seed))
    rule = mended_most(data.loss, drawn, before, after, avoid=set())
    head = _head(data, rule)
    picked = [batch.rows.numpy() for batch in drawn if batch.rows is not None]
    told = tell_rule(
        data.rules,
        rule,
        [seen.crops.factors.take(rows) for rows in picked],
        {
            title: [_chances(logits, head)[rows] for rows in picked]
            for title, logits in (("before", before), ("after", after))
        },
    )
    guesses = before.argmax(1), after.argmax(1)
    return {
        "condition": job.condition,
        "text": data.rules[rule].text,
        **told,
        "changed": _count_changes(*guesses, seen.crops.labels),
        "images": _images(data, seen, rule, *guesses),
    }


def _count_changes(before: Tensor, after: Tensor, truth: Tensor) -> dict[str, int]:
    """How many predictions became right, how many wrong, and how many went from wrong to wrong."""
    was_right, is_right = before == truth, after == truth
    return {
        "right": int((is_right & ~was_right).sum()),
        "wrong": int((was_right & ~is_right).sum()),
        "other": int(((before != after) & ~was_right & ~is_right).sum()),
    }


def _head(data: Prepared, rule: int) -> int:
    """The place among METACLASSES of the one that a rule implies."""
    name = data.rules[rule].text.partition(f"{LABEL} = ")[2].partition(")")[0]
    return METACLASSES.index(name)


def _chances(logits: Tensor, head: int) -> Floats:
    found: Floats = logits.double().softmax(-1)[:, head].numpy()
    return found


def _images(data: Prepared, seen: Seen, rule: int, before: Tensor, after: Tensor) -> list[Json]:
    """Images whose prediction changed, first those that the rule is about and that became right."""
    body = data.rules.condition_holds(rule, seen.crops.factors)
    truth = seen.crops.labels
    changed = np.flatnonzero((before != after).numpy())
    is_right = (after == truth).numpy()
    order = sorted(changed, key=lambda row: (not body[row], not is_right[row], row))
    return [
        {
            "file": seen.crops.files[row],
            "before": METACLASSES[int(before[row])],
            "after": METACLASSES[int(after[row])],
            "truth": METACLASSES[int(truth[row])],
        }
        for row in order[:MOST]
    ]


def tell_images(example: Json) -> list[str]:
    """The images in lines, after how many there are of which kind.

    >>> image = {"file": "a.JPEG", "before": "dog", "after": "bird", "truth": "bird"}
    >>> changed = {"right": 2, "wrong": 1, "other": 0}
    >>> for line in tell_images({"condition": "fog", "changed": changed, "images": [image]}):
    ...     print(line)
    Condition: fog. 2 predictions became right, 1 wrong, 0 differently wrong; such as:
    a.JPEG: dog → bird, in truth bird
    """
    changed = example["changed"]
    if not example["images"]:
        return [f"Condition: {example['condition']}. No prediction changed."]
    return [
        f"Condition: {example['condition']}. {changed['right']} predictions became right, "
        f"{changed['wrong']} wrong, {changed['other']} differently wrong; such as:",
        *(
            f"{one['file']}: {one['before']} → {one['after']}, in truth {one['truth']}"
            for one in example["images"]
        ),
    ]
