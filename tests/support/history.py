"""A tiny language for hand-written histories: what happened when, in milliseconds.

Events are sorted by their instant, and where that ties by the order of the calls. Every row holds
its key, and in each other column of its version a value that names the writer.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ddlsim.history.events import (
    AnyEvent,
    DdlDecided,
    Encoded,
    Enlisted,
    Invoked,
    MetadataRead,
    Ok,
    ReadExecuted,
    RowFinal,
    RowRead,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    UpdateApplied,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.history import HISTORY_FORMAT, Header, History
from ddlsim.history.world_events import ClockSet
from ddlsim.model import ddl
from ddlsim.model.design import Claim, DesignHeader
from ddlsim.model.pending import ColumnPending
from ddlsim.model.schema import Column, ColumnType, Constraint, Index, Table
from ddlsim.units import ms, timestamp

INT = ColumnType("INTEGER")
BIGINT = ColumnType("BIGINT")
ALL_INVARIANTS = ("I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10", "I11", "I12")
NOT_GIVEN: Any = object()


def ts(at_ms: int) -> int:
    """A timestamp of whole milliseconds."""
    return int(timestamp(at_ms))


def text(length: int | None = None) -> ColumnType:
    return ColumnType("VARCHAR", length=length)


def add_column(id_: int, name: str, **more: Any) -> ddl.ColumnAdded:
    default = more.get("default")
    return ddl.ColumnAdded(
        Column(id_, name, more.pop("type", INT), initial_default=default, **more)
    )


def drop_constraint() -> ddl.ConstraintDropped:
    return ddl.ConstraintDropped(Constraint(1, "positive", "check", "v > 0"))


class Story:
    """A history in the making."""

    def __init__(
        self, claims: tuple[str, ...] = ALL_INVARIANTS, *, backward: str = "forbid_all", **more: Any
    ) -> None:
        assumes = more.pop("assumes", {})
        self.design = DesignHeader(
            "hand-made",
            "a hand-written history",
            "tests",
            "ignite",
            tuple(Claim(one, tuple(assumes.get(one, ()))) for one in claims),
            backward=backward,
        )
        self.settings = more.pop("settings", {"": {"max_clock_skew_ms": 100}})
        self.reaches = tuple(more.pop("reaches", ()))
        assert not more, more
        self._events: list[tuple[int, int, AnyEvent]] = []
        self._versions: dict[int, list[Table]] = {}
        self._rows: dict[tuple[str, int, Any], tuple[int, Any]] = {}
        self._enlisted: dict[str, dict[int, int]] = {}
        self._catalog = 0
        self._ops = 0

    # --- events ----------------------------------------------------------------------------------

    def add(self, at: float, kind: Any, *fields: Any, **named: Any) -> Any:
        """Any event at all."""
        event = kind(ms(at), *fields, **named)
        self._events.append((event.at_us, len(self._events), event))
        return event

    def history(self) -> History:
        header = Header(
            HISTORY_FORMAT,
            "test",
            "hand-made",
            "",
            {},
            1,
            self.design,
            None,
            "ok",
            self.reaches,
            self.settings,
        )
        history = History(header)
        history.events = [event for _, _, event in sorted(self._events, key=lambda e: e[:2])]
        history.end_us = max((event.at_us for event in history.events), default=0)
        return history

    def op(self, op: str | None) -> str:
        self._ops += 1
        return op or f"op{self._ops}"

    # --- schema ----------------------------------------------------------------------------------

    def table(self, name: str = "t", *, tu: int = 0, columns: tuple[Column, ...] = ()) -> int:
        """A table of the initial schema with the columns `id` and `v`; gives its id."""
        id_ = len(self._versions) + 1
        columns = columns or (Column(0, "id", INT, nullable=False), Column(1, "v", INT))
        table = Table(id_, name, 1, columns, (0,), "default")
        self._versions[id_] = [table]
        self._log(0, None, tu, [(id_, name, table, (ddl.ObjectCreated(),))])
        return id_

    def _log(
        self, at: float, op: str | None, tu: int, changed: list[Any], tm: Any = None, on: Any = None
    ) -> None:
        self._catalog += 1
        objects = tuple(
            ddl.ObjectChange(
                id_, "table", name, 1 if table is None else table.version, table, changes
            )
            if table is not None
            else ddl.ObjectChange(id_, "table", name, len(self._versions[id_]) + 1, None, changes)
            for id_, name, table, changes in changed
        )
        message_ts = ts(tu if tm is None else tm)
        stamps = (message_ts, ts(tu), 0)
        self.add(at, UpdateLogged, "n1", op, self._catalog, self._catalog, *stamps, objects, on)

    def ddl(
        self,
        op: str,
        table: int,
        *changes: Any,
        tu: int,
        submit: float | None = None,
        ack: float | None = None,
        **more: Any,
    ) -> int:
        """A statement that changes one table from Tu on; gives the table's new version."""
        submit = tu if submit is None else submit
        before = self._versions[table][-1]
        after = _changed(before, changes)
        client = more.get("client", f"client of {op}")
        self.add(submit, Invoked, client, op, None, "n1", "ddl", sql=more.get("sql", f"ALTER {op}"))
        on = more.get("built_on")
        self._log(submit, op, tu, [(table, before.name, after, changes)], more.get("tm"), on)
        asked = more.get("asked")
        self.add(submit, DdlDecided, "n1", op, "installed", self._catalog, ts(tu), ts(tu), asked)
        if ack is not None:
            self.add(ack, more.get("end", Ok), client, op, *more.get("reason", ()))
        if after is not None:
            self._versions[table].append(after)
        return before.version + 1

    def created(self, op: str, name: str, *, tu: int, submit: float, ack: float) -> int:
        """A CREATE TABLE at run time."""
        id_ = len(self._versions) + 1
        columns = (Column(0, "id", INT, nullable=False), Column(1, "v", INT))
        table = Table(id_, name, 1, columns, (0,), "default")
        self._versions[id_] = [table]
        self.add(submit, Invoked, "ddl", op, None, "n1", "ddl", sql=f"CREATE TABLE {name}")
        self._log(submit, op, tu, [(id_, name, table, (ddl.ObjectCreated(),))])
        self.add(ack, Ok, "ddl", op)
        return id_

    def add_version(self, table: int, definition: Table) -> None:
        """A version of a table whose update a test logs by itself."""
        self._versions.setdefault(table, []).append(definition)

    def applied(self, node: str, at: float, catalog: int, tu: int) -> None:
        self.add(at, UpdateApplied, node, catalog, ts(tu), ts(tu))

    def resolve(
        self, tx: str, table: int, top: int, version: int, *, at: float | None = None, **more: Any
    ) -> SchemaResolved:
        found: SchemaResolved = self.add(
            top if at is None else at,
            SchemaResolved,
            more.get("node", "n1"),
            tx,
            more.get("op"),
            more.get("purpose", "arrival"),
            more.get("name"),
            table,
            ts(top),
            version,
            0,
        )
        return found

    # --- transactions ----------------------------------------------------------------------------

    def begin(
        self,
        tx: str,
        at: float,
        *,
        client: str | None = None,
        read_at: int | None = None,
        session: bool = False,
        node: str = "n1",
    ) -> None:
        client = client or f"client of {tx}"
        op = self.op(f"{tx}.begin")
        self.add(at, Invoked, client, op, tx, node, "begin", session=session)
        read_ts = None if read_at is None else ts(read_at)
        self.add(at, TxBegan, tx, node, ts(int(at)), implicit=False, read_ts=read_ts)
        self.add(at, Ok, client, op)

    def _enlist(self, tx: str, table: int, at: float, version: int) -> None:
        tables = self._enlisted.setdefault(tx, {})
        if table not in tables:
            tables[table] = version
            name = self._versions[table][0].name
            self.add(at, Enlisted, tx, "n1", table, name, ts(int(at)), version)

    def write(self, tx: str, table: int, key: Any, at: float, version: int = 1, **more: Any) -> str:
        """A put (or with `row=None` a delete), and all that it leaves behind."""
        op, node = self.op(more.get("op")), more.get("node", "n1")
        client = more.get("client", f"client of {tx}")
        named = None if more.get("implicit") else tx
        self.add(at, Invoked, client, op, named, node, "put", table="t", key=key)
        self._enlist(tx, table, at, more.get("initial", version))
        meant = more.get("row", NOT_GIVEN)
        meant_version = more.get("meant_version", version)
        if meant is NOT_GIVEN:
            meant = self.row_of(table, meant_version, key, f"{tx}:{op}")
        if meant is not None:
            self.add(at, Encoded, client, op, table, meant_version, meant)
        written = more.get("written", NOT_GIVEN)
        written = meant if written is NOT_GIVEN else written
        self._rows[tx, table, key] = (version, written)
        self.add(
            at,
            WriteExecuted,
            node,
            tx,
            op,
            table,
            more.get("partition", 0),
            key,
            ts(int(more.get("op_ts", at))),
            version,
            written,
        )
        if more.get("ok", True):
            self.add(more.get("ok_at", at), Ok, client, op)
        return op

    def row_of(self, table: int, version: int, key: Any, word: str) -> tuple[tuple[int, Any], ...]:
        columns = self.definition(table, version).columns
        return tuple((c.id, key if c.id == 0 else f"{word}.{c.id}") for c in columns)

    def definition(self, table: int, version: int) -> Table:
        return self._versions[table][version - 1]

    def found(self, table: int, key: Any, writer: str | None, version: int) -> RowRead:
        """A key as a correct primary shows it to a reader on `version`."""
        row_version, row = self._rows.get((writer or "", table, key), (0, None))
        if row is None:
            return RowRead(key, writer, row_version, row_version, None)
        cells = dict(row)
        shown = tuple(
            (c.id, cells.get(c.id, c.initial_default))
            for c in self.definition(table, version).columns
        )
        return RowRead(key, writer, row_version, row_version, shown)

    def read(
        self, tx: str, table: int, key: Any, at: float, writer: str | None, **more: Any
    ) -> str:
        """A get of one key, as left by `writer`."""
        version = more.get("version", 1)
        row = more.get("row") or self.found(table, key, writer, version)
        return self._read(tx, table, at, (row,), predicate=False, **more)

    def scan(self, tx: str, table: int, at: float, found: dict[Any, str], **more: Any) -> str:
        """A scan of one partition: each key found, and whose version of it."""
        version = more.get("version", 1)
        rows = tuple(self.found(table, key, writer, version) for key, writer in found.items())
        return self._read(tx, table, at, rows, predicate=True, **more)

    def _read(self, tx: str, table: int, at: float, rows: tuple[RowRead, ...], **more: Any) -> str:
        op, node, version = self.op(more.get("op")), more.get("node", "n1"), more.get("version", 1)
        client = more.get("client", f"client of {tx}")
        named = None if more.get("implicit") else tx
        kind = "scan" if more["predicate"] else "get"
        self.add(at, Invoked, client, op, named, node, kind, table=more.get("named", "t"))
        self._enlist(tx, table, at, more.get("initial", version))
        self.add(
            at,
            ReadExecuted,
            node,
            tx,
            op,
            table,
            more.get("partition", 0),
            ts(int(more.get("op_ts", at))),
            version,
            more["predicate"],
            rows,
        )
        value = shown(self.definition(table, version), rows)
        if not more["predicate"]:
            value = value[0] if value else None
        self.add(at, Ok, client, op, more.get("value", value))
        return op

    def metadata(self, tx: str, table: int, at: float, version: int = 1) -> None:
        columns = tuple(column.name for column in self.definition(table, version).columns)
        op = self.op(None)
        self.add(at, Invoked, f"client of {tx}", op, tx, "n1", "scan", table="t")
        self.add(at, MetadataRead, "n1", tx, op, table, version, columns)
        self.add(at, Ok, f"client of {tx}", op)

    def commit(self, tx: str, at: float, **more: Any) -> None:
        """A commit; `outcome` is what its client learns of it, or None for nothing."""
        client = more.get("client", f"client of {tx}")
        op = self.op(more.get("op", f"{tx}.commit"))
        commit_ts = ts(int(more.get("commit_ts", at)))
        tables = more.get("tables")
        if tables is None:
            tables = tuple((one, v, v) for one, v in self._enlisted.get(tx, {}).items())
        if not more.get("implicit"):
            self.add(more.get("invoked", at), Invoked, client, op, tx, "n1", "commit")
        if more.get("stored", True):
            self.add(at, TxCommitted, "n1", tx, commit_ts, tables)
        outcome, told = more.get("outcome", Ok), more.get("told", at)
        if outcome is not None and not more.get("implicit"):
            reason = () if outcome is Ok else (more.get("reason", "NODE_UNREACHABLE"),)
            self.add(told, outcome, client, op, *reason)

    def abort(self, tx: str, at: float, reason: str = "LOCK_CONFLICT") -> None:
        self.add(at, TxAborted, "n1", tx, reason)

    def kept(self, table: int, key: Any, writer: str, commit: int, at: float, **more: Any) -> None:
        """What storage held in the end."""
        version, row = self._rows[writer, table, key]
        row = more.get("row", row)
        self.add(
            at, RowFinal, more.get("node", "n1"), table, 0, key, writer, ts(commit), version, row
        )

    def clock(self, node: str, offset_ms: float, at: float = 0, drift_ppm: int = 0) -> None:
        self.add(at, ClockSet, node, ms(offset_ms), drift_ppm)


def shown(table: Table, rows: Sequence[RowRead]) -> list[Any]:
    """Rows as a client shows them, by the names of their columns."""
    cells = [dict(row.row) for row in rows if row.row is not None]
    return [{one.name: row.get(one.id) for one in table.columns} for row in cells]


def _changed(before: Table, changes: tuple[Any, ...]) -> Table | None:
    """A table after simple changes; None once it is dropped."""
    name, columns = before.name, list(before.columns)
    for change in changes:
        match change:
            case ddl.ObjectDropped():
                return None
            case ddl.ObjectRenamed(new_name=new_name):
                name = new_name
            case ddl.ColumnAdded(column=column) | ColumnPending(column=column):
                columns.append(column)
            case ddl.ColumnDropped(column=column):
                columns = [one for one in columns if one.id != column.id]
            case ddl.ColumnAltered(after=after):
                columns = [after if one.id == after.id else one for one in columns]
    return Table(
        before.id,
        name,
        before.version + 1,
        tuple(columns),
        before.key,
        before.zone,
        *_demands(before, changes),
    )


def _demands(
    before: Table, changes: tuple[Any, ...]
) -> tuple[tuple[Index, ...], tuple[Constraint, ...]]:
    """The indexes and constraints of a table after simple changes."""
    indexes, constraints = list(before.indexes), list(before.constraints)
    for change in changes:
        match change:
            case ddl.IndexCreated(index=index):
                indexes.append(index)
            case ddl.IndexDropped(index=index):
                indexes = [one for one in indexes if one.id != index.id]
            case ddl.IndexStateSet(index_id=index_id, state=state):
                indexes = [
                    replace(one, state=state) if one.id == index_id else one for one in indexes
                ]
            case ddl.ConstraintAdded(constraint=constraint):
                constraints.append(constraint)
            case ddl.ConstraintDropped(constraint=constraint):
                constraints = [one for one in constraints if one.id != constraint.id]
    return tuple(indexes), tuple(constraints)
