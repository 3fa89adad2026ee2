"""The design that a plan asks for: a strategy, fields of it by the names of rules, a mutant."""

from typing import Any, Final, TypeVar

from msgspec import structs

from ddlsim.checkers.base import CHECKERS, in_order
from ddlsim.layer.classes import LAYER_CLASSES, LayerClasses
from ddlsim.layer.design import LayerDesign
from ddlsim.model.design import DesignHeader
from ddlsim.mutants.base import FDB, IGNITE, MUTANTS, Mutant
from ddlsim.plan.records import Plan
from ddlsim.problems import BadInputError
from ddlsim.protocol.server import Parts
from ddlsim.protocol.strategy import Strategy
from ddlsim.registry import Registry, unknown
from ddlsim.scenario.rules import BadRuleError, fields_of_designs, name_of, value_of
from ddlsim.strategies.base import DESIGNS, LAYER_DESIGNS, STRATEGIES

D = TypeVar("D", Strategy, LayerDesign, Strategy | LayerDesign)
OF_PLANES: Final = ("ddlsim.protocol.", "ddlsim.layer.")
"""The modules whose rules go by their own names; findings name those."""

NAMED: Final = 5
"""So many mutants are named where one does not fit."""


class BadDesignError(BadInputError):
    """A strategy, a field of one, or a mutant that does not exist or does not fit."""


def design(plan: Plan) -> tuple[Strategy, Parts, Mutant | None]:
    """The strategy with the plan's fields and mutant, the classes of its parts, and the mutant."""
    chosen = with_fields(_of(STRATEGIES, plan.strategy), plan.strategy_fields)
    mutant = _mutant(plan, IGNITE)
    if mutant is None:
        return chosen, Parts(), None
    return mutant.applied_to(chosen), mutant.parts_of(Parts()), mutant


def check_design(plan: Plan) -> None:
    """Raise what is wrong with the design of a plan: its fields, or a mutant that does not fit."""
    chosen = design(plan)[0] if plan.store is None else layer_design(plan)[0]
    _check_claims(chosen.header)
    if plan.mutant is not None:
        _check_mutant(MUTANTS.get(plan.mutant))


def _check_claims(header: DesignHeader) -> None:
    """Every invariant that a design claims has a checker, one of a plug-in perhaps."""
    known = {checker.invariant for checker in in_order()}
    for claim in header.claims:
        if claim.invariant not in known:
            what = f"strategy {header.name!r} claims {claim.invariant}, which no checker judges"
            raise BadDesignError(f"{what}; ddlsim list checkers shows the invariants")


def _check_mutant(mutant: Mutant) -> None:
    """The checker, the design and the findings that a mutant names exist."""
    if mutant.caught_by not in CHECKERS:
        wrong = unknown(CHECKERS.kind, mutant.caught_by, CHECKERS)
        raise BadDesignError(f"mutant {mutant.name!r}, caught by: {wrong}")
    if mutant.under and mutant.under not in DESIGNS:
        wrong = unknown(STRATEGIES.kind, mutant.under, DESIGNS)
        raise BadDesignError(f"mutant {mutant.name!r}, under: {wrong}")


def layer_design(plan: Plan) -> tuple[LayerDesign, LayerClasses]:
    """The design of a layer with the plan's fields and mutant, and the classes of its parts."""
    chosen = with_fields(_of(LAYER_DESIGNS, plan.strategy), plan.strategy_fields)
    mutant = _mutant(plan, FDB)
    if mutant is None:
        return chosen, LAYER_CLASSES
    return mutant.applied_to(chosen), mutant.parts_of(LAYER_CLASSES)


def _of(designs: Registry[D], name: str) -> D:
    """A design of one plane; of a name that none has, the nearest of all planes are named."""
    if name not in DESIGNS:
        DESIGNS.get(name)
    return designs.get(name)


def _mutant(plan: Plan, plane: str) -> Mutant | None:
    """The mutant of a plan on a plane; `BadDesignError` for one of another plane."""
    if plan.mutant is None:
        return None
    mutant = MUTANTS.get(plan.mutant)
    if mutant.plane == plane:
        return mutant
    fit = fitting(plane, plan.strategy)
    under = mutant.under or f"a design of plane {mutant.plane!r}"
    raise BadDesignError(
        f"mutant {plan.mutant!r} breaks a rule of plane {mutant.plane!r}, not of {plane!r}; run it "
        f"under {under}, or one of {plane!r}: {', '.join(fit[:NAMED])} ...; ddlsim list mutants"
    )


def fitting(plane: str, strategy: str) -> list[str]:
    """The mutants of a plane that break a rule of every design there, or of this one."""
    return [
        name for name, one in MUTANTS.items() if one.plane == plane and one.under in ("", strategy)
    ]


def declared(plan: Plan) -> DesignHeader:
    """The header of the plan's design, with its rules as they are without the mutant."""
    return with_rules_of(with_fields(DESIGNS.get(plan.strategy), plan.strategy_fields))


def with_rules_of(chosen: Strategy | LayerDesign) -> DesignHeader:
    """The header of a design, with the names of its rules, by which findings concern it."""
    return structs.replace(chosen.header, rules=rules_of(chosen))


def rules_of(chosen: Strategy | LayerDesign) -> dict[str, str]:
    """The name of the rule in each field; a dotted name for a rule from outside of the protocol."""
    return {name: _named(getattr(chosen, name)) for name in fields_of_designs(chosen.header.plane)}


def _named(rule: Any) -> str:
    if type(rule) is int:
        return str(rule)
    home = getattr(rule, "__module__", "")
    name = name_of(rule)
    if name is not None and (not callable(rule) or home.startswith(OF_PLANES)):
        return name
    return f"{home}.{getattr(rule, '__name__', type(rule).__name__)}"


def with_fields(chosen: D, settings: dict[str, Any]) -> D:
    """A strategy with fields of its record set: by the names of rules of each, or numbers."""
    for name, value in settings.items():
        try:
            chosen = chosen.with_rules({name: value_of(name, value, chosen.header.plane)})
        except BadRuleError as error:
            raise BadDesignError(f"strategy.{name}: {error}") from None
    return chosen
