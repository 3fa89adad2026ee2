"""Tiny worlds for the kernel's tests: a loop, a network, a few hosts, and what arrived when."""

from typing import Any, NamedTuple

from ddlsim.kernel.channel import LinkProfile
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.engine import Loop
from ddlsim.kernel.host import Host
from ddlsim.kernel.network import Network
from ddlsim.kernel.rng import Constant, Distribution, quantiles
from ddlsim.kernel.rules import Rule


class Note(NamedTuple):
    """A payload that is nothing but its number."""

    number: int


class Ask(NamedTuple):
    """A request."""

    number: int = 0


class Answer(NamedTuple):
    """Its reply."""

    number: int = 0


def scheduled(loop: Loop) -> int:
    """How many events a loop's queue holds, cancelled ones included."""
    return len(loop.env._queue)


class Small:
    """Hosts a, b, c on a network of constant latency, 1 ms unless told otherwise."""

    def __init__(self, *, seed: int = 1, latency: Distribution | None = None) -> None:
        self.loop = Loop()
        self.network = Network(self.loop, seed)
        self.network.configure(LinkProfile(latency=quantiles(latency or Constant(1))))
        self.a, self.b, self.c = (
            Host(self.loop, self.network, name, PhysicalClock(self.loop)) for name in "abc"
        )
        self.arrived: list[tuple[int, Any]] = []

    def listen(self, host: Host) -> None:
        """Write down when each `Note` reaches `host`."""
        host.on(Note, lambda _, note: self.arrived.append((self.loop.now_us, note.number)))

    def install(self, rule: Rule) -> Rule:
        """Put the rule in force; the same rule."""
        self.network.install(rule)
        return rule

    def write_down(self, what: Any) -> None:
        self.arrived.append((self.loop.now_us, what))

    @property
    def numbers(self) -> list[Any]:
        return [number for _, number in self.arrived]
