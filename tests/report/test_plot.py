"""Drawings with matplotlib."""

import subprocess
import sys

import pytest

import sqrl
from made_reports import check_detections, demo_detections, demo_rules
from sqrl.errors import UnknownNameError
from sqrl.report._plot import plot_rule, plot_summary

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def violations():
    return check_detections(demo_rules(), demo_detections())


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


def test_every_rule_can_be_drawn(violations):
    """Intervals, pieces, mini-batches and classes: each has a drawing with its sentence above."""
    from matplotlib import pyplot

    kinds = set()
    for rule in range(len(violations)):
        ax = plot_rule(violations, rule)
        ax.figure.canvas.draw()
        kinds.add(violations.rules.form(rule).kind)
        assert ax.get_title(loc="left")
        pyplot.close(ax.figure)

    assert kinds == {"sample", "logic", "class"}


def test_red_bars_hold_as_many_rows_as_are_outside(violations):
    """The share of red in a drawing is the share of broken rows."""
    rule = next(
        index
        for index in violations.worst().tolist()
        if violations.rules.form(index).kind == "sample"
    )
    ax = plot_rule(violations, rule)
    red = matplotlib.colors.to_rgba("#c8452d")
    heights = [(bar.get_height(), bar.get_facecolor() == red) for bar in ax.patches]
    share = sum(h for h, is_red in heights if is_red) / sum(h for h, _ in heights)

    assert share == pytest.approx(violations.broken[rule] / violations.applicable[rule])


def test_drawings_go_on_the_axes_that_are_given(violations):
    """So that several fit in one figure."""
    from matplotlib import pyplot

    _, (left, right) = pyplot.subplots(1, 2)

    assert plot_summary(violations, left) is left
    assert plot_rule(violations, 0, right) is right


def test_the_summary_has_a_dot_for_each_rule_with_known_chance(violations):
    """The two written by hand have none."""
    ax = plot_summary(violations)

    assert sum(len(dots.get_offsets()) for dots in ax.collections) == len(violations) - 2


def test_mathematics_in_a_name_is_drawn_as_it_is_written():
    """A dollar sign starts no formula."""
    rules = sqrl.RuleSet.from_texts([r"0 <= `$\bad{` <= 1"])
    ax = plot_rule(sqrl.check(rules, {r"$\bad{": [0.5, 2.0]}), 0)
    ax.figure.canvas.draw()

    assert r"\$" in ax.get_title(loc="left")


def test_a_rule_that_is_not_there_is_named(violations):
    """A wrong number says which are right."""
    with pytest.raises(UnknownNameError) as caught:
        plot_rule(violations, 999)

    assert str(caught.value) == (
        f"There is no rule 999.\n  fix:   give a number from 0 to {len(violations) - 1}"
    )


def test_without_matplotlib_the_extra_is_named():
    """The message is the command that mends it."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import sqrl\nfrom sqrl.report._plot import plot_summary\n"
        "found = sqrl.check(sqrl.RuleSet.from_texts(['x <= 1']), {'x': [0.0]})\n"
        "try:\n    plot_summary(found)\nexcept sqrl.SqrlError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == 'Plots need matplotlib.\n  fix:   pip install "sqrl-rules[plot]"\n'
