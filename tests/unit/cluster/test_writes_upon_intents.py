"""A write that comes into the log upon another transaction's intent: who lets it, and who sees it.

n2 is primary and n3 leads the group. T1's write takes long to the leader, T1 is rolled back, and
its clean-up takes longer still. As long as T1's end is not in the log its lock is held, so T2 is
refused; were the lock released before, T2's intent would be replaced, and what it commits be lost.
"""

from typing import Any

import pytest

from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run
from ddlsim.history.events import Ok
from ddlsim.history.history import History
from ddlsim.plan.plan import plan
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.scenario.scenario import read
from tests.support.kept_worlds import differences

LATE = """
[[faults]]
name = "late_message"
kind = "partition-submit"
from_ms = {at}
delay_ms = {delay}
"""
STEP = """
[[step]]
id = "{id}"
client = "{client}"
tx = "{tx}"
node = "n2"
at_ms = {at}
do = {do}
"""
WORLD = """
title = "A write comes late behind its transaction's end"
expect = "ok"

[strategy]
name = "iep_closed"

[protocol]
preset = "ignite3_tests"
operation_timeout_ms = 5_000
commit_wait_ms = 5_000

[cluster]
nodes = 3
voters = 3
replicas = 3
partitions = 1

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"

[[network.links]]
from = "n2"
to = "n3"
reordering = 1.0

[[leader]]
group = "t/0"
node = "n2"

[[leader]]
group = "t/0"
node = "n3"
at_ms = 50
"""


def ran() -> History:
    """T1 writes and is rolled back, T2 writes the same row and commits."""
    steps = [
        ("w1", "c1", "T1", 200, '["put", "t", 1, { v = 1 }]'),
        ("r1", "c1", "T1", 240, '"rollback"'),
        ("w2", "c2", "T2", 260, '["put", "t", 1, { v = 2 }]'),
        ("e2", "c2", "T2", 340, '"commit"'),
    ]
    names = ("id", "client", "tx", "at", "do")
    text = WORLD + LATE.format(at=195, delay=120) + LATE.format(at=230, delay=160)
    text += "".join(STEP.format(**dict(zip(names, step, strict=True))) for step in steps)
    return run(plan(read(text, "late write"), 0, models=True))


def test_a_lock_is_held_until_the_end_of_its_transaction_is_in_the_log() -> None:
    history = ran()
    assert judge(history).violations == ()
    assert [event.op for event in history.of(Ok)] == ["w1", "r1"], "T2 is the younger one"


def test_a_write_upon_the_intent_of_another_transaction_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    method = Participant._begin_cleaning

    def released_at_once(self: Any, tx: Any, *given: Any) -> Any:
        cleaning = method(self, tx, *given)
        self.release(tx)
        return cleaning

    monkeypatch.setattr(Participant, "_begin_cleaning", released_at_once)
    history = ran()
    found = {(one.part, one.what.partition(" ")[2]) for one in differences(history)}
    assert {part for part, _ in found} == {"participant", "partition"}
    assert ("participant", "has no locks, and its write to (1, 0) is on its way") in found
    assert all("comes upon the intent" in what for part, what in found if part == "partition")
    assert "lost-write" in [one.kind for one in judge(history).violations]
