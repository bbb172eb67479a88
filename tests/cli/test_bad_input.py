"""Bad input through the command line: what, where and how to mend it; nothing is written."""

import json
from pathlib import Path

import pytest

SCHEMA = "let:\n  Y: values(type)\nrules:\n  - type = Y => ? <= width <= ?\n"
LOGIC = (
    "let: {Y: values(type), L: literals(width/4)}\nrules: ['? <= f1(L => type = Y) <= ? over %d']\n"
)


def boxes(n_rows=300):
    """A small table of boxes, as CSV."""
    rows = [
        f"{'Car' if row % 3 else 'Van'},{10 + row % 37 + 0.5},{5 + row % 11 + 0.25}"
        for row in range(n_rows)
    ]
    return "\n".join(["type,width,height", *rows, ""])


@pytest.fixture
def refusal(sqrl, tmp_path):
    """What a command that is refused says; its output, already there, must stay as it is."""

    def run(*arguments):
        Path("rules.json").write_text("old")
        before = sorted(tmp_path.rglob("*"))
        outcome = sqrl(*arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert Path("rules.json").read_text() == "old"
        assert sorted(tmp_path.rglob("*")) == before
        return outcome.err.removesuffix("\n")

    return run


@pytest.fixture
def refused_data(refusal):
    """What is said of a CSV file of this text."""

    def run(text, schema=SCHEMA):
        Path("boxes.csv").write_text(text)
        Path("schema.yaml").write_text(schema)
        return refusal("learn", "boxes.csv", "--schema", "schema.yaml")

    return run


@pytest.fixture
def refused_schema(refused_data):
    """What is said of a schema of this text."""
    return lambda schema: refused_data(boxes(), schema)


def says(what, where=None, fix=None):
    """The text of an error on stderr."""
    lines = [f"sqrl: {what}", where and f"  where: {where}", fix and f"  fix:   {fix}"]
    return "\n".join(line for line in lines if line)


# Tables


def test_a_missing_file_is_answered_with_the_nearest_name(refusal):
    """A typo in a path costs its author one read of the message."""
    Path("boxes.csv").write_text(boxes())

    assert refusal("learn", "boxs.csv") == says(
        "There is no such file.", "boxs.csv", "did you mean 'boxes.csv'?"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", says("The file is empty.", "boxes.csv", "add a header and rows")),
        ("type,width\n", says("The table has no rows.", "boxes.csv", "give data to learn from")),
        (
            "type,width\nCar,1\nVan,2,3\n",
            says(
                "Line 3 has 3 fields, but the header has 2.",
                "boxes.csv, line 3",
                "mend the line, or give the separator if ',' is not what parts the fields",
            ),
        ),
        (
            "type,width,width\nCar,1,2\n",
            says(
                "Column names occur more than once: 'width'.",
                "boxes.csv",
                "give every column a name of its own",
            ),
        ),
        (
            boxes().replace("width", "wdith"),
            says("Unknown column or statistic 'width'.", "boxes.csv", "did you mean 'wdith'?"),
        ),
    ],
    ids=["empty", "no rows", "ragged", "repeated names", "unknown column"],
)
def test_a_table_that_cannot_be_used_is_refused(refused_data, text, message):
    """Each fault of a table names the file, and the line where there is one."""
    assert refused_data(text) == message


def test_infinite_values_are_refused_with_their_row_in_the_file(refused_data):
    """The row is that of the file, not of the share of it that is learned from."""
    message = refused_data(boxes().replace("11.5,6.25", "inf,6.25"))

    assert message.splitlines()[0].endswith("the first in row 2.")
    assert message.splitlines()[1:] == [
        "  where: boxes.csv",
        "  fix:   make them missing, or replace them by a number",
    ]


def test_a_statistic_that_is_undefined_everywhere_is_refused(refused_data):
    """x / 0 on every row is a mistake in the data or the schema, not a rule without support."""
    rows = "type,width,height\n" + "Car,1,0\nVan,2,0\n" * 60
    schema = "statistics: {ratio: width / height}\nrules: ['? <= ratio <= ?']\n"

    assert refused_data(rows, schema) == says(
        "'ratio' is missing or undefined on every row.",
        "boxes.csv",
        "leave it out of the schema, or check how it is computed",
    )


def test_an_unknown_label_is_answered_with_the_nearest_column(refusal):
    """--label is checked before anything is proposed."""
    Path("boxes.csv").write_text(boxes())

    assert refusal("learn", "boxes.csv", "--label", "typ") == says(
        "Unknown column 'typ'.", "boxes.csv", "did you mean 'type'?"
    )


def test_a_constant_label_is_refused(refused_data):
    """There is nothing to tell about a label that never changes."""
    schema = "label: type\nrules: ['? <= width <= ?']\n"

    assert refused_data("type,width\n" + "Car,1.5\nCar,2.5\n" * 60, schema) == says(
        "The label 'type' is Car in every row: there is nothing to tell.",
        "boxes.csv",
        "use a column with at least two values",
    )


def test_a_class_too_rare_for_a_bound_is_unsupported_and_no_error(sqrl):
    """Eight vans cannot support a 98 % bound, and the summary says so."""
    Path("boxes.csv").write_text(boxes(200).replace("Van", "Car") + "Van,1.5,2.5\n" * 8)
    Path("schema.yaml").write_text(SCHEMA)
    outcome = sqrl("learn", "boxes.csv", "--schema", "schema.yaml")

    assert outcome.code == 0
    assert "          1 unsupported: too few samples for a bound\n" in outcome.out
    assert "          1 rule kept\n" in outcome.out


@pytest.mark.parametrize(
    ("size", "n_rows", "where", "fits"),
    [(1000, 240, "boxes.csv", 64), (100, 60, "boxes.csv (held-out rows)", 16)],
)
def test_a_mini_batch_larger_than_the_rows_is_refused(refused_schema, size, n_rows, where, fits):
    """The train rows and the held-out rows must each hold a mini-batch; both are checked first."""
    assert refused_schema(LOGIC % size) == says(
        f"A mini-batch of {size:,} rows cannot be drawn from {n_rows} rows.",
        where,
        f"use 'over {fits}' or less, or give more data",
    )


def test_held_out_rows_of_another_kind_are_refused(refusal):
    """A column of numbers in one file and of words in the other is a mistake."""
    Path("boxes.csv").write_text(boxes())
    Path("schema.yaml").write_text(SCHEMA)
    Path("valid.csv").write_text("type,width\n" + "Car,wide\nVan,slim\n" * 20)
    arguments = ("learn", "boxes.csv", "--schema", "schema.yaml", "--valid", "valid.csv")

    assert refusal(*arguments) == says(
        "Column 'width' holds categories, but numbers in boxes.csv.",
        "valid.csv",
        "write it in the same way in both files",
    )


def test_held_out_rows_that_the_schema_would_ignore_are_refused(refusal):
    """`validate: false` and --valid contradict each other."""
    Path("boxes.csv").write_text(boxes())
    Path("schema.yaml").write_text(f"{SCHEMA}validate: false\n")
    arguments = ("learn", "boxes.csv", "--schema", "schema.yaml", "--valid", "boxes.csv")

    assert refusal(*arguments) == says(
        "Held-out rows are given, but the schema says 'validate: false'.",
        "boxes.csv",
        "leave the held-out rows out, or that line",
    )


# Schemas


@pytest.mark.parametrize(
    ("schema", "what", "where", "fix"),
    [
        (f"covrage: 0.9\n{SCHEMA}", "Unknown key 'covrage'.", "", "did you mean 'coverage'?"),
        (
            f"{SCHEMA}batches: {{trian: 5}}\n",
            "Unknown key 'trian'.",
            ", batches",
            "did you mean 'train'?",
        ),
        (
            f"{SCHEMA}batches: {{1: 5}}\n",
            "Unknown key '1'.",
            ", batches",
            "use one of: train, valid",
        ),
        (
            f"coverage: high\n{SCHEMA}",
            "Expected a number, got text.",
            ", coverage",
            "write it like this: coverage: 0.98",
        ),
        (
            f"coverage: 98\n{SCHEMA}",
            "coverage is 98.0.",
            ", coverage",
            "make it between 0 and 1, such as 0.98",
        ),
        (
            "rules: '? <= width <= ?'\n",
            "Expected a list, got text.",
            ", rules",
            "write it like this: rules: ['? <= age <= ?']",
        ),
        (
            "let: {A: [width, null]}\nrules: ['? <= A <= ?']\n",
            "Expected true or false or a number or text, got nothing.",
            ", let.A[1]",
            "write it like this: let: {Y: values(type), A: [width, height]}",
        ),
        (
            f"{SCHEMA}select: {{by: best}}\n",
            "'best' is not among the choices.",
            ", select.by",
            "use lower, width, support, jaccard or informative",
        ),
        (f"{SCHEMA}select: {{top: 0}}\n", "select.top is 0.", ", select.top", "make it 1 or more"),
        (f"{SCHEMA}select: {{per: Z}}\n", "Unknown hole 'Z'.", ", select.per", "use one of: Y"),
        (
            f"cuts: {{4: [50, 25, 75]}}\n{SCHEMA}",
            "4 buckets need 3 rising percentiles, got [50.0, 25.0, 75.0].",
            ", cuts.4",
            "for instance 4: [25, 50, 75]",
        ),
        (
            "rules: []\n",
            "The schema has no rules.",
            ", rules",
            "add a sentence, such as: rules: ['? <= age <= ?']",
        ),
        (
            "coverage: 0.9\n",
            "The schema has no rules.",
            "",
            "add a list such as: rules: ['? <= age <= ?']",
        ),
        (
            "",
            "A schema is a mapping with at least the key 'rules'.",
            "",
            "start with: rules: ['? <= age <= ?']",
        ),
    ],
)
def test_a_schema_with_a_wrong_key_or_value_is_refused(refused_schema, schema, what, where, fix):
    """The message names the key by its path, and shows what it should look like."""
    assert refused_schema(schema) == says(what, f"schema.yaml{where}", fix)


@pytest.mark.parametrize(
    ("schema", "what", "where", "fix"),
    [
        (
            "rules: [\n",
            "The text is not well-formed YAML: "
            "expected the node content, but found '<stream end>'.",
            "line 2, column 1",
            "check the indentation, the brackets and the quotes",
        ),
        (
            "let: &a {Y: values(type)}\nstatistics: *a\nrules: ['? <= width']\n",
            "The alias *a is not followed.",
            "line 2, column 13",
            "write out what it stands for",
        ),
        (
            f"{SCHEMA}let: {{}}\n",
            "The key 'let' stands twice.",
            "line 5, column 1",
            "remove one of them",
        ),
        (
            "rules: !!python/object/apply:os.getcwd []\n",
            "The tag !!python/object/apply:os.getcwd is not read.",
            "line 1, column 8",
            "leave the tag out",
        ),
    ],
    ids=["unclosed", "alias", "repeated", "tag"],
)
def test_yaml_that_is_not_plain_data_is_refused(refused_schema, schema, what, where, fix):
    """Nothing is followed, repeated or constructed; the message gives line and column."""
    assert refused_schema(schema) == says(what, f"schema.yaml, {where}", fix)


@pytest.mark.parametrize(
    ("schema", "what", "where", "fix"),
    [
        (
            "rules: ['type = Y => ? <= width <= ?']\n",
            "The hole 'Y' has no domain.",
            "rules[0], type = Y => ? <= width <= ?",
            "add it under 'let', such as 'Y: values(column)'",
        ),
        (
            "rules: ['? <= A <= ?']\n",
            "The hole 'A' has no domain.",
            "rules[0], ? <= A <= ?",
            "add it under 'let', such as 'A: [width, height]'",
        ),
        (
            "rules: ['? <= f1(L{1..2} => type = Car) <= ? over 16']\n",
            "The hole 'L' has no domain.",
            "rules[0], ? <= f1(L{1..2} => type = Car) <= ? over 16",
            "add it under 'let', such as 'L: literals(age/8, smoke)'",
        ),
        (
            "rules: ['0 <= width <= ?']\n",
            "A template's bounds are to be inferred, but one is given as a number.",
            "rules[0], 0 <= width <= ?",
            "write ? for it",
        ),
        (
            "rules: ['width <= 3 => type = Car']\n",
            "There is nothing to infer in this template.",
            "rules[0], width <= 3 => type = Car",
            "add '? <= x <= ?'",
        ),
        (
            "let: {Y: valuse(type)}\nrules: ['type = Y => ? <= width <= ?']\n",
            "'valuse(type)' is not a domain.",
            "let.Y",
            "did you mean 'values'?; "
            "a domain is [a, b, c], values(column) or literals(age/8, smoke)",
        ),
        (
            "let: {Y: values(tpye)}\nrules: ['type = Y => ? <= width <= ?']\n",
            "Unknown column 'tpye'.",
            "let.Y, boxes.csv",
            "did you mean 'type'?",
        ),
        (
            LOGIC.replace("f1", "f2") % 16,
            "Unknown statistic 'f2'.",
            "rules[0], ? <= f2(L => type = Y) <= ? over 16",
            "use one of: accuracy, distance, f1, f1_given, lift, max, mean, median, min, "
            "precision, rate, recall and 3 more",
        ),
        (
            "rules: ['? <= sqr(width) <= ?']\n",
            "Unknown function 'sqr'.",
            "rules[0], ? <= sqr(width) <= ?",
            "did you mean 'sqrt'?",
        ),
        (
            "rules: ['? <= log(width, height) <= ?']\n",
            "log(...) takes one argument, not 2.",
            "rules[0], ? <= log(width, height) <= ?",
            "write log(age)",
        ),
        (
            "statistics: {a: b + 1, b: a + 1}\nrules: ['? <= a <= ?']\n",
            "Statistic 'a' is defined by itself: a -> b -> a.",
            "statistics.a",
            "define it by columns",
        ),
        (
            "statistics: {width: height + 1}\nrules: ['? <= width <= ?']\n",
            "The statistic 'width' has the name of a column.",
            "statistics.width",
            "give it another name",
        ),
        (
            "let: {width: [height]}\nrules: ['? <= width <= ?']\n",
            "The hole 'width' has the name of a column.",
            "let.width",
            "rename the hole, such as to 'width1'",
        ),
    ],
)
def test_a_sentence_that_makes_no_sense_is_refused(refused_schema, schema, what, where, fix):
    """The message names the sentence or the domain, and the nearest thing that would work."""
    assert refused_schema(schema) == says(what, f"schema.yaml, {where}", fix)


def test_a_category_of_one_capital_letter_needs_no_domain(sqrl):
    """`grade = A` is a condition where the grades are A and B, not a hole left open."""
    Path("marks.csv").write_text("grade,score\n" + "A,9.5\nB,4.5\nA,8.5\nB,5.5\n" * 60)
    Path("schema.yaml").write_text("rules: ['grade = A => ? <= score <= ?']\n")

    assert sqrl("learn", "marks.csv", "--schema", "schema.yaml").code == 0


def test_a_sentence_outside_the_grammar_is_pointed_at(refused_schema):
    """The mark below the sentence stands at its column, whatever the file is called."""
    assert refused_schema("rules: ['type = Car -> ? <= width <= ?']\n").splitlines()[1:3] == [
        "    type = Car -> ? <= width <= ?",
        "                ^",
    ]


def test_an_unknown_schema_is_answered_with_the_nearest_shipped_one(refusal):
    """A schema's name without a suffix is that of a shipped one."""
    Path("boxes.csv").write_text(boxes())

    assert refusal("learn", "boxes.csv", "--schema", "cardo") == says(
        "Unknown schema 'cardo'.", fix="did you mean 'cardio'?"
    )
    assert refusal("learn", "boxes.csv", "--schema", "cardo.yaml") == says(
        "Cannot read the schema: No such file or directory.",
        "cardo.yaml",
        "check the path, or use a shipped schema: "
        "boxes, cardio, detection, imagenet_x, imputation, sentiment, supervise",
    )


def test_a_schema_of_billions_of_rules_is_refused_at_once(refusal):
    """Rules are counted in closed form before any is made: to make them would take days."""
    names = [f"x{column}" for column in range(60)]
    rows = [",".join(f"{(row * (c + 3)) % 101}.5" for c in range(60)) for row in range(400)]
    table = [f"{row},{number % 2}" for number, row in enumerate(rows)]
    Path("wide.csv").write_text("\n".join([",".join([*names, "y"]), *table, ""]))
    literals = ", ".join(f"{name}/8" for name in names)
    rule = "? <= f1(L{1..4} => y = Y) <= ? over 64"
    Path("schema.yaml").write_text(
        f"let: {{Y: values(y), L: 'literals({literals})'}}\nrules: ['{rule}']\n"
    )
    message = refusal("learn", "wide.csv", "--schema", "schema.yaml")

    assert message == says(
        "The schema has 68,671,681,840 rules, more than the limit of 10,000,000.",
        f"{rule} (68,671,681,840 rules)",
        "use fewer literals, buckets or columns, or raise the limit "
        "(limit: in the schema, --limit on the command line)",
    )


# Output


@pytest.mark.parametrize(
    ("output", "what", "fix"),
    [
        (
            "no/where/rules.json",
            "The folder of the output does not exist.",
            "create it: mkdir -p no/where",
        ),
        (
            "boxes.csv/rules.json",
            "'boxes.csv' is a file, not a folder.",
            "choose another place",
        ),
        ("folder.json", "The output is a folder.", "name a file in it"),
        (
            "rules.txt",
            "Rules are written as .json or .parquet, not .txt.",
            "name it rules.json",
        ),
        (
            f"{'x' * 300}.json",
            "Cannot write the file: File name too long.",
            "check the name, the disk's free space and the permissions",
        ),
    ],
    ids=["missing folder", "parent is a file", "a folder", "wrong suffix", "too long"],
)
def test_an_output_that_cannot_be_written_is_refused_before_any_work(refusal, output, what, fix):
    """Nobody waits for a run to be told that its result has no place."""
    Path("folder.json").mkdir()
    Path("boxes.csv").write_text(boxes())

    assert refusal("learn", "boxes.csv", "--label", "type", "-o", output) == says(what, output, fix)


# Rules files


@pytest.fixture
def learned(sqrl):
    """A rules file as plain JSON."""
    Path("boxes.csv").write_text(boxes())
    Path("schema.yaml").write_text(SCHEMA)
    assert sqrl("learn", "boxes.csv", "--schema", "schema.yaml", "-o", "good.json").code == 0
    return json.loads(Path("good.json").read_text())


def test_rules_of_another_version_are_refused(learned, refusal):
    """A file that this version would misread is not read."""
    Path("new.json").write_text(json.dumps({**learned, "version": 2}))

    assert refusal("rules", "new.json") == says(
        "The rules file has format version 2; this sqrl reads version 1.",
        "new.json",
        "learn the rules again, or use the sqrl that wrote them",
    )


@pytest.mark.usefixtures("learned")
def test_rules_cut_in_half_are_refused(refusal):
    """Half a file is no file."""
    Path("half.json").write_text(Path("good.json").read_text()[:300])

    assert refusal("rules", "half.json") == says(
        "The rules file is damaged: Input data was truncated.",
        "half.json",
        "it may have been cut off or edited by hand; learn the rules again",
    )


def test_what_is_not_a_rules_file_is_refused(refusal):
    """Another JSON file is told apart by its first field, and a missing one from both."""
    Path("other.json").write_text("{}")
    fix = "make one with 'sqrl learn'"

    assert refusal("rules", "other.json") == says("This is not a rules file.", "other.json", fix)
    assert refusal("rules", "none.json") == says("There is no such rules file.", "none.json", fix)
    assert refusal("rules", ".") == says("This is a folder.", ".", "name a rules file in it")


@pytest.mark.usefixtures("learned")
def test_rules_in_the_place_of_data_are_refused(refusal):
    """They are JSON, and not taken for COCO's."""
    for arguments in (("learn", "good.json"), ("check", "good.json", "good.json")):
        assert refusal(*arguments) == says(
            "This is a rules file, not data.",
            "good.json",
            "name a table or boxes; 'sqrl check' takes the rules first, then the data",
        )


def test_a_folder_without_data_is_refused(refusal):
    """It is not told to be no file, for folders are read too."""
    Path("none").mkdir()

    assert refusal("learn", "none") == says(
        "There is no table in the folder, and no labels of boxes.",
        "none",
        "tables end in .csv, .tsv, .txt, .jsonl, .ndjson, .parquet, .pq, .arrow, .feather, .ipc; "
        "labels are .txt or .xml",
    )


@pytest.mark.usefixtures("learned")
def test_a_file_without_permission_is_no_fault_of_ours(refusal, monkeypatch):
    """Tests may run as a person who may read everything, so the system is told to refuse."""

    def refuse(file, _):
        raise PermissionError(13, "Permission denied", file.name)

    monkeypatch.setattr("sqrl._data.read_file.read_at_most", refuse)

    assert refusal("rules", "good.json") == says(
        "The file may not be read.", "good.json", "ask its owner, or change its permissions"
    )


@pytest.mark.usefixtures("learned")
def test_an_unknown_column_of_rules_is_answered_with_the_nearest(refusal):
    """--where and --sort speak of the rules' columns."""
    assert refusal("rules", "good.json", "--where", "suport > 9") == says(
        "Unknown column 'suport'.", "rules", "did you mean 'support'?"
    )
    assert refusal("rules", "good.json", "--sort", "suport") == says(
        "Unknown column of rules 'suport'.", fix="did you mean 'support'?"
    )
