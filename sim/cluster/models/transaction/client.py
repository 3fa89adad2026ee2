"""The model of a client: what each of its requests must hold, from what was asked and answered.

From IEP-110, Overall flow, and protocol.md, section 4:

* A request names the table and version of the last schema that an answer brought under the name
  that it uses; none before there was one, or where the row does not fit that schema [110.flow.2].
* A row holds, in that schema's order of columns, the key and every value that the operation names;
  an update sets the columns that it names and no others [110.flow.1]. Every value that it names is
  one of its column's type, and one that it does not name is the default, in whatever form the
  catalog keeps it where the column has changed its type; NOT NULL columns have one
  [110.ours.notnull]. The client refuses a row for nothing else.
* All requests of an operation are answered within its time limit together. A read in the past names
  the time that the client's clock, which shows true time, shows then, and as much less or more as
  the operation says.
* Every request of a session holds the largest timestamp that an answer brought, no other request
  holds one.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

from ddlsim.checkers.case.rows import is_same_value, is_value_of
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.models.words import when
from ddlsim.model.ops import Begin, DataOperation, Insert, Put, Replace, Update
from ddlsim.model.ports import NoReplyType, Request
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Column, Table, Value
from ddlsim.protocol.messages import Answer, ClientOperation, Mismatch, Refusal
from ddlsim.protocol.transaction.client import Client, Connection
from ddlsim.units import LOGICAL_BITS, US_PER_MS, Micros, Timestamp

R = TypeVar("R")


class _Compared:
    """A client's connection; what is sent and answered is given to the model first."""

    def __init__(self, connection: Connection, model: "ModelledClient") -> None:
        self.recording = connection.recording
        self.elapsed_us, self.record = connection.elapsed_us, connection.record
        self._request = connection.request
        self._model = model

    async def request(
        self, to: str, payload: Request[R], timeout_us: Micros, label: int | None = None
    ) -> Any:
        """Send and wait for the reply."""
        self._model.sends(payload, timeout_us)
        reply = await self._request(to, payload, timeout_us, label)
        self._model.answered(payload, reply)
        return reply


class ModelledClient(Client):
    """A client whose requests are compared."""

    def __init__(
        self,
        name: str,
        connection: Connection,
        timeout_us: Micros,
        *,
        session: bool,
        divergence: Divergence,
    ) -> None:
        super().__init__(name, _Compared(connection, self), timeout_us, session=session)
        self._divergence = divergence
        self._now_us = connection.elapsed_us
        self._asked: dict[str, DataOperation] = {}
        self._begun: dict[str, tuple[int, Begin | None]] = {}
        self._until_us: dict[str, int] = {}
        self._known: dict[str, Table] = {}
        self._largest_ts: Timestamp | None = None

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
        """Run one operation."""
        now_us = self._now_us()
        self._asked[op], self._begun[op] = do, (now_us, begin)
        self._until_us[op] = now_us + self._timeout_us
        reply = await super().operate(node, op, tx, do, begin, implicit=implicit)
        del self._until_us[op]
        if type(reply) is Refusal and reply.reason is Reason.BAD_ROW and not reply.token_ts:
            table = self._known.get(do.table)
            if table is not None and not any(_misfits(do, table)):
                self._wrong(f"{op} is refused, and its row fits version {table.version}")
        return reply

    def forget_schemas(self) -> None:
        """Forget the cached schemas."""
        super().forget_schemas()
        self._known.clear()

    # --- what is sent, what is answered -----------------------------------------------------------

    def sends(self, request: Any, wait_us: Micros) -> None:
        """Compare a request, and how long its answer is waited for."""
        left_us = self._until_us.get(request.op.removesuffix(".rb"), 0) - self._now_us()
        if request.op.removesuffix(".rb") in self._until_us and wait_us != max(left_us, 1):
            self._wrong(f"{request.op} waits for {wait_us} us, and {left_us} us are left")
        session_ts = getattr(request, "session_ts", None)
        if session_ts != (self._largest_ts if self._session else None):
            self._wrong(
                f"{request.op} was sent with {when(session_ts)}, not {when(self._largest_ts)}"
            )
        if type(request) is ClientOperation:
            self._compare_read_ts(request)
            self._compare(request, self._asked[request.op])

    def answered(self, request: Any, reply: Any) -> None:
        """Take what an answer brings."""
        token_ts = getattr(reply, "token_ts", None)
        if token_ts is not None:
            self._largest_ts = max(self._largest_ts or token_ts, token_ts)
        if type(reply) is Mismatch:
            self._known[request.table] = reply.table

    def _compare_read_ts(self, request: ClientOperation) -> None:
        """A read in the past names the time that the client chose when it began the operation."""
        began_us, begin = self._begun[request.op]
        due: Timestamp | None = None
        if begin is not None and begin.as_of_ms is not None:
            due = Timestamp(max(began_us // US_PER_MS + begin.as_of_ms, 0) << LOGICAL_BITS)
        if request.read_ts != due:
            self._wrong(
                f"{request.op} is to read at {when(request.read_ts)}, and the client "
                f"chose {when(due)}"
            )

    def _compare(self, request: ClientOperation, do: DataOperation) -> None:
        table = self._known.get(do.table)
        sent = (request.table_id, request.client_version)
        if sent == (0, 0):
            if request.row is not None:
                self._wrong(f"{request.op} has a row of no schema")
            return
        if table is None or sent != (table.id, table.version):
            self._wrong(f"{request.op} was sent for table {sent[0]}, version {sent[1]}")
            return
        names = tuple(column.name for column in table.columns)
        sets = tuple(names[place] for place in request.sets)
        wanted = tuple(name for name in names if type(do) is Update and name in do.values)
        if sets != wanted:
            self._wrong(f"{request.op} sets {sets} and should set {wanted}")
        if request.row is not None:
            self._compare_row(request, do, dict(zip(names, request.row, strict=True)), table)
            self._compare_values(request, do, table)

    def _compare_row(
        self, request: ClientOperation, do: DataOperation, row: dict[str, Value], table: Table
    ) -> None:
        named: dict[str, Value] = {}
        if isinstance(do, Put | Insert | Replace | Update):
            named |= do.values or {}
        if isinstance(do, Put | Insert | Replace):
            of_key = do.key if isinstance(do.key, tuple) else (do.key,)
            ids = {column.id: column.name for column in table.columns}
            named |= dict(zip((ids[one] for one in table.key), of_key, strict=False))
        for name, value in named.items():
            if name not in row or row[name] != value:
                self._wrong(f"{request.op} has {row.get(name)!r} in {name!r} and not {value!r}")

    def _compare_values(self, request: ClientOperation, do: DataOperation, table: Table) -> None:
        """Every value is one of its column; what an operation by name does not name, the default.

        An update leaves what it does not set to the primary. A key without values is the
        operation's, whatever the table has there by now.
        """
        named = getattr(do, "values", None)
        for place, column in enumerate(table.columns):
            value = request.row[place] if request.row is not None else None
            if column.id in table.key or (type(do) is Update and place not in request.sets):
                continue
            is_left_out = named is not None and column.name not in named
            is_legal = column.nullable or value is not None
            if not (is_legal if is_left_out else _is_legal(value, column)):
                self._wrong(f"{request.op} has {value!r} in {column.name}, {column.type}")
            if is_left_out and not is_same_value(column.default, column.type, value):
                self._wrong(f"{request.op} has {value!r} for the default of {column.name}")

    def _wrong(self, what: str) -> None:
        self._divergence.found(what)


def _is_legal(value: Value, column: Column) -> bool:
    """Whether a column can have the value."""
    return column.nullable if value is None else is_value_of(value, column.type)


def _misfits(do: DataOperation, table: Table) -> Iterator[bool]:
    """For each value that an operation gives or leaves out whether the table cannot hold it."""
    values = dict(getattr(do, "values", None) or {})
    columns = {column.name: column for column in table.columns}
    key = [column.name for column in table.columns if column.id in table.key]
    if type(do) is Update:
        yield any(name in key for name in values)
    else:
        given = do.key if isinstance(do.key, tuple) else (do.key,)
        yield len(given) != len(table.key)
        ids = {column.id: column.name for column in table.columns}
        values |= {ids[one]: value for one, value in zip(table.key, given, strict=False)}
        if getattr(do, "values", None) is not None:
            left_out = (one for one in table.columns if one.name not in values)
            yield any(one.default is None and not one.nullable for one in left_out)
    for name, value in values.items():
        yield name not in columns or not _is_legal(value, columns[name])
