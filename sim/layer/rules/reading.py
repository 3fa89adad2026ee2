"""How a transaction gets its schema.  [read_schema]

What is read in the client's own transaction is as of its read version; read serializably, it also
makes the transaction fail if it is written before the commit. A process that keeps its schema from
one transaction to the next saves the read, and must find out in another way that it is current.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from ddlsim.fdb.keys import Key
from ddlsim.layer.design import LayerPart
from ddlsim.layer.keyspace import (
    HEAD,
    LOCAL_HEAD,
    LOG_END,
    RECORD,
    copy_key,
    log_key,
    version_key,
)
from ddlsim.layer.schema import Cached, Schema, Update, Used
from ddlsim.layer.store import StoreTransaction, run
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.reasons import Reason

OPTIMISTIC = "optimistic"
PESSIMISTIC = "pessimistic"


def newest_of(schema: Schema) -> Used:
    """The objects after the newest update of a schema."""
    return Used(schema, schema.latest())


async def head_of(
    layer: LayerPart, transaction: StoreTransaction, *, snapshot: bool = False
) -> int:
    """The number of the newest update, as of the read version."""
    return _number(layer, await transaction.get(HEAD, snapshot=snapshot))


def _number(layer: LayerPart, value: object) -> int:
    """The number of an update that a key holds; the initial schema's where it holds none."""
    return value if isinstance(value, int) else layer.first


def updates_of(found: list[tuple[Key, object]]) -> tuple[Update, ...]:
    """The updates of a range of the log."""
    return tuple(one for _, one in found if isinstance(one, Update))


async def numbered(
    layer: LayerPart, transaction: StoreTransaction, number: int, *, snapshot: bool = False
) -> Schema:
    """The schema of a number; what the process has not is read from the log."""
    if number > layer.log.number:
        begin = log_key(layer.log.number + 1)
        found = await transaction.get_range(begin, LOG_END, snapshot=snapshot)
        layer.learn(updates_of(found))
    return layer.schema(min(number, layer.log.number))


async def refreshed(
    layer: LayerPart, transaction: StoreTransaction, *, snapshot: bool = False
) -> Cached:
    """Read the head and what the process lacks, and keep it."""
    read_ms = layer.now_ms()
    number = await head_of(layer, transaction, snapshot=snapshot)
    schema = await numbered(layer, transaction, number, snapshot=snapshot)
    layer.cache = Cached(schema, number, await transaction.read_version(), read_ms)
    layer.confirm(number, read_ms)
    return layer.cache


async def refreshed_apart(layer: LayerPart) -> Cached:
    """The same in a transaction of its own, tried again after every error."""
    return await run(layer.store, partial(refreshed, layer))


# --- in every transaction -------------------------------------------------------------------------


async def whole_schema(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """Read all of the schema in every transaction, by one request (C1).

    The newest entry of the log has the number that the head has. The read conflicts with every
    update, since each writes an entry within the range, however far its end.
    """
    return await _whole(layer, tx, snapshot=False)


async def whole_schema_at_snapshot(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """As whole_schema, without a read conflict: later changes abort no transaction (C1-T1)."""
    return await _whole(layer, tx, snapshot=True)


async def _whole(layer: LayerPart, tx: LayerTx, *, snapshot: bool) -> Used | Reason:
    await tx.read_version()
    found = await tx.store.get_range(log_key(layer.first + 1), LOG_END, snapshot=snapshot)
    updates = updates_of(found)
    layer.learn(updates)
    return newest_of(layer.schema(updates[-1].number if updates else layer.first))


async def version_key_first(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """Read only the head, and the schema where it is another than the kept one (C1b)."""
    await tx.read_version()
    return await _by_number(layer, tx, await head_of(layer, tx.store))


async def version_key_then_elsewhere(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """As version_key_first, but the schema comes from another version (C1-T2)."""
    await tx.read_version()
    number = await head_of(layer, tx.store)
    if layer.cache is None or layer.cache.tag != number:
        other = await refreshed_apart(layer)
        layer.cache = Cached(other.schema, number, other.version, other.read_ms)
    return newest_of(layer.cache.schema)


async def _by_number(layer: LayerPart, tx: LayerTx, number: int) -> Used:
    if layer.cache is None or layer.cache.tag != number:
        read_ms, version = layer.now_ms(), await tx.read_version()
        schema = await numbered(layer, tx.store, number)
        layer.cache = Cached(schema, number, version, read_ms)
    return newest_of(layer.cache.schema)


async def one_of_the_copies(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """Read one of the copies of the schema, any one (C3)."""
    await tx.read_version()
    updates = await tx.store.get(copy_key(layer.spread("schema-copy", layer.design.copies)))
    if not isinstance(updates, tuple):
        return newest_of(layer.schema(layer.first))
    layer.learn(updates)
    return newest_of(layer.schema(updates[-1].number))


async def one_of_the_version_keys(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """Read one of the copies of the head, any one (C3b)."""
    await tx.read_version()
    place = layer.spread("version-key", layer.design.copies)
    number = await tx.store.get(version_key(place))
    return await _by_number(layer, tx, _number(layer, number))


async def local_to_storage(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """Ask the storage server for what it holds of the head at the read version (C7)."""
    await tx.read_version()
    number = await tx.store.local(LOCAL_HEAD)
    return await _by_number(layer, tx, _number(layer, number))


# --- with the read version ------------------------------------------------------------------------


async def metadata_version(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """Compare the metadata version, which came with the read version and conflicts (C12)."""
    return await _tagged(layer, tx, tx.store.metadata_version)


async def metadata_version_at_snapshot(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """As metadata_version, without a read conflict: what follows goes unseen (C12-T1)."""
    return await _tagged(layer, tx, lambda: tx.store.metadata_version(snapshot=True))


async def metadata_version_wrong_tag(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """The kept schema is tagged with the newest version that the process has seen (C12-T3)."""
    used = await metadata_version_at_snapshot(layer, tx)
    if layer.cache is not None and layer.newest_tag is not None:
        cache = layer.cache
        layer.cache = Cached(cache.schema, layer.newest_tag, cache.version, cache.read_ms)
    return used


async def _tagged(
    layer: LayerPart, tx: LayerTx, ask: Callable[[], Awaitable[int | None]]
) -> Used | Reason:
    version = await tx.read_version()
    tag = await ask()
    assert tag is not None, f"{tx.label} has bumped the metadata version itself"
    layer.newest_tag = max(tag, layer.newest_tag or tag)
    if layer.cache is None or layer.cache.tag != tag:
        read_ms = layer.now_ms()
        number = await head_of(layer, tx.store, snapshot=True)
        schema = await numbered(layer, tx.store, number, snapshot=True)
        layer.cache = Cached(schema, tag, version, read_ms)
    return newest_of(layer.cache.schema)


# --- kept -----------------------------------------------------------------------------------------


async def kept(layer: LayerPart, _tx: LayerTx) -> Used | Reason:
    """What the process has; read once if it has nothing (C2, C4, C5, C13, C15)."""
    cache = layer.cache or await refreshed_apart(layer)
    return newest_of(cache.schema)


async def by_mode(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """What the process has in optimistic mode, else the head in every transaction (C14).

    The read version is older than any switch to come: the window bounds the commit behind that.
    """
    await tx.read_version()
    if layer.mode == OPTIMISTIC:
        return await kept(layer, tx)
    return await version_key_first(layer, tx)


# --- in force at a version ------------------------------------------------------------------------


async def in_force_at_read_version(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """What is in force at the read version, by a log read at most the distance before (C8-C10)."""
    return await _in_force(layer, tx, layer.distance)


async def in_force_less_the_window(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """In force at the read version, by a log read the distance less the window before (C11).

    An update commits within a window of its read version, from which its distance counts. What a
    log lacks that was read at r commits behind r: it comes into force behind r + distance - window.
    """
    return await _in_force(layer, tx, layer.distance - layer.settings.window)


async def _in_force(layer: LayerPart, tx: LayerTx, valid_for: int) -> Used:
    version = await tx.read_version()
    cache = layer.cache
    if cache is None or not cache.version <= version < cache.version + valid_for:
        cache = await refreshed(layer, tx.store, snapshot=True)
    return Used(cache.schema, cache.schema.at(version))


async def by_the_record(layer: LayerPart, tx: LayerTx) -> Used | Reason:
    """In force at the read version, by a record of only the last change (C9-T2)."""
    version = await tx.read_version()
    cache = layer.cache
    if cache is None or not cache.version <= version < cache.version + layer.distance:
        record = await tx.store.get(RECORD, snapshot=True)
        fresh = await refreshed(layer, tx.store, snapshot=True)
        kept_record = record if isinstance(record, tuple) else None
        cache = Cached(fresh.schema, fresh.tag, fresh.version, fresh.read_ms, kept_record)
        layer.cache = cache
    if cache.record is None:
        return newest_of(cache.schema)
    before, after, since = cache.record
    return newest_of(layer.schema(before if version < since else after))
