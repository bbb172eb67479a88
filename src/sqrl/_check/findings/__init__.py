"""From broken rules to causes: `findings.py` decides and explains, the other files serve it."""
