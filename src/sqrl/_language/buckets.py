"""The buckets between cut points, as formulas."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sqrl._language.tree import Between, Compare, Node, Number


def bucket_formulas(subject: Node, cuts: NDArray[np.float64]) -> list[Node]:
    """One formula for each bucket between the cut points.

    >>> from sqrl._language.printer import to_text
    >>> from sqrl._language.tree import Name
    >>> [to_text(formula) for formula in bucket_formulas(Name("age"), np.array([30.0, 60.0]))]
    ['age <= 30', '30 < age <= 60', 'age > 60']
    """
    numbers = [Number(float(cut)) for cut in cuts]
    inner = [Between(low, "<", subject, "<=", high) for low, high in pairwise(numbers)]
    return [Compare(subject, "<=", numbers[0]), *inner, Compare(subject, ">", numbers[-1])]
