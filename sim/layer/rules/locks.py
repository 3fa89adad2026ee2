"""Locks on tables with a queue, and a catalog that is read at a snapshot of its own.

[admit, fence, after_failure, exclude, after_statement]

    ("s", "lock", object, transaction)      the version at which a transaction's lock ends
    ("s", "queue", object)                  the statement that waits for them, and when that ends
    ("s", "broken", transaction)            written by what takes locks that have ended away

A transaction locks a table at its first use, until its end, and reads the table's schema under the
lock. A statement locks what it changes against all others: it waits until no transaction has a lock
left, and what comes meanwhile waits behind it. One that is refused leaves the queue. No wait lasts
longer than `lock_timeout_ms`, by the clock of the process that waits; for all others a place in the
queue ends so many versions later.

A lock lies in the store, where a process that dies leaves it behind: it ends with the time limit of
its transaction, in versions. What takes an ended one away conflicts with the transaction's commit.
"""

from functools import partial

from ddlsim.fdb.errors import FdbError
from ddlsim.fdb.versions import versions_in
from ddlsim.layer.design import LayerPart
from ddlsim.layer.keyspace import broken_key, lock_key, locks_on, queue_key
from ddlsim.layer.rules.reading import head_of, newest_of, numbered
from ddlsim.layer.schema import Schema
from ddlsim.layer.store import StoreTransaction, run
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import ColumnType, SchemaObject, Table
from ddlsim.protocol.messages import ClientOperation
from ddlsim.protocol.schema.indexes import maintained
from ddlsim.units import US_PER_MS, Micros

# --- transactions  [admit, fence, after_failure] --------------------------------------------------


async def locked_with_a_fresh_catalog(
    layer: LayerPart, tx: LayerTx, request: ClientOperation
) -> Reason | None:
    """Lock a table at its first use, and read its schema as it is under the lock."""
    return await _locked(layer, tx, request, fresh=True)


async def locked_with_the_catalog_of_the_snapshot(
    layer: LayerPart, tx: LayerTx, request: ClientOperation
) -> Reason | None:
    """Lock a table at its first use, and read its schema as of the transaction's read version."""
    return await _locked(layer, tx, request, fresh=False)


async def unlocked_with_a_fresh_catalog(
    layer: LayerPart, tx: LayerTx, request: ClientOperation
) -> Reason | None:
    """Read the newest schema at the first use of a table, without a lock on it."""
    if _uses(tx, request.table):
        return None
    await tx.read_version()
    return _goes_on(tx, await run(layer.store, partial(_newest, layer)), request)


async def _locked(
    layer: LayerPart, tx: LayerTx, request: ClientOperation, *, fresh: bool
) -> Reason | None:
    if _uses(tx, request.table):
        return None
    await tx.read_version()
    until_ms = layer.now_ms() + layer.design.lock_timeout_ms
    transaction = layer.store.transaction()
    while True:
        try:
            schema = await _newest(layer, transaction if fresh else tx.store)
            table = schema.latest().meant(request.table)
            if table is None or await _lock(layer, transaction, tx, table.id):
                return _goes_on(tx, schema, request)
            layer.node.probe("lock-awaited")
            await layer.node.sleep(Micros(layer.design.poll_ms * US_PER_MS))
            transaction = layer.store.transaction()
        except FdbError as error:
            await transaction.on_error(error)
        if tx.reason is not None:
            release(layer, tx, tx.reason)  # again: the lock may have come behind its end
            return tx.reason
        if layer.now_ms() >= until_ms:
            return Reason.LOCK_TIMEOUT


def _uses(tx: LayerTx, name: str) -> bool:
    table = None if tx.used is None else tx.used.snapshot.meant(name)
    return table is not None and table.id in tx.tables


async def _newest(layer: LayerPart, transaction: StoreTransaction) -> Schema:
    number = await head_of(layer, transaction)
    return await numbered(layer, transaction, number)


async def _lock(
    layer: LayerPart, transaction: StoreTransaction, tx: LayerTx, object_id: int
) -> bool:
    """Lock a table; False while a statement waits for it. A lock of unknown result counts as had,
    so that the end of the transaction releases it; if it is there, the statement came later."""
    version, key = await transaction.read_version(), lock_key(object_id, tx.label)
    queued = await transaction.get(queue_key(object_id))
    waits = isinstance(queued, tuple) and queued[1] > version
    if waits and (object_id not in tx.locks or await transaction.get(key) is None):
        return False
    span = versions_in(layer.node.settings.tx_timeout_ms, layer.settings.versions_per_second)
    transaction.set(key, version + span)
    tx.locks.add(object_id)
    await transaction.commit()
    if tx.reason is not None:
        await _release(layer, tx.label, (object_id,))
    return True


def _goes_on(tx: LayerTx, schema: Schema, request: ClientOperation) -> Reason | None:
    """Go on under a schema; refuse where a table that was used is another one in it by now."""
    used = tx.used
    if used is not None and schema.same_until(used.schema.number, tx.tables) < schema.number:
        return Reason.SCHEMA_CHANGED
    if used is None or schema.number > used.schema.number:
        used = tx.used = newest_of(schema)
    assert tx.version is not None, f"{tx.label} has no read version"
    table = used.snapshot.meant(request.table)
    if table is not None:
        before = used.schema.at(tx.version).by_id(table.id)
        as_before = _indexes(before)
        tx.too_new |= {one for one, types in _indexes(table).items() if as_before.get(one) != types}
    return None


def _indexes(table: SchemaObject | None) -> dict[int, tuple[ColumnType, ...]]:
    """The indexes of a table, with the types of their columns: another type writes them anew."""
    if not isinstance(table, Table):
        return {}
    types = {column.id: column.type for column in table.columns}
    return {one.id: tuple(types[column] for column in one.columns) for one in maintained(table)}


async def until_the_end(layer: LayerPart, tx: LayerTx) -> Reason | None:
    """Release the locks with the commit; fail if one of them was taken away."""
    if not tx.wrote:
        release(layer, tx, Reason.TX_FINISHED)
        return None
    tx.store.add_read_conflict_key(broken_key(tx.label))
    for object_id in sorted(tx.locks):
        tx.store.clear(lock_key(object_id, tx.label))
    return None


def release(layer: LayerPart, tx: LayerTx, _reason: Reason) -> None:
    """Release the locks of a transaction that has written nothing, or failed."""
    if tx.locks:
        layer.node.spawn(_release(layer, tx.label, tuple(sorted(tx.locks))))


async def _release(layer: LayerPart, label: str, objects: tuple[int, ...]) -> None:
    async def cleared(transaction: StoreTransaction) -> None:
        for object_id in objects:
            transaction.clear(lock_key(object_id, label))

    await run(layer.store, cleared)


# --- DDL  [exclude, after_statement] --------------------------------------------------------------


async def once_unlocked(
    layer: LayerPart, transaction: StoreTransaction, command: str, objects: tuple[int, ...]
) -> Micros | Reason:
    """Wait, in front of what comes later, until no transaction has a lock on what is to change."""
    return await _excluded(layer, transaction, command, objects, queue=True)


async def once_unlocked_without_a_queue(
    layer: LayerPart, transaction: StoreTransaction, command: str, objects: tuple[int, ...]
) -> Micros | Reason:
    """Wait until no transaction has a lock on what is to change; let what comes later through."""
    return await _excluded(layer, transaction, command, objects, queue=False)


async def _excluded(
    layer: LayerPart,
    transaction: StoreTransaction,
    command: str,
    objects: tuple[int, ...],
    *,
    queue: bool,
) -> Micros | Reason:
    version = await transaction.read_version()
    free, mine, late = True, False, False
    for object_id in objects:
        for key, ends in await transaction.get_range(*locks_on(object_id)):
            assert isinstance(ends, int), f"{ends!r} is no version"
            free &= ends <= version
            transaction.clear(key)
            transaction.set(broken_key(str(key[3])), version)
        queued = await transaction.get(queue_key(object_id))
        if isinstance(queued, tuple):
            own = queued[0] == command
            mine, late = mine or own, late or (own and queued[2] <= layer.now_ms())
            free &= own or queued[1] <= version
            transaction.clear(queue_key(object_id))
    if mine:  # also of an earlier incarnation
        layer.queued = dict.fromkeys(objects, command)
    if free:
        return Micros(0)
    if late:
        return Reason.LOCK_TIMEOUT
    if queue and not mine:
        await _queue(layer, command, objects)
    layer.node.probe("locks-awaited")
    return Micros(layer.design.poll_ms * US_PER_MS)


async def _queue(layer: LayerPart, command: str, objects: tuple[int, ...]) -> None:
    """Stand in front of what comes later, where no other statement does; else try again later."""
    transaction = layer.store.transaction()
    try:
        version = await transaction.read_version()
        for object_id in objects:
            queued = await transaction.get(queue_key(object_id))
            if isinstance(queued, tuple) and queued[1] > version:
                return
        span = versions_in(layer.design.lock_timeout_ms, layer.settings.versions_per_second)
        until_ms = layer.now_ms() + layer.design.lock_timeout_ms
        for object_id in objects:
            transaction.set(queue_key(object_id), (command, version + span, until_ms))
            layer.queued[object_id] = command
        await transaction.commit()
    except FdbError as error:
        await transaction.on_error(error)


async def out_of_the_queue(layer: LayerPart) -> None:
    """Leave the queue where a statement is refused; with its update it has left it."""
    queued, layer.queued = layer.queued, {}
    if queued and not any(one.command in queued.values() for one in layer.log.updates):
        layer.node.spawn(_leave(layer, queued))


async def _leave(layer: LayerPart, queued: dict[int, str]) -> None:
    async def cleared(transaction: StoreTransaction) -> None:
        for object_id, command in queued.items():
            found = await transaction.get(queue_key(object_id))
            if isinstance(found, tuple) and found[0] == command:
                transaction.clear(queue_key(object_id))

    await run(layer.store, cleared)
