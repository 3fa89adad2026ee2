"""How a table or a view comes into a transaction under its initial schema I.

For each table of each transaction there is one enlistment, with the timestamp at which the table
was first used and the version that held then, tableEnlistSV [110.flow.4]. Whatever name a later
operation uses for it, that version stays: were it resolved anew, one transaction could run on two
schemas of a table [110.req.1].

A view is enlisted beside the table that it reads; changes of either concern the transaction
[110.view]. A view over no table or several is not read: joins are not modelled.

A design may enlist a table again as long as nothing of the transaction has run on it [110.quirk].
"""

from ddlsim.history.events import Enlisted
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import SchemaObject, Table, View
from ddlsim.protocol.messages import Answer, ClientOperation, Mismatch, Refusal
from ddlsim.protocol.strategy import CoordinatorPart
from ddlsim.protocol.transaction_record import ACTIVE, Enlistment, Transaction
from ddlsim.units import Timestamp


def enlisted(
    coordinator: CoordinatorPart,
    tx: Transaction,
    name: str,
    found: SchemaObject,
    enlist_ts: Timestamp,
) -> Enlistment | Reason:
    """Put what the name meant at `enlist_ts` into the transaction, and what a view reads."""
    snapshot = coordinator.sync.catalog.at(enlist_ts)
    passed: list[View] = []
    base: SchemaObject | None = found
    while isinstance(base, View):
        if len(base.tables) != 1:
            return Reason.TABLE_NOT_FOUND
        passed.append(base)
        base = snapshot.by_id(base.tables[0])
    if not isinstance(base, Table):
        return Reason.TABLE_NOT_FOUND
    known = tx.by_id.get(base.id)
    table = base if known is None else known.table
    kept = [_one(coordinator, tx, view, table, enlist_ts) for view in passed]
    enlistment = _one(coordinator, tx, base, table, enlist_ts)
    if kept:
        views = tuple((view.object_id, view.version) for view in kept)
        first = kept[0]
        enlistment = Enlistment(
            first.object_id, name, first.enlist_ts, first.version, enlistment.table, views
        )
    tx.by_name[name] = enlistment
    return enlistment


def _one(
    coordinator: CoordinatorPart,
    tx: Transaction,
    found: Table | View,
    table: Table,
    enlist_ts: Timestamp,
) -> Enlistment:
    """One enlistment per object: known under another name, it keeps its first version."""
    node = coordinator.node
    known = tx.by_id.get(found.id)
    if known is not None:
        node.probe("enlisted-under-two-names")
        return known
    assert found.version > 0, f"{found.name} has no version"
    enlistment = Enlistment(found.id, found.name, enlist_ts, found.version, table)
    tx.by_id[found.id] = enlistment
    if node.recording:
        node.record(
            Enlisted(
                node.watch.now_us,
                tx.id.label,
                node.name,
                found.id,
                found.name,
                enlist_ts,
                found.version,
            )
        )
    coordinator.marks.enlisted(tx, enlistment)
    return enlistment


async def enlisted_again(
    coordinator: CoordinatorPart,
    tx: Transaction,
    request: ClientOperation,
    enlistment: Enlistment,
    reply: Answer | Mismatch | Refusal,
) -> Enlistment | Reason | None:
    """What the table of a refused operation is enlisted as anew, or why not; None: it is refused.

    Only under a design whose rule `enlists_again` allows it, and only where every request of the
    transaction for the table was refused for the table's schema: none ran or may still run, so no
    columns were shown either. The name is looked up as at a first use, at this clock's now. That is
    beyond op_ts of the primary that refused, whose answer has moved this clock: so another version
    is found. Participants, leases and locks of the first attempt stay.

    There is no counter. Another version goes to the client, which encodes anew, a few times and
    within the time limit of its operation; what is the same as before is not sent again.

    Left out: implicit transactions, which their coordinator tries again as a whole [110.flow.8];
    read-only ones, which no primary refuses; transactions whose commit is under way; tables that
    are dropped at op_ts, also where the name has another meaning by now.
    """
    again = coordinator.strategy.enlists_again
    if (
        type(reply) is not Refusal
        or reply.reason is not Reason.SCHEMA_CHANGED
        or request.implicit
        or tx.state is not ACTIVE
        or not again(tx.asked.get(enlistment.table.id, 0))
    ):
        return None
    coordinator.node.probe("reenlisted")
    _forget(tx, enlistment.table.id)
    coordinator.marks.forgotten(tx)
    found = await coordinator.strategy.enlist(coordinator, tx, request.table, request.op)
    if type(found) is Enlistment and _same(found, enlistment):
        return None
    return found


def _forget(tx: Transaction, table_id: int) -> None:
    """Take a table, and the views that lead to it, out of the transaction, under all names."""
    for name, one in list(tx.by_name.items()):
        if one.table.id == table_id:
            del tx.by_name[name]
            for view_id, _ in one.views:
                tx.by_id.pop(view_id, None)
    tx.by_id.pop(table_id, None)


def _same(one: Enlistment, other: Enlistment) -> bool:
    mine, others = one.table, other.table
    return (mine.id, mine.version, one.views) == (others.id, others.version, other.views)
