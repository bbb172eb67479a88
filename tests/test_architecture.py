"""What holds for the package as a whole: light imports, exact names, short functions."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sqrl

HEAVY = ("torch", "numba", "pandas", "polars", "matplotlib", "sklearn")
SOURCE = Path(sqrl.__file__).parent
# Estimators are of scikit-learn; adaptation is of torch models.
NEEDS_MORE = {"sqrl._learn.detector", "sqrl._learn.row_steps"} | {
    h for h in sqrl._HOME.values() if h.startswith(("sqrl._adapt", "sqrl._train"))
}
SAY_HELP = (
    "import sys; sys.argv = ['sqrl', '--help']\n"
    "from sqrl.cli import main\n"
    "try:\n    main()\n"
    "except SystemExit:\n    pass"
)


def loaded_by(code, heavy=HEAVY):
    """The heavy modules that a fresh interpreter holds after running the code."""
    report = f"import json, sys; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_sqrl_imports_nothing_heavy():
    """The import costs no more than the names it offers."""
    assert loaded_by("import sqrl") == []


@pytest.mark.parametrize("verb", ["learn", "check", "demo"])
def test_a_command_on_little_data_imports_nothing_heavy(verb, tmp_path):
    """Nor does it compile: most of what a short command does would be importing."""
    rows = ["x,y,label"] + [f"{i % 7},{i * 37 % 101},{'ab'[i % 3 > 0]}" for i in range(400)]
    data, rules = tmp_path / "rows.csv", tmp_path / "rules.json"
    data.write_text("\n".join(rows))
    arguments = {
        "learn": [data, "--label", "label", "-o", rules],
        "demo": ["--no-adapt", "--report", tmp_path / "page.html"],
    }
    if verb == "check":
        texts = ["0 <= x <= 6", "label = a => y <= 100", "f1(x > 3 => label = a) <= 0.9 over 64"]
        sqrl.RuleSet.from_texts(texts).save(rules)
        arguments["check"] = [rules, data]
    code = (
        f"import sys; sys.argv = {['sqrl', verb, *map(str, arguments[verb])]}\n"
        "import sqrl.cli\ntry:\n    sqrl.cli.main()\nexcept SystemExit as end:\n"
        "    assert end.code in {0, 1}, end.code"
    )

    # The demo checks mini-batches for repeated rows, whose p-value is scipy's.
    others = ["narwhals", "pydantic", "rich"] + ["scipy"] * (verb != "demo")
    assert loaded_by(code, (*HEAVY, *others)) == []


def test_a_history_is_kept_and_read_without_data_frames(tmp_path):
    """pyarrow would import pandas to turn a column into an array, if it were asked to."""
    (tmp_path / "rows.csv").write_text("x\n" + "1\n" * 50)
    sqrl.RuleSet.from_texts(["0 <= x <= 6"]).save(tmp_path / "rules.json")
    rules, data, kept = (str(tmp_path / name) for name in ("rules.json", "rows.csv", "kept"))
    days = [["check", rules, data, "--history", kept, "--at", f"2026-11-0{day}"] for day in (1, 2)]
    code = (
        f"import sys, sqrl.cli\nfor words in {[*days, ['history', kept]]}:\n"
        "    sys.argv = ['sqrl', *words]\n    try:\n        sqrl.cli.main()\n"
        "    except SystemExit as end:\n        assert end.code in {None, 0, 1}, end.code"
    )

    assert loaded_by(code, ("pandas", "polars", "narwhals")) == []


def test_importing_every_public_name_imports_nothing_heavy():
    """Numba's compiler is loaded when a kernel is first called, dataframes when one is given."""
    light = [name for name, home in sqrl._HOME.items() if home not in NEEDS_MORE]
    names = f"import sqrl; [getattr(sqrl, name) for name in {light}]"

    assert loaded_by(names) == []


def test_without_torch_the_names_that_need_it_say_what_to_install():
    """The rest of the package works without torch; what does not names the extra."""
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import sqrl\n"
        "try:\n    sqrl.adapt\n"
        "except sqrl.errors.MissingExtraError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == 'sqrl.adapt needs torch.\n  fix:   pip install "sqrl-rules[adapt]"\n'


def test_help_imports_nothing_heavy():
    """A person who asks for help does not wait for a compiler."""
    assert loaded_by(SAY_HELP) == []


def test_help_imports_what_reads_arguments_and_no_other_package():
    """That is what makes it quick on any machine; numpy alone would take as long as all of it."""
    report = (
        "tops = {name.split('.')[0] for name in sys.modules.keys() - before}\n"
        "print(sorted(tops - sys.stdlib_module_names))"
    )
    code = f"import sys; before = set(sys.modules)\n{SAY_HELP}\n{report}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = set(ast.literal_eval(done.stdout.splitlines()[-1]))

    assert packages - {"click", "shellingham", "annotated_doc"} == {"sqrl", "typer"}


@pytest.mark.parametrize("arguments", [["--help"], ["schemas"], ["check", "--help"]])
def test_no_command_of_sqrl_loads_the_papers_package(arguments):
    """It is loaded by `sqrl bench` alone, and may be missing or broken."""
    code = (
        f"import sys; sys.argv = ['sqrl', *{arguments}]\n"
        "import sqrl\n"
        "from sqrl.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as ended:\n    assert not ended.code\n"
        "assert not [name for name in sys.modules if name.startswith('sqrl_paper')]"
    )

    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_the_product_holds_nothing_of_the_paper():
    """No task, bench or network of the paper, and no digest of anybody's files, is in its wheel."""
    project = tomllib.loads((SOURCE.parent.parent / "pyproject.toml").read_text())
    files = [path for path in SOURCE.rglob("*.*") if path.parent.name != "__pycache__"]
    text = {path: path.read_text(encoding="utf-8") for path in files}
    foreign = re.compile(r"sqrl_paper|efficientnet|transformers|minilm|saits|[0-9a-f]{40}", re.I)
    places = {path: path.relative_to(SOURCE).as_posix() for path in files}
    found = {places[path]: set(foreign.findall(content)) for path, content in text.items()}
    assert found.pop("training.py") == {"transformers"}  # whose Trainer it has a callback for
    for file in ("__init__", "_local_model", "_scorers"):  # whose folders and pipelines it takes
        assert found.pop(f"extract/{file}.py") == {"transformers"}

    assert project["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/sqrl"]}
    assert {name: words for name, words in found.items() if words} == {}
    assert {path.suffix for path in files} == {
        ".py", ".typed", ".lark", ".json", ".yaml", ".html", ".css", ".js",
    }  # fmt: skip


@pytest.mark.parametrize("name", sqrl.__all__)
def test_every_public_name_is_there(name):
    """What __all__ promises can be had."""
    assert getattr(sqrl, name) is not None


def test_every_name_of_the_package_is_in_all():
    """Nothing of ours is public by accident, and what is public is in order."""
    for name in sqrl.__all__:
        getattr(sqrl, name)
    ours = {
        name
        for name, value in vars(sqrl).items()
        if not name.startswith("_") and str(getattr(value, "__module__", "")).startswith("sqrl")
    }

    assert sqrl.__all__ == sorted(sqrl.__all__)
    assert ours | set(sqrl._HOME) <= set(sqrl.__all__)
    assert set(sqrl.__all__) == {*sqrl._HOME, "__version__"}
    assert dir(sqrl) == sorted([*sqrl.__all__, *sqrl._MODULES])


def test_public_modules_are_there_without_an_import_of_their_own():
    """Who has typed `import sqrl` has `sqrl.boxes`; and nothing is imported before it is used."""
    said = "import sys, sqrl; assert 'sqrl.boxes' not in sys.modules; "
    said += "; ".join(f"sqrl.{name}.__doc__" for name in sqrl._MODULES)
    subprocess.run([sys.executable, "-c", said], check=True)


def test_type_checkers_see_the_same_names():
    """The names loaded lazily are those imported for type checkers, from the same homes."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        (alias.name, alias.asname): node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert imported == {(name, name): home for name, home in sqrl._HOME.items()}


def test_an_unknown_name_is_an_attribute_error():
    """The package answers as any module does."""
    with pytest.raises(AttributeError, match="module 'sqrl' has no attribute 'lern'"):
        _ = sqrl.lern


def test_functions_fit_on_a_screen():
    """At most 40 lines in 95 of 100 cases; a command's options are not counted."""
    lengths = [
        function.end_lineno - function.body[0].lineno + 1
        for path in SOURCE.rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
    ]

    assert sum(length > 40 for length in lengths) <= 0.05 * len(lengths)
