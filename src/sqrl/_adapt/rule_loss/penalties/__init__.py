"""What it costs to break rules. LOSSES is the door for another loss: see CONTRIBUTING.md."""

from sqrl._adapt.rule_loss.penalties.expected import EXPECTED
from sqrl._adapt.rule_loss.penalties.paper import PAPER
from sqrl._registry import Registry

LOSSES = Registry("loss", {penalty.name: penalty for penalty in (EXPECTED, PAPER)})
