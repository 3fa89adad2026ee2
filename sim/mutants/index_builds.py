"""Builds of indexes with one rule missing; they break `ignite_index`, which alone has builds."""

from ddlsim.history.event import Cells
from ddlsim.model.schema import PUBLIC, Table
from ddlsim.mutants.base import mutant, mutates
from ddlsim.protocol.commands import FillIndex
from ddlsim.protocol.design import as_shipped, index_rules
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.index_build.index_states import IndexStates
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.schema.indexes import Entry
from ddlsim.units import Timestamp

# fmt: off
mutant("commits_behind_the_build", "110.ours.index.build", "index_contents",
       check_commit=as_shipped.each_step_as_shipped,
       summary="a transaction from before an index commits though its build has begun")
mutant("builds_undrained", "110.ours.index.build", "precision",
       drain=index_rules.at_once,
       summary="the next state of an index does not wait for transactions from before this one")
mutant("fills_once_registered", "110.ours.index.entries", "index_contents",
       fills_index=index_rules.once_registered,
       summary="the backfill begins while transactions without the index can still commit")
mutant("erases_once_stopping", "110.ours.index.entries", "index_contents",
       erases_index=index_rules.once_stopping,
       summary="the entries of an index are erased while older transactions still use it")
# fmt: on


@mutates("index_entries", "leaves_old_entries", "110.ours.index.entries", "index_contents")
def additions_only(table: Table, old: Cells | None, new: Cells | None) -> list[Entry]:
    """A write adds the entry of its row, and leaves that of the row before."""
    return [one for one in index_rules.by_state(table, old, new) if one.added]


@mutates("index_entries", "enters_once_available", "110.ours.index.entries", "index_contents")
def once_available(table: Table, old: Cells | None, new: Cells | None) -> list[Entry]:
    """A write changes no entry of an index before that is AVAILABLE."""
    return [one for one in index_rules.by_state(table, old, new) if one.of.state == PUBLIC]


@mutates("partition", "fills_no_intents", "110.ours.index.entries", "index_contents")
class FillsNoIntents(Partition):
    """A backfill passes by intents, which may be committed behind it (IGNITE-22990)."""

    def _fill(self, stamp: Timestamp, command: FillIndex) -> None:
        intents, self.intents = self.intents, {}
        super()._fill(stamp, command)
        self.intents = intents


@mutates("index_states", "available_half_built", "110.ours.index.entries", "index_contents")
class AvailableHalfBuilt(IndexStates):
    """An index is AVAILABLE once its first partition is filled."""

    async def _is_filled(self, place: PartitionId, index_id: int) -> bool:
        return place[1] > 0 or await super()._is_filled(place, index_id)
