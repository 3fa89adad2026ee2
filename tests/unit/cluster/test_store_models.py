"""The models of the store's processes see what is planted in them, and nothing without a plant."""

from collections.abc import Iterator
from typing import Any

import pytest

from ddlsim.cluster.run import run
from ddlsim.fdb import proxy, storage
from ddlsim.fdb.conflicts import ConflictWindow
from ddlsim.fdb.grv import Grv
from ddlsim.fdb.log import Log
from ddlsim.fdb.membership import Chain, Process
from ddlsim.fdb.messages import Pop
from ddlsim.fdb.sequencer import Sequencer
from ddlsim.fdb.store import Store
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import SimulationCrashed
from ddlsim.model.ports import NO_REPLY
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan


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


PLANTS: dict[str, tuple[object, str, Any, str, int]] = {
    "a log leaves peeks waiting": (Log, "_wake_up", no_wake_up, "log", 2),
    "a log forgets all at a pop": (Log, "pop", forgets_all, "log", 6),
    "what waits for a batch waits on": (Chain, "break_up", never_waits, "", 13),
    "versions stand still": (Sequencer, "_due", stands_still, "sequencer", 1),
    "ranges do not conflict": (ConflictWindow, "_range_conflicts", overlooks_ranges, "resolver", 1),
    "a storage server has no window": (Store, "trim", keeps_all, "storage", 1),
    "the word of logs counts for ever": (Grv, "_expire", expires_never, "grv", 1),
    "a member asks behind its generation": (Process, "ask_again", asks_on, "", 11),
    "a proxy forgets what it has taken": (proxy, "KEPT_NUMBERS", 0, "proxy", 6),
    "a wait for a version does not end": (storage, "_end", never_ends, "storage", 17),
}

LONG_CONFIRMS = {5071, 5105}
"""Worlds in which a version is answered long after it was asked for, or was given twice."""


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_is_a_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, planted, part, seed = PLANTS[name]
    monkeypatch.setattr(owner, method, planted)
    parts = {found.part for found in differences(seed)}
    assert parts
    assert part in ("", *parts)


def test_without_a_fault_there_is_no_difference() -> None:
    seeds = {plant[-1] for plant in PLANTS.values()} | LONG_CONFIRMS
    assert [one for seed in seeds for one in differences(seed)] == []
