"""The paper's tables on real data: what `sqrl bench TASK` runs, a module for each task.

`_runs` does jobs side by side and remembers them, `_results` says how results came about, `_sheet`
lays out tables, `_bench` puts them together. A task's module says what is run, and what is shown.
"""
