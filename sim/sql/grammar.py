"""The statements of Ignite: hooks of sqlglot's parser, each of which makes a statement of ours.

sqlglot cuts the text into tokens and statements, steps through them, and reads queries and
conditions. Its own methods for DDL mean too well to be used: `CREATE TABLE t, (a INT,) AS SHALLOW`,
`CREATE INDEX i t (a)`, `RENAME u`, `VARCHAR()`, `INT ARRAY` or `SELECT ALL a, FROM t *` give the
very trees of the statements without these slips, so no look at a tree could find them. Here every
token is named by a hook or is an error at its place, and there is no `Command` to fall back on.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final, NamedTuple

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sim.model.ddl import (
    AlterZone,
    CreateIndex,
    CreateView,
    CreateZone,
    DropIndex,
    DropTable,
    DropView,
    DropZone,
    RenameView,
    Statement,
)
from sim.model.ops import Get, Scan
from sim.model.schema import Value
from sim.sql.errors import Unread
from sim.sql.tables import Tables

_MAX_PARTITIONS: Final = 65000
_DROPS: Final[dict[str, Callable[[str, bool], Statement]]] = {
    "TABLE": DropTable,
    "INDEX": DropIndex,
    "VIEW": DropView,
    "ZONE": DropZone,
}


class Parsed(NamedTuple):
    """One statement: what it asks for, its text, its first line, and its names as written.

    `written` maps each name to its first spelling in the statement.
    """

    statement: Statement | Get | Scan
    sql: str
    line: int
    written: dict[str, str]


class Grammar(Tables):
    """Reads CREATE, ALTER, DROP and the SELECT of rows; anything else is no statement."""

    STATEMENT_PARSERS: ClassVar[dict[TokenType, Callable[..., exp.Expr]]] = {}
    """Inside of a query stand queries only."""

    def statements(self, tokens: list[Token], text: str) -> list[Parsed]:
        """Each statement; lines count from 0."""
        method: Any = Grammar._parsed
        found: list[Any] = self._parse(method, tokens, text)
        return found

    def _parse_batch_statements(self, parse_method: Any, *_: object, **__: object) -> list[Any]:
        """Statement by statement; sqlglot would ignore all that follows a semicolon and ELSE."""
        found = []
        while self._chunk_index < len(self._chunks):
            self._advance_chunk()
            if self._curr and not self.sees(TokenType.SEMICOLON):
                found.append(parse_method(self))
        return found

    def _parsed(self) -> Parsed:
        start, self.written = self._curr, {}
        statement = self._statement()
        self.end()
        line = self.sql.count("\n", 0, start.start)
        return Parsed(statement, self.text_since(start), line, self.written)

    def _statement(self) -> Statement | Get | Scan:
        match self.word("CREATE, ALTER, DROP or SELECT", "CREATE", "ALTER", "DROP", "SELECT"):
            case "CREATE":
                return self._create()
            case "ALTER":
                return self._alter_object()
            case "DROP":
                kind = self.word("TABLE, INDEX, VIEW or ZONE", *_DROPS)
                exists = bool(self._parse_exists())
                return _DROPS[kind](self.object_name(f"the name of the {kind.lower()}"), exists)
            case _:
                return self._select()

    def _create(self) -> Statement:
        if self._match(TokenType.UNIQUE):
            self.need("INDEX")
            return self._create_index(unique=True)
        expected = "TABLE, [UNIQUE] INDEX, VIEW or ZONE"
        match self.word(expected, "TABLE", "INDEX", "VIEW", "ZONE"):
            case "TABLE":
                return self.create_table()
            case "INDEX":
                return self._create_index(unique=False)
            case "VIEW":
                return self._create_view()
            case _:
                return self._create_zone()

    def _create_index(self, *, unique: bool) -> CreateIndex:
        exists = bool(self._parse_exists(not_=True))
        name = self.object_name("an index name")
        self.need("ON")
        table = self.object_name("a table name")
        self.using()
        return CreateIndex(name, table, self.sorted_columns(), unique, exists)

    def _create_view(self) -> CreateView:
        """The query of a view is kept as it is written."""
        exists = bool(self._parse_exists(not_=True))
        name = self.object_name("a view name")
        self.need("AS")
        start = self._curr
        if not self._match_texts(("SELECT", "WITH"), advance=False):
            raise self.wrong("SELECT or WITH")
        query = self._parse_statement()
        self.end("the rest of a query, or the end of the statement")
        if not isinstance(query, exp.Query) or not query.selects:
            raise self.wrong("a query", "this is no query", start)
        tables = tuple(self._tables_read(query, start))
        return CreateView(name, self.text_since(start), tables, exists)

    def _tables_read(self, query: exp.Query, start: Token) -> Iterator[str]:
        """The tables that a query reads, in order; their names fold like all others."""
        local = {cte.alias for cte in query.find_all(exp.CTE)}
        for table in query.find_all(exp.Table):
            if table.db.lower() not in {"", "public"}:
                place = table.args["db"].meta.get("start", start.start)
                raise Unread(f"unknown schema {table.db!r}", place, "no schema but PUBLIC")
            if table.db or table.name not in local:
                yield table.name if table.this.args.get("quoted") else table.name.lower()

    def _create_zone(self) -> CreateZone:
        exists = bool(self._parse_exists(not_=True))
        name = self.name("a zone name")
        options: dict[str, int] = {}
        if self._match(TokenType.WITH) or self.sees(TokenType.L_PAREN):
            options = self._zone_options()
        if self._match_text_seq("STORAGE"):
            self.need("PROFILES")
            self._profiles()
        return CreateZone(name, **options, if_not_exists=exists)

    def _alter_object(self) -> Statement:
        kind = self.word("TABLE, VIEW or ZONE", "TABLE", "VIEW", "ZONE")
        if kind == "TABLE":
            return self.alter_table()
        exists = bool(self._parse_exists())
        if kind == "VIEW":
            view = self.object_name("a view name")
            self.need("RENAME", "TO")
            return RenameView(view, self.object_name("the view's new name"), exists)
        zone = self.name("a zone name")
        if self._match_texts(("RENAME",), advance=False):
            raise self.wrong("SET", "a zone cannot be renamed here")
        self.need("SET")
        return AlterZone(zone, **self._zone_options(), if_exists=exists)

    def _zone_options(self) -> dict[str, int]:
        """PARTITIONS and REPLICAS, with or without `=`, each at most once."""
        options: dict[str, int] = {}

        def option() -> None:
            if self._match_text_seq("STORAGE_PROFILES"):
                self.need("=")
                self._profiles()
                return
            left = {"PARTITIONS", "REPLICAS"} - {key.upper() for key in options}
            key = self.word("PARTITIONS or REPLICAS, each once", *left).lower()
            self._match_text_seq("=")
            options[key] = self.whole("a count", 1, _MAX_PARTITIONS)

        if self.sees(TokenType.L_PAREN):
            self.listed(option)
        else:
            self._parse_csv(option)
        return options

    def _profiles(self) -> None:
        """Storage profiles, which have no bearing on anything here."""
        bracketed = self._match(TokenType.L_BRACKET)
        self._parse_csv(lambda: self.literal(TokenType.STRING, "a string"))
        if bracketed:
            self.need("]")

    def _select(self) -> Get | Scan:
        """SELECT of one table: all of its rows, or the one whose key is given."""
        star = self._match(TokenType.STAR)
        columns = [] if star else self._parse_csv(lambda: self.name("'*' or column names"))
        self.need("FROM")
        table = self.object_name("a table name")
        if not self._match(TokenType.WHERE):
            self.end("WHERE, or the end of the statement")
            return Scan(table, star, tuple(columns))

        def condition() -> tuple[Value]:
            self.name("a key column")
            self.need("=")
            return (self.constant(),)

        key = tuple(value for (value,) in self._parse_csv(condition, TokenType.AND))
        self.end("AND, or the end of the statement")
        return Get(table, key[0] if len(key) == 1 else key, star, tuple(columns))
