"""A statement by name becomes object changes by id, does nothing, or is refused with a reason."""

import pytest

from ddlsim.model.ddl import (
    IndexCreated,
    IndexDropped,
    ObjectCreated,
    ObjectDropped,
    ObjectRenamed,
    ZoneAltered,
)
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table, View, Zone
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import NoOp, Refused
from tests.support.schemas import (
    change_of,
    outcome_of,
    refusal_of,
    simple_change_of,
    snapshot_of,
    table_of,
)

T = "CREATE TABLE t (id INT PRIMARY KEY, v INT);"
V = T + "CREATE VIEW w AS SELECT id FROM t;"
Z = "CREATE ZONE z (PARTITIONS 5, REPLICAS 3);"
F = "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY"
NEW = "CREATE TABLE t (id INT PRIMARY KEY, a INT"


def test_a_table_is_created_at_version_one_with_its_columns_numbered() -> None:
    change = change_of(
        "",
        "CREATE TABLE t (a INT, b VARCHAR(5) NOT NULL DEFAULT 'x', id BIGINT, PRIMARY KEY (id, a))",
    )
    table = change.definition
    assert isinstance(table, Table)
    assert (change.object_id, change.kind, change.name, change.version) == (1, "table", "t", 1)
    assert change.changes == (ObjectCreated(),)
    assert [(column.id, column.name) for column in table.columns] == [(1, "a"), (2, "b"), (3, "id")]
    assert table.key == (3, 1)
    assert [column.nullable for column in table.columns] == [False, False, False]
    assert [column.default for column in table.columns] == [None, "x", None]
    assert table.columns[1].initial_default == "x"
    assert table.next_column_id == 4
    assert table.zone == "default"


def test_a_table_without_a_key_gets_a_hidden_one() -> None:
    table = table_of("CREATE TABLE t (v INT)")
    assert [column.name for column in table.columns] == ["__p_key", "v"]
    assert table.key == (1,)
    assert not table.columns[0].nullable


def test_constraints_of_a_new_table_take_ids_after_its_own() -> None:
    snapshot = snapshot_of(
        "CREATE TABLE t (id INT PRIMARY KEY, CHECK (id > 0), "
        "CONSTRAINT u UNIQUE (id)); CREATE TABLE s (id INT PRIMARY KEY)"
    )
    table = snapshot.by_name("t")
    assert isinstance(table, Table)
    assert [(one.id, one.name) for one in table.constraints] == [(2, "t_check_2"), (3, "u")]
    other = snapshot.by_name("s")
    assert other is not None
    assert other.id == 4


@pytest.mark.parametrize(
    ("schema", "asked", "reason", "message"),
    [
        (T, "CREATE TABLE t (id INT PRIMARY KEY)", "OBJECT_EXISTS", "table 't' exists already"),
        (V, "CREATE TABLE w (id INT PRIMARY KEY)", "OBJECT_EXISTS", "view 'w' exists already"),
        (T, "CREATE VIEW t AS SELECT id FROM t", "OBJECT_EXISTS", "table 't' exists already"),
        ("", "CREATE TABLE t (a INT, a INT)", "OBJECT_EXISTS", "column 'a' exists already"),
        ("", "CREATE TABLE t (a INT, PRIMARY KEY (b))", "OBJECT_NOT_FOUND", "no column 'b'"),
        ("", "CREATE TABLE t (a INT, PRIMARY KEY (a, a))", "OBJECT_EXISTS", "column 'a'"),
        ("", "CREATE TABLE t (a TINYINT DEFAULT 300)", "DDL_REFUSED", "'300' is not a value"),
        ("", "CREATE TABLE t (a INT) ZONE z", "OBJECT_NOT_FOUND", "no zone 'z'"),
        (
            "",
            "CREATE TABLE t (a INT, CONSTRAINT c UNIQUE (a), CONSTRAINT c CHECK (a > 0))",
            "OBJECT_EXISTS",
            "constraint 'c' exists already",
        ),
        ("", "DROP TABLE t", "OBJECT_NOT_FOUND", "there is no table 't'"),
        (V, "DROP TABLE w", "DDL_REFUSED", "'w' is a view, not a table"),
        (V, "DROP TABLE t", "DDL_REFUSED", "view 'w' reads table 't'"),
        (V, "DROP VIEW t", "DDL_REFUSED", "'t' is a table, not a view"),
        ("", "DROP VIEW w", "OBJECT_NOT_FOUND", "there is no view 'w'"),
        (V + "CREATE VIEW x AS SELECT id FROM w", "DROP VIEW w", "DDL_REFUSED", "view 'x' reads"),
        (V, "ALTER TABLE t RENAME TO w", "OBJECT_EXISTS", "view 'w' exists already"),
        (T, "ALTER TABLE t RENAME TO t", "OBJECT_EXISTS", "table 't' exists already"),
        (V, "ALTER VIEW w RENAME TO t", "OBJECT_EXISTS", "table 't' exists already"),
        (T, "CREATE VIEW w AS SELECT id FROM s", "OBJECT_NOT_FOUND", "there is no table 's'"),
        (T, "CREATE INDEX i ON s (v)", "OBJECT_NOT_FOUND", "there is no table 's'"),
        (T, "CREATE INDEX i ON t (z)", "OBJECT_NOT_FOUND", "no column 'z'"),
        (T, "CREATE INDEX i ON t (v, v)", "DDL_REFUSED", "stands there twice"),
        (
            T + "CREATE INDEX i ON t (v); CREATE TABLE s (id INT PRIMARY KEY)",
            "CREATE INDEX i ON s (id)",
            "OBJECT_EXISTS",
            "index 'i' exists already",
        ),
        (T, "DROP INDEX i", "OBJECT_NOT_FOUND", "there is no index 'i'"),
        (Z, "CREATE ZONE z", "OBJECT_EXISTS", "zone 'z' exists already"),
        ("", 'CREATE ZONE "default"', "OBJECT_EXISTS", "zone 'default' exists already"),
        ("", "ALTER ZONE z SET REPLICAS 2", "OBJECT_NOT_FOUND", "there is no zone 'z'"),
        (Z, "ALTER ZONE z SET PARTITIONS 6", "DDL_REFUSED", "partition count of zone 'z'"),
        ("", "DROP ZONE z", "OBJECT_NOT_FOUND", "there is no zone 'z'"),
        (
            Z + "CREATE TABLE t (id INT PRIMARY KEY) ZONE z",
            "DROP ZONE z",
            "DDL_REFUSED",
            "table 't' lies in zone 'z'",
        ),
        ("", f"{NEW}, CHECK (a + z > 0))", "OBJECT_NOT_FOUND", "'t' has no column 'z'"),
        ("", f"{NEW}, CHECK (u.a + 1 > 0))", "OBJECT_NOT_FOUND", "'t' has no column 'u.a'"),
        (T, "ALTER TABLE t ADD CHECK (v + z > 0)", "OBJECT_NOT_FOUND", "no column 'z'"),
        (T, f"{F} (z) REFERENCES t", "OBJECT_NOT_FOUND", "no column 'z'"),
        (T, f"{F} (v) REFERENCES s", "OBJECT_NOT_FOUND", "there is no table 's'"),
        (V, f"{F} (v) REFERENCES w", "DDL_REFUSED", "'w' is a view"),
        (T, f"{F} (v) REFERENCES t (z)", "OBJECT_NOT_FOUND", "no column 'z'"),
        (T, f"{F} (v, id) REFERENCES t (v, v)", "DDL_REFUSED", "stands there twice"),
        (T, f"{F} (v, v) REFERENCES t (v, id)", "DDL_REFUSED", "stands there twice"),
        (T, f"{F} (v, id) REFERENCES t (id)", "DDL_REFUSED", "of 2 columns refers to 1 of"),
        (T, f"{F} (v, id) REFERENCES t", "DDL_REFUSED", "of 2 columns refers to the primary key"),
        (f"{T} CREATE TABLE s (a INT)", f"{F} (v) REFERENCES s", "DDL_REFUSED", "no primary key"),
        ("", f"{NEW}, b INT REFERENCES s (id))", "OBJECT_NOT_FOUND", "there is no table 's'"),
        (T, "ALTER TABLE t ADD COLUMN b INT REFERENCES s", "OBJECT_NOT_FOUND", "no table 's'"),
    ],
)
def test_a_statement_is_refused_with_its_reason(
    schema: str, asked: str, reason: str, message: str
) -> None:
    refused = refusal_of(schema, asked)
    assert refused.reason is Reason[reason]
    assert message in refused.message


@pytest.mark.parametrize(
    "constraint",
    [
        "CHECK (t.a + a > 0)",
        "CHECK (a < CURRENT_DATE AND TIMESTAMPDIFF(SECOND, a, a) > 0 OR USER = 'me')",
        "CHECK (a IN (SELECT x FROM s))",
        "FOREIGN KEY (a) REFERENCES t",
        "FOREIGN KEY (a, id) REFERENCES t (id, a)",
        "b INT REFERENCES t (a)",
    ],
)
def test_a_constraint_that_is_not_enforced_may_name_what_is_there(constraint: str) -> None:
    """Units and functions without parentheses are no columns, nor are those of a query."""
    table = table_of(f"{NEW}, {constraint})")
    assert [(one.columns, one.condition) for one in table.constraints] == [((), None)]


@pytest.mark.parametrize(
    ("schema", "asked"),
    [
        (T, "CREATE TABLE IF NOT EXISTS t (x BIGINT)"),
        (V, "CREATE VIEW IF NOT EXISTS w AS SELECT v FROM t"),
        (V, "CREATE TABLE IF NOT EXISTS w (x BIGINT)"),
        (T + "CREATE INDEX i ON t (v)", "CREATE INDEX IF NOT EXISTS i ON t (id)"),
        (Z, "CREATE ZONE IF NOT EXISTS z"),
        ("", "DROP TABLE IF EXISTS t"),
        ("", "DROP INDEX IF EXISTS i"),
        ("", "DROP VIEW IF EXISTS w"),
        ("", "DROP ZONE IF EXISTS z"),
        ("", "ALTER TABLE IF EXISTS t ADD COLUMN a INT"),
        ("", "ALTER TABLE IF EXISTS t RENAME TO s"),
        ("", "ALTER VIEW IF EXISTS w RENAME TO x"),
        ("", "ALTER ZONE IF EXISTS z SET REPLICAS 2"),
        (Z, "ALTER ZONE z SET REPLICAS 3"),
        (Z, "ALTER ZONE z SET PARTITIONS 5"),
    ],
)
def test_some_statements_do_nothing(schema: str, asked: str) -> None:
    assert isinstance(outcome_of(schema, asked), NoOp)


def test_a_dropped_table_leaves_no_definition() -> None:
    change = change_of(T + "ALTER TABLE t ADD COLUMN a INT", "DROP TABLE t")
    assert (change.name, change.version, change.definition) == ("t", 3, None)
    assert change.changes == (ObjectDropped(),)


def test_a_renamed_table_keeps_its_id() -> None:
    change = change_of(T, "ALTER TABLE t RENAME TO s")
    assert isinstance(change.definition, Table)
    assert (change.object_id, change.name, change.version) == (1, "s", 2)
    assert change.definition.name == "s"
    assert change.changes == (ObjectRenamed("t", "s"),)


def test_after_a_rename_the_old_name_is_free_for_another_table() -> None:
    snapshot = snapshot_of(T + "ALTER TABLE t RENAME TO s; CREATE TABLE t (id INT PRIMARY KEY)")
    new, old = snapshot.by_name("t"), snapshot.by_name("s")
    assert new is not None
    assert old is not None
    assert (old.id, new.id) == (1, 2)


def test_an_index_belongs_to_its_table() -> None:
    created = simple_change_of(T, "CREATE UNIQUE INDEX i ON t (v, id)")
    assert isinstance(created, IndexCreated)
    index = created.index
    assert (index.id, index.name, index.columns, index.unique) == (2, "i", (2, 1), True)
    assert table_of(T + "CREATE UNIQUE INDEX i ON t (v, id)").indexes == (index,)
    dropped = change_of(T + "CREATE UNIQUE INDEX i ON t (v, id)", "DROP INDEX i")
    assert dropped.changes == (IndexDropped(index),)
    assert isinstance(dropped.definition, Table)
    assert dropped.definition.indexes == ()
    assert dropped.version == 3


def test_view_stores_table_ids() -> None:
    change = change_of(V, "CREATE VIEW x AS SELECT a.id FROM w AS a JOIN t ON a.id = t.id, t AS b")
    view = change.definition
    assert isinstance(view, View)
    assert change.kind == "view"
    assert view.tables == (2, 1)
    assert view.sql == "SELECT a.id FROM w AS a JOIN t ON a.id = t.id, t AS b"


def test_a_view_survives_the_rename_of_its_table() -> None:
    snapshot = snapshot_of(V + "ALTER TABLE t RENAME TO s; ALTER VIEW w RENAME TO x")
    view = snapshot.by_name("x")
    assert isinstance(view, View)
    assert view.version == 2
    assert snapshot.by_name("w") is None


def test_zones_have_counts_of_their_own_and_replicas_may_change() -> None:
    zone = change_of("", "CREATE ZONE z").definition
    assert isinstance(zone, Zone)
    assert (zone.partitions, zone.replicas) == (25, 1)
    change = change_of(Z, "ALTER ZONE z SET REPLICAS 2, PARTITIONS 5")
    assert change.kind == "zone"
    assert change.changes == (ZoneAltered(),)
    assert isinstance(change.definition, Zone)
    assert (change.definition.partitions, change.definition.replicas) == (5, 2)
    assert change_of(Z, "DROP ZONE z").definition is None


def test_a_table_lies_in_its_zone() -> None:
    assert table_of(Z + "CREATE TABLE t (id INT PRIMARY KEY) ZONE z").zone == "z"


def the(snapshot: Snapshot, name: str) -> Table:
    found = snapshot.by_name(name)
    assert isinstance(found, Table)
    return found


def refusal(text: str) -> Refused:
    """The last of these statements, refused on what the others made."""
    schema, _, last = text.rpartition(";")
    found = outcome_of(schema, last)
    assert isinstance(found, Refused)
    return found


def test_a_zone_that_is_renamed_keeps_its_tables() -> None:
    made = Z + "CREATE TABLE t (id INT PRIMARY KEY) ZONE z; ALTER ZONE z RENAME TO y;"
    snapshot = snapshot_of(made)
    zone = snapshot.zone_of(the(snapshot, "t"))
    assert zone is not None
    assert (zone.name, snapshot.zone("z")) == ("y", None)
    again = snapshot_of(made + "CREATE ZONE z; CREATE TABLE u (id INT PRIMARY KEY) ZONE z;")
    first, second = (again.zone_of(the(again, name)) for name in ("t", "u"))
    assert first is not None
    assert second is not None
    assert (first.name, second.name) == ("y", "z")
    assert refusal(made + "DROP ZONE y").reason.name == "DDL_REFUSED"


def test_a_table_that_names_no_zone_lies_in_the_default_one() -> None:
    made = Z + "ALTER ZONE z SET DEFAULT; CREATE TABLE t (id INT PRIMARY KEY);"
    assert the(snapshot_of(made), "t").zone == "z"
    back = made + 'ALTER ZONE "default" SET DEFAULT; CREATE TABLE u (id INT PRIMARY KEY);'
    assert the(snapshot_of(back), "u").zone == "default"
    assert "the default zone" in refusal(Z + "ALTER ZONE z SET DEFAULT; DROP ZONE z").message


def test_a_computed_default_is_for_keys_only() -> None:
    assert table_of("CREATE TABLE t (id UUID DEFAULT rand_uuid PRIMARY KEY)").key == (1,)
    plain = "CREATE TABLE t (id INT PRIMARY KEY, v UUID DEFAULT rand_uuid)"
    assert "computed default" in refusal(plain).message
    altered = "CREATE TABLE t (id INT PRIMARY KEY, v INT); ALTER TABLE t ALTER COLUMN v SET DEFAULT"
    assert "computed default" in refusal(f"{altered} rand_uuid").message
