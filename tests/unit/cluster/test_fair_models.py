"""What the models took for wrong once, in worlds that were drawn, and is right; and what is not.

A node is paused in the instant in which it owes something; a transaction that wrote nothing has
committed by its coordinator, and had ended as an abort in a partition; a lease ends in the instant
in which an operation has its locks; an implicit read in the past is answered in a later attempt; a
design whose commit does not wait for its operations lets one of them write below what was read, or
be refused when its transaction has committed without it; a look of the placement driver applies
what had waited for a disk, and is followed by another one; a clock is set back in the instant in
which a commit is asked for; stamps lie below zero, of a clock that begins there.
"""

from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.exchange import Exchange
from ddlsim.cluster.models.parts import modelled
from ddlsim.cluster.models.waits import Waits
from ddlsim.cluster.run import run
from ddlsim.history.events import (
    LockWaited,
    ReadExecuted,
    TxAborted,
    TxCommitted,
    UpdateApplied,
    WriteExecuted,
)
from ddlsim.history.history import History
from ddlsim.history.world_events import LeaseBegan, PartDiverged
from ddlsim.plan.plan import plan
from ddlsim.protocol.partition.replica_manager import ReplicaManager
from ddlsim.protocol.replica_messages import PartitionSubmitted
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.protocol.transaction.lock_waits import LockWaits
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.units import MIN_TIMESTAMP
from tests.support.engine import Note, Small
from tests.support.history import ts
from tests.support.kept_worlds import differences, plan_of
from tests.support.primary import OLD, YOUNG
from tests.support.protocol import FakeNode, Loop, Wire, run_until
from tests.support.small_scenario import scenario
from tests.unit.protocol.test_lock_waits import PARTITION, operate

pytestmark = pytest.mark.slow

MS = 1000


class Port:
    """The requests of a host, as the protocol has them."""

    def __init__(self, host: Any) -> None:
        self.send, self.request = host.send, host.request


@pytest.mark.parametrize("paused", [False, True])
def test_what_a_node_owes_is_due_once_a_pause_that_cut_the_instant_is_over(paused: bool) -> None:
    small = Small()
    host, loop = small.a, small.loop
    exchange = Exchange(host, cast("Any", Port(host)), None)
    seen: list[int] = []
    exchange.on_send[Note] = [lambda _to, _note: None]
    exchange.owe(lambda: seen.append(loop.now_us))
    if paused:
        host.pause()
        loop.call_at(10 * MS, host.resume)
    for at_ms in (10, 11):
        host.call_later(at_ms * MS, exchange.send, "b", Note(at_ms))
    small.listen(small.b)
    loop.run(until_us=20 * MS)
    assert seen == [(11 if paused else 10) * MS]


@pytest.mark.parametrize("paused", [False, True])
def test_a_wait_that_a_pause_cut_off_from_what_it_waits_for_ends_with_the_pause(
    paused: bool,
) -> None:
    """The value is there, and the node is paused in that instant, until it grows again."""
    small = Small()
    host, loop = small.a, small.loop
    recorded: list[PartDiverged] = []
    models = Models(recorded.append, loop)
    models.hosts = {"a": host}
    waits = Waits(models.divergence("safe time", "a"), loop, "safe time")
    waits.begin(5)
    waits.reached(5)
    if paused:
        host.pause()
        loop.call_at(10 * MS, host.resume)
    loop.call_at(10 * MS, waits.reached, 6)
    loop.run(until_us=20 * MS)
    assert len(recorded) == (not paused)


def test_locks_that_the_end_of_a_lease_has_taken_are_not_missed() -> None:
    """In the instant in which the operation goes on; those that nothing has taken are."""
    for taken in (True, False):
        loop, recorded = Loop(), list[PartDiverged]()
        parts = modelled(Models(recorded.append, cast("Any", loop)))
        node = FakeNode("a", Wire(loop), orphan_check_ms=100)
        locks = parts.locks(node.future)
        waits = parts.lock_waits(cast("Any", node), locks, lambda _: False, lambda _: None)
        gone: list[object] = []

        async def ask(waits: LockWaits = waits, gone: list[object] = gone) -> None:
            request = operate(OLD)
            gone.append(await waits.locked(request, ((PARTITION, 4), ((1, 0, 7), 2))))

        assert locks.acquire(YOUNG, (1, 0, 7), 2) is True
        node.spawn(ask())
        run_until(loop, 5)
        locks.release_all(YOUNG)
        if taken:
            locks.release_place(1, 0)
        else:
            locks._holders[PARTITION].pop(OLD)
        run_until(loop, 6)
        assert gone == [None]
        assert len(recorded) == (not taken)


HELD_CLEANUP = """
orphan_check_ms = 40
[strategy]
name = "ignite3"
[cluster]
nodes = 3
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[leader]]
group = "t/0"
node = "n2"
[[hold]]
from = "n1"
to = "n2"
kind = "cleanup"
from_ms = 100
until_ms = 400
[[step]]
id = "r"
client = "c1"
node = "n1"
at_ms = 110
do = ["get", "t", 1]
[[step]]
id = "w"
client = "c2"
tx = "T2"
node = "n3"
at_ms = 50
do = ["get", "t", 2]
[[step]]
id = "w2"
client = "c2"
tx = "T2"
at_ms = 130
do = ["put", "t", 1]
expect = "ok"
[[step]]
id = "c2"
client = "c2"
tx = "T2"
after = "w2.ok"
do = "commit"
"""
"""T2, older, waits for what blocks it: T1 has committed, and n2 learns that it is not open."""

LATE_CATALOG = """
delay_duration_ms = 5
max_clock_skew_ms = 1
partition_idle_ms = 10
[strategy]
name = "iep_literal"
[cluster]
nodes = 3
voters = 1
replicas = 3
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[apply]]
node = "n3"
stage = "catalog"
delay_ms = 400
[[step]]
id = "d"
client = "c"
node = "n1"
at_ms = 100
ddl = "ALTER TABLE t ADD COLUMN w INT"
"""
"""A read at n3 is refused with SCHEMA_CHANGED, and tried again at another replica."""


UNDER_WAY = """
[strategy]
name = "iep_literal"
[cluster]
nodes = 2
[network]
latency_ms = 5
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[leader]]
group = "t/0"
node = "n2"
[[step]]
id = "w0"
client = "c0"
tx = "T0"
node = "n1"
at_ms = 100
do = ["put", "t", 9]
[[step]]
id = "w1"
client = "c1"
tx = "T1"
node = "n1"
at_ms = 130
do = ["put", "t", 2]
[[step]]
id = "w2"
client = "c1"
tx = "T1"
at_ms = 160
do = ["put", "t", 1]
[[step]]
id = "e1"
client = "c1"
tx = "T1"
at_ms = 160
do = "commit"
[[step]]
id = "r"
client = "c2"
node = "n2"
at_ms = 152
read_only = true
as_of_ms = 10
do = ["scan", "t"]
[[step]]
id = "e0"
client = "c0"
tx = "T0"
at_ms = 300
do = "commit"
"""
"""T1 commits at 160, and its write at 165 is of then; a scan of 162 waits for T0's outcome."""


SLOW_UNTIL_A_LOOK = """
lease_check_ms = 10
lease_duration_ms = 100
[strategy]
name = "iep"
[cluster]
nodes = 1
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[faults]]
name = "slow_disk"
node = "n1"
delay_ms = 200
from_ms = 185
for_ms = 45
[[step]]
id = "w"
client = "c"
node = "n1"
at_ms = 100
do = ["put", "t", 1]
[[step]]
id = "d"
client = "c"
node = "n1"
at_ms = 190
ddl = "ALTER TABLE t ADD COLUMN w INT"
"""
"""The update waits for the disk; at 240 that is fast again, and a lease is prolonged."""


SET_BACK = """
max_clock_skew_ms = 10
[strategy]
name = "iep"
[cluster]
nodes = 2
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[leader]]
group = "t/0"
node = "n1"
[[faults]]
name = "clock_step"
node = "n1"
by_ms = -5
stays = true
when = { moment = "before-commit-ts" }
[[step]]
id = "w"
client = "c"
tx = "T"
node = "n1"
at_ms = 100
do = ["put", "t", 1]
[[step]]
id = "e"
client = "c"
tx = "T"
at_ms = 102
do = "commit"
"""
"""n1 is asked for the commit at 102, and is set back to 97 before it takes commit_ts."""


ENDED_WITHOUT_LOCKS = """
delay_duration_ms = 30
max_clock_skew_ms = 1
operation_timeout_ms = 60
orphan_check_ms = 20
lock_retry_ms = 5
lock_retries = 40
[strategy]
name = "iep"
[cluster]
nodes = 2
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[leader]]
group = "t/0"
node = "n2"
[[hold]]
from = "n1"
to = "n2"
kind = "operate"
from_ms = 95
until_ms = 120
[[hold]]
from = "n1"
to = "n2"
kind = "cleanup"
from_ms = 355
until_ms = 500
[[step]]
id = "w"
client = "c1"
node = "n1"
at_ms = 100
do = ["put", "t", 1]
[[step]]
id = "d"
client = "c2"
node = "n2"
at_ms = 100
ddl = "ALTER TABLE t ADD COLUMN w INT"
[[step]]
id = "h"
client = "c3"
tx = "T"
node = "n2"
at_ms = 110
do = ["scan", "t"]
[[step]]
id = "s"
client = "c4"
node = "n2"
at_ms = 365
do = ["scan", "t"]
[[step]]
id = "e"
client = "c3"
tx = "T"
at_ms = 400
do = "commit"
"""
"""A copy of w is refused, w ends, and n2 learns so before the first message has any lock."""


def reads(count: int) -> str:
    return "".join(
        f'[[step]]\nid = "r{number}"\nclient = "c{number}"\nnode = "n1"\nat_ms = 200\n'
        'read_only = true\ndo = ["get", "t", 1]\nexpect = "ok"\n'
        for number in range(count)
    )


def compared(text: str, **overrides: Any) -> History:
    return run(plan(scenario(text, overrides), models=True))


def test_what_wrote_nothing_may_have_ended_as_an_abort_where_its_commit_is_confirmed() -> None:
    history = compared(HELD_CLEANUP)
    assert differences(history) == []
    assert [one.waited_us for one in history.of(LockWaited)] == [40 * MS]


def test_an_implicit_read_is_not_answered_by_what_refused_an_earlier_attempt() -> None:
    history = compared(LATE_CATALOG + reads(6))
    assert "SCHEMA_CHANGED" in {one.reason for one in history.of(TxAborted)}
    assert differences(history) == []


def test_a_scan_of_the_past_is_not_compared_with_a_write_under_way_at_its_commit() -> None:
    history = compared(UNDER_WAY)
    [late] = [one for one in history.of(WriteExecuted) if one.op == "w2"]
    [scan] = history.of(ReadExecuted)
    [commit_ts] = [one.commit_ts for one in history.of(TxCommitted) if one.tx == "T1"]
    assert commit_ts < scan.op_ts < late.op_ts
    assert differences(history) == []


def test_a_look_that_applies_an_update_is_followed_by_another_one_at_once() -> None:
    history = compared(SLOW_UNTIL_A_LOOK, idle_ticks=False)
    assert 240 * MS in {one.at_us for one in history.of(UpdateApplied)}
    assert 240 * MS in {one.at_us for one in history.of(LeaseBegan)}
    assert differences(history) == []


def test_what_waits_for_its_first_lock_is_refused_once_its_transaction_has_ended() -> None:
    history = compared(ENDED_WITHOUT_LOCKS)
    assert [one.reason for one in history.of(TxAborted) if one.tx == "w"] == ["SCHEMA_CHANGED"]
    assert differences(history) == []


def stamps_at(commit_ts: int, method: Any) -> Callable[..., Any]:
    async def planted(self: Any, tx: Any) -> Any:
        reason = await method(self, tx)
        tx.commit_ts = commit_ts
        return reason

    return planted


def test_a_clock_that_is_set_back_as_a_commit_is_asked_for_stamps_it_below_what_it_showed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    history = compared(SET_BACK)
    [committed] = history.of(TxCommitted)
    assert committed.commit_ts < ts(102)
    assert differences(history) == []
    planted = stamps_at(ts(100) + 1000, TransactionCompletion._fix_commit_ts)
    monkeypatch.setattr(TransactionCompletion, "_fix_commit_ts", planted)
    [found] = differences(compared(SET_BACK.replace("by_ms = -5", "by_ms = 5")))
    assert "when the clock had shown more before" in found.what


BELOW_ZERO = """
[strategy]
name = "iep_literal"
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[clocks]
nodes = { n2 = { offset_ms = -40 }, n3 = { offset_ms = -40 } }
[cluster]
replicas = 2
[network]
latency_ms = 1
client_latency_ms = 1
[[faults]]
name = "leader_transfer"
group = "t/0"
[[step]]
client = "c1"
node = "n3"
at_ms = 0
id = "w1"
do = ["delete", "t", 1]
"""


def without_its_stamp(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, sender: str, request: Any) -> PartitionSubmitted:
        return replace(await method(self, sender, request), stamp=MIN_TIMESTAMP)

    return planted


def test_a_stamp_below_zero_is_a_stamp_and_one_that_is_missing_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert differences(compared(BELOW_ZERO)) == []
    fault = without_its_stamp(ReplicaManager._on_submit)
    monkeypatch.setattr(ReplicaManager, "_on_submit", fault)
    assert "has a stamp that no command has" in differences(compared(BELOW_ZERO))[0].what


def drops_what_it_confirms(method: Any) -> Callable[..., Any]:
    return lambda self, tx, _commit_ts, places: method(self, tx, None, places)


def test_an_intent_that_is_dropped_and_confirmed_as_committed_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = drops_what_it_confirms(Participant._begin_cleaning)
    monkeypatch.setattr(Participant, "_begin_cleaning", fault)
    found = [one.what for one in differences(run(plan_of(5)))]
    assert any("ended as None, confirmed" in what for what in found)
