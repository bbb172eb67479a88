"""SavedRules: the rules of a file, into which edits are saved unless somebody else wrote it."""

from hashlib import sha256
from pathlib import Path

from sqrl._rules.files import load_rules
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.save_edits import save_edits
from sqrl.errors import RulesFileError


class SavedRules:
    """The rules of a file as they were `loaded`; `again` is how a person opens them anew."""

    def __init__(self, path: str | Path, *, again: str) -> None:
        self.path, self._again = Path(path), again
        self._digest = _digest(self.path)  # before it is read: what is written then is not ours
        self.loaded = load_rules(self.path)

    def save(self, rules: RuleSet, edited: tuple[str, ...]) -> None:
        """Write decisions, and the bounds of the rules that were edited."""
        if _digest(self.path) != self._digest:
            raise RulesFileError(
                "The rules file has changed since it was opened here.",
                where=str(self.path),
                fix=self._again,
            )
        save_edits(rules, self.path, edited=edited)
        self._digest = _digest(self.path)


def _digest(path: Path) -> bytes:
    return sha256(path.read_bytes()).digest() if path.exists() else b""
