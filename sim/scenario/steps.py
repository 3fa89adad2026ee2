"""Scripted steps: each `[[step]]` checked and made a `Step`."""

from typing import Any, Final

from msgspec.structs import replace

from ddlsim.model.ops import (
    ANY_INDEX,
    Begin,
    Commit,
    DataOperation,
    Ddl,
    Delete,
    Find,
    Get,
    Insert,
    Key,
    Operation,
    Put,
    Read,
    Replace,
    Rollback,
    Scan,
    Update,
)
from ddlsim.model.programs import Step
from ddlsim.model.schema import Value
from ddlsim.scenario.checks import check_event, must_be_client, must_exist
from ddlsim.scenario.declared import Declared
from ddlsim.scenario.expect import check_design
from ddlsim.scenario.loosened import expects_failure
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, near
from ddlsim.scenario.row_types import RowTypes
from ddlsim.scenario.script import EVENT, StepTable
from ddlsim.scenario.sqltext import SqlLine, read_ddl, read_operation
from ddlsim.scenario.step_expect import read_step_expect
from ddlsim.sql import RowRead, RowWrite
from ddlsim.units import Micros, ms

_MADE: dict[str, Any] = {
    "insert": lambda table, key: Insert(table, key, {}, strict=True),
    "update": lambda table, key: Update(table, key, {}),
    "delete": Delete,
}
_WORDS: dict[str, Operation] = {"begin": Begin(), "commit": Commit(), "rollback": Rollback()}
NULL: Final = {"null": True}
"""How rows write NULL, which TOML lacks."""
MEANT: Final = "say misfit = true, or expect that it fails, if that is meant"
FORMS: Final = {
    "get": '["get", "t", 1]',
    "put": '["put", "t", 1, { v = 5 }]',
    "insert": '["insert", "t", 1, { v = 5 }]',
    "strict": '["strict", "t", 1, { v = 5 }]',
    "replace": '["replace", "t", 1, { v = 5 }]',
    "delete": '["delete", "t", 1]',
    "scan": '["scan", "t"]',
    "find": '["find", "t", "i", { v = 5 }]',
}
"""How each operation on rows is written as a list."""


class StepReader:
    """Reads the steps of one scenario, one after the other."""

    def __init__(self, nodes: tuple[str, ...], design: str, origin: Origin) -> None:
        self._nodes, self._design, self._origin = nodes, design, origin
        self.made: list[Step] = []
        self._ids: set[str] = set()
        self.ddl: list[SqlLine] = []
        self._clients: dict[str, str] = {}  # by transaction
        self._tx_nodes: dict[str, str] = {}
        self._read_only: dict[str, bool] = {}  # by transaction
        self._last: dict[str, Step] = {}  # by client
        self._rows: dict[int, RowRead | RowWrite] = {}  # in SQL, by the place of their step
        self._texts: list[bool] = []  # whether what a step does is written as SQL
        self._misfits: list[bool] = []  # whether its row may have values of wrong types

    def read(self, tables: list[StepTable]) -> tuple[Step, ...]:
        """Read all steps into `made`; `check_tables` then checks the tables that they name."""
        for index, table in enumerate(tables):
            self._read(table, ("step", index))
        self._check_order(tables)
        return tuple(self.made)

    def check_tables(self, declared: Declared) -> None:
        """Check that some statement makes every table that a step names, with such keys.

        And with such values, unless the step is a `misfit`, which may name a table that none makes.
        Where all DDL is scripted some statement makes every column and index, too.
        """
        names, types = declared.readable, declared.types
        statements = iter(self.ddl)
        for index, step in enumerate(self.made):
            do, path = step.do, ("step", index, "do")
            if isinstance(do, Ddl):
                self._check_ddl(index, next(statements), declared)
            if not isinstance(do, DataOperation):
                continue
            if do.table not in names and not self._misfits[index]:
                what = f"no table is called {do.table!r}; {near(do.table, names)}"
                raise self._origin.error(path, what)
            if index in self._rows:
                do = self._keyed(self._rows[index], types, path, made=do.table in names)
                self.made[index] = replace(step, do=do)
            keyed = not isinstance(do, Scan | Find)
            if keyed and (why := types.wrong_key(do.table, do.key)) is not None:
                raise self._origin.error(path if self._texts[index] else (*path, 2), why)
            if not self._misfits[index]:
                self._check_columns(index, do, types, scripted=declared.scripted)
        self._check_indexes(declared)

    def _check_ddl(self, index: int, line: SqlLine, declared: Declared) -> None:
        """Check that some statement makes what a step's one needs, unless it is to be refused."""
        if self._misfits[index] or self._fails(index):
            return
        if (why := declared.refused(line.statement, MEANT)) is not None:
            raise self._origin.error(("step", index, "ddl"), why)

    def _fails(self, index: int) -> bool:
        """Whether a step is expected to fail."""
        return expects_failure(self.made[index].expect)

    def _check_columns(
        self, index: int, do: DataOperation, types: RowTypes, *, scripted: bool
    ) -> None:
        """Check that columns can have the values that a step gives them and its key, and exist.

        Unless it expects to fail: where all DDL is `scripted`, else another may add the column, or
        make a table with another key.
        """
        path: Path = ("step", index, "do")
        values = getattr(do, "values", None) or {}
        certain = scripted and not self._fails(index)
        for name in (*do.columns, *values):
            why = types.lacks(do.table, name, MEANT) if certain else None
            why = why or types.wrong_value(do.table, name, values.get(name))
            if certain and name in values and not isinstance(do, Scan | Find):
                why = why or types.not_of_key(do.table, do.key, name, values[name])
            if why is not None:
                raise self._origin.error(path if self._texts[index] else (*path, 3, name), why)

    def _check_indexes(self, declared: Declared) -> None:
        """Check that some statement makes every index that a step names."""
        for index, step in enumerate(self.made):
            if isinstance(step.do, Find) and step.do.index != ANY_INDEX:
                what = declared.lacks("index", step.do.index)
                if what is not None:
                    raise self._origin.error(("step", index, "do", 2), what)

    def _keyed(
        self, row: RowRead | RowWrite, types: RowTypes, path: Path, *, made: bool
    ) -> DataOperation:
        """A row in SQL with the key that its statement names: all of it if no table is `made`."""
        if isinstance(row, RowRead):
            has_key = bool(types.keys_in_words(row.get.table))
            key, _ = self._key_named(row.get.table, row.where, types, path, made=has_key)
            return replace(row.get, key=key)
        return self._written(row, types, path, made=made)

    def _key_named(
        self,
        table: str,
        named: dict[str, Value],
        types: RowTypes,
        path: Path,
        *,
        made: bool,
        inserts: bool = False,
    ) -> tuple[Key, tuple[str, ...]]:
        """The key among named values, and its columns."""
        names: tuple[str, ...] | None = tuple(named)
        if made:
            names = types.key_of(table, named, whole=not inserts)
        if names is None:
            where = "the columns of an INSERT" if inserts else "WHERE"
            what = f"{where} must name the key of {table}: {types.keys_in_words(table)}"
            raise self._origin.error(path, what)
        key = tuple(named[name] for name in names)
        return key[0] if len(key) == 1 else key, names

    def _written(
        self, write: RowWrite, types: RowTypes, path: Path, *, made: bool
    ) -> DataOperation:
        inserts = write.kind == "insert"
        named = write.values if inserts else write.where
        whole, names = self._key_named(write.table, named, types, path, made=made, inserts=inserts)
        rest = {name: value for name, value in write.values.items() if name not in names}
        match write.kind:
            case "insert":
                return Insert(write.table, whole, rest, strict=True)
            case "update":
                return Update(write.table, whole, write.values)
            case _:
                return Delete(write.table, whole)

    # -- one step ----------------------------------------------------------------------------------

    def _read(self, table: StepTable, path: Path) -> None:
        if table.id in self._ids:
            raise self._origin.error((*path, "id"), f"two steps have the id {table.id!r}")
        must_be_client(table.client, self._nodes, self._origin, (*path, "client"))
        do = self._reading(table, self._operation(table, path), path)
        if table.values is not None:
            if not isinstance(do, Put) or do.values is not None:
                what = 'only of a put whose columns the client fills: ["put", "t", 1]'
                raise self._origin.error((*path, "values"), what)
            do = replace(do, spread=table.values)
        node = self._node(table, path)
        at_us, after, plus_us = self._due(table, path)
        step = Step(
            id=table.id,
            client=table.client,
            node=node,
            do=do,
            tx=table.tx,
            at_us=at_us,
            after=after,
            plus_us=plus_us,
            session=table.session,
            read_only=table.read_only,
            as_of_ms=table.as_of_ms,
            fresh=table.fresh,
            expect=self._expect(table, do, path),
            line=self._origin.line(path),
        )
        self.made.append(step)
        self._ids.add(table.id)
        self._texts.append(isinstance(table.do, str))
        self._misfits.append(table.misfit)
        self._last[table.client] = step

    def _due(self, table: StepTable, path: Path) -> tuple[Micros | None, str | None, Micros]:
        """When a step is due: an instant, an event, the later of the two, or the end of the
        client's previous step."""
        plus_us, before = ms(table.plus_ms or 0), self._last.get(table.client)
        if table.at_ms is not None:
            if table.plus_ms is not None:
                what = "at_ms says when; plus_ms would say it again"
                raise self._origin.error((*path, "at_ms"), what)
            return ms(table.at_ms), table.after, Micros(0)
        if table.after is not None or before is not None:
            previous = f"{before.id}.done" if before is not None else None
            return None, table.after or previous, plus_us
        return plus_us, None, Micros(0)

    def _node(self, table: StepTable, path: Path) -> str:
        """The step's own node, its transaction's coordinator, or the client's node before."""
        must_exist(table.node, self._nodes, self._origin, (*path, "node"))
        node = table.node
        if table.tx is not None:
            client = self._clients.setdefault(table.tx, table.client)
            if client != table.client:
                what = f"transaction {table.tx} belongs to client {client}, not {table.client}"
                raise self._origin.error((*path, "tx"), what)
            coordinator = self._tx_nodes.get(table.tx)
            if coordinator is not None and node not in (None, coordinator):
                what = f"transaction {table.tx} is coordinated by {coordinator}, not {node}"
                raise self._origin.error((*path, "node"), what)
            node = node or coordinator
        before = self._last.get(table.client)
        node = node or (before.node if before is not None else None)
        if node is None:
            what = f"node is missing; nodes: {', '.join(self._nodes)}"
            raise self._origin.error(path, what)
        if table.tx is not None:
            self._tx_nodes[table.tx] = node
        return node

    # -- what it does ------------------------------------------------------------------------------

    def _operation(self, table: StepTable, path: Path) -> Operation:
        if (table.do is None) == (table.ddl is None):
            raise self._origin.error(path, 'a step has either do = … or ddl = "…"')
        if table.ddl is not None:
            if table.tx is not None:
                what = "DDL is not transactional; leave out tx"
                raise self._origin.error((*path, "tx"), what)
            lines = read_ddl(table.ddl, self._origin, (*path, "ddl"))
            if len(lines) > 1:
                what = f"one statement a step, not {len(lines)}; give each a step of its own"
                raise self._origin.error((*path, "ddl"), what)
            self.ddl += lines
            return Ddl(lines[0].sql)
        do_path = (*path, "do")
        if isinstance(table.do, str):
            return self._word(table.do, table.tx, do_path)
        assert table.do is not None
        return self._list(table.do, do_path)

    def _reading(self, table: StepTable, do: Operation, path: Path) -> Operation:
        """Check that a read-only transaction is so from its first step on, and only reads."""
        begun = table.tx is not None and table.tx in self._read_only
        if table.read_only and (isinstance(do, Ddl) or begun):
            what = "DDL is not transactional" if isinstance(do, Ddl) else f"{table.tx} began before"
            what += "; read_only stands on the step that begins a transaction"
            raise self._origin.error((*path, "read_only"), what)
        if table.as_of_ms is not None and not table.read_only:
            what = "only a read-only transaction reads at a chosen time; say read_only = true too"
            raise self._origin.error((*path, "as_of_ms"), what)
        reads = self._read_only.get(table.tx, table.read_only) if table.tx else table.read_only
        if table.tx is not None:
            self._read_only[table.tx] = reads
        writes = isinstance(do, DataOperation) and not isinstance(do, Read)
        if reads and writes and not table.misfit:
            raise self._origin.error((*path, "do"), "a read-only transaction does not write")
        return (
            Begin(read_only=True, as_of_ms=table.as_of_ms)
            if reads and isinstance(do, Begin)
            else do
        )

    def _word(self, text: str, tx: str | None, path: Path) -> Operation:
        word = _WORDS.get(text)
        if word is None:
            if " " not in text.strip():
                forms = ", ".join([*(f'"{name}"' for name in _WORDS), *FORMS.values()])
                raise self._origin.error(path, f'unknown operation "{text}"; one of {forms}')
            read = read_operation(text, self._origin, path)
            if isinstance(read, Scan):
                return read
            self._rows[len(self.made)] = read  # its key: once tables are known
            if isinstance(read, RowRead):
                return read.get
            made: Operation = _MADE[read.kind](read.table, ())
            return made
        if tx is None:
            raise self._origin.error(path, f"{text} needs a transaction; say tx")
        return word

    def _list(self, parts: list[Any], path: Path) -> Operation:
        match parts:
            case ["get", str(table), key]:
                return Get(table, self._key(key, (*path, 2)))
            case [("put" | "insert" | "strict" | "replace") as kind, str(table), key]:
                return self._write(kind, table, self._key(key, (*path, 2)))
            case [("put" | "insert" | "strict" | "replace") as kind, str(table), key, dict(values)]:
                given = self._values(values, path)
                return self._write(kind, table, self._key(key, (*path, 2)), given)
            case ["delete", str(table), key]:
                return Delete(table, self._key(key, (*path, 2)))
            case ["scan", str(table)]:
                return Scan(table)
            case ["find", str(table), str(index), dict(values)]:
                return Find(table, index, self._values(values, path))
            case [str(kind), *_] if kind in FORMS:
                raise self._origin.error(path, f"expected {FORMS[kind]}")
            case _:
                what = f"unknown operation; one of {', '.join(FORMS.values())}"
                raise self._origin.error(path, what)

    def _values(self, values: dict[str, Any], path: Path) -> dict[str, Value]:
        """Values by column name."""
        return {
            name: None if value == NULL else self._value(value, (*path, 3, name))
            for name, value in values.items()
        }

    def _write(
        self, kind: str, table: str, key: Key, values: dict[str, Value] | None = None
    ) -> Operation:
        if kind == "strict":
            return Insert(table, key, values, strict=True)
        kinds: dict[str, type[Put | Insert | Replace]] = {
            "put": Put,
            "insert": Insert,
            "replace": Replace,
        }
        return kinds[kind](table, key, values)

    def _key(self, key: Any, path: Path) -> Key:
        if isinstance(key, list) and len(key) > 1:
            return tuple(self._value(part, (*path, index)) for index, part in enumerate(key))
        return self._value(key, path)

    def _value(self, value: Any, path: Path) -> Value:
        if not isinstance(value, bool | int | float | str):
            what = "expected a number, a string, true or false; dates and decimals as strings"
            raise self._origin.error(path, what)
        return value

    # -- its expectation ---------------------------------------------------------------------------

    def _expect(self, table: StepTable, do: Operation, path: Path) -> Any:
        """The step's expectation under this design: an entry of `expect_under`, else `expect`."""
        implicit = table.tx is None
        chosen = table.expect
        for design, one in table.expect_under.items():
            own = (*path, "expect_under", design)
            check_design(design, self._origin, own)
            if not isinstance(one, str | dict):
                raise self._origin.error(own, "expected a string or a table")
            read_step_expect(one, do, implicit=implicit, origin=self._origin, path=own)
            chosen = one if design == self._design else chosen
        if table.expect is not None:
            own = (*path, "expect")
            read_step_expect(table.expect, do, implicit=implicit, origin=self._origin, path=own)
        return chosen

    # -- all of them together ----------------------------------------------------------------------

    def _check_order(self, tables: list[StepTable]) -> None:
        """Check that the step whose event is awaited exists and does not wait for this one."""
        ids = [step.id for step in self.made]
        waits_for: dict[str, str] = {}
        for index, (table, step) in enumerate(zip(tables, self.made, strict=True)):
            check_event(table.after, ids, self._origin, ("step", index, "after"))
            match = EVENT.match(step.after or "")
            if match is not None:
                waits_for[step.id] = match.group(1)
        ends: set[str] = set()  # steps that wait for no circle of others
        for index, step in enumerate(self.made):
            chain = {step.id: None}
            while (last := next(reversed(chain))) not in ends and last in waits_for:
                if waits_for[last] == step.id:
                    what = f"steps wait for each other: {' waits for '.join([*chain, step.id])}"
                    raise self._origin.error(("step", index), what)
                if waits_for[last] in chain:
                    break
                chain[waits_for[last]] = None
            else:
                ends.update(chain)
