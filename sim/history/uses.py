"""How long transactions used tables: what closed forms multiply with the rate of DDL."""

from collections.abc import Container, Iterator
from math import inf
from typing import NamedTuple

from ddlsim.history.events import (
    Enlisted,
    ReadExecuted,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    WriteExecuted,
)
from ddlsim.history.history import History
from ddlsim.units import US_PER_MS, Timestamp, physical_ms, timestamp


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


class Lost(NamedTuple):
    """A table in an aborted transaction of a client: the reason of the abort, and the times from
    the enlistment, in us of whole ms: to what aborted it (`whole_us`), to the last operation there,
    and to the last one that left a row there.

    What aborted it is the last look-up, if that was behind all operations; else something from
    outside, such as a mark, at the moment of the abort (up to a skew too early or too late). On
    plane `fdb` the abort is the answer to a commit, which comes as long after the commit version as
    those of committed transactions that wrote, in the mean."""

    tx: str
    object_id: int
    reason: str
    whole_us: int
    using_us: int
    writing_us: int


def uses(history: History, until_ms: float = inf) -> Iterator[Use]:
    """Every table of every committed transaction of a client, in the order of the commits; what is
    behind `until_ms`, say the end of the load, does not count."""
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
                    apart_us(enlisted[of], until, until_ms),
                    apart_us(until, event.commit_ts, until_ms),
                    apart_us(enlisted[of], wrote.get(of, enlisted[of]), until_ms),
                )
        elif isinstance(event, ReadExecuted | WriteExecuted):
            of = (event.tx, event.object_id)
            last[of] = max(last.get(of, event.op_ts), event.op_ts)
            if isinstance(event, WriteExecuted) and event.row is not None:
                wrote[of] = max(wrote.get(of, event.op_ts), event.op_ts)


def lost_uses(history: History, until_ms: float = inf) -> Iterator[Lost]:
    """Every table of every aborted transaction of a client, in the order of the aborts; what is
    behind `until_ms` does not count."""
    enlisted: dict[str, dict[int, int]] = {event.tx: {} for event in history.of(TxBegan)}
    last: dict[tuple[str, int], int] = {}
    wrote: dict[tuple[str, int], int] = {}
    looked: dict[str, int] = {}
    answer_us = _answer_us(history, enlisted)
    kinds = (Enlisted, SchemaResolved, ReadExecuted, WriteExecuted, TxCommitted, TxAborted)
    for event in history.of(*kinds):
        if isinstance(event, Enlisted):
            if event.tx in enlisted and (event.tx, event.object_id) not in last:
                enlisted[event.tx][event.object_id] = event.enlist_ts
        elif isinstance(event, SchemaResolved):
            looked[event.tx] = max(looked.get(event.tx, event.ts), event.ts)
        elif isinstance(event, TxCommitted | TxAborted):
            own = enlisted.pop(event.tx, {})
            if isinstance(event, TxCommitted):
                continue
            ran = max((last.get((event.tx, one), since) for one, since in own.items()), default=0)
            noticed = looked.get(event.tx, ran)
            aborted = timestamp(max(event.at_us - answer_us, 0) // US_PER_MS)
            end = noticed if noticed > ran else max(aborted, ran)
            for object_id, since in own.items():
                of = (event.tx, object_id)
                yield Lost(
                    event.tx,
                    object_id,
                    event.reason,
                    apart_us(since, end, until_ms),
                    apart_us(since, last.get(of, since), until_ms),
                    apart_us(since, wrote.get(of, since), until_ms),
                )
        elif isinstance(event, ReadExecuted | WriteExecuted):
            of = (event.tx, event.object_id)
            last[of] = max(last.get(of, event.op_ts), event.op_ts)
            if isinstance(event, WriteExecuted) and event.row is not None:
                wrote[of] = max(wrote.get(of, event.op_ts), event.op_ts)


def _answer_us(history: History, clients: Container[str]) -> int:
    """How long the answer to a commit comes after its version, in the mean; 0 on other planes.

    Of those that wrote, whose tables are looked up at that version; others have their read version.
    """
    if history.header.design.plane != "fdb":
        return 0
    wrote = {one.tx for one in history.of(SchemaResolved) if one.purpose == "commit"}
    ways = [
        one.at_us - physical_ms(Timestamp(one.commit_ts)) * US_PER_MS
        for one in history.of(TxCommitted)
        if one.tx in clients and one.tx in wrote
    ]
    return max(sum(ways) // len(ways), 0) if ways else 0


def apart_us(one_ts: int, other_ts: int, until_ms: float = inf) -> int:
    """From the first to the second timestamp, physical parts alone, both `until_ms` at most; 0
    where skew reverses them."""
    since, until = (min(physical_ms(Timestamp(each)), until_ms) for each in (one_ts, other_ts))
    return int(until - since) * US_PER_MS if since < until else 0
