"""The design that a plan asks for: a strategy, fields of it by the names of rules, a mutant."""

from dataclasses import fields, replace
from typing import Any

from sim.mutants.base import MUTANTS, Mutant
from sim.protocol import (
    agreed_installs,
    as_shipped,
    border_rules,
    closing,
    failure_rules,
    flows,
    lag_policies,
    mandatory_columns,
    renaming,
    time_rules,
)
from sim.protocol import strategy as joints
from sim.protocol.server import Parts
from sim.protocol.strategy import Strategy
from sim.strategies.base import STRATEGIES
from sim.world.plan_records import Plan

_RULES = (
    joints,
    time_rules,
    failure_rules,
    flows,
    as_shipped,
    closing,
    lag_policies,
    border_rules,
    agreed_installs,
    mandatory_columns,
    renaming,
)
"""Where the rules are that a scenario can name."""


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
    """A strategy with fields of its record set: by the names of their functions, or numbers."""
    known = [field.name for field in fields(Strategy) if field.name != "header"]
    for name, value in settings.items():
        if name not in known:
            raise BadDesignError(f"strategy.{name}: no such field; known: {', '.join(known)}")
        if type(getattr(chosen, name)) is int:
            if type(value) is not int or value < 0:
                what = f"expected a whole number, 0 or more, not {value!r}"
                raise BadDesignError(f"strategy.{name}: {what}")
            number: dict[str, Any] = {name: value}
            chosen = replace(chosen, **number)
            continue
        function = next((vars(rules)[value] for rules in _RULES if value in vars(rules)), None)
        if function is None or str(value).startswith("_"):
            raise BadDesignError(f"strategy.{name}: no rule of the protocol is called {value!r}")
        chosen = replace(chosen, **{name: function})
    return chosen
