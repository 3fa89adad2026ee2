"""Waits for moments of a run: probes, events, pause points, messages sent or delivered.

`Listeners` is what the recorder, the pauses and the network call while the run goes on; without a
moment in the plan there is none, and nothing is called. `Moments` counts, for each moment that is
awaited, the occurrences that fit, and at the right one goes on with what waits for it.

Order: an occurrence is noticed in the middle of a step, at once. What waits for it begins when this
step has reached its next await (or its end) and before anything else happens in the cluster, of
several in the order in which they began to wait. A task that reaches a pause point at such an
occurrence waits there meanwhile. Only a fault that strikes the moment's own message begins within
the step, since the fate of a message is decided when it is sent.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial
from typing import Any, Final, NamedTuple

from ddlsim.cluster.adapters import Listeners
from ddlsim.cluster.faults import node_of
from ddlsim.cluster.machines import Machines
from ddlsim.history.events import TxBegan
from ddlsim.kernel.channel import Envelope
from ddlsim.kernel.engine import Future, Timer
from ddlsim.kernel.host import kind_of
from ddlsim.model.groups import META
from ddlsim.nemesis.roles import (
    ITS_COORDINATOR,
    ITS_GROUP,
    ITS_LEADER,
    ITS_NODE,
    ITS_PARTITION,
    ITS_PRIMARY,
    ITS_RECEIVER,
    ITS_SENDER,
    VacantRoleError,
)
from ddlsim.plan.records import MomentPlan
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.scenario.moments import DELIVERED, SENT, Moment, moments
from ddlsim.units import US_PER_MS, Micros, Timestamp, physical_ms


class Occurrence(NamedTuple):
    """A moment that came: where, in which transaction, in which group; None: it does not say.

    `of` is the event or the message; `envelope` is set while the message is being sent on a link.
    """

    node: str | None = None
    tx: str | None = None
    group: str | PartitionId | None = None
    sender: str | None = None
    receiver: str | None = None
    of: object = None
    envelope: Envelope | None = None


Then = Callable[[Occurrence], None]


class Awaited:
    """A moment that is awaited: how often it came and fitted, and what waits for it."""

    def __init__(self, plan: MomentPlan, then: Then, *, from_us: int, strikes: bool) -> None:
        self.plan = plan
        self.then = then
        self.from_us = from_us
        self.strikes = strikes
        self.seen = 0

    @property
    def came(self) -> bool:
        """Whether the right occurrence was there."""
        return self.seen >= self.plan.nth


class Moments:
    """The moments that are awaited in one run."""

    def __init__(self, cluster: Machines, listeners: Listeners) -> None:
        self._cluster = cluster
        self._loop = cluster.loop
        self._listeners = listeners
        self._awaited: dict[str, list[Awaited]] = {}
        self._known = moments()
        self._due: list[Callable[[], None]] = []
        self._coordinators: dict[str, str] = {}
        listeners.events[TxBegan] = self._began

    def _began(self, event: TxBegan) -> None:
        self._coordinators[event.tx] = event.node
        if self._awaited.get(TX_BEGAN):
            self._event(TX_BEGAN, event)

    # --- waiting ----------------------------------------------------------------------------------

    def wait(self, plan: MomentPlan, then: Then, *, from_us: int, strikes: bool = False) -> Awaited:
        """Call `then` at a moment, of which what happens from `from_us` on counts.

        With `strikes` it is called within the step, while the message is being sent.
        """
        assert plan.name is not None, "the moment of another occurrence is `instant_us`"
        awaited = Awaited(plan, then, from_us=from_us, strikes=strikes)
        self._awaited.setdefault(plan.name, []).append(awaited)
        self._listen(self._known[plan.name])
        return awaited

    def _listen(self, moment: Moment) -> None:
        name, listeners = moment.name, self._listeners
        match moment.source:
            case "probe":
                listeners.probes[name] = partial(self._probe, name)
            case "point":
                listeners.points[name] = partial(self._point, name)
            case "event":
                assert moment.of is not None, name
                if moment.of is not TxBegan:
                    listeners.events[moment.of] = partial(self._event, name)
            case _:
                self._watch(kind_of_message(name))

    def _watch(self, kind: str) -> None:
        """Listen to the messages of a kind where some moment of it is awaited, and only there."""
        calls = [
            partial(call, f"{kind} {what}") if self._awaited.get(f"{kind} {what}") else None
            for what, call in ((SENT, self._sent), (DELIVERED, self._delivered))
        ]
        self._cluster.network.watch(kind, sent=calls[0], arrived=calls[1])

    def _forget(self, name: str, awaited: Awaited) -> None:
        """Stop waiting; stop listening where nothing else waits for this moment."""
        self._awaited[name].remove(awaited)
        if self._awaited[name]:
            return
        moment = self._known[name]
        self._listeners.probes.pop(name, None)
        self._listeners.points.pop(name, None)
        if moment.source in (SENT, DELIVERED):
            self._watch(kind_of_message(name))
        elif moment.of is not None and moment.of is not TxBegan:
            self._listeners.events.pop(moment.of, None)

    # --- what happens -----------------------------------------------------------------------------

    def _probe(self, name: str, node: str | None) -> None:
        self._happened(name, Occurrence(node))

    def _event(self, name: str, event: Any) -> None:
        node = getattr(event, "holder", None) or getattr(event, "node", None)
        tx = getattr(event, "tx", None)
        self._happened(name, Occurrence(node, tx, group_of(event), of=event))

    def _point(self, name: str, node: str, tx: str | None) -> Future[Any] | None:
        """A task of a node is at a point; what it must wait for, if its moment has come."""
        before = len(self._due)
        self._happened(name, Occurrence(node, tx))
        if len(self._due) == before:
            return None
        ended: Future[Any] = self._loop.future()
        self._due.append(lambda: ended.set(None))
        return ended

    def _sent(self, name: str, envelope: Envelope) -> None:
        self._message(name, envelope, envelope.channel.sender)

    def _delivered(self, name: str, envelope: Envelope) -> None:
        self._message(name, envelope, envelope.channel.to)

    def _message(self, name: str, envelope: Envelope, node: str) -> None:
        payload, channel = envelope.payload, envelope.channel
        tx = getattr(payload, "tx", None)
        label = tx.label if isinstance(tx, TxId) else tx
        on_link = None if channel.loopback else envelope
        group = group_of(payload)
        self._happened(
            name,
            Occurrence(node, label, group, channel.sender, channel.to, payload, on_link),
        )

    def _happened(self, name: str, found: Occurrence) -> None:
        """Count the occurrence for all that it fits, and go on with those that waited for it."""
        for awaited in list(self._awaited[name]):
            if self._fits(awaited, found):
                awaited.seen += 1
                if awaited.came:
                    self._forget(name, awaited)
                    self._go_on(awaited, self._complete(found))

    def _fits(self, awaited: Awaited, found: Occurrence) -> bool:
        plan = awaited.plan
        if self._loop.now_us < awaited.from_us or (awaited.strikes and found.envelope is None):
            return False
        if plan.tx not in (None, found.tx):
            return False
        if any(plain(getattr(found.of, key)) != value for key, value in plan.where.items()):
            return False
        try:
            if plan.node is not None and node_of(self._cluster, plan.node) != found.node:
                return False
            if plan.table is None:
                return True
            group = found.group
            return isinstance(group, tuple) and group[0] == self._cluster.table_id(plan.table)
        except VacantRoleError:
            return False

    def _complete(self, found: Occurrence) -> Occurrence:
        """With the partition where its transaction commits, unless it says of which group it is."""
        if found.tx is None or found.group is not None:
            return found
        coordinator = self._coordinators.get(found.tx, "")
        place = self._cluster.place_of_commit(found.tx, coordinator)
        return found if place is None else found._replace(group=place)

    # --- going on ---------------------------------------------------------------------------------

    def _go_on(self, awaited: Awaited, found: Occurrence) -> None:
        plan, then = awaited.plan, awaited.then
        if plan.at is not None or plan.plus_us:
            self._loop.call_at(self.instant_us(plan, found), then, found)
        elif awaited.strikes:
            then(found)
        else:
            self._after_the_step(lambda: then(found))

    def instant_us(self, plan: MomentPlan, found: Occurrence) -> Micros:
        """The instant that a plan means by an occurrence; now, if it is past."""
        now_us = self._loop.now_us
        since_us = now_us
        if plan.at is not None:
            ts = Timestamp(getattr(found.of, plan.at))
            since_us = Micros(physical_ms(ts) * US_PER_MS)
        return Micros(max(now_us, since_us + plan.plus_us))

    def _after_the_step(self, call: Callable[[], None]) -> None:
        if not self._due:
            self._loop.ready.appendleft(Timer(self._loop.incarnation, self._go_through, ()))
        self._due.append(call)

    def _go_through(self) -> None:
        due, self._due = self._due, []
        for call in due:
            call()

    # --- roles ------------------------------------------------------------------------------------

    def resolve(self, role: str, found: Occurrence) -> str:
        """The node that plays a role of a moment that came; `VacantRoleError` if none does."""
        cluster = self._cluster
        node = None
        match role:
            case _ if role == ITS_NODE:
                node = found.node
            case _ if role == ITS_SENDER:
                node = found.sender
            case _ if role == ITS_RECEIVER:
                node = found.receiver
            case _ if role == ITS_COORDINATOR:
                node = self._coordinators.get(found.tx or "")
            case _ if role == ITS_LEADER:
                node = cluster.leader_of(self.group(ITS_GROUP, found))
            case _ if role == ITS_PRIMARY:
                node = cluster.holder_of(cluster.place_of(self.group(ITS_PARTITION, found)))
        if node is None or not cluster.may_fail(node):
            raise VacantRoleError(f"{role}: {node}")
        return node

    def group(self, role: str, found: Occurrence) -> str | PartitionId:
        """The group or partition of a moment that came; `VacantRoleError` if it has none."""
        group = found.group
        if group is None or (role == ITS_PARTITION and group == META):
            raise VacantRoleError(role)
        return group


class MomentOfFault(NamedTuple):
    """The occurrence at which a fault begins, as its actions use it."""

    moments: Moments
    found: Occurrence

    @property
    def envelope(self) -> Envelope | None:
        """The message that is being sent on a link."""
        return self.found.envelope

    def resolve(self, role: str) -> str:
        """The node that plays a role; `VacantRoleError` if none does."""
        return self.moments.resolve(role, self.found)

    def group(self, role: str) -> str | PartitionId:
        """The group or partition; `VacantRoleError` if it has none."""
        return self.moments.group(role, self.found)


TX_BEGAN: Final = kind_of(TxBegan)


def kind_of_message(name: str) -> str:
    """The kind of message that a moment's name begins with."""
    return name.rpartition(" ")[0]


def group_of(subject: Any) -> str | PartitionId | None:
    """The group that an event or a message names, or the partition; the first one of several."""
    group: str | None = getattr(subject, "group", None)
    if group is not None:
        table, slash, number = group.partition("/")
        return (int(table), int(number)) if slash else group
    place: PartitionId | None = getattr(subject, "place", None)
    places: Iterable[PartitionId] = getattr(subject, "places", ())
    partition = getattr(subject, "partition", None)
    table_id = getattr(subject, "object_id", None) or getattr(subject, "table_id", None)
    if partition is not None and table_id is not None:
        return table_id, partition
    return place or next(iter(places), None)


def plain(value: Any) -> Any:
    """A field's value as a scenario writes it."""
    if isinstance(value, TxId):
        return value.label
    return value.name if isinstance(value, Enum) else value
