"""What must justify a refusal of a row or a column in the history; part of I11.

COLUMN_NOT_FOUND: an operation named a column that its table's enlisted version has not. BAD_ROW: a
row that was to be written does not fit that version, such as what an update leaves of a NULL.
KEY_EXISTS: an insert found a row of its own transaction's, or one that had been committed.
UNIQUE_VIOLATED: a write found such a row under another key, with its own values in a unique index
of the version that it ran under. CHECK_VIOLATED: a row that it was to write does not satisfy a
constraint of the version that it was enlisted under.

`Named` events record what operations name. A history of an earlier version has none of them, so the
first two reasons cannot be judged in it and are counted as not judged.
"""

from collections.abc import Iterator
from typing import Any

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Operation, Transaction
from ddlsim.checkers.case.constraints import broken_checks, entry, uniques
from ddlsim.checkers.case.rows import is_legal, is_value_of, upgraded
from ddlsim.checkers.needless.needless import Needless
from ddlsim.history.event import Cells
from ddlsim.history.events import Failed, Invoked, RowRead
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Column, Table, View

WHOLE_ROWS = ("put", "insert", "replace")


def tells_names(case: Case) -> bool:
    """Whether the history has the names that operations use, and every refused lock."""
    return bool(case.of_cluster.get("tells_names"))


def column_not_found(case: Case, tx: Transaction) -> Needless | None:
    """A named column is missing in the enlisted version of the operation's table."""
    if not tells_names(case):
        return None
    asked = {op: columns for op in tx.ops if (columns := _asked_for(case, op))}
    if not asked:
        return Needless("no-column-named", "none of its operations had named a column")
    for op, columns in asked.items():
        for table in _tables(case, tx, case.operations.get(op)):
            known = {column.name: None for column in table.columns}
            if any(name not in known for name in columns):
                return None
    names = ", ".join(dict.fromkeys(name for columns in asked.values() for name in columns))
    return Needless("column-exists", f"the versions that it had enlisted have the columns {names}")


def _asked_for(case: Case, op: str) -> tuple[str, ...]:
    """The columns that an operation reads, or looks for values in."""
    named = case.named.get(op)
    if named is None:
        return ()
    return (*named.columns, *(named.values or {})) if _kind(case, op) == "find" else named.columns


def key_exists(case: Case, tx: Transaction) -> Needless | None:
    """An insert read a row under its key, its own transaction's or a committed one."""
    inserts = {op for op in tx.ops if _kind(case, op) == "insert"}
    for position, read in tx.reads:
        if read.op in inserts and position < tx.aborted_at:
            for row in read.rows:
                if row.row is not None and _is_there(case, tx, read.object_id, row, position):
                    return None
    return Needless("no-such-row", "no insert of it had found a row, its own or a committed one")


def _is_there(case: Case, tx: Transaction, object_id: int, row: RowRead, before: int) -> bool:
    writer = None if row.writer is None else case.transactions.get(row.writer)
    if writer is None or not (writer is tx or _has_committed(case, writer, before)):
        return False
    return any(
        at < before and write.object_id == object_id and write.key == row.key and write.row
        for at, write in writer.writes
    )


def _has_committed(case: Case, writer: Transaction, before: int) -> bool:
    """Whether it had committed by then; a store shows that before the event tells it."""
    return 0 <= writer.committed_at < (len(case.history.events) if case.is_layered else before)


# --- unique indexes and constraints --------------------------------------------------------------


def unique_violated(case: Case, tx: Transaction) -> Needless | None:
    """A write read another row, its own transaction's or a committed one, with its values."""
    for position, read in tx.reads:
        operation = case.operations.get(read.op)
        if operation is None or operation.invoked is None or position > tx.aborted_at:
            continue
        if operation.invoked.kind not in (*WHOLE_ROWS, "update"):
            continue
        meant = _meant(case, tx, operation, read.object_id, read.version)
        table = case.schemas.definition(read.object_id, read.version)
        if meant is None or not isinstance(table, Table):
            continue
        for row in read.rows:
            if row.row is None or _same_key(row.key, operation.invoked.key):
                continue
            equal = any(
                (values := entry(unique, row.row, table)) is not None
                and values == entry(unique, meant, table)
                for unique in uniques(table, built=case.is_layered)
            )
            if equal and _is_there(case, tx, read.object_id, row, position):
                return None
    return Needless("no-equal-row", "no write of it had found another row with its unique values")


def check_violated(case: Case, tx: Transaction) -> Needless | None:
    """A row that it was to write does not satisfy a CHECK of an enlisted version of its table."""
    for op in tx.ops:
        operation = case.operations.get(op)
        if operation is None or operation.invoked is None:
            continue
        for table in _tables(case, tx, operation):
            meant = _meant(case, tx, operation, table.id, table.version)
            if meant is not None and broken_checks(table, meant):
                return None
    return Needless("checks-hold", "every row that it was to write satisfies every CHECK")


def _meant(
    case: Case, tx: Transaction, operation: Operation, object_id: int, version: int
) -> Cells | None:
    """The row that an operation was to write, under a version of its table."""
    invoked, target = operation.invoked, case.schemas.definition(object_id, version)
    if invoked is None or not isinstance(target, Table):
        return None
    if invoked.kind == "update":
        return _updated(case, tx, operation, target)
    for _, encoded in reversed(case.encodings.get(operation.name, [])):
        source = case.schemas.definition(encoded.object_id, encoded.version)
        if encoded.object_id == object_id and isinstance(source, Table):
            return upgraded(encoded.row, source, target)
    return None


def _updated(case: Case, tx: Transaction, operation: Operation, table: Table) -> Cells | None:
    """The row that an update found, with the values that it sets."""
    named, invoked = case.named.get(operation.name), operation.invoked
    assert invoked is not None, operation.name
    ids = {column.name: column.id for column in table.columns}
    sets = (
        {ids[name]: value for name, value in (named.values or {}).items() if name in ids}
        if (named is not None)
        else {}
    )
    for _, read in tx.reads:
        for row in read.rows:
            found = read.op == operation.name and _same_key(row.key, invoked.key)
            if found and row.row is not None and read.object_id == table.id:
                return tuple((column, sets.get(column, value)) for column, value in row.row)
    return None


def _same_key(one: Any, other: Any) -> bool:
    plain = [tuple(key) if isinstance(key, list) else key for key in (one, other)]
    return bool(plain[0] == plain[1])


# --- rows that do not fit -------------------------------------------------------------------------


def bad_row(case: Case, tx: Transaction) -> Needless | None:
    """A primary refused a row: one that the transaction was to write does not fit."""
    if not tells_names(case):
        return None
    for op in tx.ops:
        operation = case.operations.get(op)
        if operation is not None and _misfits(case, tx, operation):
            return None
    return Needless("row-fits", "every row that it was to write fits the version of its table")


def bad_rows(case: Case) -> Iterator[tuple[Needless, Anomaly]]:
    """Rows that clients refused themselves; their transactions are rolled back."""
    if not tells_names(case):
        return
    for _, failed in case.of(Failed):
        operation = case.operations.get(failed.op)
        if failed.reason != Reason.BAD_ROW.name or operation is None or operation.invoked is None:
            continue
        names = operation.txs or {operation.invoked.tx or operation.name: None}
        txs = [case.transactions[name] for name in names if name in case.transactions]
        if any(tx.aborted is not None and tx.aborted.reason == failed.reason for tx in txs):
            continue  # refused by a primary: judged with the transaction
        if any(_misfits(case, tx, operation) for tx in txs):
            continue
        if case.is_layered and not any(tx.enlisted for tx in txs):
            continue  # refused before anything was read: no event tells under which version
        needless = Needless("row-fits", "the row fits every version that its table had for it")
        yield (
            needless,
            Anomaly(
                needless.cause,
                f"{failed.op} failed with BAD_ROW ({Reason.BAD_ROW.sentence}), but {needless.why}",
                (operation.invoked, failed),
                clauses=("110.req.0",),
            ),
        )


def _misfits(case: Case, tx: Transaction, operation: Operation) -> bool:
    """Whether its row does not fit some enlisted version of its table."""
    invoked = operation.invoked
    if invoked is None or invoked.kind not in (*WHOLE_ROWS, "update"):
        return False
    named = case.named.get(operation.name)
    values = None if named is None else named.values
    tables = list(_tables(case, tx, operation))
    if invoked.kind != "update":
        return any(not _row_fits(table, invoked, values) for table in tables)
    return any(
        not _update_fits(table, values) or _leaves_null(case, tx, operation, table)
        for table in tables
    )


def _leaves_null(case: Case, tx: Transaction, operation: Operation, table: Table) -> bool:
    """Whether an update found a NULL in a NOT NULL column and does not set that column."""
    left = _updated(case, tx, operation, table)
    return left is not None and is_legal(left, table) is not None


def _row_fits(table: Table, invoked: Invoked, values: dict[str, Any] | None) -> bool:
    """Its key is one of the table; every named column is there and can hold its value; all that
    need a value have one.
    """
    given = tuple(invoked.key) if isinstance(invoked.key, list | tuple) else (invoked.key,)
    keyed = dict(zip(table.key, given, strict=False))
    names = {column.name: column for column in table.columns}
    types = {column.id: column.type for column in table.columns}
    if len(given) != len(table.key) or not all(
        value is None or is_value_of(value, types[column]) for column, value in keyed.items()
    ):
        return False
    if values is not None and any(
        name not in names or not is_value_of(value, names[name].type)
        for name, value in values.items()
    ):
        return False
    return all(
        column.nullable or _value(column, table, keyed, values) is not None
        for column in table.columns
    )


def _value(
    column: Column, table: Table, keyed: dict[int, Any], values: dict[str, Any] | None
) -> Any:
    """What a row holds in a column; a client that names none fills all but the key."""
    if column.id in keyed:
        return keyed[column.id]
    if values is None:
        return column.default if column.id in table.key else "filled"
    return values.get(column.name, column.default)


def _update_fits(table: Table, values: dict[str, Any] | None) -> bool:
    """Every column that is set is there, is not of the key, and gets a value that it may have."""
    columns = {column.name: column for column in table.columns}
    for name, value in (values or {}).items():
        column = columns.get(name)
        if column is None or column.id in table.key or (value is None and not column.nullable):
            return False
        if not is_value_of(value, column.type):
            return False
    return True


# --- tables ---------------------------------------------------------------------------------------


def _kind(case: Case, op: str) -> str | None:
    operation = case.operations.get(op)
    return None if operation is None or operation.invoked is None else operation.invoked.kind


def _tables(case: Case, tx: Transaction, operation: Operation | None) -> Iterator[Table]:
    """The enlisted versions of the table that an operation names, or of what its view reads.

    What is known under another name keeps its enlistment: a look-up alone tells the new name.
    """
    invoked = None if operation is None else operation.invoked
    name = None if invoked is None else invoked.table
    known = {event.object_id: None for _, event in tx.resolved if name and event.name == name}
    objects = [
        (
            name is not None and (event.name == name or event.object_id in known),
            case.schemas.definition(event.object_id, event.version),
        )
        for _, event in tx.enlisted
    ]
    named = [found for is_named, found in objects if is_named]
    wanted: dict[int, None] = {}
    for found in named:
        if isinstance(found, Table):
            yield found
        elif isinstance(found, View):
            wanted |= dict.fromkeys(found.tables)
    for _, found in objects:  # a view stands before the table that it reads
        if isinstance(found, View) and found.id in wanted:
            wanted |= dict.fromkeys(found.tables)
    for _, found in objects:
        if isinstance(found, Table) and found.id in wanted and found not in named:
            yield found
