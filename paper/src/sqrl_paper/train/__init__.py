"""Training by rules: models without a label, beside what one would do otherwise."""
