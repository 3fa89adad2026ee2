"""What follows something has the larger timestamp, on whichever node; part of I12.

Hybrid clocks order what is ordered by messages: every message carries its sender's timestamp and
the receiver's clock merges it. So without any bound on physical clocks

* an operation is stamped behind the begin of its transaction, the commit behind each operation;
* an operation under locks is stamped behind the commit of every version that it finds or replaces;
* an update of the schema is stamped behind the look-up of the statement that asked for it.

A read-only transaction reads everything as of its one timestamp. Designs that do not stamp an
operation once it has its locks [110.x.1], or whose commit does not wait for it [110.x.2], promise
none of that.

On a plane without such clocks a transaction reads at one version of a store and commits at a later
one.

And no timestamp is ahead of every physical clock: a hybrid clock shows what its own or another one
has shown, or counts on: one that has counted up to the end of its logical part goes on in the next
millisecond, so nothing is judged behind a timestamp that has come halfway there. A node that
restarts begins its own at a limit on its disk, which none may have shown; so it waits until its
physical clock does [98.x.7].

Where this fails no cycle need have formed yet: it takes clocks that are apart at the right moment.
"""

from collections.abc import Iterator
from typing import Final

from ddlsim.checkers.assumptions import Clocks
from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.history.event import Event
from ddlsim.history.events import (
    ReadExecuted,
    SafeTimeAdvanced,
    TxBegan,
    TxCommitted,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.world_events import CommandLogged, PartitionSafeTime
from ddlsim.units import LOGICAL_MASK, US_PER_MS, Timestamp, as_ms, logical, physical_ms, show

Stamped = TxBegan | ReadExecuted | WriteExecuted | TxCommitted | UpdateLogged
STAMPS: Final[dict[type[Stamped], str]] = {
    TxBegan: "begin_ts",
    ReadExecuted: "op_ts",
    WriteExecuted: "op_ts",
    TxCommitted: "commit_ts",
    UpdateLogged: "message_ts",
}
"""Events of which a timestamp was taken from the clock of a node, by its field."""
FIELDS: Final[tuple[tuple[type[Event], str], ...]] = (
    *STAMPS.items(),
    (CommandLogged, "stamp"),
    (PartitionSafeTime, "ts"),
    (SafeTimeAdvanced, "safe_ts"),
)
"""The same, and events of which a timestamp was taken from what another one was stamped with."""
HALF_FULL: Final = (LOGICAL_MASK + 1) // 2
"""A logical part that so many timestamps within a millisecond lead to."""
CLAUSES = ("110.x.1", "110.x.2")
NEEDED = {
    "check_operation_when": "ARRIVAL_AND_AFTER_LOCKS",
    "before_commit_ts": "await_outstanding_operations",
}
"""The rules of a design that what is judged here rests on."""
SHOWN = {"clock": "hybrid_clock", "takes_part_ts": "once_the_limit_has_come"}
"""Those that no timestamp being ahead of every physical clock rests on."""


def clock_rules(case: Case) -> Iterator[Anomaly]:
    """Begins, operations and commits; reads and writes of versions; updates."""
    if case.is_layered:
        for tx in case.transactions.values():
            yield from _at_one_version(case, tx)
        return
    rules = case.header.design.rules
    if all(rules.get(field) == rule for field, rule in SHOWN.items()):
        yield from _shown(case)
    if any(rules.get(field, rule) != rule for field, rule in NEEDED.items()):
        return
    for tx in case.transactions.values():
        yield from _within(case, tx) if tx.read_ts is None else _in_the_past(tx, tx.read_ts)
    yield from _found(case)
    yield from _updates(case)


def _shown(case: Case) -> Iterator[Anomaly]:
    """The first timestamp of each node that no physical clock had shown by then."""
    clocks = case.once(Clocks)
    ahead_us = clocks.least_ahead_us()
    found: dict[str, None] = {}
    for kind, field in STAMPS.items():
        for position, event in case.of(kind):
            stamp: int = getattr(event, field)
            node = event.node
            shown_ms = physical_ms(Timestamp(stamp))
            if shown_ms * US_PER_MS <= event.at_us + ahead_us or node in found:
                continue
            if _is_of_reader(case, event) or shown_ms <= clocks.furthest_ms(event.at_us):
                continue
            if position > case.once(_first_full):
                continue
            found[node] = None
            yield Anomaly(
                "stamped-ahead-of-all-clocks",
                f"at {as_ms(event.at_us)} ms {node} had stamped something at {show(stamp)}, "
                f"and no physical clock had shown more than {clocks.furthest_ms(event.at_us)} ms",
                (event,),
                clauses=("98.x.7",),
            )


def _first_full(case: Case) -> int:
    """The position of the first timestamp whose logical part is half full; else the end."""
    found = [len(case.history.events)]
    for kind, field in FIELDS:
        full = (at for at, event in case.of(kind) if logical(getattr(event, field)) >= HALF_FULL)
        found += [next(full, found[0])]
    return min(found)


def _is_of_reader(case: Case, event: Event) -> bool:
    """Whether a read-only transaction reads at a timestamp of its client's choice."""
    tx = case.transactions.get(getattr(event, "tx", ""))
    return tx is not None and tx.read_ts is not None


def _disordered(
    what: str, before: Event, earlier: int, then: str, after: Event, later: int
) -> Anomaly:
    return Anomaly(
        "stamped-before-its-cause",
        f"{what} at {show(earlier)}, and {then}, which followed it, at {show(later)}",
        (before, after),  # type: ignore[arg-type]  # events of a history
        clauses=CLAUSES,
    )


def _within(case: Case, tx: Transaction) -> Iterator[Anomaly]:
    """One transaction: its begin, the first execution of its operations, its commit."""
    placed = case.began.get(tx.name)
    first: dict[tuple[str, str], ReadExecuted | WriteExecuted] = {}
    for event in tx.accesses:  # a copy of a message may be executed late, and its answer is dropped
        key = (event.op, type(event).__name__)
        if key not in first or event.op_ts < first[key].op_ts:
            first[key] = event
    for event in first.values():
        if placed is not None and event.op_ts <= placed[1].begin_ts:
            began = placed[1]
            yield _disordered(
                f"{tx.name} began", began, began.begin_ts, "its operation", event, event.op_ts
            )
        if tx.committed is not None and event.op_ts >= tx.committed.commit_ts:
            what, commit_ts = "executed an operation", tx.committed.commit_ts
            yield _disordered(
                f"{tx.name} {what}", event, event.op_ts, "its commit", tx.committed, commit_ts
            )


def _in_the_past(tx: Transaction, read_ts: int) -> Iterator[Anomaly]:
    """A read-only transaction: its reads are as of its one timestamp."""
    for _, event in tx.reads:
        if event.op_ts != read_ts:
            yield Anomaly(
                "read-at-another-time",
                f"{tx.name} reads as of {show(read_ts)}, and read as of {show(event.op_ts)}",
                (event,),
                clauses=CLAUSES,
            )


def _at_one_version(case: Case, tx: Transaction) -> Iterator[Anomaly]:
    """All that a transaction does is as of its read version, and its writes are of a later one."""
    placed = case.began.get(tx.name)
    for event in tx.accesses if placed is not None else ():
        assert placed is not None, tx.name
        if event.op_ts != placed[1].begin_ts:
            yield Anomaly(
                "read-at-another-time",
                f"{tx.name} reads at {show(placed[1].begin_ts)}, and executed an operation at "
                f"{show(event.op_ts)}",
                (placed[1], event),
            )
    if tx.committed is not None and placed is not None and tx.writes:
        commit_ts = tx.committed.commit_ts
        if commit_ts <= placed[1].begin_ts:
            yield Anomaly(
                "stamped-before-its-cause",
                f"{tx.name} reads at {show(placed[1].begin_ts)} and wrote at {show(commit_ts)}",
                (placed[1], tx.committed),
            )


def _found(case: Case) -> Iterator[Anomaly]:
    """Operations under locks, and the committed versions that they find or replace."""
    newest: dict[tuple[int, object], Transaction] = {}
    ends = {tx.committed_at: tx for tx in case.committed if tx.writes}
    for at, event in enumerate(case.history.events):
        if at in ends:
            tx = ends[at]
            newest.update({(write.object_id, write.key): tx for _, write in tx.writes})
        elif isinstance(event, WriteExecuted):
            yield from _behind(newest.get((event.object_id, event.key)), event)
        elif isinstance(event, ReadExecuted) and case.transactions[event.tx].read_ts is None:
            for row in event.rows:
                writer = None if row.writer is None else case.transactions.get(row.writer)
                yield from _behind(writer, event)


def _behind(writer: Transaction | None, event: ReadExecuted | WriteExecuted) -> Iterator[Anomaly]:
    if writer is None or writer.name == event.tx or writer.committed is None:
        return
    commit_ts = writer.committed.commit_ts
    if event.op_ts <= commit_ts:
        then = f"an operation of {event.tx} on what it wrote"
        what = f"{writer.name} committed"
        yield _disordered(what, writer.committed, commit_ts, then, event, event.op_ts)


def _updates(case: Case) -> Iterator[Anomaly]:
    """A statement, and the update that it asks for."""
    for name, ddl in case.ddls.items():
        update, decided = ddl.logged, ddl.decided
        if update is None or decided is None or not decided.asked_ts:
            continue
        if update.message_ts <= decided.asked_ts:
            asked, then = f"{name} looked up the schema", "its update"
            yield _disordered(asked, decided, decided.asked_ts, then, update, update.message_ts)
