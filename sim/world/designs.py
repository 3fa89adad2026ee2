"""The design that a plan asks for: a strategy, fields of it by the names of rules, a mutant."""

from dataclasses import replace
from typing import Any

from sim.mutants.base import MUTANTS, Mutant
from sim.protocol.server import Parts
from sim.protocol.strategy import Strategy
from sim.strategies.base import STRATEGIES
from sim.world.plan_records import Plan
from sim.world.rules import BadRuleError, value_of


class BadDesignError(ValueError):
    """A strategy, a field of one, or a mutant that does not exist or does not fit."""


def design(plan: Plan) -> tuple[Strategy, Parts, Mutant | None]:
    """The strategy with the plan's fields set and its mutant applied, and the machinery."""
    chosen = with_fields(STRATEGIES.get(plan.strategy), plan.strategy_fields)
    if plan.mutant is None:
        return chosen, Parts(), None
    mutant = MUTANTS.get(plan.mutant)
    return mutant.applied_to(chosen), mutant.parts_of(Parts()), mutant


def with_fields(chosen: Strategy, settings: dict[str, Any]) -> Strategy:
    """A strategy with fields of its record set: by the names of rules of each, or numbers."""
    for name, value in settings.items():
        try:
            held: dict[str, Any] = {name: value_of(name, value)}
        except BadRuleError as error:
            raise BadDesignError(f"strategy.{name}: {error}") from None
        chosen = replace(chosen, **held)
    return chosen
