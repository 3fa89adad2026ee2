"""The rows of a scope's ablation: its control, and every other choice of each of its rules."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from ddlsim.spec.base import Setup, Variant


class Named(NamedTuple):
    """The mutant and the design of the scope that a row is; None where it has none of that name."""

    mutant: str | None = None
    design: str | None = None


class Row(NamedTuple):
    """What is explored for a row; `rule` and `choice` are None in a control.

    `constants` are those that differ from the control's, so that there is something to see.
    """

    setup: Setup
    rule: str | None = None
    choice: str | None = None
    named: Named = Named()
    constants: Mapping[str, int] = {}


def rows_of(control: Setup, fixed: Collection[str] = ()) -> list[Row]:
    """The control, one more at the constants of each row that has others, then all other rows.

    A row has other constants where a mutant or a design of just its choice needs them and they are
    not `fixed`. Without a control at these, what is broken could be broken by the constants.
    """
    changed = list(_changed(control, fixed))
    others = {tuple(row.constants.items()): row.constants for row in changed if row.constants}
    controls = [Row(_at(control, one), constants=one) for one in others.values()]
    return [Row(control), *controls, *changed]


def _changed(control: Setup, fixed: Collection[str]) -> Iterator[Row]:
    for rule in control.scope.rules:
        for choice in rule.choices:
            if choice == control.rules[rule.name]:
                continue
            changed = control._replace(rules={**control.rules, rule.name: choice})
            named = _named(changed, {rule.name: choice})
            needed = _needed(control, named)
            constants = {
                name: value
                for name, value in needed.items()
                if name not in fixed and control.constants[name] != value
            }
            yield Row(_at(changed, constants), rule.name, choice, named, constants)


def _at(setup: Setup, constants: Mapping[str, int]) -> Setup:
    return setup._replace(constants={**setup.constants, **constants})


def _named(changed: Setup, choice: Mapping[str, str]) -> Named:
    """The mutant that has just this choice, and the design that has all choices of a row."""
    scope = changed.scope
    mutants = [name for name, one in scope.mutants.items() if dict(one.rules) == choice]
    defaults = {one.name: one.default for one in scope.rules}
    designs = [
        name
        for name, one in scope.designs.items()
        if dict(one.rules) == choice and {**defaults, **one.rules} == changed.rules
    ]
    return Named(next(iter(mutants), None), next(iter(designs), None))


def _needed(control: Setup, named: Named) -> Mapping[str, int]:
    """The constants that it takes to see what a mutant or a design breaks."""
    scope, nothing = control.scope, Variant({})
    mutant = scope.mutants.get(named.mutant or "", nothing)
    return mutant.constants or scope.designs.get(named.design or "", nothing).constants
