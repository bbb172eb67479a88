"""Adaptation of torch models without labels: objectives, the loop of Algorithm 2, its guard.

Everything here imports torch; nothing outside of `_adapt`, `methods` and `tasks` does.
"""
