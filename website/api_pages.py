"""Pages of the API reference: which public names stand on which; mkdocstrings fills them in."""

from collections.abc import Callable
from dataclasses import dataclass

FOLDER = "api"
# The page has the module's name as its title already.
_UNDER_THE_TITLE = "    options: {show_root_heading: false, show_root_toc_entry: false}\n"


@dataclass(frozen=True)
class Page:
    """A page of the reference: names of `sqrl` that serve one job, or one module."""

    name: str
    title: str
    about: str
    names: tuple[str, ...] = ()  # none: a module, with all that is public in it


PAGES = (
    Page(
        "learning",
        "Learning rules",
        "From rows to rules: [schemas](../schema.md), [reviewing](../review.md).",
        (
            "learn",
            "plan",
            "Plan",
            "propose_schema",
            "Schema",
            "load_schema",
            "carry_decisions",
            "Carried",
            "statistic",
        ),
    ),
    Page(
        "rules",
        "Rules",
        "What learning gives, and what people decide about it: [the language](../language.md),"
        " [reviewing](../review.md).",
        ("RuleSet", "Rule", "load_rules", "Decision", "review", "Review"),
    ),
    Page(
        "checking",
        "Checking",
        "Rows against rules, all at once or one at a time: [checking](../check.md),"
        " [one row at a time](../frames.md#one-row-at-a-time).",
        (
            "check",
            "Violations",
            "Finding",
            "Tally",
            "write_violations",
            "write_report",
            "guard",
            "Guard",
        ),
    ),
    Page(
        "predictions",
        "Predictions",
        "Two models compared, errors explained, predictions repaired: [checking](../check.md),"
        " [repair](../repair.md).",
        ("compare", "Comparison", "explain", "Explanation", "repair", "Repaired"),
    ),
    Page(
        "over-time",
        "Checks over time",
        "Evidence of many checks, added up: [checks over time](../history.md).",
        ("History", "Monitor"),
    ),
    Page(
        "data",
        "Data",
        "Tables, scans of data that is larger than memory, and columns that are computed:"
        " [scale](../scale.md).",
        (
            "read_table",
            "as_table",
            "Table",
            "Column",
            "scan",
            "Scan",
            "extractor",
            "Extractor",
            "split_rows",
            "shuffle_rows",
            "demo_table",
        ),
    ),
    Page(
        "steps",
        "Steps for scikit-learn",
        "Estimators for pipelines: [frames and pipelines](../frames.md#scikit-learn).",
        ("RuleFilter", "RuleFlag", "RuleDetector"),
    ),
    Page(
        "adapting",
        "Adapting models",
        'These need torch, `pip install "sqrl-rules[adapt]"`: [adapting](../adapt.md).',
        (
            "adapt",
            "adapt_stream",
            "Adapted",
            "load_adapted",
            "RuleLoss",
            "Batch",
            "Batches",
            "Categories",
            "tensor_statistic",
        ),
    ),
    Page(
        "training_by_rules",
        "Training by rules",
        "Models from rules, without a label: [training by rules](../train-by-rules.md).",
        (
            "propose_supervision",
            "RuleClassifier",
            "RuleRegressor",
            "fit",
            "Fitted",
            "CentreLoss",
            "Private",
        ),
    ),
    Page("methods", "sqrl.methods", "Methods of adaptation: [methods](../methods.md)."),
    Page("frames", "sqrl.frames", "`df.sqrl`: [frames](../frames.md)."),
    Page("training", "sqrl.training", "Callbacks: [while a model is trained](../training.md)."),
    Page("extract", "sqrl.extract", "Texts and images as numbers: [extractors](../extract.md)."),
    Page("boxes", "sqrl.boxes", "Boxes around objects: [boxes](../detection.md)."),
    Page("export", "sqrl.export", "Rules as code for other programs: [export](../export.md)."),
    Page("report", "sqrl.report", "Pages about results: [the report](../report.md)."),
    Page("commands", "sqrl.commands", "For commands that other packages add to `sqrl`."),
    Page("errors", "sqrl.errors", "Everything that sqrl raises on purpose."),
)


def api_page(page: Page) -> str:
    """The Markdown of a page, with a line for mkdocstrings for each name or for the module."""
    if not page.names:
        return f"# `{page.title}`\n\n{page.about}\n\n::: {page.title}\n{_UNDER_THE_TITLE}"
    parts = [f"# {page.title}", page.about, *(f"::: sqrl.{name}" for name in page.names)]
    return "\n\n".join(parts) + "\n"


def api_index(summary: Callable[[str], str]) -> str:
    """The first page of the reference: every public name with the first line of its docstring."""
    lines = [
        "# Python API",
        "",
        "Every public name. Those of `sqrl` itself are loaded when they are first used, so that"
        " `import sqrl` is quick; `sqrl.__version__` is the version. What is not here is private"
        " and may change.",
    ]
    for page in (page for page in PAGES if page.names):
        lines += ["", f"## [{page.title}]({page.name}.md)", "", "| name | |", "|---|---|"]
        for name in page.names:
            path = f"sqrl.{name}"
            lines.append(f"| [`{path}`]({page.name}.md#{path}) | {_cell(summary(path))} |")
    lines += ["", "## Modules", "", "| module | |", "|---|---|"]
    for page in (page for page in PAGES if not page.names):
        lines.append(f"| [`{page.title}`]({page.name}.md) | {_cell(summary(page.title))} |")
    return "\n".join(lines) + "\n"


def first_lines() -> Callable[[str], str]:
    """A function that gives the first docstring line of a name, from the code as it lies there."""
    import griffe  # comes with mkdocstrings

    package = griffe.load("sqrl", search_paths=["src"], resolve_aliases=True)

    def summary(path: str) -> str:
        found = package if path == "sqrl" else package[path.removeprefix("sqrl.")]
        return found.docstring.value.partition("\n")[0] if found.docstring else ""

    return summary


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
