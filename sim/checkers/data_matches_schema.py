"""I7: no committed write is lost, no row decoded with the wrong version, none out of its schema."""

from collections.abc import Iterator

from ddlsim.checkers.base import BOTH_VOICES, CHECKERS, Anomaly, Severity
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.rows import is_legal, is_value_of
from ddlsim.checkers.case.writes import (
    Item,
    Version,
    Write,
    Writes,
    differing,
    the_row,
    version_of,
    writes_of,
)
from ddlsim.checkers.rows.client_outcomes import client_outcomes
from ddlsim.checkers.rows.final_state import final_state
from ddlsim.checkers.rows.mandatory import rows_without_values
from ddlsim.checkers.rows.row_constraints import rows_against_constraints
from ddlsim.checkers.rows.shown_answers import shown_answers
from ddlsim.history.events import (
    AnyEvent,
    ReadExecuted,
    RowRead,
    TxCommitted,
    WriteExecuted,
)
from ddlsim.units import show


class DataMatchesSchema:
    """What clients meant, what primaries wrote, what reads showed and what storage kept agree.

    A row is compared with the judges' own upgrade of what its writer's client encoded, column id
    by column id; read under an older version than its own, it has values of that one's types. No
    row lacks a value of a column that promises one for each (`mandatory`), and none breaks a unique
    index or a CHECK in force (`row_constraints`).

    A read, but one of the past, must not miss a write whose commit was stored before it and whose
    commit_ts is not above its op_ts; when all has come to rest, storage must hold the last
    committed write of each key by commit_ts, on the node that is primary then, and no replica that
    is as far may hold anything else (`final_state`). The rows of a table that is dropped may be
    gone for a transaction that only reads a store, or that it refuses to commit.
    """

    name = "data_matches_schema"
    invariant = "I7"
    severity: Severity = "safety"
    summary = "no committed write is lost, and no row read or kept under the wrong schema"
    voices = BOTH_VOICES

    def check(self, case: Case) -> Iterator[Anomaly]:
        """Writes, reads, what clients learn and see, NOT NULL, constraints, the final state."""
        writes = writes_of(case)
        for tx in case.transactions.values():
            yield from _written(case, writes, tx)
            for position, read in tx.reads:
                past = tx.read_ts is not None or _is_void(case, tx, read)
                for row in read.rows:
                    yield from _misdecoded(case, writes, read, row)
                    if row.writer is not None and not _is_as_written(writes, position, read, row):
                        yield from _misread(case, writes, position, read, row)
                    if not past and row.writer != tx.name:
                        due = _outdated(writes, position, read, row)
                        if due is not None:
                            yield _lost(case, read, row.writer, due)
                        elif case.is_layered:
                            yield from _too_new(case, writes, read, row)
                if read.predicate and not past:
                    yield from _rows_missed(case, writes, position, read)
        yield from client_outcomes(case)
        yield from shown_answers(case, writes)
        yield from rows_without_values(case, writes)
        yield from rows_against_constraints(case, writes)
        yield from final_state(case, writes)


# --- writes --------------------------------------------------------------------------------------


def _written(case: Case, writes: Writes, tx: Transaction) -> Iterator[Anomaly]:
    """What the primary wrote is what the client meant, and is legal under its own version."""
    for position, event in tx.writes:
        yield from _mistaken(case, position, event)
        write = writes.at[position]
        wrong = differing(writes, write, event.version, event.row)
        if wrong:
            yield Anomaly(
                "misdecoded-write",
                f"{_wrote(case, event)} on node {event.node}; its client encoded it under version "
                f"{write.meant_version}: {'; '.join(wrong)}",
                (*_encoded(case, write), event),
                clauses=("110.flow.2",),
            )
        table = writes.table(event.object_id, event.version)
        if table is None or event.row is None or tx.committed is None:
            continue
        yield from _values_of_other_types(case, writes, position, event, tx.committed)
        illegal = is_legal(event.row, table)
        if illegal is not None:
            witness = (event, tx.committed)
            where = _wrote(case, event)
            clauses = ("110.ours.notnull",)
            yield Anomaly("illegal-row", f"{where}: {illegal}", witness, clauses=clauses)


def _values_of_other_types(
    case: Case, writes: Writes, position: int, event: WriteExecuted, committed: TxCommitted
) -> Iterator[Anomaly]:
    """Values that a client gave by name and that their columns cannot hold."""
    named, encoded = case.named.get(event.op), case.encoded(event, position)
    version = event.version if encoded is None else encoded.version
    table = writes.table(event.object_id, version)
    columns = {} if table is None else {column.name: column for column in table.columns}
    for name, value in ((None if named is None else named.values) or {}).items():
        if name in columns and not is_value_of(value, columns[name].type):
            yield Anomaly(
                "illegal-row",
                f"{_wrote(case, event)}: {value!r} is not a value of {name} {columns[name].type}",
                (event, committed),
                clauses=("110.fwd.1",),
            )


def _mistaken(case: Case, position: int, event: WriteExecuted) -> Iterator[Anomaly]:
    """A row encoded for another table, or under a newer version: columns are lost unnoticed."""
    encoded = case.encoded(event, position)
    if encoded is None or event.row is None:
        return
    if encoded.object_id != event.object_id:
        kind, what = "foreign-row", f"for table {encoded.object_id}"
    elif encoded.version > event.version:
        kind, what = "truncated-write", f"under version {encoded.version}"
    else:
        return
    yield Anomaly(
        kind,
        f"{_wrote(case, event)} on node {event.node}, but its client encoded it {what}",
        (encoded, event),
        clauses=("110.flow.2",),
    )


def _wrote(case: Case, event: WriteExecuted) -> str:
    return f"{event.tx} wrote {the_row(case, event.object_id, event.key, event.version)}"


# --- reads ---------------------------------------------------------------------------------------


def _is_void(case: Case, tx: Transaction, read: ReadExecuted) -> bool:
    """Whether a read of a store's rows is of a table dropped by then, and of what commits nothing.

    Its process was late: I1 and I10 tell of that. Rows go with the table once no transaction that
    may commit a write uses it; a store checks none that only reads (C13).
    """
    if not case.is_layered or (tx.committed is not None and tx.writes):
        return False
    return case.schemas.existing(read.object_id, read.op_ts) is None


def _is_as_written(writes: Writes, position: int, read: ReadExecuted, row: RowRead) -> bool:
    """Whether a row shows what its writer's client meant, in one of the writes before the read."""
    candidates = writes.of.get((row.writer or "", (read.object_id, row.key)), ())
    none_before = True
    for write in reversed(candidates):
        if write.position < position:
            if not differing(writes, write, read.version, row.row):
                return True
            none_before = False
    return none_before


def _misdecoded(case: Case, writes: Writes, read: ReadExecuted, row: RowRead) -> Iterator[Anomaly]:
    """A row decoded with another version, or one of a newer version with values of its types.

    Where columns have got another type, a row from behind that is none under the version before,
    with whichever version its bytes are said to have been decoded.
    """
    if row.row is None:
        return
    wrong: list[tuple[str, str]] = []
    if row.decoded_version != row.row_version:
        wrong.append(("wrong-version-decoded", f" and decoded with version {row.decoded_version}"))
    table = None
    if row.row_version > read.version:
        table = writes.table(read.object_id, read.version)
    cells = {} if table is None else dict(row.row)
    for column in () if table is None else table.columns:
        value = cells.get(column.id)
        if not is_value_of(value, column.type):
            what = f", and shows {value!r}, which is not a value of {column.name} {column.type}"
            wrong.append(("newer-type-shown", what))
    for kind, what in wrong:
        yield Anomaly(
            kind,
            f"{_read(case, read, row)} on node {read.node}: the row of {row.writer} was written "
            f"under version {row.row_version}{what}",
            (read,),
            clauses=("110.flow.5",),
        )


def _misread(
    case: Case, writes: Writes, position: int, read: ReadExecuted, row: RowRead
) -> Iterator[Anomaly]:
    candidates = writes.of.get((row.writer or "", (read.object_id, row.key)), [])
    last = [write for write in candidates if write.position < position][-1]
    wrong = differing(writes, last, read.version, row.row)
    yield Anomaly(
        "misread-row",
        f"{_read(case, read, row)} on node {read.node}, written by {row.writer} under version "
        f"{row.row_version}: {'; '.join(wrong)}",
        (*_encoded(case, last), last.event, read),
        clauses=("110.fwd.2",),
    )


def _outdated(writes: Writes, position: int, read: ReadExecuted, row: RowRead) -> Version | None:
    """The version that a read may not miss, where the row of another that it found is older."""
    item = (read.object_id, row.key)
    versions = writes.versions.get(item)
    if versions is None or versions[-1].write.tx == row.writer:
        return None
    due = _due(writes, position, read, item)
    return due if due is not None and _is_older(writes, item, row.writer, due) else None


def _too_new(case: Case, writes: Writes, read: ReadExecuted, row: RowRead) -> Iterator[Anomaly]:
    """A read at a version of a store finds nothing that was committed at a later one."""
    place = writes.order.get((row.writer or "", (read.object_id, row.key)))
    if place is None:
        return
    found = writes.versions[read.object_id, row.key][place]
    if found.commit_ts > read.op_ts:
        yield Anomaly(
            "read-ahead",
            f"{_read(case, read, row)} at {show(read.op_ts)} and found {version_of(row.writer)}, "
            f"which was committed at {show(found.commit_ts)}",
            (read, case.history.events[found.committed_at]),
        )


def _read(case: Case, read: ReadExecuted, row: RowRead) -> str:
    return f"{read.tx} read {the_row(case, read.object_id, row.key, read.version)}"


def _rows_missed(
    case: Case, writes: Writes, position: int, read: ReadExecuted
) -> Iterator[Anomaly]:
    """Keys of the partition that a scan did not find, though a committed row was there."""
    found = {row.key: None for row in read.rows}
    for key in writes.partitions.get((read.object_id, read.partition), ()):
        item = (read.object_id, key)
        if key in found or (read.tx, item) in writes.of:
            continue
        due = _due(writes, position, read, item)
        if due is not None and due.write.event.row is not None:
            yield _lost(case, read, None, due)


def _due(writes: Writes, position: int, read: ReadExecuted, item: Item) -> Version | None:
    """The version that a read may not miss: committed before it, in time and by timestamp.

    A store's versions are in the order of time, whenever the commit came to be known.
    """
    due = writes.newest_at(item, read.op_ts)
    if due is None or writes.is_layered or due.committed_at < position:
        return due
    return None


def _is_older(writes: Writes, item: Item, writer: str | None, due: Version) -> bool:
    """Whether what a read found is an older committed version than the one it may not miss."""
    if writer is None:
        return True
    if writer == due.write.tx:
        return False
    found = writes.order.get((writer, item))
    return found is not None and found < writes.order[due.write.tx, item]


def _lost(case: Case, read: ReadExecuted, writer: str | None, due: Version) -> Anomaly:
    event = due.write.event
    return Anomaly(
        "write-missed",
        f"{read.tx} read {the_row(case, read.object_id, event.key, read.version)} at "
        f"{show(read.op_ts)} and found {version_of(writer)}, though {due.write.tx} had written it "
        f"and committed at {show(due.commit_ts)}",
        (event, case.history.events[due.committed_at], read),
    )


# --- words ---------------------------------------------------------------------------------------


def _encoded(case: Case, write: Write) -> tuple[AnyEvent, ...]:
    encoded = case.meant(write.event, write.position)
    return () if encoded is None or write.event.row is None else (encoded,)


CHECKERS.add("data_matches_schema", DataMatchesSchema())
