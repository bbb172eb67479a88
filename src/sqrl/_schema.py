"""Schema: sentences with holes, the domains of the holes, and how bounds are inferred.

A schema is what a person writes, in YAML or in Python; the keys are the same. A bad key, name or
sentence fails when the schema is made, not in the middle of a run.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml
from msgspec import Struct

from sqrl._atomic import write_atomically
from sqrl._evaluate import FUNCTIONS
from sqrl._forms import Form, read_form
from sqrl._language import parse, parse_formula, to_text
from sqrl._language.tree import Call, Each, Hole, Name, Node, Repeat, Word, walk
from sqrl._stats import is_batch_statistic
from sqrl.errors import SchemaError, SqrlError, UnknownNameError, nearest, unknown

LARGEST_SCHEMA = 1_000_000  # bytes
DEFAULT_LIMIT = 10_000_000  # rules

Entry = bool | int | float | str


class Batches(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many mini-batches are drawn from the train rows and from the validation rows."""

    train: int = 100
    valid: int = 50


class BoundOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How bounds are inferred.

    `percentile` interpolates between samples as numpy.percentile does, as in the paper.
    `tolerance` takes order statistics such that the stated coverage holds with the stated
    confidence whatever the distribution. With fewer than `min_support` samples (or mini-batches)
    a rule is unsupported; by default as many as it takes for one to be expected outside.
    """

    method: Literal["percentile", "tolerance"] = "percentile"
    confidence: float = 0.95
    min_support: int | None = None


class Validate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds must agree on held-out rows: Jaccard above 1 - epsilon.

    `share` of the rows is held out where no validation file is given.
    """

    epsilon: float = 0.5
    share: float = 0.2


class Select(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which of the agreeing rules are kept: the `top` ones, `per` value of a hole, `by` what."""

    top: int | None = None
    per: str | None = None
    by: Literal["lower", "width", "support", "jaccard"] = "lower"


class Schema(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Rule templates, the domains of their holes, and how bounds are inferred.

    >>> schema = Schema(rules=("type = Y => ? <= A <= ?",),
    ...                 let={"Y": ["Car", "Van"], "A": ["width", "height"]})
    >>> schema.coverage
    0.98
    """

    rules: tuple[str, ...]
    let: dict[str, str | list[Entry]] = {}
    statistics: dict[str, str] = {}
    label: str | None = None
    coverage: float = 0.98
    cuts: dict[int, list[float]] = {}
    batches: Batches = Batches()
    bounds: BoundOptions = BoundOptions()
    validate: Validate | Literal[False] = Validate()
    select: Select = Select()
    limit: int = DEFAULT_LIMIT

    def __post_init__(self) -> None:
        _check_numbers(self)
        for name in self.let:
            if not name.isidentifier():
                raise SchemaError(
                    f"{name!r} cannot name a hole.", where="let", fix="use a plain name such as A"
                )
        self.expressions()
        self.forms()

    @property
    def delta(self) -> float:
        """The share of data that may fall outside: 1 - coverage, free of rounding noise."""
        return round(1.0 - self.coverage, 12)

    def expressions(self) -> dict[str, Node]:
        """The derived statistics as trees."""
        trees: dict[str, Node] = {}
        for name, text in self.statistics.items():
            trees[name] = _located(lambda text=text: parse_formula(text), f"statistics.{name}")
            _check_functions(trees[name], f"statistics.{name}")
        _check_cycles(trees)
        return trees

    def forms(self) -> tuple[Form, ...]:
        """The templates taken apart, in the order they are written."""
        forms = []
        for index, text in enumerate(self.rules):
            where = f"rules[{index}]"
            form = _located(lambda text=text: read_form(parse(text)), where)
            _check_template(self, form, text, where)
            forms.append(form)
        return tuple(forms)

    def save(self, path: str | Path) -> None:
        """Write the schema as YAML that a person can edit."""
        write_atomically(Path(path), self.to_yaml().encode())

    def to_yaml(self) -> str:
        """The schema as YAML, with only what differs from the defaults.

        >>> print(Schema(rules=("0 <= ?",) and ("? <= age",)).to_yaml(), end="")
        rules:
        - '? <= age'
        """
        plain = msgspec.to_builtins(self)
        order = [key for key in Schema.__struct_fields__ if key != "rules" and key in plain]
        ordered = {key: plain[key] for key in ["label", *order, "rules"] if key in plain}
        return yaml.dump(
            ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100, indent=2
        )


def load_schema(path: str | Path) -> Schema:
    """The schema in a YAML file, or the shipped one of that name (`cardio`, `detection`, ...)."""
    file = Path(path)
    if not file.exists() and file.name == str(path) and not file.suffix:
        file = shipped_schema(str(path))
    try:
        text = file.read_bytes()
    except OSError as error:
        raise SchemaError(
            f"Cannot read the schema: {error.strerror or error}.",
            where=str(path),
            fix=f"check the path, or use a shipped schema: {', '.join(shipped_schemas())}",
        ) from None
    if len(text) > LARGEST_SCHEMA:
        raise SchemaError(
            f"The schema has {len(text):,} bytes; at most {LARGEST_SCHEMA:,} are read.",
            where=str(path),
            fix="this does not look like a schema; is it the data?",
        )
    return parse_schema(text.decode("utf-8", errors="replace"), where=str(path))


def shipped_schemas() -> tuple[str, ...]:
    """The names of the schemas that come with the package."""
    return tuple(sorted(path.stem for path in _shipped().glob("*.yaml")))


def shipped_schema(name: str) -> Path:
    """The file of a shipped schema."""
    path = _shipped() / f"{name}.yaml"
    if not path.exists():
        raise unknown("schema", name, shipped_schemas())
    return path


def parse_schema(text: str, *, where: str = "schema") -> Schema:
    """The schema in YAML text."""
    try:
        plain = yaml.load(text, Loader=_Loader)  # noqa: S506  (a SafeLoader without aliases)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}, line {mark.line + 1}, column {mark.column + 1}" if mark else where
        raise SchemaError(
            f"The schema is not well-formed YAML: {getattr(error, 'problem', None) or error}.",
            where=place,
            fix="check the indentation and quote sentences that start with '?'",
        ) from None
    if not isinstance(plain, Mapping):
        raise SchemaError(
            "A schema is a mapping with at least the key 'rules'.",
            where=where,
            fix="start with: rules: ['? <= A <= ?']",
        )
    return as_schema(plain, where=where)


def as_schema(data: Schema | Mapping[str, Any], *, where: str = "schema") -> Schema:
    """A schema from a mapping with the keys of the file format; a Schema comes back as it is."""
    if isinstance(data, Schema):
        return data
    plain = {str(key): value for key, value in data.items()}
    _check_keys(plain, Schema, where)
    for key, struct in (
        ("batches", Batches),
        ("bounds", BoundOptions),
        ("validate", Validate),
        ("select", Select),
    ):
        if isinstance(plain.get(key), Mapping):
            _check_keys(plain[key], struct, f"{where}, {key}")
    if "rules" not in plain:
        raise SchemaError("The schema has no rules.", where=where, fix="add a list under 'rules'")
    if isinstance(plain["rules"], list | tuple):
        plain["rules"] = [_question(rule) for rule in plain["rules"]]
    try:
        return msgspec.convert(plain, Schema, str_keys=True)
    except msgspec.ValidationError as error:
        raise _readable(error, where) from None
    except SqrlError as error:
        raise error.at(where) from None


def _question(rule: object) -> object:
    """The sentence behind a plain `- ? <= A <= ?`, which YAML reads as a mapping with no value."""
    if isinstance(rule, Mapping) and len(rule) == 1:
        ((key, value),) = rule.items()
        if value is None and isinstance(key, str):
            return f"? {key}"
    return rule


def _readable(error: msgspec.ValidationError, where: str) -> SchemaError:
    what, _, path = str(error).partition(" - at `")
    cause = error.__cause__
    if isinstance(cause, SqrlError):
        return SchemaError(cause.what, where=f"{where}, {cause.where}", fix=cause.fix)
    key = path.rstrip("`").removeprefix("$").removeprefix(".")
    return SchemaError(
        f"{what}.", where=f"{where}, {key}" if key else where, fix="see docs/schema.md for the keys"
    )


def _check_keys(plain: Mapping[str, Any], struct: type[Struct], where: str) -> None:
    for key in plain:
        if key not in struct.__struct_fields__:
            raise UnknownNameError(
                f"Unknown key {key!r}.", where=where, fix=nearest(key, struct.__struct_fields__)
            )


def _check_numbers(schema: Schema) -> None:
    validate = schema.validate or Validate()
    checks = [
        (0 < schema.coverage < 1, "coverage", schema.coverage, "between 0 and 1, such as 0.98"),
        (
            0 < schema.bounds.confidence < 1,
            "bounds.confidence",
            schema.bounds.confidence,
            "between 0 and 1, such as 0.95",
        ),
        (0 < validate.epsilon <= 1, "validate.epsilon", validate.epsilon, "above 0, at most 1"),
        (0 < validate.share < 1, "validate.share", validate.share, "between 0 and 1"),
        (schema.batches.train >= 1, "batches.train", schema.batches.train, "1 or more"),
        (schema.batches.valid >= 1, "batches.valid", schema.batches.valid, "1 or more"),
        ((schema.select.top or 1) >= 1, "select.top", schema.select.top, "1 or more"),
        (schema.limit >= 1, "limit", schema.limit, "1 or more"),
        (
            (schema.bounds.min_support or 1) >= 1,
            "bounds.min_support",
            schema.bounds.min_support,
            "1 or more",
        ),
    ]
    for holds, key, value, wanted in checks:
        if not holds:
            raise SchemaError(f"{key} is {value}.", where=key, fix=f"make it {wanted}")
    if not schema.rules:
        raise SchemaError("The schema has no rules.", where="rules", fix="add a sentence")
    _check_cuts(schema)


def _check_cuts(schema: Schema) -> None:
    for n_buckets, cuts in schema.cuts.items():
        rising = all(a < b for a, b in zip(cuts, cuts[1:], strict=False))
        if len(cuts) != n_buckets - 1 or not rising or not all(0 < cut < 100 for cut in cuts):
            raise SchemaError(
                f"{n_buckets} buckets need {n_buckets - 1} rising percentiles, got {cuts}.",
                where="cuts",
                fix="for instance 4: [25, 50, 75]",
            )


def _check_functions(tree: Node, where: str) -> None:
    for node in walk(tree):
        if isinstance(node, Call) and node.function not in FUNCTIONS:
            raise unknown("function", node.function, FUNCTIONS, where=where)
        if isinstance(node, Hole | Each | Repeat):
            raise SchemaError(
                f"A derived statistic cannot contain '{to_text(node)}'.",
                where=where,
                fix="use columns, numbers and + - * / **",
            )


def _check_cycles(trees: dict[str, Node]) -> None:
    """Raise where a statistic is defined by itself, directly or not."""
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise SchemaError(
                f"Statistic {name!r} is defined by itself: {' -> '.join([*path, name])}.",
                where="statistics",
                fix="define it by columns",
            )
        if name in done:
            return
        for node in walk(trees[name]):
            if isinstance(node, Name) and node.name in trees and node.name != name:
                visit(node.name, (*path, name))
        done.add(name)

    for name in trees:
        visit(name, ())


def _check_template(schema: Schema, form: Form, text: str, where: str) -> None:
    tree = parse(text)
    place = f"{where}, {text}"
    if form.kind != "class" and any(
        bound is not None and not isinstance(bound, Hole)
        for piece in form.pieces
        for bound in (piece.lower, piece.upper)
    ):
        raise SchemaError(
            "A template's bounds are to be inferred, but one is given as a number.",
            where=place,
            fix="write ? for it",
        )
    if form.kind == "class" and form.subject is None:
        raise SchemaError(
            "There is nothing to infer in this template.", where=place, fix="add '? <= x <= ?'"
        )
    for node in walk(tree):
        if isinstance(node, Call) and node is not _statistic_call(form, node):
            _check_functions(node, place)
        if isinstance(node, Repeat) and node.name not in schema.let:
            raise _no_domain(node.name, schema, place)
        if isinstance(node, Name | Word):
            name = node.name if isinstance(node, Name) else node.text
            if re.fullmatch(r"[A-Z]\d?", name) and name not in schema.let:
                raise _no_domain(name, schema, place)
    if schema.select.per and schema.select.per not in schema.let:
        raise unknown("hole", schema.select.per, schema.let, where="select.per")


def _statistic_call(form: Form, node: Call) -> Call | None:
    return node if form.statistic == node.function and is_batch_statistic(node.function) else None


def _no_domain(name: str, schema: Schema, where: str) -> SchemaError:
    known = f"; {nearest(name, schema.let)}" if schema.let else ""
    return SchemaError(
        f"The hole {name!r} has no domain.",
        where=where,
        fix=f"add it under 'let', such as '{name}: values(label)'{known}",
    )


def _located(make: Any, where: str) -> Any:
    try:
        return make()
    except SqrlError as error:
        raise error.at(where) from None


def _shipped() -> Path:
    return Path(__file__).parent / "schemas"


class _Loader(yaml.SafeLoader):
    """YAML as data: no tags beyond the plain ones, no aliases, no repeated keys, no yes/no."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.YAMLError(f"aliases such as *{event.anchor} are not read")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for position, key in enumerate(keys):
            if key in keys[:position]:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", node.value[position][0].start_mark
                )
        return super().construct_mapping(node, deep)


# `no`, `on` and `y` are words in a list of categories, not booleans.
_Loader.yaml_implicit_resolvers = {
    letter: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:bool"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|false|False)$"), list("tTfF")
)


class _Dumper(yaml.SafeDumper):
    """Lists of plain values on one line, as people write them."""


def _represent_list(dumper: _Dumper, data: list[Any]) -> Any:
    sentences = any(isinstance(item, str) and ("?" in item or len(item) > 40) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=not sentences)


_Dumper.add_representer(list, _represent_list)
