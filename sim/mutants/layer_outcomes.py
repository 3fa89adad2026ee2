"""Processes of a layer that mistake the outcome of a transaction."""

from ddlsim.layer.process import LayerProcess
from ddlsim.layer.transaction import LayerTx
from ddlsim.mutants.base import mutates

UNKNOWN = "FoundationDB: a commit of unknown result may have committed, and may commit later"


@mutates("process", "unknown_counts_as_aborted", UNKNOWN, "machinery")
class ForgetsUnknownCommits(LayerProcess):
    """A commit of unknown result counts as aborted, and what is implicit is tried again."""

    async def _outcome(self, tx: LayerTx) -> int | None:
        return None
