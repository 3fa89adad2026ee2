"""Begins and heals the planned faults of a run, each at its instant or at its moment."""

from functools import partial

from ddlsim.cluster.adapters import Listeners
from ddlsim.cluster.faults import ClusterFaults, FaultInProgress
from ddlsim.cluster.machines import Machines
from ddlsim.cluster.moments import Awaited, MomentOfFault, Moments, Occurrence
from ddlsim.history.world_events import FaultBegan, FaultHealed, TrafficDelayed
from ddlsim.nemesis.base import FAULTS, Fault, affected_nodes
from ddlsim.nemesis.roles import VacantRoleError
from ddlsim.plan.records import FaultPlan, MomentPlan, Plan
from ddlsim.units import Micros


def awaits_moments(plan: Plan) -> bool:
    """Whether some fault of a plan begins or heals at a moment."""
    return any(fault.when is not None or fault.until is not None for fault in plan.faults)


class Attack:
    """One planned fault: how it acts, and how far it has come."""

    def __init__(self, number: int, planned: FaultPlan, faults: ClusterFaults) -> None:
        self.number = number
        self.planned = planned
        self.fault: Fault = FAULTS.get(planned.name)(**planned.fields)
        self.actions = FaultInProgress(faults)
        self.nodes: tuple[str, ...] | None = None
        """Those that it affects, since it began."""
        self.healed = False
        self.on_vacant_role = False
        self.awaited: Awaited | None = None
        """The moment at which it begins."""
        self.until: Awaited | None = None
        """The moment at which it heals, since it has begun."""

    @property
    def unmatched(self) -> str | None:
        """What it met nothing of, in words; None if it had an effect, and its end came."""
        fault, awaited = self.fault, self.awaited
        on = "" if fault.node_named is None else f" on {fault.node_named}"
        what = f"faults[{self.number}] ({self.planned.name}{on})"
        if self.on_vacant_role:
            return f"{what} struck nothing: no node had that part"
        if self.actions.without_effect is not None:
            return f"{what} {self.actions.without_effect}"
        if awaited is not None and not awaited.came:
            return f"{what} struck nothing: its moment, {awaited.plan.name}, {_often(awaited)}"
        if awaited is not None and self.nodes is None:
            return f"{what} struck nothing: its moment, {awaited.plan.name}, came too late"
        if self.until is not None and not self.until.came:
            moment = f"its end, {self.until.plan.name}, {_often(self.until)}"
            return f"{what} lasted until the load ended: {moment}"
        return None


def _often(awaited: Awaited) -> str:
    """How often a moment came that did not come often enough."""
    times = f"came {awaited.seen} of {awaited.plan.nth} times"
    return times if awaited.seen else "never came"


class Nemesis:
    """The planned faults of one run."""

    def __init__(
        self, cluster: Machines, faults: ClusterFaults, listeners: Listeners | None
    ) -> None:
        self._cluster = cluster
        self._loop = cluster.loop
        self._recorder = cluster.recorder
        self._attacks = [
            Attack(number, planned, faults) for number, planned in enumerate(cluster.plan.faults)
        ]
        self._moments = None if listeners is None else Moments(cluster, listeners)

    def start(self) -> None:
        """Schedule every fault, in the order of the plan."""
        for attack in self._attacks:
            planned = attack.planned
            if planned.when is not None:
                assert self._moments is not None, "the plan awaits moments"
                attack.awaited = self._moments.wait(
                    planned.when,
                    partial(self._begin, attack),
                    from_us=planned.from_us,
                    strikes=attack.fault.of_its_moment,
                )
                continue
            self._loop.call_at(planned.from_us, self._begin, attack)
            if planned.until_us is not None:
                self._loop.call_at(planned.until_us, self._heal, attack)

    def _begin(self, attack: Attack, found: Occurrence | None = None) -> None:
        """Begin a fault; it ends at once where no node plays a role that it names."""
        if attack.healed:
            return
        fault, actions, planned = attack.fault, attack.actions, attack.planned
        if found is not None and self._moments is not None:
            actions.begins_at(MomentOfFault(self._moments, found))
        actions.when_over = lambda by_us: self._heal_later(attack, by_us)
        attack.nodes = nodes = self._affected(attack, found)
        self._recorder.record(FaultBegan(self._loop.now_us, planned.name, fault.node_named, nodes))
        try:
            fault.begin(actions)
        except VacantRoleError:
            self._recorder.probe("fault-on-nobody")
            attack.on_vacant_role = True
            self._heal(attack)
            return
        if actions.delays_us:
            delayed = TrafficDelayed(self._loop.now_us, planned.name, nodes, actions.delays_us)
            self._recorder.record(delayed)
        if planned.for_us is not None:
            self._heal_later(attack, planned.for_us)
        if planned.until is not None:
            self._heal_at(attack, planned.until, found)

    def _affected(self, attack: Attack, found: Occurrence | None) -> tuple[str, ...]:
        if attack.fault.of_its_moment and found is not None:
            ends = (found.sender, found.receiver)
            return tuple(end for end in ends if end is not None and end in self._cluster.hosts)
        try:
            return affected_nodes(attack.fault, attack.actions)
        except VacantRoleError:
            return ()

    def _heal_at(self, attack: Attack, until: MomentPlan, found: Occurrence | None) -> None:
        moments = self._moments
        assert moments is not None, "the plan awaits moments"
        if until.name is not None:
            now_us = self._loop.now_us
            heal = partial(self._heal_by_moment, attack)
            attack.until = moments.wait(until, heal, from_us=now_us)
        elif found is not None:
            self._loop.call_at(moments.instant_us(until, found), self._heal, attack)

    def _heal_later(self, attack: Attack, by_us: Micros) -> None:
        self._loop.call_at(self._loop.now_us + by_us, self._heal, attack)

    def _heal_by_moment(self, attack: Attack, found: Occurrence) -> None:
        del found
        self._heal(attack)

    def _heal(self, attack: Attack) -> None:
        if attack.healed:
            return
        attack.healed = True
        attack.fault.heal(attack.actions)
        name, node = attack.planned.name, attack.fault.node_named
        self._recorder.record(FaultHealed(self._loop.now_us, name, node, attack.nodes or ()))

    def heal_all(self) -> bool:
        """Heal the faults that have begun, and let no other begin; whether there were any."""
        lasting = [each for each in self._attacks if each.nodes is not None and not each.healed]
        for attack in lasting:
            self._record_late(attack)
            self._heal(attack)
        for attack in self._attacks:
            attack.healed = True
        return bool(lasting)

    def _record_late(self, attack: Attack) -> None:
        """Record how long messages that a fault has struck are still under way."""
        now_us = self._loop.now_us
        late_us = Micros(attack.actions.late_until_us - now_us)
        if late_us > 0:
            late = TrafficDelayed(now_us, attack.planned.name, attack.nodes or (), late_us)
            self._recorder.record(late)

    def unmatched(self) -> list[str]:
        """The faults that met nothing, in words."""
        return [each.unmatched for each in self._attacks if each.unmatched is not None]
