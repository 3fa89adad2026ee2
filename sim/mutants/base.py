"""Our design with one sentence missing: what a mutant is.

A mutant replaces one field of whatever design it is put into, or one class of the machinery: on the
Ignite plane of `Strategy` or `Parts`, on the FoundationDB plane of `LayerDesign` or `LayerClasses`.
It names the clause that it breaks, on the FoundationDB plane a sentence of the thread or of the
store's documents, and the checker that must convict it; a scenario of `scenarios/negative/` under
its name shows that.

    @mutates("lookup_ts", "looks_up_in_the_past", "98.past.3", "atomicity")
    def at_completeness(op_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
        '''The schema is looked up at Top - DD instead of at Top.'''

declares one by its rule, whose docstring says what it does; `mutant` declares one whose rule is
another design's.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from inspect import getdoc
from typing import Final, TypeVar

from ddlsim.fitting import Told, guarded_rule, unfit_rule, unfit_texts, unfit_tuple
from ddlsim.layer.classes import LayerClasses
from ddlsim.layer.design import LayerDesign
from ddlsim.model.clauses import CLAUSES
from ddlsim.protocol.server import Parts
from ddlsim.protocol.strategy import Strategy
from ddlsim.registry import BadPluginError, Registry, unknown

R = TypeVar("R")
D = TypeVar("D", Strategy, LayerDesign)
C = TypeVar("C", Parts, LayerClasses)
IGNITE: Final = "ignite"
FDB: Final = "fdb"
RECORDS: Final[dict[str, tuple[type, ...]]] = {
    IGNITE: (Strategy, Parts),
    FDB: (LayerDesign, LayerClasses),
}
"""By plane, the records of which a mutant replaces a field."""


@dataclass(frozen=True)
class Mutant:
    """One removed or broken rule.

    `replaced` is the name of a field of one of the plane's `RECORDS`, `rule` what stands there
    instead. `caught_by` names the checker. `also` are other clauses that do not hold either where
    the one that it `breaks` does not: definitions, requirements and purposes that the rule serves.
    On the FoundationDB plane `breaks` is a sentence with its source, and `under` the design whose
    rule it breaks; empty: a rule of the store, which every design has.
    `reopens` are the findings whose closing rule it takes out of `iep_closed`.
    `survives` says why no run convicts it, where that is known: `ddlsim verify` then lists it among
    the survivors and does not fail.
    """

    name: str
    summary: str
    breaks: str
    caught_by: str
    replaced: str
    rule: object
    also: tuple[str, ...] = ()
    reopens: tuple[str, ...] = ()
    survives: str = ""
    plane: str = IGNITE
    under: str = ""

    @property
    def source(self) -> str:
        """The clause or sentence that it breaks."""
        return self.breaks

    @property
    def fields(self) -> dict[str, object]:
        """The field of the design that it replaces, with the rule; empty for a class."""
        return {} if isinstance(self.rule, type) else {self.replaced: self.rule}

    def applied_to(self, design: D) -> D:
        """The design with the rule broken."""
        return design.with_rules(self.fields)

    def parts_of(self, parts: C) -> C:
        """The machinery with the class replaced."""
        rule = self.rule
        return replace(parts, **{self.replaced: rule}) if isinstance(rule, type) else parts


def unfit_mutant(_: str, mutant: Mutant) -> Told:
    """What is wrong with a mutant; whether its checker and its design exist is asked in a run."""
    if mutant.plane not in RECORDS:
        return f"no plane is called {mutant.plane!r}; known: {', '.join(RECORDS)}"
    records = [one for one in RECORDS[mutant.plane] if _has(one, mutant.replaced)]
    if not records:
        others = [plane for plane in RECORDS if plane != mutant.plane]
        return f"plane {mutant.plane!r} has no field `{mutant.replaced}`; {others[0]!r} has it"
    told = (
        unfit_texts(mutant, "summary", "breaks", "caught_by", "under")
        or unfit_tuple(mutant, "also", _CLAUSE_IDS if mutant.plane == IGNITE else ())
        or unfit_tuple(mutant, "reopens")
    )
    if told is None and mutant.plane == IGNITE and mutant.breaks not in _CLAUSE_IDS:
        return f"no clause is called {mutant.breaks!r}; ddlsim list clauses shows all"
    return told or unfit_rule(records[0], mutant.replaced, mutant.rule)


def guarded_mutant(mutant: Mutant) -> Mutant:
    """A mutant whose rule, if it is from outside of the program, raises at a wrong result."""
    record = next(one for one in RECORDS[mutant.plane] if _has(one, mutant.replaced))
    return replace(mutant, rule=guarded_rule(record, mutant.replaced, mutant.rule))


_CLAUSE_IDS: Final = tuple(clause.id for clause in CLAUSES)

MUTANTS: Final[Registry[Mutant]] = Registry(
    "mutant", "ddlsim.mutants", unfit=unfit_mutant, guarded=guarded_mutant
)
"""Every mutant, by name."""


def plane_of(place: str) -> str:
    """The plane of whose records a field of this name is; the first one, where both have it."""
    for plane, records in RECORDS.items():
        if any(_has(record, place) for record in records):
            return plane
    known = [field.name for records in RECORDS.values() for one in records for field in fields(one)]
    raise unknown("field of a design or of its machinery", place, known)


def _has(record: type, place: str) -> bool:
    return any(field.name == place for field in fields(record))


def mutant(
    name: str,
    breaks: str,
    caught_by: str,
    *,
    summary: str,
    also: tuple[str, ...] = (),
    reopens: tuple[str, ...] = (),
    survives: str = "",
    under: str = "",
    plane: str = "",
    **replaced: object,
) -> Mutant:
    """Register a mutant with one rule or class in the place of another: `activation_ts=at_message`.

    `plane` is that of the field; it is named where both planes have a field of that name. Raises
    `BadPluginError` if another mutant has its name.
    """
    if len(replaced) != 1:
        what = f"replaces {len(replaced)} fields"
        raise BadPluginError(f"mutant {name!r} {what}; name one, as in activation_ts=at_message")
    ((place, rule),) = replaced.items()
    on = plane or plane_of(place)
    return MUTANTS.add(
        name,
        Mutant(name, summary, breaks, caught_by, place, rule, also, reopens, survives, on, under),
    )


def mutates(
    replaced: str,
    name: str,
    breaks: str,
    caught_by: str,
    *,
    also: tuple[str, ...] = (),
    reopens: tuple[str, ...] = (),
    survives: str = "",
    under: str = "",
    plane: str = "",
) -> Callable[[R], R]:
    """Register the decorated rule or class as a mutant; its docstring begins with the summary."""

    def register(rule: R) -> R:
        first = (getdoc(rule) or "").partition("\n")[0]
        if not first:
            raise BadPluginError(f"mutant {name!r}: its rule has no docstring; say what it breaks")
        summary = first[0].lower() + first[1:].removesuffix(".")
        mutant(
            name,
            breaks,
            caught_by,
            summary=summary,
            also=also,
            reopens=reopens,
            survives=survives,
            under=under,
            plane=plane,
            **{replaced: rule},
        )
        return rule

    return register
