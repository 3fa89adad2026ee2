"""The models of a node's schema safe time and of the idle commands that keep it moving.

Safe time only grows, and not while a restarted node is restored. A look-up at Top waits for
Top - DD, with the smaller of its own DD and the one that messages surely carry; each wait ends in
the instant in which safe time has come there [98.past.3]. A leader's idle command is due H after
the last command, under the term of its election, and none is once the term is over [98.safe.3].
"""

from collections.abc import Callable
from typing import ClassVar, cast

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.ports import Ports
from ddlsim.cluster.models.schema.catalog import ModelledCatalog
from ddlsim.cluster.models.waits import Waits
from ddlsim.model.ports import Node
from ddlsim.protocol.metastorage.safe_time_ticker import SafeTimeTicker
from ddlsim.protocol.metastorage.schema_sync import NO_BOUND, SchemaSync
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import LOGICAL_BITS, MIN_TIMESTAMP, US_PER_MS, Timestamp, show


class ModelledSync(SchemaSync):
    """Schema safe time that compares its moves, its waits, and what look-ups wait for."""

    models: ClassVar[Models]

    def __init__(
        self, node: Node, strategy: Strategy, catalog: Catalog, cluster_delay_ms: int = NO_BOUND
    ) -> None:
        super().__init__(node, strategy, catalog, cluster_delay_ms)
        self._cluster_delay_ms = cluster_delay_ms
        self._known = (0, 0, 0)
        self._divergence = self.models.divergence("safe time", node.name)
        self._waits = Waits(self._divergence, self.models.loop, "safe time", Timestamp)

    def advance_safe_time(self, ts: Timestamp) -> None:
        expected = self.safe_time if self.is_restoring else max(self.safe_time, ts)
        super().advance_safe_time(ts)
        if self.safe_time != expected:
            self._divergence.compare(
                f"safe time behind {show(ts)}", self.safe_time, expected, Timestamp
            )
        self._waits.reached(self.safe_time)

    async def safe_time_reaches(self, ts: Timestamp) -> None:
        if self.safe_time >= ts:
            await super().safe_time_reaches(ts)
            return
        wait = self._waits.begin(ts)
        await super().safe_time_reaches(ts)
        self._waits.end(wait, self.safe_time)

    def needed_for(self, op_ts: Timestamp) -> tuple[Timestamp, Timestamp]:
        found: tuple[Timestamp, Timestamp] = super().needed_for(op_ts)
        settings = self.node.settings
        known = (settings.delay_duration_ms, settings.max_clock_skew_ms, op_ts - found[0])
        if known != self._known:
            self._known = known
            self._compare_needed(op_ts, found)
        return found

    def _compare_needed(self, op_ts: Timestamp, found: tuple[Timestamp, Timestamp]) -> None:
        """Compare what a look-up waits for: at first, and where the distance from Top changes."""
        settings, strategy = self.node.settings, self.strategy
        bound_ms = strategy.reader_delay_bound(self._cluster_delay_ms)
        delay_ms = min(bound_ms, settings.delay_duration_ms)
        complete_ts = strategy.completeness_ts(op_ts, delay_ms, settings.max_clock_skew_ms)
        if found != (complete_ts, strategy.lookup_ts(op_ts, delay_ms)):
            self._divergence.found(
                f"for {show(op_ts)} it waits for, and looks up at, "
                f"{show(found[0])} and {show(found[1])}"
            )


class ModelledTicker(SafeTimeTicker):
    """Idle commands, compared: when the next one is due, and in which term it is sent."""

    models: ClassVar[Models]

    def __init__(self, node: Node, tick: Callable[[int], None], *, enabled: bool) -> None:
        self._ports = Ports(node)
        self._ticked: list[int] = []
        self._ended_term = 0
        self._due_us: int | None = None

        def noted(term: int) -> None:
            self._ticked.append(term)
            tick(term)

        super().__init__(cast("Node", self._ports), noted, enabled=enabled)
        self._divergence = self.models.divergence("idle commands", node.name)

    def start(self, term: int) -> None:
        before = self.term
        super().start(term)
        expected = term if term > self._ended_term else before
        self._divergence.compare(f"the term behind the start of {term}", self.term, expected)

    def stop(self, term: int) -> None:
        super().stop(term)
        self._ended_term = max(self._ended_term, term)
        self._due_us = None
        self._divergence.compare(f"the term behind the end of {term}", self.term, None)
        if self._timer is not None:
            self._divergence.found(f"an idle command is due though term {term} is over")
        if not self.is_late(self._ended_term):
            self._divergence.found(f"a start of term {self._ended_term}, which is over, is in time")

    def arm(self) -> None:
        self._ports.armed = []
        super().arm()
        ticks = self.term is not None and self._enabled
        interval_us = self._node.settings.safe_time_interval_ms * US_PER_MS
        expected = [interval_us] if ticks else []
        self._divergence.compare("when an idle command is due", self._ports.armed, expected)
        self._due_us = self.models.loop.now_us + interval_us if ticks else None

    def _idle(self) -> None:
        self._ticked = []
        if self.models.loop.now_us < (self._due_us or 0):
            self._divergence.found(f"an idle command is sent before it is due at {self._due_us} us")
        term = self.term
        super()._idle()
        expected = [] if term is None else [term]
        self._divergence.compare("the terms of idle commands", self._ticked, expected)


class DatedSync(ModelledSync):
    """Schema safe time, and what it was before this instant, in `before_ts`."""

    catalog: ModelledCatalog
    before_ts = MIN_TIMESTAMP
    _moved_us = -1

    def __init__(
        self, node: Node, strategy: Strategy, catalog: Catalog, cluster_delay_ms: int = NO_BOUND
    ) -> None:
        super().__init__(node, strategy, catalog, cluster_delay_ms)
        bounded = strategy.reader_delay_bound.__name__ == "agreed_delay"
        self._bound_ms = cluster_delay_ms if bounded else NO_BOUND
        self._is_known = strategy.completeness_ts.__name__ == "operation_less_delay"

    def wait_for(self, ts: Timestamp) -> tuple[int, Timestamp, int] | None:
        """The safe time that the clause asks for, the present one, and the instant.

        None for a design that waits for another one.
        """
        if not self._is_known:
            return None
        delay_ms = min(self.node.settings.delay_duration_ms, self._bound_ms)
        return ts - (delay_ms << LOGICAL_BITS), self.safe_time, self.node.watch.now_us

    def advance_safe_time(self, ts: Timestamp) -> None:
        now = self.node.watch.now_us
        if now > self._moved_us and ts > self.safe_time:
            self._moved_us, self.before_ts = now, self.safe_time
        super().advance_safe_time(ts)
