"""The honest designs: a registry, and how one is written down.

A strategy is a `Strategy` record of `ddlsim.protocol`; a file of this package adds one or several.
A design of a layer on a key-value store is a `LayerDesign` record of `ddlsim.layer`.
"""

from collections.abc import Iterator
from typing import Final

from ddlsim.layer.design import LayerDesign
from ddlsim.model.design import LEASES_HOLD, SKEW_BOUNDED, Claim, DesignHeader
from ddlsim.protocol.strategy import Strategy
from ddlsim.registry import BadPluginError, Registry, unknown

STRATEGIES: Final[Registry[Strategy]] = Registry("strategy", "ddlsim.strategies")
"""Every design on the Ignite plane, by name."""

LAYER_DESIGNS: Final[Registry[LayerDesign]] = Registry(
    "layer design", "ddlsim.strategies", "strategies"
)
"""Every design of a layer, by name. A name means one design on all planes."""


class AllDesigns:
    """Every design of every data plane, by name."""

    def get(self, name: str) -> Strategy | LayerDesign:
        """The design of this name; `UnknownPluginError` names the nearest of all planes."""
        if name in LAYER_DESIGNS:
            return LAYER_DESIGNS.get(name)
        if name in STRATEGIES:
            return STRATEGIES.get(name)
        raise unknown(STRATEGIES.kind, name, self)

    def __contains__(self, name: object) -> bool:
        return name in STRATEGIES or name in LAYER_DESIGNS

    def __iter__(self) -> Iterator[str]:
        return iter(sorted((*STRATEGIES, *LAYER_DESIGNS)))

    def items(self) -> list[tuple[str, Strategy | LayerDesign]]:
        """Every design with its name, in the order of the names."""
        return [(name, self.get(name)) for name in self]


DESIGNS: Final = AllDesigns()
"""Every design that can be run, on whatever plane."""

FULL_CLAIMS: Final = (
    Claim("I1"),
    Claim("I2"),
    Claim("I3", (LEASES_HOLD,)),
    Claim("I4", (SKEW_BOUNDED,)),
    Claim("I5"),
    Claim("I7", (LEASES_HOLD,)),
    Claim("I8"),
    Claim("I9"),
    Claim("I10", (LEASES_HOLD,), less=("fractured-schema",)),
    Claim("I11"),
    Claim("I12"),
)
"""What the documents promise.

That clients see their own DDL needs bounded clocks [98.own]; so does, where a place passes from one
primary to another, whatever rests on there being only one at a time. An operation is judged by the
schema of its own table, so a transaction that a change of one table has doomed may still read, in
another, what was written after that change: I10 is not promised against that.
"""


def all_but(*invariants: str) -> tuple[Claim, ...]:
    """What the documents promise, some invariants apart."""
    return tuple(claim for claim in FULL_CLAIMS if claim.invariant not in invariants)


def all_less(invariant: str, *kinds: str, of: tuple[Claim, ...] = FULL_CLAIMS) -> tuple[Claim, ...]:
    """What the documents promise, some kinds of breaches of one invariant apart."""
    return tuple(
        Claim(claim.invariant, claim.assumes, (*claim.less, *kinds))
        if claim.invariant == invariant
        else claim
        for claim in of
    )


def header(
    name: str,
    summary: str,
    source: str,
    claims: tuple[Claim, ...] = FULL_CLAIMS,
    *,
    backward: str = "forbid_all",
    ddl_edges_assume: tuple[str, ...] = (SKEW_BOUNDED,),
) -> DesignHeader:
    """The header of a design on the Ignite plane; it claims what the documents promise."""
    return DesignHeader(name, summary, source, "ignite", claims, ddl_edges_assume, backward)


def strategy(design: Strategy) -> Strategy:
    """Make a design known by its name; `BadPluginError` where another one has it."""
    _check_name(design.name, LAYER_DESIGNS)
    return STRATEGIES.add(design.name, design)


def _check_name(name: str, others: Registry[Strategy] | Registry[LayerDesign]) -> None:
    if others.has_added(name):
        raise BadPluginError(f"two {STRATEGIES.kind} plug-ins are called {name!r}")


# --- designs of a layer ---------------------------------------------------------------------------

THREAD: Final = 'FoundationDB forum, "Implementing atomic DDL for SQL schema"'
"""Where the designs of a layer come from; a header adds the post."""


def claims(*invariants: str) -> tuple[Claim, ...]:
    """Claims that rest on nothing."""
    return tuple(Claim(invariant) for invariant in invariants)


EXACT: Final = claims("I1", "I2", "I3", "I4", "I5", "I7", "I8", "I9", "I10", "I11", "I12")
"""The schema is read and written like any row: a DDL statement is a transaction like all others."""
EVENTUAL: Final = claims("I5", "I9", "I12")
"""A transaction uses one schema and has one outcome, and everything ends: no more."""


def layer_header(
    name: str, summary: str, post: str, promised: tuple[Claim, ...] = EXACT
) -> DesignHeader:
    """The header of a design on the FoundationDB plane; DDL edges rest on no clock."""
    return DesignHeader(name, summary, f"{THREAD}: {post}", "fdb", promised, ddl_edges_assume=())


def preset_header(
    name: str, summary: str, source: str, promised: tuple[Claim, ...] = EXACT
) -> DesignHeader:
    """The header of a model of a real system's documented protocol, on the FoundationDB plane."""
    return DesignHeader(name, summary, source, "fdb", promised, ddl_edges_assume=())


def layer_design(design: LayerDesign) -> LayerDesign:
    """Make a design of a layer known by its name; `BadPluginError` where another one has it."""
    _check_name(design.name, STRATEGIES)
    return LAYER_DESIGNS.add(design.name, design)
