"""The recipes of docs/recipes.md: all are Python, and those whose package is there are run."""

import ast
import os
import re
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

import sqrl

PAGE = (Path(__file__).parent.parent / "docs" / "recipes.md").read_text()
BLOCKS = dict(re.findall(r"^## (.+?)\n.*?```python\n(.*?)```", PAGE, flags=re.M | re.S))
PACKAGES = {
    "MLflow": "mlflow",
    "Weights & Biases": "wandb",
    "Prometheus": "prometheus_client",
    "OpenTelemetry": "opentelemetry.sdk",
    "Airflow": "airflow",
    "Dagster": "dagster",
    "Prefect": "prefect",
}
# What each recipe must have left behind; there is one finding, in four rows.
LEFT = {
    "MLflow": "assert mlflow.last_active_run().data.metrics['n_findings'] == 1",
    "Weights & Biases": "import pathlib; assert list(pathlib.Path('wandb').glob('offline-run-*'))",
    "Prometheus": (
        "text = open('sqrl.prom').read()\n"
        "assert 'sqrl{name=\"n_findings\"} 1.0' in text\n"
        'assert f\'sqrl_rule{{name="share",rule="{found.rules.ids()[0]}"}} 0.75\' in text'
    ),
    "OpenTelemetry": "",
    "Airflow": (
        "try:\n    nightly.get_task('check').python_callable()\n"
        "except ValueError as error:\n    assert 'x: 3 of 4 rows' in str(error)\n"
        "else:\n    raise AssertionError('the finding did not fail the task')"
    ),
    "Dagster": (
        "(seen,) = result.get_asset_check_evaluations()\n"
        "assert not seen.passed and seen.metadata['n_findings'].value == 1"
    ),
    "Prefect": "assert numbers['n_findings'] == 1",
}
OFFLINE = {
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
    "MLFLOW_TRACKING_URI": "file:runs",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "DO_NOT_TRACK": "1",
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
}


def write_inputs(folder):
    """The rules and the rows that every recipe reads."""
    rules = sqrl.RuleSet.from_texts(["0 <= x <= 9"], coverage=[0.98], support=[900])
    rules.save(folder / "rules.json")
    (folder / "new.csv").write_text("x\n3\n50\n60\n70\n")


def is_installed(package):
    """Whether the package of a recipe is there."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def test_every_recipe_is_known_here_and_says_what_it_was_run_with():
    """None is on the page that nobody runs."""
    table = PAGE.split("Elsewhere in these pages")[0]
    named = re.findall(r"^\| ([^|]+) \| [\w-]+ \d+\.\d+.* \| yes", table, flags=re.MULTILINE)

    assert named == [*BLOCKS, "dbt"]
    assert list(BLOCKS) == list(PACKAGES) == list(LEFT)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_recipe_is_python_and_uses_metrics(name):
    """Also where its package is not installed."""
    tree = ast.parse(BLOCKS[name])
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }

    assert ".metrics(" in BLOCKS[name]
    assert any(one.startswith(PACKAGES[name]) for one in imported)


@pytest.mark.parametrize("name", PACKAGES)
def test_recipes_run(name, tmp_path):
    """Each as a script of its own, in a folder with rules and rows, without a network."""
    if not is_installed(PACKAGES[name]):
        pytest.skip(f"{PACKAGES[name]} is not installed")
    write_inputs(tmp_path)
    (tmp_path / "recipe.py").write_text(f"{BLOCKS[name]}\n{LEFT[name]}\n")
    homes = {home: str(tmp_path) for home in ("PREFECT_HOME", "DAGSTER_HOME", "AIRFLOW_HOME")}
    done = subprocess.run(
        [sys.executable, "recipe.py"],
        cwd=tmp_path,
        env={**os.environ, **OFFLINE, **homes},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    if name == "OpenTelemetry":
        assert '"sqrl.n_findings"' in done.stdout


def test_dbt_builds_what_is_exported(tmp_path):
    """In a project of one model, whose rows break the one rule."""
    dbt = Path(sys.executable).with_name("dbt")
    if not dbt.exists():
        pytest.skip("dbt is not installed")
    export = re.search(r"^sqrl (export .*)$", PAGE, flags=re.MULTILINE)[1].split()
    write_inputs(tmp_path)
    (tmp_path / "dbt_project.yml").write_text("{name: road, version: '1.0.0', profile: road}\n")
    (tmp_path / "profiles.yml").write_text(
        "road: {target: dev, outputs: {dev: {type: duckdb, path: road.duckdb}}}\n"
    )
    for folder in ("models", "tests"):  # dbt init makes them
        (tmp_path / folder).mkdir()
    (tmp_path / "models" / "boxes.sql").write_text("SELECT * FROM read_csv('new.csv')\n")
    run = partial(subprocess.run, cwd=tmp_path, capture_output=True, text=True, check=False)
    made = run([sys.executable, "-m", "sqrl.cli", *export])
    built = run(
        [dbt, "build"],
        env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DBT_USE_COLORS": "false"},
    )

    assert made.returncode == 0, made.stderr
    assert built.returncode == 1, built.stdout
    told = re.search(r"^FAIL .*$", PAGE, flags=re.MULTILINE)[0]
    assert told in built.stdout, built.stdout
