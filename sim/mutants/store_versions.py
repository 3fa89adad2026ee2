"""Read versions, commit versions and metadata versions of the store that are not what they must."""

from typing import TypeVar

from ddlsim.fdb.grv import Answer, Grv
from ddlsim.fdb.messages import (
    REPORTED,
    Commit,
    GetReadVersion,
    ReadVersion,
    ReportCommitted,
    Reported,
    Stale,
)
from ddlsim.fdb.proxy import Proxy, stamped
from ddlsim.fdb.sequencer import Sequencer
from ddlsim.model.ports import Request
from ddlsim.mutants.base import mutates

R = TypeVar("R")

READ_VERSION = "FoundationDB: a read version covers whatever was committed before it was asked for"


@mutates("grv", "grv_gives_the_last_answer", READ_VERSION, "own_ddl")
class GrvOfTheLastAnswer(Grv):
    """A read version is that of the last batch, while a newer one is asked for."""

    _last: ReadVersion | None = None

    async def read_version(self, sender: str, request: GetReadVersion) -> Answer:
        """The last answer, and a new one for the next request."""
        if self._last is None or self.generation is None:
            answer = await super().read_version(sender, request)
        else:
            answer = self._last
            self.node.spawn(self._renewed(sender, request))
        if isinstance(answer, ReadVersion):
            self._last = answer
        return answer

    async def _renewed(self, sender: str, request: GetReadVersion) -> None:
        answer = await super().read_version(sender, request)
        if isinstance(answer, ReadVersion):
            self._last = answer

    def end(self) -> None:
        """Begin anew."""
        super().end()
        self._last = None


@mutates("sequencer", "reports_in_any_order", READ_VERSION, "own_ddl")
class ReportsInAnyOrder(Sequencer):
    """A report that comes late takes the committed version back."""

    def report(self, _sender: str, report: ReportCommitted) -> Reported | Stale:
        """Take whatever is reported."""
        self._committed = ReadVersion(report.version, report.metadata_version)
        return REPORTED


@mutates("proxy", "answers_before_the_report", READ_VERSION, "serializability")
class AnswersBeforeReport(Proxy):
    """A client has its answer before the sequencer has the version."""

    async def ask(self, number: int, to: str, request: Request[R | Stale]) -> R | None:
        """Ask, but do not wait for a report to arrive."""
        if isinstance(request, ReportCommitted):
            self.node.spawn(super().ask(number, to, request))
            return REPORTED  # type: ignore[return-value]  # what it is asked for
        return await super().ask(number, to, request)


METADATA = "a piece of meta-data that is returned with a get-read-version call"


@mutates("proxy", "proxy_keeps_the_metadata_version", METADATA, "index_contents")
class SilentProxy(Proxy):
    """A proxy reports versions without the metadata version that belongs to them."""

    async def ask(self, number: int, to: str, request: Request[R | Stale]) -> R | None:
        """Report the metadata version of the beginning."""
        if isinstance(request, ReportCommitted):
            silent = ReportCommitted(request.generation, request.version, 0)
            return await super().ask(number, to, silent)  # type: ignore[arg-type]  # the same
        return await super().ask(number, to, request)


@mutates("sequencer", "sequencer_forgets_the_metadata_version", METADATA, "index_contents")
class ForgettingSequencer(Sequencer):
    """The metadata version is that of the recovery, until the next one."""

    def report(self, sender: str, report: ReportCommitted) -> Reported | Stale:
        """Take the version alone."""
        known = self._committed.metadata_version
        return super().report(sender, ReportCommitted(report.generation, report.version, known))


@mutates(
    "proxy",
    "stamps_with_the_batch",
    "FoundationDB: a versionstamp is the commit version of its transaction",
    "uniform_commit",
)
class StampsWithTheBatch(Proxy):
    """Every versionstamp is the version before, which is another transaction's of the batch."""

    @staticmethod
    def _stamped(request: Commit, version: int) -> Commit:
        return stamped(request, version - 1) if request.has_stamps else request
