"""The statements of Ignite: hooks of sqlglot's parser, each of which makes a statement of ours.

sqlglot cuts the text into tokens and statements, steps through them, and reads queries and
conditions. Its own methods for DDL are too lenient: `CREATE TABLE t, (a INT,) AS SHALLOW`,
`CREATE INDEX i t (a)`, `RENAME u`, `VARCHAR()`, `INT ARRAY` or `SELECT ALL a, FROM t *` give the
very trees of the statements without these slips, so no look at a tree could find them. Here every
token is named by a hook or is an error at its place, and there is no `Command` to fall back on.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final, NamedTuple

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from ddlsim.model.ddl import (
    AlterZone,
    CreateIndex,
    CreateView,
    CreateZone,
    DropIndex,
    DropTable,
    DropView,
    DropZone,
    RenameView,
    RenameZone,
    Statement,
)
from ddlsim.model.ops import Get, Scan
from ddlsim.model.schema import Value
from ddlsim.sql.conditions import columns_read
from ddlsim.sql.errors import Unread
from ddlsim.sql.tables import Tables

_MAX_PARTITIONS: Final = 65000
_CHANGES: Final = ("CREATE", "ALTER", "DROP")
_ROWS: Final = {"SELECT", "WITH", "VALUES", "TABLE", "(", "EXPLAIN", "DESCRIBE"}
_WRITES: Final = {"INSERT", "UPDATE", "DELETE", "MERGE", "UPSERT", "COPY"}
_SESSIONS: Final = {"START", "BEGIN", "COMMIT", "ROLLBACK", "SET", "USE", "KILL"}
_NO_DDL: Final = _ROWS | _WRITES | _SESSIONS
"""First words of statements that change no schema."""
_UNDERSTOOD: Final = (
    "CREATE, ALTER or DROP of a TABLE, INDEX, VIEW or ZONE; SELECT, INSERT, UPDATE, DELETE, MERGE, "
    "EXPLAIN, SET, START, COMMIT and the like are passed over"
)
_NO_WORDS: Final = (TokenType.IDENTIFIER, TokenType.STRING)
"""Tokens whose text may look like a keyword and is none."""
_Option = tuple[tuple[str, ...], tuple[str, ...], str]
_STORAGE_OPTIONS: Final[tuple[_Option, ...]] = (
    (("STORAGE_PROFILES",), ("profiles",), "profiles"),
    (("STORAGE", "PROFILES"), ("profiles",), "profiles"),
    (("QUORUM", "SIZE"), ("quorum",), "count"),
    (("QUORUM_SIZE",), ("quorum",), "count"),
    (("DISTRIBUTION", "ALGORITHM"), ("algorithm",), "text"),
    (("DISTRIBUTION_ALGORITHM",), ("algorithm",), "text"),
    (("NODES", "FILTER"), ("filter",), "text"),
    (("DATA_NODES_FILTER",), ("filter",), "text"),
    (("CONSISTENCY", "MODE"), ("mode",), "text"),
    (("CONSISTENCY_MODE",), ("mode",), "text"),
    (("AUTO", "SCALE", "UP"), ("up",), "seconds"),
    (("DATA_NODES_AUTO_ADJUST_SCALE_UP",), ("up",), "seconds"),
    (("AUTO", "SCALE", "DOWN"), ("down",), "seconds"),
    (("DATA_NODES_AUTO_ADJUST_SCALE_DOWN",), ("down",), "seconds"),
    (("AUTO", "SCALE"), ("up", "down"), "off"),
)
"""Options of zones that have no bearing on anything here: words, what they set, and its value."""
_DROPS: Final[dict[str, Callable[[str, bool], Statement]]] = {
    "TABLE": DropTable,
    "INDEX": DropIndex,
    "VIEW": DropView,
    "ZONE": DropZone,
}


class Parsed(NamedTuple):
    """One statement: what it asks for, its text, where it begins, and its names as written.

    Lines and columns count from 1. `written` maps each name to its first spelling in the statement.
    """

    statement: Statement | Get | Scan
    sql: str
    line: int
    written: dict[str, str]
    column: int = 1
    end_line: int = 0


class PassedOver(NamedTuple):
    """A statement of a script that changes no schema: its text, where, and which it is (INSERT)."""

    sql: str
    line: int
    column: int
    word: str


ScriptEntry = Parsed | PassedOver | Unread
"""What a script has in one place: a statement, one that is passed over, or what is wrong."""


class Grammar(Tables):
    """Reads CREATE, ALTER, DROP and the SELECT of rows; anything else is an error."""

    STATEMENT_PARSERS: ClassVar[dict[TokenType, Callable[..., exp.Expr]]] = {}
    """Inside of a query stand queries only."""

    def statements(self, tokens: list[Token], text: str) -> list[Parsed]:
        """Each statement; lines count from 0."""
        method: Any = Grammar._parsed
        found: list[Any] = self._parse(method, tokens, text)
        return found

    def script(self, tokens: list[Token], text: str) -> list[ScriptEntry]:
        """Each statement, what changes no schema, and every error; lines count from 0."""
        method: Any = Grammar._entry
        found: list[Any] = self._parse(method, tokens, text)
        return found

    def _entry(self) -> ScriptEntry:
        start, word = self._curr, self._keyword()
        try:
            if word in _NO_DDL:
                word = self._passed_over()
                line = self.sql.count("\n", 0, start.start)
                column = start.start - self.sql.rfind("\n", 0, start.start)
                return PassedOver(self.text_since(start), line, column, word)
            if word not in _CHANGES:
                found = self._find_sql(start, start)
                raise self.wrong(_UNDERSTOOD, f"{found} begins no statement of Ignite")
            return self._parsed()
        except Unread as error:
            return error

    def _keyword(self) -> str:
        """The present token in capitals, empty if it is a string or a quoted name."""
        token = self._curr
        return "" if token.token_type in _NO_WORDS else token.text.upper()

    def _passed_over(self) -> str:
        """Skip a statement that changes no schema, and give its first word.

        One that does change it may stand behind it without a semicolon, and must not be lost.
        """
        while self._curr and self._keyword() == "(":
            self._advance()
        first = self._keyword() if self._curr else "("
        while self._curr:
            if self._keyword() in _CHANGES:
                raise self.wrong("';' before it", f"{self._keyword()} within {first}")
            self._advance()
        return first

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
        column = start.start - self.sql.rfind("\n", 0, start.start)
        end_line = self.sql.count("\n", 0, self._prev.end)
        return Parsed(statement, self.text_since(start), line, self.written, column, end_line)

    def _statement(self) -> Statement | Get | Scan:
        match self.word("CREATE, ALTER, DROP or SELECT", "CREATE", "ALTER", "DROP", "SELECT"):
            case "CREATE":
                return self._create()
            case "ALTER":
                return self._alter_object()
            case "DROP":
                kind = self._kind("DROP", "TABLE, INDEX, VIEW or ZONE", *_DROPS)
                exists = bool(self._parse_exists())
                return _DROPS[kind](self.object_name(f"the name of the {kind.lower()}"), exists)
            case _:
                return self._select()

    def _kind(self, what: str, expected: str, *kinds: str) -> str:
        """The kind of object that is changed; of schemas only PUBLIC is known."""
        if self._match_text_seq("SCHEMA", advance=False):
            raise self.wrong(f"{expected} of the schema PUBLIC", f"{what} SCHEMA is not modelled")
        return self.word(expected, *kinds)

    def _create(self) -> Statement:
        if self._match(TokenType.UNIQUE):
            self.need("INDEX")
            return self._create_index(unique=True)
        expected = "TABLE, [UNIQUE] INDEX, VIEW or ZONE"
        match self._kind("CREATE", expected, "TABLE", "INDEX", "VIEW", "ZONE"):
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
        reads = tuple(dict.fromkeys(columns_read(query)))
        return CreateView(name, self.text_since(start), tables, exists, reads)

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
        kind = self._kind("ALTER", "TABLE, VIEW or ZONE", "TABLE", "VIEW", "ZONE")
        if kind == "TABLE":
            return self.alter_table()
        exists = bool(self._parse_exists())
        if kind == "VIEW":
            view = self.object_name("a view name")
            self.need("RENAME", "TO")
            return RenameView(view, self.object_name("the view's new name"), exists)
        zone = self.name("a zone name")
        if self.word("SET or RENAME", "SET", "RENAME") == "RENAME":
            self.need("TO")
            return RenameZone(zone, self.name("the zone's new name"), exists)
        if self._match_text_seq("DEFAULT"):
            return AlterZone(zone, if_exists=exists, default=True)
        options: Any = self._zone_options()
        return AlterZone(zone, **options, if_exists=exists)

    def _zone_options(self) -> dict[str, int]:
        """Options with or without `=`, each at most once; the counts of what matters here."""
        options: dict[str, int] = {}
        said: set[str] = set()

        def option() -> None:
            start = self._curr
            found = self._zone_option(options)
            if said & found:
                raise self.wrong("each option once", "said twice", start)
            said.update(found)

        if self.sees(TokenType.L_PAREN):
            self.listed(option)
        else:
            self._parse_csv(option)
        return options

    def _zone_option(self, options: dict[str, int]) -> set[str]:
        """One option, in its present form or the older one in one word; what it sets."""
        if self._match_texts(("PARTITIONS", "REPLICAS")):
            key = self._prev.text.lower()
            self._match_text_seq("=")
            if key == "replicas" and self._match_text_seq("ALL"):
                raise Unread("REPLICAS ALL is not modelled", self._prev.start, "how many replicas")
            options[key] = self.whole("a count", 1, _MAX_PARTITIONS)
            return {key}
        for words, sets, value in _STORAGE_OPTIONS:
            if self._match_text_seq(*words):
                self._match_text_seq("=")
                self._option_value(value)
                return set(sets)
        raise self.wrong("PARTITIONS, REPLICAS or another option of zones, each once")

    def _option_value(self, value: str) -> None:
        """The value of an option that has no effect here."""
        if value == "profiles":
            if self.sees(TokenType.L_BRACKET):
                self._profiles()
            else:
                self.literal(TokenType.STRING, "a string")
        elif value == "text":
            self.literal(TokenType.STRING, "a string")
        elif value == "count":
            self.literal(TokenType.NUMBER, "a count")
        elif value == "off" or not self._match_text_seq("OFF"):
            if value == "off":
                self.need("OFF")
            else:
                self.literal(TokenType.NUMBER, "a number of seconds, or OFF")

    def _profiles(self) -> None:
        """Storage profiles, which have no effect here."""
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

        return self._selected(Get(table, (), star, tuple(columns)), self.row("a key column"))

    def _selected(self, read: Get, where: dict[str, Value]) -> Get:
        """The read of the row that WHERE names."""
        key = tuple(where.values())
        return Get(read.table, key[0] if len(key) == 1 else key, read.metadata, read.columns)

    def row(self, what: str = "a column name") -> dict[str, Value]:
        """What is behind WHERE: `a = 1 AND b = 2`, the end of the statement."""
        found = self.equations(TokenType.AND, what)
        self.end("AND, or the end of the statement")
        return found

    def equations(self, separator: TokenType, what: str) -> dict[str, Value]:
        """`a = 1` and so on; a column stands there once."""

        def equation() -> tuple[str, Value]:
            start = self._curr
            name = self.name(what)
            if name in found:
                raise self.wrong("another column", f"{name} stands here twice", start)
            self.need("=")
            found[name] = self.constant()
            return name, found[name]

        found: dict[str, Value] = {}
        self._parse_csv(equation, separator)
        return found
