"""Bad input to check and compare: what, where and how to mend it; hostile text stays text."""

import csv
import json
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import sqrl as library

RULES = ["type = Car => 0 <= width <= 9", "type = Van => 0 <= width <= 9", "smoke => width <= 20"]
ROWS = "type,width,smoke,said\nCar,3,true,Car\nVan,12,false,Car\n"


@pytest.fixture
def refusal(sqrl, tmp_path):
    """What a command that is refused says; nothing is written."""

    def run(*arguments, rows=ROWS, rules=RULES):
        library.RuleSet.from_texts(rules).save("rules.json")
        Path("rows.csv").write_text(rows)
        before = sorted(tmp_path.rglob("*"))
        outcome = sqrl(*(arguments or ("check", "rules.json", "rows.csv")))
        assert (outcome.code, outcome.out) == (2, "")
        assert sorted(tmp_path.rglob("*")) == before
        return outcome.err.removesuffix("\n")

    return run


def says(what, where=None, fix=None):
    """The text of an error on stderr."""
    lines = [f"sqrl: {what}", where and f"  where: {where}", fix and f"  fix:   {fix}"]
    return "\n".join(line for line in lines if line)


AS_LEARNED = "write the column as it was in the data that the rules were learned from"


# Columns


def test_a_missing_column_is_answered_with_the_nearest_name(refusal):
    """A renamed column costs its author one read of the message."""
    assert refusal(rows=ROWS.replace("width", "wdith")) == says(
        "The rules need a column 'width', which the data does not have.",
        "rows.csv",
        "did you mean 'wdith'?",
    )


def test_a_missing_column_may_be_an_extractors():
    """Rules about what a model computes need that model's extractor again."""

    @library.extractor(inputs=["x"], outputs=["joy"])
    def emotions(batch):
        return {"joy": batch["x"] * 2}

    schema = {"rules": ["? <= joy <= ?"], "coverage": 0.8, "validate": False}
    rules = library.learn({"x": [1.0, 2.0, 3.0] * 9}, schema, extractors=[emotions])
    with pytest.raises(library.SqrlError) as error:
        library.check(rules, {"x": [1.0]})

    assert str(error.value).removeprefix("The rules need a column ") == (
        "'joy', which the data does not have.\n  where: dict\n"
        "  fix:   use one of: x; or pass extractors=[emotions]"
    )
    assert library.check(rules, {"x": [9.0]}, extractors=[emotions]).total == 1


def test_a_column_of_another_type_is_refused_where_nothing_else_can_be_checked(refusal):
    """Categories where rules need numbers, and the other way round, with an example."""
    rows = ROWS.replace("Car,3,", "Car,wide,").replace("Van,12,", "Van,long,")

    assert refusal(rows=rows) == says(
        "The rules need numbers in column 'width', but it holds categories, such as 'wide'.",
        "rows.csv",
        AS_LEARNED,
    )


def test_numbers_where_rules_name_categories_are_refused(refusal):
    """Class numbers are not class names."""
    message = refusal(rows="type,width,smoke\n0,3,true\n1,12,false\n", rules=RULES[:2])

    assert message == says(
        "The rules need categories in column 'type', such as Car, but it holds numbers, such as 0.",
        "rows.csv",
        AS_LEARNED,
    )


def test_categories_where_rules_name_numbers_are_refused(refusal):
    """`cholesterol = 3` says nothing about 'high'."""
    message = refusal(rows="grade,x\nhigh,3\nlow,12\n", rules=["grade = 3 => x <= 9"])

    assert message == says(
        "The rules need numbers in column 'grade', such as 3, "
        "but it holds categories, such as 'high'.",
        "rows.csv",
        AS_LEARNED,
    )


def test_numbers_other_than_zero_and_one_are_no_truths(refusal):
    """A column of counts is not a column of flags."""
    assert refusal(rows="width,smoke\n3,7\n", rules=["smoke => width <= 9"]) == says(
        "The rules need true and false in column 'smoke', but it holds numbers, such as 7.",
        "rows.csv",
        AS_LEARNED,
    )


def test_a_date_cannot_be_checked():
    """What no rule can speak of is refused wherever it is needed."""
    import datetime

    rules = library.RuleSet.from_texts(["0 <= x <= 9"])
    with pytest.raises(library.SqrlError) as error:
        library.check(rules, {"x": [datetime.date(2020, 1, 1)]})

    assert error.value.what == (
        "The rules need numbers in column 'x', but it holds dates, such as 2020-01-01."
    )


def test_a_column_without_any_value_may_be_of_any_type():
    """Nobody can say what it would hold; the rules do not apply."""
    rules = library.RuleSet.from_texts(
        ["kind = a => 0 <= x <= 9", "flag => x <= 3", "n = 3 => x <= 3"]
    )
    nothing = {name: [None, None] for name in ("kind", "x", "flag", "n")}

    assert library.check(rules, nothing).applicable.tolist() == [0, 0, 0]


@pytest.mark.parametrize("values", [[1, 0], [True, False], ["1", "0"], ["1", "x"]])
def test_a_class_number_may_be_written_in_several_ways(values):
    """Numbers, booleans and digits as text are the same classes."""
    rules = library.RuleSet.from_texts(["y = 1 => x <= 3"])

    assert library.check(rules, {"y": values, "x": [9.0, 9.0]}).applicable.tolist() == [1]


def test_not_a_number_is_not_applicable(sqrl):
    """NaN, infinity's sibling, breaks nothing and holds nothing."""
    library.RuleSet.from_texts(["0 <= width <= 9"]).save("rules.json")
    Path("rows.csv").write_text("width\nnan\n3\nNaN\n")
    found = json.loads(sqrl("check", "rules.json", "rows.csv", "--format", "json").out)

    assert (found["rules"][0]["applicable"], found["violations"]) == (1, 0)


# Predictions


@pytest.mark.parametrize("statistic", ["mean", "std", "median", "min", "max"])
def test_statistics_of_infinite_values_are_undefined_in_silence(statistic):
    """A mini-batch with both infinities has only a median that is a number, and nothing warns."""
    rules = library.RuleSet.from_texts([f"0 <= {statistic}(x) <= 1 over 4"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = library.check(rules, {"x": [1.0, np.inf, 2.0, -np.inf]})

    # In order -inf, 1, 2, inf: the median is 1.5.
    is_defined = int(statistic == "median")
    assert found.applicable.tolist() == found.broken.tolist() == [is_defined]


def test_an_unknown_prediction_column_is_answered_with_the_nearest(refusal):
    """As any other column."""
    message = refusal("check", "rules.json", "rows.csv", "--prediction", "siad")

    assert message == says("Unknown column 'siad'.", "rows.csv", "did you mean 'said'?")


def test_predictions_with_other_class_names_are_refused(refusal):
    """A model that says 'car' where rules say 'Car' would break nothing, wrongly."""
    message = refusal(
        *("check", "rules.json", "rows.csv", "--prediction", "said"),
        rows=ROWS.replace("true,Car", "true,car").replace("false,Car", "false,van"),
    )

    assert message == says(
        "Column 'said' names none of the rules' classes, but car, van.",
        "rows.csv",
        "name classes as the rules do: Car, Van",
    )


def test_predictions_as_class_numbers_are_refused(refusal):
    """An index is not a name."""
    message = refusal(
        *("check", "rules.json", "rows.csv", "--prediction", "said"),
        rows=ROWS.replace("true,Car", "true,0").replace("false,Car", "false,1"),
    )

    assert message == says(
        "Column 'said' names none of the rules' classes, but 0, 1.",
        "rows.csv",
        "name classes as the rules do: Car, Van",
    )


def test_a_class_that_rules_do_not_know_is_told(sqrl):
    """A category never seen in training is no error, but nothing to be silent about."""
    library.RuleSet.from_texts(RULES).save("rules.json")
    Path("rows.csv").write_text(ROWS.replace("false,Car", "false,Tram"))
    outcome = sqrl("check", "rules.json", "rows.csv", "--prediction", "said")

    assert outcome.code == 0
    assert "note: 1 of 2 rows have a value in 'said' of which no rule speaks: Tram" in outcome.out


def test_rules_without_a_label_take_no_prediction(refusal):
    """It would take no column's place."""
    message = refusal(
        *("check", "rules.json", "rows.csv", "--prediction", "said"), rules=["0 <= width <= 9"]
    )

    assert message == says(
        "The rules do not say which column is the label.",
        fix="learn them with a schema that has 'label:'",
    )


@pytest.mark.parametrize("given", ["Car", "=p", "Car="])
def test_probabilities_are_class_and_column(refusal, given):
    """A malformed option shows how it is written."""
    message = refusal("check", "rules.json", "rows.csv", "--probabilities", given)

    assert message.splitlines()[-1] == (
        f"Error: Invalid value for '--probabilities': '{given}' is not CLASS=COLUMN, "
        "such as yes=p_yes."
    )


# Tables and rules files


@pytest.mark.parametrize("command", ["check", "compare"])
def test_a_table_without_rows_is_refused(refusal, command):
    """A gate that checked nothing must not open."""
    files = ["rows.csv"] * (1 if command == "check" else 2)

    assert refusal(command, "rules.json", *files, rows="type,width,smoke\n") == says(
        "The table has no rows.", "rows.csv", "give data to check"
    )


def test_missing_files_are_named(refusal):
    """Data and rules each in their own words."""
    assert refusal("check", "rules.json", "rosw.csv") == says(
        "There is no such file.", "rosw.csv", "did you mean 'rows.csv'?"
    )
    assert refusal("check", "rule.json", "rows.csv") == says(
        "There is no such rules file.", "rule.json", "make one with 'sqrl learn'"
    )


def test_rules_of_another_version_are_refused(refusal):
    """A newer file is not guessed at."""
    library.RuleSet.from_texts(RULES).save("old.json")
    Path("new.json").write_text(
        Path("old.json").read_text().replace('"version": 1', '"version": 7')
    )

    assert refusal("check", "new.json", "rows.csv") == says(
        "The rules file has format version 7; this sqrl reads version 1.",
        "new.json",
        "learn the rules again, or use the sqrl that wrote them",
    )


def test_too_few_rows_for_mini_batches_that_were_asked_for(refusal):
    """Drawn mini-batches need rows; disjoint ones that do not fit are told of."""
    rules = ["0 <= mean(width) <= 9 over 64"]

    assert refusal("check", "rules.json", "rows.csv", "--batches", 3, rules=rules) == says(
        "A mini-batch of 64 rows cannot be drawn from 2 rows.",
        "rows.csv",
        "use 'over 1' or less, or give more data",
    )


@pytest.mark.parametrize("level", ["0.0", "1.0"])
def test_a_level_must_be_a_share(refusal, level):
    """Nothing is significant at 0, everything at 1."""
    assert refusal("check", "rules.json", "rows.csv", "--level", level) == says(
        f"The level is {level}.", fix="give a share between 0 and 1, such as 0.01"
    )


# Results that cannot be written


@pytest.mark.parametrize(
    ("option", "name"),
    [("--junit", "out.xml"), ("--report", "out.html"), ("--violations", "out.csv")],
)
def test_results_that_cannot_be_written_are_refused_before_any_work(refusal, option, name):
    """A missing folder, a folder in the file's place, a file in the folder's place."""
    Path("folder.csv").mkdir()
    given = ("check", "rules.json", "missing.csv", option)

    assert refusal(*given, f"nowhere/{name}") == says(
        "The folder of the output does not exist.",
        f"nowhere/{name}",
        "create it: mkdir -p nowhere",
    )
    assert refusal(*given, f"rows.csv/{name}") == says(
        "'rows.csv' is a file, not a folder.",
        f"rows.csv/{name}",
        "choose another place",
    )


def test_reports_and_violations_have_known_suffixes(refusal):
    """The suffix says the format."""
    given = ("check", "rules.json", "rows.csv")

    assert refusal(*given, "--violations", "out.xlsx") == says(
        "Violations are written as .csv or .parquet, not .xlsx.", "out.xlsx", "name it out.csv"
    )
    assert refusal(*given, "--report", "out.pdf") == says(
        "A report cannot be written as '.pdf'.", "out.pdf", "end the name in .html or .md"
    )
    assert refusal("compare", "rules.json", "rows.csv", "rows.csv", "--report", "out.pdf") == says(
        "A report cannot be written as '.pdf'.", "out.pdf", "end the name in .html or .md"
    )


def test_old_results_stay_where_the_check_is_refused(sqrl):
    """A result is the old one or the new one."""
    library.RuleSet.from_texts(RULES).save("rules.json")
    for name in ("out.xml", "out.csv", "out.html"):
        Path(name).write_text("old")
    Path("rows.csv").write_text("wrong\n1\n")
    options = ("--junit", "out.xml", "--violations", "out.csv", "--report", "out.html")

    assert sqrl("check", "rules.json", "rows.csv", *options).code == 2
    assert {Path(name).read_text() for name in ("out.xml", "out.csv", "out.html")} == {"old"}


# Hostile text


HOSTILE = ["<script>alert(1)</script>", "]]></style>&\"'", "=HYPERLINK(1)", "\x1b[31mred", "a\x00b"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_and_categories_stay_text(sqrl, name):
    """In XML, CSV, a page and on the screen, whatever a column or a category is called."""
    from sqrl._language.names import name_text
    from sqrl._language.printer import word_text

    rules = library.RuleSet.from_texts(
        [f"{name_text(name)} <= 1", f"kind = {word_text(name)} => x <= 1"]
    )
    table = {name: [2.0, 3.0], "kind": [name, "b"], "x": [5.0, 6.0]}
    found = library.check(rules, table)
    assert found.broken.tolist() == [2, 1]
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(table), "rows.parquet")
    rules.save("rules.json")
    outcome = sqrl(
        *("check", "rules.json", "rows.parquet", "--fail-on", "any", "--junit", "out.xml"),
        *("--violations", "out.csv", "--report", "out.html"),
    )
    cases = ElementTree.parse("out.xml").getroot().findall("testsuite/testcase")

    assert outcome.code == 1
    assert "\x1b" not in outcome.out
    assert "\x00" not in outcome.out
    assert len(cases) == 2
    assert all(case.find("failure") is not None for case in cases)
    assert "<script>alert" not in Path("out.html").read_text()
    with Path("out.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    assert len(lines) == 4
    assert not any(cell[:1] in "=+@\t\r" and cell for line in lines for cell in line)


def test_a_sentence_that_begins_like_a_formula_is_defused(sqrl):
    """`-0.5 <= x` is a formula to a spreadsheet."""
    library.RuleSet.from_texts(["-0.5 <= x <= 1"]).save("rules.json")
    Path("rows.csv").write_text("x\n5\n")
    sqrl("check", "rules.json", "rows.csv", "--violations", "out.csv")

    assert Path("out.csv").read_text().splitlines()[1].endswith('"\'-0.5 <= x <= 1"')
