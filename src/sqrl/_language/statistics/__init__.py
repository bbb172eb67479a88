"""Statistics of a mini-batch: a registry, and one file for each family.

Three kinds, by what they are a statistic of:

    values   mean(age)                 of the rows' values of an expression
    share    rate(smoke and age > 50)  of the rows where a formula holds
    counts   f1(smoke => cardio = 1)   of how often body, head and both hold
"""

from sqrl._language.statistics import counts, values  # noqa: F401 - they register
from sqrl._language.statistics.registry import (
    BatchStatistic,
    CountStatistic,
    ValueStatistic,
    batch_statistic,
    batch_statistics,
    count_statistic,
    is_batch_statistic,
    statistic,
    statistic_kind,
    value_statistic,
)

BUILT_IN = batch_statistics()  # before a user has registered any

__all__ = [
    "BUILT_IN",
    "BatchStatistic",
    "CountStatistic",
    "ValueStatistic",
    "batch_statistic",
    "batch_statistics",
    "count_statistic",
    "is_batch_statistic",
    "statistic",
    "statistic_kind",
    "value_statistic",
]
