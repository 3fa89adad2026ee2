"""What must justify an abort where SQL is a layer on a store; part of I11.

TABLE_NOT_FOUND: an operation named what was no table at the read version. TX_CONFLICT: since the
read version another transaction may have written what this one read, or replaced: a row, any row of
a table that it scanned, entries with values that it asked for or added; or the schema changed, or a
statement was under way. SCHEMA_CONFLICT, where the store says that the schema is among what was
written: the latter alone; its client is answered TX_CONFLICT. What other transactions tried to
write counts too where there are several resolvers, since one does not learn what others have
refused; a resolver alone takes in what it lets commit, and nothing else. CHECK_VIOLATED and
UNIQUE_VIOLATED: by the values that its client had named.

Not judged: TX_TOO_OLD and time limits, since the store's own limits are not in the history; leases;
silence; and conflicts where something was broken, or where a design goes by more than the schema of
the tables that are used (its fence has `past` or `optimistic` in its name).
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.constraints import Unique, broken_checks, entry, uniques
from ddlsim.checkers.case.entries import key_of
from ddlsim.checkers.case.writes import Writes, writes_of
from ddlsim.checkers.needless.needless import Needless
from ddlsim.checkers.needless.row_grounds import WHOLE_ROWS
from ddlsim.checkers.needless.waits import ATTEMPT
from ddlsim.history.event import Cells
from ddlsim.history.events import TxAborted
from ddlsim.history.index_events import IndexRead, IndexWritten
from ddlsim.model.schema import Table
from ddlsim.units import show

BROADER: Final = ("past", "optimistic")
"""What the name of a fence has that goes by more than the schema of the tables that are used."""
Rule = Callable[[Case, Transaction, TxAborted], Needless | None]


class Touched(NamedTuple):
    """What a transaction read, or wrote: rows, whole tables, and entries by index and values."""

    rows: frozenset[tuple[int, Any]]
    tables: frozenset[int]
    entries: frozenset[tuple[int, tuple[Any, ...]]]


# --- conflicts ------------------------------------------------------------------------------------


def conflict(case: Case, tx: Transaction, aborted: TxAborted) -> Needless | None:
    """Something that it read may have been written since its read version."""
    began = case.began.get(tx.name)
    if began is None or _is_not_judged(case, tx):
        return None
    if _schema_may_conflict(case, tx, began[1].begin_ts, aborted.at_us):
        return None
    read = _read_by(case, tx)
    rv, from_us = began[1].begin_ts, _first_us(case, tx)
    alone = case.of_cluster.get("resolvers") == 1
    others = (
        _written_by(case, other)
        for other in case.transactions.values()
        if other is not tx and _is_later(other, rv, from_us, alone=alone)
    )
    if any(_meets(read, written) for written in others):
        return None
    return Needless("no-conflict", "nothing that it had read or replaced was written meanwhile")


def schema_conflict(case: Case, tx: Transaction, aborted: TxAborted) -> Needless | None:
    """The schema may have been written since its read version."""
    began = case.began.get(tx.name)
    if began is None or _is_not_judged(case, tx):
        return None
    if _schema_may_conflict(case, tx, began[1].begin_ts, aborted.at_us):
        return None
    return Needless("no-change", "no statement changed the schema meanwhile")


def _is_not_judged(case: Case, tx: Transaction) -> bool:
    """Whether its conflicts cannot be told: see above."""
    fence = case.header.design.rules.get("fence", "")
    broader = case.is_upkeep(tx.name) or any(word in fence for word in BROADER)
    return broader or bool(case.faults) or not case.of_cluster.get("calm")


def _first_us(case: Case, tx: Transaction) -> int:
    """When its client first asked for something of it."""
    return 0 if tx.begins_at is None else case.history.events[tx.begins_at].at_us


def _schema_may_conflict(case: Case, tx: Transaction, rv: int, until_us: int) -> bool:
    """Whether a statement changed the schema behind the read version, or was under way."""
    from_us = _first_us(case, tx)
    for _, update in case.schemas.updates:
        if update.op is not None and max(update.message_ts, update.activation_ts) > rv:
            return True
    for _, enlisted in tx.enlisted:
        due = case.schemas.effective(enlisted.object_id, rv)
        if due is None or due.version != enlisted.version:
            return True
    statements = (
        (one.invoked, one.ended)
        for one in case.operations.values()
        if one.invoked is not None and one.invoked.kind == "ddl"
    )
    return any(
        asked.at_us <= until_us and (ended is None or ended.at_us >= from_us)
        for asked, ended in statements
    )


def _is_later(other: Transaction, rv: int, from_us: int, *, alone: bool) -> bool:
    """Whether a resolver may have taken in behind a read version what a transaction wrote.

    `alone`: there is one resolver, which takes in nothing of what aborts.
    """
    if other.committed is not None:
        return other.committed.commit_ts > rv
    return other.aborted is None or (not alone and other.aborted.at_us >= from_us)


def _read_by(case: Case, tx: Transaction) -> Touched:
    rows = {(read.object_id, key_of(row.key)) for _, read in tx.reads for row in read.rows}
    rows |= {(write.object_id, key_of(write.key)) for _, write in tx.writes}
    tables = {read.object_id for _, read in tx.reads if read.predicate}
    queries, puts = entries_by_tx(case)
    entries = {(one.index_id, one.values) for one in queries.get(tx.name, ())}
    entries |= {(one.index_id, one.values) for one in puts.get(tx.name, ())}
    return Touched(frozenset(rows), frozenset(tables), frozenset(entries))


def _written_by(case: Case, tx: Transaction) -> Touched:
    rows = {(write.object_id, key_of(write.key)) for _, write in tx.writes}
    _, puts = entries_by_tx(case)
    entries = {(one.index_id, one.values) for one in puts.get(tx.name, ())}
    return Touched(frozenset(rows), frozenset(), frozenset(entries))


def _meets(read: Touched, written: Touched) -> bool:
    scanned = any(object_id in read.tables for object_id, _ in written.rows)
    return scanned or bool(read.rows & written.rows or read.entries & written.entries)


Queries = dict[str, list[IndexRead]]
Puts = dict[str, list[IndexWritten]]


def entries_by_tx(case: Case) -> tuple[Queries, Puts]:
    """The queries by indexes and the entries of each transaction."""
    return case.once(_entries_by_tx)


def _entries_by_tx(case: Case) -> tuple[Queries, Puts]:
    queries: Queries = {}
    puts: Puts = {}
    for _, query in case.of(IndexRead):
        queries.setdefault(query.tx, []).append(query)
    for _, put in case.of(IndexWritten):
        puts.setdefault(put.tx, []).append(put)
    return queries, puts


# --- names ----------------------------------------------------------------------------------------


def no_such_name(case: Case, tx: Transaction, _: TxAborted) -> Needless | None:
    """Some operation named what was no table at its read version; a miss leaves no look-up."""
    began = case.began.get(tx.name)
    if began is None:
        return None
    ts = began[1].begin_ts
    ops = dict.fromkeys([*tx.ops, ATTEMPT.sub("", tx.name)])  # an implicit one may have no event
    asked = [one.invoked for op in ops if (one := case.operations.get(op)) is not None]
    named = [one.table for one in asked if one is not None and one.table is not None]
    names = list(dict.fromkeys(named))
    for name in names:
        if all(one.kind != "table" for one in case.schemas.relations(name, ts)):
            return None
    if not names:
        return None
    were = "was" if len(names) == 1 else "were"
    return Needless("name-exists", f"{', '.join(map(repr, names))} {were} there at {show(ts)}")


# --- rows that constraints refuse -----------------------------------------------------------------


def check_violated(case: Case, tx: Transaction, _: TxAborted) -> Needless | None:
    """A row that its client had named does not satisfy a CHECK of the version that it used."""
    named = list(_named_rows(case, tx))
    if any(row is None or broken_checks(table, row) for _, table, row in named):
        return None
    return Needless("checks-hold", "every row that it was to write satisfies every CHECK")


def unique_violated(case: Case, tx: Transaction, _: TxAborted) -> Needless | None:
    """Another row, its own or one of its read version, had the values of one that it named.

    A unique index refuses in each state in which writes add entries to it. Of one that has enlisted
    no table, which is a statement's on entries, no client named anything.
    """
    if not tx.enlisted:
        return None
    writes, began = writes_of(case), case.began.get(tx.name)
    for key, table, row in _named_rows(case, tx):
        if row is None or began is None:
            return None
        others = _others(writes, tx, table, key, began[1].begin_ts)
        for unique in _refusing(table):
            mine = entry(unique, row, table)
            if mine is not None and any(entry(unique, one, table) == mine for one in others):
                return None
    return Needless("no-equal-row", "no other row had the unique values of one that it named")


def _refusing(table: Table) -> list[Unique]:
    """The unique constraints of a table, and its unique indexes to which writes add entries."""
    lacking = [one.id for one in table.indexes if one.state == "delete_only"]
    return [one for one in uniques(table, built=False) if one.id not in lacking]


def _others(writes: Writes, tx: Transaction, table: Table, key: Any, rv: int) -> list[Cells]:
    """The rows of other keys that it met, as its version of the table shows them.

    What it has written itself stands in the place of what was committed there.
    """
    own = {
        key_of(event.key): writes.at[at] for at, event in tx.writes if event.object_id == table.id
    }
    committed = (
        writes.newest_at(item, rv)
        for item in writes.versions
        if item[0] == table.id and key_of(item[1]) not in own
    )
    found = [version.write for version in committed if version is not None]
    found += own.values()
    shown = [writes.due(one, table.version) for one in found if key_of(one.event.key) != key]
    return [due[0] for due in shown if due is not None and due[0] is not None]


def _named_rows(case: Case, tx: Transaction) -> Iterator[tuple[Any, Table, Cells | None]]:
    """(key, table, row) of each write; row None: the history does not tell it."""
    tables = {event.name: (event.object_id, event.version) for _, event in tx.enlisted}
    for op in tx.ops:
        operation = case.operations.get(op)
        asked = None if operation is None else operation.invoked
        if asked is None or asked.kind not in (*WHOLE_ROWS, "update"):
            continue
        place = tables.get(asked.table or "")
        table = None if place is None else case.schemas.definition(*place)
        if isinstance(table, Table):
            yield key_of(asked.key), table, _named_row(case, op, asked.kind, asked.key, table)


def _named_row(case: Case, op: str, kind: str, key: Any, table: Table) -> Cells | None:
    named = case.named.get(op)
    if named is None or named.values is None or kind == "update":
        return None
    keys = dict(zip(table.key, key if isinstance(key, list | tuple) else (key,), strict=False))
    return tuple(
        (one.id, keys[one.id] if one.id in keys else named.values.get(one.name, one.default))
        for one in table.columns
    )


RULES: Final[dict[str, Rule]] = {
    "TABLE_NOT_FOUND": no_such_name,
    "TX_CONFLICT": conflict,
    "SCHEMA_CONFLICT": schema_conflict,
    "CHECK_VIOLATED": check_violated,
    "UNIQUE_VIOLATED": unique_violated,
}
"""A rule for each of these reasons."""
LIKE_ELSEWHERE: Final = (
    "NEWER_ROW_VERSION", "READ_ONLY", "ROLLED_BACK", "COLUMN_NOT_FOUND",
    "BAD_ROW", "KEY_EXISTS",
)  # fmt: skip
"""Reasons that the rules of other planes judge on this one too; the rest is not judged."""
