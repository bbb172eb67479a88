"""The GitHub action and the pre-commit hook run what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import sqrl as library
from sqrl._commands.options import FailOnCheck

ROOT = Path(__file__).parent.parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
INSTALL, CHECK = ACTION["runs"]["steps"]


@pytest.fixture
def run_step(tmp_path):
    """Runs the step that checks as GitHub's runner would, with these inputs."""
    command = tmp_path / "bin" / "sqrl"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sqrl.cli "$@"\n')
    command.chmod(0o755)
    rules = library.RuleSet.from_texts(["0 <= x <= 9"], coverage=[0.98], support=[900])
    rules.save(tmp_path / "rules.json")
    (tmp_path / "new.csv").write_text("x\n3\n50\n60\n70\n")

    def run(**inputs):
        named = {name.replace("_", "-"): value for name, value in inputs.items()}
        values = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | named
        filled = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: values[m[1]], text)
            for name, text in CHECK["env"].items()
        }
        path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", CHECK["run"]],
            cwd=tmp_path,
            env={**os.environ, **filled, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_action_annotates_fails_and_reports(run_step, tmp_path):
    """Its status is that of the check, and the report is where it was asked for."""
    done = run_step(rules="rules.json", data="new.csv", report="report.md")

    assert (done.returncode, done.stderr) == (1, "wrote report.md\n")
    assert done.stdout.startswith("::error file=new.csv,title=range%3A x::")
    assert (tmp_path / "report.md").exists()


def test_inputs_of_the_action_run_nothing(run_step, tmp_path):
    """A file's name is a file's name, whatever shell or options it looks like."""
    odd = '-x "; touch made; $(touch made).csv'
    (tmp_path / odd).write_text("x\n3\n")
    done = run_step(rules="rules.json", data=odd, fail_on="any")

    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "made").exists()
    assert not [step for step in (INSTALL, CHECK) if "${{" in step["run"]]


def test_the_action_describes_the_choices_there_are():
    """What can fail a job is what can fail a check."""
    described = ACTION["inputs"]["fail-on"]["description"]

    assert all(choice in described for choice in FailOnCheck)
    assert ACTION["inputs"]["fail-on"]["default"] == FailOnCheck.significant


def test_the_hook_of_pre_commit_runs_a_command_that_there_is(sqrl):
    """Its arguments come after the entry, as people give them."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *given = hook["entry"].split()
    library.RuleSet.from_texts(["0 <= x <= 9"]).save("rules.json")
    Path("new.csv").write_text("x\n3\n")

    assert program == "sqrl"
    assert sqrl(*given, "rules.json", "new.csv").code == 0
    assert all(re.search(hook["files"], name) for name in ("rules.json", "new.csv", "a.parquet"))
