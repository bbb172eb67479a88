"""Learn statistical quantile rules from data, and check predictions against them.

    rules = sqrl.learn("train.csv", label="y")
    violations = sqrl.check(rules, "predictions.csv", prediction="y_predicted")

The names below are loaded when they are first used, so that `import sqrl` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqrl._version import __version__

if TYPE_CHECKING:
    from sqrl._check import check
    from sqrl._compare import Comparison, compare
    from sqrl._data import Table, as_table, read_table
    from sqrl._demo import demo_table
    from sqrl._detector import RuleDetector
    from sqrl._explain import explain
    from sqrl._explanation import Explanation
    from sqrl._extract import Extractor, extractor
    from sqrl._learn import learn
    from sqrl._plan import Plan, plan
    from sqrl._propose import propose_schema
    from sqrl._rules import Rule, RuleSet
    from sqrl._rules_file import load_rules
    from sqrl._schema import Schema, load_schema
    from sqrl._stats import statistic
    from sqrl._violations import Violations
    from sqrl.errors import SqrlError
    from sqrl.report import write_report

_HOME = {
    "Comparison": "sqrl._compare",
    "Explanation": "sqrl._explanation",
    "Extractor": "sqrl._extract",
    "Plan": "sqrl._plan",
    "Rule": "sqrl._rules",
    "RuleDetector": "sqrl._detector",
    "RuleSet": "sqrl._rules",
    "Schema": "sqrl._schema",
    "SqrlError": "sqrl.errors",
    "Table": "sqrl._data",
    "Violations": "sqrl._violations",
    "as_table": "sqrl._data",
    "check": "sqrl._check",
    "compare": "sqrl._compare",
    "demo_table": "sqrl._demo",
    "explain": "sqrl._explain",
    "extractor": "sqrl._extract",
    "learn": "sqrl._learn",
    "load_rules": "sqrl._rules_file",
    "load_schema": "sqrl._schema",
    "plan": "sqrl._plan",
    "propose_schema": "sqrl._propose",
    "read_table": "sqrl._data",
    "statistic": "sqrl._stats",
    "write_report": "sqrl.report",
}

__all__ = [
    "Comparison",
    "Explanation",
    "Extractor",
    "Plan",
    "Rule",
    "RuleDetector",
    "RuleSet",
    "Schema",
    "SqrlError",
    "Table",
    "Violations",
    "__version__",
    "as_table",
    "check",
    "compare",
    "demo_table",
    "explain",
    "extractor",
    "learn",
    "load_rules",
    "load_schema",
    "plan",
    "propose_schema",
    "read_table",
    "statistic",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'sqrl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
