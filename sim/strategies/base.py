"""The honest designs: a registry, and how one is written down.

A strategy is a `Strategy` record of `ddlsim.protocol`; a file of this package adds one or several.
A design of a layer on a key-value store is a `LayerDesign` record of `ddlsim.layer`.
"""

from collections.abc import Iterator
from typing import Final, TypeVar

from ddlsim.fitting import Told, guarded_rules, unfit_name, unfit_rules, unfit_texts
from ddlsim.layer.design import LayerDesign
from ddlsim.model.design import (
    ASSUMPTIONS,
    BACKWARD_RULES,
    LEASES_HOLD,
    SKEW_BOUNDED,
    Claim,
    DesignHeader,
)
from ddlsim.protocol.strategy import Strategy
from ddlsim.registry import BadPluginError, Registry, unknown

PLANES: Final = ("ignite", "fdb")
YOURS: Final = "rename yours"
D = TypeVar("D", Strategy, LayerDesign)


def unfit_design(kind: type[D], plane: str, design: object) -> Told:
    """What is wrong with a design that is added to those of a plane."""
    if not isinstance(design, kind):
        return f"it is a {type(design).__name__}, not a {kind.__name__}"
    return _unfit_header(design.header, plane) or unfit_rules(design)


def _unfit_header(header: DesignHeader, plane: str) -> Told:
    if header.plane != plane:
        right = "strategy" if header.plane == "ignite" else "layer_design"
        other = f"`{right}` adds those of {header.plane!r}" if header.plane in PLANES else ""
        known = other or f"planes are {' and '.join(PLANES)}"
        return f"its plane is {header.plane!r}, but it is a design of {plane!r}; {known}"
    if header.backward not in BACKWARD_RULES:
        return f"`backward` is {header.backward!r}; known: {', '.join(BACKWARD_RULES)}"
    return unfit_texts(header, "summary", "source") or _unfit_claims(header)


def _unfit_claims(header: DesignHeader) -> Told:
    claims: object = header.claims  # of whatever type: records do not look at their values
    if not isinstance(claims, tuple) or not all(isinstance(claim, Claim) for claim in claims):
        return f"`claims` is {claims!r}; give a tuple of Claim, as all_but('I11') does"
    assumed = [one for claim in header.claims for one in claim.assumes]
    for one in (*assumed, *header.ddl_edges_assume):
        if one not in ASSUMPTIONS:
            return f"it assumes {one!r}; known: {', '.join(ASSUMPTIONS)}"
    return None


STRATEGIES: Final[Registry[Strategy]] = Registry(
    "strategy",
    "ddlsim.strategies",
    unfit=lambda _, design: unfit_design(Strategy, "ignite", design),
    guarded=guarded_rules,
)
"""Every design on the Ignite plane, by name."""

LAYER_DESIGNS: Final[Registry[LayerDesign]] = Registry(
    "layer design",
    "ddlsim.strategies",
    "strategies",
    lambda _, design: unfit_design(LayerDesign, "fdb", design),
    guarded_rules,
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
    _check_name(design, LAYER_DESIGNS)
    return STRATEGIES.add(design.name, design)


def _check_name(design: object, others: Registry[Strategy] | Registry[LayerDesign]) -> None:
    if not isinstance(design, Strategy | LayerDesign):
        what = f"a design is a record, as replace(IEP, ...) gives one, not {design!r:.60}"
        raise BadPluginError(what)
    told = unfit_name(design.name)
    if told is not None:
        raise BadPluginError(f"a {STRATEGIES.kind}: {told}")
    if others.has_added(design.name):
        raise BadPluginError(f"two {STRATEGIES.kind} plug-ins are called {design.name!r}; {YOURS}")


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
    _check_name(design, STRATEGIES)
    return LAYER_DESIGNS.add(design.name, design)
