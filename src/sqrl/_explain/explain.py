"""explain(): which broken rules predict errors."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sqrl._check.check import check
from sqrl._check.hypergeometric import at_least
from sqrl._check.null_tests import benjamini_hochberg
from sqrl._check.sentences import row_sentences
from sqrl._check.violations import Violations
from sqrl._data.column import Column, from_plain
from sqrl._data.table import Table, as_table
from sqrl._explain.error_prediction import fit_weights, join, need_sklearn, predict_errors
from sqrl._explain.explanation import Doubt, Explanation, RuleErrors
from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._language.tree import Node
from sqrl._rows.rows import Rows
from sqrl._rows.units import unit_keys
from sqrl._rules.label import class_codes, label_of
from sqrl._rules.ruleset import RuleSet
from sqrl._scan.scan import refuse_scan
from sqrl.errors import DataError

LEVEL = 0.05
Z = 1.959963984540054  # of a 95 % interval
MOST_DOUBTS = 100
MOST_CLASSES = 50  # more are numbers on a scale
MOST_ROWS = 100_000  # that models are fitted to


def explain(
    rules: RuleSet,
    data: Any,
    *,
    prediction: str,
    truth: str | None = None,
    error: str | ArrayLike | None = None,
    score: str | None = None,
    folds: int = 5,
    seed: int = 0,
    most_rules: int = 2000,
) -> Explanation:
    """How well broken rules predict errors, which do it best, and which errors are missed.

    A prediction is wrong where it differs from the column `truth`, or where `error` says so: a
    column or an array of true and false. The truth serves for nothing else; it is taken out of the
    table before any rule is checked. `score` names the model's own confidence, to compare with.
    So is the predicted class: rules are about classes, and some classes are wrong more often.
    Where rules were learned by unit, folds hold whole units.
    Rows where truth, prediction or score is missing are left out and counted. Of the rules broken,
    the `most_rules` broken most often enter the linear models, and at most 100,000 rows.

    Cost: a check of the rules, and about 400 fits of sparse linear models: 20 seconds for 100 rules
    and 30,000 rows.

    >>> from sqrl import RuleSet
    >>> rules = RuleSet.from_texts(["kind = a => x <= 9"])
    >>> said = {"said": ["a"] * 40, "kind": ["a"] * 30 + ["b"] * 10, "x": [1.0] * 32 + [99.0] * 8}
    >>> explain(rules, said, prediction="said", truth="kind").rules[0].summary()
    '100 % of the 8 predictions that break this rule are wrong (68 % to 100 %), against 25 % of \
all that it speaks of'
    """
    need_sklearn()
    _check_numbers(folds, most_rules)
    refuse_scan(data, "An explanation needs")
    rules, table = rules.in_force(), as_table(data)
    wrong, known = _errors(table, prediction, truth, error)
    scores = _scores(table, score)
    if scores is not None:
        known = known & np.isfinite(scores)
    hidden = {truth, error if isinstance(error, str) else None}
    shown = {name: column for name, column in table.columns.items() if name not in hidden}
    in_place = prediction if label_of(rules) is not None else None
    found = check(rules, Table(shown, table.n_rows, table.source), prediction=in_place)
    rows = np.flatnonzero(known)
    wrong, scores = wrong[rows], None if scores is None else scores[rows]
    used, broken = _matrix(found, rows, most_rules)
    classes = _one_hot(table[prediction].take(rows))
    drawn = _draw(wrong, seed)
    parts = [None if part is None else part[drawn] for part in (broken, scores, classes)]
    keys = unit_keys(Rows(found.table, {}), found.unit)[rows][drawn] if found.unit else None
    predictions = predict_errors(
        parts[0], wrong[drawn], *parts[1:], folds=folds, seed=seed, units=keys
    )
    weights = np.zeros(len(rules))
    weights[used] = fit_weights(join(*parts), wrong[drawn], seed=seed)[: used.size]
    doubts, n_doubtful = _doubts(found, rows[~wrong])
    return Explanation(
        n_rows=table.n_rows,
        n_left_out=int(table.n_rows - rows.size),
        n_wrong=int(wrong.sum()),
        folds=len(predictions[0].by_fold) if predictions else 0,
        error_prediction=predictions,
        rules=_rule_errors(found, rows, wrong, weights),
        doubts=doubts,
        n_doubtful=n_doubtful,
        note=_note(wrong, folds, drawn.size),
        violations=found,
    )


def _check_numbers(folds: int, most_rules: int) -> None:
    for name, value, least in (("folds", folds, 2), ("most_rules", most_rules, 1)):
        if value < least:
            raise DataError(f"{name} is {value}.", fix=f"use {least} or more")


def _errors(
    table: Table, prediction: str, truth: str | None, error: str | ArrayLike | None
) -> tuple[Bools, Bools]:
    """Where the prediction is wrong, and where that is known."""
    predicted = table[prediction]
    if (truth is None) == (error is None):
        raise DataError(
            "It is not said which predictions are wrong."
            if truth is None
            else "It is said twice which predictions are wrong.",
            where=table.source,
            fix="give either truth= (a column) or error= (a column, or true and false a row)",
        )
    if prediction in (truth, error if isinstance(error, str) else None):
        raise DataError(
            f"Column {prediction!r} cannot be both the prediction and the truth.",
            where=table.source,
            fix="name two columns",
        )
    if truth is not None:
        return _differ(predicted, table[truth], table.source)
    assert error is not None
    given = table[error] if isinstance(error, str) else from_plain("error", error, table.source)
    if given.values.size != table.n_rows:
        what = f"There are {given.values.size:,} errors for {table.n_rows:,} rows."
        raise DataError(what, where=table.source, fix="give true or false for every row")
    values = given.values
    if given.kind not in {"boolean", "number"} or np.any(
        ~np.isnan(values) & ~np.isin(values, [0, 1])
    ):
        raise DataError(
            f"Column {given.name!r} does not say which predictions are wrong.",
            where=table.source,
            fix="hold true (or 1) where the prediction is wrong, false (or 0) where it is right",
        )
    return values == 1, ~np.isnan(values) & ~predicted.missing()


def _differ(predicted: Column, truth: Column, source: str) -> tuple[Bools, Bools]:
    """Where two columns differ, and where both are known; a class 1 is the category "1"."""
    for column in (predicted, truth):
        if column.kind in {"date", "other"}:
            raise DataError(
                f"Column {column.name!r} holds neither numbers nor categories.",
                where=source,
                fix="make it a column of numbers, of true and false, or of text",
            )
    known = ~predicted.missing() & ~truth.missing()
    if predicted.kind != "category" and truth.kind != "category":
        return predicted.values != truth.values, known
    ids: dict[str, int] = {}
    codes = [_text_codes(column, ids) for column in (predicted, truth)]
    classes = [np.unique(code[known]) for code in codes]
    # One class against another may well be wrong throughout; several are named otherwise.
    several = predicted.kind != truth.kind or min(map(len, classes)) > 1
    if known.any() and several and not np.intersect1d(classes[0], classes[1]).size:
        raise DataError(
            f"Columns {predicted.name!r} and {truth.name!r} have no value in common.",
            where=source,
            fix="name the classes alike in both, or say with error= which predictions are wrong",
        )
    return codes[0] != codes[1], known


def _text_codes(column: Column, ids: dict[str, int]) -> Int64s:
    """The column as numbers of texts, the same number for the same text in any column."""
    names, codes = class_codes(column)
    return np.array([*(ids.setdefault(name, len(ids)) for name in names), -1], np.int64)[codes]


def _scores(table: Table, score: str | None) -> Floats | None:
    if score is None:
        return None
    column = table[score]
    if column.kind != "number":
        raise DataError(
            f"Column {score!r} does not hold scores.",
            where=table.source,
            fix="name a column of numbers: how sure the model was",
        )
    return np.asarray(column.values, np.float64)


def _draw(wrong: Bools, seed: int) -> Int64s:
    """All rows, or as many wrong and right ones as models take: no AUC depends on their shares."""
    if wrong.size <= MOST_ROWS:
        return np.arange(wrong.size)
    rng = np.random.default_rng(seed)
    sides = [np.flatnonzero(wrong), np.flatnonzero(~wrong)]
    half = MOST_ROWS // 2
    return np.sort(np.concatenate([rng.permutation(side)[:half] for side in sides]))


def _one_hot(predicted: Column) -> Any:
    """A sparse column of 0 and 1 for each predicted class; None where that tells nothing."""
    from scipy.sparse import csr_matrix

    values, codes = np.unique(predicted.values, return_inverse=True)
    if not 1 < values.size <= MOST_CLASSES:
        return None
    at = np.arange(codes.size), codes.ravel()
    return csr_matrix((np.ones(codes.size), at), shape=(codes.size, values.size))


def _matrix(found: Violations, rows: Int64s, most: int) -> tuple[Int64s, Any]:
    """The rules that the rows break most often, and which of them each row breaks."""
    from scipy.sparse import csr_matrix

    place = np.full(found.n_rows, -1, np.int64)
    place[rows] = np.arange(rows.size)
    kept = place[found.pair_row] >= 0
    counts = np.bincount(found.pair_rule[kept], minlength=len(found.rules))
    used = np.sort(np.argsort(-counts, kind="stable")[: min(most, np.count_nonzero(counts))])
    column = np.full(len(found.rules), -1, np.int64)
    column[used] = np.arange(used.size)
    kept &= column[found.pair_rule] >= 0
    at = place[found.pair_row[kept]], column[found.pair_rule[kept]]
    return used, csr_matrix((np.ones(at[0].size), at), shape=(rows.size, used.size))


def _rule_errors(
    found: Violations, rows: Int64s, wrong: Bools, weights: Floats
) -> tuple[RuleErrors, ...]:
    """The broken rules with the share of errors among the rows that break them, the best first."""
    is_wrong, is_known = np.zeros(found.n_rows, np.bool_), np.zeros(found.n_rows, np.bool_)
    is_wrong[rows], is_known[rows] = wrong, True
    known = is_known[found.pair_row]
    count = np.bincount(found.pair_rule[known], minlength=len(found.rules))
    errors = np.bincount(found.pair_rule[is_wrong[found.pair_row]], minlength=len(found.rules))
    broken = np.flatnonzero(count)
    n, k = count[broken], errors[broken]
    spoken, spoken_wrong = _spoken_of(found, broken, is_known, is_wrong)
    p = at_least(k, spoken, spoken_wrong, n)
    # A rule whose rows are all wrong, broken or not, has nothing to predict.
    is_more = (k > 0) & (k * spoken > n * spoken_wrong)
    significant = benjamini_hochberg(np.where(is_more, p, 1.0), LEVEL)
    low, high = wilson(k, n)
    base = spoken_wrong / spoken
    best = np.lexsort((broken, -n, -low, ~significant))
    return tuple(
        RuleErrors(
            rule=int(broken[i]),
            text=found.rules[int(broken[i])].text,
            broken=int(n[i]),
            wrong=int(k[i]),
            precision=float(k[i] / n[i]),
            low=float(low[i]),
            high=float(high[i]),
            base_rate=float(base[i]),
            lift=float(k[i] / n[i] / base[i]) if base[i] else 0.0,
            p_value=float(p[i]),
            significant=bool(significant[i]),
            weight=float(weights[broken[i]]),
        )
        for i in best.tolist()
    )


def _spoken_of(
    found: Violations, rules: Int64s, is_known: Bools, is_wrong: Bools
) -> tuple[Int64s, Int64s]:
    """For each rule how many rows its condition takes in, and how many of those are wrong."""
    counts = np.zeros((2, rules.size), np.int64)
    seen: dict[tuple[Node, ...], tuple[int, int]] = {}
    here = Rows(found.table, found.rules.statistics())
    for place, rule in enumerate(rules.tolist()):
        given = found.rules.form(rule).given
        if given not in seen:
            mask = here.all_true(given) & is_known
            seen[given] = int(mask.sum()), int((mask & is_wrong).sum())
        counts[:, place] = seen[given]
    return counts[0], counts[1]


def wilson(hits: Int64s, of: Int64s) -> tuple[Floats, Floats]:
    """The 95 % interval of a share, which holds for few rows too.

    >>> low, high = wilson(np.array([8]), np.array([8]))
    >>> round(float(low[0]), 3), float(high[0])
    (0.676, 1.0)
    """
    share = hits / of
    middle = share + Z**2 / (2 * of)
    reach = Z * np.sqrt(share * (1 - share) / of + Z**2 / (4 * of**2))
    low, high = (middle - reach) / (1 + Z**2 / of), (middle + reach) / (1 + Z**2 / of)
    return np.where(hits == 0, 0.0, low), np.where(hits == of, 1.0, high)


def _doubts(found: Violations, right: Int64s) -> tuple[tuple[Doubt, ...], int]:
    """The rows called right that break rules, the worst of them with a sentence."""
    degree, counts = found.row_degree()[right], found.row_counts()[right]
    order = np.lexsort((right, -counts, -degree))
    order = order[counts[order] > 0]
    doubts = tuple(
        Doubt(
            row=int(right[i]),
            degree=float(degree[i]),
            n_broken=int(counts[i]),
            sentence=row_sentences(found, int(right[i]))[0],
        )
        for i in order[:MOST_DOUBTS].tolist()
    )
    return doubts, int(order.size)


def _note(wrong: Bools, folds: int, n_drawn: int) -> str | None:
    """What cannot be said, and why."""
    n_wrong, n_right = int(wrong.sum()), int((~wrong).sum())
    if not wrong.size:
        return "No row has both a prediction and a truth: nothing can be explained."
    if not n_wrong:
        return "No prediction is wrong: there is nothing to predict."
    if not n_right:
        return "Every prediction is wrong: there is nothing to tell apart."
    fewest, kind = min((n_wrong, "wrong"), (n_right, "right"))
    if fewest < 2:
        return f"Only one prediction is {kind}: too few to cross-validate."
    if fewest < folds:
        return f"Only {fewest} predictions are {kind}: {fewest} folds instead of {folds}."
    drawn = f"The models are of {n_drawn:,} rows, drawn from the wrong and the right ones alike."
    return drawn if n_drawn < wrong.size else None
