"""Random transactions with crashes and recoveries, judged by a sequential model of the store."""

from dataclasses import replace
from typing import Any

import pytest

from ddlsim.fdb.conflicts import ConflictWindow
from ddlsim.fdb.controller import Controller
from ddlsim.fdb.log import Log
from ddlsim.fdb.messages import (
    LOGGED,
    REPORTED,
    Commit,
    Generation,
    Get,
    Got,
    Locked,
    Push,
    Range,
    ReadVersion,
    ReportCommitted,
    Reported,
    Resolved,
    Stale,
    Tail,
)
from ddlsim.fdb.processes import CLASSES, Classes
from ddlsim.fdb.proxy import Outcome, Proxy
from ddlsim.fdb.resolver import Resolver
from ddlsim.fdb.sequencer import Sequencer
from ddlsim.fdb.storage import Storage
from tests.support.fdb_oracle import Oracle

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(6))
def test_committed_transactions_are_strictly_serializable(seed: int) -> None:
    assert Oracle(seed).run().check() > 50


# --- planted faults -------------------------------------------------------------------------------


class BlindToRanges(ConflictWindow):
    """Ranges are not compared with keys that were written."""

    def _range_conflicts(self, begin: bytes, end: bytes, since: int) -> bool:
        return False


class Forgetful(ConflictWindow):
    """Now and then, nothing was written."""

    def _conflicts(self, reads: tuple[Range, ...], since: int) -> bool:
        return super()._conflicts(reads, since) and len(self._points) % 5 != 0


class ResolverBlindToRanges(Resolver):
    conflict_class = BlindToRanges


class ForgetfulResolver(Resolver):
    conflict_class = Forgetful


class ResolverWithoutBeginning(Resolver):
    """After a recovery, nothing counts as written."""

    def begin(self, generation: Generation, tail: Tail) -> None:
        super().begin(generation, tail)
        self._window = self.conflict_class(self.settings.window, 0, ())


class ReadsLatest(Storage):
    """Reads the last value, whatever the version."""

    async def get(self, _sender: str, request: Get) -> Got:
        return Got(self._store.latest(request.key))


class KeepsWhatWasTakenBack(Storage):
    """Only the version goes back, not the values."""

    def _roll_back(self, end: int) -> None:
        self._store.version = min(self._store.version, end)


class DoesNotWait(Storage):
    """Reads before the version has arrived."""

    async def _reached(self, version: int) -> None:
        self._store.version = version


class UnfencedLog(Log):
    """A locked log still says that it takes batches."""

    async def push(self, sender: str, request: Push) -> Any:
        answer = await super().push(sender, request)
        return LOGGED if isinstance(answer, Stale) else answer


class EarlyLog(Log):
    """Answers before the batch before it is there."""

    async def push(self, sender: str, request: Push) -> Any:
        self.node.spawn(super().push(sender, request))
        return LOGGED


class AnswersBeforeReport(Proxy):
    async def ask(self, number: int, to: str, request: Any) -> Any:
        if isinstance(request, ReportCommitted):
            self.node.spawn(super().ask(number, to, request))
            return REPORTED
        return await super().ask(number, to, request)


class OneResolverDecides(Proxy):
    def _assemble(self, granted: Any, requests: Any, resolved: list[Resolved]) -> Any:
        refused = resolved[-1].refused
        return super()._assemble(
            granted, requests, [Resolved(refused, one.changes) for one in resolved]
        )


class IgnoresOtherProxies(Proxy):
    def _catch_up(self, resolved: list[Resolved], first: int) -> None:
        pass


class CommitsCopies(Proxy):
    async def commit(self, sender: str, request: Commit) -> Outcome | None:
        self._seen.clear()
        return await super().commit(sender, request)


class LosesTheLastEntry(Controller):
    """Begins a generation without the last batch of the last one."""

    async def _lock(self) -> list[tuple[str, Locked]]:
        return [
            (
                name,
                Locked(
                    one.generation,
                    Tail(
                        one.tail.end - 1,
                        one.tail.entries[:-1],
                        one.tail.changes,
                        one.tail.popped,
                    ),
                ),
            )
            for name, one in await super()._lock()
        ]


class ReportsInAnyOrder(Sequencer):
    def report(self, _sender: str, report: ReportCommitted) -> Reported | Stale:
        self._committed = ReadVersion(report.version, report.metadata_version)
        return REPORTED


PLANTED: dict[str, tuple[int, Classes]] = {
    "ranges without conflicts": (0, replace(CLASSES, resolver=ResolverBlindToRanges)),
    "conflicts forgotten": (0, replace(CLASSES, resolver=ForgetfulResolver)),
    "resolver without a beginning": (1, replace(CLASSES, resolver=ResolverWithoutBeginning)),
    "storage reads the latest": (0, replace(CLASSES, storage=ReadsLatest)),
    "storage does not roll back": (5, replace(CLASSES, storage=KeepsWhatWasTakenBack)),
    "storage does not wait": (7, replace(CLASSES, storage=DoesNotWait)),
    "log takes what it is locked for": (1, replace(CLASSES, log=UnfencedLog)),
    "log answers early": (1, replace(CLASSES, log=EarlyLog)),
    "commit answered before its report": (29, replace(CLASSES, proxy=AnswersBeforeReport)),
    "one resolver decides": (1, replace(CLASSES, proxy=OneResolverDecides)),
    "state of other proxies ignored": (0, replace(CLASSES, proxy=IgnoresOtherProxies)),
    "copies of commits": (5, replace(CLASSES, proxy=CommitsCopies)),
    "last batch lost": (1, replace(CLASSES, controller=LosesTheLastEntry)),
    "reports in any order": (0, replace(CLASSES, sequencer=ReportsInAnyOrder)),
}


SEEDS = 40
"""So many are tried at most, after the one that is known to find the fault."""


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str) -> None:
    known, classes = PLANTED[fault]
    for seed in (known, *range(SEEDS)):
        try:
            Oracle(seed, classes=classes).run().check()
        except AssertionError:
            return
    pytest.fail(f"not found by {SEEDS} seeds")
