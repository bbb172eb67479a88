"""text_values: names and classes as text, whatever kind of column a file made of them."""

from sqrl._data.table import Column


def text_values(column: Column) -> list[str]:
    """The column's values as text, whole numbers without a point, "" where missing.

    >>> from sqrl._data.column import from_plain
    >>> text_values(from_plain("image", [7, 12], "doctest"))
    ['7', '12']
    """
    if column.kind == "category":
        return [column.categories[code] if code >= 0 else "" for code in column.values.tolist()]
    return [f"{value:.15g}" for value in column.values.tolist()]
