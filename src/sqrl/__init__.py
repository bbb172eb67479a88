"""Learn statistical quantile rules from data, and check predictions against them.

    rules = sqrl.learn("train.csv", label="y")
    violations = sqrl.check(rules, "predictions.csv", prediction="y_predicted")

The names below are loaded when they are first used, so that `import sqrl` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqrl._version import __version__ as __version__

# Every public name and the module that holds it: a line here, and one below for type checkers.
_HOME = {
    "Adapted": "sqrl._adapt.adapted",
    "Batch": "sqrl._adapt.batches",
    "Batches": "sqrl._adapt.batches",
    "Carried": "sqrl._learn.keep",
    "Categories": "sqrl._adapt.batches",
    "CentreLoss": "sqrl._train.centre_loss",
    "Column": "sqrl._data.column",
    "Comparison": "sqrl._check.compare",
    "Decision": "sqrl._rules.decisions",
    "Explanation": "sqrl._explain.explanation",
    "Extractor": "sqrl._data.extractors",
    "Fitted": "sqrl._train.fit",
    "Finding": "sqrl._check.findings.findings",
    "Guard": "sqrl._check.guard",
    "History": "sqrl._history.history",
    "Monitor": "sqrl._history.monitor",
    "Plan": "sqrl._learn.plan",
    "Private": "sqrl._learn.private",
    "Repaired": "sqrl._repair.repaired",
    "Review": "sqrl._review.review",
    "Rule": "sqrl._rules.ruleset",
    "RuleClassifier": "sqrl._train.estimators",
    "RuleDetector": "sqrl._learn.detector",
    "RuleFilter": "sqrl._learn.row_steps",
    "RuleFlag": "sqrl._learn.row_steps",
    "RuleLoss": "sqrl._adapt.rule_loss.loss",
    "RuleRegressor": "sqrl._train.estimators",
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
    "carry_decisions": "sqrl._learn.keep",
    "check": "sqrl._check.check",
    "compare": "sqrl._check.compare",
    "demo_table": "sqrl._data.demo",
    "explain": "sqrl._explain.explain",
    "extractor": "sqrl._data.extractors",
    "fit": "sqrl._train.fit",
    "guard": "sqrl._check.guard",
    "learn": "sqrl._learn.learn",
    "load_adapted": "sqrl._adapt.state_file",
    "load_rules": "sqrl._rules.files",
    "load_schema": "sqrl._rules.schema",
    "plan": "sqrl._learn.plan",
    "propose_schema": "sqrl._learn.propose",
    "propose_supervision": "sqrl._learn.supervise",
    "read_table": "sqrl._data.table",
    "repair": "sqrl._repair.repair",
    "review": "sqrl._review.review",
    "scan": "sqrl._scan.scan",
    "shuffle_rows": "sqrl._data.draws",
    "split_rows": "sqrl._data.draws",
    "statistic": "sqrl._language.statistics",
    "tensor_statistic": "sqrl._adapt.rule_loss.tensor_statistics",
    "write_report": "sqrl.report",
    "write_violations": "sqrl._check.check",
}
_NAMES = sorted([*_HOME, "__version__"])
# Public modules, which need no import of their own.
_MODULES = ("boxes", "errors", "export", "extract", "frames", "methods", "report", "training")

if TYPE_CHECKING:
    from sqrl._adapt.adapt import adapt as adapt
    from sqrl._adapt.adapt import adapt_stream as adapt_stream
    from sqrl._adapt.adapted import Adapted as Adapted
    from sqrl._adapt.batches import Batch as Batch
    from sqrl._adapt.batches import Batches as Batches
    from sqrl._adapt.batches import Categories as Categories
    from sqrl._adapt.rule_loss.loss import RuleLoss as RuleLoss
    from sqrl._adapt.rule_loss.tensor_statistics import tensor_statistic as tensor_statistic
    from sqrl._adapt.state_file import load_adapted as load_adapted
    from sqrl._check.check import check as check
    from sqrl._check.check import write_violations as write_violations
    from sqrl._check.compare import Comparison as Comparison
    from sqrl._check.compare import compare as compare
    from sqrl._check.findings.findings import Finding as Finding
    from sqrl._check.guard import Guard as Guard
    from sqrl._check.guard import guard as guard
    from sqrl._check.violations import Tally as Tally
    from sqrl._check.violations import Violations as Violations
    from sqrl._data.column import Column as Column
    from sqrl._data.demo import demo_table as demo_table
    from sqrl._data.draws import shuffle_rows as shuffle_rows
    from sqrl._data.draws import split_rows as split_rows
    from sqrl._data.extractors import Extractor as Extractor
    from sqrl._data.extractors import extractor as extractor
    from sqrl._data.table import Table as Table
    from sqrl._data.table import as_table as as_table
    from sqrl._data.table import read_table as read_table
    from sqrl._explain.explain import explain as explain
    from sqrl._explain.explanation import Explanation as Explanation
    from sqrl._history.history import History as History
    from sqrl._history.monitor import Monitor as Monitor
    from sqrl._language.statistics import statistic as statistic
    from sqrl._learn.detector import RuleDetector as RuleDetector
    from sqrl._learn.keep import Carried as Carried
    from sqrl._learn.keep import carry_decisions as carry_decisions
    from sqrl._learn.learn import learn as learn
    from sqrl._learn.plan import Plan as Plan
    from sqrl._learn.plan import plan as plan
    from sqrl._learn.private import Private as Private
    from sqrl._learn.propose import propose_schema as propose_schema
    from sqrl._learn.row_steps import RuleFilter as RuleFilter
    from sqrl._learn.row_steps import RuleFlag as RuleFlag
    from sqrl._learn.supervise import propose_supervision as propose_supervision
    from sqrl._repair.repair import repair as repair
    from sqrl._repair.repaired import Repaired as Repaired
    from sqrl._review.review import Review as Review
    from sqrl._review.review import review as review
    from sqrl._rules.decisions import Decision as Decision
    from sqrl._rules.files import load_rules as load_rules
    from sqrl._rules.ruleset import Rule as Rule
    from sqrl._rules.ruleset import RuleSet as RuleSet
    from sqrl._rules.schema import Schema as Schema
    from sqrl._rules.schema import load_schema as load_schema
    from sqrl._scan.scan import Scan as Scan
    from sqrl._scan.scan import scan as scan
    from sqrl._train.centre_loss import CentreLoss as CentreLoss
    from sqrl._train.estimators import RuleClassifier as RuleClassifier
    from sqrl._train.estimators import RuleRegressor as RuleRegressor
    from sqrl._train.fit import Fitted as Fitted
    from sqrl._train.fit import fit as fit
    from sqrl.errors import SqrlError as SqrlError
    from sqrl.report import write_report as write_report
else:  # type checkers go by `as`: they would not understand this
    __all__ = list(_NAMES)


def __getattr__(name: str) -> Any:
    if name in _HOME or name in _MODULES:
        try:
            if name in _MODULES:
                return import_module(f"sqrl.{name}")
            return getattr(import_module(_HOME[name]), name)
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "safetensors"):
                raise
            from sqrl.errors import MissingExtraError

            fix = 'pip install "sqrl-rules[adapt]"'
            raise MissingExtraError(f"sqrl.{name} needs {error.name}.", fix=fix) from None
    raise AttributeError(f"module 'sqrl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*_NAMES, *_MODULES]
