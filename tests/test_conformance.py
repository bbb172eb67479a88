"""Every compiler takes every kind of rule and every statistic, or says why not.

The lists come from `KINDS` and from the registry of statistics, so that a new one fails here until
each compiler has it, `naive.py` defines it, and the results agree.
"""

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import naive
import sqrl
from sqrl._data.draws import mixed_keys
from sqrl._data.table import as_table
from sqrl._language import parse
from sqrl._language.forms import Form, read_form
from sqrl._language.kinds import COMPILERS, EVIDENCE, KINDS, Kind, RuleKind, handler
from sqrl._language.statistics import BUILT_IN, batch_statistic
from sqrl._language.statistics.arithmetic import formula_of
from sqrl._rows.rows import Rows
from sqrl._rows.units import unit_keys
from sqrl.errors import AdaptError, SchemaError

for needed in ("torch", "duckdb", "pandera", "sqlglot"):
    pytest.importorskip(needed)

import conformance  # noqa: E402
from made_scans import bits, bits_of_check, scanned  # noqa: E402

SOURCE = Path(sqrl.__file__).parent
RULES = conformance.rules_to_run(BUILT_IN)
OVER_UNITS = [form for form in conformance.rules_to_run(BUILT_IN, conformance.UNITS) if form.over]
ALL = [*RULES, *OVER_UNITS]
IDS = [f"{form.kind}-{form.statistic}-{form.over}" if form.over else form.kind for form in ALL]


@pytest.mark.parametrize("form", ALL, ids=IDS)
def test_every_compiler_counts_what_the_definition_counts(form):
    """In memory, in parts, row by row, on tensors, in DuckDB, in pandas; or it says why not."""
    applicable, broken = conformance.by_definition(form)

    assert 0 < broken < applicable  # the rule says something
    assert conformance.complaints([form]) == []


def test_the_rules_above_are_of_every_kind_and_statistic():
    """Nothing is left out because nobody thought of it."""
    assert {form.kind for form in RULES} == set(KINDS)
    assert {form.statistic for form in RULES} - {None} == set(BUILT_IN)


def test_every_compiler_has_an_entry_or_a_reason_for_every_kind():
    """And not both."""
    assert conformance.missing_entries() == []


def test_a_kind_that_a_compiler_lacks_is_reported():
    """The check of the tables can fail."""
    new = RuleKind(
        says="nothing yet",
        example="x",
        template="x",
        fields=(),
        is_single=True,
        has_bounds=False,
        implies_class=False,
        evidence="outcomes",
        refused={"batches": "it is about single rows", "pandas": "nobody needs it"},
    )

    assert conformance.missing_entries({**KINDS, "new": new}) == [
        f"{compiler} has neither an entry nor a reason for rules of kind 'new'"
        for compiler in ("learn", "rows", "torch", "sql")
    ]
    assert len(conformance.missing_entries({"new": replace(new, refused={})})) == len(COMPILERS)
    refused = {"batches": "it is about single rows", "sql": "too late"}
    both = replace(KINDS["sample"], refused=refused)
    assert conformance.missing_entries({"sample": both}) == [
        "sql has an entry and a reason for rules of kind 'sample'"
    ]


def test_a_statistic_that_a_compiler_lacks_is_reported(monkeypatch):
    """Without a reason it is a complaint, with one it is not."""
    monkeypatch.setitem(naive.OF_VALUES, "reach", lambda numbers: numbers[-1] - numbers[0])

    def reach(values):
        return np.fmax.reduce(values, axis=-1) - np.fmin.reduce(values, axis=-1)

    sqrl.statistic("reach")(reach)
    (form,) = [form for form in conformance.rules_to_run(["reach"]) if form.statistic]
    wrong = conformance.complaints([form])

    assert [line.split("reach")[0] for line in wrong] == [
        "torch gives no reason and says: No rule can be computed: ",
        "sql gives no reason and says: The statistic '",
    ]
    sqrl.statistic("reach", no_torch="nobody adapts by it", no_sql="nobody exports it")(reach)
    assert conformance.complaints([form]) == []
    sqrl.statistic("reach", no_torch="nobody adapts by it", sql="max(value)")(reach)
    assert [line.split(" ")[:2] for line in conformance.complaints([form])] == [["sql", "counts"]]
    sqrl.statistic("reach", no_torch="nobody", sql="max(value) - min(value)", no_sql="?")(reach)
    assert [line.split(":")[0] for line in conformance.complaints([form])] == [
        "sql computes what it should not be able to"
    ]


def test_a_statistic_of_counts_needs_one_function_and_nothing_else(monkeypatch):
    """Plain arithmetic runs everywhere: learn, check, scan, tensors, SQL, p-values."""
    monkeypatch.setitem(
        naive.OF_COUNTS, "jaccard", lambda body, head, both, _: (both, body + head - both)
    )
    sqrl.statistic("jaccard", of="counts")(
        lambda body, head, both, _rows: both / (body + head - both)
    )
    (form,) = [form for form in conformance.rules_to_run(["jaccard"]) if form.statistic]

    assert conformance.complaints([form]) == []
    found = learned_and_checked(["jaccard"])
    (place,) = [at for at in range(len(found.rules)) if found.rules.form(at).statistic]
    assert 0 <= found.p_value[place] <= 1


def test_a_quantile_is_added_through_its_door_alone(monkeypatch):
    """The public decorator is enough to learn, check and scan, and to be exported."""
    monkeypatch.setitem(naive.OF_VALUES, "quantile90", lambda n: float(np.quantile(n, 0.9)))

    @sqrl.statistic(
        "quantile90",
        sql="quantile_cont(value, 0.9)",
        no_torch="interpolated quantiles are not differentiable everywhere",
        no_p_value="a mean and a variance say little of a tail",
    )
    def quantile90(values):
        present = ~np.isnan(values).all(axis=-1)
        found = np.full(values.shape[:-1], np.nan)
        found[present] = np.nanquantile(values[present], 0.9, axis=-1)
        return found

    (form,) = [form for form in conformance.rules_to_run(["quantile90"]) if form.statistic]
    schema = learning_schema([form])
    table = conformance.TABLE
    rules = sqrl.learn(table, schema)

    assert conformance.complaints([form]) == []
    assert rules[0].text.startswith("type = Car => ")
    assert " <= quantile90(width) <= " in rules[0].text
    assert bits(sqrl.learn(scanned(table, ends=(40, 41)), schema)) == bits(rules)
    values = [
        naive.batch_value(rules.form(0), [conformance.ROWS[row] for row in batch])
        for batch in sqrl.check(rules, table).batches[conformance.SIZE]
    ]
    np.testing.assert_allclose(sqrl.check(rules, table).batch_values[0], values, rtol=1e-12)


def learning_schema(forms):
    """A schema that learns rules like these, from few mini-batches."""
    templates = [template_of(form) for form in forms]
    return {
        "coverage": 0.8,
        "bounds": {"min_support": 3},
        "batches": {"train": 9, "valid": 5},
        "validate": {"epsilon": 1.0, "share": 0.3},
        "rules": list(dict.fromkeys(templates)),
    }


def template_of(form):
    """The template that a rule of this kind and statistic is learned from."""
    template = KINDS[form.kind].template
    if form.statistic is None:
        return template
    (made,) = conformance.forms_of(template, [form.statistic])
    return sqrl.RuleSet.from_forms([made]).texts()[0]


def learned_and_checked(statistics):
    """Rules of every kind and these statistics, learned on one table and checked on another."""
    forms = [form for form in conformance.rules_to_run(statistics) if form.statistic]
    forms += [form for form in RULES if form.statistic is None]
    rules = sqrl.learn(conformance.made_table(2, 600), learning_schema(forms))
    return sqrl.check(rules, conformance.made_table(3, 400))


def test_every_kind_and_statistic_is_learned_alike_in_memory_and_in_parts():
    """To the last bit, and none is left without bounds."""
    schema = learning_schema(RULES)
    table = conformance.made_table(4, 200)
    rules = sqrl.learn(table, schema)

    assert {rules.form(place).kind for place in range(len(rules))} == set(KINDS)
    assert {rules.form(place).statistic for place in range(len(rules))} - {None} == set(BUILT_IN)
    assert not any("?" in text for text in rules.texts())
    assert bits(sqrl.learn(scanned(table, ends=(40, 41)), schema)) == bits(rules)


def schema_over_units(forms, **options):
    """A schema that learns rules like these over units, from few mini-batches."""
    schema = learning_schema(forms)
    rows, units = f"over {conformance.SIZE}", f"over {conformance.UNITS}"
    rules = [rule.replace(rows, units) for rule in schema["rules"]]
    return schema | {"rules": rules, "unit": "image"} | options


def drawn_by_a_loop(table, n_batches):
    """The rows of the units with the smallest keys of each draw."""
    rows = table.to_pylist()
    keys = unit_keys(Rows(as_table(table), {}), ["image"])
    for draw in range(1, n_batches + 1):
        mixed = mixed_keys(keys, seed=0, draw=draw).tolist()
        smallest = sorted(set(mixed))[: conformance.UNITS.n]
        yield [row for row, key in zip(rows, mixed, strict=True) if key in smallest]


def test_every_kind_and_statistic_is_learned_over_units_as_by_a_loop(monkeypatch):
    """Bounds are percentiles of the statistic of all rows of the units drawn, and of no other."""
    monkeypatch.setitem(
        naive.OF_COUNTS, "jaccard", lambda body, head, both, _: (both, body + head - both)
    )
    sqrl.statistic("jaccard", of="counts")(
        lambda body, head, both, _rows: both / (body + head - both)
    )
    forms = [form for form in conformance.rules_to_run([*BUILT_IN, "jaccard"]) if form.over]
    more = ["? <= rate(known(width)) <= ? over 3 units", "? <= rate(smoke) <= ? over 3 units"]
    schema = schema_over_units(forms, validate=False, batches={"train": 20})
    rules = sqrl.learn(
        table := conformance.made_table(4, 200), schema | {"rules": [*schema["rules"], *more]}
    )
    batches = list(drawn_by_a_loop(table, 20))

    assert len({len(batch) for batch in batches}) > 3  # they differ in size
    assert {form.statistic for form in rules.forms()} == {*BUILT_IN, "jaccard"}
    for form in rules.forms():
        values = [naive.batch_value(form, batch) for batch in batches]
        known = np.array([value for value in values if value is not None])
        (piece,) = form.pieces
        tail = 10 if piece.lower is not None else 20
        expected = np.percentile(known, [tail, 100 - tail])

        assert form.over == conformance.UNITS
        np.testing.assert_allclose(piece.upper.value, expected[1], rtol=1e-9, atol=1e-12)
        if piece.lower is not None:
            np.testing.assert_allclose(piece.lower.value, expected[0], rtol=1e-9, atol=1e-12)


def test_rules_over_units_are_alike_in_memory_in_parts_and_in_any_order_of_rows():
    """To the last bit in parts, within rounding in another order; none is without bounds."""
    half = {"validate": {"epsilon": 1.0, "share": 0.5}, "batches": {"train": 20, "valid": 20}}
    schema = schema_over_units(OVER_UNITS, **half)
    table = conformance.made_table(4, 200)
    rules = sqrl.learn(table, schema)
    in_parts = sqrl.learn(scanned(table, ends=(40, 41)), schema)
    shuffled = sqrl.learn(table.take(np.random.default_rng(0).permutation(200)), schema)
    new = conformance.made_table(5, 200)
    found = sqrl.check(rules, new)
    backwards = sqrl.check(rules, new.take(np.arange(200)[::-1]))

    assert {form.statistic for form in rules.forms()} == set(BUILT_IN)
    assert not any("?" in text for text in rules.texts())
    assert bits(in_parts) == bits(rules)
    assert bits_of_check(sqrl.check(rules, scanned(new, ends=(70, 100)))) == bits_of_check(found)
    for name in ("lower", "upper"):
        here, there = (np.array(one.table[name].to_pylist(), float) for one in (rules, shuffled))
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-12)
    for place, values in found.batch_values.items():
        np.testing.assert_allclose(backwards.batch_values[place], values, rtol=1e-9, atol=1e-12)


def test_every_rule_has_a_p_value_or_its_statistic_says_why_not():
    """A rule about single rows always has one."""
    found = learned_and_checked(BUILT_IN)
    for place, p in enumerate(found.p_value):
        form = found.rules.form(place)
        reason = form.statistic and batch_statistic(form.statistic).reasons.get("p_value")
        # Of values that repeat on most rows, held-out ones too, a repeat is no news.
        reason = reason or form.statistic == "repeats"

        assert np.isnan(p) == bool(reason), found.rules[place].text


@pytest.mark.parametrize(
    "name", [name for name in BUILT_IN if batch_statistic(name).of in {"share", "counts"}]
)
def test_every_statistic_of_counts_is_plain_arithmetic(name):
    """So that it runs on tensors and in databases without a second definition."""
    assert formula_of(batch_statistic(name).function) is not None


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_what_its_example_and_template_are(name):
    """The examples of the table are rules of their kind, and use only its fields."""
    kind = KINDS[name]
    for text in (kind.example, kind.template):
        form = read_form(parse(text))
        plain = Form(kind=form.kind)
        used = {
            field
            for field in plain.__struct_fields__
            if getattr(form, field) != getattr(plain, field)
        }

        assert form.kind == name
        assert used <= set(kind.fields)
        assert kind.evidence in EVIDENCE
    assert set(kind.fields) < set(Form.__struct_fields__)
    assert set(kind.refused) <= set(COMPILERS)


def test_the_kinds_are_those_that_types_know():
    """A literal type cannot be read off a table, so that it is typed twice."""
    assert Kind.__args__ == tuple(KINDS)


def test_a_kind_without_an_entry_is_refused_in_our_words():
    """With the reason where there is one."""
    with pytest.raises(SchemaError) as stated:
        handler({}, "batch", "pandas")
    with pytest.raises(SchemaError) as forgotten:
        handler({}, "sample", "sql")

    assert str(stated.value) == (
        "Rules of kind 'batch' cannot be computed on pandas: "
        "no single row breaks a rule about mini-batches.\n"
        "  fix:   leave them out: --where 'kind != batch'"
    )
    assert str(forgotten.value) == (
        "Rules of kind 'sample' cannot be computed on SQL: nobody has written it.\n"
        "  fix:   leave them out: --where 'kind != sample'"
    )


def test_a_kind_that_neither_bounds_nor_implies_is_told_and_drawn_all_the_same(monkeypatch):
    """What only shows rules needs no entry for a new kind about single rows."""
    from sqrl._check.sentences import sentence
    from sqrl._repair.roles import NEITHER, roles_of
    from sqrl.export._rules_to_export import Allowance, allowances
    from sqrl.methods import Clip
    from sqrl.report._drawing import RightWrong, draw_rule

    rules = sqrl.RuleSet.from_texts(["x <= 5"], evidence=[[98.0, 1.0]])
    plain = {**KINDS, "sample": replace(KINDS["sample"], has_bounds=False)}
    monkeypatch.setattr("sqrl._language.forms.KINDS", plain)
    found = sqrl.check(rules, {"x": [1.0] * 40 + [9.0] * 10})

    assert (found.applicable[0], found.broken[0]) == (50, 10)
    assert sqrl.guard(rules)({"x": 9.0}) == ["it does not keep 'x <= 5'"]
    assert found.p_value[0] < 1e-3  # against held-out rows, as nothing else is known of it
    assert sentence(found, 0, 45) == "it does not keep 'x <= 5'"
    assert draw_rule(found, 0, None) == RightWrong(40, 10, None)
    assert allowances(rules, [rules.form(0)]) == [Allowance(0.02, 99.0)]
    forms = [rules.form(0)]
    assert roles_of(forms, {}, ["x"], None, is_ranked=False).left_out == {0: NEITHER}
    with pytest.raises(AdaptError, match="it bounds nothing"):
        Clip(rules, ["x"])


@cache
def sources():
    """The path and the syntax tree of every product file."""
    return [
        (path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(SOURCE.rglob("*.py"))
    ]


def is_kind(node):
    """Whether an expression reads the kind of something."""
    match node:
        case ast.Attribute(attr="kind") | ast.Name(id="kind"):
            return True
        case ast.Subscript(value=inner, slice=place):
            return is_kind(inner) or (isinstance(place, ast.Constant) and place.value == "kind")
    return False


def kinds_in(node):
    """The kinds of rules that an expression spells out."""
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)} & set(KINDS)


def compares_kinds(tree):
    """The lines that compare a kind with the name of one, or list names of kinds to do so."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                if any(map(is_kind, sides)) and any(map(kinds_in, sides)):
                    yield node.lineno
            case ast.Match(subject=subject, cases=cases):
                if is_kind(subject) and any(kinds_in(case.pattern) for case in cases):
                    yield node.lineno
            case ast.Set(elts=items) | ast.Tuple(elts=items) | ast.List(elts=items):
                names = [item.value for item in items if isinstance(item, ast.Constant)]
                if len(names) == len(items) > 1 and set(names) <= set(KINDS):
                    yield node.lineno


def test_nothing_compares_kinds_outside_of_the_table():
    """Code asks a form what it is; a comparison would not be found when a kind is added."""
    found = {
        f"{path}:{line}"
        for path, tree in sources()
        if path != "_language/kinds.py"
        for line in compares_kinds(tree)
    }

    assert found == set()


@pytest.mark.parametrize(
    "code",
    [
        'form.kind == "class"',
        'row["kind"] != "sample"',
        'kind in {"sample", "class"}',
        'SINGLE = ("sample", "class")',
        'match form.kind:\n    case "batch" | "logic":\n        pass',
    ],
)
def test_a_comparison_of_kinds_is_found(code):
    """The search above can find something; columns have kinds too, of other names."""
    assert set(compares_kinds(ast.parse(code))) == {1}
    assert list(compares_kinds(ast.parse('column.kind in {"category", "number"}'))) == []


def names_kinds(tree):
    """Whether a file has a table by kind, or makes rules of a kind."""
    for node in ast.walk(tree):
        match node:
            case ast.Dict(keys=keys) if any(keys):
                names = {key.value for key in keys if isinstance(key, ast.Constant)}
                if len(names) == len(keys) > 1 and names <= set(KINDS):
                    return True
            case ast.keyword(arg="kind", value=ast.Constant(value=value)) if value in KINDS:
                return True
    return False


def test_a_new_kind_of_rule_touches_at_most_eight_files():
    """One about single rows and one about mini-batches: the tables, and a file for its bounds."""
    measures = {
        f"_learn/bounds/{name}.py"
        for name in ("batch", "formula", "implied_class", "logic", "sample", "shares")
    }
    found = {path for path, tree in sources() if names_kinds(tree)} - measures
    rows = {"_check/row_outcomes.py", "export/_row_rules.py", "export/_pandera.py"}
    batches = {"_check/mini_batches.py", "export/_batch_rules.py"}

    assert found == {
        "_language/kinds.py",
        "_language/forms.py",
        "_learn/bounds/__init__.py",
        "_adapt/rule_loss/program.py",
        *rows,
        *batches,
    }
    its_bounds = 1
    assert len(found - rows) + its_bounds <= len(found - batches) + its_bounds <= 8
