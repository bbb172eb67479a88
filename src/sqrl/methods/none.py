"""Unadapted: the model as it came, to compare with."""

from sqrl._adapt.objective import Objective


class Unadapted(Objective):
    """The source model as it is: no steps, no new statistics.

    >>> Unadapted().has_steps, Unadapted().statistics
    (False, 'frozen')
    """

    has_steps = False
