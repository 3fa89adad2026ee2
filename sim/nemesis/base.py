"""The base class of faults, and what they may know and claim.

A fault is a frozen dataclass; its fields are the keys of its `[[faults]]` table, without `from_ms`,
`for_ms`, `when` and `until`, which say when it lasts. `decide` makes its random choices before the
run. `begin` calls `FaultActions`, `heal` undoes what was done through them: each fault in progress
has its own.
"""

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, NamedTuple, Protocol, Self, TypeVar

from ddlsim.fitting import Told, unfit_keys, unfit_method, unfit_texts, unfit_tuple
from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.roles import ANY, ANY_FOLLOWER, ANY_VOTER
from ddlsim.registry import Registry


class Die(Protocol):
    """Random whole numbers from one stream, as `ddlsim.workload.base.Die` gives them."""

    def below(self, bound: int) -> int:
        """A number from 0 to bound - 1."""


@dataclass(frozen=True, slots=True)
class FaultWorld:
    """What a fault may know before the run: the nodes, the voters and the first leader."""

    nodes: tuple[str, ...]
    voters: tuple[str, ...]
    leader: str


class Claim(NamedTuple):
    """Something of a node that a fault needs for as long as it lasts.

    Two faults must not overlap if both claim the same and at least one of them `alone`.
    """

    thing: str
    node: str
    alone: bool = True


RUNNING: Final = "whether it runs"
"""What a crash claims alone, and whatever needs a running node claims as well."""


@dataclass(frozen=True, kw_only=True)
class Fault(ABC):
    """One kind of fault.

    `targets` are the fields that name a node or a role (or None), `groups` those that name a
    replication group (`meta`, `t/0`), `places` those that name a partition (`t/0`). An `instant`
    fault only begins: there is nothing to heal. `planes` are the data planes that have what it acts
    on.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str] = ""
    targets: ClassVar[tuple[str, ...]] = ()
    groups: ClassVar[tuple[str, ...]] = ()
    places: ClassVar[tuple[str, ...]] = ()
    instant: ClassVar[bool] = False
    planes: ClassVar[tuple[str, ...]] = ("ignite", "fdb")

    def __post_init__(self) -> None:
        self.verify()

    def verify(self) -> None:  # noqa: B027 - most faults have nothing to refuse
        """Raise `ValueError` where fields contradict each other."""

    def decide(self, world: FaultWorld, die: Die) -> Self:
        """The same fault with all random choices made; here: which node `any node` is."""
        chosen: dict[str, Any] = {}
        for field in self.targets:
            value = getattr(self, field)
            if isinstance(value, tuple):
                chosen[field] = tuple(decided_role(role, world, die) for role in value)
            else:
                chosen[field] = decided_role(value, world, die)
        return replace(self, **chosen)

    def claims(self) -> tuple[Claim, ...]:
        """What it needs of nodes; most faults need nothing and may overlap with any other."""
        return ()

    @property
    def node_named(self) -> str | None:
        """The node or role that histories name; None unless there is just one."""
        if len(self.targets) != 1:
            return None
        value = getattr(self, self.targets[0])
        return value if isinstance(value, str) else None

    @property
    def told(self) -> str:
        """What it does as its fields say it, in a clause; its summary, with the node it has."""
        node = getattr(self, "node", None)
        rest = self.summary.removeprefix("a node")
        return self.summary if node is None or rest == self.summary else f"{node}{rest}"

    @property
    def of_its_moment(self) -> bool:
        """Whether it concerns the message at whose sending it begins, and nothing else."""
        return False

    @abstractmethod
    def begin(self, actions: FaultActions) -> None:
        """Begin the fault; raises `VacantRoleError` where no node plays a role that it names."""

    def heal(self, actions: FaultActions) -> None:
        """End the fault: undo what `begin` did."""
        actions.undo()


def decided_role(role: str | None, world: FaultWorld, die: Die) -> str | None:
    """The node drawn for a role that begins with `any`; any other role as it is."""
    if role == ANY:
        return world.nodes[die.below(len(world.nodes))]
    if role == ANY_VOTER:
        return world.voters[die.below(len(world.voters))]
    if role == ANY_FOLLOWER:
        others = [node for node in world.nodes if node != world.leader] or [world.leader]
        return others[die.below(len(others))]
    return role


def drawn_order(names: tuple[str, ...], die: Die) -> tuple[str, ...]:
    """The names in a random order."""
    left = list(names)
    return tuple(left.pop(die.below(len(left))) for _ in names)


def affected_nodes(fault: Fault, actions: FaultActions) -> tuple[str, ...]:
    """The nodes that a fault affects, roles resolved now: those it names, or else all of them.

    At least one end of each link that it cuts is among them. Raises `VacantRoleError` where no node
    plays a role.
    """
    roles: list[str] = []
    for field in fault.targets:
        value = getattr(fault, field)
        roles += value if isinstance(value, tuple) else [value] if value is not None else []
    named = roles or actions.nodes()
    return tuple(dict.fromkeys(actions.resolve(role) for role in named))


def check(holds: bool, field: str, what: str) -> None:  # noqa: FBT001 - it reads as a sentence
    """Raise `ValueError` with `field: what` unless the condition holds."""
    if not holds:
        raise ValueError(f"{field}: {what}")


TIMES: Final = ("from_ms", "for_ms", "when", "until")
"""The keys of a `[[faults]]` table that say when a fault lasts."""


def unfit_fault(_: str, kind: object) -> Told:
    """What is wrong with a kind of fault that is added."""
    if not inspect.isclass(kind) or not issubclass(kind, Fault):
        return "it is no subclass of Fault; make it one"
    keys = {key for one in kind.__mro__ for key in inspect.get_annotations(one)}
    taken = [key for key in TIMES if key in keys]
    if taken:
        return f"its field `{taken[0]}` says when faults last; give it another name"
    return (
        unfit_texts(kind, "summary", "source")
        or unfit_keys(kind)
        or unfit_tuple(kind, "targets", tuple(sorted(keys)))
        or unfit_tuple(kind, "groups", tuple(sorted(keys)))
        or unfit_tuple(kind, "places", tuple(sorted(keys)))
        or unfit_tuple(kind, "planes", ("ignite", "fdb"))
        or unfit_method(kind, "begin", "actions")
        or unfit_method(kind, "heal", "actions")
        or unfit_method(kind, "decide", "world", "die")
        or unfit_method(kind, "claims")
    )


FAULTS: Final[Registry[type[Fault]]] = Registry("fault", "ddlsim.nemesis", unfit=unfit_fault)
F = TypeVar("F", bound=type[Fault])


def fault(kind: F) -> F:
    """Register a kind of fault."""
    FAULTS.add(getattr(kind, "name", ""), kind)
    return kind
