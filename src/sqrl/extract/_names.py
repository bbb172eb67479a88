"""column_names: what columns of scores are called, so that rules can name them."""

import re
from collections.abc import Sequence

from sqrl.errors import SchemaError


def column_names(labels: Sequence[str], prefix: str) -> list[str]:
    """The column of each label: the prefix and the label in small letters, `_` for all else.

    >>> column_names(["POSITIVE", "film & tv"], "review_")
    ['review_positive', 'review_film_tv']
    """
    names = [prefix + re.sub(r"\W+", "_", label.lower()).strip("_") for label in labels]
    for at, name in enumerate(names):
        if name in names[:at]:
            one = labels[names.index(name)]
            raise SchemaError(
                f"The labels {one!r} and {labels[at]!r} would both be the column {name!r}.",
                where="labels",
                fix="give labels that differ in letters or digits",
            )
    return names
