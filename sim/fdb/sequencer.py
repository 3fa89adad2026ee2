"""The sequencer: hands out commit versions at a stated rate, and knows the last committed one.

* `_last`: the last version handed out. It follows the process's clock from `_base`, the version
  that belongs to `_base_ms`. A clock that steps begins a new base: back, versions go on from where
  they are; ahead, they go ahead by a window at most, once.
* `_grants`: by proxy, its last batch and what it was granted: a request that is sent again gets the
  same versions, else the chain of batches would have a hole.
* `_committed`: the last version that a proxy reported, with the metadata version there. A report of
  a version implies all earlier ones, since logs take batches in order.
"""

from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.local_state import LocalState
from ddlsim.fdb.membership import Process
from ddlsim.fdb.messages import (
    REPORTED,
    STALE,
    Generation,
    GetCommitted,
    GetCommitVersions,
    ReadVersion,
    ReportCommitted,
    Reported,
    Stale,
    Tail,
    VersionsGranted,
)
from ddlsim.fdb.versions import versions_in
from ddlsim.model.ports import Node
from ddlsim.units import physical_ms


class Sequencer(Process):
    """Grants versions to batches, and gives the last committed version."""

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self._last = self._base = self._base_ms = self._seen_ms = 0
        self._committed = ReadVersion(0, 0)
        self._grants: dict[str, tuple[int, VersionsGranted]] = {}
        super().__init__(node, config)
        node.on(GetCommitVersions, self.grant)
        node.on(ReportCommitted, self.report)
        node.on(GetCommitted, self.committed)

    def begin(self, generation: Generation, tail: Tail) -> None:
        """Start above what the last generation can have handed out."""
        self._last = self._base = generation.start_version
        self._base_ms = self._seen_ms = self._now_ms()
        state = LocalState.of(tail.changes, generation.start_version)
        self._committed = ReadVersion(self._last, state.metadata_version)
        self._grants = {}

    def _now_ms(self) -> int:
        return physical_ms(self.node.clock.current())

    def grant(self, sender: str, request: GetCommitVersions) -> VersionsGranted | Stale:
        """Hand out the next versions, as many as a batch has transactions."""
        if not self.serves(request.generation):
            return STALE
        number, granted = self._grants.get(sender, (0, None))
        if granted is not None and request.number == number:
            return granted
        if request.number < number:
            return STALE  # a copy of a request whose answer has arrived
        previous, count = self._last, max(request.count, 1)
        last = max(previous + count, self._due())
        first = last - count + 1
        self._last = last
        granted = VersionsGranted(previous, first, last)
        self._grants[sender] = request.number, granted
        return granted

    def _due(self) -> int:
        """The version that belongs to the present, by the process's clock."""
        now_ms, latest = self._now_ms(), self._last + self.settings.window
        if now_ms < self._seen_ms:
            self._base, self._base_ms = self._last, now_ms
        self._seen_ms = now_ms
        due = self._base + versions_in(now_ms - self._base_ms, self.settings.versions_per_second)
        if due > latest:
            self._base, self._base_ms = latest, now_ms
        return min(due, latest)

    def report(self, _sender: str, report: ReportCommitted) -> Reported | Stale:
        """Take a version that all logs have."""
        if not self.serves(report.generation):
            return STALE
        if report.version > self._committed.version:
            assert report.version <= self._last, f"{report} was never granted"
            self._committed = ReadVersion(report.version, report.metadata_version)
        return REPORTED

    def committed(self, _sender: str, request: GetCommitted) -> ReadVersion | Stale:
        """The last committed version."""
        return self._committed if self.serves(request.generation) else STALE
