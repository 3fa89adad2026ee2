"""How long transactions used tables: what closed forms multiply with the rate of DDL."""

from collections.abc import Iterator
from typing import NamedTuple

from ddlsim.history.events import (
    Enlisted,
    ReadExecuted,
    TxAborted,
    TxBegan,
    TxCommitted,
    WriteExecuted,
)
from ddlsim.history.history import History
from ddlsim.units import US_PER_MS, Timestamp, physical_ms


class Use(NamedTuple):
    """A table in a committed transaction of a client, in us of whole ms: from the enlistment to the
    last operation there (`using_us`), and from that to the commit (`tail_us`); `writing_us` is to
    the last operation that left a row there.

    On plane `fdb`, where the enlistment has the read version, both together are cv - rv."""

    tx: str
    object_id: int
    implicit: bool
    using_us: int
    tail_us: int
    writing_us: int


def uses(history: History) -> Iterator[Use]:
    """Every table of every committed transaction of a client, in the order of the commits."""
    implicit = {event.tx: event.implicit for event in history.of(TxBegan)}
    enlisted: dict[tuple[str, int], int] = {}
    last: dict[tuple[str, int], int] = {}
    wrote: dict[tuple[str, int], int] = {}
    for event in history.of(Enlisted, ReadExecuted, WriteExecuted, TxCommitted):
        if type(event) is Enlisted:
            of = (event.tx, event.object_id)
            if of not in last:  # else a later enlistment changes nothing [110.quirk]
                enlisted[of] = event.enlist_ts
        elif type(event) is TxCommitted:
            for object_id, _, _ in event.tables if event.tx in implicit else ():
                of = (event.tx, object_id)
                if of not in enlisted:  # a statement's own transaction, which fills an index
                    continue
                until = max(last.get(of, enlisted[of]), enlisted[of])
                yield Use(
                    event.tx,
                    object_id,
                    implicit[event.tx],
                    apart_us(enlisted[of], until),
                    apart_us(until, event.commit_ts),
                    apart_us(enlisted[of], wrote.get(of, enlisted[of])),
                )
        elif isinstance(event, ReadExecuted | WriteExecuted):
            of = (event.tx, event.object_id)
            last[of] = max(last.get(of, event.op_ts), event.op_ts)
            if isinstance(event, WriteExecuted) and event.row is not None:
                wrote[of] = max(wrote.get(of, event.op_ts), event.op_ts)


def lost_uses(history: History) -> Iterator[tuple[int, int]]:
    """Every table of every aborted transaction of a client, and how long it was used, in us: from
    the timestamp of the enlistment to the abort, which is up to a skew too much or too little."""
    enlisted: dict[str, dict[int, int]] = {event.tx: {} for event in history.of(TxBegan)}
    ran: dict[tuple[str, int], None] = {}
    for event in history.of(Enlisted, ReadExecuted, WriteExecuted, TxCommitted, TxAborted):
        if isinstance(event, Enlisted):
            if event.tx in enlisted and (event.tx, event.object_id) not in ran:
                enlisted[event.tx][event.object_id] = event.enlist_ts
        elif isinstance(event, ReadExecuted | WriteExecuted):
            ran[event.tx, event.object_id] = None
        elif isinstance(event, TxCommitted | TxAborted):
            own = enlisted.pop(event.tx, {})
            for object_id, since_ts in own.items() if isinstance(event, TxAborted) else ():
                since_us = physical_ms(Timestamp(since_ts)) * US_PER_MS
                yield object_id, max(event.at_us - since_us, 0)


def apart_us(one_ts: int, other_ts: int) -> int:
    """From the first to the second timestamp, physical parts alone; 0 where skew reverses them."""
    apart = physical_ms(Timestamp(other_ts)) - physical_ms(Timestamp(one_ts))
    return max(apart, 0) * US_PER_MS
