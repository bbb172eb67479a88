"""Standing: how far each rule can be relied on in the rows at hand, as weights and bounds."""

from dataclasses import dataclass, replace

from torch import Tensor

from sqrl._adapt.rule_loss.machine import Claims


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """A weight for each rule, 0 where it is left out, and how far its bounds are moved.

    Bounds move where the class balance has, and apart where that is not known well. Shapes: each
    (rules,).
    """

    weights: Tensor
    lower: Tensor
    upper: Tensor

    def moved(self, claims: Claims) -> Claims:
        """What rules claim of a mini-batch, within the bounds that hold now."""
        lower = claims.lower + self.lower.to(claims.lower)[claims.rule]
        upper = claims.upper + self.upper.to(claims.upper)[claims.rule]
        return replace(claims, lower=lower, upper=upper)
