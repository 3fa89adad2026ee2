"""Statements are read word by word: each word has a meaning, or is an error with its place."""

import pytest

from ddlsim.model.ddl import (
    AddColumn,
    AddConstraint,
    AlterColumn,
    AlterTable,
    AlterZone,
    ColumnSpec,
    ConstraintSpec,
    CreateIndex,
    CreateTable,
    CreateView,
    CreateZone,
    DropColumn,
    DropConstraint,
    DropIndex,
    DropTable,
    DropView,
    DropZone,
    Reference,
    RenameColumn,
    RenameTable,
    RenameView,
    RenameZone,
    Statement,
)
from ddlsim.model.ops import Get, Scan
from ddlsim.model.schema import ColumnType, Comparison
from ddlsim.sql import SqlError, parse

INT = ColumnType("INTEGER")


def one(text: str) -> Statement | Get | Scan:
    (parsed,) = parse(text)
    return parsed.statement


def test_a_text_is_cut_into_statements_with_their_lines() -> None:
    text = "-- first\nDROP TABLE a;;\n/* two\nlines */ DROP TABLE b ;DROP TABLE\n c -- end\n"
    found = parse(text, first_line=10)
    assert [(one.sql, one.line) for one in found] == [
        ("DROP TABLE a", 11),
        ("DROP TABLE b", 13),
        ("DROP TABLE\n c", 13),
    ]
    assert parse("") == parse(" ; -- nothing\n") == []


def test_semicolons_and_comment_signs_in_strings_are_text() -> None:
    found = one("ALTER TABLE t ALTER COLUMN a SET DEFAULT ';--/*'")
    assert found == AlterTable("t", (AlterColumn("a", sets_default=True, default=";--/*"),))


def test_names_fold_to_lower_case_unless_quoted() -> None:
    assert one("DROP TABLE Accounts") == one('drop table "accounts"') == DropTable("accounts")
    assert one('DROP TABLE "Accounts"') == DropTable("Accounts")
    assert one('DROP TABLE "a""b"') == DropTable('a"b')
    assert one("DROP TABLE PUBLIC.t") == DropTable("t")
    assert one('DROP TABLE "select"') == DropTable("select")


def test_parsed_names_keep_their_spelling() -> None:
    (parsed,) = parse('ALTER TABLE Acc DROP COLUMN V, DROP COLUMN "W"')
    assert parsed.written == {"acc": "Acc", "v": "V", "W": "W"}


def test_words_of_the_language_may_name_columns_where_nothing_is_ambiguous() -> None:
    found = one("CREATE TABLE t (key INT PRIMARY KEY, zone INT, type INT, date DATE, value INT)")
    assert isinstance(found, CreateTable)
    assert [spec.name for spec in found.columns] == ["key", "zone", "type", "date", "value"]


def test_create_table() -> None:
    found = one(
        "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, v BIGINT NOT NULL DEFAULT -5,"
        " s VARCHAR(10) DEFAULT 'it''s' NOT NULL, n INT NULL DEFAULT NULL)"
    )
    assert found == CreateTable(
        "t",
        (
            ColumnSpec("id", INT),
            ColumnSpec("v", ColumnType("BIGINT"), False, True, -5),
            ColumnSpec("s", ColumnType("VARCHAR", length=10), False, True, "it's"),
            ColumnSpec("n", INT, True, True, None),
        ),
        ("id",),
        if_not_exists=True,
    )


@pytest.mark.parametrize(
    "key",
    [
        "PRIMARY KEY (b, a)",
        "CONSTRAINT pk PRIMARY KEY (b, a)",
        "PRIMARY KEY USING SORTED (b ASC, a DESC NULLS LAST)",
        "PRIMARY KEY USING HASH (b, a)",
    ],
)
def test_a_key_may_be_a_constraint_of_the_table(key: str) -> None:
    found = one(f"CREATE TABLE t (a INT, {key}, b INT)")
    assert found == CreateTable("t", (ColumnSpec("a", INT), ColumnSpec("b", INT)), ("b", "a"))


def test_constraints_keep_their_text() -> None:
    found = one(
        "CREATE TABLE t (id INT PRIMARY KEY CHECK (id > 0) UNIQUE"
        " REFERENCES u (x) ON DELETE CASCADE,"
        " CONSTRAINT c CHECK ((id + 1) * 2 IN (4, 6) AND id < 9), UNIQUE (id),"
        " CONSTRAINT f FOREIGN KEY (id) REFERENCES u ON UPDATE NO ACTION ON DELETE SET NULL)"
    )
    assert isinstance(found, CreateTable)
    assert found.constraints == (
        ConstraintSpec("", "check", "CHECK (id > 0)", ("id",), Comparison(0, ">", 0)),
        ConstraintSpec("", "unique", "UNIQUE (id)", ("id",)),
        ConstraintSpec(
            "",
            "foreign",
            "FOREIGN KEY (id) REFERENCES u (x) ON DELETE CASCADE",
            reads=("id",),
            references=Reference("u", ("x",)),
        ),
        ConstraintSpec("c", "check", "CHECK ((id + 1) * 2 IN (4, 6) AND id < 9)", reads=("id",)),
        ConstraintSpec("", "unique", "UNIQUE (id)", ("id",)),
        ConstraintSpec(
            "f",
            "foreign",
            "FOREIGN KEY (id) REFERENCES u ON UPDATE NO ACTION ON DELETE SET NULL",
            reads=("id",),
            references=Reference("u"),
        ),
    )


@pytest.mark.parametrize(
    ("tail", "zone"),
    [
        ("ZONE z", "z"),
        ('ZONE "Z"', "Z"),
        ("WITH ZONE='Z'", "z"),
        ("WITH (\"ZONE\"='z')", "z"),
        ("WITH PRIMARY_ZONE = z", "z"),
        ("COLOCATE BY (id) ZONE z STORAGE PROFILE 'fast'", "z"),
        ("COLOCATE BY (id)", None),
    ],
)
def test_a_table_names_its_zone(tail: str, zone: str | None) -> None:
    found = one(f"CREATE TABLE t (id INT PRIMARY KEY) {tail}")
    assert found == CreateTable("t", (ColumnSpec("id", INT),), ("id",), zone=zone)


TYPES = [
    ("TINYINT", ColumnType("TINYINT")),
    ("SMALLINT", ColumnType("SMALLINT")),
    ("INTEGER", INT),
    ("BIGINT", ColumnType("BIGINT")),
    ("REAL", ColumnType("REAL")),
    ("FLOAT", ColumnType("REAL")),
    ("DOUBLE", ColumnType("DOUBLE")),
    ("DOUBLE PRECISION", ColumnType("DOUBLE")),
    ("BOOLEAN", ColumnType("BOOLEAN")),
    ("DATE", ColumnType("DATE")),
    ("UUID", ColumnType("UUID")),
    ("VARCHAR", ColumnType("VARCHAR", length=65536)),
    ("VARCHAR(7)", ColumnType("VARCHAR", length=7)),
    ("CHARACTER VARYING (7)", ColumnType("VARCHAR", length=7)),
    ("VARBINARY", ColumnType("VARBINARY", length=65536)),
    ("VARBINARY(7)", ColumnType("VARBINARY", length=7)),
    ("DECIMAL", ColumnType("DECIMAL", precision=32767, scale=0)),
    ("NUMERIC(5)", ColumnType("DECIMAL", precision=5, scale=0)),
    ("DEC(5, 2)", ColumnType("DECIMAL", precision=5, scale=2)),
    ("TIME", ColumnType("TIME", precision=0)),
    ("TIME(3) WITHOUT TIME ZONE", ColumnType("TIME", precision=3)),
    ("TIMESTAMP", ColumnType("TIMESTAMP", precision=6)),
    ("TIMESTAMP(0)", ColumnType("TIMESTAMP", precision=0)),
    ("TIMESTAMP WITHOUT TIME ZONE", ColumnType("TIMESTAMP", precision=6)),
    (
        "TIMESTAMP WITH LOCAL TIME ZONE",
        ColumnType("TIMESTAMP WITH LOCAL TIME ZONE", precision=6),
    ),
    (
        "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        ColumnType("TIMESTAMP WITH LOCAL TIME ZONE", precision=3),
    ),
    (
        "TIMESTAMP WITH LOCAL TIME ZONE(3)",
        ColumnType("TIMESTAMP WITH LOCAL TIME ZONE", precision=3),
    ),
]


@pytest.mark.parametrize(("written", "column_type"), TYPES, ids=[case[0] for case in TYPES])
def test_types(written: str, column_type: ColumnType) -> None:
    found = one(f"ALTER TABLE t ADD COLUMN a {written} NOT NULL")
    assert found == AlterTable("t", (AddColumn(ColumnSpec("a", column_type, nullable=False)),))


CONSTANTS = [
    ("1", 1),
    ("-1", -1),
    ("+1", 1),
    ("1.5", 1.5),
    ("-1e3", -1000.0),
    ("'x'", "x"),
    ("X'0aFf'", "0aFf"),
    ("TRUE", True),
    ("false", False),
    ("NULL", None),
    ("DATE '2026-01-01'", "2026-01-01"),
    ("TIME '10:00:00'", "10:00:00"),
    ("TIMESTAMP '2026-01-01 10:00:00'", "2026-01-01 10:00:00"),
]


@pytest.mark.parametrize(("written", "value"), CONSTANTS, ids=[case[0] for case in CONSTANTS])
def test_constants(written: str, value: object) -> None:
    found = one(f"ALTER TABLE t ALTER COLUMN a SET DEFAULT {written}")
    assert isinstance(found, AlterTable)
    (action,) = found.actions
    assert isinstance(action, AlterColumn)
    assert action.sets_default
    assert action.default == value
    assert type(action.default) is type(value)


A, B = AddColumn(ColumnSpec("a", INT)), AddColumn(ColumnSpec("b", INT))

ACTIONS: list[tuple[str, tuple[object, ...]]] = [
    ("ADD COLUMN a INT", (A,)),
    ("ADD a INT", (A,)),
    ("ADD COLUMN (a INT, b INT)", (A, B)),
    ("ADD COLUMNS (a INT, b INT)", (A, B)),
    ("ADD (a INT)", (A,)),
    ("ADD COLUMN a INT, ADD COLUMN b INT", (A, B)),
    ("ADD COLUMN a INT, DROP COLUMN b", (A, DropColumn("b"))),
    ("ADD COLUMN IF NOT EXISTS a INT", (AddColumn(ColumnSpec("a", INT), if_not_exists=True),)),
    (
        "ADD COLUMN a INT UNIQUE",
        (A, AddConstraint(ConstraintSpec("", "unique", "UNIQUE (a)", ("a",)))),
    ),
    ("DROP COLUMN a", (DropColumn("a"),)),
    ("DROP a", (DropColumn("a"),)),
    ("DROP COLUMNS (a, b)", (DropColumn("a"), DropColumn("b"))),
    ("DROP COLUMN IF EXISTS (a, b)", (DropColumn("a", True), DropColumn("b", True))),
    ("RENAME COLUMN a TO b", (RenameColumn("a", "b"),)),
    ("ALTER COLUMN a SET DATA TYPE INT", (AlterColumn("a", INT),)),
    ("ALTER a SET NOT NULL", (AlterColumn("a", nullable=False),)),
    ("ALTER COLUMN a DROP NOT NULL", (AlterColumn("a", nullable=True),)),
    ("ALTER COLUMN a SET DEFAULT 5", (AlterColumn("a", sets_default=True, default=5),)),
    ("ALTER COLUMN a DROP DEFAULT", (AlterColumn("a", sets_default=True),)),
    (
        "ALTER COLUMN a SET DATA TYPE INT NOT NULL DEFAULT 42",
        (AlterColumn("a", INT, False, True, 42),),
    ),
    (
        "ALTER COLUMN a SET DATA TYPE INT DEFAULT 42 NULLABLE",
        (AlterColumn("a", INT, True, True, 42),),
    ),
    (
        "ALTER COLUMN a DROP NOT NULL SET DEFAULT 42 SET DATA TYPE INT",
        (AlterColumn("a", INT, True, True, 42),),
    ),
    (
        "ADD CONSTRAINT c CHECK (a > 0), DROP CONSTRAINT IF EXISTS d",
        (
            AddConstraint(
                ConstraintSpec("c", "check", "CHECK (a > 0)", ("a",), Comparison(0, ">", 0))
            ),
            DropConstraint("d", if_exists=True),
        ),
    ),
]


@pytest.mark.parametrize(("written", "actions"), ACTIONS, ids=[case[0] for case in ACTIONS])
def test_actions_of_alter_table(written: str, actions: tuple[object, ...]) -> None:
    for head, if_exists in (("ALTER TABLE t", False), ("ALTER TABLE IF EXISTS t", True)):
        found = one(f"{head} {written}")
        assert isinstance(found, AlterTable)
        assert (found.name, found.actions, found.if_exists) == ("t", actions, if_exists)


OTHERS: list[tuple[str, Statement]] = [
    ("ALTER TABLE IF EXISTS a RENAME TO b", RenameTable("a", "b", if_exists=True)),
    ("DROP TABLE IF EXISTS a", DropTable("a", if_exists=True)),
    ("CREATE INDEX i ON t (a, b DESC)", CreateIndex("i", "t", ("a", "b"))),
    (
        "CREATE UNIQUE INDEX IF NOT EXISTS i ON t USING HASH (a)",
        CreateIndex("i", "t", ("a",), unique=True, if_not_exists=True),
    ),
    ("DROP INDEX IF EXISTS i", DropIndex("i", if_exists=True)),
    (
        "CREATE VIEW v AS SELECT a.x, b.* FROM T AS a JOIN \"U\" b ON a.x = b.x",
        CreateView(
            "v",
            'SELECT a.x, b.* FROM T AS a JOIN "U" b ON a.x = b.x',
            ("t", "U"),
            reads=(("t", "x"), ("U", "x")),
        ),
    ),
    (
        "CREATE VIEW IF NOT EXISTS v AS WITH c AS (SELECT 1 AS x) SELECT x FROM c, PUBLIC.t",
        CreateView(
            "v",
            "WITH c AS (SELECT 1 AS x) SELECT x FROM c, PUBLIC.t",
            ("t",),
            if_not_exists=True,
        ),
    ),
    (
        "CREATE VIEW v AS SELECT CAST(a AS DOUBLE PRECISION), CAST(b AS FOO(1)) FROM t",
        CreateView(
            "v",
            "SELECT CAST(a AS DOUBLE PRECISION), CAST(b AS FOO(1)) FROM t",
            ("t",),
            reads=(("t", "a"), ("t", "b")),
        ),
    ),
    ("CREATE VIEW v AS WITH c (a x) AS (SELECT 1) SELECT a FROM c",
     CreateView("v", "WITH c (a x) AS (SELECT 1) SELECT a FROM c", ())),
    (
        "CREATE VIEW v AS SELECT a, LOCALTIME FROM (TABLE t)",
        CreateView("v", "SELECT a, LOCALTIME FROM (TABLE t)", ("t",)),
    ),
    ("ALTER VIEW IF EXISTS v RENAME TO w", RenameView("v", "w", if_exists=True)),
    ("DROP VIEW v", DropView("v")),
    ("CREATE ZONE z", CreateZone("z")),
    ("CREATE ZONE z WITH PARTITIONS=5, REPLICAS=3", CreateZone("z", 5, 3)),
    (
        "CREATE ZONE IF NOT EXISTS z (REPLICAS 3) STORAGE PROFILES ['a', 'b']",
        CreateZone("z", None, 3, if_not_exists=True),
    ),
    ("CREATE ZONE z WITH STORAGE_PROFILES='a'", CreateZone("z")),
    ("ALTER ZONE IF EXISTS z SET REPLICAS 2", AlterZone("z", None, 2, if_exists=True)),
    ("ALTER ZONE z SET (PARTITIONS 4, REPLICAS = 2)", AlterZone("z", 4, 2)),
    ("DROP ZONE IF EXISTS z", DropZone("z", if_exists=True)),
]  # fmt: skip


@pytest.mark.parametrize(("written", "statement"), OTHERS, ids=[case[0] for case in OTHERS])
def test_other_statements(written: str, statement: Statement) -> None:
    assert one(written) == statement


def test_queries_are_reads() -> None:
    assert one("SELECT * FROM t") == Scan("t", metadata=True)
    assert one("select a, B from T") == Scan("t", columns=("a", "b"))
    assert one("SELECT * FROM t WHERE id = 1") == Get("t", 1, metadata=True)
    assert one("SELECT a FROM t WHERE id = 1") == Get("t", 1, columns=("a",))
    found = one("SELECT a, \"B\" FROM t WHERE a = 'x' AND b = -2")
    assert found == Get("t", ("x", -2), columns=("a", "B"))


def test_comments_may_stand_between_any_two_words() -> None:
    found = one("CREATE /**/ TABLE t (a -- a name\n INT PRIMARY /* one */ KEY)")
    assert found == one("CREATE TABLE t (a INT PRIMARY KEY)")
    assert [parsed.sql for parsed in parse("DROP TABLE a; /* b */ ; -- c\n;")] == ["DROP TABLE a"]


def test_parse_gives_a_new_list_at_each_call() -> None:
    text = "-- first\nDROP TABLE Acc"
    parse(text)[0].written.clear()
    assert parse(text, first_line=5)[0].written == {"acc": "Acc"}
    assert [parse(text, first)[0].line for first in (1, 5, 1)] == [2, 6, 2]


def test_the_message_tells_what_where_and_what_was_expected() -> None:
    with pytest.raises(SqlError) as caught:
        parse("DROP TABLE a;\n  ALTER TABLE t\n    FROB x", first_line=5)
    error = caught.value
    assert (error.line, error.column) == (7, 5)
    assert error.message == "unexpected 'FROB'"
    assert error.expected == "ADD, DROP, ALTER or RENAME"
    assert str(error) == (
        "line 7, column 5: unexpected 'FROB'; expected ADD, DROP, ALTER or RENAME"
    )


NEW = """(PARTITIONS 4, REPLICAS 2, QUORUM SIZE 1, AUTO SCALE UP 5, AUTO SCALE DOWN OFF,
NODES FILTER '$.a', DISTRIBUTION ALGORITHM 'x', CONSISTENCY MODE 'HIGH_AVAILABILITY')
STORAGE PROFILES ['a', 'b']"""
OLD = """WITH PARTITIONS=4, REPLICAS=2, DATA_NODES_AUTO_ADJUST_SCALE_UP=1, DATA_NODES_FILTER='$.a',
STORAGE_PROFILES='default', DATA_NODES_AUTO_ADJUST_SCALE_DOWN=300"""
OPTIONS = [NEW, OLD, "(AUTO SCALE OFF, PARTITIONS 4, REPLICAS 2)"]


@pytest.mark.parametrize("options", OPTIONS)
def test_every_option_of_a_zone_is_read(options: str) -> None:
    assert one(f"CREATE ZONE z {options}") == CreateZone("z", 4, 2)


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("ALTER ZONE z RENAME TO y", RenameZone("z", "y")),
        ("ALTER ZONE IF EXISTS z RENAME TO y", RenameZone("z", "y", if_exists=True)),
        ("ALTER ZONE z SET DEFAULT", AlterZone("z", default=True)),
        ("ALTER ZONE z SET (AUTO SCALE UP 3)", AlterZone("z")),
        ("ALTER TABLE t SET STALE ROWS FRACTION 0.2", AlterTable("t", ())),
        ("ALTER TABLE t SET (MIN STALE ROWS 500, STALE ROWS FRACTION 0.2)", AlterTable("t", ())),
    ],
)
def test_zones_and_tables_are_altered(sql: str, statement: object) -> None:
    assert one(sql) == statement


@pytest.mark.parametrize("call", ["rand_uuid", "RAND_UUID()", "CURRENT_TIMESTAMP"])
def test_a_default_may_be_computed(call: str) -> None:
    [spec] = one(f"CREATE TABLE t (id UUID DEFAULT {call} PRIMARY KEY)").columns
    assert (spec.computed, spec.default, spec.has_default) == (
        call.lower().rstrip("()"),
        None,
        True,
    )
