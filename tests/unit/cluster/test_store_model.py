"""The model of the key-value store: planted faults are seen, the store as it is has none."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from ddlsim.cluster.run import run
from ddlsim.cluster.store_models.store import does_as_promised
from ddlsim.cluster.store_models.store_states import States
from ddlsim.fdb.conflicts import ConflictWindow
from ddlsim.fdb.connection import Connection
from ddlsim.fdb.grv import Grv
from ddlsim.fdb.keys import pack
from ddlsim.fdb.local_state import LocalState
from ddlsim.fdb.messages import ADD, CLEAR, SET, Commit, Failed, Got, Mutation, Range
from ddlsim.fdb.proxy import Proxy
from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.storage import Storage
from ddlsim.fdb.store import Store
from ddlsim.history.world_events import PartDiverged
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.scenario.scenario import read

pytestmark = pytest.mark.slow

A, B, C = (pack((name,)) for name in "abc")
WORLD = """
[strategy]
name = "c16_safe"

[protocol]
tx_timeout_ms = 100
operation_timeout_ms = 200

[cluster]
plane = "fdb"
nodes = 3

[fdb]
proxies = 2
resolvers = 2
logs = 2
storages = 2
versions_per_second = 100_000
idle_commit_ms = 5
request_ms = 20
ping_ms = 20
ping_timeout_ms = 50
recovery_jump = 1_000_000

[network]
latency_ms = 0.2
loss = 0.003

[run]
load_ms = 150

[schema]
sql = "CREATE TABLE a (id INT PRIMARY KEY, v INT); CREATE TABLE b (id INT PRIMARY KEY, v INT)"

[[workload]]
name = "mixed"
clients = 16
operations = 16
transaction_operations = [2, 4]
keys = 3
gap_ms = [0, 3]
pause_ms = [0, 5]
long = 0.1
long_gap_ms = [5, 15]
scan = 10

[[workload]]
name = "ddl_mix"
clients = 1
operations = 10
drop_table = 4
pause_ms = [0, 10]

[[faults]]
name = "crash"
node = "proxy1"
from_ms = 60
for_ms = 20

[[faults]]
name = "partition"
shape = "one_node"
node = "log2"
from_ms = 100
for_ms = 20
"""


def planned() -> Plan:
    return plan(read(WORLD, "world"), 1, models=True)


def differences(one: Plan) -> list[str]:
    """What the model of the whole store records: those of its processes have other parts."""
    return [event.what for event in run(one).of(PartDiverged) if event.part == "store"]


# --- states ---------------------------------------------------------------------------------------


def committed(
    read_version: int,
    *mutations: Mutation,
    reads: tuple[Range, ...] = (),
    writes: tuple[Range, ...] = (),
    pasts: tuple[tuple[bytes, int], ...] = (),
    bump: bool = False,
) -> Commit:
    return Commit(0, read_version, reads, writes, mutations, pasts, (), bump)


def test_states_are_those_of_the_transactions_in_their_order() -> None:
    states = States(
        {A: 1},
        [
            (30, committed(0, (CLEAR, A, C))),
            (10, committed(0, (ADD, A, 2), (SET, B, "b"), (ADD, C, 5))),
            (20, committed(0, (SET, B, None), bump=True)),
        ],
    )
    assert [states.at(A, version) for version in (9, 10, 29, 30)] == [1, 3, 3, None]
    assert states.within(A, C, 10) == [(A, 3), (B, "b")]
    assert states.within(A, C, 20) == [(A, 3)]
    assert states.within(A, C + b"\x00", 30) == [(C, 5)]
    assert [states.bumped_at(version) for version in (19, 20)] == [0, 20]


@pytest.mark.parametrize(
    ("reader", "expected"),
    [
        (committed(5, reads=(B,)), (B, 10)),
        (committed(10, reads=(B,)), None),
        (committed(5, reads=((A, C),)), ((A, C), 10)),
        (committed(10, reads=((A, B),)), ((A, B), 20)),
        (committed(20, reads=(A, B)), None),
        (committed(20, pasts=((A, 10),)), (A, 20)),
    ],
)
def test_what_was_read_and_written_meanwhile_is_a_conflict(
    reader: Commit, expected: tuple[Range, int] | None
) -> None:
    writes = [(10, committed(0, writes=(B,))), (20, committed(0, writes=((A, B),)))]
    later = (40, committed(0, writes=(A, B, C)))
    assert States({}, [*writes, (30, reader), later]).conflict(30) == expected


# --- planted faults -------------------------------------------------------------------------------


class Planted(NamedTuple):
    """A fault: the method that it replaces, and words of what is then found."""

    owner: type
    method: str
    fault: Callable[[Any], Any]
    words: str


def blind(_method: Any) -> Any:
    return lambda _self, _reads, _since: False


def of_now(_method: Any) -> Any:
    async def planted(self: Any, _sender: str, request: Any) -> Got | Failed:
        failed: Failed | None = await self._unreadable(request.version)
        return failed or Got(self._store.latest(request.key))

    return planted


def older(method: Any) -> Any:
    async def planted(self: Any, *given: Any) -> Any:
        version = await method(self, *given)
        known, self.kept = getattr(self, "kept", version), version
        return known

    return planted


def unbumped(method: Any) -> Any:
    def planted(self: LocalState, change: Any) -> bool:
        return bool(method(self, replace(change, bump=False)))

    return planted


def first_shard(method: Any) -> Any:
    return lambda self, mutation: list(method(self, mutation))[1:]


def kept(_method: Any) -> Any:
    return lambda _self, _version, _begin, _end, _keys: None


PLANTED = {
    "a resolver finds no conflict": Planted(ConflictWindow, "_conflicts", blind, "has committed"),
    "a storage server reads the newest value": Planted(Storage, "get", of_now, " read "),
    "a version of before is given": Planted(Grv, "read_version", older, "before it asked"),
    "the metadata version stays": Planted(LocalState, "apply", unbumped, "metadata version"),
    "a proxy logs nothing": Planted(Proxy, "_shares_of", first_shard, " read "),
    "ranges are not cleared": Planted(Store, "_clear", kept, " holds "),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, fault, words = PLANTED[name]
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    (found,) = differences(planned())
    assert words in found


def forgets_its_commits(method: Any) -> Any:
    async def planted(self: Connection, *given: Any) -> Any:
        kept = self._cache
        outcome = await method(self, *given)
        self._cache = kept
        return outcome

    return planted


@pytest.mark.parametrize("forgets", [False, True])
def test_a_cached_version_below_an_own_commit_is_seen(
    forgets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if forgets:
        monkeypatch.setattr(Connection, "commit", forgets_its_commits(Connection.commit))
    options = 'name = "c16_safe"\noptions = "CACHED_READ_VERSION"'
    cached = read(WORLD.replace('name = "c16_safe"', options), "world")
    found = differences(plan(cached, 1, models=True))
    assert [" was known before it asked" in one for one in found] == [True] * forgets


def test_the_store_has_no_difference_and_runs_as_without_a_model() -> None:
    with_model = run(planned())
    assert not list(with_model.of(PartDiverged))
    without = run(replace(planned(), models=False))
    assert with_model.fingerprint() == without.fingerprint()


def test_mistakes_that_are_switched_on_are_not_compared() -> None:
    assert does_as_promised(FdbSettings())
    assert not does_as_promised(FdbSettings(local_as_applied=True))
