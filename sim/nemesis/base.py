"""What a fault is: data with two verbs, and the levers that it may pull.

A fault is a frozen dataclass; its fields are the keys of its `[[faults]]` table, less `from_ms` and
`for_ms`, which say when. `decide` throws its dice before the run. `begin` pulls levers, `heal`
releases them: every fault has levers of its own, which remember what was done through them.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Protocol, Self, TypeVar

from sim.registry import Registry
from sim.units import Micros

LEADER: Final = "meta storage leader"
ANY: Final = "any node"
ANY_FOLLOWER: Final = "any follower"
PRIMARY: Final = re.compile(r"^primary of ([^/\s]+)(?:/(\d+))?$")
"""A table's primary: of partition 0, or of the partition named."""


class Levers(Protocol):
    """All that a fault may touch. Every fault is given levers of its own.

    None for a sender, receiver or kind means any, clients included. Nodes are plain names here;
    `resolve` turns roles into them.
    """

    def nodes(self) -> Sequence[str]:
        """Every node, in order."""

    def resolve(self, role: str) -> str:
        """The node that a role means at this instant; a node's name means itself."""

    def delay_traffic(
        self, *, sender: str | None, to: str | None, kind: str | None, by_us: Micros
    ) -> None:
        """From now on matching messages take so much longer."""

    def hold_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        """From now on matching messages are kept back; released, they arrive in order."""

    def block_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        """From now on matching messages are lost."""

    def set_weather(
        self,
        *,
        sender: str | None,
        to: str | None,
        kind: str | None,
        loss: float | None = None,
        duplication: float | None = None,
    ) -> None:
        """From now on matching messages are lost or doubled with this probability."""

    def clock_step(self, node: str, by_us: int, *, returns: bool) -> None:
        """A node's clock jumps; where it `returns`, `release` makes it jump back."""

    def clock_drift(self, node: str, ppm: int) -> None:
        """A node's clock runs at another rate; `release` gives it its old rate back."""

    def pause(self, node: str) -> None:
        """A node stands still; `release` lets it go on."""

    def slow_apply(self, node: str, stage: str, delay_us: Micros) -> None:
        """A node applies the meta storage more slowly, at stage `log`, `catalog` or `listener`."""

    def release(self) -> None:
        """Undo what was done through these levers."""


class Dice(Protocol):
    """Whole numbers from one stream."""

    def below(self, bound: int) -> int:
        """A number from 0 to bound - 1."""


@dataclass(frozen=True, slots=True)
class FaultWorld:
    """What a fault may know before the run: the nodes, and who leads the meta storage at first."""

    nodes: tuple[str, ...]
    leader: str


@dataclass(frozen=True, kw_only=True)
class Fault(ABC):
    """One kind of fault; `targets` are the fields that name a node or a role (or None)."""

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str] = ""
    targets: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        self.verify()

    def verify(self) -> None:  # noqa: B027 - most faults have nothing to refuse
        """Refuse, with `ValueError`, fields that contradict each other."""

    def decide(self, world: FaultWorld, dice: Dice) -> Self:
        """The same fault with every choice made; here: which node `any node` is."""
        chosen: dict[str, Any] = {}
        for field in self.targets:
            value = getattr(self, field)
            if isinstance(value, tuple):
                chosen[field] = tuple(_decided(role, world, dice) for role in value)
            else:
                chosen[field] = _decided(value, world, dice)
        return replace(self, **chosen)

    @property
    def node_named(self) -> str | None:
        """The node or role that histories name, if there is just one."""
        if len(self.targets) != 1:
            return None
        value = getattr(self, self.targets[0])
        return value if isinstance(value, str) else None

    @abstractmethod
    def begin(self, levers: Levers) -> None:
        """Make it happen."""

    def heal(self, levers: Levers) -> None:
        """Make everything as it was."""
        levers.release()


def _decided(role: str | None, world: FaultWorld, dice: Dice) -> str | None:
    """A role that dice decide, as a node; any other as it is."""
    if role == ANY:
        return world.nodes[dice.below(len(world.nodes))]
    if role == ANY_FOLLOWER:
        others = [node for node in world.nodes if node != world.leader] or [world.leader]
        return others[dice.below(len(others))]
    return role


def touched(fault: Fault, levers: Levers) -> tuple[str, ...]:
    """The nodes that a fault makes sick, roles resolved now: those it names, or else all of them.

    Of a link that it cuts, one end is always among them.
    """
    roles: list[str] = []
    for field in fault.targets:
        value = getattr(fault, field)
        roles += value if isinstance(value, tuple) else [value] if value is not None else []
    named = roles or levers.nodes()
    return tuple(dict.fromkeys(levers.resolve(role) for role in named))


def check(holds: bool, field: str, what: str) -> None:  # noqa: FBT001 - it reads as a sentence
    """Refuse a field."""
    if not holds:
        raise ValueError(f"{field}: {what}")


FAULTS: Final[Registry[type[Fault]]] = Registry("fault", "sim.nemesis")
F = TypeVar("F", bound=type[Fault])


def fault(kind: F) -> F:
    """Register a kind of fault."""
    FAULTS.add(kind.name, kind)
    return kind
