"""What a statement waits for, and what processes do by themselves.

[settle, before_statement, after_statement, background]
"""

from typing import Final

from ddlsim.fdb.errors import FdbError
from ddlsim.fdb.keys import Key
from ddlsim.layer.design import LayerPart, Step
from ddlsim.layer.keyspace import (
    CUTOVER,
    FLAG,
    HEAD,
    LOG_END,
    MODE,
    SWITCHED,
    copy_key,
    log_key,
    switched_key,
)
from ddlsim.layer.rules.publishing import WHOLE, longest_lease_us, micros_of
from ddlsim.layer.rules.reading import (
    OPTIMISTIC,
    PESSIMISTIC,
    refreshed,
    refreshed_apart,
    updates_of,
)
from ddlsim.layer.schema import Update
from ddlsim.layer.store import StoreTransaction, Watch, run
from ddlsim.units import US_PER_MS, Micros

# --- behind a step  [settle] ----------------------------------------------------------------------


async def at_once(_layer: LayerPart, _update: Update, _step: Step) -> None:
    """Go on as soon as the update is committed."""


async def read_again(layer: LayerPart, _update: Update, _step: Step) -> None:
    """Read the schema, so that the process uses what its own statement has made of it (C15)."""
    await refreshed_apart(layer)


async def leases_end(layer: LayerPart, _update: Update, _step: Step) -> None:
    """Wait until no process has a lease on the version before, however clocks drift (C5)."""
    await layer.node.sleep_by_clock(longest_lease_us(layer))


async def leases_end_without_drift(layer: LayerPart, _update: Update, _step: Step) -> None:
    """As leases_end, as if no clock were slow (C5-T3)."""
    await layer.node.sleep_by_clock(Micros(layer.design.lease_ms * US_PER_MS))


async def in_force(layer: LayerPart, update: Update, _step: Step) -> None:
    """Wait until the update is in force at the read versions to come (C8, C9, C11)."""
    await version_passes(layer, update.activation)


async def in_force_and_drained(layer: LayerPart, update: Update, _step: Step) -> None:
    """Wait `cutoff_percent` of a window more: what reads before it commits by then (C10)."""
    cutoff = layer.settings.window * layer.design.cutoff_percent // WHOLE
    await version_passes(layer, update.activation + cutoff)


async def other_half(layer: LayerPart, _update: Update, _step: Step) -> None:
    """Write the copies that the update's transaction has left out (C3-T1)."""

    async def copied(transaction: StoreTransaction) -> None:
        found = await transaction.get_range(log_key(layer.first + 1), LOG_END)
        updates = updates_of(found)
        for place in range(layer.design.copies // 2, layer.design.copies):
            transaction.set(copy_key(place), updates)

    await run(layer.store, copied)


async def version_passes(layer: LayerPart, version: int) -> None:
    """Wait until read versions are at least this one."""
    while (now := await present_version(layer)) < version:
        await layer.node.sleep(micros_of(version - now, layer))


async def window_passes(layer: LayerPart) -> None:
    """Wait until what reads at a version of now can no longer commit."""
    await version_passes(layer, await present_version(layer) + layer.settings.window + 1)


async def present_version(layer: LayerPart) -> int:
    """A read version."""
    while True:
        try:
            return await layer.store.transaction().read_version()
        except FdbError:
            await layer.rest("version")


# --- around a statement  [before_statement, after_statement] --------------------------------------


async def nothing(_layer: LayerPart) -> None:
    """No wait."""


async def all_pessimistic(layer: LayerPart) -> None:
    """Switch every process to pessimistic mode, and let older transactions end (C14)."""
    await _push(layer, needs=True)
    while not await _have_switched(layer):
        await layer.node.sleep(Micros(layer.design.poll_ms * US_PER_MS))
    await window_passes(layer)


async def all_pessimistic_undrained(layer: LayerPart) -> None:
    """As all_pessimistic, but older transactions go on (C14-T3)."""
    await _push(layer, needs=True)
    while not await _have_switched(layer):
        await layer.node.sleep(Micros(layer.design.poll_ms * US_PER_MS))


async def pessimistic_in_time(layer: LayerPart) -> None:
    """Switch the processes that are reached in `push_ms` (C14-T1)."""
    await _push(layer, needs=True)
    await layer.node.sleep(Micros(layer.design.push_ms * US_PER_MS))


async def switch_registered_ahead(layer: LayerPart) -> None:
    """Register the version of a switch before the statement is tried, come what may of it (C11-T4).

    What is refused afterwards, or never tried, has no update, but its switch cannot be taken back.
    """

    async def registered(transaction: StoreTransaction) -> None:
        version = await transaction.read_version()
        transaction.add_write_conflict_key(CUTOVER, at=version + layer.distance)

    await run(layer.store, registered)


async def all_optimistic(layer: LayerPart) -> None:
    """Switch every process back, unless another statement is under way (C14)."""
    await _push(layer, needs=False)


async def _mode(transaction: StoreTransaction) -> tuple[int, tuple[str, ...]]:
    """How often the mode was switched, and the processes whose statements need the pessimistic."""
    found = await transaction.get(MODE)
    return found if isinstance(found, tuple) else (0, ())


async def _push(layer: LayerPart, *, needs: bool) -> None:
    """The process's statement needs pessimistic mode, or has ended; the last one switches back.

    A process runs one statement at a time, so its name stands for that: an attempt behind one whose
    result is unknown changes nothing more, where a count would be changed twice.
    """
    name = layer.node.name

    async def pushed(transaction: StoreTransaction) -> None:
        number, names = await _mode(transaction)
        others = tuple(one for one in names if one != name)
        transaction.set(MODE, (number + 1, (*others, name) if needs else others))

    await run(layer.store, pushed)


async def _have_switched(layer: LayerPart) -> bool:
    """Whether every process that has ever reported itself has the newest mode."""
    transaction = layer.store.transaction()
    try:
        number, _ = await _mode(transaction)
        switched = await transaction.get_range(*SWITCHED)
    except FdbError:
        return False
    return all(isinstance(one, int) and one >= number for _, one in switched)


# --- all the time  [background] -------------------------------------------------------------------


async def watch_the_head(layer: LayerPart) -> None:
    """Read the schema and arm a watch in one transaction, again whenever it fires (C2)."""
    await _watch(layer, HEAD)


async def watch_the_flag(layer: LayerPart) -> None:
    """As watch_the_head, with a watch on a key whose value comes back (C2-T2)."""
    await _watch(layer, FLAG)


async def _watch(layer: LayerPart, key: Key) -> None:
    while True:
        transaction = layer.store.transaction()
        try:
            watch = transaction.watch(key)
            await refreshed(layer, transaction)
            await transaction.commit()
        except FdbError:
            transaction.cancel()
            await layer.rest("watch")
            continue
        await watch.fired


async def watch_armed_later(layer: LayerPart) -> None:
    """Read in one transaction, arm in the next one: what comes between is not reported (C2-T3)."""
    while True:
        await refreshed_apart(layer)
        watch: Watch | None = None
        while watch is None:
            transaction = layer.store.transaction()
            try:
                armed = transaction.watch(HEAD)
                await transaction.read_version()
                await transaction.commit()
                watch = armed
            except FdbError:
                transaction.cancel()
                await layer.rest("watch")
        await watch.fired


WATCHING: Final = (watch_the_head, watch_the_flag, watch_armed_later)
"""Those by which a process learns of an update from a watch alone, and else of none."""


async def poll_the_head(layer: LayerPart) -> None:
    """Read the schema every `poll_ms`; under leases that renews the lease (C2b, C5, C13)."""
    while True:
        await refreshed_apart(layer)
        await layer.node.sleep(Micros(layer.design.poll_ms * US_PER_MS))


async def follow_the_mode(layer: LayerPart) -> None:
    """Look for another mode every `poll_ms`; back to optimistic only with a fresh schema (C14)."""
    await _follow(layer, fresh=True)


async def follow_the_mode_stale(layer: LayerPart) -> None:
    """As follow_the_mode, but back to optimistic with the schema that there was before (C14-T2)."""
    await _follow(layer, fresh=False)


async def _follow(layer: LayerPart, *, fresh: bool) -> None:
    seen = -1
    while True:
        transaction = layer.store.transaction()
        try:
            number, names = await _mode(transaction)
            mode = PESSIMISTIC if names else OPTIMISTIC
            if number != seen:
                before = layer.cache
                if mode == OPTIMISTIC and (fresh or before is None):
                    await refreshed(layer, transaction)
                if mode != OPTIMISTIC:
                    layer.mode = mode
                transaction.set(switched_key(layer.node.name), number)
                await transaction.commit()
                layer.mode, seen = mode, number
        except FdbError:
            await layer.rest("mode")
            continue
        await layer.node.sleep(Micros(layer.design.poll_ms * US_PER_MS))
