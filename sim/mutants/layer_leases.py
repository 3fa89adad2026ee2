"""Processes that take a lease for longer than it is, and an update that does not wait for one."""

from ddlsim.fdb.database import Database
from ddlsim.layer.design import LayerDesign, LayerPart
from ddlsim.layer.keyspace import LEASES
from ddlsim.layer.part import LayerBoot, Part
from ddlsim.layer.process import LayerProcess
from ddlsim.layer.schema import Schema
from ddlsim.layer.store import StoreTransaction
from ddlsim.model.ports import Node
from ddlsim.mutants.base import mutates
from ddlsim.units import US_PER_MS, Micros

POST = "re-reading the schema every 1 minute, and refuse to answer queries if you haven't"


class Lasting(Part):
    """A part whose leases begin when they end."""

    def confirmed_ms(self, number: int) -> int | None:
        since_ms = super().confirmed_ms(number)
        return None if since_ms is None else since_ms + self.design.lease_ms


class Late(Part):
    """A part to which a schema was the newest when the answer came, not when it was asked for."""

    def confirm(self, number: int, read_ms: int) -> None:
        del read_ms
        super().confirm(number, self.now_ms())


@mutates("process", "holds_leases_twice_as_long", POST, "two_versions", under="c5_lease")
class HoldsTwiceAsLong(LayerProcess):
    """A process works under its lease for twice as long as it lasts."""

    def __init__(
        self, node: Node, design: LayerDesign, database: Database, boot: LayerBoot
    ) -> None:
        super().__init__(node, design, database, boot)
        self.part.__class__ = Lasting


@mutates("process", "confirms_after_the_read", POST, "two_versions", under="c5_lease")
class ConfirmsAfterTheRead(LayerProcess):
    """A process counts its lease from the answer with the schema, not from before the read."""

    def __init__(
        self, node: Node, design: LayerDesign, database: Database, boot: LayerBoot
    ) -> None:
        super().__init__(node, design, database, boot)
        self.part.__class__ = Late


@mutates(
    "pause_before",
    "overlooks_a_lasting_lease",
    "docs/RFCS/20151009_table_descriptor_lease.md: the next version once no lease is on the last",
    "two_versions",
    under="crdb",
)
async def one_lease_overlooked(
    layer: LayerPart, transaction: StoreTransaction, schema: Schema
) -> Micros:
    """An update waits for all leases on older schemas but the first one that still lasts."""
    version = await transaction.read_version()
    leases = await transaction.get_range(*LEASES)
    older = [ends for key, ends in leases if int(str(key[3])) < schema.number]
    lasting = [ends for ends in older if isinstance(ends, int) and ends > version]
    return Micros(layer.design.poll_ms * US_PER_MS * (len(lasting) > 1))
