"""The grammar of CREATE TABLE and ALTER TABLE."""

from itertools import chain
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from ddlsim.model.ddl import (
    Action,
    AddColumn,
    AddConstraint,
    AlterColumn,
    AlterTable,
    ColumnSpec,
    ConstraintSpec,
    CreateTable,
    DropColumn,
    DropConstraint,
    RenameColumn,
    RenameTable,
)
from ddlsim.sql.columns import Columns


class Tables(Columns):
    """Reads what follows CREATE TABLE and ALTER TABLE."""

    def create_table(self) -> CreateTable:
        exists = bool(self._parse_exists(not_=True))
        name = self.object_name("a table name")
        columns: list[ColumnSpec] = []
        constraints: list[ConstraintSpec] = []
        keys: list[tuple[str, ...]] = []
        nulls: dict[str, Token] = {}

        def element() -> None:
            start, found = self._curr, self.constraint()
            if found is None:
                defined = self.column()
                columns.append(defined.spec)
                constraints.extend(defined.constraints)
                keys.extend([(defined.spec.name,)] if defined.is_key else [])
                nulls.update({defined.spec.name: defined.null} if defined.null else {})
            elif isinstance(found, ConstraintSpec):
                constraints.append(found)
            else:
                keys.append(found)
            if len(keys) > 1:
                raise self.wrong("one primary key", "a second primary key", start)

        self.listed(element)
        key = keys[0] if keys else ()
        for column in key:
            if column in nulls:
                raise self.wrong("NOT NULL", f"key column {column!r} cannot be NULL", nulls[column])
        zone = self._zone_of_table()
        self.end("ZONE, or the end of the statement")
        return CreateTable(name, tuple(columns), key, tuple(constraints), zone, exists)

    def _zone_of_table(self) -> str | None:
        """The options after the columns: the zone, and those without effect here."""
        zones: list[str] = []

        def option() -> None:
            start = self._curr
            if self._table_option(start):
                zone(start)

        def zone(start: Token) -> None:
            """A name, or a string that holds it and folds like a name without quotes."""
            string = self._match(TokenType.STRING) and self._prev.text.lower()
            zones.append(string or self.name("a zone name"))
            if len(zones) > 1:
                raise self.wrong("one zone", "said twice", start)

        while start := self._curr:
            if self._match_text_seq("COLOCATE"):
                self._match_text_seq("BY")
                self.listed(self.name)
            elif self._match_text_seq("STORAGE"):
                self.need("PROFILE")
                self.literal(TokenType.STRING, "a string")
            elif self._match_text_seq("ZONE"):
                zone(start)
            elif self._match(TokenType.WITH):
                self.maybe_listed(option)
            else:
                break
        return zones[0] if zones else None

    def _table_option(self, start: Token) -> bool:
        """An option of WITH; whether it is the zone, whose name comes next."""
        if self.statistics():
            return False
        word = self.name("ZONE").lower()
        if word not in {"zone", "primary_zone", "storage_profile"}:
            raise self.wrong("ZONE", at=start)
        self.need("=")
        if word == "storage_profile":
            self.literal(TokenType.STRING, "a string")
            return False
        return True

    def statistics(self) -> bool:
        """MIN STALE ROWS n or STALE ROWS FRACTION x, if one comes next; without effect here."""
        if self._match_text_seq("MIN", "STALE", "ROWS"):
            self.literal(TokenType.NUMBER, "a count")
        elif self._match_text_seq("STALE", "ROWS", "FRACTION"):
            self.literal(TokenType.NUMBER, "a share")
        else:
            return False
        return True

    def _set_statistics(self) -> None:
        """What ALTER TABLE … SET changes of a table."""

        def option() -> None:
            if not self.statistics():
                raise self.wrong("MIN STALE ROWS or STALE ROWS FRACTION")

        if self.sees(TokenType.L_PAREN):
            self.listed(option)
        else:
            self._parse_csv(option)

    def alter_table(self) -> AlterTable | RenameTable:
        exists = bool(self._parse_exists())
        name = self.object_name("a table name")
        if self._match_text_seq("RENAME", "TO"):
            new_name = self.object_name("the table's new name")
            self.end("the end of the statement (RENAME TO stands alone)")
            return RenameTable(name, new_name, exists)
        if self._match_text_seq("SET"):
            self._set_statistics()
            self.end("',' or the end of the statement")
            return AlterTable(name, (), exists)
        actions = tuple(chain.from_iterable(self._parse_csv(self._action)))
        self.end("',' or the end of the statement")
        return AlterTable(name, actions, exists)

    def _action(self) -> list[Action]:
        """One action as written, which is several where it lists columns [110.compat.compound]."""
        match self.word("ADD, DROP, ALTER or RENAME", "ADD", "DROP", "ALTER", "RENAME"):
            case "ADD":
                return self._add()
            case "DROP":
                return self._drop()
            case "ALTER":
                return [self._alter()]
            case _:
                self.need("COLUMN")
                name = self.name()
                self.need("TO")
                return [RenameColumn(name, self.name("the column's new name"))]

    def _add(self) -> list[Action]:
        start, added = self._curr, self.constraint()
        if isinstance(added, ConstraintSpec):
            return [AddConstraint(added)]
        if added is not None:
            raise self.wrong("a column or a constraint", "a primary key cannot be added", start)
        self._match_texts(("COLUMN", "COLUMNS"))
        exists = bool(self._parse_exists(not_=True))

        def column() -> list[Action]:
            start, defined = self._curr, self.column()
            if defined.is_key:
                raise self.wrong("a column of no key", "a primary key cannot be added", start)
            return [AddColumn(defined.spec, exists), *map(AddConstraint, defined.constraints)]

        return [*chain.from_iterable(self.maybe_listed(column))]

    def _drop(self) -> list[Action]:
        if self._match_text_seq("PRIMARY", "KEY", advance=False):
            raise self.wrong("a column or a constraint", "the primary key cannot be dropped")
        if self._match(TokenType.CONSTRAINT):
            exists = bool(self._parse_exists())
            return [DropConstraint(self.name("a constraint name"), exists)]
        self._match_texts(("COLUMN", "COLUMNS"))
        exists = bool(self._parse_exists())
        return [DropColumn(name, exists) for name in self.maybe_listed(self.name)]

    def _alter(self) -> AlterColumn:
        """Type, nullability and default in any order and mix [110.mixed]."""
        self._match(TokenType.COLUMN)
        name = self.name()
        altered: dict[str, Any] = {}
        while self._curr and not self.sees(TokenType.COMMA):
            start = self._curr
            said = self._change(after_type="type" in altered)
            if said.keys() & altered.keys():
                raise self.wrong("type, nullability and default once each", "said twice", start)
            altered |= said
        if not altered:
            raise self.wrong("SET or DROP")
        return AlterColumn(name, **altered)

    def _change(self, *, after_type: bool) -> dict[str, Any]:
        """One word of an ALTER COLUMN; after SET DATA TYPE the others need no SET of their own."""
        if self._match_text_seq("DROP"):
            if self._match_text_seq("NOT", "NULL"):
                return {"nullable": True}
            self.need("DEFAULT")
            return {"sets_default": True, "default": None}
        expected = "SET or DROP"
        if self._match_text_seq("SET"):
            if self._match_text_seq("DATA"):
                self.need("TYPE")
                return {"type": self.column_type()}
            expected = "DATA TYPE, NOT NULL or DEFAULT"
        elif after_type:
            expected = "NOT NULL, NULL, DEFAULT, SET, DROP, ',' or the end of the statement"
        else:
            raise self.wrong(expected)
        if self._match_text_seq("NOT", "NULL"):
            return {"nullable": False}
        if self._match_texts(("NULL", "NULLABLE")):
            return {"nullable": True}
        self.word(expected, "DEFAULT")
        value, computed = self.default()
        return {"sets_default": True, "default": value, "computed": computed}
