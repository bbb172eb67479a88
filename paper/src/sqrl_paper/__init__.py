"""The paper's tables on real data: what `sqrl bench TASK` runs, a folder for each task.

`command` is the command, `bench` puts the results together, `runs` does jobs side by side and
remembers them, `results` says how they came about, `table` and `terminal` lay them out. A task's
`bench` module says what is run, and what is shown; `shared` has what several tasks use.
"""
