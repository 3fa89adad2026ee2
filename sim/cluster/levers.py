"""What faults may touch, answered by the cluster; every fault has levers of its own.

What a fault does through its levers is remembered, and `release` undoes just that, latest first,
and leaves alone what other faults do at the same time.
"""

from collections.abc import Callable, Sequence

from ddlsim.cluster.cluster import Cluster
from ddlsim.kernel.network import (
    Block,
    LinkProfile,
    Override,
    Rule,
    Slow,
)
from ddlsim.nemesis.roles import (
    COORDINATOR,
    LEADER,
    META,
    PLACE_LEADER,
    PRIMARY,
    place_of,
)
from ddlsim.units import US_PER_MS, Micros


class ClusterLevers:
    """One fault's grip on the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._undo: list[Callable[[], None]] = []
        self._cuts: dict[str, list[Rule]] = {}
        self._released = 0
        self._rules: list[Rule] = []
        self._overrides: list[Override] = []

    @property
    def missed(self) -> str | None:
        """How it was set on messages and has changed none, if so."""
        met: list[Rule | Override] = [*self._rules, *self._overrides]
        hits = sum(one.hits for one in met)
        if not met:
            return None
        if not hits:
            return "met no message"
        if self._rules or any(one.strikes for one in self._overrides):
            return None
        return f"left all of the {hits} messages that it met as they were"

    def nodes(self) -> Sequence[str]:
        """Every node, in order."""
        return tuple(self._cluster.hosts)

    def resolve(self, role: str) -> str:
        """The node that a role means at this instant; a node's name means itself."""
        cluster = self._cluster
        if role == LEADER:
            return cluster.leader
        if match := PRIMARY.match(role):
            return cluster.primary_of(match[1], int(match[2] or 0))
        if match := PLACE_LEADER.match(role):
            return cluster.failures.leader_of(f"{match[1]}/{match[2] or 0}")
        if match := COORDINATOR.match(role):
            return cluster.asked.get(match[1], next(iter(cluster.hosts)))
        assert role in cluster.hosts, f"no node or role is called {role!r}"
        return role

    def later(self, by_us: Micros, call: Callable[[], None]) -> None:
        """Do something else after a while, unless the levers are released before."""
        released = self._released
        loop = self._cluster.loop

        def unless_released() -> None:
            if self._released == released:
                call()

        loop.call_at(loop.now_us + by_us, unless_released)

    def delay_traffic(
        self, *, sender: str | None, to: str | None, kind: str | None, by_us: Micros
    ) -> None:
        """From now on matching messages take so much longer."""
        self._install(Slow(sender, to, kind, by_us=by_us))

    def hold_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        """From now on matching messages are kept back; released, they arrive in order."""
        held = self._cluster.network.hold(sender, to, kind)
        self._rules.append(held)
        self._undo.append(held.release)

    def block_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        """From now on matching messages are lost."""
        self._install(Block(sender, to, kind))

    def cut_off(self, node: str) -> None:
        """From now on no other node hears this one, nor it them."""
        cuts = self._cuts[node] = []
        for other in self.nodes():
            if other != node:
                cuts += [Block(node, other), Block(other, node)]
        for rule in cuts:
            self._install(rule)

    def reconnect(self, node: str) -> None:
        """Take back what `cut_off` did to this node."""
        for rule in self._cuts.pop(node, ()):
            rule.remove()

    def set_link_profile(
        self,
        *,
        sender: str | None,
        to: str | None,
        kind: str | None,
        loss: float | None = None,
        duplication: float | None = None,
        reordering: float | None = None,
    ) -> None:
        """From now on matching messages are lost, doubled or overtaken with this probability."""
        profile = LinkProfile(loss=loss, duplication=duplication, reordering=reordering)
        override = self._cluster.network.configure(profile, sender, to, kind)
        self._overrides.append(override)
        self._undo.append(override.remove)

    def clock_step(self, node: str, by_us: int, *, returns: bool) -> None:
        """A node's clock jumps; where it `returns`, `release` makes it jump back."""
        self._cluster.step_clock(node, by_us)
        if returns:
            self._undo.append(lambda: self._cluster.step_clock(node, -by_us))

    def clock_beyond(self, node: str, by_us: int) -> None:
        """A node's clock shows CSmax and so much more than the true time, or less if negative."""
        cluster = self._cluster
        skew_us = cluster.settings_of(node).max_clock_skew_ms * US_PER_MS
        offset_us = by_us + (skew_us if by_us > 0 else -skew_us)
        shown_us = cluster.hosts[node].clock.read_us()
        self.clock_step(node, cluster.loop.now_us + offset_us - shown_us, returns=True)

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

    def crash(self, node: str, *, torn: int | None) -> None:
        """A node stops being; `release` starts it again with its disk."""
        troubles = self._cluster.troubles
        troubles.crash(node, torn)
        self._undo.append(lambda: troubles.restart(node))

    def slow_disk(self, node: str, by_us: Micros) -> None:
        """A node's disk takes so much longer to sync."""
        troubles = self._cluster.troubles
        troubles.slow_disk(node, by_us)
        self._undo.append(lambda: troubles.slow_disk(node, -by_us))

    def slow_apply(self, node: str, stage: str, delay_us: Micros) -> None:
        """A node applies the meta storage more slowly, at stage `log`, `catalog` or `listener`."""
        self._slower(node, stage, delay_us)
        self._undo.append(lambda: self._slower(node, stage, -delay_us))

    def _slower(self, node: str, stage: str, by_us: int) -> None:
        """Differences, so that faults that overlap can end in any order."""
        delays = self._cluster.delays(node)
        setattr(delays, stage, getattr(delays, stage) + by_us)

    def set_setting(self, node: str, key: str, value: int) -> None:
        """A node's setting is another; `release` puts the old value back."""
        troubles = self._cluster.troubles
        change = troubles.set_setting(node, key, value)
        self._undo.append(lambda: troubles.forget_setting(node, key, change))

    def transfer(self, group: str, to: str | None) -> None:
        """The leader of a group hands over, to this node or to its next voter."""
        self._cluster.failures.transfer(self._group(group), to)

    def re_elect(self, group: str) -> None:
        """The leader of a group steps down and is elected again."""
        self._cluster.failures.re_elect(self._group(group))

    def expire_lease(self, place: str) -> None:
        """The lease of a partition is not prolonged any more; `release` lets it be."""
        troubles, place = self._cluster.troubles, self._group(place)
        troubles.expire_lease(place)
        self._undo.append(lambda: troubles.renew_lease(place))

    def _group(self, name: str) -> str:
        """A group's full name (`t/0` for `t`); `NobodyError` where its table is not there."""
        place = place_of(name)
        if name == META or place is None:
            return name
        self._cluster.table_id(place[0])
        return f"{place[0]}/{place[1]}"

    def release(self) -> None:
        """Undo what was done through these levers, latest first."""
        self._released += 1
        self._cuts.clear()
        while self._undo:
            self._undo.pop()()

    def _install(self, rule: Rule) -> None:
        self._cluster.network.install(rule)
        self._rules.append(rule)
        self._undo.append(rule.remove)
