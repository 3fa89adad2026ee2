"""How a table or a view comes into a transaction under its initial schema I.

For each table of each transaction there is one enlistment, with the timestamp at which the table
was first used and the version that held then, tableEnlistSV [110.flow.4]. Whatever name a later
operation uses for it, that version stays: were it resolved anew, one transaction could run on two
schemas of a table [110.req.1].

A view is enlisted beside the table that it reads; changes of either concern the transaction
[110.view]. A view over no table or several is not read: joins are not modelled.
"""

from ddlsim.history.events import Enlisted
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import SchemaObject, Table, View
from ddlsim.protocol.strategy import CoordinatorPart
from ddlsim.protocol.transaction_record import Enlistment, Transaction
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
