"""What an update writes, and since when it is in force.

[publish, activation, pause_before, own_change]

The entry in the log is always written; here is what else the design's readers look at, in the same
transaction.
"""

from typing import Final

from ddlsim.layer.design import LayerPart, Publication
from ddlsim.layer.keyspace import (
    CUTOVER,
    FLAG,
    HEAD,
    LOCAL_HEAD,
    RECORD,
    copy_key,
    object_key,
    step_key,
    version_key,
)
from ddlsim.layer.schema import Cached, Schema
from ddlsim.layer.store import StoreTransaction
from ddlsim.units import US_PER_MS, Micros

WHOLE: Final = 100
"""Percent."""
US_PER_S: Final = 1_000_000
FLAGS: Final = (True, False)
"""What a flag can say."""

# --- what is written  [publish] -------------------------------------------------------------------


def head(_layer: LayerPart, transaction: StoreTransaction, new: Publication) -> None:
    """The head, and a key for each object that changes."""
    transaction.set(HEAD, new.number)
    for object_id in new.objects:
        transaction.set(object_key(object_id), new.number)


def head_and_flag(layer: LayerPart, transaction: StoreTransaction, new: Publication) -> None:
    """The head, and a key whose value comes back with every other update (C2-T2)."""
    head(layer, transaction, new)
    if (new.number - layer.first) % len(FLAGS):
        transaction.set(FLAG, new.number)
    else:
        transaction.clear(FLAG)


def head_and_metadata_version(
    layer: LayerPart, transaction: StoreTransaction, new: Publication
) -> None:
    """The head, and the metadata version that comes with every read version (C12)."""
    head(layer, transaction, new)
    transaction.bump_metadata_version()


def head_and_step(layer: LayerPart, transaction: StoreTransaction, new: Publication) -> None:
    """The head, and a key that only transactions under the version before last read (C5)."""
    head(layer, transaction, new)
    transaction.set(step_key(new.number), new.number)


def head_and_local(layer: LayerPart, transaction: StoreTransaction, new: Publication) -> None:
    """The head, also where every storage server holds it (C7)."""
    head(layer, transaction, new)
    transaction.set(LOCAL_HEAD, new.number)


def head_and_copies(layer: LayerPart, transaction: StoreTransaction, new: Publication) -> None:
    """The head, and every copy of the schema (C3)."""
    head(layer, transaction, new)
    _copies(layer, transaction, new, range(layer.design.copies))


def head_and_half_of_the_copies(
    layer: LayerPart, transaction: StoreTransaction, new: Publication
) -> None:
    """The head and half of the copies; `other_half` writes the rest, apart (C3-T1)."""
    head(layer, transaction, new)
    _copies(layer, transaction, new, range(layer.design.copies // 2))


def _copies(
    layer: LayerPart, transaction: StoreTransaction, new: Publication, places: range
) -> None:
    before = new.before.updates[layer.first :]
    for place in places:
        transaction.set_versionstamped_value(
            copy_key(place), lambda version: (*before, new.make(version))
        )


def head_and_version_keys(
    layer: LayerPart, transaction: StoreTransaction, new: Publication
) -> None:
    """The head, and every copy of it (C3b)."""
    head(layer, transaction, new)
    for place in range(layer.design.copies):
        transaction.set(version_key(place), new.number)


def head_and_version_keys_but_one(
    layer: LayerPart, transaction: StoreTransaction, new: Publication
) -> None:
    """The last of the copies is forgotten (C3-T2)."""
    head(layer, transaction, new)
    for place in range(layer.design.copies - 1):
        transaction.set(version_key(place), new.number)


def head_and_record(layer: LayerPart, transaction: StoreTransaction, new: Publication) -> None:
    """The head, and a record that replaces that of the change before (C9-T2)."""
    head(layer, transaction, new)
    before, number = new.before.number, new.number
    transaction.set_versionstamped_value(
        RECORD, lambda version: (before, number, new.make(version).activation)
    )


def head_in_the_future(layer: LayerPart, transaction: StoreTransaction, new: Publication) -> None:
    """The head, and a key that counts as written when the update comes into force (C11)."""
    head(layer, transaction, new)
    at = layer.design.activation(new.read_version, new.read_version, layer.distance)
    transaction.add_write_conflict_key(CUTOVER, at=at)


# --- since when an update is in force  [activation] -----------------------------------------------


def at_commit(_read_version: int, commit_version: int, _distance: int) -> int:
    """The commit version of its transaction."""
    return commit_version


def after_read_version(read_version: int, _commit_version: int, distance: int) -> int:
    """The read version of its transaction and the distance (C8, C11)."""
    return read_version + distance


def after_commit_version(_read_version: int, commit_version: int, distance: int) -> int:
    """The commit version of its transaction and the distance (C9, C10)."""
    return commit_version + distance


# --- when a further update may be made  [pause_before] --------------------------------------------


async def at_any_time(_layer: LayerPart, _transaction: StoreTransaction, _schema: Schema) -> Micros:
    """As soon as it is asked for."""
    return Micros(0)


async def once_the_last_is_in_force(
    layer: LayerPart, transaction: StoreTransaction, schema: Schema
) -> Micros:
    """Not before the last update is in force (C8-C11)."""
    newest, version = schema.newest, await transaction.read_version()
    if newest is None or newest.activation <= version:
        return Micros(0)
    return micros_of(newest.activation - version, layer)


async def once_leases_have_ended(
    layer: LayerPart, _transaction: StoreTransaction, schema: Schema
) -> Micros:
    """Not while a process may have a lease on the version before the newest (C5).

    Counted from when this process has read the newest one: the versions of the store would not do,
    since they jump. Between two whole milliseconds of a clock lies up to one less than they show.
    """
    if schema.number <= layer.first:
        return Micros(0)
    since_ms = max(layer.now_ms() - layer.known_since_ms(schema.number) - 1, 0)
    return Micros(max(longest_lease_us(layer) - since_ms * US_PER_MS, 0))


def longest_lease_us(layer: LayerPart) -> Micros:
    """The real span of a lease by a slow clock, measured by a fast one: each off by the drift."""
    drift = layer.design.drift_percent
    lease_us = layer.design.lease_ms * US_PER_MS
    return Micros(lease_us * (WHOLE + drift) // (WHOLE - drift) + 1)


def micros_of(versions: int, layer: LayerPart) -> Micros:
    """In how long so many versions go by."""
    return Micros(versions * US_PER_S // layer.settings.versions_per_second + 1)


# --- the own cache  [own_change] ------------------------------------------------------------------


def leave_the_cache(_layer: LayerPart, _schema: Schema) -> None:
    """A schema is kept only once it has been read from committed keys."""


def keep_at_once(layer: LayerPart, schema: Schema) -> None:
    """Keep the schema that the update leads to, whether it commits or not (C12-T4)."""
    cache = layer.cache
    tag = layer.newest_tag if cache is None else cache.tag
    version = 0 if cache is None else cache.version
    layer.cache = Cached(schema, tag, version, layer.now_ms())
