"""IEP-98 with one sentence missing each."""

from ddlsim.mutants.base import mutant, mutates
from ddlsim.protocol.design.flows import whatever_is_known
from ddlsim.protocol.design.schema_rules import ON_APPLICATION
from ddlsim.protocol.design.time_rules import (
    at_activation,
    at_message,
    at_once,
    never_waits,
    own_delay,
    tick_with_current_time,
)
from ddlsim.protocol.raft import AppendEntries, Member
from ddlsim.protocol.schema.catalog import Catalog, Snapshot
from ddlsim.units import Timestamp, plus_ms


@mutates("activation_ts", "activates_before_message", "98.safe.2", "atomicity")
def before_message(message_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """An update is effective from Tu < Tm on, before any node has received it."""
    return plus_ms(message_ts, -delay_duration_ms)


@mutates("lookup_ts", "looks_up_in_the_past", "98.past.3", "atomicity")
def at_completeness(op_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """The schema is looked up at Top - DD instead of at Top."""
    return plus_ms(op_ts, -delay_duration_ms)


@mutates("catalog", "open_boundary", "98.def.1", "atomicity")
class OpenCatalog(Catalog):
    """At Tu itself the old version still counts."""

    def at(self, ts: Timestamp) -> Snapshot:
        """The schemas in force just before `ts`."""
        return super().at(Timestamp(ts - 1))


@mutates("member", "appends_past_gaps", "98.def.3", "atomicity", also=("98.flow.2",))
class GapMember(Member):
    """A member of the log's group accepts entries though earlier ones are missing."""

    def _take_append(self, sender: str, append: AppendEntries) -> None:
        log = self.log
        if append.prev_index > log.last_index and append.entries:
            missing = append.prev_index - log.last_index
            log.entries += [log.entries[-1] if log.entries else append.entries[0]] * missing
            filled = AppendEntries(
                append.term,
                append.prev_index,
                log.last_term,
                append.entries,
                append.commit_index,
                append.round,
            )
            super()._take_append(sender, filled)
            return
        super()._take_append(sender, append)


# fmt: off
mutant("acknowledges_at_activation", "98.flow.4", "own_ddl", acknowledge_ts=at_activation,
       summary="a DDL is acknowledged at Tu, without waiting for CSmax more")
mutant("no_completeness_wait", "98.past.3", "atomicity", also=("98.ap", "98.flow.3", "98.safe.1"),
       completeness_ts=never_waits,
       summary="a node uses the versions that it has applied, without waiting for safe time")
mutant("activates_with_message", "98.past.2", "atomicity", activation_ts=at_message,
       summary="Tu = Tm, though readers wait only for Top - DD")
mutant("acknowledges_at_once", "98.own", "own_ddl", also=("98.risk.1",), acknowledge_ts=at_once,
       summary="a DDL is acknowledged as soon as it is in the log")
mutant("noop_without_wait", "98.flow.4", "own_ddl", reopens=("F-18",), acknowledge_known_ts=at_once,
       summary="'it exists already' and refusals are answered before what they rest on is active")
mutant("builds_on_what_it_knows", "98.x.8", "own_ddl", reopens=("F-7",),
       before_statement=whatever_is_known,
       summary="a statement is answered from what its node has applied, complete or not")
mutant("safe_time_before_listeners", "98.x.3", "atomicity", also=("98.def.2",), reopens=("F-20",),
       publish_safe_time=ON_APPLICATION,
       summary="safe time is published before the catalog listeners ran")
mutant("ticks_may_tie", "98.x.2", "atomicity", reopens=("F-19",), tick_ts=tick_with_current_time,
       summary="an idle safe-time command may carry the timestamp of the update after it")
mutant("message_carries_own_delay", "98.x.4", "atomicity", reopens=("F-21",),
       message_delay=own_delay,
       summary="an update activates after its node's own DD, though readers wait by a larger one")
