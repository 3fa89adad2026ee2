"""Models of what comes late: answers of nodes behind the log, checks, leases and numbers.

Each rule sees a planted fault, and nothing without it.
"""

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ddlsim.cluster.models.design.late_rules import Known, busy_leader
from ddlsim.cluster.models.metastorage.driver import ModelledDriver
from ddlsim.cluster.models.metastorage.submissions import ToPartitions
from ddlsim.cluster.models.schema import samples
from ddlsim.cluster.models.transaction.operations import ModelledReplica
from ddlsim.cluster.models.transaction.participant import ModelledParticipant
from ddlsim.model.ddl import AlterColumn, AlterTable, DropTable
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import Outcome, SafeTimeSync
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.metastorage.placement_driver import PlacementDriver
from ddlsim.protocol.replica_messages import PartitionSubmit
from ddlsim.protocol.schema import rows
from ddlsim.protocol.schema.column_types import longest_text
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.units import Timestamp

FIXED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE", "BOOLEAN", "DATE", "UUID")
"""Types whose longest text does not depend on a length or precision."""


class Waits:
    """Is waited for until the coroutine is sent on."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Seen(list[str]):
    """What was found, in the place of a part's differences."""

    is_known = False

    def found(self, what: str) -> None:
        self.append(what)

    def resumed_us(self, _node: str) -> int:
        return -1

    def is_resumed(self, _node: str | None = None) -> bool:
        return False


def ended(work: Any) -> Any:
    """The value of a coroutine that waits for nothing."""
    with pytest.raises(StopIteration) as end:
        work.send(None)
    return end.value.value


@pytest.mark.parametrize(("last_us", "found"), [(49, 0), (50, 1)])
def test_a_busy_leader_is_not_tried_again_behind_its_time(last_us: int, found: int) -> None:
    watch = SimpleNamespace(now_us=10)
    settings = SimpleNamespace(busy_leader_us=50, resend_us=5)
    node = SimpleNamespace(name="n", watch=watch, settings=settings)

    async def commit() -> None:
        return None

    write = SimpleNamespace(node=node, op_ts=1, began_us=0, commit=commit)

    async def rule(asked: Any) -> Any:
        watch.now_us = last_us
        await asked.commit()
        return SimpleNamespace(reason=Reason.METADATA_LATE)

    seen = Seen()
    ended(busy_leader(rule, cast("Any", seen))(write))
    assert len(seen) == found


@pytest.mark.parametrize(("rests_on", "found"), [(30, 0), (20, 1)])
def test_a_refusal_rests_on_the_newest_version(rests_on: int, found: int) -> None:
    newest = SimpleNamespace(version=3, activation_ts=30)
    node = SimpleNamespace(watch=SimpleNamespace(now_us=1))
    change = SimpleNamespace(node=node, catalog=SimpleNamespace(latest=lambda: newest))
    seen = Seen()
    known = Known(cast("Any", seen))
    known.complete(cast("Any", change))
    assert known.acknowledged(lambda ts, _skew: ts)(rests_on, 5) == rests_on
    known.acknowledged(lambda ts, _skew: ts)(10, 5)  # of another statement, which was installed
    assert len(seen) == found


@pytest.mark.parametrize(("op_ts", "now_us", "found"), [(9, 5, 0), (8, 5, 1), (9, 6, 1)])
def test_an_operation_runs_in_the_instant_of_its_last_check(
    op_ts: int, now_us: int, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def executed(*_: Any) -> None:
        return None

    monkeypatch.setattr(Replica, "_execute", executed)
    replica, seen = cast("Any", object.__new__(ModelledReplica)), Seen()
    request = SimpleNamespace(op="o", action="get")
    when = SimpleNamespace(after_locks=True, only_with_rows=False)
    replica.strategy = SimpleNamespace(check_operation_when=when)
    replica.node = SimpleNamespace(watch=SimpleNamespace(now_us=now_us))
    replica._divergence, replica._last_check = seen, (request, 9, 5)
    ended(replica._execute("n", request, None, None, op_ts))
    assert len(seen) == found


@pytest.mark.parametrize("kept", [0, 1])
def test_a_lease_that_is_over_leaves_no_write_on_its_way(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, own = (1, 0), SimpleNamespace(pending={}, at_once={})

    def changed(_self: Any, _before: Any, _lease: Any) -> None:
        own.at_once.clear()
        if not kept:
            own.pending.clear()

    monkeypatch.setattr(Replica, "_lease_changed", changed)
    replica, seen = cast("Any", object.__new__(ModelledReplica)), Seen()
    replica.node, replica._divergence = SimpleNamespace(name="a"), seen
    replica.replicas = SimpleNamespace(members={place: own})
    replica.locks = SimpleNamespace(involved=lambda: ())
    before = Lease(place, "a", Timestamp(1), Timestamp(20))
    replica._lease_changed(before, Lease(place, "b", Timestamp(40), Timestamp(60)))
    assert (len(seen), own.pending) == (kept, {})


@pytest.mark.parametrize("kept", [0, 1])
def test_what_has_ended_leaves_no_intent_in_any_replica(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tx, places = TxId(Timestamp(10), 0, "T"), ((1, 0), (1, 1))
    members = {
        place: SimpleNamespace(machine=SimpleNamespace(ended={}, open_transactions=(tx,)))
        for place in places
    }

    async def found(*_: Any) -> Outcome:
        return Outcome(None, ())

    async def resolve(self: Any, tx: TxId, commit_place: Any) -> None:
        await self.resolved(tx, commit_place)
        for place in places[kept:]:
            members[place].machine.ended[tx] = None

    monkeypatch.setattr(Participant, "resolved", found)
    monkeypatch.setattr(Participant, "_resolve", resolve)
    part, seen = cast("Any", object.__new__(ModelledParticipant)), Seen()
    part.replicas, part._wrong = SimpleNamespace(members=members), seen.append
    part._left, part._looks = None, {tx: [SimpleNamespace()]}
    ended(part._resolve(tx, places[0]))
    assert len(seen) == kept


def test_what_another_look_finds_to_have_ended_binds_no_look_that_finds_it_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`run --swarm --seed 200 --strategy ignite_index`: a reader asks the commit partition."""
    tx, place = TxId(Timestamp(10), 0, "T"), (1, 0)
    machine = SimpleNamespace(ended={}, open_transactions=(tx,))

    async def found(_self: Any, _tx: TxId, _place: Any, read_ts: Any = None) -> Outcome | None:
        return None if read_ts is None else Outcome(None, ())

    async def resolve(self: Any, tx: TxId, commit_place: Any) -> None:
        assert await self.resolved(tx, commit_place) is None
        assert await self.resolved(tx, commit_place, Timestamp(9)) == Outcome(None, ())

    monkeypatch.setattr(Participant, "resolved", found)
    monkeypatch.setattr(Participant, "_resolve", resolve)
    part, seen = cast("Any", object.__new__(ModelledParticipant)), Seen()
    part.replicas = SimpleNamespace(members={place: SimpleNamespace(machine=machine)})
    part._wrong, part._left, part._looks = seen.append, None, {tx: [SimpleNamespace()]}
    ended(part._resolve(tx, place))
    assert seen == []


def test_a_write_that_comes_between_two_that_end_its_transaction_is_left_to_the_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`run --swarm --seed 9194 --strategy iep_closed`: the first has not looked at its replica."""
    tx, places = TxId(Timestamp(10), 0, "T"), ((1, 0), (1, 1))
    early = SimpleNamespace(ended={}, open_transactions=(tx,))
    late = SimpleNamespace(ended={}, open_transactions=())
    members = {
        p: SimpleNamespace(machine=one) for p, one in zip(places, (early, late), strict=True)
    }
    begun: list[object] = []

    async def found(*_: Any) -> Outcome:
        return Outcome(None, ())

    async def resolve(self: Any, tx: TxId, commit_place: Any) -> None:
        await self.resolved(tx, commit_place)
        left = [one for one in (early, late) if one.open_transactions]
        begun.append(left)
        if len(begun) == 1:
            late.open_transactions = (tx,)
            second.send(None)
        else:
            await Waits()
        for one in left:
            one.ended[tx] = None

    monkeypatch.setattr(Participant, "resolved", found)
    monkeypatch.setattr(Participant, "_resolve", resolve)
    part, seen = cast("Any", object.__new__(ModelledParticipant)), Seen()
    part.replicas, part._wrong = SimpleNamespace(members=members), seen.append
    part._left, part._looks = None, {tx: [SimpleNamespace()]}
    second = part._resolve(tx, places[0])
    ended(part._resolve(tx, places[0]))
    assert (seen, late.ended) == ([], {})
    ended(second)
    assert (seen, [*late.ended]) == ([], [tx])


@pytest.mark.parametrize(("by", "found"), [(0, 0), (1, 1)])
def test_a_number_of_a_submission_is_not_used_again(by: int, found: int) -> None:
    submitted: dict[tuple[str, int], object] = {}
    seen, command = Seen(), SafeTimeSync()
    settings = SimpleNamespace(resend_us=1, retry_us=0, operation_timeout_us=9)
    group: Any = SimpleNamespace(is_leader=False, leader="b")
    for each in (command, command if not by else SimpleNamespace()):  # each in a life of its own
        node: Any = SimpleNamespace(name="a", settings=settings, watch=SimpleNamespace(now_us=1))
        node.call_later, node.request = None, lambda *_: SimpleNamespace(value=None)
        ports = ToPartitions(node, lambda _place: group, cast("Any", seen), submitted)
        message = PartitionSubmit(Timestamp(1), (1, 0), cast("Any", each), 7)
        ports.request("b", message, cast("Any", 2))
    assert len(seen) == found


@pytest.mark.parametrize("behind_ts", [0, 1])
def test_a_lease_begins_once_the_one_before_is_over(
    behind_ts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def needed(self: Any, granted: Lease) -> bool:
        last = self._leases.of(granted.place)
        return bool(last.expiration_ts < granted.start_ts + behind_ts)

    monkeypatch.setattr(PlacementDriver, "_still_needed", needed)
    driver, seen = cast("Any", object.__new__(ModelledDriver)), Seen()
    last = Lease((1, 0), "a", Timestamp(1), Timestamp(20))
    driver._leases = SimpleNamespace(of=lambda _place: last)
    driver._strategy = SimpleNamespace(lease_outdated_ts=lambda ts, _skew: ts)
    driver.node = SimpleNamespace(settings=SimpleNamespace(max_clock_skew_ms=0))
    driver._divergence = seen
    driver._still_needed(Lease((1, 0), "b", Timestamp(40), Timestamp(60)))
    assert len(seen) == behind_ts


def test_types_are_changed_beside_the_first_statement() -> None:
    changes = [
        one.actions[0]
        for ts in range(20)
        for one in list(samples.beside(DropTable("t"), ts, 1))[samples.COUNT :]
        if isinstance(one, AlterTable)
    ]
    assert len(changes) == 20 * samples.RETYPED
    types = {column.name: column.type for column in samples.catalog().tables()[0].columns}
    scales = [
        ((types[one.name].scale or 0), (one.type.scale or 0))
        for one in changes
        if isinstance(one, AlterColumn) and one.type and one.type.name == "DECIMAL"
        if types[one.name].name == "DECIMAL"
    ]
    assert any(before < after for before, after in scales)


def test_types_are_changed_to_text_that_just_holds_them_or_lacks_one_character() -> None:
    """Of each type, in some of sixty worlds."""
    table = samples.catalog().tables()[0]
    types = {column.name: column.type for column in table.columns}
    missed: dict[str, set[int]] = {str(one): {0, 1} for one in types.values() if one.name in FIXED}
    for ts in range(60):
        for one in list(samples.beside(DropTable("t"), ts, 1))[samples.COUNT :]:
            (change,) = cast("Any", one).actions
            before, after = types[change.name], change.type
            if before.name in FIXED and after.name == "VARCHAR" and after.length is not None:
                missed[str(before)].discard(longest_text(before) - after.length)
    assert len(missed) == len(FIXED)
    assert not any(missed.values())


def test_a_default_is_shown_in_the_type_of_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not, or it is."""

    def misread() -> int:
        built = (
            build(one, samples.catalog(), samples.catalog().next_object_id)
            for number in range(60)
            for one in [samples.Sample(number).retyped()]
        )
        steps = [step for one in built if isinstance(one, Built) for step in one.objects]
        return sum(len(samples.misread(step)) for step in steps)

    assert misread() == 0
    monkeypatch.setattr(rows, "shown_as", lambda value, _type: value)
    assert misread() > 0
