"""IEP-98 with one sentence missing each."""

from ddlsim.mutants.base import Mutant, mutant
from ddlsim.protocol.design.flows import whatever_is_known
from ddlsim.protocol.design.schema_rules import ON_APPLICATION
from ddlsim.protocol.design.time_rules import (
    at_message,
    at_once,
    never_waits,
    own_delay,
    tick_with_current_time,
)
from ddlsim.protocol.raft import AppendEntries, Member
from ddlsim.protocol.schema.catalog import Catalog, Snapshot
from ddlsim.units import Timestamp, plus_ms


def before_message(message_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """Tu = Tm - DD: the update claims to have been effective already."""
    return plus_ms(message_ts, -delay_duration_ms)


def at_completeness(op_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """Look up at Top - DD, as if the subtraction affected more than the wait."""
    return plus_ms(op_ts, -delay_duration_ms)


def at_activation(activation_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """Acknowledge when Now >= Tu, whatever the other clocks show."""
    del max_clock_skew_ms
    return activation_ts


class OpenCatalog(Catalog):
    """A version is effective only after its activation timestamp, not at it."""

    __slots__ = ()

    def at(self, ts: Timestamp) -> Snapshot:
        """The schemas in force just before `ts`."""
        return super().at(Timestamp(ts - 1))


class GapMember(Member):
    """A member that takes whatever it is sent, without asking whether something is missing."""

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


mutant(
    Mutant(
        name="no_completeness_wait",
        summary="a node uses what it happens to know, without waiting for safe time",
        breaks="98.past.3",
        also=("98.ap", "98.flow.3", "98.safe.1"),
        caught_by="atomicity",
        fields={"completeness_ts": never_waits},
    )
)
mutant(
    Mutant(
        name="activates_with_message",
        summary="Tu = Tm, though readers wait only for Top - DD",
        breaks="98.past.2",
        caught_by="atomicity",
        fields={"activation_ts": at_message},
    )
)
mutant(
    Mutant(
        name="activates_before_message",
        summary="Tu < Tm: the update was effective before anyone could have heard of it",
        breaks="98.safe.2",
        caught_by="atomicity",
        fields={"activation_ts": before_message},
    )
)
mutant(
    Mutant(
        name="looks_up_in_the_past",
        summary="the schema is looked up at Top - DD instead of at Top",
        breaks="98.past.3",
        caught_by="atomicity",
        fields={"lookup_ts": at_completeness},
    )
)
mutant(
    Mutant(
        name="open_boundary",
        summary="at Tu itself the old version still counts",
        breaks="98.def.1",
        caught_by="atomicity",
        parts={"catalog": OpenCatalog},
    )
)
mutant(
    Mutant(
        name="appends_past_gaps",
        summary="a member of the log's group accepts entries though earlier ones are missing",
        breaks="98.def.3",
        also=("98.flow.2",),
        caught_by="atomicity",
        parts={"member": GapMember},
    )
)
mutant(
    Mutant(
        name="acknowledges_at_activation",
        summary="a DDL is acknowledged at Tu, without waiting for CSmax more",
        breaks="98.flow.4",
        caught_by="own_ddl",
        fields={"acknowledge_ts": at_activation},
    )
)
mutant(
    Mutant(
        name="acknowledges_at_once",
        summary="a DDL is acknowledged as soon as it is in the log",
        breaks="98.own",
        also=("98.risk.1",),
        caught_by="own_ddl",
        fields={"acknowledge_ts": at_once},
    )
)
mutant(
    Mutant(
        name="noop_without_wait",
        summary="'it exists already' and refusals are answered before what they rest on is active",
        breaks="98.flow.4",
        caught_by="own_ddl",
        fields={"acknowledge_known_ts": at_once},
    )
)
mutant(
    Mutant(
        name="builds_on_what_it_knows",
        summary="a statement is answered from what its node happens to know, complete or not",
        breaks="98.x.8",
        reopens="F-7",
        caught_by="own_ddl",
        fields={"before_statement": whatever_is_known},
    )
)
mutant(
    Mutant(
        name="safe_time_before_listeners",
        summary="safe time is published before the catalog listeners ran",
        breaks="98.x.3",
        also=("98.def.2",),
        caught_by="atomicity",
        fields={"publish_safe_time": ON_APPLICATION},
    )
)
mutant(
    Mutant(
        name="ticks_may_tie",
        summary="an idle safe-time command may carry the timestamp of the update after it",
        breaks="98.x.2",
        caught_by="atomicity",
        fields={"tick_ts": tick_with_current_time},
    )
)
mutant(
    Mutant(
        name="message_carries_own_delay",
        summary="an update activates after its node's own DD, though readers wait by a larger one",
        breaks="98.x.4",
        caught_by="atomicity",
        fields={"message_delay": own_delay},
    )
)
