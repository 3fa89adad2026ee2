"""Processes of a layer beside a run, on a store that answers at once: one thing at a time, in SQL.

Statements of a run meet few rows, its queries few values, and in the end little is compared but
rows and entries. So beside each run two processes of its design take requests that follow from the
run's seed, each behind the one before, and rest after a statement until all know of it. What they
answer is what plain tables have (`sheets`); behind each statement all that the store holds is what
these, and the log, ask for (`layer_store`).
"""

from collections.abc import Coroutine
from dataclasses import replace
from functools import cache
from typing import Any, Final

from ddlsim import sql
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.layer_record import compare_record
from ddlsim.cluster.store_models.layer_store import Stored
from ddlsim.cluster.store_models.sheets import Row, Sheet, Shown
from ddlsim.cluster.store_models.shelf import LOG, Machine, Shelf, shelved
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import Key
from ddlsim.fdb.settings import FdbSettings
from ddlsim.history.events import DdlDecided, TxAborted, TxBegan, TxCommitted
from ddlsim.kernel.engine import Loop
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import OUTCOMES
from ddlsim.layer.part import LayerBoot
from ddlsim.layer.process import LayerProcess
from ddlsim.model.ddl import ObjectChange, Statement
from ddlsim.model.reasons import Reason
from ddlsim.model.settings import Settings
from ddlsim.protocol.messages import (
    Answer,
    ClientBegin,
    ClientCommit,
    ClientDdl,
    ClientOperation,
    ClientRollback,
    Refusal,
)
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.units import US_PER_MS, Timestamp

NUMBERS: Final = {
    "lease_ms": 40, "poll_ms": 10, "lock_timeout_ms": 60, "push_ms": 20, "distance_ms": 30,
    "copies": 3, "chunk_rows": 2, "renew_percent": 50, "drift_percent": 10,
}  # fmt: skip
"""Short durations of a design, and few copies: whatever a run has, since rests are as short."""
SETTINGS: Final = FdbSettings(versions_per_second=1000, window_ms=20, retry_ms=2)
LIMITS: Final[dict[str, Any]] = {
    "tx_timeout_ms": 150, "operation_timeout_ms": 100, "ddl_attempts": 10,
}  # fmt: skip
REST_MS: Final = 90
"""Behind a statement: longer than two leases, and than all that a design waits for."""
PATIENCE_MS: Final = 4_000
OUTCOME: Final[Key] = (OUTCOMES,)
"""What keys of outcomes begin with."""
STATEMENTS: Final = 12
OPERATIONS: Final = 4
SCHEMA: Final = (
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(8))",
    "CREATE TABLE u (k VARCHAR(9), n INT, v INT DEFAULT 3, PRIMARY KEY (k, n))",
    "CREATE INDEX ui ON u (v)",
)
KEYS: Final[dict[str, tuple[Any, ...]]] = {
    "t": (-300, -1, 0, 1, 2, 700),
    "u": (("", 1), ("a", -5), ("a", 0), ("a\x00", 70_000), ("b", 2)),
}
NUMBERS_OF_V: Final = (None, -257, -1, 0, 1, 2, 2, 300)
TEXTS_OF_S: Final = (None, "", "a", "a\x00", "é")


@cache
def statement(text: str) -> Statement:
    """The statement of a text."""
    (parsed,) = sql.parse(text)
    return parsed.statement  # type: ignore[return-value]  # DDL alone is asked for


def initial() -> tuple[tuple[ObjectChange, ...], ...]:
    """The initial schema."""
    snapshot, found = Snapshot(), []
    for text in SCHEMA:
        built = build(statement(text), snapshot, snapshot.next_object_id)
        assert isinstance(built, Built), built
        found.append(built.objects)
        snapshot = snapshot.after(len(found), Timestamp(0), Timestamp(0), built.objects)
    return tuple(found)


def learns_nothing(design: LayerDesign) -> bool:
    """Whether no process of a design ever learns of a statement of another one (C15)."""
    keeps = named(design.read_schema) == "kept" and not design.background
    return keeps and named(design.fence) != "schema_key_in_the_past"


def named(rule: object) -> str:
    """The name of a rule."""
    return str(getattr(rule, "__name__", ""))


class LayerWalk:
    """Two processes, the tables that clients of them must see, and the requests."""

    def __init__(
        self, divergence: Divergence, design: LayerDesign, settings: Settings, draws: Draws
    ) -> None:
        self.divergence = divergence
        self.draws = draws
        self.loop = Loop()
        self.design = design.with_rules(NUMBERS)
        self.shelf = Shelf(self.loop, SETTINGS.window)
        self._settings = replace(settings, **LIMITS)
        self._schema = initial()
        self._ops = 0
        self._made = 0
        self.sent: list[tuple[ClientOperation, Shown | Reason]] = []
        count = 1 if learns_nothing(design) else 2
        self.processes = [self._started(f"p{1 + n}", restarted=False) for n in range(count)]
        self.tables = {"t": Sheet("t", ("id",), v=None, s=None), "u": Sheet("u", ("k", "n"), v=3)}
        self.tables["t"].texts.add("s")
        self.tables["u"].indexes["ui"] = (("v",), False)
        self._rest()

    def _started(self, name: str, *, restarted: bool) -> LayerProcess:
        node: Any = Machine(name, self.loop, self._settings, self.draws)
        boot = LayerBoot(self._schema, 0, SETTINGS, restarted)
        process = LayerProcess(node, self.design, shelved(self.shelf), boot)
        process.start()
        return process

    def _rest(self, span_ms: int = REST_MS) -> None:
        until_us = self.loop.now_us + span_ms * US_PER_MS
        while self.loop.now_us < until_us:  # an answer ends a run
            self.loop.run(until_us=until_us)

    def strike(self, where: Key, code: ErrorCode, times: int) -> None:
        """The next commits that write such keys fail."""
        self.shelf.struck, self.shelf.fails = where, [FdbError(code)] * times

    def asked(self, process: LayerProcess, request: Any) -> Any:
        """What a request comes to, which it must in time."""
        answers = self.under_way(process, request)
        until_us = self.loop.now_us + PATIENCE_MS * US_PER_MS
        while not answers and self.loop.now_us < until_us:
            self.loop.run(until_us=until_us)  # another answer ends it as well
        if not answers:
            self.divergence.found(f"{request} is not answered")
        return answers[0] if answers else None

    def under_way(self, process: LayerProcess, request: Any) -> list[Any]:
        """A request that has begun: its answer, once it comes; time stands still then."""
        machine: Any = process.node
        handler = machine.handlers.get(type(request))
        if handler is None:
            self.divergence.found(f"{request} is not handled")
            return []
        answers: list[Any] = []
        result = handler("c", request)
        if not isinstance(result, Coroutine):
            answers.append(result)
            return answers

        async def watched() -> None:
            answers.append(await result)
            self.loop.stop()

        self.loop.spawn(watched())
        return answers

    # --- the walk ---------------------------------------------------------------------------------

    def take(self) -> None:
        """Statements, with operations before and behind each, and a process that starts again."""
        for _ in range(2):
            self._work()
        for _ in range(STATEMENTS):
            self._statement()
            self._rest()
            self._compare_store()
            self._work()
            if self.divergence.is_known:
                break
        self._rest()

    def _compare_store(self) -> None:
        part = self.processes[0].part
        first = part.log.updates[: part.first]
        stored = Stored(self.divergence, self.design, self.shelf, first)
        stored.compare(self.tables)
        for process in self.processes:
            stored.compare_process(process)

    def _work(self) -> None:
        for _ in range(OPERATIONS):
            if self.draws.below(3):
                self._alone()
            else:
                self._transaction()

    def _alone(self) -> None:
        """An operation that is a transaction of its own; some conflict at first."""
        process = self.draws.pick(self.processes)
        if not self.draws.below(4):
            self.strike(OUTCOME, ErrorCode.NOT_COMMITTED, 1 + self.draws.below(2))
        self._operate(process, self.tables, None)
        self.shelf.fails = []

    def _transaction(self) -> None:
        """Some operations of one transaction, which see each other; others see its commit."""
        draws = self.draws
        process, tx = draws.pick(self.processes), f"x{self._ops}"
        own = {name: table.copy() for name, table in self.tables.items()}
        begins = draws.below(2)
        if begins:
            self._same("a begin", type(self.asked(process, ClientBegin(tx, tx, None))), Answer)
        goes_on = True
        for place in range(1 + draws.below(3)):
            goes_on = goes_on and self._operate(process, own, tx, begins=not begins and not place)
        if not goes_on:
            late = self.asked(process, ClientCommit(tx, tx))
            self._same("the commit of a failed transaction", type(late), Refusal)
            self._compare_record(process, None)
        elif not draws.below(4):
            back = self.asked(process, ClientRollback(tx, tx))
            self._same("a roll-back", type(back), Answer)
            self._compare_record(process, None)
        else:
            end = self.asked(process, ClientCommit(tx, tx))
            self._same("the commit of a transaction", type(end), Answer)
            self.tables = own
            self._compare_record(process, tx)
        self._same("what is open", process.transactions, {})

    def _operate(
        self, process: LayerProcess, tables: dict[str, Sheet], tx: str | None, **more: Any
    ) -> bool:
        """One operation on tables as they are, and its answer; false where it is refused."""
        self._ops += 1
        op, draws = f"o{self._ops}", self.draws
        name = draws.pick(tuple(tables)) if draws.below(20) else "none"
        read = bool(draws.below(2))
        fields, expected = (self._reading if read else self._writing)(tables.get(name))
        action, key = fields.pop("action"), fields.pop("key", None)
        if name not in tables:
            expected = Reason.TABLE_NOT_FOUND
        request = ClientOperation(
            op, tx or op, action, name, key, None, 0, implicit=tx is None, **fields, **more
        )
        answer = self.asked(process, request)
        self._compare(request, answer, expected)
        self.sent.append((request, expected))
        if tx is None:
            self._compare_record(process, answer.tx if isinstance(answer, Answer) else None)
        return not isinstance(expected, Reason)

    def _compare_record(self, process: LayerProcess, committed: str | None) -> None:
        """What has been answered is in the history, once its transaction has ended."""
        node: Any = process.node
        sent, self.sent = self.sent, []
        events, node.events = node.events, []
        compare_record(self.divergence, events, sent, committed)

    def _compare(self, request: ClientOperation, answer: object, expected: Shown | Reason) -> None:
        if isinstance(expected, Reason):
            got = answer.reason if isinstance(answer, Refusal) else answer
            self._same(f"the answer to {request}", got, expected)
            return
        if not isinstance(answer, Answer):
            self.divergence.found(f"{request} is answered with {answer!r}")
            return
        rows = [(key, self._row(answer, cells)) for key, cells in answer.rows]
        self._same(f"the rows of {request}", len(rows), len(expected.rows))
        self._same(f"the rows of {request}", dict(rows), expected.rows)
        self._same(f"whether {request} is done", answer.done, expected.done)

    def _row(self, answer: Answer, cells: Any) -> Row:
        return {name: value for name, (_, value) in zip(answer.columns or (), cells, strict=True)}

    def _reading(self, table: Sheet | None) -> tuple[Row, Shown | Reason]:
        draws = self.draws
        if table is None:
            return {"action": "scan"}, Reason.TABLE_NOT_FOUND
        columns = {"columns": ("no",)} if not draws.below(12) else {}
        absent = Reason.COLUMN_NOT_FOUND if columns else None
        what = draws.below(3)
        if what == 0:
            key = draws.pick(KEYS[table.name])
            return {"action": "get", "key": key, **columns}, absent or table.get(key)
        if what == 1:
            return {"action": "scan", **columns}, absent or Shown(dict(table.rows))
        index = draws.pick((*table.indexes, ""))
        columns_of_rows = dict.fromkeys(draws.pick(tuple(table.defaults)) for _ in range(2))
        names = table.indexes[index][0] if index else tuple(columns_of_rows)
        wanted = {name: self._value(table, name) for name in names}
        if not draws.below(10):
            return {"action": "find", "values": {"no": 1}}, Reason.COLUMN_NOT_FOUND
        found = {"action": "find", "values": wanted, "index": index, **columns}
        return found, absent or table.find(wanted)

    def _writing(self, table: Sheet | None) -> tuple[Row, Shown | Reason]:
        draws = self.draws
        if table is None:
            return {"action": "put", "key": 1, "values": {}}, Reason.TABLE_NOT_FOUND
        action = draws.pick(("put", "put", "put", "insert", "replace", "update", "delete"))
        key = draws.pick(KEYS[table.name])
        names = [name for name in table.defaults if name not in table.key and draws.below(4)]
        values = {} if action == "delete" else {name: self._value(table, name) for name in names}
        strict = action == "insert" and bool(draws.below(2))
        expected = table.write(action, key, values, strict=strict)
        given = None if action == "delete" else values
        return {"action": action, "key": key, "values": given, "strict": strict}, expected

    def _value(self, table: Sheet, name: str) -> Any:
        """A value that the column may have, some of them NULL."""
        if name in table.key:
            key = self.draws.pick(KEYS[table.name])
            return key[table.key.index(name)] if isinstance(key, tuple) else key
        return self.draws.pick(TEXTS_OF_S if name in table.texts else NUMBERS_OF_V)

    # --- statements -------------------------------------------------------------------------------

    def _statement(self) -> None:
        """A statement, and what it makes of the tables; a design may refuse to touch rows."""
        text, table, change, refused = self._drawn()
        draws, process = self.draws, self.draws.pick(self.processes)
        if not draws.below(3):
            self.strike(draws.pick((LOG, OUTCOME)), ErrorCode.NOT_COMMITTED, 1 + draws.below(2))
        self._ops += 1
        answer = self.asked(process, ClientDdl(f"d{self._ops}", statement(text)))
        self.shelf.fails = []
        node: Any = process.node
        decided = [one for one in node.events if isinstance(one, DdlDecided)]
        if refused is not Reason.UNIQUE_VIOLATED:  # rows decide that, behind its updates perhaps
            self._same(f"how often {text} is decided", len(decided), 1)
        outcome = "refused" if isinstance(answer, Refusal) else "installed"
        self._same(f"what {text} came to", {one.outcome for one in decided} | {outcome}, {outcome})
        began = {one.tx for one in node.events if isinstance(one, TxBegan)}
        ended = {one.tx for one in node.events if isinstance(one, TxAborted | TxCommitted)}
        self._same(f"the transactions of {text} that have ended", ended & began, began)
        wrote = {one.tx for one in node.events if isinstance(one, TxCommitted)}
        marked = {tx for tx in wrote if self.shelf.under(OUTCOMES, tx)}
        self._same(f"those of {text} whose outcome is in the store", marked, wrote)
        self._compare_tables(process, table, text)
        node.events.clear()
        self._compare_settled(process, text)
        if refused is not None:
            got = answer.reason if isinstance(answer, Refusal) else answer
            self._same(f"the answer to {text}", got, refused)
        elif isinstance(answer, Refusal) and "this design cannot" in answer.message:
            return
        else:
            self._compare_read_again(process, text)
            self._same(f"the answer to {text}", type(answer), Answer)
            change(table)

    def _compare_tables(self, process: LayerProcess, table: Sheet, text: str) -> None:
        """An update that looks at rows says of which table; the chunks of a step do not."""
        node: Any = process.node
        snapshot = process.part.log.latest()
        for one in node.events:
            if isinstance(one, TxCommitted) and "." not in one.tx:
                meant = snapshot.meant(table.name)
                due = None if meant is None else [meant.id]
                self._same(f"the tables of {text}", [each[0] for each in one.tables], due)

    def _compare_read_again(self, process: LayerProcess, text: str) -> None:
        """A process has read what it has changed by the time of the answer, in some designs."""
        newest, cache = process.part.log.newest, process.part.cache
        if newest is None or named(self.design.settle) != "read_again":
            return
        if cache is None or cache.schema.number < newest.number:
            self.divergence.found(f"{text} is answered before it is read again")

    def _compare_settled(self, process: LayerProcess, text: str) -> None:
        """An update counts for all, as the design has it, before the next one and the answer."""
        log, rule = process.part.log, named(self.design.settle)
        at_us, newest = self.shelf.at_us, log.newest
        if newest is None or newest.version not in at_us:
            return
        now = self.loop.now_us, self.shelf.version
        own = [one for one in log.updates if one.op == newest.op and one.version in at_us]
        behind = [*((at_us[one.version], one.version) for one in own[1:]), now]
        for update, (then_us, version) in zip(own, behind, strict=True):
            if rule == "leases_end":
                lasts_us = self.design.lease_ms * US_PER_MS - (then_us - at_us[update.version])
                self._same(
                    f"leases that last behind a step of {text}", lasts_us > 0, expected=False
                )
            if rule.startswith("in_force"):
                early = version < update.activation
                self._same(f"a step of {text} that is not in force", early, expected=False)

    def _drawn(self) -> tuple[str, Any, Any, Reason | None]:
        """A statement: its text, its table, what it changes there, or why it is refused."""
        draws, tables = self.draws, self.tables
        table = tables[draws.pick(tuple(tables))]
        made = (
            self._index, self._index, self._index, self._drop_index, self._drop_index,
            self._column, self._column, self._renamed, self._retyped, self._retyped,
            self._required, self._table, self._refused,
        )  # fmt: skip
        return draws.pick(made)(table)

    def _name(self, kind: str) -> str:
        self._made += 1
        return f"{kind}{self._made}"

    def _columns(self, table: Sheet) -> list[str]:
        return [name for name in table.defaults if name not in table.key]

    def _index(self, table: Sheet) -> tuple[str, Any, Any, Reason | None]:
        columns: tuple[str, ...] = (self.draws.pick(self._columns(table)),)
        if not self.draws.below(3):
            columns = (self.draws.pick(table.key), *columns)
        unique, name = not self.draws.below(3), self._name("i")
        text = f"CREATE {'UNIQUE ' * unique}INDEX {name} ON {table.name} ({', '.join(columns)})"

        def change(changed: Sheet) -> None:
            changed.indexes[name] = (columns, unique)

        repeats = unique and table.has_duplicates(columns)
        return text, table, change, Reason.UNIQUE_VIOLATED if repeats else None

    def _drop_index(self, table: Sheet) -> tuple[str, Any, Any, Reason | None]:
        if not table.indexes:
            return self._index(table)
        name = self.draws.pick(tuple(table.indexes))
        return f"DROP INDEX {name}", table, lambda changed: changed.indexes.pop(name), None

    def _column(self, table: Sheet) -> tuple[str, Any, Any, Reason | None]:
        indexed = {name for columns, _ in table.indexes.values() for name in columns}
        free = [name for name in self._columns(table) if name not in indexed]
        if free and len(self._columns(table)) > 1 and self.draws.below(2):
            gone = self.draws.pick(free)
            text = f"ALTER TABLE {table.name} DROP COLUMN {gone}"
            return text, table, lambda changed: changed.drop(gone), None
        name, default = self._name("c"), self.draws.pick((None, 7))
        text = f"ALTER TABLE {table.name} ADD COLUMN {name} INT"
        text += "" if default is None else f" DEFAULT {default}"
        return text, table, lambda changed: changed.add(name, default), None

    def _renamed(self, table: Sheet) -> tuple[str, Any, Any, Reason | None]:
        old = self.draws.pick(self._columns(table))
        if old == "s":
            return self._index(table)
        name = self._name("r")
        text = f"ALTER TABLE {table.name} RENAME COLUMN {old} TO {name}"
        return text, table, lambda changed: changed.rename(old, name), None

    def _retyped(self, table: Sheet) -> tuple[str, Any, Any, Reason | None]:
        """Whole numbers become text, or floating-point: entries of rows have other values."""
        whole = set(self._columns(table)) - table.texts - table.floats
        numbers = [name for name in self._columns(table) if name in whole]
        if not numbers or not table.rows:
            return self._index(table)
        indexed = [one for columns, _ in table.indexes.values() for one in columns]
        name = next((one for one in numbers if one in indexed), numbers[0])
        kind, made = self.draws.pick(((str, "VARCHAR(12)"), (float, "DOUBLE")))
        text = f"ALTER TABLE {table.name} ALTER COLUMN {name} SET DATA TYPE {made}"
        return text, table, lambda changed: changed.convert(name, kind), None

    def _required(self, table: Sheet) -> tuple[str, Any, Any, Reason | None]:
        """A column becomes NOT NULL, unless a row has no value there."""
        name = self.draws.pick(self._columns(table))
        if name in table.required:
            return self._index(table)
        empty = any(row[name] is None for row in table.rows.values())
        text = f"ALTER TABLE {table.name} ALTER COLUMN {name} SET NOT NULL"
        refused = Reason.DDL_REFUSED if empty else None
        return text, table, lambda changed: changed.required.add(name), refused

    def _table(self, table: Sheet) -> tuple[str, Any, Any, Reason | None]:
        """A table goes with all it has; next time it comes again, empty."""

        def gone(changed: Sheet) -> None:
            del self.tables[changed.name]

        def back(_changed: Sheet) -> None:
            self.tables["u"] = Sheet("u", ("k", "n"), v=3)

        if "u" not in self.tables:
            return SCHEMA[1], table, back, None
        return "DROP TABLE u", self.tables["u"], gone, None

    def _refused(self, table: Sheet) -> tuple[str, Any, Any, Reason | None]:
        """What is not allowed on the present schema changes nothing."""
        texts = {
            "DROP INDEX none": Reason.OBJECT_NOT_FOUND,
            "DROP TABLE none": Reason.OBJECT_NOT_FOUND,
            SCHEMA[0]: Reason.OBJECT_EXISTS,
        }
        text = self.draws.pick(tuple(texts))
        return text, table, None, texts[text]

    def _same(self, what: str, got: object, expected: object) -> None:
        self.divergence.compare(what, got, expected)
