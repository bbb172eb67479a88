"""Mini-batches that are nearly all of the rows there are: what rules about them do not say."""

from math import sqrt

from sqrl._rules.ruleset import RuleSet

MOST = 0.5  # of the rows that mini-batches are drawn from


def crowded_batches(rules: RuleSet) -> list[str]:
    """Notes on mini-batches that hold more than half of the rows they were drawn from.

    Drawn without replacement they share most of their rows, and their statistics vary less than
    those of new rows would: by the root of the share of rows that are left out.

    >>> from sqrl._rules.ruleset import Provenance
    >>> counts = {"rows": 600, "train_rows": 480, "valid_rows": 120, "seed": 0}
    >>> made = Provenance(sqrl="0", created="", source="a.csv", fingerprint="", **counts)
    >>> rules = RuleSet.from_texts(["0 <= mean(x) <= 1 over 100"])
    >>> print(*crowded_batches(RuleSet(rules.table, rules.nodes, provenance=made)))
    Mini-batches of 100 rows are drawn from 120 held-out rows: they share most of them, and vary \
0.41 times as much as new ones. Bounds are too narrow; use 'over 32' or less.
    """
    made = rules.provenance
    if made is None:
        return []
    n, of = (made.train_rows, "train")
    if made.valid_rows and made.valid_rows < n:
        n, of = made.valid_rows, "held-out"
    over, units = (rules.table[name].to_pylist() for name in ("over", "over_units"))
    sizes = {size for size, of_units in zip(over, units, strict=True) if size and not of_units}
    return [
        f"Mini-batches of {size:,} rows are drawn from {n:,} {of} rows: they share most of them, "
        f"and vary {sqrt(max(0.0, 1 - size / n)):.2f} times as much as new ones. Bounds are too "
        f"narrow; use 'over {_fitting(n)}' or less."
        for size in sorted(sizes)
        if size > MOST * n
    ]


def _fitting(n_rows: int) -> int:
    """A round size that fits several times, as the refusal of larger ones names it."""
    return int(2 ** max(0, n_rows.bit_length() - 2))
