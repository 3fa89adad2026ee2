"""Read versions, commit versions and metadata versions of the store that are not what they must."""

from typing import TypeVar

from ddlsim.fdb.messages import (
    ReportCommitted,
    Reported,
    Stale,
)
from ddlsim.fdb.proxy import Proxy
from ddlsim.fdb.sequencer import Sequencer
from ddlsim.model.ports import Request
from ddlsim.mutants.base import mutates

R = TypeVar("R")


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
