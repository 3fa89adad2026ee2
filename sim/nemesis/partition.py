"""Network partitions: the cluster in two, a bridge, one node alone, some links, or one way only."""

from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, Literal, Self

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Die, Fault, FaultWorld, check, fault


@fault
@dataclass(frozen=True, kw_only=True)
class Partition(Fault):
    """Messages between the two sides are lost; clients still reach every node.

    `halves` puts the nodes of `side` on one side, a random half of the cluster where it is empty;
    a `bridge` is the same but for `node`, which stays connected to both sides; `one_node` cuts
    `node` off; `one_way` loses only messages from `node`, not those to it; `link` cuts `node` off
    from those of `side` alone, and all others reach both.
    """

    name: ClassVar[str] = "partition"
    summary: ClassVar[str] = (
        "messages between nodes are lost: halves, a bridge, one node, links, or one way"
    )
    targets: ClassVar[tuple[str, ...]] = ("node", "side")

    shape: Literal["halves", "bridge", "one_node", "one_way", "link"] = "halves"
    node: str | None = None
    side: tuple[str, ...] = ()

    def verify(self) -> None:
        halves, link = self.shape == "halves", self.shape == "link"
        sides = halves or link or self.shape == "bridge"
        check(halves or self.node is not None, "node", f"{self.shape} needs a node")
        check(sides or not self.side, "side", f"{self.shape} cuts off just one node; say node")
        check(not link or bool(self.side), "side", "link needs the other end; say side")
        check(not halves or self.node is None, "node", "halves have a side; say side")
        check(self.node is None or self.node not in self.side, "side", "node is on neither side")

    @property
    def told(self) -> str:
        side = ", ".join(self.side) or "half of the nodes"
        match self.shape:
            case "one_node":
                return f"messages between {self.node} and all other nodes are lost"
            case "one_way":
                return f"messages from {self.node} to other nodes are lost"
            case "link":
                return f"messages between {self.node} and {side} are lost"
            case "bridge":
                return f"messages between {side} and the rest are lost, but for {self.node}"
        return f"messages between {side} and the rest are lost"

    def decide(self, world: FaultWorld, die: Die) -> Self:
        decided = super().decide(world, die)
        if self.shape not in ("halves", "bridge") or self.side:
            return decided
        left = [name for name in world.nodes if name != decided.node]
        side = [left.pop(die.below(len(left))) for _ in range(len(left) // 2)]
        return replace(decided, side=tuple(sorted(side, key=world.nodes.index)))

    def begin(self, actions: FaultActions) -> None:
        node = None if self.node is None else actions.resolve(self.node)
        names = (node,) if self.shape in ("one_node", "one_way", "link") else self.side
        inside = [actions.resolve(name) for name in names if name is not None]
        outside = [name for name in actions.nodes() if name not in inside]
        if self.shape == "link":
            side = [actions.resolve(name) for name in self.side]
            outside = [name for name in outside if name in side]
        if self.shape == "bridge":
            inside, outside = ([n for n in part if n != node] for part in (inside, outside))
        for one, other in product(inside, outside):
            actions.block_traffic(sender=one, to=other, kind=None)
            if self.shape != "one_way":
                actions.block_traffic(sender=other, to=one, kind=None)
