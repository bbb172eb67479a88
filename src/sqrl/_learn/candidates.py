"""Exhaustive enumeration of a schema's rules: counted beforehand, held as columns.

A candidate is a template with its holes filled. It is never an object: each hole is a column of
indices into the hole's domain, one entry for each candidate.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as replaced
from math import factorial, prod

import numpy as np
from msgspec.structs import replace

from sqrl._kernels import Bodies, count_bodies, enumerate_bodies
from sqrl._kernels.arrays import Bools, Int32s, Int64s
from sqrl._language.forms import Form, sentence_of
from sqrl._language.names import base_of
from sqrl._language.printer import to_text
from sqrl._language.tree import (
    Compare,
    Each,
    In,
    Name,
    Node,
    Not,
    Repeat,
    Word,
    children,
    rewrite,
    walk,
)
from sqrl._learn.domains import Cut, Domain, Literals, as_expression, resolve_domains
from sqrl._rows.rows import Rows
from sqrl._rules.schema import Schema
from sqrl._rules.sequence_names import fill_name
from sqrl.errors import LimitError, SchemaError, unknown

LONGEST_BODY = 4


@dataclass(frozen=True, slots=True, eq=False)
class Conjunctions:
    """Every conjunction of `low` to `high` of the literals."""

    literals: Literals
    low: int
    high: int

    def count(self) -> int:
        """How many conjunctions there are, without making them."""
        return sum(count_bodies(self.literals.group, self.literals.complete, self.low, self.high))

    def bodies(self) -> Bodies:
        """All the conjunctions, as columns."""
        return enumerate_bodies(self.literals.group, self.literals.complete, self.low, self.high)

    def formula(self, literal: int) -> Node:
        """The formula of a literal: 2 * feature, plus one where it is negated."""
        feature = self.literals.features[literal // 2]
        return Not(feature) if literal % 2 else feature

    def renamed(self) -> dict[Node, Node]:
        """What a finished rule says in place of a negation, as a person would.

        `age > 60`, not `not age <= 60`. Of a column's two values the other: `sex = Male`, never
        `not sex = Female`; on the train rows they are the same.
        """
        found: dict[Node, Node] = {Not(one): negated(one) for one in self.literals.features}
        for group in np.flatnonzero(self.literals.complete).tolist():
            mine = np.flatnonzero(self.literals.group == group).tolist()
            if len(mine) == 2:
                one, other = (self.literals.features[place] for place in mine)
                found |= {Not(one): other, Not(other): one}
        return found


OPPOSITE = {"<=": ">", ">": "<=", "<": ">=", ">=": "<"}


def negated(feature: Node) -> Node:
    """The opposite of a fact as one would say it: `age > 60` for not `age <= 60`.

    Both are unknown where the age is missing.

    >>> from sqrl._language.parser import parse_formula
    >>> to_text(negated(parse_formula("age <= 60"))), to_text(negated(parse_formula("kind = a")))
    ('age > 60', 'not kind = a')
    """
    if isinstance(feature, Compare) and feature.op in OPPOSITE:
        return Compare(feature.left, OPPOSITE[feature.op], feature.right)
    return Not(feature)


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A template whose holes have domains: all that is known before anything is enumerated.

    `names` are holes for expressions, which never take the same value twice in one rule; `values`
    are holes for constants; `families` are conjunctions; `cells` are the buckets of `in each of`.
    """

    form: Form
    text: str
    names: Mapping[str, tuple[Node, ...]]
    values: Mapping[str, tuple[Node, ...]]
    families: Mapping[str, Conjunctions]
    cells: tuple[Each, ...]
    coverage: float = 0.98

    @property
    def delta(self) -> float:
        """The share of data that may fall outside: 1 - coverage, free of rounding noise."""
        return round(1.0 - self.coverage, 12)

    @property
    def holes(self) -> tuple[str, ...]:
        """The holes in the order in which their columns vary, the slowest first."""
        cells = [f"bucket {index + 1}" for index in range(len(self.cells))]
        return (*self.families, *self.names, *self.values, *cells)

    @property
    def says_shares(self) -> bool:
        """Whether its rules are about shares of formulas that it names one by one.

        Such a share may well be 0 or 1: each says something that no other says.
        """
        form = self.form
        return (
            form.statistic is not None
            and form.head is None
            and bool(form.body)
            and (not self.families)
        )

    def count(self) -> int:
        """How many candidates the template has, in closed form."""
        sizes = [len(domain) for domain in self.values.values()]
        sizes += [family.count() for family in self.families.values()]
        sizes += [each.n_buckets for each in self.cells]
        return _injections([set(domain) for domain in self.names.values()]) * prod(sizes)

    def fill(self, node: Node, choice: Mapping[str, int]) -> Node:
        """The node with its name and value holes filled by the domain entries chosen."""

        def change(part: Node) -> Node | None:
            domain, chosen = self.domain(part), choice.get(_hole_name(part) or "")
            return None if domain is None or chosen is None else domain[chosen]

        return rewrite(node, change)

    def domain(self, node: Node) -> tuple[Node, ...] | None:
        """What a name or value hole can be filled with; None for any other node."""
        hole = _hole_name(node)
        if isinstance(node, Name) and hole is not None and hole in self.names:
            domain = self.names[hole]
            is_bare = node.name == hole
            return domain if is_bare else tuple(fill_name(node.name, one, hole) for one in domain)
        return None if hole is None or isinstance(node, Repeat) else self.values.get(hole)

    def holes_in(self, *nodes: Node | None) -> tuple[str, ...]:
        """The holes that stand in these nodes, in the template's order."""
        seen = {_hole_name(part) for node in nodes if node is not None for part in walk(node)}
        return tuple(hole for hole in self.holes if hole in seen)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """All rules of one template: for each hole a column of indices into its domain."""

    template: Template
    columns: Mapping[str, Int32s]
    n: int
    bodies: Mapping[str, Bodies]

    def lengths(self) -> Int64s:
        """How many literals each candidate's conjunction has; 0 where there is none."""
        length = np.zeros(self.n, np.int64)
        for name, bodies in self.bodies.items():
            by_subset = (bodies.subsets >= 0).sum(axis=1)
            by_body = np.repeat(by_subset, np.diff(bodies.offset))
            length += by_body[self.columns[name]]
        return length

    def distinct(self, *nodes: Node | None) -> tuple[Iterator[dict[str, int]], Int64s]:
        """The distinct choices for the holes in some nodes, and which of them a candidate has."""
        holes = self.template.holes_in(*nodes)
        if not holes:
            return iter([{}]), np.zeros(self.n, np.int64)
        code = np.zeros(self.n, np.int64)
        for hole in holes:
            column = self.columns[hole]
            code = code * (int(column.max(initial=0)) + 1) + column
        _, first, which = np.unique(code, return_index=True, return_inverse=True)
        chosen = zip(*(self.columns[hole][first].tolist() for hole in holes), strict=True)
        return (dict(zip(holes, one, strict=True)) for one in chosen), which.astype(np.int64)

    def filled(self, node: Node) -> tuple[list[Node], Int64s]:
        """The distinct nodes that filling the holes of one makes, and which each candidate has."""
        choices, which = self.distinct(node)
        return [self.template.fill(node, choice) for choice in choices], which

    def literals(self, name: str, body: int) -> list[Node]:
        """The literals that the conjunction with this number joins."""
        ids = self.bodies[name].literals(np.array([body]))[0]
        family = self.template.families[name]
        return [family.formula(int(literal)) for literal in ids if literal >= 0]


def make_templates(schema: Schema, rows: Rows, cut: Cut | None = None) -> tuple[Template, ...]:
    """The schema's templates with the domains that these rows give their holes.

    `cut` gives the cut points of an expression where rows are not in memory.
    """
    domains = resolve_domains(schema, rows, cut)
    made: list[Template] = []
    written = zip(schema.forms(), schema.sentences, schema.coverages, strict=True)
    for index, (form, text, coverage) in enumerate(written):
        where = f"rules[{index}], {text}"
        template = replaced(_make_template(form, text, domains, where), coverage=coverage)
        for earlier, other in enumerate(made):
            if template.coverage == other.coverage and _may_coincide(template, other):
                raise SchemaError(
                    f"The template makes rules that rules[{earlier}] makes too.",
                    where=where,
                    fix="leave one of them out, or give their holes different domains",
                )
        made.append(template)
    return tuple(made)


def _may_coincide(one: Template, other: Template) -> bool:
    """Whether some rule can come from either template.

    Trees are compared node by node; a hole meets what its domain holds.
    """

    def meet(a: Node, b: Node) -> bool:
        here, there = one.domain(a), other.domain(b)
        if here is not None or there is not None:
            return not {a, *(here or ())}.isdisjoint({b, *(there or ())})
        if isinstance(a, Repeat) and isinstance(b, Repeat):
            these, those = one.families[a.name], other.families[b.name]
            is_shared = not set(these.literals.features).isdisjoint(those.literals.features)
            return a.low <= b.high and b.low <= a.high and is_shared
        if type(a) is not type(b):
            return False
        return all(fields_meet(getattr(a, name), getattr(b, name)) for name in a.__struct_fields__)

    def fields_meet(a: object, b: object) -> bool:
        if isinstance(a, Node) and isinstance(b, Node):
            return meet(a, b)
        if isinstance(a, tuple) and isinstance(b, tuple):
            return len(a) == len(b) and all(map(meet, a, b))
        return a == b

    return meet(sentence_of(one.form), sentence_of(other.form))


def check_limit(templates: tuple[Template, ...], limit: int) -> int:
    """The number of candidates; raises where it is above the limit."""
    total = sum(template.count() for template in templates)
    if total > limit:
        largest = max(templates, key=lambda template: template.count())
        raise LimitError(
            f"The schema has {total:,} rules, more than the limit of {limit:,}.",
            where=f"{largest.text} ({largest.count():,} rules)",
            fix="use fewer literals, buckets or columns, or raise the limit "
            "(limit: in the schema, --limit on the command line)",
        )
    return total


def enumerate_candidates(template: Template) -> Candidates:
    """Every candidate of the template, each once.

    Cost: O(candidates x holes) in time and 4 bytes a candidate and hole.
    """
    bodies = {name: family.bodies() for name, family in template.families.items()}
    sizes = [bodies[name].n for name in template.families]
    sizes += [len(domain) for domain in template.names.values()]
    sizes += [len(domain) for domain in template.values.values()]
    sizes += [each.n_buckets for each in template.cells]
    total = prod(sizes)
    columns: dict[str, Int32s] = {}
    repeat = total
    for hole, size in zip(template.holes, sizes, strict=True):
        repeat //= max(size, 1)
        one = np.repeat(np.arange(size, dtype=np.int32), repeat)
        columns[hole] = np.tile(one, total // max(one.size, 1))
    keep = _all_different(template, columns, total)
    if not keep.all():
        columns = {hole: column[keep] for hole, column in columns.items()}
    return Candidates(template, columns, int(keep.sum()), bodies)


def _all_different(template: Template, columns: dict[str, Int32s], total: int) -> Bools:
    """Which fillings give different expressions to different name holes."""
    keep = np.ones(total, np.bool_)
    ids: dict[Node, int] = {}
    codes = []
    for hole, domain in template.names.items():
        lookup = np.array([ids.setdefault(node, len(ids)) for node in domain])
        codes.append(lookup[columns[hole]])
    for later in range(len(codes)):
        for earlier in range(later):
            keep &= codes[later] != codes[earlier]
    return keep


def _injections(domains: list[set[Node]]) -> int:
    """In how many ways each domain gives an element so that no element is given twice.

    Inclusion-exclusion over the partitions of the domains: a block of b domains that take the
    same element counts (-1)^(b-1) (b-1)! times the elements they share.

    >>> from sqrl._language.tree import Name
    >>> six = {Name(letter) for letter in "abcdef"}
    >>> _injections([six, six])
    30
    """
    total = 0
    for partition in _partitions(list(range(len(domains)))):
        term = 1
        for block in partition:
            shared = set.intersection(*(domains[index] for index in block))
            term *= (-1) ** (len(block) - 1) * factorial(len(block) - 1) * len(shared)
        total += term
    return total


def _partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    first, *rest = items
    for partition in _partitions(rest):
        for index, block in enumerate(partition):
            yield [*partition[:index], [first, *block], *partition[index + 1 :]]
        yield [[first], *partition]


def _hole_name(node: Node) -> str | None:
    match node:
        case Name(name):
            return base_of(name)  # A of delta(A)
        case Repeat(name):
            return name
        case Word(text):
            return text
    return None


def _make_template(form: Form, text: str, domains: dict[str, Domain], where: str) -> Template:
    form = _with_repeats(form, domains)
    sentence = sentence_of(form)
    families = _families(form, domains, where)
    names: dict[str, tuple[Node, ...]] = {}
    values: dict[str, tuple[Node, ...]] = {}
    for node in walk(sentence):
        for child in children(node):
            _sort_hole(node, child, domains, names, values)
    cells = tuple(part for part in form.given if isinstance(part, Each))
    stray = [n for n in walk(sentence) if isinstance(n, Each) and n not in cells]
    if stray:
        raise SchemaError(
            f"'{to_text(stray[0])}' must stand as a condition of its own.",
            where=where,
            fix="join it with 'and' before '=>'; inside a body use literals(x/4)",
        )
    if len(families) > 1:
        raise SchemaError(
            "A template can enumerate conjunctions of one domain.",
            where=where,
            fix="put all literals into one domain",
        )
    return Template(form, text, names, values, families, cells)


def _sort_hole(
    parent: Node,
    child: Node,
    domains: dict[str, Domain],
    names: dict[str, tuple[Node, ...]],
    values: dict[str, tuple[Node, ...]],
) -> None:
    """Put the hole that `child` may be among the holes for expressions or for constants."""
    hole = _hole_name(child)
    domain = domains.get(hole) if hole is not None else None
    if hole is None or domain is None or isinstance(domain, Literals):
        return
    if isinstance(child, Word) and isinstance(parent, Compare | In):
        values[hole] = domain
    elif isinstance(child, Name):
        expressions = tuple(as_expression(node) for node in domain)
        if child.name != hole:
            names[hole] = tuple(fill_name(hole, node, hole) for node in expressions)
        elif all(isinstance(node, Name) or list(children(node)) for node in expressions):
            names[hole] = expressions
        else:  # thresholds, such as `age > T` with T: [30, 40]
            values[hole] = expressions


def _with_repeats(form: Form, domains: dict[str, Domain]) -> Form:
    """The form with a bare literal hole `L` written as `L{1}`."""

    def change(node: Node) -> Node | None:
        if isinstance(node, Name) and isinstance(domains.get(node.name), Literals):
            return Repeat(node.name, 1, 1)
        return None

    return replace(
        form,
        given=tuple(rewrite(part, change) for part in form.given),
        body=tuple(rewrite(part, change) for part in form.body),
    )


def _families(form: Form, domains: dict[str, Domain], where: str) -> dict[str, Conjunctions]:
    families: dict[str, Conjunctions] = {}
    top = [part for part in (*form.given, *form.body) if isinstance(part, Repeat)]
    everywhere = [n for n in walk(sentence_of(form)) if isinstance(n, Repeat)]
    if len(everywhere) != len(top):
        raise SchemaError(
            "Literals to enumerate must stand in a body or condition, joined by 'and'.",
            where=where,
            fix="write L{1..3} => ..., or L{1..2} and smoke => ...",
        )
    for repeat in top:
        domain = domains.get(repeat.name)
        if domain is None:
            raise unknown("hole", repeat.name, domains, where=where)
        if not isinstance(domain, Literals):
            raise SchemaError(
                f"{to_text(repeat)} needs a domain of literals.",
                where=where,
                fix=f"write under let: {repeat.name}: literals(age/8, smoke)",
            )
        if repeat.high > LONGEST_BODY:
            raise SchemaError(
                f"{to_text(repeat)} asks for more than {LONGEST_BODY} literals.",
                where=where,
                fix=f"write {repeat.name}{{1..{LONGEST_BODY}}} at most",
            )
        families[repeat.name] = Conjunctions(domain, repeat.low, repeat.high)
    return families
