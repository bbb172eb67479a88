"""What tests share: golden files, and the command line run in a folder of its own."""

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent
GOLDEN = ROOT / "tests" / "golden"
# What starts Ray, Spark, a browser or a benchmark, trains with torch, or draws many samples;
# the longest first.
COSTLY = (
    "tests/scan/test_ray.py",
    "tests/scan/test_spark.py",
    "paper/tests",
    "tests/benchmarks",
    "tests/report/test_browser.py",
    "tests/report/test_history_page.py",
    "tests/cli/test_history.py",
    "tests/review/test_page.py",
    "tests/review/test_widget_page.py",
    "tests/adapt",
    "tests/methods",
    "tests/explain",
    "tests/check/test_p_values.py",
    "tests/learn/test_scan_learn.py",
    "tests/learn/test_between_machines.py",
    "tests/cli/test_scan.py",
    "tests/report/test_plot.py",
    "tests/export/test_pandera.py",
    "tests/export/test_sql.py",
    "tests/kernels/test_plain_and_compiled.py",
    "tests/cli/test_cli.py",
    "tests/rows/test_rows.py",
    "tests/check/test_scan_check.py",
    "tests/test_conformance.py",
    "tests/report/test_report.py",
    "tests/repair",
    "tests/check/test_compare.py",
    "tests/test_doors_torch.py",
    "tests/check/test_predictions.py",
    "tests/check/test_mini_batches.py",
    "tests/check/test_row_outcomes.py",
    "tests/check/test_evidence.py",
    "tests/check/test_value_tests.py",
    "tests/check/test_findings_rate.py",
    "tests/check/test_scan_results.py",
    "tests/learn/test_formula_rules.py",
    "tests/test_gallery.py",
    "tests/test_pytest_plugin.py",
    "tests/test_training.py",
    "tests/test_code_blocks.py",
    "tests/check/test_guard.py",
    "tests/learn/test_row_steps.py",
    "tests/learn/test_propose.py",
    "tests/kernels/test_kernels.py",
    "tests/kernels/test_selection.py",
    "tests/report/test_boxes.py",
    "tests/data/test_table.py",
    "tests/data/test_formats.py",
    "tests/check/test_probabilities.py",
    "tests/check/test_row_scores.py",
    "tests/kernels/test_sums.py",
    "tests/scan/test_files.py",
    "tests/hardening/test_fuzz.py",
    "tests/hardening/test_outputs.py",
)
SQRL = [sys.executable, "-m", "sqrl.cli"]

# Each process imports all that is tested before the first test; none of it is garbage.
gc.disable()

# No test is about time: a first call compiles, and machines are slow or busy.
# Every run draws other examples: few a run are many in time, and `make slow` draws more at once.
settings.register_profile(
    "sqrl",
    max_examples=100 if os.environ.get("SQRL_SLOW") else 30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("sqrl")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Golden files are rewritten when asked for, and read in review."""
    parser.addoption(
        "--update-golden", action="store_true", help="Rewrite the files in tests/golden."
    )


def place_among_costly(path: Path) -> int:
    """The first of COSTLY that a file lies in, or their number."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    return next((i for i, start in enumerate(COSTLY) if name.startswith(start)), len(COSTLY))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where costly tests are not wanted they are not even imported, nor is torch."""
    unwanted = config.option.markexpr == "not costly"
    return True if unwanted and place_among_costly(collection_path) < len(COSTLY) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Costly tests are marked, and come first: no process is left alone with them at the end."""
    for item in items:
        if place_among_costly(item.path) < len(COSTLY):
            item.add_marker("costly")
    items.sort(key=lambda item: place_among_costly(item.path))


def pytest_collection_finish() -> None:
    """Tiny models are quicker on one thread; `make portable` tries more.

    From here on garbage is collected, and not looked for among what was imported.
    """
    gc.freeze()
    gc.enable()
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(int(os.environ.get("SQRL_TEST_THREADS", "1")))


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test sees a terminal of 80 columns without colour."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture(autouse=True)
def _own_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten at its end."""
    from sqrl._language.statistics import registry

    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares text with a file in tests/golden, or rewrites the file with --update-golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture(scope="session")
def _slowly() -> None:
    """Skips what runs a whole benchmark, or long, unless somebody asked for it."""
    if not os.environ.get("SQRL_SLOW"):
        pytest.skip("takes long: make slow")


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def sqrl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Runs a command in this process, in an empty folder."""
    from sqrl import cli

    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["sqrl", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """Starts a command as a process of its own, in the same folder."""

    def launch(*arguments: object, **options: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*SQRL, *map(str, arguments)],
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,  # type: ignore[call-overload]
        )

    return launch
