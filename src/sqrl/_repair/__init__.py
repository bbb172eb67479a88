"""The parts of `sqrl.repair`: predictions moved no further than rules ask for.

`roles` says what each rule can do for a repair, `feasible` finds the nearest number that rules
allow, `labels` the class to fall back on, `mend` applies both until nothing moves any more, and
`original_types` puts the results back among the columns as they were given.
"""
