"""Our design with one sentence missing: what a mutant is.

A mutant replaces one field of whatever strategy it is put into, or one class of the machinery
(`Parts`). It names the clause that it breaks and the checker that must convict it; a scenario of
`scenarios/negative/` under its name shows that.

    @mutates("lookup_ts", "looks_up_in_the_past", "98.past.3", "atomicity")
    def at_completeness(op_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
        '''The schema is looked up at Top - DD instead of at Top.'''

declares one by its rule, whose docstring says what it does; `mutant` declares one whose rule is
another design's.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import getdoc
from typing import Final, TypeVar

from ddlsim.protocol.server import Parts
from ddlsim.protocol.strategy import Strategy
from ddlsim.registry import Registry

R = TypeVar("R")


@dataclass(frozen=True)
class Mutant:
    """One removed or broken rule.

    `replaced` is the name of a field of `Strategy` or of `Parts`, `rule` what stands there instead.
    `caught_by` names the checker. `also` are other clauses that do not hold either where the one
    that it `breaks` does not: definitions, requirements and purposes that the rule serves.
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

    @property
    def source(self) -> str:
        """The clause that it breaks."""
        return self.breaks

    @property
    def fields(self) -> dict[str, object]:
        """The field of the strategy that it replaces, with the rule; empty for a class."""
        return {} if isinstance(self.rule, type) else {self.replaced: self.rule}

    def applied_to(self, strategy: Strategy) -> Strategy:
        """The strategy with the rule broken."""
        return strategy.with_rules(self.fields)

    def parts_of(self, parts: Parts) -> Parts:
        """The machinery with the class replaced."""
        rule = self.rule
        return replace(parts, **{self.replaced: rule}) if isinstance(rule, type) else parts


MUTANTS: Final[Registry[Mutant]] = Registry("mutant", "ddlsim.mutants")
"""Every mutant, by name."""


def mutant(
    name: str,
    breaks: str,
    caught_by: str,
    *,
    summary: str,
    also: tuple[str, ...] = (),
    reopens: tuple[str, ...] = (),
    survives: str = "",
    **replaced: object,
) -> Mutant:
    """Register a mutant with one rule or class in the place of another: `activation_ts=at_message`.

    Raises `BadPluginError` if another mutant has its name.
    """
    assert len(replaced) == 1, f"{name} replaces {len(replaced)} things, not one"
    ((place, rule),) = replaced.items()
    return MUTANTS.add(
        name,
        Mutant(name, summary, breaks, caught_by, place, rule, also, reopens, survives),
    )


def mutates(
    replaced: str,
    name: str,
    breaks: str,
    caught_by: str,
    *,
    also: tuple[str, ...] = (),
    reopens: tuple[str, ...] = (),
) -> Callable[[R], R]:
    """Register the decorated rule or class as a mutant; its docstring begins with the summary."""

    def register(rule: R) -> R:
        first = (getdoc(rule) or "").partition("\n")[0]
        assert first, f"{name} has no docstring"
        summary = first[0].lower() + first[1:].removesuffix(".")
        MUTANTS.add(name, Mutant(name, summary, breaks, caught_by, replaced, rule, also, reopens))
        return rule

    return register
