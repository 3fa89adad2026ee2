"""The model of a coordinator: when a commit that waits for its writes must have asked for them.

Every `resend_ms`, and not while its node is paused, nor once there is a reason to abort: a lease is
over, an operation was refused, a write is lost.
"""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ddlsim.cluster.models.transaction.coordinated import Open
from ddlsim.cluster.models.transaction.coordinator import CoordinatorModel
from ddlsim.history.events import TxAborted
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.units import Timestamp
from tests.unit.cluster.test_fair_models import compared
from tests.unit.cluster.test_models import differences

WORLD = """
delay_duration_ms = 5
max_clock_skew_ms = 1
resend_ms = 20
operation_timeout_ms = 100
lease_duration_ms = 80
lease_check_ms = 10
[strategy]
name = "iep"
[cluster]
nodes = 3
replicas = 3
[network]
latency_ms = 1
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE u (id INT PRIMARY KEY)"
[[leader]]
group = "t/0"
node = "n2"
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
after = "w.ok"
do = "commit"
"""
"""n2 leads the group of t and is its primary; n1 coordinates."""

PAUSED = """
[[faults]]
name = "pause"
node = "n1"
from_ms = 105
for_ms = 60
"""
"""The report comes within the pause, before the commit asks for it."""

REPORTED_LATE = """
[[hold]]
from = "n2"
to = "n1"
kind = "replicated"
from_ms = 100
until_ms = 400
[[pause]]
node = "n1"
point = "before-commit-ts"
tx = "T"
until_ms = 500
"""
"""The report comes while the commit is stopped, after it has waited."""

LEASE_OVER = """
[[faults]]
name = "lease_loss"
place = "t/0"
from_ms = 101
for_ms = 100
"""

REFUSED = """
[[step]]
id = "q"
client = "c"
node = "n1"
at_ms = 50
do = "SELECT * FROM u"
[[step]]
id = "r"
client = "c"
tx = "T"
at_ms = 200
do = "SELECT id, none FROM u WHERE id = 1"
misfit = true
"""
"""The column is not there: the coordinator refuses the operation, and has sent it to no primary."""


WORLDS = {
    "paused": (WORLD + PAUSED, []),
    "the lease is over": (WORLD + REPORTED_LATE + LEASE_OVER, ["PRIMARY_EXPIRED"]),
    "an operation is refused": (
        WORLD.replace('after = "w.ok"', "at_ms = 201") + REPORTED_LATE + REFUSED,
        ["COLUMN_NOT_FOUND"],
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_a_commit_asks_for_no_write_where_it_is_not_due(name: str) -> None:
    world, reasons = WORLDS[name]
    history = compared(world)
    assert [one.reason for one in history.of(TxAborted)] == reasons
    assert differences(history) == []


def test_a_commit_that_asks_for_no_write_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = compared(WORLD + REPORTED_LATE)
    assert asked.probes["replication-awaited"] > 10
    assert differences(asked) == []
    monkeypatch.setattr(TransactionCompletion, "_ask_again", lambda _self, _tx, _idle: None)
    [silent] = differences(compared(WORLD + REPORTED_LATE))
    assert silent.what == "T waits for ['w'] and has not asked since 104000"


class Waiting(CoordinatorModel):
    """The model of a coordinator whose transaction T waits for a second write for 9 seconds."""

    def __init__(self, reason: Reason | None) -> None:
        self.said: list[str] = []
        tx = Open(TxId(Timestamp(1), 1, "T"))
        tx.early["second"] = None
        tx.replicated["first"] = reason
        self._commit_us, self._operations, self._waits = {"T": 0}, {}, True
        self._loop = cast("Any", SimpleNamespace(now_us=9_000_000))
        self._settings = cast("Any", SimpleNamespace(resend_us=20_000))
        self._divergence = cast("Any", SimpleNamespace(resumed_us=lambda: -1))
        self._compare_patience(tx)

    def _wrong(self, what: str) -> None:
        self.said.append(what)


def test_a_commit_does_not_wait_once_a_write_of_it_is_lost() -> None:
    assert Waiting(None).said == ["T waits for ['second'] and has not asked since 0"]
    assert Waiting(Reason.PRIMARY_EXPIRED).said == []
