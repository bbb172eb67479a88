"""Rules against rows: outcomes, tests of the null hypothesis, results.

The door is `check.check`.
"""
