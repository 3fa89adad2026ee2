"""IEP-110's schema rules, sentence by sentence, each in the smallest world that shows it.

These are the clauses between validation and the quirk: schema compatibility and the basic schema
changes, where a schema and a statement are world enough. `test_iep110` comes before them,
`test_iep110_validation` around them; the two definitions of IEP-98 on which they rest are here as
the catalog keeps them, and in `test_iep98` as a cluster does.
"""

import pytest

from ddlsim.model.ddl import ColumnAdded, ObjectChange
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Column, ColumnType, Table, Value
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.compatibility import (
    IEP,
    first_incompatible,
    forward_compatible,
    is_forward_compatible,
    judge,
    judge_step,
)
from ddlsim.protocol.schema.rows import by_name, decode, upgrade
from ddlsim.units import Timestamp, timestamp
from tests.support.linting import lint
from tests.support.schemas import change_of, install, refusal_of, table_of

T = """CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5, s VARCHAR(5) NOT NULL,
CONSTRAINT positive CHECK (v > 0));"""


def compatible(asked: str, schema: str = T) -> bool:
    """Whether a statement is forward-compatible for a transaction on its object."""
    return is_forward_compatible(change_of(schema, asked))


def altered(action: str, column: str = "v INT") -> bool:
    """Whether an ALTER COLUMN v is, of a column as given."""
    schema = f"CREATE TABLE t (id INT PRIMARY KEY, {column});"
    return compatible(f"ALTER TABLE t ALTER COLUMN v {action}", schema)


def retyped(before: str, after: str) -> bool:
    return altered(f"SET DATA TYPE {after}", f"v {before}")


def path(*statements: str, schema: str = T) -> tuple[ObjectChange, ...]:
    """The steps of table t from its schema to the one after some statements."""
    catalog = Catalog()
    for number, asked in enumerate((*schema.strip(";").split(";"), *statements), start=1):
        install(catalog, asked, number)
    first = len(schema.strip(";").split(";"))
    table = catalog.at(timestamp(first)).by_name("t")
    assert table is not None
    return catalog.steps(table.id, table.version, timestamp(first + len(statements)))


def reads(*statements: str, row: tuple[Value, ...] = (1, 2, "x")) -> dict[str, Value]:
    """What a reader under the new schema sees of a row written under T."""
    source, target = table_of(T), table_of(T + ";".join(statements))
    return by_name(upgrade(decode(source, row), source, target), target)


# --- schema compatibility in general -------------------------------------------------------------


def test_a_version_is_effective_from_its_activation_on() -> None:
    """Effective on [Tu, Tu'): a commit at Tu exactly uses the new schema [98.def.1]."""
    catalog = Catalog()
    install(catalog, "CREATE TABLE t (id INT PRIMARY KEY)", 10)
    install(catalog, "ALTER TABLE t ADD COLUMN a INT", 20)
    assert catalog.steps(1, 1, Timestamp(timestamp(20) - 1)) == ()
    assert len(catalog.steps(1, 1, timestamp(20))) == 1


def test_an_update_is_visible_once_it_is_applied() -> None:
    """Visible is what the node's state machine has applied, whenever it takes effect [98.def.2]."""
    catalog = Catalog()
    assert catalog.at(timestamp(10)).by_name("t") is None
    install(catalog, "CREATE TABLE t (id INT PRIMARY KEY)", 10)
    assert catalog.at(timestamp(10)).by_name("t") is not None


def test_changes_of_other_objects_do_not_matter() -> None:
    """A transaction that only touches A survives any change of B and its indexes
    [110.compat.scope]."""
    schema = "CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY, v INT);"
    harm = "ALTER TABLE b DROP COLUMN v; CREATE UNIQUE INDEX i ON b (id); DROP TABLE b"
    tables = lint(schema, harm)["tables"]
    assert (tables["a"]["forward_compatible"], tables["a"]["backward_compatible"]) == (True, True)
    assert (tables["b"]["forward_compatible"], tables["b"]["because"]) == (False, 0)
    two = T + "CREATE TABLE b (id INT PRIMARY KEY);"
    steps = path("DROP TABLE b", "ALTER TABLE t ADD COLUMN a INT", schema=two)
    assert [step.object_id for step in steps] == [1]
    assert forward_compatible(steps)


def test_an_index_a_column_and_a_constraint_belong_to_their_table() -> None:
    """Their changes are steps of the table [110.compat.scope]."""
    steps = path(
        "CREATE UNIQUE INDEX i ON t (s)",
        "ALTER TABLE t DROP CONSTRAINT positive",
        "ALTER TABLE t DROP COLUMN v",
    )
    assert [step.object_id for step in steps] == [1, 1, 1]
    assert [step.version for step in steps] == [2, 3, 4]


def test_several_steps_are_validated_in_sequence() -> None:
    """The default changes and changes back: C equals I, and yet no step is compatible
    [110.compat.steps]."""
    there, back = "SET DEFAULT 6", "SET DEFAULT 5"
    steps = path(f"ALTER TABLE t ALTER COLUMN v {there}", f"ALTER TABLE t ALTER COLUMN v {back}")
    initial, final = table_of(T), steps[-1].definition
    assert isinstance(final, Table)
    assert final.columns == initial.columns
    assert not forward_compatible(steps)
    assert forward_compatible(path("ALTER TABLE t ADD COLUMN a INT", "ALTER TABLE t ADD b INT"))
    harm, no_harm = "ALTER TABLE t DROP COLUMN v", "ALTER TABLE t ADD COLUMN a INT"
    assert not forward_compatible(path(harm, no_harm))
    assert not forward_compatible(path(no_harm, harm))


def test_a_compound_change_is_the_sequence_of_its_simple_changes() -> None:
    """DROP COLUMN c1, ADD COLUMN c2 is 'drop column c1, then add column c2'
    [110.compat.compound]."""
    change = change_of(T, "ALTER TABLE t DROP COLUMN v, ADD COLUMN c2 VARCHAR(20)")
    verdicts = judge_step(change)
    assert [verdict.clause for verdict in verdicts] == ["110.column.drop", "110.column.add"]
    assert not is_forward_compatible(change)
    assert compatible("ALTER TABLE t DROP CONSTRAINT positive, ADD COLUMN c2 VARCHAR(20)")


def test_columns_are_identified_by_their_ids() -> None:
    """A column that is dropped and added again under its name is another column
    [110.compat.id]."""
    assert not compatible("ALTER TABLE t DROP COLUMN v, ADD COLUMN v INT DEFAULT 5")
    again = "ALTER TABLE t DROP COLUMN v; ALTER TABLE t ADD COLUMN v INT"
    assert reads(again, row=(1, 2, "x")) == {"id": 1, "s": "x", "v": None}


def test_an_old_tuple_may_exist_under_the_new_schema() -> None:
    """What the new schema may forbid is incompatible [110.fwd.1]."""
    assert not compatible("ALTER TABLE t ADD CONSTRAINT c CHECK (v > 9)")
    assert not compatible("ALTER TABLE t ALTER COLUMN v SET NOT NULL")
    assert compatible("ALTER TABLE t ALTER COLUMN s DROP NOT NULL")


def test_an_upgraded_tuple_holds_no_less_information() -> None:
    """This makes DROP COLUMN incompatible [110.fwd.2]."""
    assert "v" not in reads("ALTER TABLE t DROP COLUMN v")
    assert not compatible("ALTER TABLE t DROP COLUMN v")
    assert reads("ALTER TABLE t ADD COLUMN a INT DEFAULT 9") == {"id": 1, "v": 2, "s": "x", "a": 9}


def test_no_reader_can_tell_that_a_tuple_is_old() -> None:
    """This rules out modifications of default values [110.fwd.3]."""
    change = "ALTER TABLE t ADD COLUMN a INT DEFAULT 9; ALTER TABLE t ALTER COLUMN a SET DEFAULT 8"
    assert reads(change)["a"] == 9
    assert table_of(T + change).columns[-1].default == 8
    assert not forward_compatible(path(*change.split(";")))


# --- tables --------------------------------------------------------------------------------------


def test_creation_of_a_table_is_compatible() -> None:
    """Creation of a table is forward-compatible [110.table.create]."""
    assert compatible("CREATE TABLE n (id INT PRIMARY KEY)")


def test_drop_of_a_table_is_not() -> None:
    """The table does not exist in the commit schema [110.table.drop]."""
    assert not compatible("DROP TABLE t")


def test_rename_of_a_table_is_not() -> None:
    """The table of the original name does not exist in the commit schema [110.table.rename]."""
    assert not compatible("ALTER TABLE t RENAME TO n")
    there_and_back = path("ALTER TABLE t RENAME TO n", "ALTER TABLE n RENAME TO t")
    assert not forward_compatible(there_and_back)


def test_a_dropped_table_is_missing_from_its_activation_on() -> None:
    """The schema at the operation's timestamp tells that it does not exist [110.table.exists]."""
    catalog = Catalog()
    install(catalog, "CREATE TABLE t (id INT PRIMARY KEY)", 10)
    install(catalog, "DROP TABLE t", 20)
    install(catalog, "CREATE TABLE t (id INT PRIMARY KEY)", 30)
    assert catalog.at(Timestamp(timestamp(20) - 1)).by_id(1) is not None
    assert catalog.at(timestamp(20)).by_id(1) is None
    assert catalog.at(timestamp(30)).by_id(1) is None
    assert catalog.at(timestamp(30)).by_name("t") is not None


# --- columns -------------------------------------------------------------------------------------


def test_addition_of_a_column_with_a_known_value_is_compatible() -> None:
    """Nullable, or with a default [110.column.add]."""
    assert compatible("ALTER TABLE t ADD COLUMN a INT")
    assert compatible("ALTER TABLE t ADD COLUMN a INT NOT NULL DEFAULT 1")
    assert compatible("ALTER TABLE t ADD COLUMN a INT DEFAULT 1")


def test_a_column_that_needs_a_value_and_has_none_is_not_allowed() -> None:
    """NOT NULL without a default: not allowed by SQL [110.column.add]."""
    assert refusal_of(T, "ALTER TABLE t ADD COLUMN a INT NOT NULL").reason is Reason.DDL_REFUSED
    column = Column(9, "a", ColumnType("INTEGER"), nullable=False)
    (verdict,) = judge(ColumnAdded(column))
    assert not verdict.compatible


def test_removal_of_a_column_is_incompatible() -> None:
    """An upgraded tuple has less information [110.column.drop]."""
    assert not compatible("ALTER TABLE t DROP COLUMN v")


def test_renaming_a_column_is_compatible() -> None:
    """Columns are ids, not names [110.column.rename]."""
    assert compatible("ALTER TABLE t RENAME COLUMN v TO u")
    assert reads("ALTER TABLE t RENAME COLUMN v TO u") == {"id": 1, "u": 2, "s": "x"}


def test_making_a_column_nullable_is_compatible() -> None:
    """NOT NULL to NULL always; the reverse is a reading of ours [110.column.nullable]."""
    assert altered("DROP NOT NULL", "v INT NOT NULL")
    assert not altered("SET NOT NULL")


@pytest.mark.parametrize(
    ("column", "action"),
    [
        ("v INT", "SET DEFAULT 1"),
        ("v INT DEFAULT 1", "SET DEFAULT 2"),
        ("v INT DEFAULT 1", "DROP DEFAULT"),
        ("v INT DEFAULT 1", "SET DEFAULT NULL"),
    ],
)
def test_any_manipulation_of_a_default_is_incompatible(column: str, action: str) -> None:
    """Adding, changing or dropping it [110.column.default]."""
    assert not altered(action, column)


EXACT = [
    ("TINYINT", "SMALLINT"),
    ("INT", "BIGINT"),
    ("REAL", "DOUBLE"),
    ("TIME(0)", "TIME(3)"),
    ("TIMESTAMP(3)", "TIMESTAMP(6)"),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
    ("DECIMAL(5, 2)", "DECIMAL(7, 2)"),
    ("VARCHAR(5)", "VARCHAR(6)"),
    ("VARBINARY(5)", "VARBINARY(6)"),
    ("INT", "VARCHAR(11)"),
    ("UUID", "VARCHAR(36)"),
]


@pytest.mark.parametrize(("before", "after"), EXACT)
def test_a_wider_type_is_compatible(before: str, after: str) -> None:
    """An exact conversion of one of seven kinds [110.column.type]."""
    assert retyped(before, after)


NOT_EXACT = [
    *((after, before) for before, after in EXACT if not after.startswith("VARCHAR(")),
    ("VARCHAR(6)", "VARCHAR(5)"),
    ("INT", "VARCHAR(10)"),
    ("UUID", "VARCHAR(35)"),
    ("DECIMAL(5, 2)", "DECIMAL(7, 3)"),
    ("INT", "DOUBLE"),
    ("INT", "DECIMAL(20)"),
    ("DATE", "TIMESTAMP"),
]


@pytest.mark.parametrize(("before", "after"), NOT_EXACT)
def test_every_other_change_of_type_is_incompatible(before: str, after: str) -> None:
    """Only exact widening is listed [110.column.type]."""
    assert not retyped(before, after)


# --- constraints, mixed changes, views, zones ----------------------------------------------------


def test_dropping_any_constraint_is_compatible() -> None:
    """Dropping any constraint is forward-compatible [110.constraint.drop]."""
    for kind in ("CHECK (id > 0)", "UNIQUE (id)", "FOREIGN KEY (id) REFERENCES u (id)"):
        schema = "CREATE TABLE u (id INT PRIMARY KEY);"
        schema += f"CREATE TABLE t (id INT PRIMARY KEY, CONSTRAINT c {kind});"
        assert compatible("ALTER TABLE t DROP CONSTRAINT c", schema)


def test_adding_a_constraint_is_not() -> None:
    """Left to another document; a reading of ours [110.ours.constraint.add]."""
    assert not compatible("ALTER TABLE t ADD CONSTRAINT c UNIQUE (v)")


def test_type_nullability_and_default_at_once_trigger_all_their_rules() -> None:
    """INT NOT NULL -> LONG DEFAULT 42 triggers a few rules, in order [110.mixed]."""
    schema = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL);"
    change = change_of(schema, "ALTER TABLE t ALTER COLUMN v SET DATA TYPE BIGINT NULL DEFAULT 42")
    assert [(verdict.clause, verdict.compatible) for verdict in judge_step(change)] == [
        ("110.column.nullable", True),
        ("110.column.default", False),
        ("110.column.type", True),
    ]
    assert not is_forward_compatible(change)
    assert altered("SET DATA TYPE BIGINT NULL", "v INT NOT NULL")


def test_views_are_analogous_to_tables() -> None:
    """CREATE, DROP and RENAME are as for tables [110.view]."""
    schema = T + "CREATE VIEW w AS SELECT id FROM t;"
    assert compatible("CREATE VIEW n AS SELECT id FROM t", schema)
    assert not compatible("DROP VIEW w", schema)
    assert not compatible("ALTER VIEW w RENAME TO n", schema)


def test_zones_need_no_special_handling() -> None:
    """Creation, drop and alteration touch no tuple; the partition count is fixed [110.zone]."""
    schema = "CREATE ZONE z WITH PARTITIONS=4;"
    assert compatible("CREATE ZONE n", schema)
    assert compatible("ALTER ZONE z SET REPLICAS 3", schema)
    assert compatible("DROP ZONE z", schema)
    assert refusal_of(schema, "ALTER ZONE z SET PARTITIONS 5").reason is Reason.DDL_REFUSED
    in_use = schema + "CREATE TABLE t (id INT PRIMARY KEY) ZONE z"
    assert refusal_of(in_use, "DROP ZONE z").reason is Reason.DDL_REFUSED


def test_an_index_that_is_only_registered_is_compatible() -> None:
    """Out of the text's scope; a reading of ours [110.ours.index.create]."""
    assert compatible("CREATE INDEX i ON t (v)")


def test_a_unique_index_is_a_constraint() -> None:
    """It may forbid what the transaction wrote; a reading of ours [110.ours.index.unique]."""
    assert not compatible("CREATE UNIQUE INDEX i ON t (v)")


def test_dropping_an_index_is_compatible() -> None:
    """No tuple depends on it; a reading of ours [110.ours.index.drop]."""
    assert compatible("DROP INDEX i", T + "CREATE INDEX i ON t (v);")


def test_key_columns_stay_as_they_are() -> None:
    """Dropping or retyping one is refused, not judged [110.column.drop] [110.column.type]."""
    for action in ("DROP COLUMN id", "ALTER COLUMN id SET DATA TYPE BIGINT"):
        assert refusal_of(T, f"ALTER TABLE t {action}").reason is Reason.DDL_REFUSED


def test_a_change_that_no_rule_judges_is_a_programming_error() -> None:
    """It is never taken for compatible: with one rule fewer, its changes are errors."""
    fewer = IEP._replace(rules=tuple(rule for rule in IEP.rules if "column" not in rule.__name__))
    with pytest.raises(AssertionError, match="no rule judges"):
        first_incompatible(path("ALTER TABLE t DROP COLUMN v"), fewer)
