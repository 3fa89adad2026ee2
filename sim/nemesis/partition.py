"""Nodes that do not hear each other: the cluster in two, one node alone, or one way only."""

from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, Literal, Self

from sim.nemesis.base import Dice, Fault, FaultWorld, Levers, check, fault


@fault
@dataclass(frozen=True, kw_only=True)
class Partition(Fault):
    """Messages between the two sides are lost; clients still reach every node.

    `halves` puts the nodes of `side` on one side, a random half of the cluster where it is empty;
    `one_node` cuts `node` off; `one_way` loses only what `node` sends, not what it is sent.
    """

    name: ClassVar[str] = "partition"
    summary: ClassVar[str] = "nodes that do not hear each other: halves, one node, or one way"
    targets: ClassVar[tuple[str, ...]] = ("node", "side")

    shape: Literal["halves", "one_node", "one_way"] = "halves"
    node: str | None = None
    side: tuple[str, ...] = ()

    def verify(self) -> None:
        halves = self.shape == "halves"
        check(halves or self.node is not None, "node", f"{self.shape} needs one")
        check(halves or not self.side, "side", f"{self.shape} cuts off just one node; say node")
        check(not halves or self.node is None, "node", "halves have a side; say side")

    def decide(self, world: FaultWorld, dice: Dice) -> Self:
        decided = super().decide(world, dice)
        if self.shape != "halves" or self.side:
            return decided
        left = list(world.nodes)
        side = [left.pop(dice.below(len(left))) for _ in range(len(world.nodes) // 2)]
        return replace(decided, side=tuple(sorted(side, key=world.nodes.index)))

    def begin(self, levers: Levers) -> None:
        names = self.side if self.node is None else (self.node,)
        inside = [levers.resolve(name) for name in names]
        outside = [name for name in levers.nodes() if name not in inside]
        for one, other in product(inside, outside):
            levers.block_traffic(sender=one, to=other, kind=None)
            if self.shape != "one_way":
                levers.block_traffic(sender=other, to=one, kind=None)
