"""Our design with one sentence missing: what a mutant is.

A mutant replaces exactly one field of whatever strategy it is put into, or one class of the
machinery (`Parts`). It names the clause that it breaks and the checker that must convict it; a
scenario of `scenarios/negative/` under its name shows that.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from ddlsim.protocol.server import Parts
from ddlsim.protocol.strategy import Strategy
from ddlsim.registry import Registry


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One removed or broken rule.

    `fields` has one entry at most, and so has `parts`; one of them is empty. `caught_by` names the
    checker. `also` are other clauses that do not hold either where the one that it `breaks` does
    not: definitions, requirements and purposes that the rule serves.
    `reopens` is the finding whose closing rule it takes out of `iep_closed`.
    `survives` says why no run convicts it, where that is known: `ddlsim verify` then lists it among
    the survivors and does not fail.
    """

    name: str
    summary: str
    breaks: str
    caught_by: str
    also: tuple[str, ...] = ()
    fields: dict[str, object] = field(default_factory=dict)
    parts: dict[str, type] = field(default_factory=dict)
    reopens: str = ""
    survives: str = ""

    def __post_init__(self) -> None:
        replaced = len(self.fields) + len(self.parts)
        assert replaced == 1, f"{self.name} replaces {replaced} things, not one"

    @property
    def source(self) -> str:
        """The clause that it breaks."""
        return self.breaks

    def applied_to(self, strategy: Strategy) -> Strategy:
        """The strategy with the rule broken."""
        return strategy.with_rules(self.fields)

    def parts_of(self, parts: Parts) -> Parts:
        """The machinery with the class replaced."""
        return replace(parts, **self.parts)


MUTANTS: Final[Registry[Mutant]] = Registry("mutant", "ddlsim.mutants")
"""Every mutant, by name."""


def mutant(item: Mutant) -> Mutant:
    """Make a mutant known by its name."""
    return MUTANTS.add(item.name, item)
