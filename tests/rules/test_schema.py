"""Schema: what is written in YAML or Python is checked on load and written back readably."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqrl._rows.quantiles import BoundOptions
from sqrl._rules.schema import (
    LARGEST_SCHEMA,
    Schema,
    Select,
    Validate,
    as_schema,
    load_schema,
    parse_schema,
    shipped_schemas,
)
from sqrl._rules.schema_yaml import load_yaml
from sqrl.errors import SchemaError, SqrlError, UnknownNameError


def refusal(text):
    """The text of the error that a schema gives."""
    with pytest.raises(SqrlError) as caught:
        parse_schema(text)
    return str(caught.value)


def test_a_schema_reads_as_people_write_it():
    """Sentences that start with ? need no quotes, and everything but the rules has a default."""
    schema = parse_schema("rules:\n  - ? <= A <= ?\n  - type = Y => ? <= A <= ? by B/4\n")

    assert schema.rules == ("? <= A <= ?", "type = Y => ? <= A <= ? by B/4")
    assert (schema.coverage, schema.validate, schema.select) == (0.98, Validate(), Select())
    assert (schema.batches.train, schema.batches.valid) == (100, 50)
    assert (schema.validate.epsilon, schema.validate.share) == (0.5, 0.2)
    assert (schema.select.by, schema.bounds.confidence, schema.limit) == ("lower", 0.95, 10_000_000)


def test_yaml_and_python_say_the_same():
    """The keys of the file are the keys of the mapping."""
    text = "coverage: 0.9\nlet: {A: [w, h]}\nrules: ['? <= A <= ?']\nbounds: {min_support: 5}\n"
    mapping = {
        "coverage": 0.9,
        "let": {"A": ["w", "h"]},
        "rules": ["? <= A <= ?"],
        "bounds": {"min_support": 5},
    }

    assert parse_schema(text) == as_schema(mapping)
    assert as_schema(mapping).bounds == BoundOptions(min_support=5)


def test_a_schema_is_written_as_people_write_it():
    """Lists and options on one line, sentences that start with ? in quotes, defaults left out."""
    schema = Schema(
        label="type",
        statistics={"ratio": "width / height"},
        let={"Y": "values(type)", "A": ["width", "ratio"]},
        cuts={4: [10.0, 50.0, 90.0]},
        rules=("type = Y => ? <= A <= ?", "? <= f1(width > 3 => type = Y) <= ? over 64"),
        bounds=BoundOptions(method="tolerance"),
        validate=False,
        select=Select(top=5, per="Y"),
    )

    assert schema.to_yaml() == (
        "label: type\n"
        "coverage: 0.98\n"
        "statistics:\n"
        "  ratio: width / height\n"
        "let:\n"
        "  Y: values(type)\n"
        "  A: [width, ratio]\n"
        "cuts: {4: [10.0, 50.0, 90.0]}\n"
        "rules:\n"
        "  - type = Y => ? <= A <= ?\n"
        "  - '? <= f1(width > 3 => type = Y) <= ? over 64'\n"
        "bounds: {method: tolerance}\n"
        "validate: false\n"
        "select: {top: 5, per: Y}\n"
    )


words = st.text(max_size=12) | st.sampled_from(["no", "1e5", "007", "12:30", "? x", "null", "~"])
entries = st.lists(
    words | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6), max_size=4
)


@given(
    label=words,
    entries=entries,
    coverage=st.floats(0.01, 0.99),
    top=st.none() | st.integers(1, 99),
    share=st.floats(0.01, 0.99) | st.none(),
)
def test_what_is_written_reads_back_as_the_same_schema(label, entries, coverage, top, share):
    """No label, category or number changes its meaning on the way through YAML."""
    schema = Schema(
        label=label,
        let={"A": entries, "B": entries},
        coverage=coverage,
        rules=("? <= A <= ?",),
        validate=Validate(share=share) if share else False,
        select=Select(top=top),
    )

    assert parse_schema(schema.to_yaml()) == schema


@pytest.mark.parametrize("text", ["\x85", "a\u2028b", "a\nb", "\r", " a\u2029 "])
def test_a_line_break_of_any_kind_comes_back(text):
    """Not only the ones on a keyboard."""
    schema = Schema(label=text, let={"A": [text]}, rules=("? <= A <= ?",))

    assert parse_schema(schema.to_yaml()) == schema


def test_the_same_list_twice_is_written_out_twice():
    """What we write has no aliases, which we would not read."""
    numbers = ["w", "h"]
    schema = Schema(let={"A": numbers, "B": numbers}, rules=("? <= B <= ? by A/4",))

    assert parse_schema(schema.to_yaml()) == schema


def test_lines_of_a_written_schema_fit_a_terminal():
    """A domain of many columns is folded, and reads back as one."""
    literals = f"literals({', '.join(f'column_{number}/8' for number in range(40))})"
    schema = Schema(let={"L": literals}, rules=("? <= f1(L => y = 1) <= ? over 64",))

    assert max(map(len, schema.to_yaml().splitlines())) <= 80
    assert parse_schema(schema.to_yaml()) == schema


@pytest.mark.parametrize("name", shipped_schemas())
def test_every_shipped_schema_loads_and_reads_back(name):
    """The schemas of the package are schemas."""
    schema = load_schema(name)

    assert parse_schema(schema.to_yaml()) == schema


def test_words_stay_words():
    """no, on, 12:30 and dates are categories; only true, false, null and numbers are not."""
    text = "[no, on, y, 12:30, 2020-01-01, 0x1f, 1_000, .inf, true, null, 7, 1e-3, -.5, 010]"

    assert load_yaml(text, where="test") == [
        *("no", "on", "y", "12:30", "2020-01-01", "0x1f", "1_000", ".inf"),
        *(True, None, 7, 0.001, -0.5, 10),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"rules: {'[' * 5000}",
            "The YAML is nested too deeply.\n  where: schema\n  fix:   make it flat",
        ),
        (
            "rules: !!timestamp x",
            "The tag !!timestamp is not read.\n"
            "  where: schema, line 1, column 8\n"
            "  fix:   leave the tag out",
        ),
        (
            "rules: ['? <= a']\x00",
            "The text is not well-formed YAML: "
            "unacceptable character #x0000: special characters are not allowed.\n"
            "  where: schema\n"
            "  fix:   check the indentation, the brackets and the quotes",
        ),
        (
            "let: {A: [1e999]}\nrules: ['? <= A']",
            "inf cannot be a value.\n  where: schema, let.A\n  fix:   use finite numbers",
        ),
        (
            "let: {a b: [a]}\nrules: ['? <= a']",
            "'a b' cannot name a hole.\n  where: schema, let\n  fix:   use a plain name such as A",
        ),
        (
            "let: {by: [a]}\nrules: ['? <= a']",
            "'by' cannot name a hole.\n  where: schema, let\n  fix:   use a plain name such as A",
        ),
        (
            "statistics: {a: 3}\nrules: ['? <= a']",
            "Expected text, got a whole number.\n"
            "  where: schema, statistics.a\n"
            "  fix:   write it like this: statistics: {area: width * height}",
        ),
        (
            "statistics: {a: '? + 1'}\nrules: ['? <= a']",
            "A derived statistic cannot contain '?'.\n"
            "  where: schema, statistics.a\n"
            "  fix:   use columns, numbers and + - * / **",
        ),
        (
            "statistics: {a: min()}\nrules: ['? <= a']",
            "min(...) takes one argument or more, not 0.\n"
            "  where: schema, statistics.a\n"
            "  fix:   write min(age)",
        ),
        (
            "statistics: {a: a + 1}\nrules: ['? <= a']",
            "Statistic 'a' is defined by itself: a -> a.\n"
            "  where: schema, statistics.a\n"
            "  fix:   define it by columns",
        ),
        (
            "rules: ['? <= a']\nvalidate: true",
            "True is not among the choices.\n"
            "  where: schema, validate\n"
            "  fix:   write it like this: validate: {epsilon: 0.5, share: 0.2, holds: 0.95}, "
            "or validate: false",
        ),
        (
            "rules: ['? <= a']\nbounds: {min_support: 0}",
            "bounds.min_support is 0.\n"
            "  where: schema, bounds.min_support\n"
            "  fix:   make it 1 or more",
        ),
        (
            "rules: ['? <= a']\ncuts: {x: [50]}",
            "Expected a whole number, got text.\n"
            "  where: schema, cuts\n"
            "  fix:   write it like this: cuts: {4: [25, 50, 75]}",
        ),
    ],
)
def test_a_schema_that_makes_no_sense_is_refused_on_load(text, message):
    """The author reads what is wrong, at which key, and what to write instead."""
    assert refusal(text) == message


def test_an_error_is_also_the_builtin_it_refines():
    """Callers who know only Python's own errors can catch ours."""
    with pytest.raises(ValueError, match="no rules"):
        as_schema({"rules": []})
    with pytest.raises(LookupError, match="Unknown key"):
        as_schema({"rule": []})
    assert issubclass(SchemaError, SqrlError)
    assert issubclass(UnknownNameError, SqrlError)


def test_a_file_too_large_for_a_schema_is_not_read(tmp_path):
    """The data given in place of the schema is recognised by its size."""
    path = tmp_path / "data.yaml"
    path.write_bytes(b"#" * (LARGEST_SCHEMA + 1))

    with pytest.raises(SchemaError, match="is it the data"):
        load_schema(path)


def test_a_folder_with_the_name_of_a_shipped_schema_does_not_hide_it(tmp_path, monkeypatch):
    """`--schema cardio` works beside a folder of data called cardio."""
    (tmp_path / "cardio").mkdir()
    monkeypatch.chdir(tmp_path)

    assert load_schema("cardio").label == "cardio"


def test_a_template_may_have_a_coverage_of_its_own():
    """In YAML, in Python and back."""
    text = """coverage: 0.9
rules:
  - '? <= x <= ?'
  - {rule: '? <= x', coverage: 0.95}
  - {rule: '? <= x <= ?', coverage: 1}
"""
    schema = parse_schema(text)

    assert schema.to_yaml() == text
    assert schema.sentences == ("? <= x <= ?", "? <= x", "? <= x <= ?")
    assert schema.coverages == (0.9, 0.95, 1.0)
    rules = ["? <= x <= ?", {"rule": "? <= x", "coverage": 0.95}]
    assert as_schema({"coverage": 0.9, "rules": rules}).rules == schema.rules[:2]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"x": 1},
            "A template is a sentence, or a mapping with its rule and its coverage.\n"
            "  where: schema, rules[0]\n"
            "  fix:   put the sentence in quotes, or write {rule: '? <= age <= ?', coverage: 1}",
        ),
        (
            {"rule": "? <= x"},
            "The template has no coverage.\n"
            "  where: schema, rules[0]\n"
            "  fix:   write {rule: '? <= age <= ?', coverage: 1}, or the sentence alone",
        ),
        (
            {"rule": "? <= x", "coverage": 2},
            "rules[0].coverage is 2.0.\n"
            "  where: schema, rules[0].coverage\n"
            "  fix:   make it above 0, at most 1",
        ),
    ],
)
def test_a_template_that_is_a_mapping_has_a_rule_and_a_coverage(entry, message):
    """And nothing else."""
    with pytest.raises(SqrlError) as caught:
        as_schema({"rules": [entry]})

    assert str(caught.value) == message
