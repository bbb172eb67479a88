"""Statistics of a mini-batch: a registry, and one file for each family.

Four kinds, by what they are a statistic of:

    values   mean(age)                 of the rows' values of an expression
    share    rate(smoke and age > 50)  of the rows where a formula holds
    counts   f1(smoke => cardio = 1)   of how often body, head and both hold
    cells    distance(age/10)          of the shares of rows in cells, against a reference
"""

from sqrl._language.statistics import cells, counts, values  # noqa: F401 - they register
from sqrl._language.statistics.registry import BatchStatistic as BatchStatistic
from sqrl._language.statistics.registry import batch_statistic as batch_statistic
from sqrl._language.statistics.registry import batch_statistics as batch_statistics
from sqrl._language.statistics.registry import is_batch_statistic as is_batch_statistic
from sqrl._language.statistics.registry import statistic as statistic

BUILT_IN = batch_statistics()  # before a user has registered any
