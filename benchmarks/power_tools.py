"""What judges a batch: sqrl, and what people use today. Each learns from reference rows once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

Frame = Any  # pandas has no types here
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Alarm:
    """Whether a tool says that something is wrong, and the columns that its first finding names."""

    raised: bool
    first: tuple[str, ...] = ()
    n_findings: int = 0
    by_error: bool = False


class Tool(Protocol):
    """Learns from reference rows, and then says of batches whether they are like those."""

    def __call__(self, batch: Frame) -> Alarm:
        """Whether the batch is unlike the reference."""
        ...


Learner = Callable[[Frame, str | None], Tool]


def sqrl_default(reference: Frame, label: str | None) -> Tool:
    """`sqrl learn` without any option."""
    del label
    return _sqrl(reference, None)


def sqrl_label(reference: Frame, label: str | None) -> Tool:
    """`sqrl learn --label`."""
    return _sqrl(reference, label)


def _sqrl(reference: Frame, label: str | None) -> Tool:
    import sqrl

    rules = sqrl.learn(reference, label=label)

    def judge(batch: Frame) -> Alarm:
        try:
            found = sqrl.check(rules, batch)
        except sqrl.SqrlError:
            return Alarm(True, by_error=True)
        if hasattr(found, "findings"):
            findings = found.findings()
            first = tuple(findings[0].columns[:2]) if findings else ()
            return Alarm(bool(findings), first, len(findings))
        return Alarm(found.n_significant > 0, n_findings=found.n_significant)

    return judge


def ks_bh(reference: Frame, label: str | None) -> Tool:
    """Kolmogorov-Smirnov, chi-square and missing rate of each column, Benjamini-Hochberg at 5 %."""
    from scipy import stats

    del label

    def p_values(batch: Frame) -> dict[str, float]:
        found: dict[str, float] = {}
        for name in reference:
            old, new = reference[name], batch[name]
            n_old, n_new = int(old.isna().sum()), int(new.isna().sum())
            sizes = [[n_old, len(old) - n_old], [n_new, len(new) - n_new]]
            tests = [stats.fisher_exact(sizes).pvalue]
            old, new = old.dropna(), new.dropna()
            if len(new) and is_numeric_dtype(old) and not is_bool_dtype(old) and old.nunique() > 20:
                tests.append(stats.ks_2samp(old, pd.to_numeric(new)).pvalue)
            elif len(new) and old.nunique() <= 1000:
                if is_numeric_dtype(old):
                    old, new = old.astype(float), pd.to_numeric(new).astype(float)
                tests.append(_chi_square(old.astype(str), new.astype(str)))
            found[str(name)] = min(1.0, len(tests) * float(min(tests)))
        return found

    def judge(batch: Frame) -> Alarm:
        try:
            p = p_values(batch)
        except (KeyError, ValueError, TypeError):
            return Alarm(True, by_error=True)
        ordered = sorted(p, key=lambda name: p[name])
        limits = LEVEL * np.arange(1, len(p) + 1) / len(p)
        below = np.flatnonzero(np.array([p[name] for name in ordered]) <= limits)
        chosen = ordered[: below[-1] + 1] if below.size else []
        return Alarm(bool(chosen), tuple(chosen[:1]), len(chosen))

    return judge


def _chi_square(old: "pd.Series[str]", new: "pd.Series[str]") -> float:
    from scipy import stats

    counts = pd.concat([old.value_counts(), new.value_counts()], axis=1).fillna(0).to_numpy()
    if len(counts) < 2:
        return 1.0
    return float(stats.chi2_contingency(counts.T).pvalue)


def two_sample_classifier(reference: Frame, label: str | None) -> Tool:
    """Boosted trees that tell batch from reference: is their AUC on held-out rows above a half?"""
    from scipy import stats
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    del label

    def numbers(frame: Frame) -> Frame:
        coded = {}
        for name in reference:
            old = reference[name]
            if is_numeric_dtype(old):
                coded[name] = pd.to_numeric(frame[name]).astype(float)
            else:
                known = sorted(set(old.dropna().astype(str)))[:200]
                codes = {word: float(place) for place, word in enumerate(known)}
                coded[name] = frame[name].astype(str).map(codes).astype(float).fillna(-1.0)
        return pd.DataFrame(coded)

    def judge(batch: Frame) -> Alarm:
        try:
            new = numbers(batch)
        except (KeyError, ValueError, TypeError):
            return Alarm(True, by_error=True)
        old = numbers(reference.sample(min(len(reference), 2 * len(batch)), random_state=0))
        both = pd.concat([old, new], ignore_index=True)
        is_new = np.r_[np.zeros(len(old)), np.ones(len(new))]
        rng = np.random.default_rng(0)
        train = rng.random(len(both)) < 0.5
        model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
        with threadpool_limits(1):  # threads that wait for each other on a busy machine
            model.fit(both[train], is_new[train])
            scores = model.predict_proba(both[~train])[:, 1]
        truth = is_new[~train] == 1
        test = stats.mannwhitneyu(scores[truth], scores[~truth], alternative="greater")
        return Alarm(bool(test.pvalue < LEVEL))

    return judge


def pandera_inferred(reference: Frame, label: str | None) -> Tool:
    """pandera's `infer_schema`, as a newcomer would use it."""
    import pandera.pandas as pa

    del label
    schema = pa.infer_schema(reference)

    def judge(batch: Frame) -> Alarm:
        try:
            schema.validate(batch, lazy=True)
        except pa.errors.SchemaErrors as error:
            cases = error.failure_cases
            columns = tuple(dict.fromkeys(str(name) for name in cases["column"].dropna()))
            return Alarm(True, columns[:1], len(columns))
        except (pa.errors.SchemaError, KeyError, TypeError, ValueError):
            return Alarm(True, by_error=True)
        return Alarm(False)

    return judge


TOOLS: dict[str, Learner] = {
    "sqrl": sqrl_default,
    "sqrl --label": sqrl_label,
    "KS / chi-square + BH": ks_bh,
    "two-sample classifier": two_sample_classifier,
    "pandera": pandera_inferred,
}
LIBRARIES = ("sqrl-rules", "numpy", "scipy", "pandas", "scikit-learn", "pandera")
