"""SELECT, INSERT, UPDATE and DELETE of one row by its key, beside what `parse` reads.

    SELECT v FROM t WHERE id = 1
    INSERT INTO t (id, v) VALUES (1, 5)
    UPDATE t SET v = 6, w = NULL WHERE id = 1
    DELETE FROM t WHERE id = 1

Values are constants. The columns of an INSERT are named, for which of them are the key depends on
the table; so does the order of a key of several columns in WHERE, which may be any.
"""

from typing import Any, NamedTuple

from sqlglot.tokenizer_core import TokenType

from ddlsim.model.ops import Get
from ddlsim.model.schema import Value
from ddlsim.sql.grammar import Grammar


class RowWrite(NamedTuple):
    """One row to be written: `kind` is insert, update or delete.

    `values` are those that an INSERT or a SET names, `where` those of the key that WHERE names.
    """

    kind: str
    table: str
    values: dict[str, Value]
    where: dict[str, Value]


class RowRead(NamedTuple):
    """One row to be read, and the values of the key that WHERE names; `get` lacks its key."""

    get: Get
    where: dict[str, Value]


class Operations(Grammar):
    """Reads every SQL statement that a client can issue."""

    def _statement(self) -> Any:
        if not self._match_texts(("INSERT", "UPDATE", "DELETE")):
            return super()._statement()
        match self._prev.text.upper():
            case "INSERT":
                return self._insert()
            case "UPDATE":
                return self._update()
            case _:
                self.need("FROM")
                table = self.object_name("a table name")
                return RowWrite("delete", table, {}, self._where())

    def _insert(self) -> RowWrite:
        self.need("INTO")
        table = self.object_name("a table name")
        if not self.sees(TokenType.L_PAREN):
            raise self.wrong("the names of the columns between parentheses")
        names = self.listed(self.name)
        self.need("VALUES")
        start = self._curr
        values = [value for (value,) in self.listed(lambda: (self.constant(),))]
        if len(names) != len(values):
            why = f"{len(names)} columns, but {len(values)} values"
            raise self.wrong("a value for each column", why, start)
        self.end("the end of the statement: one row a step")
        return RowWrite("insert", table, dict(zip(names, values, strict=True)), {})

    def _update(self) -> RowWrite:
        table = self.object_name("a table name")
        self.need("SET")
        values = self.equations(TokenType.COMMA, "a column name")
        return RowWrite("update", table, values, self._where())

    def _where(self) -> dict[str, Value]:
        self.need("WHERE")
        return self.row()

    def _selected(self, read: Get, where: dict[str, Value]) -> Any:
        return RowRead(read, where)
