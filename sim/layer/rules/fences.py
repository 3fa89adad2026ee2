"""What is checked before an operation and before a commit, and what becomes of a failure.

[admit, fence, after_failure, newer_row, token]
"""

from ddlsim.layer.design import LayerPart
from ddlsim.layer.keyspace import CUTOVER, HEAD, LOCAL_HEAD, object_key, step_key
from ddlsim.layer.rules.reading import kept, refreshed_apart
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import ClientOperation
from ddlsim.units import US_PER_MS, Timestamp

# --- before an operation  [admit] -----------------------------------------------------------------


async def always(_layer: LayerPart, _tx: LayerTx, _request: ClientOperation) -> Reason | None:
    """Use what the process has, however old."""
    return None


async def while_leased(layer: LayerPart, tx: LayerTx, _request: ClientOperation) -> Reason | None:
    """Refuse where the schema was the newest longer than `lease_ms` ago, by the own clock (C5)."""
    if tx.used is None:
        await kept(layer, tx)
    return None if _is_leased(layer, tx) else Reason.METADATA_LATE


async def while_newest_leased(
    layer: LayerPart, tx: LayerTx, _request: ClientOperation
) -> Reason | None:
    """As while_leased, by the schema that the process has by now, not that of the transaction."""
    await kept(layer, tx)
    return None if _has_lease(layer, _kept_number(layer)) else Reason.METADATA_LATE


def _is_leased(layer: LayerPart, tx: LayerTx) -> bool:
    """Whether the process has a lease on the schema of a transaction, whatever it has by now."""
    return _has_lease(layer, _kept_number(layer) if tx.used is None else tx.used.schema.number)


def _has_lease(layer: LayerPart, number: int | None) -> bool:
    since_ms = None if number is None else layer.confirmed_ms(number)
    return since_ms is not None and layer.now_ms() < since_ms + layer.design.lease_ms


def _kept_number(layer: LayerPart) -> int | None:
    return None if layer.cache is None else layer.cache.schema.number


def _is_behind(layer: LayerPart, request: ClientOperation) -> bool:
    number = request.session_ts
    return number is not None and (layer.cache is None or layer.cache.schema.number < number)


async def token_awaited(layer: LayerPart, _tx: LayerTx, request: ClientOperation) -> Reason | None:
    """Wait until the process has the schema that the client has seen (C4)."""
    until_ms = layer.now_ms() + layer.node.settings.operation_timeout_us // US_PER_MS
    while _is_behind(layer, request):
        if layer.now_ms() >= until_ms:
            return Reason.METADATA_LATE
        await layer.rest("token")
    return None


async def token_fetched(layer: LayerPart, _tx: LayerTx, request: ClientOperation) -> Reason | None:
    """Read the schema where the client has seen a newer one (C4)."""
    if _is_behind(layer, request):
        await refreshed_apart(layer)
    return None


async def token_refused(layer: LayerPart, _tx: LayerTx, request: ClientOperation) -> Reason | None:
    """Refuse where the client has seen a newer schema; it may try again (C4)."""
    return Reason.METADATA_LATE if _is_behind(layer, request) else None


# --- before a commit  [fence] ---------------------------------------------------------------------


async def unfenced(_layer: LayerPart, _tx: LayerTx) -> Reason | None:
    """Add nothing to what the transaction has read."""
    return None


async def schema_key(_layer: LayerPart, tx: LayerTx) -> Reason | None:
    """Fail if any schema changed since the read version (C15, C16)."""
    tx.store.add_read_conflict_key(HEAD)
    return None


async def object_keys(_layer: LayerPart, tx: LayerTx) -> Reason | None:
    """Fail if the schema of a table changed that the transaction has used."""
    for object_id in tx.tables:
        tx.store.add_read_conflict_key(object_key(object_id))
    return None


async def cutover_key(_layer: LayerPart, tx: LayerTx) -> Reason | None:
    """Fail if an update has come into force since the read version (C11)."""
    tx.store.add_read_conflict_key(CUTOVER)
    return None


async def schema_key_in_the_past(_layer: LayerPart, tx: LayerTx) -> Reason | None:
    """Fail if the schema changed since the process read it (C13)."""
    tx.store.add_read_conflict_key(HEAD, since=tx.schema_version)
    return None


async def local_head(layer: LayerPart, tx: LayerTx) -> Reason | None:
    """Let the proxy compare the head at the commit version (C7)."""
    assert tx.used is not None, f"{tx.label} has no schema"
    number = tx.used.schema.number
    tx.store.require_local(LOCAL_HEAD, None if number == layer.first else number)
    return None


async def lease_and_next_step(layer: LayerPart, tx: LayerTx) -> Reason | None:
    """Refuse after the lease; fail if the schema after the next one came meanwhile (C5).

    The update of number n + 2 writes a key that transactions under n read: so none of them commits
    behind it, however long the commit takes.
    """
    assert tx.used is not None, f"{tx.label} has no schema"
    tx.store.add_read_conflict_key(step_key(tx.used.schema.number + 2))
    return None if _is_leased(layer, tx) else Reason.METADATA_LATE


async def lease_and_unchanged_tables(layer: LayerPart, tx: LayerTx) -> Reason | None:
    """Refuse without a lease on what the process has, or if a table that was used changed in it.

    A transaction whose tables are the same counts as one under the newest schema; the key is the
    one that `lease_and_next_step` reads, of the schema after the next one.
    """
    assert tx.used is not None, f"{tx.label} has no schema"
    cache = layer.cache or await refreshed_apart(layer)
    if not _has_lease(layer, cache.schema.number):
        return Reason.METADATA_LATE
    if cache.schema.same_until(tx.used.schema.number, tx.tables) < cache.schema.number:
        return Reason.SCHEMA_CHANGED
    tx.store.add_read_conflict_key(step_key(cache.schema.number + 2))
    return None


# --- after a failure  [after_failure] -------------------------------------------------------------


def keep_the_schema(_layer: LayerPart, _tx: LayerTx, _reason: Reason) -> None:
    """A failure says nothing about the schema."""


def read_again_after_conflicts(layer: LayerPart, _tx: LayerTx, reason: Reason) -> None:
    """Every conflict may be with a schema change: read it anew (C13, C15-T5)."""
    if reason in (Reason.TX_CONFLICT, Reason.NEWER_ROW_VERSION, Reason.TABLE_NOT_FOUND):
        layer.cache = None


def read_again_after_newer_rows(layer: LayerPart, _tx: LayerTx, reason: Reason) -> None:
    """A row of a schema that the process has not: read it."""
    if reason is Reason.NEWER_ROW_VERSION:
        layer.cache = None


# --- rows of a newer schema  [newer_row] ----------------------------------------------------------


def refuse_newer_rows(_format: int, _used: int) -> int | Reason:
    """A row whose columns the process does not know ends the transaction."""
    return Reason.NEWER_ROW_VERSION


def decode_as_used(_format: int, used: int) -> int | Reason:
    """Decode it as a row of the schema that the process has (C13-T2)."""
    return used


# --- the token of an answer  [token] --------------------------------------------------------------


def no_token(_layer: LayerPart, _tx: LayerTx, _asked: Timestamp | None) -> Timestamp:
    """Tokens say nothing."""
    return Timestamp(0)


def schema_used(_layer: LayerPart, tx: LayerTx, asked: Timestamp | None) -> Timestamp:
    """The number of the schema that the transaction used: the client has seen it now (C4)."""
    number = 0 if tx.used is None else tx.used.schema.number
    return Timestamp(max(number, asked or 0))


def as_asked(_layer: LayerPart, _tx: LayerTx, asked: Timestamp | None) -> Timestamp:
    """The token of the request: a newer schema that the client has seen is forgotten (C4-T3)."""
    return asked or Timestamp(0)
