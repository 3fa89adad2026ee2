"""The sequencer beside its model: versions follow the clock, without a hole, each granted once."""

from ddlsim.cluster.store_models.beside import Member, state_of
from ddlsim.fdb.config import FdbConfig
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
from ddlsim.fdb.sequencer import Sequencer
from ddlsim.model.ports import Node
from ddlsim.units import physical_ms


class ModelledSequencer(Member, Sequencer):
    """A sequencer that compares its grants and the last committed version."""

    part = "sequencer"

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self._granted: dict[str, list[VersionsGranted]] = {}
        self._answered: dict[str, int] = {}
        self._top = self._from = self._from_ms = self._shown_ms = 0
        self._done = ReadVersion(0, 0)
        super().__init__(node, config)

    def begin(self, generation: Generation, tail: Tail) -> None:
        super().begin(generation, tail)
        self._granted, self._answered = {}, {}
        self._top = self._from = generation.start_version
        self._from_ms = self._shown_ms = physical_ms(self.node.clock.current())
        self._done = ReadVersion(generation.start_version, state_of(tail.changes)[0])

    async def grant(
        self, sender: str, request: GetCommitVersions
    ) -> VersionsGranted | Stale | None:
        answer = await super().grant(sender, request)
        if not self.divergence.is_known:
            self.divergence.compare(f"the grant of {request}", answer, self._grant(sender, request))
        return answer

    def _grant(self, sender: str, request: GetCommitVersions) -> VersionsGranted | Stale | None:
        if request.generation != self.serving:
            return STALE
        earlier = self._granted.setdefault(sender, [])
        if request.number <= len(earlier):
            known = request.number > self._answered.get(sender, 0)
            return earlier[request.number - 1] if known else None
        self.divergence.compare("the batch of a grant", request.number, len(earlier) + 1)
        count = max(request.count, 1)
        before = self._top
        self._top = max(before + count, self._present())
        granted = VersionsGranted(before, self._top - count + 1, self._top)
        earlier.append(granted)
        self._answered[sender] = max(self._answered.get(sender, 0), request.answered)
        return granted

    def _present(self) -> int:
        """The version of the present; at most a window above the last one."""
        now_ms, most = physical_ms(self.node.clock.current()), self._top + self.settings.window
        if now_ms < self._shown_ms:
            self._from, self._from_ms = self._top, now_ms
        self._shown_ms = now_ms
        gone = (now_ms - self._from_ms) * self.settings.versions_per_second // 1000
        if self._from + gone > most:
            self._from, self._from_ms, gone = most, now_ms, 0
        return self._from + gone

    def report(self, sender: str, report: ReportCommitted) -> Reported | Stale:
        answer = super().report(sender, report)
        serves = report.generation == self.serving
        if serves and report.version > self._done.version:
            self._done = ReadVersion(report.version, report.metadata_version)
        self.divergence.compare("the answer to a report", answer, REPORTED if serves else STALE)
        return answer

    def committed(self, sender: str, request: GetCommitted) -> ReadVersion | Stale:
        answer = super().committed(sender, request)
        expected = self._done if request.generation == self.serving else STALE
        self.divergence.compare("the last committed version", answer, expected)
        return answer
