"""What faults may touch, answered by the cluster; every fault has levers of its own.

What a fault does through its levers is remembered, and `release` undoes just that, latest first,
and leaves alone what other faults do at the same time.
"""

from collections.abc import Callable, Sequence

from sim.kernel.envelope import Weather
from sim.kernel.rules import Rule, Slow, Verdict
from sim.nemesis.base import LEADER, PRIMARY
from sim.units import Micros
from sim.world.cluster import Cluster


class _Lost(Rule):
    """Matching messages vanish."""

    def judge(self, envelope: object) -> Verdict:
        """Drop it."""
        del envelope
        return Verdict.DROP


class ClusterLevers:
    """One fault's grip on the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._undo: list[Callable[[], None]] = []

    def nodes(self) -> Sequence[str]:
        """Every node, in order."""
        return tuple(self._cluster.hosts)

    def resolve(self, role: str) -> str:
        """The node that a role means at this instant; a node's name means itself."""
        if role == LEADER:
            return self._cluster.leader
        primary = PRIMARY.match(role)
        if primary is not None:
            return self._cluster.primary_of(primary[1], int(primary[2] or 0))
        assert role in self._cluster.hosts, f"no node or role is called {role!r}"
        return role

    def delay_traffic(
        self, *, sender: str | None, to: str | None, kind: str | None, by_us: Micros
    ) -> None:
        """From now on matching messages take so much longer."""
        self._install(Slow(sender, to, kind, by_us=by_us))

    def hold_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        """From now on matching messages are kept back; released, they arrive in order."""
        self._undo.append(self._cluster.network.hold(sender, to, kind).release)

    def block_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        """From now on matching messages are lost."""
        self._install(_Lost(sender, to, kind))

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
        weather = Weather(loss=loss, duplication=duplication)
        self._undo.append(self._cluster.network.configure(weather, sender, to, kind).restore)

    def clock_step(self, node: str, by_us: int, *, returns: bool) -> None:
        """A node's clock jumps; where it `returns`, `release` makes it jump back."""
        self._cluster.step_clock(node, by_us)
        if returns:
            self._undo.append(lambda: self._cluster.step_clock(node, -by_us))

    def clock_drift(self, node: str, ppm: int) -> None:
        """A node's clock runs at another rate; `release` takes the difference back."""
        more = ppm - self._drift(node)
        self._cluster.set_drift(node, ppm)
        self._undo.append(lambda: self._cluster.set_drift(node, self._drift(node) - more))

    def _drift(self, node: str) -> int:
        return self._cluster.hosts[node].clock.pieces[-1].drift_ppm

    def pause(self, node: str) -> None:
        """A node stands still; `release` lets it go on."""
        self._cluster.pause(node)
        self._undo.append(lambda: self._cluster.resume(node))

    def slow_apply(self, node: str, stage: str, delay_us: Micros) -> None:
        """A node applies the meta storage more slowly, at stage `log`, `catalog` or `listener`."""
        self._slower(node, stage, delay_us)
        self._undo.append(lambda: self._slower(node, stage, -delay_us))

    def _slower(self, node: str, stage: str, by_us: int) -> None:
        """Differences, so that faults that overlap can end in any order."""
        delays = self._cluster.delays(node)
        setattr(delays, stage, getattr(delays, stage) + by_us)

    def release(self) -> None:
        """Undo what was done through these levers, latest first."""
        while self._undo:
            self._undo.pop()()

    def _install(self, rule: Rule) -> None:
        self._cluster.network.install(rule)
        self._undo.append(rule.remove)
