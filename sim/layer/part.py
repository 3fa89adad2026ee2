"""What a process of the layer has: its store, the schema that it keeps, and what it has read."""

from collections.abc import Callable

from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.versions import stamp, versions_in
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.schema import Cached, Schema, Update, logged
from ddlsim.layer.store import Store
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.ddl import ObjectChange
from ddlsim.model.ports import Node
from ddlsim.model.records import Record
from ddlsim.units import US_PER_MS, Micros, Timestamp, physical_ms


class LayerBoot(Record, frozen=True):
    """What a process starts with: the initial schema, in force since `version`.

    `restarted`: an earlier incarnation may have left statements unfinished.
    """

    catalog: tuple[tuple[ObjectChange, ...], ...]
    version: int
    settings: FdbSettings
    restarted: bool = False


class Part:
    """The `LayerPart` of a process: what its rules read, and what they keep there."""

    def __init__(self, node: Node, design: LayerDesign, store: Store, boot: LayerBoot) -> None:
        self.node = node
        self.design = design
        self.store = store
        self.settings = boot.settings
        self.cache: Cached | None = None
        self.mode = ""
        self.newest_tag: int | None = None
        self.transactions: dict[str, LayerTx] = {}
        self.leases: dict[int, int] = {}
        self.lease_again: Callable[[], None] = lambda: None
        self.queued: dict[int, str] = {}
        self.log = Schema(())
        self._schemas: dict[int, Schema] = {}
        self._known_since_ms: dict[int, int] = {}
        self._confirmed_ms: dict[int, int] = {}
        self.learn(
            tuple(
                Update(number, node.name, None, "", boot.version, boot.version, objects)
                for number, objects in enumerate(boot.catalog, 1)
            )
        )
        self.first = self.log.number

    def schema(self, number: int) -> Schema:
        """The schema of a number that it has read."""
        assert number <= self.log.number, f"{self.node.name} has not read update {number}"
        if number == self.log.number:
            return self.log
        if number not in self._schemas:
            self._schemas[number] = self.log.until(number)
        return self._schemas[number]

    def learn(self, updates: tuple[Update, ...]) -> None:
        """Take in updates that it has read; those that it has are ignored."""
        new = tuple(one for one in updates if one.number > self.log.number)
        for place, update in enumerate(new):
            self._known_since_ms[update.number] = self.now_ms()
            assert update.number == self.log.number + 1 + place, "a gap in the schema's log"
            if self.node.recording and self.node.is_first(("schema-update", update.number)):
                stamped = (self.stamp(update.version), self.stamp(update.activation))
                self.node.record(logged(update, update.node, self.node.watch.now_us, stamped))
        self.log = self.log.extended(new)

    def confirm(self, number: int, read_ms: int) -> None:
        """A read that began at this instant found the update of this number to be the newest."""
        self._confirmed_ms[number] = max(read_ms, self._confirmed_ms.get(number, read_ms))

    def confirmed_ms(self, number: int) -> int | None:
        """When the last read began that did so, by its own clock; None: none since it started."""
        return self._confirmed_ms.get(number)

    def known_since_ms(self, number: int) -> int:
        """When it has read the update of this number, by its own clock."""
        return self._known_since_ms[number]

    @property
    def distance(self) -> int:
        """The design's distance in versions."""
        return versions_in(self.design.distance_ms, self.settings.versions_per_second)

    def now_ms(self) -> int:
        """Its own clock, in whole milliseconds."""
        return physical_ms(self.node.clock.current())

    async def rest(self, purpose: str) -> None:
        """Rest a little after an error of the store."""
        most_us = Micros(self.settings.retry_ms * US_PER_MS)
        await self.node.sleep(self.node.spread(purpose, most_us))

    def spread(self, purpose: str, bound: int) -> int:
        """A number below the bound, drawn anew at each call."""
        return self.node.spread(purpose, Micros(bound))

    def stamp(self, version: int) -> Timestamp:
        """A version as a timestamp of the history."""
        return stamp(version, self.settings.versions_per_second)
