"""sqrl demo: what sqrl does, from good rows to a page about faults, in seconds and offline."""

from pathlib import Path
from typing import Annotated

from sqrl._commands.options import option
from sqrl._commands.results import check_rules_path, print_lines, tell_written, width


def demo(
    seed: Annotated[int, option("N", "Random seed of the made-up data and of learning.")] = 0,
    output: Annotated[
        Path | None, option("FILE", "Also write the rules to this file.", "-o", "--output")
    ] = None,
    report: Annotated[Path, option("FILE", "The page about what was found.")] = Path(
        "sqrl-demo.html"
    ),
) -> None:
    """Learn rules from made-up people, then find faults in new rows and in predictions."""
    from sqrl._progress import Bar
    from sqrl.report import check_report, write_report
    from sqrl.report._text_demo import demo_lines, run_demo

    if output is not None:
        check_rules_path(output)
    check_report(report)
    with Bar() as bar:
        story = run_demo(seed=seed, track=bar)
    write_report(story.slipped, report, reference=story.people)
    if output is not None:
        story.rules.save(output)
    print_lines(demo_lines(story, report, width=width()))
    tell_written(output)
