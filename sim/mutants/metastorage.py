"""The meta storage with one rule missing each: stamps, ticks, and what survives a change."""

from ddlsim.model.records import Record
from ddlsim.mutants.base import mutant, mutates
from ddlsim.protocol.design.failure_rules import (
    as_planned,
    first_stamp,
    from_the_beginning,
    keep_own_clock,
)
from ddlsim.protocol.design.schema_rules import AFTER_ALL_LISTENERS
from ddlsim.protocol.design.time_rules import (
    activation_plus_skew,
    ahead_of_physical_clocks,
    clock_of_this_life,
    whatever_delay,
)
from ddlsim.protocol.messages import CatalogUpdate, NodeJoined
from ddlsim.protocol.meta_commands import Stamped
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.metastorage.safe_time_ticker import SafeTimeTicker
from ddlsim.units import Micros, Timestamp

ENCODING_US = Micros(1_000)
"""How long a stamped command lies about before it is appended."""


@mutates("metastorage", "appends_after_a_wait", "98.safe.3", "atomicity")
class HesitantMetaStorage(MetaStorage):
    """Between a command's stamp and its place in the log others may be appended."""

    async def _stamped_and_proposed(self, command: CatalogUpdate | NodeJoined) -> int:
        """Others may append between the stamp and the log."""
        stamped = Stamped(self.stamp(command), self._with_delay(command))
        await self.node.sleep(ENCODING_US)
        return self._propose(stamped) if self.group.is_leader else self.application.applied_index


class LooseTick(Record, frozen=True):
    """Safe time, sent outside of the log."""

    sent_ts: Timestamp


@mutates("metastorage", "ticks_beside_the_log", "98.x.6", "atomicity")
class ShortcutMetaStorage(MetaStorage):
    """Safe time is also sent outside of the log and overtakes updates."""

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

    def _on_tick(self, _sender: str, tick: LooseTick) -> None:
        self.application.sync.advance_safe_time(tick.sent_ts)


@mutates("ticker", "ticks_in_old_term", "98.x.6", "liveness")
class FaithfulTicker(SafeTimeTicker):
    """A leader that is elected again goes on ticking under its old term."""

    _first_term: int | None = None

    def term_to_tick(self, term: int) -> int:
        """The term of the first election of this node."""
        if self._first_term is None:
            self._first_term = term
        return self._first_term


# fmt: off
mutant("resends_old_stamp", "98.x.5", "machinery", also=("98.flow.1",), reopens=("F-22",),
       stamp_again=first_stamp,
       summary="a command that is sent again is appended again, under its first stamp")
mutant("trusts_own_clock", "98.x.1", "machinery", reopens=("F-16",), take_over_clock=keep_own_clock,
       summary="a new leader stamps by its own clock, whatever is in its log")
mutant("safe_time_after_all_listeners", "98.risk.2", "liveness",
       publish_safe_time=AFTER_ALL_LISTENERS,
       summary="safe time waits for listeners that have nothing to do with the catalog")
mutant("activates_as_planned", "98.past.2", "forward_compatible", reopens=("F-23",),
       activation_in_order=as_planned,
       summary="a later version may activate before an earlier one where DD was lowered")
mutant("subtracts_raised_delay", "98.x.4", "atomicity", reopens=("F-21",),
       reader_delay_bound=whatever_delay,
       summary="a reader whose DD is raised while it runs waits by the new one at once")
mutant("acknowledges_without_rounding", "98.flow.4", "own_ddl", reopens=("F-18",),
       acknowledge_ts=activation_plus_skew,
       summary="a DDL is acknowledged at Tu + CSmax with its logical part, not at the next tick")
mutant("restarts_at_zero", "98.x.7", "machinery", reopens=("F-17",),
       restored_safe_ts=from_the_beginning,
       summary="a node that restarts begins with the safe time of a new cluster")
mutant("restarts_with_old_clock", "98.x.7", "machinery", reopens=("F-17",),
       clock=clock_of_this_life,
       summary="a node that restarts begins its hybrid clock at its physical one")
mutant("restarts_ahead_of_clocks", "98.x.7", "own_ddl", also=("98.own",),
       takes_part_ts=ahead_of_physical_clocks,
       summary="a node that restarts takes part while its hybrid clock is ahead of every physical")
