"""sqrl demo: what rules are, in a few seconds and offline."""

from pathlib import Path
from typing import Annotated

from sqrl._commands.options import option
from sqrl._commands.results import check_rules_path, print_lines, tell_written, width


def demo(
    seed: Annotated[int, option("N", "Random seed of the made-up data and of learning.")] = 0,
    output: Annotated[
        Path | None, option("FILE", "Also write the rules to this file.", "-o", "--output")
    ] = None,
) -> None:
    """Learn rules from made-up boxes around road users, in a few seconds and offline."""
    import sqrl
    from sqrl._data.demo import demo_table
    from sqrl._progress import Bar
    from sqrl.report._text_demo import DEMO_SCHEMA, demo_lines

    if output is not None:
        check_rules_path(output)
    table = demo_table(seed=seed)
    with Bar() as bar:
        rules = sqrl.learn(table, DEMO_SCHEMA, seed=seed, track=bar)
    if output is not None:
        rules.save(output)
    print_lines(demo_lines(table, rules, width=width()))
    tell_written(output)
