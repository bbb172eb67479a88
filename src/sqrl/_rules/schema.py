"""Schema: sentences with holes, the domains of the holes, and how bounds are inferred.

A schema is what a person writes, in YAML or in Python; the keys are the same. A bad key, name or
sentence fails when the schema is made, not in the middle of a run.
"""

import math
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from sqrl._data.given_path import given_path
from sqrl._data.read_file import refuse_device
from sqrl._data.write_file import write_atomically
from sqrl._language import parse, parse_formula, to_text
from sqrl._language.forms import Form, learned_values, read_form
from sqrl._language.names import KEYWORDS, SEQUENCE_FUNCTIONS, base_of
from sqrl._language.statistics import is_batch_statistic
from sqrl._language.tree import Call, Each, Hole, Known, Name, Node, Repeat, walk
from sqrl._rows.quantiles import BoundOptions
from sqrl._rows.rows import ALL_FUNCTIONS, KEY
from sqrl._rules.sequence_names import check_row_order
from sqrl.errors import SchemaError, SqrlError, UnknownNameError, nearest, unknown

LARGEST_SCHEMA = 1_000_000  # bytes
MOST_CUTS = 10_000  # buckets of an expression
LONGEST_CHAIN = 50  # of statistics, each by the one before
DEFAULT_LIMIT = 10_000_000  # rules

Entry = bool | int | float | str
T = TypeVar("T")

# What each key looks like, for the hint when its value is of the wrong type.
EXAMPLES = {
    "label": "label: type",
    "unit": "unit: image, or unit: [drive, track]",
    "order": "order: timestamp",
    "entity": "entity: patient",
    "coverage": "coverage: 0.98",
    "statistics": "statistics: {area: width * height}",
    "let": "let: {Y: values(type), A: [width, height]}",
    "cuts": "cuts: {4: [25, 50, 75]}",
    "rules": "rules: ['? <= age <= ?']",
    "batches": "batches: {train: 100, valid: 50}",
    "bounds": "bounds: {method: tolerance, confidence: 0.95}",
    "validate": "validate: {epsilon: 0.5, share: 0.2, holds: 0.95}, or validate: false",
    "select": "select: {top: 50, per: Y, by: lower}",
    "limit": "limit: 1000000",
    "left_out": "left_out: {id: 'a different value in each row'}",
    "train": "train: {strength: 0.01, scale: 1.2}",
}
CHOICES = {
    "bounds.method": "use percentile or tolerance",
    "select.by": "use lower, width, support, jaccard or informative",
}
# What msgspec calls the types of JSON, and what people call them.
SPOKEN = {
    "array": "a list",
    "object": "a mapping",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}


class BatchCount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How many mini-batches are drawn from the train rows and from the validation rows."""

    train: int = 100
    valid: int = 50


class Validate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Bounds must agree on held-out rows: Jaccard above 1 - epsilon.

    `share` of the rows is held out where no validation file is given. With `holds`, held-out rows
    must also show, with the `confidence`, that a rule holds on such a share of them.
    """

    epsilon: float = 0.5
    share: float = 0.2
    holds: float | None = None
    confidence: float = 0.95


class Select(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which of the agreeing rules are kept: the `top` ones, `per` value of a hole, `by` what."""

    top: int | None = None
    per: str | None = None
    by: Literal["lower", "width", "support", "jaccard", "informative"] = "lower"


class TrainBy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What did best on rows of the learner's own when a model was trained by rules like these.

    `strength` holds effects back; all of them are then multiplied by `scale`.
    """

    strength: float | None = None
    scale: float = 1.0


class TemplateEntry(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A template with a coverage of its own; with 1 its bounds are the ends of all train rows."""

    rule: str
    coverage: float


class Schema(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Rule templates, the domains of their holes, and how bounds are inferred.

    >>> schema = Schema(rules=("type = Y => ? <= A <= ?",),
    ...                 let={"Y": ["Car", "Van"], "A": ["width", "height"]})
    >>> schema.coverage
    0.98
    """

    label: str | None = None
    unit: str | list[str] | None = None  # columns that say which rows belong together
    order: str | list[str] | None = None  # the columns that rows of an entity are sorted by
    entity: str | list[str] | None = None  # the columns that say what a row is of
    coverage: float = 0.98
    statistics: dict[str, str] = {}
    let: dict[str, str | list[Entry]] = {}
    cuts: dict[int, list[float]] = {}
    rules: tuple[str | TemplateEntry, ...]
    batches: BatchCount = BatchCount()
    bounds: BoundOptions = BoundOptions()
    validate: Validate | Literal[False] = Validate()
    select: Select = Select()
    limit: int = DEFAULT_LIMIT
    left_out: dict[str, str] = {}  # columns that are watched less than others, and why: a note
    train: TrainBy = TrainBy()  # how models are trained by these rules

    def __post_init__(self) -> None:
        _check_numbers(self)
        _check_cuts(self)
        _check_holes(self)
        self.expressions()
        self.forms()
        check_row_order(self)

    @property
    def delta(self) -> float:
        """The share of data that may fall outside: 1 - coverage, free of rounding noise."""
        return round(1.0 - self.coverage, 12)

    @property
    def units(self) -> tuple[str, ...]:
        """The columns that say which rows belong together; none where every row is by itself.

        >>> Schema(rules=("? <= x",), unit="image").units
        ('image',)
        """
        return (self.unit,) if isinstance(self.unit, str) else tuple(self.unit or ())

    @property
    def sentences(self) -> tuple[str, ...]:
        """The templates' sentences, in the order they are written.

        >>> Schema(rules=("? <= x", TemplateEntry(rule="? <= y <= ?", coverage=1))).sentences
        ('? <= x', '? <= y <= ?')
        """
        return tuple(rule if isinstance(rule, str) else rule.rule for rule in self.rules)

    @property
    def coverages(self) -> tuple[float, ...]:
        """The coverage of each template: its own, or that of the schema."""
        return tuple(
            self.coverage if isinstance(rule, str) else rule.coverage for rule in self.rules
        )

    def expressions(self) -> dict[str, Node]:
        """The derived statistics as trees."""
        trees: dict[str, Node] = {}
        for name, text in self.statistics.items():
            where = f"statistics.{name}"
            trees[name] = _located(parse_formula, text, where)
            _check_functions(trees[name], where)
        _check_cycles(trees)
        return trees

    def forms(self) -> tuple[Form, ...]:
        """The templates taken apart, in the order they are written."""
        forms = []
        for index, text in enumerate(self.sentences):
            where = f"rules[{index}]"
            form = _located(lambda sentence: read_form(parse(sentence)), text, where)
            _check_template(self, form, text, f"{where}, {text}")
            forms.append(form)
        return tuple(forms)

    def save(self, path: str | Path) -> None:
        """Write the schema as YAML that a person can edit."""
        write_atomically(Path(path), self.to_yaml().encode())

    def to_yaml(self) -> str:
        """The schema as YAML: the coverage, and what differs from the defaults.

        >>> print(Schema(rules=("? <= age",), select=Select(top=5)).to_yaml(), end="")
        coverage: 0.98
        rules:
          - '? <= age'
        select: {top: 5}
        """
        from sqrl._rules.schema_yaml import Flow, dump_yaml

        changed = {"coverage": self.coverage, **_changed(self)}
        plain = {key: changed[key] for key in Schema.__struct_fields__ if key in changed}
        for key, value in plain.items():
            if isinstance(value, Struct):
                plain[key] = Flow(_changed(value))
        if self.cuts:
            plain["cuts"] = Flow(self.cuts)
        rules = [rule if isinstance(rule, str) else Flow(_plain(rule)) for rule in self.rules]
        return dump_yaml({**plain, "rules": rules})


NESTED: dict[str, type[Struct]] = {
    "batches": BatchCount,
    "bounds": BoundOptions,
    "validate": Validate,
    "select": Select,
    "train": TrainBy,
}


def load_schema(path: str | Path) -> Schema:
    """The schema in a YAML file, or the shipped one of that name (`cardio`, `detection`, ...)."""
    file = given_path(path, SchemaError)
    if not file.is_file() and file.name == str(path) and not file.suffix:
        file = shipped_schema(str(path))
    try:
        refuse_device(file, SchemaError)
        with file.open("rb") as stream:
            content = stream.read(LARGEST_SCHEMA + 1)
    except OSError as error:
        raise SchemaError(
            f"Cannot read the schema: {error.strerror or error}.",
            where=str(path),
            fix=f"check the path, or use a shipped schema: {', '.join(shipped_schemas())}",
        ) from None
    if len(content) > LARGEST_SCHEMA:
        raise SchemaError(
            f"The schema has more than {LARGEST_SCHEMA:,} bytes.",
            where=str(path),
            fix="this does not look like a schema; is it the data?",
        )
    return parse_schema(content.decode("utf-8", errors="replace"), where=str(path))


def shipped_schemas() -> tuple[str, ...]:
    """The names of the schemas that come with the package."""
    return tuple(sorted(path.stem for path in _shipped().glob("*.yaml")))


def shipped_schema(name: str) -> Path:
    """The file of a shipped schema."""
    if name not in shipped_schemas():
        raise unknown("schema", name, shipped_schemas())
    return _shipped() / f"{name}.yaml"


def parse_schema(text: str, *, where: str = "schema") -> Schema:
    """The schema in YAML text."""
    from sqrl._rules.schema_yaml import load_yaml

    plain = load_yaml(text, where=where)
    if not isinstance(plain, Mapping):
        raise SchemaError(
            "A schema is a mapping with at least the key 'rules'.",
            where=where,
            fix=f"start with: {EXAMPLES['rules']}",
        )
    return as_schema(plain, where=where)


def as_schema(data: Schema | Mapping[str, Any], *, where: str = "schema") -> Schema:
    """A schema from a mapping with the keys of the file format; a Schema comes back as it is."""
    if isinstance(data, Schema):
        return data
    plain = {str(key): value for key, value in data.items()}
    _check_keys(plain, Schema, where)
    for key, struct in NESTED.items():
        if isinstance(plain.get(key), Mapping):
            _check_keys(plain[key], struct, f"{where}, {key}")
    if plain.get("rules") is None:
        fix = f"add a list such as: {EXAMPLES['rules']}"
        raise SchemaError("The schema has no rules.", where=where, fix=fix)
    if isinstance(plain["rules"], list | tuple):
        plain["rules"] = [_question(rule) for rule in plain["rules"]]
        for index, rule in enumerate(plain["rules"]):
            if isinstance(rule, Mapping):
                _check_entry(rule, f"{where}, rules[{index}]")
    try:
        return msgspec.convert(plain, Schema, str_keys=True)
    except msgspec.ValidationError as error:
        raise _readable(error, plain, where) from None
    except SqrlError as error:
        raise error.at(where) from None


def _changed(struct: Struct) -> dict[str, Any]:
    """The fields that differ from their defaults."""
    made = type(struct)(rules=("? <= x",)) if isinstance(struct, Schema) else type(struct)()
    values = {name: getattr(struct, name) for name in struct.__struct_fields__}
    return {name: value for name, value in values.items() if value != getattr(made, name)}


def _plain(rule: TemplateEntry) -> dict[str, Any]:
    whole = rule.coverage == int(rule.coverage)
    return {"rule": rule.rule, "coverage": int(rule.coverage) if whole else rule.coverage}


def _question(rule: object) -> object:
    """The sentence behind a plain `- ? <= A <= ?`, which YAML reads as a mapping with no value."""
    if isinstance(rule, Mapping) and len(rule) == 1:
        ((key, value),) = rule.items()
        if value is None and isinstance(key, str):
            return f"? {key}"
    return rule


def _readable(error: msgspec.ValidationError, plain: dict[str, Any], where: str) -> SqrlError:
    """What msgspec found wrong, in our words and with the key at which it stands."""
    if isinstance(error.__cause__, SqrlError):
        return error.__cause__.at(where)
    found = re.fullmatch(r"(.*?)(?: - at `(?:key` in `)?\$\.?(.*)`)?", str(error))
    assert found is not None
    what, path = found[1], found[2] or ""
    what = re.sub(r"`([^`]+)`", lambda found: _spoken(found[1]), what)
    what = re.sub(r"Invalid enum value (.*)", r"\1 is not among the choices", what)
    example = EXAMPLES.get(re.split(r"[.\[]", path)[0])
    fix = f"write it like this: {example}" if example else None
    place = f"{where}, {_exact(path, plain)}" if path else where
    return SchemaError(f"{what}.", where=place, fix=CHOICES.get(path, fix))


def _spoken(union: str) -> str:
    kinds = [kind for kind in union.split(" | ") if kind != "null"] or ["null"]
    if "float" in kinds and "int" in kinds:
        kinds.remove("int")
    return " or ".join(SPOKEN.get(kind, kind) for kind in kinds)


def _exact(path: str, plain: dict[str, Any]) -> str:
    """The path with the key in place of the `[...]` that msgspec has for the keys of a mapping."""
    top, dots, rest = path.partition("[...]")
    field = next((f for f in msgspec.structs.fields(Schema) if f.name == top), None)
    if not dots or field is None:
        return path
    for key, value in plain[top].items():
        try:
            msgspec.convert({key: value}, field.type, str_keys=True)
        except msgspec.ValidationError:
            return f"{top}.{key}{rest}"
    return path


def _check_keys(plain: Mapping[Any, Any], struct: type[Struct], where: str) -> None:
    for key in map(str, plain):
        if key not in struct.__struct_fields__:
            raise UnknownNameError(
                f"Unknown key {key!r}.", where=where, fix=nearest(key, struct.__struct_fields__)
            )


def _check_entry(rule: Mapping[Any, Any], where: str) -> None:
    """Raise where a template that is a mapping lacks its sentence or its coverage."""
    example = "{rule: '? <= age <= ?', coverage: 1}"
    if not {"rule", "coverage"} & {str(key) for key in rule}:
        raise SchemaError(
            "A template is a sentence, or a mapping with its rule and its coverage.",
            where=where,
            fix=f"put the sentence in quotes, or write {example}",
        )
    _check_keys(rule, TemplateEntry, where)
    for key in TemplateEntry.__struct_fields__:
        if key not in rule:
            fix = f"write {example}, or the sentence alone"
            raise SchemaError(f"The template has no {key}.", where=where, fix=fix)


def _check_numbers(schema: Schema) -> None:
    bounds, batches, select = schema.bounds, schema.batches, schema.select
    validate = schema.validate or Validate()
    share, more = "between 0 and 1", "1 or more"
    checks: list[tuple[str, float | None, bool, str]] = [
        ("coverage", schema.coverage, 0 < schema.coverage < 1, f"{share}, such as 0.98"),
        (
            "bounds.confidence",
            bounds.confidence,
            0 < bounds.confidence < 1,
            f"{share}, such as 0.95",
        ),
        ("bounds.min_support", bounds.min_support, _is_count(bounds.min_support), more),
        ("validate.epsilon", validate.epsilon, 0 < validate.epsilon <= 1, "above 0 and at most 1"),
        ("validate.share", validate.share, 0 < validate.share < 1, share),
        (
            "validate.holds",
            validate.holds,
            validate.holds is None or 0 < validate.holds < 1,
            f"{share}, such as 0.95",
        ),
        (
            "validate.confidence",
            validate.confidence,
            0 < validate.confidence < 1,
            f"{share}, such as 0.95",
        ),
        ("batches.train", batches.train, _is_count(batches.train), more),
        ("batches.valid", batches.valid, _is_count(batches.valid), more),
        ("select.top", select.top, _is_count(select.top), more),
        ("limit", schema.limit, _is_count(schema.limit), more),
        ("train.strength", schema.train.strength, (schema.train.strength or 1.0) > 0, "above 0"),
        ("train.scale", schema.train.scale, schema.train.scale > 0, "above 0, such as 1"),
    ]
    checks += [
        (f"rules[{index}].coverage", rule.coverage, 0 < rule.coverage <= 1, "above 0, at most 1")
        for index, rule in enumerate(schema.rules)
        if isinstance(rule, TemplateEntry)
    ]
    for key, value, holds, wanted in checks:
        if not holds:
            raise SchemaError(f"{key} is {value}.", where=key, fix=f"make it {wanted}")
    if schema.unit is not None and not all(schema.units):
        what = "The unit names no column."
        raise SchemaError(what, where="unit", fix=f"write it like this: {EXAMPLES['unit']}")
    if not schema.rules:
        fix = f"add a sentence, such as: {EXAMPLES['rules']}"
        raise SchemaError("The schema has no rules.", where="rules", fix=fix)


def _is_count(value: int | None) -> bool:
    return value is None or value >= 1


def _check_cuts(schema: Schema) -> None:
    for n_buckets, cuts in schema.cuts.items():
        is_rising = all(a < b for a, b in pairwise([0.0, *cuts, 100.0]))
        if n_buckets < 2 or len(cuts) != n_buckets - 1 or not is_rising:
            n_cuts = max(n_buckets, 2) - 1
            raise SchemaError(
                f"{max(n_buckets, 2)} buckets need {n_cuts} rising percentiles, got {cuts}.",
                where=f"cuts.{n_buckets}",
                fix="for instance 4: [25, 50, 75]",
            )


def _check_holes(schema: Schema) -> None:
    for name, entries in schema.let.items():
        if not name.isidentifier() or name in KEYWORDS:
            fix = "use a plain name such as A"
            raise SchemaError(f"{name!r} cannot name a hole.", where="let", fix=fix)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, float) and not math.isfinite(entry):
                fix = "use finite numbers"
                raise SchemaError(f"{entry} cannot be a value.", where=f"let.{name}", fix=fix)
    if schema.select.per is not None and schema.select.per not in schema.let:
        raise unknown("hole", schema.select.per, schema.let, where="select.per")


def _check_functions(tree: Node, where: str) -> None:
    for node in walk(tree):
        if isinstance(node, Call):
            _check_call(node, where)
        if isinstance(node, Hole | Each | Repeat):
            raise SchemaError(
                f"A derived statistic cannot contain '{to_text(node)}'.",
                where=where,
                fix="use columns, numbers and + - * / **",
            )


def _check_call(call: Call, where: str) -> None:
    if call.function not in ALL_FUNCTIONS:
        known = (*ALL_FUNCTIONS, *SEQUENCE_FUNCTIONS)
        raise unknown("function", call.function, known, where=where)
    takes_any = call.function in {"min", "max", KEY}
    if not call.arguments or (len(call.arguments) > 1 and not takes_any):
        takes = "one argument or more" if takes_any else "one argument"
        raise SchemaError(
            f"{call.function}(...) takes {takes}, not {len(call.arguments)}.",
            where=where,
            fix=f"write {call.function}(age)",
        )


def _check_cycles(trees: dict[str, Node]) -> None:
    """Raise where a statistic is defined by itself, directly or not, or by a very long chain."""
    length: dict[str, int] = {}  # of the chain behind a statistic

    def visit(name: str, path: tuple[str, ...]) -> None:
        if len(path) + length.get(name, 0) > LONGEST_CHAIN:
            first = path[0]
            raise SchemaError(
                f"Statistic {first!r} rests on a chain of more than {LONGEST_CHAIN} others.",
                where=f"statistics.{first}",
                fix="define it by columns",
            )
        if name in path:
            raise SchemaError(
                f"Statistic {name!r} is defined by itself: {' -> '.join([*path, name])}.",
                where=f"statistics.{name}",
                fix="define it by columns",
            )
        if name in length:
            return
        behind = [base_of(node.name) for node in walk(trees[name]) if isinstance(node, Name)]
        behind = [other for other in dict.fromkeys(behind) if other in trees]
        for other in behind:
            visit(other, (*path, name))
        length[name] = 1 + max((length[other] for other in behind), default=0)

    for name in trees:
        visit(name, ())


def _check_template(schema: Schema, form: Form, text: str, where: str) -> None:
    if form.has_bounds and any(
        bound is not None and not isinstance(bound, Hole)
        for piece in form.pieces
        for bound in (piece.lower, piece.upper)
    ):
        raise SchemaError(
            "A template's bounds are to be inferred, but one is given as a number.",
            where=where,
            fix="write ? for it",
        )
    if not form.pieces and not _learns_formula(form):
        fix = "add '? <= x <= ?'"
        raise SchemaError("There is nothing to infer in this template.", where=where, fix=fix)
    for node in walk(parse(text)):
        if isinstance(node, Call) and (
            form.statistic != node.function or not is_batch_statistic(node.function)
        ):
            _check_call(node, where)
        if isinstance(node, Each) and node.n_buckets > MOST_CUTS:
            raise SchemaError(
                f"{node.n_buckets:,} buckets are too many; at most {MOST_CUTS:,} are cut.",
                where=where,
                fix="write fewer",
            )
        if isinstance(node, Repeat) and node.name not in schema.let:
            raise no_domain(node.name, "literals(age/8, smoke)", schema.let, where)


def _learns_formula(form: Form) -> bool:
    """Whether a template without bounds is one: `x in ?`, or that something is known."""
    return form.head is not None and (
        learned_values(form.head) is not None
        or any(isinstance(node, Known) for node in walk(form.head))
    )


def is_hole_like(name: str) -> bool:
    """Whether a name that is neither a column nor declared was probably meant as a hole.

    >>> is_hole_like("Y"), is_hole_like("A2"), is_hole_like("age")
    (True, True, False)
    """
    return re.fullmatch(r"[A-Z]\d?", name) is not None


def no_domain(name: str, example: str, let: Mapping[str, object], where: str) -> SchemaError:
    """The error for a hole that `let` says nothing of."""
    hint = nearest(name, let) if let else ""
    return SchemaError(
        f"The hole {name!r} has no domain.",
        where=where,
        fix=f"add it under 'let', such as '{name}: {example}'"
        + (f"; {hint}" if hint.startswith("did you mean") else ""),
    )


def _located(make: Callable[[str], T], text: str, where: str) -> T:
    """What is made of the text; an error in it says where the text stands."""
    try:
        return make(text)
    except SqrlError as error:
        raise error.at(where) from None


def _shipped() -> Path:
    return Path(__file__).parents[1] / "schemas"
