"""learn(): Algorithm 1 of the paper, for every rule of a schema at once."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace

from sqrl._check.centres import centres_of, put_centres
from sqrl._check.held_out_rows import with_held_out
from sqrl._data.draws import check_seed
from sqrl._data.extractors import Extractor
from sqrl._language.forms import sentence_of
from sqrl._language.printer import to_text
from sqrl._learn.bounds import FormulaMeasure, Sampler, make_measure
from sqrl._learn.bounds.logic import LogicMeasure
from sqrl._learn.build_rules import build_rules
from sqrl._learn.candidates import Template, check_limit, enumerate_candidates
from sqrl._learn.informative import check_informative, choose_informative
from sqrl._learn.prepare import Prepared, prepare
from sqrl._learn.private import Private, learn_private
from sqrl._learn.selection import (
    REDUNDANT,
    SELECTED,
    STATUSES,
    UNPROVEN,
    Learned,
    group_of,
    jaccard,
    select_candidates,
    touches,
)
from sqrl._learn.supervise import SUPERVISE
from sqrl._learn.validity import keep_valid
from sqrl._progress import Track, labelled
from sqrl._rows.questions import Asking, together
from sqrl._rules.groups import group_sizes
from sqrl._rules.label import with_prediction
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.schema import Schema
from sqrl.errors import SchemaError, nearest


def learn(  # noqa: PLR0913  (each is a choice of its own)
    train: Any,
    schema: Schema | dict[str, Any] | str | None = None,
    *,
    valid: Any = None,
    label: str | None = None,
    order: str | Sequence[str] | None = None,
    entity: str | Sequence[str] | None = None,
    prediction: str | None = None,
    unit: str | Sequence[str] | None = None,
    seed: int = 0,
    keep: Literal["selected", "all"] = "selected",
    extractors: Sequence[Extractor] = (),
    holds: float | None = None,
    min_support: int | None = None,
    private: Private | None = None,
    limit: int | None = None,
    track: Track | None = None,
) -> RuleSet:
    """Every rule of the schema whose bounds, inferred from `train`, agree on `valid`.

    `train` and `valid` are paths, tables or dataframes; with no `valid`, a share of the train rows
    is held out. `schema` is a Schema, a mapping, a path to YAML or the name of a shipped one; with
    none, one is proposed for the `label`. `keep="all"` keeps the rejected candidates too, each
    with its status.

    `order` names the columns that rows are sorted by, and `entity` those that say what a row is of,
    where the schema does not: `lag(x)`, `delta(x)`, `rolling_mean(x, 24)` and `since_last` then
    speak of the rows before, and a proposed schema watches how far numbers move.

    `prediction` names a column with what a model said of rows that it was not trained on. Rules
    that name the label then also carry how far such predictions break them on held-out rows, which
    is what `check(.., prediction=)` tests new predictions against; no rule is learned from it.

    `unit` names a column, or several, that say which rows belong together (`image`, `patient`): the
    rows of a unit are held out together, and checks compare units, for rows are then no sample.

    With `holds` (or `validate: {holds: 0.95}` in the schema) a rule is kept only if held-out rows
    show, at a confidence of 0.95, that it holds on such a share of the rows it applies to; of a
    rule about mini-batches, of these. The reasons for some that were not kept are in
    `provenance.unproven`.

    With `min_support` rules that rest on a group of fewer rows are left out of the result: see
    `RuleSet.smallest_group`. With `private` rates of the label are learned under noise that hides
    any single row: see `Private`.

    Data that is larger than memory is scanned, and gives the same rules: a glob, a folder or a list
    of files, a large file, a Ray dataset, a Spark dataframe. `scan` has options for that.

    Cost: about the cost of counting: see `body_bounds` for logic rules (time grows with the sets
    of features, not with signs or classes), one sort a statistic for interval rules.

    >>> ages = {"age": list(range(100)), "kind": ["old" if a > 60 else "young" for a in range(100)]}
    >>> schema = {"let": {"Y": "values(kind)"}, "rules": ["kind = Y => ? <= age <= ?"],
    ...           "coverage": 0.9, "validate": False}
    >>> for rule in learn(ages, schema):
    ...     print(rule)
    kind = old => 63 <= age <= 97
    kind = young => 3 <= age <= 57
    """
    if keep not in {"selected", "all"}:
        raise SchemaError(f"keep={keep!r} is unknown.", fix=nearest(str(keep), ("selected", "all")))
    if limit is not None and limit < 1:
        raise SchemaError(f"limit={limit} allows no rule.", fix="give 1 or more")
    check_seed(seed)
    if private is not None:
        _refuse_beside_private(schema=schema, valid=valid, order=order, unit=unit, holds=holds)
        return learn_private(train, private, label=label, min_support=min_support)
    given = {"valid": valid, "label": label, "order": order, "entity": entity, "unit": unit}
    given |= {"prediction": prediction, "seed": seed, "extractors": extractors}
    given |= {"min_support": min_support, "holds": holds}
    data = prepare(train, schema, track=track, **given)
    check_limit(data.templates, limit or data.schema.limit)
    learned = data.rows.ask(
        [_learn_template(template, data, seed, track) for template in data.templates], track=track
    )
    rules = build_rules(learned, data.schema, everything=keep == "all")
    provenance = replace(data.provenance, counts=_counts(learned, rules, data.schema))
    if any(part.unproven for part in learned):
        why = [sentence for part in learned for sentence in part.unproven]
        provenance = replace(provenance, unproven=why)
    rules = RuleSet(rules.table, rules.nodes, data.schema, provenance)
    if prediction is not None:
        with_prediction(rules, data.table, prediction)  # raises where it names none of the classes
    both = _tested_on_all_rows(rules, learned) if provenance.valid_rows else {}
    asking = with_held_out(rules, prediction, also_train=both)
    both_asked: list[Asking[Any]] = [asking, centres_of(rules)]
    tested, centres = data.rows.ask(both_asked, track=track)
    made = put_centres(tested, centres).with_ids()
    return made if min_support is None else made[group_sizes(made) >= min_support]


def _refuse_beside_private(**given: Any) -> None:
    """Raise where something is asked for that private rules cannot give."""
    for name, value in given.items():
        if value is not None and not (name == "schema" and value == SUPERVISE):
            why = (
                "privacy is of rows, not of units" if name == "unit" else "each look costs privacy"
            )
            raise SchemaError(
                f"Private rules are learned without {name}: {why}.", fix=f"leave {name} out"
            )


def _tested_on_all_rows(rules: RuleSet, learned: list[Learned]) -> dict[int, int]:
    """Rules whose p-values rest on train rows too, and how many of those count as broken.

    Shares of formulas that were not chosen among many, and formulas that no train row breaks. A
    set of learned values is broken by none of the rows it was learned from, whatever the column;
    those that alone have their value count, for new rows will have such values as well.
    """
    alone: dict[str, int] = {}
    fair = set()
    for place, part in enumerate(learned):
        if isinstance(part.measure, FormulaMeasure):
            for index in part.selected.tolist():
                text = to_text(sentence_of(part.measure.form(index, part.bounds)))
                alone[text] = part.measure.alone(index, part.bounds)
            fair.add(place)
        elif isinstance(part.measure, LogicMeasure) and not part.candidates.template.families:
            fair.add(place)
    found: dict[int, int] = {}
    for index, place in enumerate(rules.table["template"].to_pylist() if fair else ()):
        if place in fair:
            is_formula = isinstance(learned[place].measure, FormulaMeasure)
            broken = alone.get(rules[index].text) if is_formula else 0
            if broken is not None:
                found[index] = broken
    return found


def _learn_template(
    template: Template, data: Prepared, seed: int, track: Track | None
) -> Asking[Learned]:
    """Algorithm 1, with its lines 4 to 12 done for all abstract rules of a template at once."""
    schema = data.schema
    check_informative(template.form, schema.select, template.text)
    candidates = enumerate_candidates(template)
    measure = yield from make_measure(candidates, data.table, schema)
    train_batches = Sampler("train", schema.batches.train, seed, schema.units)  # line 1
    valid_batches = Sampler("valid", schema.batches.valid, seed + 1, schema.units)  # line 2
    bounding = [measure.bounds(train_batches, measure.method, track=labelled(track, "train"))]
    if data.provenance.valid_rows and schema.validate:
        method, watch = measure.method.for_validation(), labelled(track, "validation")
        bounding.append(measure.bounds(valid_batches, method, track=watch))
    bounds, *on_valid = yield from together(*bounding)  # lines 5 to 7
    agreement = np.full(candidates.n, np.nan)
    agrees = np.ones(candidates.n, np.bool_)
    if isinstance(measure, FormulaMeasure):
        agreement, agrees = measure.agreement(bounds, on_valid[0] if on_valid else None)
    elif schema.validate and on_valid:
        agreement = jaccard(bounds, on_valid[0], measure.method)  # line 8
        # Line 9; with an epsilon of 1 no rule is refused, even one whose intervals lie apart.
        agrees = (agreement > 1.0 - schema.validate.epsilon) | (schema.validate.epsilon == 1)
        if template.says_shares:
            agrees |= touches(bounds, on_valid[0])
        if template.delta == 0 and template.form.bounds_rows:
            # How far the ends of all rows lie apart says how many rows there are, and the test of
            # rows beyond them is exact whatever they are: that they meet is enough.
            agrees = agreement > 0.0
    described = yield from measure.described("train")
    learned = select_candidates(candidates, measure, bounds, agreement, agrees, described, schema)
    if schema.select.by == "informative" and template.families:
        learned = yield from _informative(learned, schema, held_out=bool(on_valid))
    return (yield from keep_valid(learned, schema, valid_batches))


def _informative(learned: Learned, schema: Schema, *, held_out: bool) -> Asking[Learned]:
    """The candidates of a template with those selected that inform."""
    stable = learned.status >= STATUSES.index(REDUNDANT)  # of equal bodies the best said is kept
    group, lower = group_of(learned.candidates, schema.select), learned.bounds.lower[:, 0]
    chosen = yield from choose_informative(
        learned.measure, stable, lower, group, schema.select, held_out=held_out
    )
    return learned.choose(chosen)


def _counts(learned: list[Learned], rules: RuleSet, schema: Schema) -> dict[str, int]:
    """How many candidates there were, and what became of them.

    Templates may come to the same sentence, which is one rule: the others are redundant.
    """
    counts = {"candidates": sum(part.candidates.n for part in learned)}
    for index, status in enumerate(STATUSES):
        counts[status] = sum(int((part.status == index).sum()) for part in learned)
    if not schema.validate or schema.validate.holds is None:
        del counts[UNPROVEN]  # nothing was asked for that could be
    kept = rules.table["status"].to_pylist().count(SELECTED)
    counts["redundant"] += counts[SELECTED] - kept
    return counts | {SELECTED: kept}
