"""Algorithm 1: propose, enumerate, bound, validate, select. The door is `learn.learn`."""
