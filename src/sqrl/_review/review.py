"""review(): the review page in a notebook."""

import getpass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from sqrl._data.table import Table, as_table
from sqrl._data.write_file import check_writable
from sqrl._review.assets import own_asset, review_script, review_style
from sqrl._review.saved_rules import SavedRules
from sqrl._review.session import Session, Step
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError, MissingExtraError, SqrlError
from sqrl.report._page import fill_page


def review(rules: RuleSet | str | Path, data: Any, *, by: str | None = None) -> "Review":
    """The review page in a notebook cell: accept, reject or waive rules beside rows of `data`.

    What was decided so far, and every bound that was edited, is in `.rules` of the result. If
    `rules` is the path of a rules file, every step is saved there at once, as `sqrl review` does.
    `by` is who decides: whoever is logged in, unless said. Needs the extra `notebook`.

        reviewed = sqrl.review(rules, train, by="Ann Lee")
        reviewed  # at the end of a cell: shows the page
        reviewed.rules.save("rules.json")
    """
    who = by or logged_in()
    if who is None:
        raise DataError("It is not known who decides.", fix='review(rules, data, by="Ann Lee")')
    known: RuleSet | SavedRules
    if isinstance(rules, RuleSet):
        known = rules
    else:
        check_writable(Path(rules))
        known = SavedRules(rules, again="run the cell again")
    is_named = isinstance(data, str | Path | Table)
    table = as_table(data, source=None if is_named else "your data")
    if table.n_rows == 0:
        raise DataError("The table has no rows.", where=table.source, fix="give rows to look at")
    return Review(Session(known, table, by=who), _widget_class()())


class Review:
    """Rules in review: `rules` is the rule set with what has been decided so far."""

    def __init__(self, session: Session, widget: Any) -> None:
        self._session, self.widget = session, widget
        widget.on_msg(self._hear)

    @property
    def rules(self) -> RuleSet:
        """The rules with all decisions and edited bounds; the rules that were given stay as is."""
        return self._session.rules

    def __repr__(self) -> str:
        rules = self.rules
        return f"Review: {len(rules):,} rules, {len(rules.decisions):,} of them decided about"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """What a notebook shows: the page, or where there are no widgets a line of text."""
        return self.widget._repr_mimebundle_(**options)

    def _hear(self, _: Any, message: Any, __: Any) -> None:
        """Answer a message of the page; what it is, and what fails, the page is told."""
        said = {"error": "Python failed at this; the kernel's log says how. Nothing was decided."}
        try:
            said = {"answer": msgspec.to_builtins(self._answer(message))}
        except SqrlError as error:
            said = {"error": str(error)}
        except msgspec.ValidationError as error:
            said = {"error": f"this is no step: {error}"}
        finally:
            self.widget.send({"id": message.get("id"), "step": "step" in message} | said)

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        if "step" in message:
            return self._session.step(msgspec.convert(message["step"], Step))
        if "rule" in message:
            return self._session.rule(str(message["rule"]))
        return self._session.page_data()


def logged_in() -> str | None:
    """The name of whoever is logged in, if it is known."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # by Python's version and system
        return None


def widget_module() -> str:
    """The script of the widget, with its style and its markup inside."""
    style = own_asset("widget.css") + review_style()
    texts = {"style": style, "body": own_asset("review_body.html")}
    parts = {name: msgspec.json.encode(text.decode()) for name, text in texts.items()}
    return (review_script() + fill_page(own_asset("widget.js"), parts)).decode()


@cache
def _widget_class() -> Any:
    try:
        from anywidget import AnyWidget
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"The review page in a notebook needs {error.name}.",
            fix='pip install "sqrl-rules[notebook]", or sqrl review rules.json --data FILE in a '
            "terminal",
        ) from None

    class ReviewWidget(AnyWidget):  # type: ignore[misc]
        """Shows the page; all it knows it asks Python for."""

        _esm = widget_module()

    return ReviewWidget
