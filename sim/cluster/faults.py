"""Faults, as they are done to a cluster.

A `FaultInProgress` is what one fault acts through; it keeps a list of undos. `ClusterFaults` does
what faults do to nodes, groups and settings, and counts those that overlap there:

- a node that several faults crash or pause runs again when the last of them ends;
- delays of disks and of stages add up;
- of several values of a setting, the latest one that still lasts counts.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from typing import Protocol

from ddlsim.cluster.group_faults import GroupFaults, Undo
from ddlsim.cluster.machines import Machines
from ddlsim.history.world_events import NodeCrashed, NodeRestarted, SettingChanged
from ddlsim.kernel.channel import Envelope, LinkProfile
from ddlsim.kernel.network import Override
from ddlsim.kernel.rules import Block, Copy, Delay, Rule, Slow, Strike, Verdict
from ddlsim.model.groups import META
from ddlsim.nemesis.actions import Fate, FaultActions
from ddlsim.nemesis.roles import (
    COORDINATOR,
    LEADER,
    OF_MOMENTS,
    leader_in,
    place_of,
    primary_in,
)
from ddlsim.protocol.ids import PartitionId
from ddlsim.scenario.problems import near
from ddlsim.scenario.vocabulary import all_kinds
from ddlsim.units import US_PER_MS, Micros


class ClusterFaults:
    """Carries out faults on nodes and settings of one run; counts those in progress.

    What lasts returns its `Undo`. `groups` does those of replication groups, where there are any.
    """

    def __init__(self, cluster: Machines, groups: GroupFaults | None) -> None:
        self.cluster = cluster
        self._groups = groups
        self._crashes: Counter[str] = Counter()
        self._torn: dict[str, int] = {}
        self._pauses: Counter[str] = Counter()
        self._values: dict[tuple[str, str], dict[object, int]] = {}

    @property
    def groups(self) -> GroupFaults:
        """What does the faults of groups; a scenario of a plane without groups has none of them."""
        assert self._groups is not None, "this plane has no replication groups"
        return self._groups

    # --- nodes ------------------------------------------------------------------------------------

    def crash(self, node: str, torn: int | None) -> Undo:
        """Crash a node if it runs; of several `torn` the smallest counts, None loses nothing."""
        self._crashes[node] += 1
        if torn is not None:
            self._torn[node] = min(torn, self._torn.get(node, torn))
        cluster = self.cluster
        if cluster.hosts[node].alive:
            cluster.recorder.record(NodeCrashed(cluster.loop.now_us, node))
            cluster.recorder.probe("crash")
            cluster.hosts[node].crash()
        return lambda: self._end_crash(node)

    def _end_crash(self, node: str) -> None:
        self._crashes[node] -= 1
        if self._crashes[node]:
            return
        torn = self._torn.pop(node, None)
        if torn is not None:
            if self._groups is not None:
                self._groups.lose_unsynced(node, torn)
            self.cluster.recorder.probe("unsynced-lost")
        if self._groups is not None:
            self._groups.sync_logs(node)
        self._restart_in_time(node)

    def _restart_in_time(self, node: str) -> None:
        """Restart a crashed node once its physical clock shows what the disk asks for [98.x.7]."""
        cluster, clock = self.cluster, self.cluster.hosts[node].clock
        due_ms = cluster.takes_part_ms(node)
        if clock.read_ms() >= due_ms:
            self._restart(node)
            return
        cluster.recorder.probe("restart-waits")
        self._await_clock(node, due_ms)

    def _await_clock(self, node: str, due_ms: int) -> None:
        """Restart the node when its clock shows `due_ms`, unless it crashes again before that."""
        host, loop = self.cluster.hosts[node], self.cluster.loop
        clock = host.clock

        def look() -> None:
            timer.cancel()
            unsubscribe()
            if self._crashes[node] or host.alive:
                return
            if clock.read_ms() < due_ms:
                self._await_clock(node, due_ms)
            else:
                self._restart(node)

        timer = loop.call_at(clock.due_us(due_ms), look)
        unsubscribe = clock.on_change(look)

    def _restart(self, node: str) -> None:
        """Begin a new incarnation of the node, with its disk."""
        cluster = self.cluster
        host = cluster.hosts[node]
        number = host.incarnation_number + 1
        cluster.recorder.record(NodeRestarted(cluster.loop.now_us, node, number))
        host.restart(lambda: cluster.boot(node, restarted=True))

    def pause(self, node: str) -> Undo:
        """Stop a node."""
        self._pauses[node] += 1
        self.cluster.hosts[node].pause()
        return lambda: self._end_pause(node)

    def _end_pause(self, node: str) -> None:
        self._pauses[node] -= 1
        if not self._pauses[node]:
            self.cluster.hosts[node].resume()

    def drift_clock(self, node: str, ppm: int) -> Undo:
        """Set the drift of a clock; undone, the difference that this made is taken back."""
        by_ppm = ppm - self.cluster.drift_of(node)
        self.cluster.set_drift(node, ppm)
        return lambda: self.cluster.set_drift(node, self.cluster.drift_of(node) - by_ppm)

    def slow_disk(self, node: str, by_us: Micros) -> Undo:
        """Make every sync of a disk take `by_us` more."""
        self.cluster.slow_disk(node, by_us)
        return lambda: self.cluster.slow_disk(node, -by_us)

    def slow_apply(self, node: str, stage: str, by_us: Micros) -> Undo:
        """Make one stage of applying the meta storage take `by_us` more."""
        self.groups.slow_apply(node, stage, by_us)
        return lambda: self.groups.slow_apply(node, stage, -by_us)

    # --- settings ---------------------------------------------------------------------------------

    def change_setting(self, node: str, key: str, value: int) -> Undo:
        """Change a setting; undone, the latest value that still lasts holds, or the first one."""
        before: int = getattr(self.cluster.settings_of(node), key)
        values = self._values.setdefault((node, key), {None: before})
        change = object()
        values[change] = value
        self._set(node, key, value)

        def forget() -> None:
            del values[change]
            self._set(node, key, next(reversed(values.values())))
            if len(values) == 1:
                del self._values[node, key]

        return forget

    def _set(self, node: str, key: str, value: int) -> None:
        cluster = self.cluster
        setattr(cluster.settings_of(node), key, value)
        cluster.recorder.probe("setting-changed")
        cluster.recorder.record(SettingChanged(cluster.loop.now_us, node, key, value))


def node_of(cluster: Machines, role: str) -> str:
    """The node that plays a role now; a node's name stands for itself.

    Raises `VacantRoleError` if no node plays it.
    """
    if role == LEADER:
        return cluster.leader
    if place := primary_in(role):
        return cluster.primary_of(*place)
    if place := leader_in(role):
        return cluster.leader_of((cluster.table_id(place[0]), place[1]))
    if match := COORDINATOR.match(role):
        return cluster.asked.get(match[1], next(iter(cluster.hosts)))
    assert role in cluster.hosts, f"no node or role is called {role!r}"
    return role


@cache
def known_kinds() -> tuple[str, ...]:
    """Every kind of message that can be on its way, but for bare replies (`…-reply`) to them."""
    return tuple(all_kinds())


def check_known(node: str, known: Collection[str]) -> None:
    """Raise `ValueError` for a node that there is not."""
    if node not in known:
        role = "; actions.resolve gives the node of a role" if " " in node else ""
        raise ValueError(f"no node is called {node!r}; known: {', '.join(known)}{role}")


class MomentThatCame(Protocol):
    """The occurrence of a moment at which a fault begins."""

    @property
    def envelope(self) -> Envelope | None:
        """The message that is being sent on a link."""

    def resolve(self, role: str) -> str:
        """The node that plays one of its roles; `VacantRoleError` if none does."""

    def group(self, role: str) -> str | PartitionId:
        """Its group or partition; `VacantRoleError` if it has none."""


def _nothing(by_us: Micros) -> None:
    """Of a fault that lasts until it is healed."""


class FaultInProgress(FaultActions):
    """The actions of one fault on a cluster, documented by `FaultActions`."""

    def __init__(self, faults: ClusterFaults) -> None:
        self._faults = faults
        self._cluster = faults.cluster
        self._undo: list[Undo] = []
        self._undone = 0
        self._cuts: dict[str, list[Rule]] = {}
        self._rules: list[Rule] = []
        self._overrides: list[Override] = []
        self._moment: MomentThatCame | None = None
        self.delays_us = 0
        """The most by which it delays messages."""
        self.late_until_us = Micros(0)
        """Until when single messages that it has struck may be under way."""
        self.when_over: Callable[[Micros], None] = _nothing
        """Called when the fault is over by itself after so long."""

    @property
    def without_effect(self) -> str | None:
        """Why its actions have changed no message; None if they have, or none concerns messages."""
        matching: list[Rule | Override] = [*self._rules, *self._overrides]
        hits = sum(each.hits for each in matching)
        if not matching:
            return None
        if not hits:
            return "met no message"
        if self._rules or any(each.strikes for each in self._overrides):
            return None
        return f"left all of the {hits} messages that it met as they were"

    def nodes(self) -> Sequence[str]:
        return tuple(self._cluster.hosts)

    def begins_at(self, moment: "MomentThatCame") -> None:
        """The fault begins at a moment, which binds roles."""
        self._moment = moment

    def resolve(self, role: str) -> str:
        if role in OF_MOMENTS and self._moment is not None:
            return self._moment.resolve(role)
        return node_of(self._cluster, role)

    def later(self, by_us: Micros, call: Callable[[], None]) -> None:
        undone = self._undone
        loop = self._cluster.loop

        def unless_undone() -> None:
            if self._undone == undone:
                call()

        loop.call_at(loop.now_us + by_us, unless_undone)

    # --- messages ---------------------------------------------------------------------------------

    def delay_traffic(
        self, *, sender: str | None, to: str | None, kind: str | None, by_us: Micros
    ) -> None:
        self._check_traffic(sender, to, kind)
        self.delays_us = max(self.delays_us, by_us)
        self._install(Slow(sender, to, kind, by_us=by_us))

    def hold_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        self._check_traffic(sender, to, kind)
        held = self._cluster.network.hold(sender, to, kind)
        self._rules.append(held)
        self._undo.append(held.release)

    def block_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        self._check_traffic(sender, to, kind)
        self._install(Block(sender, to, kind))

    def cut_off(self, node: str) -> None:
        self._check_traffic(node, None, None)
        cuts = self._cuts[node] = []
        for other in self.nodes():
            if other != node:
                cuts += [Block(node, other), Block(other, node)]
        for rule in cuts:
            self._install(rule)

    def reconnect(self, node: str) -> None:
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
        self._check_traffic(sender, to, kind)
        profile = LinkProfile(loss=loss, duplication=duplication, reordering=reordering)
        override = self._cluster.network.configure(profile, sender, to, kind)
        self._overrides.append(override)
        self._undo.append(override.remove)

    def strike_next(
        self, fate: Fate, *, count: int, sender: str | None, to: str | None, kind: str
    ) -> None:
        self._check_traffic(sender, to, kind)
        self._strike(fate, sender, to, kind, count=count)

    def strike_its_message(self, fate: Fate) -> None:
        assert self._moment is not None, "the fault begins at a moment"
        self._strike(fate, only=self._moment.envelope)

    def _strike(
        self,
        fate: Fate,
        sender: str | None = None,
        to: str | None = None,
        kind: str | None = None,
        *,
        count: int = 1,
        only: Envelope | None = None,
    ) -> None:
        fates: dict[str, Verdict | Delay | Copy]
        fates = {"lost": Verdict.DROP, "late": Delay(fate.by_us), "doubled": Copy(fate.by_us)}
        struck = partial(self._struck, fate)
        rule = Strike(
            sender, to, kind, fate=fates[fate.what], count=count, only=only, struck=struck
        )
        self._install(rule)

    def _struck(self, fate: Fate, left: int) -> None:
        """A message has met its fate, and `left` more are to meet it."""
        self.late_until_us = Micros(self._cluster.loop.now_us + fate.by_us)
        if not left:
            self.when_over(fate.by_us)

    def _install(self, rule: Rule) -> None:
        self._cluster.network.install(rule)
        self._rules.append(rule)
        self._undo.append(rule.remove)

    def _check_traffic(self, sender: str | None, to: str | None, kind: str | None) -> None:
        """Raise `ValueError` for a node or a kind that no message has: none would match."""
        for name in (sender, to):
            if name is not None:
                check_known(name, self._cluster.network.names)
        kinds = known_kinds() if kind is not None else ()
        if kind is not None and kind not in kinds and kind.removesuffix("-reply") not in kinds:
            raise ValueError(f"no message is of the kind {kind!r}; {near(kind, kinds)}")

    # --- machines ---------------------------------------------------------------------------------

    def clock_step(self, node: str, by_us: int, *, returns: bool) -> None:
        check_known(node, self._cluster.hosts)
        self._cluster.step_clock(node, by_us)
        if returns:
            self._undo.append(lambda: self._cluster.step_clock(node, -by_us))

    def clock_beyond(self, node: str, by_us: int) -> None:
        check_known(node, self._cluster.hosts)
        cluster = self._cluster
        skew_us = cluster.settings_of(node).max_clock_skew_ms * US_PER_MS
        offset_us = by_us + (skew_us if by_us > 0 else -skew_us)
        shown_us = cluster.hosts[node].clock.read_us()
        self.clock_step(node, cluster.loop.now_us + offset_us - shown_us, returns=True)

    def clock_drift(self, node: str, ppm: int) -> None:
        check_known(node, self._cluster.hosts)
        self._undo.append(self._faults.drift_clock(node, ppm))

    def pause(self, node: str) -> None:
        check_known(node, self._cluster.hosts)
        self._undo.append(self._faults.pause(node))

    def crash(self, node: str, *, torn: int | None) -> None:
        check_known(node, self._cluster.hosts)
        self._undo.append(self._faults.crash(node, torn))

    def slow_disk(self, node: str, by_us: Micros) -> None:
        check_known(node, self._cluster.hosts)
        self._undo.append(self._faults.slow_disk(node, by_us))

    def slow_apply(self, node: str, stage: str, delay_us: Micros) -> None:
        check_known(node, self._cluster.hosts)
        self._undo.append(self._faults.slow_apply(node, stage, delay_us))

    def set_setting(self, node: str, key: str, value: int) -> None:
        check_known(node, self._cluster.hosts)
        self._undo.append(self._faults.change_setting(node, key, value))

    # --- groups and leases ------------------------------------------------------------------------

    def transfer(self, group: str, to: str | None) -> None:
        if to is not None:
            check_known(to, self._cluster.hosts)
        self._faults.groups.transfer(self._group(group), to)

    def re_elect(self, group: str, rival: int) -> None:
        self._faults.groups.re_elect(self._group(group), rival)

    def expire_lease(self, place: str) -> None:
        self._undo.append(self._faults.groups.expire_lease(self._group(place)))

    def _group(self, group: str) -> str | PartitionId:
        """The partition of `t`, `t/0`; raises `VacantRoleError` where the table is not there."""
        if group in OF_MOMENTS and self._moment is not None:
            return self._moment.group(group)
        place = place_of(group)
        if group == META or place is None:
            return group
        return self._cluster.table_id(place[0]), place[1]

    def undo(self) -> None:
        self._undone += 1
        self._cuts.clear()
        while self._undo:
            self._undo.pop()()
