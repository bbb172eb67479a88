"""sqrl demo: what sqrl does, from good rows to a page about faults, in seconds and offline."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from sqrl._commands.options import option
from sqrl._commands.results import check_rules_path, print_lines, tell_written, width

INSTALL = 'pip install "sqrl-rules[adapt]"'


def demo(
    seed: Annotated[int, option("N", "Random seed of the made-up data and of learning.")] = 0,
    output: Annotated[
        Path | None, option("FILE", "Also write the rules to this file.", "-o", "--output")
    ] = None,
    report: Annotated[Path, option("FILE", "The page about what was found.")] = Path(
        "sqrl-demo.html"
    ),
    adapt: Annotated[
        bool,
        option(None, "Also train and adapt a model, if torch is installed.", "--adapt/--no-adapt"),
    ] = True,
) -> None:
    """Learn rules from made-up people, then find faults in new rows and in predictions."""
    from sqrl._progress import Bar
    from sqrl.report import check_report, write_report
    from sqrl.report._text_demo import demo_lines, last_lines, run_demo

    if output is not None:
        check_rules_path(output)
    check_report(report)
    with Bar() as bar:
        story = run_demo(seed=seed, track=bar)
    write_report(story.slipped, report, reference=story.people)
    if output is not None:
        story.rules.save(output)
    print_lines(demo_lines(story, report, width=width()))
    if adapt and find_spec("torch"):
        from sqrl._adapt.demo import adapt_demo, adapt_lines

        with Bar() as bar:
            got = adapt_demo(story.people, story.new, story.rules, seed=seed, track=bar)
        print_lines(adapt_lines(got))
    elif adapt:
        print_lines(["", f"6. A model adapted by the rules, without labels: {INSTALL}"])
    print_lines(last_lines())
    tell_written(output)
