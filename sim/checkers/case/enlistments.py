"""Which enlistments of a transaction count: all but those under which nothing had run.

A design may enlist a table again as long as no operation of the transaction has run on it: then the
later enlistment is the first use [110.quirk]. One that comes after something had run hides nothing.
What has run is what was executed or shown, as the history has it, and not what a design says.
"""

from collections.abc import Iterator
from typing import Final

from ddlsim.checkers.case.operations import Placed, Transaction
from ddlsim.checkers.case.schemas import SchemaLog
from ddlsim.history.events import Enlisted
from ddlsim.model.schema import View

COORDINATOR_RETRY: Final = "coordinator_retry"
"""The rule by which a coordinator enlists a table again where a quirk has refused an operation."""


def leave_out_unused(schemas: SchemaLog, tx: Transaction) -> None:
    """Leave out each enlistment of a transaction that a later one took the place of, unused."""
    if len(tx.enlisted) < 2 or not _is_enlisted_again(tx):
        return
    out = dict(_replaced(schemas, tx))
    if not out:
        return
    kept = [_looked_up(tx, at)[0] for at, _ in tx.enlisted if at not in out]
    looked_up = dict.fromkeys(_looked_up(tx, at)[0] for at in out)
    tx.given_up = {place: None for place in looked_up if place not in kept}
    tx.enlisted = [placed for placed in tx.enlisted if placed[0] not in out]
    left = {event.object_id for _, event in tx.enlisted}
    tx.forgotten = {object_id: None for object_id in out.values() if object_id not in left}


def _is_enlisted_again(tx: Transaction) -> bool:
    """Whether an object was enlisted twice, or a name looked up twice."""
    names = [one.name for _, one in tx.resolved if one.name is not None]
    objects = [one.object_id for _, one in tx.enlisted]
    return len(set(names)) < len(names) or len(set(objects)) < len(objects)


def _replaced(schemas: SchemaLog, tx: Transaction) -> Iterator[tuple[int, int]]:
    """(position, object) of what was enlisted, and again before anything had run on its table.

    Nor may anything run there later under a version that the table is not enlisted with by then. An
    operation that had been waiting may enlist it behind the abort: that takes no place.
    """
    for at, again in tx.enlisted:
        if tx.aborted is not None and at > tx.aborted_at:
            return
        since, name = _looked_up(tx, at)
        later = {(one.object_id, one.version) for place, one in tx.enlisted if place > since}
        for before_at, before in _before(schemas, tx, since, name, again):
            table = base_of(schemas, before)
            uses = [use for use in tx.uses() if use.object_id == table]
            if all(use.position > at and (table, use.version) in later for use in uses):
                yield before_at, before.object_id


def _before(
    schemas: SchemaLog, tx: Transaction, since: int, name: str | None, again: Enlisted
) -> Iterator[Placed[Enlisted]]:
    """What an enlistment may take the place of: that of the same object before it.

    If a name was looked up for it, as at a first use, a table takes the place of all that leads to
    it, and whatever it is, that of all that leads to the table that its name meant (`_meant`).
    """
    earlier = [(place, one) for place, one in tx.enlisted if place < since]
    tables: set[int] = set()
    if name is not None:
        named = _meant(tx, since, name)
        tables = {base_of(schemas, one) for _, one in earlier if one.object_id == named}
        tables |= {one.object_id for _, one in earlier if one.object_id == again.object_id}
    for place, one in earlier:
        if one.object_id == again.object_id or base_of(schemas, one) in tables:
            yield place, one


def _meant(tx: Transaction, since: int, name: str) -> int | None:
    """What the name was for the same operation before: at its last look-up, or at its primary.

    None where it uses the name for the first time. Another operation may have looked it up then,
    and have waited until now: nothing has refused what that one has found.
    """
    op = next(one.op for place, one in tx.resolved if place == since)
    earlier = [one for place, one in tx.resolved if place < since]
    if not any(one.op == op for one in earlier):
        return None
    named = [one for one in earlier if one.name == name]
    mine = [one for one in named if one.op == op]
    return next((one.object_id for one in reversed(mine or named)), None)


def _looked_up(tx: Transaction, at: int) -> tuple[int, str | None]:
    """Where the look-up stands that an enlistment follows at once, and its name, if it has one.

    Views and the table that they lead to are enlisted one after the other, at once.
    """
    places = {place for place, _ in tx.enlisted}
    at -= 1
    while at in places:
        at -= 1
    return at, next((one.name for place, one in tx.resolved if place == at), None)


def base_of(schemas: SchemaLog, enlisted: Enlisted) -> int:
    """The table that what was enlisted leads to: itself, or what a view reads."""
    object_id, version = enlisted.object_id, enlisted.version
    found = schemas.definition(object_id, version)
    while isinstance(found, View) and len(found.tables) == 1:
        object_id = found.tables[0]
        newest = schemas.existing(object_id, enlisted.enlist_ts)
        found = None if newest is None else newest.definition
    return object_id
