"""Reads that no order of transactions can explain, checked one by one.

G1a: the writer was aborted, or never committed. G1b: the version read was not the writer's last of
that key. A read of what no transaction wrote. A dirty update: a transaction read from a writer that
is not committed, then wrote that key, and committed. And within one transaction: it reads its own
last write, and without one of its own it finds the same version each time. A scan finds what its
transaction had written.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Placed, Transaction
from ddlsim.checkers.case.rows import differences
from ddlsim.checkers.case.writes import Item, Write, Writes, version_of
from ddlsim.history.events import AnyEvent, ReadExecuted, RowRead


def dirty_reads(case: Case, writes: Writes) -> Iterator[Anomaly]:
    """Of every committed transaction, in the order of commit_ts."""
    for tx in case.committed:
        yield from unexplained(case, writes, tx, tx.reads)


def unexplained(
    case: Case, writes: Writes, tx: Transaction, reads: list[Placed[ReadExecuted]]
) -> Iterator[Anomaly]:
    """What some reads of a transaction found, whether it committed or not."""
    first: dict[Item, tuple[str | None, ReadExecuted]] = {}
    for position, read in reads:
        for row in read.rows:
            item = (read.object_id, row.key)
            written = writes.of.get((tx.name, item)) if tx.writes else None
            own = _before(written, position) if written else []
            if own or row.writer == tx.name:
                yield from _own(writes, tx, own, read, row)
                continue
            writer, earlier = first.setdefault(item, (row.writer, read))
            if writer != row.writer:
                yield _unrepeatable(tx, row, writer, earlier, read)
            if row.writer is not None:
                yield from _of_another(case, writes, position, read, row)
        if read.predicate and tx.writes:
            yield from _own_not_found(writes, tx, position, read)


def _own(
    writes: Writes, tx: Transaction, own: list[Write], read: ReadExecuted, row: RowRead
) -> Iterator[Anomaly]:
    """A read of a row that its transaction had written, or that is said to be of it."""
    found = version_of(row.writer)
    if row.writer == tx.name and own:
        if not _is_intermediate(writes, own, read, row):
            return
        found = "an earlier write of its own"
    said = "had written it before" if own else "had not written it"
    witness: tuple[AnyEvent, ...] = (own[-1].event, read) if own else (read,)
    yield Anomaly(
        "internal",
        f"{tx.name} read row {row.key!r} and found {found}, but it {said}",
        witness,
    )


def _own_not_found(
    writes: Writes, tx: Transaction, position: int, read: ReadExecuted
) -> Iterator[Anomaly]:
    """Rows that a transaction had written, and that its scan of their partition left out."""
    found = {row.key: None for row in read.rows}
    place = (read.object_id, read.partition)
    keys = {one.key: None for _, one in tx.writes if (one.object_id, one.partition) == place}
    for key in keys:
        own = _before(writes.of[tx.name, (read.object_id, key)], position)
        if key not in found and own and own[-1].event.row is not None:
            yield Anomaly(
                "internal",
                f"{tx.name} scanned the table without row {key!r}, but it had written it before",
                (own[-1].event, read),
            )


def _unrepeatable(
    tx: Transaction, row: RowRead, writer: str | None, earlier: ReadExecuted, read: ReadExecuted
) -> Anomaly:
    return Anomaly(
        "non-repeatable-read",
        f"{tx.name} read row {row.key!r} twice, first {version_of(writer)}, then "
        f"{version_of(row.writer)}",
        (earlier, read),
    )


def _of_another(
    case: Case, writes: Writes, position: int, read: ReadExecuted, row: RowRead
) -> Iterator[Anomaly]:
    assert row.writer is not None, row
    item = (read.object_id, row.key)
    candidates = writes.of.get((row.writer, item), [])
    earlier = _before(candidates, position)
    if not earlier:
        where = _where(read, row)
        yield Anomaly("garbage-read", f"{where}, which had not written it", (read,))
        return
    if case.is_undecided(row.writer):
        return
    writer = case.transactions[row.writer]
    last = earlier[-1].event
    if writer.committed is None:
        where = _where(read, row)
        ended = "is not committed" if writer.aborted is None else "was aborted"
        witness: tuple[AnyEvent, ...] = (last, read)
        if writer.aborted is not None:
            witness = (*witness, writer.aborted)
        yield Anomaly("G1a", f"{where}, which {ended}", witness)
        built = _after(writes.of.get((read.tx, item)), position)
        if built is not None:
            what = f"{where}, which {ended}, and then wrote the row itself and committed"
            yield Anomaly("dirty-update", what, (*witness, built.event))
    elif len(earlier) < len(candidates) or _is_intermediate(writes, earlier, read, row):
        said = f"{_where(read, row)}, but that was not the last it wrote there"
        under_way = case.is_under_way(writer, candidates[-1].event.op)
        clauses = ("110.x.2",) if under_way else ()
        missed = [write.event for write in candidates[len(earlier) :]][-1:]
        yield Anomaly("G1b", said, (last, read, *missed), clauses=clauses)


def _where(read: ReadExecuted, row: RowRead) -> str:
    return f"{read.tx} read row {row.key!r} as written by {row.writer}"


def _is_intermediate(
    writes: Writes, candidates: list[Write], read: ReadExecuted, row: RowRead
) -> bool:
    """Whether a row is one that its writer had overwritten itself, by its values."""
    *overwritten, last = candidates
    return (
        bool(overwritten)
        and not _is_row_of(writes, last, read, row)
        and any(_is_row_of(writes, write, read, row) for write in overwritten)
    )


def _is_row_of(writes: Writes, write: Write, read: ReadExecuted, row: RowRead) -> bool:
    source = writes.table(read.object_id, write.meant_version)
    target = writes.table(read.object_id, read.version)
    if source is None or target is None:
        return False
    return not differences(write.meant, source, row.row, target)


def _after(writes: list[Write] | None, position: int) -> Write | None:
    """A transaction's first write of a key after a position."""
    return next((write for write in writes or () if write.position > position), None)


def _before(writes: list[Write], position: int) -> list[Write]:
    """A transaction's writes of a key before a position; they are in order."""
    if not writes or writes[-1].position < position:
        return writes
    return [write for write in writes if write.position < position]
