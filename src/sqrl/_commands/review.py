"""sqrl review: what people decide about rules."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sqrl._commands import options
from sqrl._commands.options import option
from sqrl._commands.results import show, tell_written, width

if TYPE_CHECKING:
    from sqrl._rules.ruleset import RuleSet


class ReviewFormat(StrEnum):
    """How a review is written to stdout."""

    table = "table"
    json = "json"
    markdown = "markdown"


def review(  # noqa: PLR0917
    path: options.Rules,
    accept: Annotated[
        list[str] | None, option("ID", "Accept this rule; may be given more than once.")
    ] = None,
    reject: Annotated[
        list[str] | None, option("ID", "Reject this rule: it is no longer checked.")
    ] = None,
    waive: Annotated[
        list[str] | None, option("ID", "Waive this rule: it fails no check until a day.")
    ] = None,
    until: Annotated[
        str | None, option("DATE", "The last day of a waiver, such as 2026-12-31.")
    ] = None,
    withdraw: Annotated[
        list[str] | None, option("ID", "Withdraw what was decided about this rule.")
    ] = None,
    by: Annotated[str | None, option("NAME", "Who decides.")] = None,
    why: Annotated[str | None, option("TEXT", "Why it is decided so.")] = None,
    data: Annotated[
        str | None,
        option("FILE", "Open a page to review the rules beside these rows, on this machine alone."),
    ] = None,
    port: Annotated[
        int, option("N", "Port of the page; by default a free one.", min=0, max=65535)
    ] = 0,
    open_browser: Annotated[
        bool, option(None, "Open the page in a browser.", "--open/--no-open")
    ] = True,
    against: Annotated[
        Path | None, option("BASE", "Show which rules and decisions changed since this file.")
    ] = None,
    format: Annotated[
        ReviewFormat, option(None, "Write the result as a table, as JSON or as Markdown.")
    ] = ReviewFormat.table,
    top: options.Top = 10,
) -> None:
    """Accept, reject or waive rules, by their ids; who, when and why is kept in the rules file.

    With nothing to decide it lists all decisions; --data opens a page that shows each rule beside
    its rows, and --against shows what has changed since other rules.
    """
    import sqrl
    from sqrl._rules.decisions import today
    from sqrl._rules.save_edits import save_edits
    from sqrl.report._text_review import decision_lines

    rules = sqrl.load_rules(path)
    asked = {"accept": accept, "reject": reject, "waive": waive, "withdraw": withdraw}
    if sum([any(asked.values()), data is not None, against is not None]) > 1:
        raise typer.BadParameter("decide, or give one of --data and --against.")
    if any(asked.values()):
        decided = _decided(rules, asked, until=until, by=by, why=why)
        save_edits(decided, path)
        tell_written(path)
        return
    if data is not None:
        _serve(path, data, by=by, port=port, opens=open_browser)
        return
    if against is not None:
        _show_changes(sqrl.load_rules(against), rules, format, top)
        return
    if format == ReviewFormat.markdown:
        raise typer.BadParameter("markdown is for --against.", param_hint="'--format'")
    lines = decision_lines(rules, day=today(), top=top, width=width())
    show(list(rules.decisions), lines, options.Format(format.value))


def _serve(path: Path, data: str, *, by: str | None, port: int, opens: bool) -> None:
    """Serve the review page until Ctrl-C; every step is saved by then."""
    from contextlib import nullcontext

    from sqrl._commands.reading import open_data, refuse_empty
    from sqrl._data.table import Table
    from sqrl._data.write_file import check_writable
    from sqrl._opening import Opening
    from sqrl._review.browser import opening_browser
    from sqrl._review.saved_rules import SavedRules
    from sqrl._review.server import open_server
    from sqrl._review.session import Session

    check_writable(path)
    (table,) = open_data(Opening(engine="memory"), data)
    assert isinstance(table, Table)
    refuse_empty(table, data)
    rules = SavedRules(path, again="stop sqrl review with Ctrl-C and start it again")
    session = Session(rules, table, by=by or _user())
    with open_server(session, port=port) as server:
        typer.echo(f"review {path} at {server.address}")
        typer.echo("every step is saved at once; stop with Ctrl-C", err=True)
        try:
            with opening_browser(server.address) if opens else nullcontext():
                server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            session.finish()
            steps = "1 step" if session.n_taken == 1 else f"{session.n_taken:,} steps"
            typer.echo(f"stopped; {steps} saved in {path}", err=True)


def _user() -> str:
    """The name of whoever is logged in."""
    from sqrl._review.review import logged_in

    name = logged_in()
    if name is None:
        raise typer.BadParameter("say who decides.", param_hint="'--by'")
    return name


def _show_changes(base: "RuleSet", rules: "RuleSet", format: ReviewFormat, top: int) -> None:
    from sqrl.report._review_changes import change_lines, change_markdown, review_changes

    changes = review_changes(base, rules)
    if format == ReviewFormat.markdown:
        typer.echo(change_markdown(changes), nl=False)
        return
    lines = change_lines(changes, top=top, width=width())
    show(changes.to_dict(), lines, options.Format(format.value))


def _decided(
    rules: "RuleSet",
    asked: dict[str, list[str] | None],
    *,
    until: str | None,
    by: str | None,
    why: str | None,
) -> "RuleSet":
    """The rules with what is asked for decided."""
    ids = [one for some in asked.values() for one in some or ()]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"rule '{twice}' is named twice.", param_hint="'ID'")
    if asked["waive"] and until is None:
        what = "a waiver needs its last day, such as 2026-12-31."
        raise typer.BadParameter(what, param_hint="'--until'")
    if until is not None and not asked["waive"]:
        raise typer.BadParameter("is for --waive.", param_hint="'--until'")
    rules = rules.withdraw(asked["withdraw"]) if asked["withdraw"] else rules
    if not (asked["accept"] or asked["reject"] or asked["waive"]):
        return rules
    for name, given in (("--by", by), ("--why", why)):
        if not given:
            what = "say who decides." if name == "--by" else "say why."
            raise typer.BadParameter(what, param_hint=f"'{name}'")
    said = {"by": by or "", "why": why or ""}
    if asked["accept"]:
        rules = rules.accept(asked["accept"], **said)
    if asked["reject"]:
        rules = rules.reject(asked["reject"], **said)
    if asked["waive"]:
        rules = rules.waive(asked["waive"], until=until or "", **said)
    return rules
