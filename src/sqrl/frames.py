"""`df.sqrl.learn()` and `df.sqrl.check(rules)` for pandas and polars, once this is imported.

    import sqrl.frames

    rules = train.sqrl.learn(label="income")
    found = new.sqrl.check(rules)

Importing it is asking for it: it gives every frame an attribute, and loads pandas and polars where
they are installed, neither of which `import sqrl` should do.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqrl._check.check import check
from sqrl._check.violations import Violations
from sqrl._learn.learn import learn
from sqrl._rules.files import load_rules
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import MissingExtraError

__all__ = ["FrameRules", "register"]

NAME = "sqrl"


class FrameRules:
    """What `df.sqrl` is: rules of a frame's rows."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def learn(self, schema: Any = None, **options: Any) -> RuleSet:
        """The rules that the rows keep; arguments as `sqrl.learn` takes them."""
        return learn(self._frame, schema, **options)

    def check(self, rules: RuleSet | str | Path, **options: Any) -> Violations:
        """Which rules, or those of a file, the rows break; options as `sqrl.check` takes them."""
        known = rules if isinstance(rules, RuleSet) else load_rules(rules)
        return check(known, self._frame, **options)


def register() -> tuple[str, ...]:
    """The libraries whose frames have `df.sqrl`: those of pandas and polars that are installed."""
    installed = tuple(name for name in ("pandas", "polars") if find_spec(name))
    if not installed:
        raise MissingExtraError(
            "sqrl.frames needs pandas or polars, and neither is installed.",
            fix='pip install "sqrl-rules[frames]"',
        )
    for name in installed:
        api = import_module(name).api
        if name == "pandas" and not hasattr(import_module(name).DataFrame, NAME):
            api.extensions.register_dataframe_accessor(NAME)(FrameRules)
        if name == "polars" and not hasattr(import_module(name).DataFrame, NAME):
            api.register_dataframe_namespace(NAME)(FrameRules)
            api.register_lazyframe_namespace(NAME)(FrameRules)
    return installed


register()
