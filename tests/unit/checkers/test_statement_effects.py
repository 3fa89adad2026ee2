"""Updates against their statements: each kind of statement as it should be, and with a fault."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.history.events import DdlDecided, Invoked, UpdateLogged
from ddlsim.model.ddl import ConstraintAdded, IndexCreated, ObjectChange
from ddlsim.model.schema import Column, ColumnType, Comparison, Table
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.sql import parse
from tests.support.history import Story, ts
from tests.support.judging import anomalies

FIRST = (
    "CREATE ZONE z WITH PARTITIONS=2, REPLICAS=3",
    "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5, w VARCHAR(20))",
    "CREATE TABLE u (a INT, b INT)",
    "CREATE VIEW view1 AS SELECT * FROM u",
    "CREATE INDEX i ON t (v)",
    "ALTER TABLE t ADD CONSTRAINT c CHECK (w <> 'x')",
)
STATEMENTS = (
    "CREATE TABLE IF NOT EXISTS x (id INT PRIMARY KEY, s VARCHAR DEFAULT 'a') ZONE z",
    "DROP TABLE t",
    "ALTER TABLE t RENAME TO t2",
    "ALTER TABLE t ADD COLUMN n BIGINT DEFAULT 7",
    "ALTER TABLE t DROP COLUMN w",
    "ALTER TABLE t RENAME COLUMN v TO v2",
    "ALTER TABLE t ALTER COLUMN v SET DATA TYPE BIGINT",
    "ALTER TABLE t ALTER COLUMN v SET DEFAULT 6",
    "ALTER TABLE t ADD COLUMN n DECIMAL(7, 2) DEFAULT 2, ALTER COLUMN n SET DATA TYPE VARCHAR",
    "ALTER TABLE t ADD COLUMN n DOUBLE DEFAULT 2, ALTER COLUMN n SET DATA TYPE VARCHAR",
    "ALTER TABLE t ADD COLUMN n REAL DEFAULT 2.5, ALTER COLUMN n SET DATA TYPE VARCHAR",
    "ALTER TABLE t DROP CONSTRAINT c",
    "ALTER TABLE t ADD CONSTRAINT d CHECK (v > 1 OR w = 'k')",
    "ALTER TABLE t ADD COLUMN y VARBINARY(8), ADD CONSTRAINT d CHECK (y > 'k' OR v > 1)",
    "CREATE TABLE x (id INT PRIMARY KEY, y DATE, CHECK (y <> '2000-01-01'), UNIQUE (y))",
    "CREATE UNIQUE INDEX j ON u (b, a)",
    "DROP INDEX i",
    "DROP VIEW view1",
    "ALTER ZONE z SET REPLICAS=1",
    "ALTER ZONE z RENAME TO z2",
    "ALTER ZONE z SET DEFAULT",
    "DROP ZONE z",
)
WITH_BYTES = "ALTER TABLE t ADD COLUMN y VARBINARY(8), ADD CONSTRAINT d"
Fault = Callable[[ObjectChange], ObjectChange]


def found(statement: str, fault: Fault = lambda change: change) -> list[str]:
    """What is found where the last statement's update has a fault."""
    story, catalog = Story(), Catalog()
    for number, sql in enumerate((*FIRST, statement), start=1):
        (parsed,) = parse(sql)
        snapshot = catalog.latest()
        given: Any = parsed.statement
        built = build(given, snapshot, snapshot.next_object_id)
        assert isinstance(built, Built), built
        objects = built.objects
        if sql == statement:
            objects = tuple(fault(one) for one in objects)
        op, stamps = f"d{number}", (ts(number), ts(number))
        catalog.apply(number, *stamps, built.objects)
        story.add(number, Invoked, "c1", op, None, "n1", "ddl", sql=sql)
        story.add(number, UpdateLogged, "n1", op, number, number, *stamps, 0, objects, number - 1)
        story.add(number, DdlDecided, "n1", op, "installed", number, *stamps, parsed.statement)
    return [one.summary for one in anomalies("machinery", story) if one.kind == "not-as-stated"]


def with_table(**fields: Any) -> Fault:
    """The fault of a table that is defined with other fields."""

    def fault(change: ObjectChange) -> ObjectChange:
        assert isinstance(change.definition, Table)
        return replace(change, definition=replace(change.definition, **fields))

    return fault


@pytest.mark.parametrize("statement", STATEMENTS)
def test_an_update_is_what_its_statement_says(statement: str) -> None:
    assert found(statement) == []


@pytest.mark.parametrize("statement", STATEMENTS)
def test_an_update_of_another_object_or_version_is_not(statement: str) -> None:
    assert found(statement, lambda change: replace(change, object_id=77, version=1))
    assert found(statement, lambda change: replace(change, version=change.version + 1))


@pytest.mark.parametrize("statement", [s for s in STATEMENTS if "DROP" not in s[:5]])
def test_an_object_that_is_gone_instead_is_not(statement: str) -> None:
    assert found(statement, lambda change: replace(change, definition=None))


LEFT = (Column(1, "id", ColumnType("INTEGER"), nullable=False),)


@pytest.mark.parametrize(
    ("statement", "fields"),
    [
        ("CREATE TABLE x (id INT PRIMARY KEY)", {"name": "y"}),
        ("CREATE TABLE x (id INT PRIMARY KEY)", {"zone": "z"}),
        ("CREATE TABLE x (id INT PRIMARY KEY)", {"key": ()}),
        ("CREATE TABLE x (id INT PRIMARY KEY, a INT)", {"columns": LEFT}),
        ("ALTER TABLE t DROP COLUMN w", {"columns": LEFT}),
        ("ALTER TABLE t DROP CONSTRAINT c", {"indexes": ()}),
        ("DROP INDEX i", {"constraints": ()}),
        ("ALTER TABLE t ADD COLUMN n INT", {"columns": LEFT}),
    ],
)
def test_what_a_statement_does_not_mention_stays(statement: str, fields: dict[str, Any]) -> None:
    assert found(statement, with_table(**fields))


def of_last_constraint(**fields: Any) -> Fault:
    def fault(change: ObjectChange) -> ObjectChange:
        assert isinstance(change.definition, Table)
        *others, last = change.definition.constraints
        constraints = (*others, replace(last, **fields))
        return replace(change, definition=replace(change.definition, constraints=constraints))

    return fault


@pytest.mark.parametrize(
    ("statement", "fields"),
    [
        ("ALTER TABLE t ADD CONSTRAINT d CHECK (v > 1)", {"columns": ()}),
        ("ALTER TABLE t ADD CONSTRAINT d CHECK (v > 1)", {"condition": None}),
        ("ALTER TABLE t ADD CONSTRAINT d CHECK (v > 1)", {"condition": Comparison(0, ">=", 1)}),
        (f"{WITH_BYTES} CHECK (y > 'k')", {"columns": (4,)}),
        (f"{WITH_BYTES} CHECK (y > 'k')", {"condition": Comparison(0, ">", "k")}),
        (f"{WITH_BYTES} UNIQUE (y)", {"columns": ()}),
    ],
)
def test_a_check_is_enforced_or_kept_as_text(statement: str, fields: dict[str, Any]) -> None:
    """[110.ours.check] Binary strings are compared with nothing."""
    assert found(statement) == []
    assert found(statement, of_last_constraint(**fields))


def column(change: ObjectChange, called: str, **fields: Any) -> ObjectChange:
    """An update whose table has a column with other fields."""
    assert isinstance(change.definition, Table)
    columns = tuple(
        replace(one, **fields) if one.name == called else one for one in change.definition.columns
    )
    return replace(change, definition=replace(change.definition, columns=columns))


DOUBLE_TO_TEXT = "ALTER TABLE t ADD COLUMN n DOUBLE DEFAULT 2, ALTER COLUMN n SET"


@pytest.mark.parametrize(
    ("statement", "name", "fields"),
    [
        ("ALTER TABLE t ADD COLUMN n INT DEFAULT 7", "n", {"default": 8}),
        ("ALTER TABLE t ADD COLUMN n INT DEFAULT 7", "n", {"initial_default": None}),
        ("ALTER TABLE t ADD COLUMN n INT", "n", {"id": 2}),  # of a column that is there
        ("ALTER TABLE t ADD COLUMN n INT", "n", {"nullable": False}),
        ("ALTER TABLE t ALTER COLUMN v SET DEFAULT 6", "v", {"initial_default": 6}),
        ("ALTER TABLE t ALTER COLUMN v SET DEFAULT 6", "v", {"default": 5}),
        ("ALTER TABLE t ALTER COLUMN v SET DATA TYPE BIGINT", "v", {"default": None}),
        (f"{DOUBLE_TO_TEXT} DATA TYPE VARCHAR", "n", {"default": "2"}),
        (f"{DOUBLE_TO_TEXT} DATA TYPE VARCHAR", "n", {"initial_default": 2}),
        ("ALTER TABLE t RENAME COLUMN v TO v2", "v2", {"name": "v3"}),
        ("ALTER TABLE t RENAME COLUMN v TO v2", "v2", {"id": 9}),
    ],
)
def test_a_column_is_as_its_statement_says(
    statement: str, name: str, fields: dict[str, Any]
) -> None:
    assert found(statement) == []
    assert found(statement, lambda change: column(change, name, **fields))


def numbered(given: int) -> Fault:
    """The fault of a statement whose indexes and constraints all get one id."""

    def fault(change: ObjectChange) -> ObjectChange:
        assert isinstance(change.definition, Table)
        changes: list[Any] = []
        definition = change.definition
        for one in change.changes:
            if isinstance(one, IndexCreated):
                made: Any = replace(one.index, id=given)
                changes.append(IndexCreated(made))
                rest = tuple(each for each in definition.indexes if each != one.index)
                definition = replace(definition, indexes=(*rest, made))
            elif isinstance(one, ConstraintAdded):
                made = replace(one.constraint, id=given)
                changes.append(ConstraintAdded(made))
                left = tuple(each for each in definition.constraints if each != one.constraint)
                definition = replace(definition, constraints=(*left, made))
            else:
                changes.append(one)
        return replace(change, definition=definition, changes=tuple(changes))

    return fault


TWO = "ALTER TABLE t ADD CONSTRAINT d CHECK (v > 1), ADD CONSTRAINT e UNIQUE (v)"


@pytest.mark.parametrize(
    ("statement", "given", "seen"),
    [
        (TWO, 77, True),  # twice in one statement
        ("ALTER TABLE t ADD CONSTRAINT d CHECK (v > 1)", 77, False),
        ("ALTER TABLE t ADD CONSTRAINT d CHECK (v > 1)", 5, True),  # that of index i
        ("CREATE INDEX j ON t (w)", 77, False),
        ("CREATE INDEX j ON t (w)", 5, True),  # that of index i
        ("CREATE INDEX j ON t (w)", 6, True),  # that of constraint c
        ("CREATE INDEX j ON t (w)", 3, True),  # that of table u
    ],
)
def test_indexes_and_constraints_have_ids_of_their_own(
    statement: str, given: int, seen: bool
) -> None:
    """[110.compat.id] They are numbered with the objects of the catalog."""
    assert found(TWO) == []
    assert bool(found(statement, numbered(given))) == seen
