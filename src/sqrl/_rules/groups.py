"""How many rows stand behind the numbers of a rule: what a rules file discloses of small groups."""

import numpy as np

from sqrl._kernels.arrays import Int64s
from sqrl._language.forms import Form
from sqrl._rules.ruleset import Provenance, RuleSet


def group_sizes(rules: RuleSet) -> Int64s:
    """The fewest rows behind any number of each rule; 0 where that is not known.

    A rate is of the rows in its body (those held out are counted by themselves). Bounds of single
    rows lie at values that rows have, and counts of cells can be of few: the size is that of the
    smallest.

    >>> texts = ["0.1 <= precision(x > 3 => y = 1) <= 0.4 over 9", "x <= 4"]
    >>> group_sizes(RuleSet.from_texts(texts, rows=[40, None], support=[9, 80])).tolist()
    [40, 1]
    """
    made = np.zeros(len(rules), np.int64)
    columns = {name: rules.table[name].to_pylist() for name in ("rows", "evidence", "reference")}
    for place, form in enumerate(rules.forms()):
        rows, evidence, reference = (columns[name][place] for name in columns)
        if reference is not None:
            made[place] = min((count for count in reference["counts"] if count), default=0)
        elif form.evidence == "counts":
            sizes = [] if rows is None else [rows]
            sizes += [int(evidence[0])] if evidence and evidence[0] else []
            made[place] = min(sizes, default=0)
        elif form.evidence == "moments":
            made[place] = _of_mean(form, evidence, rules.provenance) if evidence else 0
        elif form.pieces:
            made[place] = 1  # a bound is a value of a row, or lies between two of them
        elif evidence:
            made[place] = int(evidence[0])
    return made


def _of_mean(form: Form, evidence: list[float], provenance: Provenance | None) -> int:
    """The rows behind a mean: of all, and of a mini-batch, where a bound is the mean of fewer."""
    rows = int(evidence[0])
    if not form.given or provenance is None or not isinstance(form.over, int):
        return rows
    looked_at = provenance.valid_rows or provenance.train_rows
    return min(rows, max(1, int(form.over * rows / max(1, looked_at))))
