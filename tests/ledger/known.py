"""What the ledger of findings says of the cycles that can be."""

from collections.abc import Iterator
from itertools import combinations

from ddlsim.checkers.base import Anomaly, Step
from ddlsim.checkers.findings import Finding, Signature, explained_by, signature
from tests.ledger.cycles import cycles
from tests.ledger.rules import SKEW, Cycle, Rules, Tx, inequalities, led_back, tag

CSMAX_MS = 7


def possible(ddls: int, transactions: int, rules: Rules) -> Iterator[Cycle]:
    """The cycles of a size that the rules allow."""
    for cycle in cycles(ddls, transactions):
        if inequalities(cycle, rules).solved() is not None:
            yield cycle


def ways_back(cycle: Cycle, rules: Rules) -> Iterator[frozenset[int]]:
    """Every set of edges that can lead back together, the others leading forward."""
    places = range(len(cycle.ways))
    able = [
        place
        for place in places
        if cycle.ways[place].kind == "rw-schema" or cycle.ways[place].kind == "rt"
    ]
    for size in range(len(able) + 1):
        for chosen in combinations(able, size):
            back = frozenset(chosen)
            if led_back(cycle, rules, back).solved() is not None:
                yield back


def as_anomaly(cycle: Cycle, back: frozenset[int] = frozenset()) -> Anomaly:
    """The cycle as judges tell it, with what leads back at its farthest."""
    steps = tuple(
        Step("", "", "T" if isinstance(node, Tx) else f"D({node.kind})", tag(cycle, place), "")
        for place, node in enumerate(cycle.nodes)
    )
    back_ms = tuple(CSMAX_MS if place in back else None for place in range(len(steps)))
    return Anomaly("a cycle", "", steps=steps, back_ms=back_ms)


def structure(cycle: Cycle) -> Signature:
    """Its signature, whatever its statements change."""
    words = signature(as_anomaly(cycle))
    return tuple("D" if word.startswith("D(") else word for word in words)


def explanation(cycle: Cycle, back: frozenset[int], findings: tuple[Finding, ...]) -> str | None:
    """The finding that the cycle is an instance of."""
    return explained_by("I3", as_anomaly(cycle, back), findings, CSMAX_MS)


def is_relaxed(cycle: Cycle) -> bool:
    """Whether the relaxed graph has it too."""
    return all(tag(cycle, place) != "rw-schema[compatible]" for place in range(len(cycle.nodes)))


def reaches_beyond(cycle: Cycle, rules: Rules, back: frozenset[int]) -> bool:
    """Whether its edges in real time can lead back by more than the skew of the clocks."""
    in_time = frozenset(place for place in back if cycle.ways[place].kind == "rt")
    return bool(in_time) and led_back(cycle, rules, back, SKEW + 1).solved() is not None
