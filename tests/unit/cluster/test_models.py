"""The models beside a node's parts: faults planted in a part are seen, the parts as they are not.

The faults are planted in kept worlds, where the part has much to do.
"""

from collections.abc import Callable
from typing import Any, Final

import pytest
from msgspec.structs import replace

from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run
from ddlsim.model.hlc import HybridClock
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.messages import Answer, NotPrimary, Submitted
from ddlsim.protocol.metastorage import metastorage
from ddlsim.protocol.metastorage.application import Application
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.metastorage.placement import Placement
from ddlsim.protocol.metastorage.placement_driver import PlacementDriver
from ddlsim.protocol.metastorage.safe_time_ticker import SafeTimeTicker
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.partition.partition import Partition, RowVersion
from ddlsim.protocol.partition.replica_manager import ReplicaManager
from ddlsim.protocol.raft import Member
from ddlsim.protocol.raft.messages import AppendEntries, AppendReply, VoteReply
from ddlsim.protocol.raft.replication import Replication
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.transaction import replica
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.protocol.transaction.coordinator import Coordinator
from ddlsim.protocol.transaction.execution import NOTHING, Executor
from ddlsim.protocol.transaction.lock_waits import LockWaits
from ddlsim.protocol.transaction.locks import LockTable
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.protocol.transaction.readers import Readers
from ddlsim.units import Timestamp
from tests.support.kept_worlds import SEEDS, differences, first_part, plan_of

pytestmark = pytest.mark.slow

LARGE: Final = 0  # ten times as large as most others
PAUSED: Final = 28  # in its world a node is paused in the instant in which it starts again


def test_parts_do_what_their_models_do() -> None:
    for seed in (*SEEDS, PAUSED, LARGE):
        assert differences(run(plan_of(seed))) == []


def without(kind: type) -> Callable[[Any], Callable[..., None]]:
    """The method without what it leaves of a kind in the outbox or among the promises."""

    def planted(method: Any) -> Callable[..., None]:
        def left_out(self: Any, *given: Any, **named: Any) -> None:
            method(self, *given, **named)
            self.outbox = [each for each in self.outbox if type(each[1]) is not kind]
            self._promised = [each for each in self._promised if type(each[1]) is not kind]

        return left_out

    return planted


def grant_all(method: Any) -> Callable[..., bool]:
    def planted(self: Any, tx: Any, resource: Any, mode: int) -> bool:
        answer = method(self, tx, resource, mode)
        if answer is False:
            self._grant(tx, resource, mode, self._holders[resource])
        return answer is False or answer

    return planted


def commit_later(_method: Any) -> Callable[..., None]:
    def planted(self: Any, key: Any, version: RowVersion) -> None:
        later = RowVersion(version.writer, version.commit_ts, version.version + 1, version.row)
        self.rows.setdefault(key, []).append(later)

    return planted


def keep_all(method: Any) -> Callable[..., None]:
    def planted(self: Any, tx: Any, commit_ts: Any) -> None:
        intents = dict(self.intents)
        method(self, tx, commit_ts)
        self.intents = intents

    return planted


def answer_all(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, sender: str, request: Any) -> Answer:
        await method(self, sender, request)
        return Answer(self.node.clock.now())

    return planted


def forget_partitions(method: Any) -> Callable[..., Any]:
    def planted(self: Any, tx: Any, reason: Any) -> Any:
        tx.participants = {}
        return method(self, tx, reason)

    return planted


def fix_early(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, tx: Any) -> Any:
        reason = await method(self, tx)
        tx.commit_ts = tx.id.begin_ts
        return reason

    return planted


def only_release(_method: Any) -> Callable[..., Any]:
    def planted(self: Any, tx: Any, _commit_ts: Any, _places: Any) -> list[Any]:
        self.release(tx)
        return []

    return planted


def send_nothing(_method: Any) -> Callable[..., None]:
    return lambda self, _local, tx, _outcome: self.release(tx)


def refuse_all(_method: Any) -> Callable[..., Any]:
    async def planted(self: Any, _sender: str, request: Any) -> NotPrimary:
        self.node.clock.update(request.sent_ts)
        return NotPrimary(self.node.clock.now())

    return planted


def as_another(method: Any) -> Callable[..., Any]:
    """What a scan of a client reads; what constraints look for has a key with every action."""

    def planted(self: Any, request: Any, local: Any) -> Any:
        if request.key is not None:
            return method(self, request, local)
        other = TxId(request.tx.begin_ts, request.tx.ordinal, "another")
        return method(self, replace(request, tx=other), local)

    return planted


def same_schema(_method: Any) -> Callable[..., Any]:
    return lambda _self, _object_id, initial, *_: (initial, None)


def one_earlier(method: Any) -> Callable[..., Any]:
    return lambda self, ts: method(self, Timestamp(ts - 1))


def first_only(method: Any) -> Callable[..., Any]:
    return lambda self, object_id, after, ts: method(self, object_id, after, ts)[:1]


def newest_only(_method: Any) -> Callable[..., Any]:
    return lambda self, object_id, _version: self.latest().by_id(object_id)


def next_one(method: Any) -> Callable[..., Any]:
    return lambda self, object_id, version: method(self, object_id, version + 1)


def refuse_early(method: Any) -> Callable[..., bool]:
    return lambda local, request, op_ts: method(local, request, Timestamp(op_ts + (20 << 16)))


def never_merge(_method: Any) -> Callable[..., None]:
    return lambda _self, _ts: None


def commit_early(method: Any) -> Callable[..., None]:
    def planted(self: Any, sender: str, index: int) -> None:
        method(self, sender, index)
        if self.commit_index < self.log.last_index:
            self._commit_to(self.log.last_index)

    return planted


def shift(number: int) -> Callable[[Any], Callable[..., Any]]:
    """The method, of whose result `number` is the difference."""

    def planted(method: Any) -> Callable[..., Any]:
        return lambda self, *given, **named: method(self, *given, **named) + number

    return planted


def nothing(_method: Any) -> Callable[..., None]:
    return lambda _self, *_given, **_named: None


def negate(method: Any) -> Callable[..., bool]:
    return lambda self, *given, **named: not method(self, *given, **named)


def of_this_node(method: Any) -> Callable[..., bool]:
    def planted(self: Any, place: Any) -> bool:
        lease = self._leases.get(place)
        return bool(method(self, place)) or (lease is not None and lease.holder == self.node.name)

    return planted


def with_expired(method: Any) -> Callable[..., Any]:
    return lambda self, place, ts: method(self, place, ts) or self._leases.get(place)


def other_way(method: Any) -> Callable[..., Any]:
    return lambda self, place: method(self, place)[::-1]


def prolong_all(_method: Any) -> Callable[..., bool]:
    return lambda _self, _lease, _now: True


def at_first_replica(method: Any) -> Callable[..., None]:
    return lambda self, place, replicas: method(self, place, replicas[:1])


def to_last_only(method: Any) -> Callable[..., None]:
    def planted(self: Any, ts: Any) -> None:
        waiters, self._waiters = self._waiters, self._waiters[-1:]
        method(self, ts)
        self._waiters = waiters[:-1] + self._waiters

    return planted


def without_waiting(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, *given: Any) -> None:
        if self.node.spread("planted", 2):
            await method(self, *given)

    return planted


def first_lease_only(method: Any) -> Callable[..., None]:
    def planted(self: Any, update: Any) -> None:
        method(self, type(update)(update.expected, update.leases[:1]))

    return planted


def silent_install(method: Any) -> Callable[..., Any]:
    return lambda self: replace(method(self), joined=(), results=())


def give_up(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, request: Any, *given: Any, **named: Any) -> Any:
        found = await method(self, request, *given, **named)
        return None if found is Reason.LOCK_CONFLICT else found

    return planted


def one_lock(method: Any) -> Callable[..., Any]:
    return lambda self, request, wanted: method(self, request, wanted[-1:])


def later_version(_method: Any) -> Callable[..., Any]:
    return lambda _self, _local, command, _stamp: replace(command, version=command.version + 1)


def longer_delay(method: Any) -> Callable[..., Any]:
    def planted(self: Any, command: Any) -> Any:
        found = method(self, command)
        delay_ms = getattr(found, "delay_duration_ms", None)
        return found if delay_ms is None else replace(found, delay_duration_ms=delay_ms + 1)

    return planted


def accept_all(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, sender: str, request: Any) -> Any:
        answer = await method(self, sender, request)
        return replace(answer, accepted=True) if isinstance(answer, Submitted) else answer

    return planted


def three_times(_method: Any) -> Callable[..., int]:
    return lambda settings, _tries: settings.resend_us * 3


def later_read(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, sender: str, request: Any) -> Any:
        answer = await method(self, sender, request)
        return answer if answer is None else replace(answer, op_ts=answer.op_ts + 1)

    return planted


def older_version(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, local: Any, request: Any, key: Any) -> Any:
        found = await method(self, local, request, key)
        versions = local.machine.rows.get(key, ())
        return ("another", 1, None) if len(versions) > 1 else found

    return planted


def nowhere(_method: Any) -> Callable[..., Any]:
    async def planted(self: Any, tx: Any, request: Any, enlistment: Any, _partitions: Any) -> Any:
        return self._gathered(tx, request, enlistment, [])

    return planted


def cleans_only(_method: Any) -> Callable[..., Any]:
    async def planted(self: Any, _local: Any, tx: Any, ts: Any, places: Any, cleaning: Any) -> None:
        await self._end_cleaning(tx, cleaning)
        if places:
            await self.clean_up_at(places, tx, ts)

    return planted


def rows_alone(method: Any) -> Callable[..., Any]:
    """The keys of intents that have no committed row are left out of a scan."""

    async def planted(self: Any, sender: str, request: Any) -> Any:
        machine = self.replicas.at((request.table_id, request.partition)).machine
        seen = self._seen

        async def looked(local: Any, asked: Any, key: Any) -> Any:
            known = key in machine.rows or asked.action != "scan"
            return await seen(local, asked, key) if known else NOTHING

        self._seen = looked
        try:
            return await method(self, sender, request)
        finally:
            self.__dict__.pop("_seen", None)  # another read has taken it away, perhaps

    return planted


def never(_method: Any) -> Callable[..., bool]:
    return lambda *_given: False


PLANTED: dict[str, tuple[Any, str, Callable[[Any], Any], str]] = {
    "grants what it must refuse": (LockTable, "acquire", grant_all, "locks"),
    "stores another version": (Partition, "_put", commit_later, "partition"),
    "keeps intents": (Partition, "end", keep_all, "partition"),
    "merges no timestamp": (HybridClock, "update", never_merge, "rules"),
    "answers no append": (Replication, "_take_append", without(AppendReply), "member"),
    "answers no vote": (Member, "_take_request", without(VoteReply), "member"),
    "sends no heartbeat": (Member, "heartbeat", without(AppendEntries), "member"),
    "commits too early": (Replication, "_matches", commit_early, "member"),
    "asks to go back too far": (Replication, "_refuse", nothing, "member"),
    "hands over too early": (Member, "is_level", negate, "member"),
    "counts another majority": (Group, "_majority_heard_us", shift(1000), "group"),
    "hears a leader for longer": (Group, "_hears_leader", lambda _m: lambda _s: True, "group"),
    "sends nothing again": (Group, "_arm_resend", nothing, "group"),
    "never ends its leases": (Leases, "held", of_this_node, "leases"),
    "uses expired leases": (Leases, "valid_at", with_expired, "leases"),
    "turns replicas round": (Placement, "replicas_of", other_way, "placement"),
    "prolongs every lease": (PlacementDriver, "_deserves", prolong_all, "placement driver"),
    "asks one replica": (PlacementDriver, "_find_holder", at_first_replica, "placement driver"),
    "takes one lease of several": (Application, "_take_leases", first_lease_only, "meta storage"),
    "forgets who joined": (Application, "snapshot", silent_install, "meta storage"),
    "wakes no waiter": (Application, "_wake_version_waiters", nothing, "meta storage"),
    "wakes the last waiter": (SchemaSync, "advance_safe_time", to_last_only, "safe time"),
    "subtracts too much": (
        SchemaSync,
        "needed_for",
        lambda _m: lambda _s, ts: (ts, ts),
        "safe time",
    ),
    "ticks no more": (SafeTimeTicker, "arm", nothing, "idle commands"),
    "puts another DD into the log": (MetaStorage, "_with_delay", longer_delay, "submissions"),
    "says that all took effect": (MetaStorage, "_on_submit", accept_all, "submissions"),
    "waits longer for an answer": (metastorage, "resend_delay", three_times, "submissions"),
    "writes no lease": (PlacementDriver, "_still_needed", negate, "placement driver"),
    "reads at a later time": (Readers, "read", later_read, "readers"),
    "calls no listener": (Application, "_apply_to_catalog", nothing, "meta storage"),
    "compacts nothing": (Group, "_compact", nothing, "group"),
    "awaits nothing": (ReplicaManager, "safe_time_reaches", without_waiting, "replicas"),
    "keeps no lease": (ReplicaManager, "see_lease", nothing, "replicas"),
    "appends another write": (ReplicaManager, "_validated", later_version, "replicas"),
    "goes on when refused": (LockWaits, "_wait_for", give_up, "lock waits"),
    "takes the last lock only": (LockWaits, "locked", one_lock, "lock waits"),
    "probes no coordinator": (LockWaits, "_probe_blockers", nothing, "lock waits"),
    "shows another version": (Readers, "_seen", older_version, "readers"),
    "reads too early": (Readers, "_complete", without_waiting, "readers"),
    "executes a read nowhere": (Coordinator, "_read_only", nowhere, "coordinator"),
    "writes in two phases": (Coordinator, "_goes_in_one_phase", never, "coordinator"),
    "answers every commit": (Coordinator, "commit", answer_all, "coordinator"),
    "cleans up nothing": (TransactionCompletion, "abort", forget_partitions, "coordinator"),
    "commits at its begin": (TransactionCompletion, "_fix_commit_ts", fix_early, "coordinator"),
    "confirms and ends nothing": (Participant, "_begin_cleaning", only_release, "participant"),
    "keeps outcomes for ever": (Participant, "_send_outcome_on", cleans_only, "participant"),
    "scans rows alone": (Readers, "read", rows_alone, "readers"),
    "sends no outcome": (Participant, "_send_outcome", send_nothing, "participant"),
    "refuses every recovery": (Participant, "recover", refuse_all, "participant"),
    "scans what is committed": (Executor, "seen", as_another, "operations"),
    "executes on any schema": (replica.Replica, "_judged", same_schema, "operations"),
    "refuses before the end of a lease": (replica, "serves", refuse_early, "operations"),
    "looks up one earlier": (Catalog, "at", one_earlier, "catalog"),
    "takes one step for all": (Catalog, "steps", first_only, "catalog"),
    "forgets definitions": (Catalog, "definition", newest_only, "catalog"),
    "takes the next activation": (Catalog, "activation_of_object", next_one, "catalog"),
}
SHOWN_IN = {"scans what is committed": 14, "refuses before the end of a lease": 5}
"""Worlds that show a fault which the shorter ones do not."""


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, fault, part = PLANTED[name]
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    if part == "participant":  # what is compared before the run sees some of these, too
        monkeypatch.setattr("ddlsim.cluster.models.parts.compare_news", lambda *_: None)
    if part == "leases":
        monkeypatch.setattr("ddlsim.cluster.models.parts.walk_routes", lambda *_: None)
    for beside in ("compare_leases", "compare_majorities", "compare_states"):
        monkeypatch.setattr(f"ddlsim.cluster.models.parts.{beside}", lambda *_: None)
    shown = [SHOWN_IN[name]] if name in SHOWN_IN else []
    assert first_part(monkeypatch, *shown) == part


def test_a_difference_is_a_violation_of_i12(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HybridClock, "update", never_merge(None))
    history = next(one for one in map(run, map(plan_of, SEEDS)) if differences(one))
    kinds = [one.kind for one in judge(history).violations if one.invariant == "I12"]
    assert "clock-diverged" in kinds
