"""The meta storage with one rule missing each: stamps, ticks, and what survives a change."""

from ddlsim.model.records import Record
from ddlsim.mutants.base import Mutant, mutant
from ddlsim.protocol.design.failure_rules import (
    as_planned,
    first_stamp,
    from_the_beginning,
    keep_own_clock,
)
from ddlsim.protocol.design.schema_rules import AFTER_ALL_LISTENERS
from ddlsim.protocol.design.time_rules import (
    activation_plus_skew,
    clock_of_this_life,
    whatever_delay,
)
from ddlsim.protocol.messages import CatalogUpdate, NodeJoined
from ddlsim.protocol.meta_commands import Stamped
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.metastorage.ticker import Ticker
from ddlsim.units import Micros, Timestamp

ENCODING_US = Micros(1_000)
"""How long a stamped command lies about before it is appended."""


class HesitantMetaStorage(MetaStorage):
    """A leader that stamps a command, prepares it, and then appends it (IGNITE-20290)."""

    async def _stamped_and_proposed(self, command: CatalogUpdate | NodeJoined) -> int:
        """Others may append between the stamp and the log."""
        stamped = Stamped(self.stamp(command), self._with_delay(command))
        await self.node.sleep(ENCODING_US)
        return self._propose(stamped) if self.group.is_leader else self.application.applied_index


class LooseTick(Record, frozen=True):
    """Safe time, told outside of the log."""

    sent_ts: Timestamp


class ShortcutMetaStorage(MetaStorage):
    """A leader that tells safe time to every node directly, besides what is in the log."""

    def start(self) -> None:
        """Hear of safe time also outside of the log."""
        self.node.on(LooseTick, self._on_tick)
        super().start()

    def _tick(self, term: int) -> None:
        super()._tick(term)
        config = self._config
        for name in (*config.voters, *config.learners):
            if name != self.node.name:
                self.node.send(name, LooseTick(self.group.last_stamp))

    def _on_tick(self, sender: str, tick: LooseTick) -> None:
        del sender
        self.application.sync.publish(tick.sent_ts)


class FaithfulTicker(Ticker):
    """Ticks for good under the term under which it ticked first (IGNITE-23206)."""

    _first_term: int | None = None

    def term_to_tick(self, term: int) -> int:
        """The term of the first election of this node."""
        if self._first_term is None:
            self._first_term = term
        return self._first_term


mutant(
    Mutant(
        name="appends_after_a_wait",
        summary="between a command's stamp and its place in the log others may be appended",
        breaks="98.safe.3",
        caught_by="atomicity",
        parts={"metastorage": HesitantMetaStorage},
    )
)
mutant(
    Mutant(
        name="resends_old_stamp",
        summary="a command that is sent again is appended again, under its first stamp",
        breaks="98.x.5",
        also=("98.flow.1",),
        caught_by="machinery",
        fields={"stamp_again": first_stamp},
    )
)
mutant(
    Mutant(
        name="ticks_in_old_term",
        summary="a leader that is elected again goes on ticking under its old term",
        breaks="98.x.6",
        caught_by="liveness",
        parts={"ticker": FaithfulTicker},
    )
)
mutant(
    Mutant(
        name="trusts_own_clock",
        summary="a new leader stamps by its own clock, whatever is in its log",
        breaks="98.x.1",
        caught_by="machinery",
        fields={"take_over_clock": keep_own_clock},
    )
)
mutant(
    Mutant(
        name="safe_time_after_all_listeners",
        summary="safe time waits for listeners that have nothing to do with the catalog",
        breaks="98.risk.2",
        caught_by="liveness",
        fields={"publish_safe_time": AFTER_ALL_LISTENERS},
    )
)
mutant(
    Mutant(
        name="activates_as_planned",
        summary="a later version may activate before an earlier one where DD was lowered",
        breaks="98.past.2",
        caught_by="forward_compatible",
        fields={"activation_in_order": as_planned},
    )
)
mutant(
    Mutant(
        name="subtracts_raised_delay",
        summary="a reader whose DD is raised while it runs waits by the new one at once",
        breaks="98.x.4",
        caught_by="atomicity",
        fields={"reader_delay_bound": whatever_delay},
    )
)
mutant(
    Mutant(
        name="acknowledges_without_rounding",
        summary="a DDL is acknowledged at Tu + CSmax with its logical part, not at the next tick",
        breaks="98.flow.4",
        caught_by="own_ddl",
        fields={"acknowledge_ts": activation_plus_skew},
    )
)
mutant(
    Mutant(
        name="ticks_beside_the_log",
        summary="safe time is also told outside of the log and overtakes updates",
        breaks="98.x.6",
        caught_by="atomicity",
        parts={"metastorage": ShortcutMetaStorage},
    )
)
mutant(
    Mutant(
        name="restarts_at_zero",
        summary="a node that restarts begins with the safe time of a new cluster",
        breaks="98.x.7",
        caught_by="machinery",
        fields={"restored_safe_ts": from_the_beginning},
    )
)
mutant(
    Mutant(
        name="restarts_with_old_clock",
        summary="a node that restarts begins its hybrid clock at its physical one",
        breaks="98.x.7",
        caught_by="machinery",
        fields={"clock": clock_of_this_life},
    )
)
