"""Which changes another column explains: with that column as it was, would they be there?"""

from collections.abc import Sequence

from sqrl._check.groups import Decision, Group
from sqrl._check.violations import Violations


def explained_groups(
    found: Violations, first: Group, others: Sequence[Group], decision: Decision
) -> list[Group]:
    """Those of the other groups that are no longer significant with the first one's column back."""
    del found, first, others, decision
    return []
