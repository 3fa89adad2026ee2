"""Logs, storage servers and recoveries of the store that lose, keep or show what they must not."""

from collections.abc import Sequence
from typing import TypeVar

from ddlsim.fdb.controller import Controller
from ddlsim.fdb.log import Log
from ddlsim.fdb.messages import (
    LOGGED,
    Failed,
    Get,
    GetRange,
    Got,
    GotRange,
    Locked,
    Logged,
    Push,
    Stale,
    Tail,
    WatchKey,
)
from ddlsim.fdb.proxy import Proxy
from ddlsim.fdb.storage import TIMED_OUT, Storage
from ddlsim.model.ports import Request
from ddlsim.mutants.base import mutates

R = TypeVar("R")

AT_VERSION = "FoundationDB: a read shows the keys as of its read version"


@mutates("storage", "storage_reads_the_latest", AT_VERSION, "data_matches_schema")
class ReadsLatest(Storage):
    """A key's value is the last one that was applied, whatever the read version."""

    async def get(self, _sender: str, request: Get) -> Got | Failed:
        """Wait for the version, then read the last value."""
        failed = await self._unreadable(request.version)
        return failed or Got(self._store.latest(request.key))


@mutates("storage", "storage_scans_the_latest", AT_VERSION, "data_matches_schema")
class ScansLatest(Storage):
    """A range is read as of the last version that was applied."""

    async def get_range(self, sender: str, request: GetRange) -> GotRange | Failed:
        """Wait for the version, then read at the last one."""
        failed = await self._unreadable(request.version)
        if failed is not None:
            return failed
        latest = GetRange(request.begin, request.end, self._store.version, request.limit)
        return await super().get_range(sender, latest)


@mutates("storage", "storage_does_not_wait", AT_VERSION, "data_matches_schema")
class DoesNotWait(Storage):
    """A storage server that is behind reads what it has."""

    async def _unreadable(self, version: int) -> Failed | None:
        return await super()._unreadable(min(version, self._store.version))


@mutates(
    "storage",
    "watch_lost",
    "Storing the schema in some sort of a log structure and using a watch",
    "own_ddl",
    under="c2_watch",
)
class LosesWatches(Storage):
    """A watch never fires."""

    async def watch(self, sender: str, request: WatchKey) -> Failed:
        """Wait as long as a watch may wait, and give up."""
        await super().watch(sender, request)
        return TIMED_OUT


@mutates(
    "log",
    "log_takes_what_it_is_locked_for",
    "FoundationDB: a locked log takes no batch of an earlier generation",
    "data_matches_schema",
)
class UnfencedLog(Log):
    """A log that is locked still says that it has taken a batch."""

    async def push(self, sender: str, request: Push) -> Logged | Stale:
        """Say yes also where nothing was taken."""
        answer = await super().push(sender, request)
        return LOGGED if isinstance(answer, Stale) else answer


DURABLE = "FoundationDB: a transaction has committed once it is on the disks of all logs"


@mutates("log", "log_answers_early", DURABLE, "data_matches_schema")
class EarlyLog(Log):
    """A log answers before the batch is on its disk."""

    async def push(self, sender: str, request: Push) -> Logged | Stale:
        """Answer at once, write then."""
        self.node.spawn(super().push(sender, request))
        return LOGGED


@mutates("proxy", "proxy_waits_for_one_log", DURABLE, "index_contents")
class OneLogSuffices(Proxy):
    """A batch counts as committed once the first log has it."""

    async def ask_all(
        self, number: int, to: Sequence[str], requests: Sequence[Request[R | Stale]]
    ) -> list[R] | None:
        """Wait for the first log alone."""
        if not requests or not isinstance(requests[0], Push):
            return await super().ask_all(number, to, requests)
        for name, request in zip(to[1:], requests[1:], strict=True):
            self.node.spawn(self.ask(number, name, request))
        return await super().ask_all(number, to[:1], requests[:1])


@mutates("controller", "recovery_loses_the_last_batch", DURABLE, "index_contents")
class LosesTheLastEntry(Controller):
    """A recovery begins without the last batch of the longest log."""

    async def _lock(self) -> list[tuple[str, Locked]]:
        return [(name, _shorter(one)) for name, one in await super()._lock()]


def _shorter(locked: Locked) -> Locked:
    tail = locked.tail
    kept = Tail(tail.end - 1, tail.entries[:-1], tail.changes, tail.popped)
    return Locked(locked.generation, kept)


@mutates("controller", "recovery_asks_any_log", DURABLE, "liveness")
class AnyLog(Controller):
    """A recovery takes the shortest log, whichever generation it held."""

    async def _lock(self) -> list[tuple[str, Locked]]:
        found = await super()._lock()
        return sorted(found, key=lambda one: one[1].tail.end)[:1]
