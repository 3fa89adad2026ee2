"""The sequencer: hands out commit versions at a stated rate, and knows the last committed one.

* `_last`: the last version handed out. It follows the process's clock from `_base`, the version
  that belongs to `_base_ms`. A clock that steps begins a new base: back, versions go on from where
  they are; ahead, they go ahead by a window at most, once.
* `_chains`: by proxy, its last batch that was granted versions: a request that overtakes an
  earlier one waits for it.
* `_answers`: what batches were granted: a request that is sent again gets the same versions, else
  the chain of batches would have a hole.
* `_committed`: the last version that a proxy reported, with the metadata version there. A report of
  a version implies all earlier ones, since logs take batches in order.
"""

from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.local_state import LocalState
from ddlsim.fdb.membership import Answers, Chain, Process
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
        self._chains: dict[str, Chain] = {}
        self._answers: Answers[VersionsGranted] = Answers()
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
        self._chains, self._answers = {}, Answers()

    def _now_ms(self) -> int:
        return physical_ms(self.node.clock.current())

    def end(self) -> None:
        """Let requests that wait for earlier ones go."""
        for chain in self._chains.values():
            chain.break_up()

    async def grant(
        self, sender: str, request: GetCommitVersions
    ) -> VersionsGranted | Stale | None:
        """Hand out the next versions, as many as a batch has transactions; None for a late copy."""
        if not self.serves(request.generation):
            return STALE
        chain = self._chains.get(sender)
        if chain is None:
            chain = self._chains[sender] = Chain(self.node, 0)
        before = request.number - 1
        if chain.version < before:
            self.node.probe("store-batch-overtakes")
            await chain.reached(before)
            if not self.serves(request.generation):
                return STALE
        if chain.version >= request.number:
            return self._answers.of(sender, request.number)
        granted = self._next(max(request.count, 1))
        self._answers.keep(sender, request.number, request.answered, granted)
        chain.advance(request.number)
        return granted

    def _next(self, count: int) -> VersionsGranted:
        """The next so many versions."""
        previous = self._last
        self._last = max(previous + count, self._due())
        return VersionsGranted(previous, self._last - count + 1, self._last)

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
