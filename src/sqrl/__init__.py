"""Learn statistical quantile rules from data, and check predictions against them.

    rules = sqrl.learn("train.csv", label="y")
    violations = sqrl.check(rules, "predictions.csv", prediction="y_predicted")

The names below are loaded when they are first used, so that `import sqrl` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqrl._version import __version__

if TYPE_CHECKING:
    from sqrl._adapt.adapt import adapt, adapt_stream
    from sqrl._adapt.adapted import Adapted
    from sqrl._adapt.batches import Batch, Batches, Categories
    from sqrl._adapt.rule_loss.loss import RuleLoss
    from sqrl._adapt.rule_loss.tensor_statistics import tensor_statistic
    from sqrl._adapt.state_file import load_adapted
    from sqrl._check.check import check, write_violations
    from sqrl._check.compare import Comparison, compare
    from sqrl._check.violations import Tally, Violations
    from sqrl._data.demo import demo_table
    from sqrl._data.extractors import Extractor, extractor
    from sqrl._data.table import Table, as_table, read_table
    from sqrl._explain.explain import explain
    from sqrl._explain.explanation import Explanation
    from sqrl._language.statistics import statistic
    from sqrl._learn.detector import RuleDetector
    from sqrl._learn.learn import learn
    from sqrl._learn.plan import Plan, plan
    from sqrl._learn.propose import propose_schema
    from sqrl._repair.repair import repair
    from sqrl._repair.repaired import Repaired
    from sqrl._rules.files import load_rules
    from sqrl._rules.ruleset import Rule, RuleSet
    from sqrl._rules.schema import Schema, load_schema
    from sqrl._scan.scan import Scan, scan
    from sqrl.errors import SqrlError
    from sqrl.report import write_report

_HOME = {
    "Adapted": "sqrl._adapt.adapted",
    "Batch": "sqrl._adapt.batches",
    "Batches": "sqrl._adapt.batches",
    "Categories": "sqrl._adapt.batches",
    "Comparison": "sqrl._check.compare",
    "Explanation": "sqrl._explain.explanation",
    "Extractor": "sqrl._data.extractors",
    "Plan": "sqrl._learn.plan",
    "Repaired": "sqrl._repair.repaired",
    "Rule": "sqrl._rules.ruleset",
    "RuleDetector": "sqrl._learn.detector",
    "RuleLoss": "sqrl._adapt.rule_loss.loss",
    "RuleSet": "sqrl._rules.ruleset",
    "Scan": "sqrl._scan.scan",
    "Schema": "sqrl._rules.schema",
    "SqrlError": "sqrl.errors",
    "Table": "sqrl._data.table",
    "Tally": "sqrl._check.violations",
    "Violations": "sqrl._check.violations",
    "adapt": "sqrl._adapt.adapt",
    "adapt_stream": "sqrl._adapt.adapt",
    "as_table": "sqrl._data.table",
    "check": "sqrl._check.check",
    "compare": "sqrl._check.compare",
    "demo_table": "sqrl._data.demo",
    "explain": "sqrl._explain.explain",
    "extractor": "sqrl._data.extractors",
    "learn": "sqrl._learn.learn",
    "load_adapted": "sqrl._adapt.state_file",
    "load_rules": "sqrl._rules.files",
    "load_schema": "sqrl._rules.schema",
    "plan": "sqrl._learn.plan",
    "propose_schema": "sqrl._learn.propose",
    "read_table": "sqrl._data.table",
    "repair": "sqrl._repair.repair",
    "scan": "sqrl._scan.scan",
    "statistic": "sqrl._language.statistics",
    "tensor_statistic": "sqrl._adapt.rule_loss.tensor_statistics",
    "write_report": "sqrl.report",
    "write_violations": "sqrl._check.check",
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
