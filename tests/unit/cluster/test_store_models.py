"""The models of the store's processes see what is planted in them, and nothing without a plant."""

from collections.abc import Iterator
from typing import Any

import pytest

from ddlsim.cluster import fdb_cluster
from ddlsim.cluster.run import run
from ddlsim.cluster.store_models import proxies
from ddlsim.fdb import proxy, storage
from ddlsim.fdb.conflicts import ConflictWindow
from ddlsim.fdb.controller import Controller, members
from ddlsim.fdb.grv import Grv
from ddlsim.fdb.log import Log
from ddlsim.fdb.membership import Chain, Process
from ddlsim.fdb.messages import GetCommitted, Lock, Ping, Pong, Pop
from ddlsim.fdb.sequencer import Sequencer
from ddlsim.fdb.storage import Storage
from ddlsim.fdb.store import Store
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import SimulationCrashed
from ddlsim.model.ports import NO_REPLY
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import read

pytestmark = pytest.mark.slow


def differences(seed: int, design: str = "c16_safe") -> Iterator[PartDiverged]:
    """What the models record in a drawn world; a world that crashes has none."""
    source = swarm.source_of(None, {"strategy.name": design})
    try:
        history = run(plan(swarm.scenario(source, seed), seed, models=True))
    except SimulationCrashed:
        return
    yield from (event for event in history.events if isinstance(event, PartDiverged))


def no_wake_up(self: Log) -> None:
    self._peeks = []


def never_waits(self: Chain) -> None:
    """The batches that wait are left alone."""


def forgets_all(self: Log, sender: str, request: Pop) -> None:
    self._disk.popped[sender] = request.version
    self._disk.entries.clear()


def stands_still(self: Sequencer) -> int:
    return self._base


def overlooks_ranges(self: ConflictWindow, *_: object) -> bool:
    return False


def keeps_all(self: Store, oldest: int) -> None:
    """Nothing leaves the window."""


def expires_never(self: Grv, asked: int) -> None:
    """The word of the logs goes on to count."""


async def asks_on(self: Process, _number: int, to: str, request: Any) -> Any:
    answer = NO_REPLY
    while answer is NO_REPLY:
        await self.node.sleep(self._retry_us)
        answer = await self.node.request(to, request, self._request_us)
    return answer


def never_ends(future: object) -> None:
    """The wait for a version goes on."""


async def all_of_them(self: Controller) -> list[tuple[str, str]]:
    return list(self.config.transactional)


async def none_in_a_row(self: Controller, names: Any, request: Any) -> bool:
    await self._ask(names, [request] * len(names))
    return True


async def locks_the_first(self: Controller) -> Any:
    (answer,) = await self._ask(self.config.logs[:1], [Lock(self._number)])
    return [(self.config.logs[0], answer)]


async def tells_nobody(self: Controller, name: str) -> None:
    """Storage servers hear of a generation with their next ping."""


def asks_each_time(self: Grv, asked: int) -> None:
    self._expired = self._asked


async def serves_the_first(self: Grv, generation: Any, batch: Any, *, risky: bool) -> None:
    version = await self.ask(generation.number, generation.sequencer, GetCommitted(1))
    if version is not None and risky in (True, False):
        del self._pending[batch[0]]
        batch[0].set(version)


async def asks_at_once(self: Process, number: int, to: str, request: Any) -> Any:
    answer: Any = NO_REPLY
    while answer is NO_REPLY and self.serves(number):
        answer = await self.node.request(to, request, self._request_us)
    return answer if self.serves(number) else None


PLANTS: dict[str, tuple[object, str, Any, str, int]] = {
    "a log leaves peeks waiting": (Log, "_wake_up", no_wake_up, "log", 2),
    "a log forgets all at a pop": (Log, "pop", forgets_all, "log", 20),
    "what waits for a batch waits on": (Chain, "break_up", never_waits, "", 13),
    "versions stand still": (Sequencer, "_due", stands_still, "sequencer", 6),
    "ranges do not conflict": (ConflictWindow, "_range_conflicts", overlooks_ranges, "resolver", 2),
    "a storage server has no window": (Store, "trim", keeps_all, "storage", 6),
    "the word of logs counts for ever": (Grv, "_expire", expires_never, "grv", 6),
    "a member asks behind its generation": (Process, "ask_again", asks_on, "", 11),
    "a proxy forgets what it has taken": (proxy, "KEPT_NUMBERS", 0, "proxy", 6),
    "a wait for a version does not end": (storage, "_end", never_ends, "storage", 25),
    "what does not answer is recruited": (Controller, "_living", all_of_them, "controller", 6),
    "a recruitment is not awaited": (Controller, "_all", none_in_a_row, "controller", 20),
    "one log is locked": (Controller, "_lock", locks_the_first, "controller", 20),
    "storage servers are not told": (Controller, "_announce", tells_nobody, "controller", 6),
    "words of logs count for nothing": (Grv, "_expire", asks_each_time, "grv", 3),
    "of some requests one is answered": (Grv, "_serve", serves_the_first, "grv", 25),
    "a member asks again at once": (Process, "ask_again", asks_at_once, "", 6),
    "a metadata version is logged nowhere": (proxy, "METADATA_VERSION", b"\xff/x", "proxy", 6),
}
"""Faults, the part that shows each, and a small world in which it does."""

LATE_PONG = 70_001
"""A world in which a process that is pinged during a recovery answers behind it."""
LONG_CONFIRMS = {5071, 5105}
"""Worlds in which a version is answered long after it was asked for, or was given twice."""


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_is_a_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, planted, part, seed = PLANTS[name]
    monkeypatch.setattr(owner, method, planted)
    parts = {found.part for found in differences(seed)}
    assert parts
    assert part in ("", *parts)


def fires_nothing(self: Storage, keys: list[bytes]) -> None:
    """Keys that were written fire no watch."""


def test_a_watch_that_does_not_fire_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Storage, "_look_at_watches", fires_nothing)
    assert {found.part for found in differences(1, "c2_watch")} == {"storage", "watches"}


def test_a_value_from_before_the_version_of_a_watch_is_no_difference() -> None:
    """Of this world a storage server was behind the version from which on a key is watched."""
    assert list(differences(97_004, "c2_watch")) == []


async def hears_late_pongs(self: Controller, role: str, name: str) -> None:
    missed = 0
    while True:
        await self.node.sleep(self._ping_us)
        generation = self.generation
        answer = await self.node.request(name, Ping(generation), self._patience_us)
        if self.recovering or self.generation is not generation:
            missed = 0
            continue
        is_member, answers = name in members(generation, role), isinstance(answer, Pong)
        missed = 0 if answers else missed + 1
        is_other = isinstance(answer, Pong) and answer.generation != generation.number
        lost = is_member and (is_other or missed >= self.settings.pings_missed)
        if lost or (answers and not is_member and role != "sequencer"):
            self.recovering = True
            self.node.spawn(self._recover())


def test_a_pong_from_before_a_recruitment_begins_no_recovery(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert list(differences(LATE_PONG)) == []
    monkeypatch.setattr(Controller, "_watch", hears_late_pongs)
    assert [one.what for one in differences(LATE_PONG)] == ["a recovery begins without a cause"]


@pytest.mark.parametrize("design", ["crdb", "c14_modes"])
def test_a_lone_log_that_is_asked_again_is_no_second_question(design: str) -> None:
    """Its word counts from when it was asked first, whose request was lost."""
    assert list(differences(3, design)) == []


CUT_OFF = """
[strategy]
name = "postgresql"

[cluster]
plane = "fdb"
nodes = 2

[fdb]
logs = 2
grvs = 1
grv_batch_us = 2_000
confirm_ms = 5
request_ms = 10
retry_ms = 5

[protocol]
tx_timeout_ms = 30
operation_timeout_ms = 60

[run]
load_ms = 200

[schema]
sql = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"

[[workload]]
name = "mixed"
clients = 12
operations = 20
retries = 0
implicit = 0.3
transaction_operations = [2, 4]
pause_ms = [0, 4]

[[faults]]
name = "partition"
shape = "link"
node = "grv1"
side = ["log2"]
from_ms = 30
for_ms = 160
"""


@pytest.mark.parametrize("kept", [1, 3, 10])
def test_a_question_that_is_open_for_longer_than_questions_are_kept_is_not_late(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log is out of reach for long; a risky request, asked in the same span, had its version."""
    monkeypatch.setattr(proxies, "KEPT", kept)
    history = run(plan(read(CUT_OFF, "cut off"), 0, models=True))
    assert history.of(PartDiverged) == []


QUEUES = """
[strategy]
name = "c16_safe"

[cluster]
plane = "fdb"
nodes = 2

[fdb]
storages = 1
storage_read_us = 1_000

[run]
load_ms = 40

[schema]
sql = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"

[[workload]]
name = "mixed"
clients = 12
operations = 4
retries = 0
pause_ms = 0

[[faults]]
name = "pause"
node = "storage1"
from_ms = 12
for_ms = 9
"""


def test_what_a_pause_holds_back_holds_back_the_reads_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They wait in a queue, each for the service of those before it."""
    monkeypatch.setattr(fdb_cluster, "beside", lambda *_: ())  # no walks
    history = run(plan(read(QUEUES, "queues"), 0, models=True))
    assert [event for event in history.events if isinstance(event, PartDiverged)] == []


RECOVERY_IN_A_PAUSE = """
[strategy]
name = "c16_safe"

[cluster]
plane = "fdb"
nodes = 2

[network]
latency_ms = 1

[run]
load_ms = 1_200

[schema]
sql = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"

[[workload]]
name = "mixed"
clients = 4
operations = 400
pause_ms = 0

[[faults]]
name = "pause"
node = "storage1"
from_ms = 50
for_ms = 700

[[faults]]
name = "crash"
node = "proxy1"
from_ms = 60
for_ms = 30
"""


def goes_on_with_the_last_generation(self: Storage, sender: str, ping: Ping) -> Pong:
    """Pulls that are under way go on: what their logs answer is applied."""
    before = self.generation
    answer = SOUND_PONG(self, sender, ping)
    if before is not None and self.generation is not None:
        self.generation = before
    return answer


SOUND_PONG = Storage.pong


def test_what_is_answered_before_a_pause_is_not_applied_in_the_next_generation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The storage server hears of the next generation before its pull goes on."""
    monkeypatch.setattr(fdb_cluster, "beside", lambda *_: ())  # no walks
    planned = plan(read(RECOVERY_IN_A_PAUSE, "recovery in a pause"), 0, models=True)
    assert [event for event in run(planned).events if isinstance(event, PartDiverged)] == []
    monkeypatch.setattr(Storage, "pong", goes_on_with_the_last_generation)
    found = [event for event in run(planned).events if isinstance(event, PartDiverged)]
    assert found[0].part == "storage"


def test_without_a_fault_there_is_no_difference() -> None:
    seeds = {plant[-1] for plant in PLANTS.values()} | LONG_CONFIRMS
    assert [one for seed in seeds for one in differences(seed)] == []
