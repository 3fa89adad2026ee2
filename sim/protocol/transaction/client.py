"""The client's side: cached schemas, encoding, refresh on mismatch.

A client encodes its rows with the schema version that it has cached, and sends that version along
[110.flow.1]. If the coordinator answers that the transaction runs under another version, the client
caches that version, encodes again and resends; the transaction stays open [110.flow.2]. Clients
carry no causal token from answer to request unless their session asks for one.

A put that names only its key has its other columns filled with values unique to (operation,
column), so that a later read shows which write they come from.
"""

import zlib
from collections.abc import Awaitable
from decimal import Decimal
from typing import Final, Protocol, TypeVar

from msgspec import structs

from ddlsim.history.event import Cells
from ddlsim.history.events import Encoded, ReadTimeChosen
from ddlsim.model.ops import (
    Begin,
    DataOperation,
    Find,
    Insert,
    Key,
    Put,
    Read,
    Replace,
    Update,
)
from ddlsim.model.ports import NoReplyType, Request
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Column, Table, Value
from ddlsim.protocol.ids import Tuple
from ddlsim.protocol.messages import (
    ENCODINGS_BITS,
    Answer,
    ClientOperation,
    ClientRollback,
    Mismatch,
    Refusal,
)
from ddlsim.protocol.schema.column_types import holds
from ddlsim.protocol.schema.rows import BadRow, decode, encode
from ddlsim.units import US_PER_MS, Micros, Timestamp, timestamp

R = TypeVar("R")
REFRESHES = 5
"""How often one operation may be encoded before the client gives up."""
LARGEST: Final = {"TINYINT": 0x7F, "SMALLINT": 0x7FFF, "INTEGER": 0x7FFFFFFF, "BIGINT": 0xFFFFFFFF}
"""The largest number that a generated write puts into a column; of BIGINT, 32 bits are enough."""


class Connection(Protocol):
    """What a client needs of its machine."""

    recording: bool

    def request(
        self, to: str, payload: Request[R], timeout_us: Micros, label: int | None = None
    ) -> Awaitable[R | NoReplyType]:
        """Send and wait for the reply."""

    def elapsed_us(self) -> Micros:
        """The present instant."""

    def record(self, event: object) -> None:
        """Write an event into the history."""


class Client:
    """One client: its cache of schemas by table name, and its session's token if it keeps one."""

    def __init__(
        self, name: str, connection: Connection, timeout_us: Micros, *, session: bool
    ) -> None:
        self.name = name
        self.tables: dict[str, Table] = {}
        self.token_ts: Timestamp | None = None
        self._connection = connection
        self._timeout_us = timeout_us
        self._session = session

    def forget_schemas(self) -> None:
        """Forget the cached schemas, as a new connection does."""
        self.tables.clear()

    async def ask(
        self, node: str, request: Request[R], label: int | None = None
    ) -> R | NoReplyType:
        """Send a request that needs no encoding, and keep the session's token."""
        reply = await self._connection.request(node, request, self._timeout_us, label)
        if self._session:
            self._keep_token(reply)
        return reply

    async def operate(
        self,
        node: str,
        op: str,
        tx: str,
        do: DataOperation,
        begin: Begin | None = None,
        *,
        implicit: bool = False,
    ) -> Answer | Refusal | NoReplyType:
        """Run one operation, encoded again after each `Mismatch`, up to `REFRESHES` times.

        All attempts together have the operation's time limit. `begin` says how the transaction
        begins that the operation begins or, `implicit`, is.
        """
        begins = begin is not None and not implicit
        read_only = begin is not None and begin.read_only
        read_ts = self.chosen_ts(op, begin)
        known_ts = Timestamp(0)
        until_us = self._connection.elapsed_us() + self._timeout_us
        label = zlib.crc32(op.encode()) << ENCODINGS_BITS
        for refresh in range(REFRESHES):
            table = self.tables.get(do.table)
            row = self._encoded(op, do, table)
            if type(row) is BadRow:
                if refresh:
                    refusal = Refusal(Timestamp(0), Reason.BAD_ROW, row.message)
                    return await self._given_up(node, op, tx, refusal, until_us)
                table, row = None, None  # it may fit the present schema: request that first
            request = ClientOperation(
                op,
                tx,
                do.__struct_config__.tag,  # type: ignore[arg-type]  # a str for every operation
                do.table,
                do.key,
                row,
                0 if table is None else table.version,
                0 if table is None else table.id,
                label + refresh,
                begins,
                implicit,
                do.metadata,
                do.columns,
                self.token_ts if self._session else None,
                read_only,
                set_places(do, table),
                type(do) is Insert and do.strict,
                read_ts,
                do.values if type(do) is Find else None,
                index=do.index if type(do) is Find else "",
            )
            left_us = Micros(max(until_us - self._connection.elapsed_us(), 1))
            reply = await self._connection.request(node, request, left_us, label + refresh)
            if self._session:
                self._keep_token(reply)
            if not isinstance(reply, Mismatch):
                if type(reply) is Answer and reply.rows:
                    return structs.replace(reply, shown_under=table)
                return reply
            self.tables[do.table], known_ts = reply.table, reply.token_ts
            begins = False
        refusal = Refusal(known_ts, Reason.SCHEMA_CHANGED, "the schema changed at every try")
        return await self._given_up(node, op, tx, refusal, until_us)

    def chosen_ts(self, op: str, begin: Begin | None) -> Timestamp | None:
        """The timestamp that the client chooses for a read-only transaction; None if it does not.

        By its own clock, which shows true time.
        """
        if begin is None or begin.as_of_ms is None:
            return None
        connection = self._connection
        now_us = connection.elapsed_us()
        read_ts = timestamp(max(now_us // US_PER_MS + begin.as_of_ms, 0))
        if connection.recording:
            connection.record(ReadTimeChosen(now_us, self.name, op, read_ts))
        return read_ts

    async def _given_up(
        self, node: str, op: str, tx: str, refusal: Refusal, until_us: int
    ) -> Refusal:
        """Roll the transaction back at its coordinator, so that its locks are released."""
        token = self.token_ts if self._session else None
        left_us = Micros(max(until_us - self._connection.elapsed_us(), 1))
        reply = await self._connection.request(node, ClientRollback(f"{op}.rb", tx, token), left_us)
        if self._session:
            self._keep_token(reply)
        return refusal

    def _encoded(self, op: str, do: DataOperation, table: Table | None) -> Tuple | BadRow | None:
        """The row of a put under the cached schema; None for other operations, or if unknown."""
        if table is None:
            return None
        if type(do) is Update:
            return updated(do, table)  # no whole row: the primary fills in the other columns
        if type(do) not in (Put, Insert, Replace):
            return None
        row = encoded(op, do, table)  # type: ignore[arg-type]  # one of the three
        connection = self._connection
        if connection.recording and type(row) is tuple:
            cells = decode(table, row)
            connection.record(
                Encoded(connection.elapsed_us(), self.name, op, table.id, table.version, cells)
            )
        return row

    def _keep_token(self, reply: object) -> None:
        token: Timestamp | None = getattr(reply, "token_ts", None)
        if token is not None:
            self.token_ts = token if self.token_ts is None else max(token, self.token_ts)

    def shown(self, do: Read, reply: Answer) -> list[dict[str, Value]]:
        """The rows of an answer as the client shows them: by name, only the columns asked for."""
        rows = [self._named(reply, cells) for _, cells in reply.rows]
        return [{name: row[name] for name in do.columns or row} for row in rows]

    def _named(self, reply: Answer, cells: Cells) -> dict[str, Value]:
        """A row by the names of its columns, under the schema that the request named.

        Another operation of this client may have brought another schema since.
        """
        assert reply.shown_under is not None, "rows without a schema"
        values = dict(cells)
        return {column.name: values.get(column.id) for column in reply.shown_under.columns}


def set_places(do: DataOperation, table: Table | None) -> tuple[int, ...]:
    """The positions in its row at which an update sets a value; none for other operations."""
    if type(do) is not Update or table is None:
        return ()
    return tuple(place for place, column in enumerate(table.columns) if column.name in do.values)


def updated(do: Update, table: Table) -> Tuple | BadRow:
    """The values that an update sets, at the positions of their columns; the rest is ignored."""
    columns = {column.name: column for column in table.columns}
    for name, value in do.values.items():
        column = columns.get(name)
        if column is None:
            return BadRow(f"table {table.name!r} has no column {name!r}")
        if column.id in table.key:
            return BadRow(f"column {name!r} of table {table.name!r} is of its key")
        if value is None and not column.nullable:
            return BadRow(f"column {name!r} of table {table.name!r} needs a value")
        if not holds(column.type, value):
            return BadRow(f"{value!r} is not a value of column {name!r}, {column.type}")
    return tuple(do.values.get(column.name) for column in table.columns)


def encoded(op: str, do: Put | Insert | Replace, table: Table) -> Tuple | BadRow:
    """The row of a put: its key, and the values it names, or else what `filled` gives."""
    key, given = table.key, key_values(do.key)
    if do.values is None and len(given) == len(key) and None not in given:
        row: list[Value] = []
        for column in table.columns:
            known = column.id in key
            row.append(given[key.index(column.id)] if known else filled(op, column, do.spread))
        return tuple(row)
    keyed = dict(zip(key, given, strict=False))
    values = {} if do.values is None else dict(do.values)
    for column in table.columns:
        if column.id in keyed:
            values[column.name] = keyed[column.id]
        elif do.values is None and column.id not in table.key:
            values[column.name] = filled(op, column, do.spread)
    return encode(table, values)


def key_values(key: Key) -> tuple[Value, ...]:
    """The values of a key's columns."""
    return key if isinstance(key, tuple) else (key,)


def filled(op: str, column: Column, spread: int) -> Value:
    """A value derived from the operation and the column, so that a read shows its writer.

    One of `spread` values where that is not 0.
    """
    seed = zlib.crc32(f"{op}/{column.id}".encode())
    name = column.type.name
    if spread:
        seed %= spread
    elif name == "VARCHAR":
        return f"{op}/{column.id}"[: column.type.length]
    if name == "VARCHAR":
        return f"{seed}"[: column.type.length]
    if name in LARGEST:
        return seed & LARGEST[name]
    return _other_value(seed, column)


def _other_value(seed: int, column: Column) -> Value:
    """Values of the types that workloads seldom write."""
    name = column.type.name
    if name in {"REAL", "DOUBLE"}:
        return float(seed & 0xFFFF)
    if name == "BOOLEAN":
        return bool(seed & 1)
    if name == "DECIMAL":
        whole, scale = seed % 10 ** (column.type.precision or 1), column.type.scale or 0
        return f"{Decimal(whole).scaleb(-scale):f}"
    if name == "VARBINARY":
        return f"{seed:08x}"[: 2 * (column.type.length or 1)]
    if name == "UUID":
        return f"{seed:08x}-0000-4000-8000-{seed:012x}"
    hours, minutes, seconds = seed % 24, seed // 24 % 60, seed // 1440 % 60
    time = f"{hours:02}:{minutes:02}:{seconds:02}"
    date = f"2026-{seed % 12 + 1:02}-{seed // 12 % 28 + 1:02}"
    return {"DATE": date, "TIME": time}.get(name, f"{date} {time}")
