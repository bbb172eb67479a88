"""A trace as a table for the terminal, and as a drawing."""

import textwrap
from collections.abc import Iterator
from typing import Any

from sqrl._adapt.trace import Record, Trace
from sqrl.report._wording import counted

WIDTH = 80
MOST_ROWS = 24  # the first and last half of these are shown


def trace_lines(trace: Trace, *, width: int = WIDTH) -> Iterator[str]:
    """What was adapted, a row for each record, and how it ended."""
    yield from textwrap.wrap(_opening(trace), width)
    if trace.records:
        yield ""
        yield from _table(trace)
    yield ""
    for sentence in (_closing(trace), *(f"note: {note}" for note in trace.notes)):
        yield from textwrap.wrap(sentence, width)


def _opening(trace: Trace) -> str:
    what = f"Adapted {trace.mode} by {trace.objective}"
    if not trace.n_tensors:
        return f"{what}: no parameters."
    return f"{what}: {counted(trace.n_values, 'value')} in {counted(trace.n_tensors, 'tensor')}."


def _table(trace: Trace) -> Iterator[str]:
    first = "epoch" if trace.mode == "offline" else "batch"
    yield _row(first, "loss", "broken, held out", "excess, held out", "lr", "kept", "seconds")
    rows = [_cells(record) for record in trace.records]
    left_out = len(rows) - MOST_ROWS
    if left_out > 0:
        rows[MOST_ROWS // 2 : -MOST_ROWS // 2] = [(f"... {left_out:,} more", *[""] * 6)]
    for cells in rows:
        yield _row(*cells).rstrip()


def _cells(record: Record) -> tuple[str, ...]:
    return (
        f"{record.number:,}",
        "-" if record.loss is None else f"{record.loss:.4g}",
        _change(record.share_before, record.share_after, "{:.1%}"),
        _change(record.excess_before, record.excess_after, "{:.3g}"),
        f"{record.lr:.3g}",
        "yes" if record.accepted else "no",
        f"{record.seconds:.2f}",
    )


def _row(*cells: str) -> str:
    number, loss, share, excess, lr, kept, seconds = cells
    return f"{number:>7} {loss:>9} {share:>16} {excess:>20} {lr:>8} {kept:>4} {seconds:>8}"


def _change(before: float | None, after: float | None, form: str) -> str:
    if before is None or after is None:
        return "-"
    return f"{form.format(before)} -> {form.format(after)}"


def _closing(trace: Trace) -> str:
    is_offline = trace.mode == "offline"
    names = ("epoch", "epochs") if is_offline else ("mini-batch", "mini-batches")
    parts = []
    if trace.records:
        parts.append(f"Kept {trace.n_accepted:,} of {counted(len(trace), *names)}.")
    if trace.ending:
        parts.append(trace.ending)
    if trace.result is not None:
        before, after = trace.result.before, trace.result.after
        parts.append(
            f"On mini-batches held out, {before.share:.1%} of what rules apply to broke them as the"
            f" model came, {after.share:.1%} now; the excess went from {before.excess:.3g} to"
            f" {after.excess:.3g} widths."
        )
    return " ".join(parts) or "Nothing was done."


def plot_trace(trace: Trace, ax: Any = None) -> Any:
    """The axes with the loss and the excess held out as lines, what was not kept as red dots."""
    from sqrl.report._plot import BROKEN, HELD, _axes

    ax = _axes(ax)
    for name, colour, label in (
        ("loss", "grey", "loss, on mini-batches of steps"),
        ("excess_after", HELD, "excess, on mini-batches held out"),
    ):
        points = [(one.number, getattr(one, name)) for one in trace.records]
        known = [(number, value) for number, value in points if value is not None]
        if known:
            ax.plot(*zip(*known, strict=True), color=colour, label=label)
    undone = [one for one in trace.records if not one.accepted]
    heights = [one.loss if one.excess_after is None else one.excess_after for one in undone]
    if undone:
        ax.scatter([one.number for one in undone], heights, c=BROKEN, zorder=3, label="not kept")
    ax.set_xlabel("epoch" if trace.mode == "offline" else "mini-batch")
    if trace.records:
        ax.legend(frameon=False)
    return ax
