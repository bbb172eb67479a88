"""Learn statistical quantile rules from data, and check predictions against them.

    rules = sqrl.learn("train.csv", label="y")
    violations = sqrl.check(rules, "predictions.csv", prediction="y_predicted")

The names below are loaded when they are first used, so that `import sqrl` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqrl._version import __version__

if TYPE_CHECKING:
    from sqrl._adapt._adapt import adapt, adapt_stream
    from sqrl._adapt._adapted import Adapted
    from sqrl._adapt._batches import Batch, Batches, Categories
    from sqrl._adapt._loss import RuleLoss
    from sqrl._adapt._state_file import load_adapted
    from sqrl._adapt._statistics import tensor_statistic
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
    from sqrl._repair import repair
    from sqrl._repaired import Repaired
    from sqrl._rules import Rule, RuleSet
    from sqrl._rules_file import load_rules
    from sqrl._scan._check import write_violations
    from sqrl._scan._open import Scan, scan
    from sqrl._schema import Schema, load_schema
    from sqrl._stats import statistic
    from sqrl._tally import Tally
    from sqrl._violations import Violations
    from sqrl.errors import SqrlError
    from sqrl.report import write_report

_HOME = {
    "Adapted": "sqrl._adapt._adapted",
    "Batch": "sqrl._adapt._batches",
    "Batches": "sqrl._adapt._batches",
    "Categories": "sqrl._adapt._batches",
    "Comparison": "sqrl._compare",
    "Explanation": "sqrl._explanation",
    "Extractor": "sqrl._extract",
    "Plan": "sqrl._plan",
    "Repaired": "sqrl._repaired",
    "Rule": "sqrl._rules",
    "RuleDetector": "sqrl._detector",
    "RuleLoss": "sqrl._adapt._loss",
    "RuleSet": "sqrl._rules",
    "Scan": "sqrl._scan._open",
    "Schema": "sqrl._schema",
    "SqrlError": "sqrl.errors",
    "Table": "sqrl._data",
    "Tally": "sqrl._tally",
    "Violations": "sqrl._violations",
    "adapt": "sqrl._adapt._adapt",
    "adapt_stream": "sqrl._adapt._adapt",
    "as_table": "sqrl._data",
    "check": "sqrl._check",
    "compare": "sqrl._compare",
    "demo_table": "sqrl._demo",
    "explain": "sqrl._explain",
    "extractor": "sqrl._extract",
    "learn": "sqrl._learn",
    "load_adapted": "sqrl._adapt._state_file",
    "load_rules": "sqrl._rules_file",
    "load_schema": "sqrl._schema",
    "plan": "sqrl._plan",
    "propose_schema": "sqrl._propose",
    "read_table": "sqrl._data",
    "repair": "sqrl._repair",
    "scan": "sqrl._scan._open",
    "statistic": "sqrl._stats",
    "tensor_statistic": "sqrl._adapt._statistics",
    "write_report": "sqrl.report",
    "write_violations": "sqrl._scan._check",
}

__all__ = [
    "Adapted",
    "Batch",
    "Batches",
    "Categories",
    "Comparison",
    "Explanation",
    "Extractor",
    "Plan",
    "Repaired",
    "Rule",
    "RuleDetector",
    "RuleLoss",
    "RuleSet",
    "Scan",
    "Schema",
    "SqrlError",
    "Table",
    "Tally",
    "Violations",
    "__version__",
    "adapt",
    "adapt_stream",
    "as_table",
    "check",
    "compare",
    "demo_table",
    "explain",
    "extractor",
    "learn",
    "load_adapted",
    "load_rules",
    "load_schema",
    "plan",
    "propose_schema",
    "read_table",
    "repair",
    "scan",
    "statistic",
    "tensor_statistic",
    "write_report",
    "write_violations",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        try:
            return getattr(import_module(_HOME[name]), name)
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "safetensors"):
                raise
            from sqrl.errors import MissingExtraError

            fix = 'pip install "sqrl-rules[adapt]"'
            raise MissingExtraError(f"sqrl.{name} needs {error.name}.", fix=fix) from None
    raise AttributeError(f"module 'sqrl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
