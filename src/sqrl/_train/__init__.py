"""Training by rules: a model that has seen no label learns the rates that rules state of it."""
