"""The command line: commands with options, files and folders, right and wrong; exit 0, 1 or 2."""

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any

from draw import Draw

from targets import expect
from targets.rules_files import some_rows, some_rules

DATA = (
    "x.csv",
    "x.parquet",
    "parts/*.csv",
    "parts",
    "no.csv",
    "empty.csv",
    "r.json",
    ".",
    "l.jsonl",
)
RULES = ("r.json", "all.parquet", "no.json", "x.csv", "cut.json", "empty.csv", ".")
OUTPUTS = (
    "o.csv",
    "o.html",
    "o.md",
    "o.xml",
    "o.json",
    "o",
    "no/o.json",
    ".",
    "x.csv",
    "/dev/null",
)
ODD = ("", " ", "0", "-1", "1e99", "nan", "é", "x" * 300, "~nobody-here/x", "a\nb", "{}", "*", "\t")
OPTIONS: dict[str, tuple[str, ...] | None] = {
    "--label": ("kind", "flag", "no"),
    "--prediction": ("kind", "flag", "no"),
    "--schema": ("s.yaml", "cardio", "no.yaml", "r.json"),
    "--seed": ("0", "7", "-1", "x", str(2**70)),
    "--top": ("0", "3", "-1"),
    "--format": ("table", "json", "github", "no"),
    "--fail-on": ("any", "never", "significant", "rows"),
    "--report": OUTPUTS,
    "--junit": OUTPUTS,
    "--violations": OUTPUTS,
    "--history": ("h", "parts", "x.csv"),
    "--at": ("2026-01-02", "2026-02-30", "yesterday"),
    "--level": ("0.01", "0", "2"),
    "--batches": ("5", "0", str(10**12)),
    "--separator": (",", ";", "é", ",,"),
    "--encoding": ("utf-8", "latin-1", "punycode", "no"),
    "--engine": ("memory", "local", "no"),
    "--memory": ("1MB", "0", "9" * 400),
    "--resume": ("kept", "x.csv", "x.csv/y"),
    "--skip-damaged": None,
    "--quiet": None,
    "--rows": None,
    "--unit": ("n", "none", "no"),
    "--order": ("day", "no"),
    "--where": ("support > 3", "kind = sample", "x >", "no = 1"),
    "--sort": ("lower", "text", "no"),
    "--search": ("x", ""),
    "--diff": RULES,
    "--to": ("sql", "dbt", "pandera", "no"),
    "--dialect": ("duckdb", "postgres", "no"),
    "--table": ("data", "a.b", "a b; --"),
    "--like": DATA,
    "--limit": ("1", "1000", "0"),
    "--probabilities": ("a=x", "a", "=x"),
    "--per-image": None,
    "--dry-run": None,
    "--output": OUTPUTS,
    "--keep": RULES,
    "--valid": DATA,
}
COMMANDS = {
    "check": (RULES, DATA),
    "learn": (DATA,),
    "rules": (RULES,),
    "export": (RULES,),
    "compare": (RULES, DATA, DATA),
    "explain": (RULES, DATA),
    "repair": (RULES, DATA),
    "history": (("h", "parts", "no"),),
    "schemas": (),
}
# What each command takes; others are tried too, but seldom.
USUAL = {
    "check": "--prediction --format --fail-on --report --junit --violations --history --at --level"
    " --batches --seed --top --separator --encoding --engine --memory --resume --skip-damaged"
    " --rows --quiet --probabilities",
    "learn": "--label --prediction --schema --seed --top --separator --encoding --engine --memory"
    " --resume --unit --order --limit --dry-run --output --keep --valid --skip-damaged",
    "rules": "--top --where --search --sort --diff --format",
    "export": "--to --output --table --dialect --like --prediction --where --limit --rows",
    "compare": "--format --report --level --prediction",
    "explain": "--label --prediction --format --report",
    "repair": "--output --prediction",
    "history": "--format --report --at",
    "schemas": "",
}


def make(draw: Draw) -> dict[str, Any]:
    """The words of a command."""
    command = draw.one((*("check",) * 4, *("learn",) * 2, *COMMANDS))
    words = [command, *(draw.one(options) for options in COMMANDS[command])]
    usual = USUAL[command].split()
    for _ in range(draw.one((0, 1, 2, 3, 5))):
        option = draw.one(usual) if usual and draw.chance(0.95) else draw.one(OPTIONS)
        words.append(option)
        values = OPTIONS[option]
        if values is not None and draw.chance(0.97):
            words.append(draw.one(values) if draw.chance(0.85) else draw.one(ODD))
    if command == "export" and "--to" not in words:
        words += ["--to", draw.one(("sql", "dbt", "pandera"))]
    if draw.chance(0.05):
        words.insert(draw.randint(0, len(words)), draw.one(ODD))
    return {"words": words}


def _fill(folder: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet as pq
    from draw import arrow_table

    table = arrow_table(some_rows())
    pyarrow.csv.write_csv(table, folder / "x.csv")
    pq.write_table(table, folder / "x.parquet")
    (folder / "parts").mkdir()
    for part in range(2):
        pyarrow.csv.write_csv(table.slice(100 * part, 100), folder / f"parts/p{part}.csv")
    (folder / "empty.csv").write_text("")
    (folder / "l.jsonl").write_text('{"x": 1, "kind": "a"}\n{"x": null}\n')
    some_rules(0).save(folder / "r.json")
    some_rules(0).save(folder / "all.parquet")
    (folder / "cut.json").write_bytes((folder / "r.json").read_bytes()[:300])
    (folder / "s.yaml").write_text('rules: ["? <= x <= ?", "kind in ?"]\ncoverage: 0.9\n')


def run(case: dict[str, Any], folder: Path) -> None:
    """Run the command in this process, in a folder of its own."""
    from sqrl import cli

    _fill(folder)
    before, argv = Path.cwd(), sys.argv
    out, err = io.StringIO(), io.StringIO()
    code: Any = None
    os.chdir(folder)
    try:
        sys.argv = ["sqrl", *case["words"]]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        os.chdir(before)
        sys.argv = argv
    expect(code in {0, 1, 2}, f"exit {code}: {err.getvalue()[-500:]}")
    left = [path.name for path in folder.rglob(".sqrl-*")]
    expect(not left, f"left behind: {left}")
