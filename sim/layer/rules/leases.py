"""Leases that lie in the store, of a process on a schema, for as long as transactions need them.

[read_schema, admit, fence, pause_before, settle, background]

    ("s", "lease", process, number)     the version at which its lease on a schema ends
    ("s", "taken", process, number)     written by what takes an ended lease away

A process leases the newest schema, in a transaction that has read the head, and uses it from then
on. It gives an older one back once no open transaction of its own needs that. An update waits until
no process has a lease on a schema before the newest; leases that have ended are taken away in its
own transaction. A transaction commits only if it read before the end of a lease, and conflicts with
what takes that away: so the end of the lease is its deadline, and no clock is compared.

A transaction needs the schema that it uses, or any later one under which its tables are the same:
so leases are as good as leases of single tables.
"""

from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.versions import versions_in
from ddlsim.layer.design import LayerPart, Step
from ddlsim.layer.keyspace import HEAD, LEASES, lease_key, leases_of, taken_key
from ddlsim.layer.rules.publishing import WHOLE
from ddlsim.layer.rules.reading import head_of, newest_of, numbered
from ddlsim.layer.schema import Cached, Schema, Update, Used
from ddlsim.layer.store import StoreTransaction, Watch, run
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.ports import Future, Node
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import ClientOperation
from ddlsim.units import US_PER_MS, Micros

# --- which lease a transaction needs --------------------------------------------------------------


def needed(layer: LayerPart, tx: LayerTx) -> int | None:
    """The newest schema on which it may commit that the process has leased; None: none is left."""
    if tx.lease is not None or tx.used is None:
        return tx.lease
    first = tx.used.schema.number
    last = layer.log.same_until(first, tx.tables)
    return max((one for one in layer.leases if first <= one <= last), default=None)


# --- transactions  [read_schema, admit, fence] ----------------------------------------------------


async def leased(layer: LayerPart, _tx: LayerTx) -> Used | Reason:
    """The newest schema that the process has leased; waits for its first lease."""
    until_ms = layer.now_ms() + layer.node.settings.operation_timeout_us // US_PER_MS
    while layer.cache is None:
        if layer.now_ms() >= until_ms:
            return Reason.METADATA_LATE
        await layer.rest("lease")
    return newest_of(layer.cache.schema)


async def fixed_at_first_access(
    layer: LayerPart, tx: LayerTx, request: ClientOperation
) -> Reason | None:
    """A table stays as it was at its first use; refuse the first use of one that has changed.

    A transaction that has read nothing, and whose tables have not changed, goes on under the newest
    schema instead.
    """
    if tx.used is None or layer.cache is None:
        return None
    newest = layer.cache.schema
    old, new = tx.used.snapshot.meant(request.table), newest.latest().meant(request.table)
    if old == new or (old is not None and old.id in tx.tables):
        return None
    same_until = newest.same_until(tx.used.schema.number, tx.tables)
    if tx.version is not None or same_until < newest.number:
        return Reason.SCHEMA_CHANGED
    tx.used = newest_of(newest)
    return None


async def under_a_lease(layer: LayerPart, tx: LayerTx) -> Reason | None:
    """Refuse behind the end of the lease, and lease again; conflict with what takes it away."""
    version = await tx.read_version()
    number = needed(layer, tx)
    if number is None or version >= layer.leases[number]:
        layer.lease_again()
        return Reason.METADATA_LATE
    tx.lease = number
    tx.store.add_read_conflict_key(taken_key(layer.node.name, number))
    return None


# --- DDL  [pause_before, settle] ------------------------------------------------------------------


async def older_leases_gone(
    layer: LayerPart, transaction: StoreTransaction, schema: Schema
) -> Micros:
    """Not while a process has a lease on a schema before the newest."""
    return await _take_ended(layer, transaction, schema.number)


async def older_leases_end(layer: LayerPart, update: Update, _step: Step) -> None:
    """Wait until no process has a lease on the schema before, and none is used any more."""
    transaction = layer.store.transaction()
    while True:
        try:
            pause = await _take_ended(layer, transaction, update.number)
            if not pause:
                await transaction.commit()
                return
        except FdbError as error:
            await transaction.on_error(error)
        else:
            await layer.node.sleep(pause)
            transaction = layer.store.transaction()


async def _take_ended(layer: LayerPart, transaction: StoreTransaction, number: int) -> Micros:
    """Take away the leases on schemas before a number; how long to wait, where one lasts."""
    version = await transaction.read_version()
    lasting = False
    for key, ends in await transaction.get_range(*LEASES):
        process, held = str(key[2]), int(str(key[3]))
        if held < number:
            assert isinstance(ends, int), f"{ends!r} is no version"
            lasting |= ends > version
            _take(transaction, process, held)
    return Micros(layer.design.poll_ms * US_PER_MS) if lasting else Micros(0)


def _take(transaction: StoreTransaction, process: str, number: int) -> None:
    """Take a lease away; what commits under it conflicts."""
    transaction.clear(lease_key(process, number))
    transaction.set(taken_key(process, number), number)


# --- processes  [background] ----------------------------------------------------------------------


async def lease_the_newest(layer: LayerPart) -> None:
    """Lease the newest schema when it changes, and again at `renew_percent` of the lease."""
    await _lease(layer, older=False)


async def lease_all_in_use(layer: LayerPart) -> None:
    """Lease the newest schema, and all older ones that open transactions need: they never end."""
    await _lease(layer, older=True)


async def _lease(layer: LayerPart, *, older: bool) -> None:
    """Lease again and again; `in_doubt`: leases of its name may lie in the store that it does not
    know of: of an earlier incarnation, or of an attempt whose result is unknown."""
    bell = Bell(layer.node)
    layer.lease_again = bell.ring
    design = layer.design
    renew_us = Micros(design.lease_ms * US_PER_MS * design.renew_percent // WHOLE)
    in_doubt = True
    while True:
        transaction = layer.store.transaction()
        try:
            watch = None if bell.is_armed else transaction.watch(HEAD)
            await _acquire(layer, transaction, older=older, in_doubt=in_doubt)
        except FdbError as error:
            in_doubt |= error.code is ErrorCode.COMMIT_UNKNOWN_RESULT
            transaction.cancel()
            await layer.rest("lease")
            continue
        in_doubt = False
        if watch is not None:
            bell.listen(watch)
        await bell.wait(renew_us)


async def _acquire(
    layer: LayerPart, transaction: StoreTransaction, *, older: bool, in_doubt: bool
) -> None:
    """Lease the newest schema, with older ones in use, and keep it; take what it has not away."""
    read_ms, name = layer.now_ms(), layer.node.name
    version = await transaction.read_version()
    number = await head_of(layer, transaction)
    schema = await numbered(layer, transaction, number)
    transaction.add_read_conflict_key(lease_key(name, number))  # what is sent late shortens none
    span = versions_in(layer.design.lease_ms, layer.settings.versions_per_second)
    again = [number]
    if in_doubt:
        for key, _ in await transaction.get_range(*leases_of(name)):
            if (held := int(str(key[3]))) not in layer.leases:
                _take(transaction, name, held)
    if older:
        kept = [(one, await transaction.get(lease_key(name, one))) for one in tuple(layer.leases)]
        again += [one for one, ends in kept if ends is not None]
    for one in again:
        transaction.set(lease_key(name, one), version + span)
    await transaction.commit()
    layer.leases |= dict.fromkeys(again, version + span)
    layer.cache = Cached(schema, number, version, read_ms)


async def give_back_the_older(layer: LayerPart) -> None:
    """Give a lease back once there is a newer one and no open transaction needs it."""
    while True:
        await layer.node.sleep(Micros(layer.design.poll_ms * US_PER_MS))
        in_use = {needed(layer, tx) for tx in layer.transactions.values()}
        for number in sorted(layer.leases)[:-1]:
            if number not in in_use:
                del layer.leases[number]
                await _give_back(layer, number)


async def _give_back(layer: LayerPart, number: int) -> None:
    async def cleared(transaction: StoreTransaction) -> None:
        transaction.clear(lease_key(layer.node.name, number))

    await run(layer.store, cleared)


class Bell:
    """Ends a wait when a watch has fired, when its time is over, or when it is rung."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._waiting: Future[None] | None = None
        self.is_armed = False

    def listen(self, watch: Watch) -> None:
        """End the next waits, or the present one, when this watch fires."""
        self.is_armed = True
        self._node.spawn(self._fires(watch))

    async def _fires(self, watch: Watch) -> None:
        await watch.fired
        self.is_armed = False
        self.ring()

    def ring(self) -> None:
        """End the present wait, if there is one."""
        if self._waiting is not None and not self._waiting.done:
            self._waiting.set(None)

    async def wait(self, longest_us: Micros) -> None:
        """Wait until the watch has fired, at most so long."""
        if self.is_armed:
            self._waiting = self._node.future()
            timer = self._node.call_later(longest_us, self.ring)
            await self._waiting
            timer.cancel()
