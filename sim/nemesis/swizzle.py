"""Nodes are cut off one after another and come back one after another, in another order."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Die, Fault, FaultWorld, check, decided_role, drawn_order, fault
from ddlsim.units import Micros, Ms, ms


@fault
@dataclass(frozen=True, kw_only=True)
class Swizzle(Fault):
    """Every `every_ms` one more of the `nodes` is cut off; `held_ms` later they reconnect.

    Without `nodes`: a random majority of all nodes in a random order; `back` is the order of their
    return, random if not given. When the fault heals, all nodes still cut off reconnect.
    """

    name: ClassVar[str] = "swizzle"
    summary: ClassVar[str] = "nodes are cut off one by one, and come back in another order"
    source: ClassVar[str] = "FoundationDB, swizzle-clogging"
    targets: ClassVar[tuple[str, ...]] = ("nodes", "back")

    nodes: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    every_ms: Ms = 50
    held_ms: Ms = 100

    @property
    def told(self) -> str:
        nodes = ", ".join(self.nodes) or "most nodes"
        order = f"in the order {', '.join(self.back)}" if self.back else "in another order"
        cut = f"{nodes} are cut off from all others, one every {self.every_ms:g} ms"
        return f"{cut}, and {self.held_ms:g} ms later they come back {order}"

    def verify(self) -> None:
        check(self.every_ms >= 0, "every_ms", "must not be negative")
        check(self.held_ms >= 0, "held_ms", "must not be negative")
        check(not self.back or bool(self.nodes), "back", "needs nodes")
        same = sorted(self.back) == sorted(self.nodes)
        check(not self.back or same, "back", "must name the same nodes as nodes")

    def decide(self, world: FaultWorld, die: Die) -> Self:
        if not self.nodes:
            nodes = drawn_order(world.nodes, die)[: len(world.nodes) // 2 + 1]
            return replace(self, nodes=nodes, back=drawn_order(nodes, die))
        chosen = {name: decided_role(name, world, die) or name for name in self.nodes}
        back = self.back or drawn_order(self.nodes, die)
        return replace(
            self,
            nodes=tuple(chosen[name] for name in self.nodes),
            back=tuple(chosen[name] for name in back),
        )

    def begin(self, actions: FaultActions) -> None:
        at_us = 0
        calls: list[tuple[int, Callable[[], None]]] = []
        nodes = dict.fromkeys(actions.resolve(name) for name in self.nodes)
        for node in nodes:
            calls.append((at_us, partial(actions.cut_off, node)))
            at_us += ms(self.every_ms)
        at_us += ms(self.held_ms)
        for node in dict.fromkeys(actions.resolve(name) for name in self.back):
            calls.append((at_us, partial(actions.reconnect, node)))
            at_us += ms(self.every_ms)
        for when_us, call in calls:
            actions.later(Micros(when_us), call)
