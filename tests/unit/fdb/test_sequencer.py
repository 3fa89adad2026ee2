"""The sequencer: versions follow its clock, and its clock may step."""

from typing import Any

from ddlsim.fdb.config import plain_config
from ddlsim.fdb.messages import STALE, GetCommitVersions, ReportCommitted, VersionsGranted
from ddlsim.fdb.sequencer import Sequencer
from ddlsim.fdb.settings import FdbSettings
from tests.support.fdb import FdbWorld


class Stand:
    """A sequencer that hands out 1,000 versions a second, with a window of 5,000."""

    def __init__(self) -> None:
        settings = FdbSettings(versions_per_second=1000, idle_commit_ms=1_000_000)
        self.world = FdbWorld(plain_config(settings))
        self.sequencer: Sequencer = self.world.processes["sequencer"]
        self.number = 0

    def grant(self, count: int = 1, **changes: Any) -> VersionsGranted:
        self.number += 1
        asked = {"generation": 1, "number": self.number, "count": count, "answered": 0} | changes
        (granted,) = self.ask(GetCommitVersions(**asked))
        assert isinstance(granted, VersionsGranted)
        return granted

    def ask(self, *requests: GetCommitVersions) -> list[object]:
        """What is answered to requests at once, in the order of the answers."""
        answers: list[object] = []

        async def asked(request: GetCommitVersions) -> None:
            answers.append(await self.sequencer.grant("proxy1", request))

        for request in requests:
            self.world.spawn(asked(request))
        self.world.run(0)
        return answers

    def step(self, by_ms: int) -> None:
        """Set the clock of the sequencer's machine ahead or back."""
        self.world.hosts["sequencer"].clock.step(by_ms * 1000)


def test_versions_follow_the_clock() -> None:
    stand = Stand()
    stand.world.run(100)
    assert stand.grant() == VersionsGranted(0, 100, 100)
    stand.world.run(50)
    assert stand.grant(3) == VersionsGranted(100, 148, 150)


def test_versions_rise_while_the_clock_stands() -> None:
    stand = Stand()
    grants = [stand.grant(count) for count in (1, 5, 0, 2)]
    assert [(one.previous, one.first, one.last) for one in grants] == [
        (0, 1, 1),
        (1, 2, 6),
        (6, 7, 7),
        (7, 8, 9),
    ]
    stand.world.run(100)
    assert stand.grant().last == 100


def test_a_request_that_is_sent_again_gets_the_same_versions() -> None:
    stand = Stand()
    granted = stand.grant(4)
    assert stand.grant(4, number=1) == granted
    assert stand.ask(GetCommitVersions(2, 9, 0, 1)) == [STALE]


def test_requests_that_overtake_each_other_are_granted_in_the_order_of_batches() -> None:
    stand = Stand()
    third, first, second = (GetCommitVersions(1, number, 0, 2) for number in (3, 1, 2))
    assert stand.ask(third) == []
    assert stand.ask(first, second) == [VersionsGranted(0, 1, 2), VersionsGranted(2, 3, 4)]
    assert stand.ask(third) == [VersionsGranted(4, 5, 6)]
    assert stand.world.probes["store-batch-overtakes"] == 1


def test_a_late_copy_of_a_request_whose_answer_has_come_gets_none() -> None:
    stand = Stand()
    stand.grant()
    second = stand.grant(answered=1)
    assert stand.ask(GetCommitVersions(1, 1, 0, 1)) == [None]
    assert stand.ask(GetCommitVersions(1, 2, 0, 1)) == [second]


def test_the_end_of_a_generation_answers_what_waits_for_an_earlier_request() -> None:
    stand = Stand()
    answers: list[object] = []

    async def asked() -> None:
        answers.append(await stand.sequencer.grant("proxy1", GetCommitVersions(1, 9, 0, 1)))

    stand.world.spawn(asked())
    stand.world.run(1)
    stand.sequencer.over()
    stand.world.run(1)
    assert answers == [STALE]


def test_a_clock_that_steps_ahead_costs_a_window_once() -> None:
    stand = Stand()
    stand.world.run(100)
    stand.step(3_600_000)
    assert stand.grant().last == 5_000
    stand.world.run(10)
    assert stand.grant().last == 5_010


def test_a_clock_that_steps_back_does_not_stop_versions() -> None:
    stand = Stand()
    stand.world.run(1000)
    stand.grant()
    stand.step(-3_600_000)
    assert stand.grant().last == 1_001
    stand.world.run(100)
    assert stand.grant().last == 1_100


def test_a_report_that_comes_late_does_not_take_the_committed_version_back() -> None:
    stand = Stand()
    first, second = stand.grant(), stand.grant()
    for version, metadata in ((second.last, 7), (first.last, 0)):
        stand.sequencer.report("proxy1", ReportCommitted(1, version, metadata))
    committed = stand.sequencer._committed
    assert (committed.version, committed.metadata_version) == (second.last, 7)
