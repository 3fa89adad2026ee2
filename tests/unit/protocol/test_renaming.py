"""What a rename leaves of the old name: nothing, an alias that is reserved, or one that is not."""

import pytest

from ddlsim.model.aliased import ObjectAliased
from ddlsim.model.ddl import ObjectChange, ObjectCreated, ObjectDropped, ObjectRenamed
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Alias
from ddlsim.protocol.schema.catalog import Catalog, Snapshot
from ddlsim.protocol.schema.compatibility import forward_compatible
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.protocol.schema.ddl_answers import dropped
from ddlsim.protocol.schema.renaming import Answer, alias, alias_unreserved, incompatible
from ddlsim.units import timestamp
from tests.support.schemas import snapshot_of, statement

T = "CREATE TABLE t (id INT PRIMARY KEY, v INT);"
TV = T + "CREATE VIEW w AS SELECT id FROM t;"
TO_S = "ALTER TABLE t RENAME TO s"


def asked(snapshot: Snapshot, text: str) -> Answer:
    return alias(statement(text), snapshot, 60)


def grown(snapshot: Snapshot, *texts: str) -> Snapshot:
    """What the schema is after some statements, all of which keep old names."""
    for text in texts:
        built = asked(snapshot, text)
        assert isinstance(built, Built), built
        snapshot = after(snapshot, built.objects)
    return snapshot


def after(snapshot: Snapshot, objects: tuple[ObjectChange, ...]) -> Snapshot:
    return snapshot.after(snapshot.version + 1, timestamp(0), timestamp(0), objects)


def ended(snapshot: Snapshot, name: str) -> Snapshot:
    found = snapshot.by_name(name)
    assert isinstance(found, Alias), found
    return after(snapshot, (dropped(found),))


RENAMED = grown(snapshot_of(TV), TO_S)


def test_a_rename_is_a_new_name_and_an_alias() -> None:
    built = asked(snapshot_of(TV), TO_S)
    assert isinstance(built, Built)
    table, kept = built.objects
    assert (table.object_id, table.kind, table.name, table.version) == (1, "table", "s", 2)
    assert table.changes == (ObjectAliased("t", "s", 3),)
    assert (kept.object_id, kept.kind, kept.name, kept.version) == (3, "alias", "t", 1)
    assert kept.changes == (ObjectCreated(),)
    assert kept.definition == Alias(3, "t", 1, "", (1,), 60)
    assert after(snapshot_of(TV), built.objects).next_object_id == 4


def test_without_an_alias_it_is_a_rename_and_nothing_else() -> None:
    snapshot = snapshot_of(TV)
    for text in (TO_S, "DROP TABLE t", "CREATE TABLE s (id INT PRIMARY KEY)", "DROP VIEW x"):
        plain = build(statement(text), snapshot, snapshot.next_object_id)
        assert incompatible(statement(text), snapshot, 60) == plain
    built = incompatible(statement(TO_S), snapshot, 60)
    assert isinstance(built, Built)
    assert [change.changes for change in built.objects] == [(ObjectRenamed("t", "s"),)]


def test_both_names_mean_the_table() -> None:
    assert RENAMED.meant("t") == RENAMED.by_name("s") == RENAMED.by_id(1)
    assert isinstance(RENAMED.by_name("t"), Alias)
    later = ended(RENAMED, "t")
    assert later.by_name("t") is None
    assert later.meant("s") == RENAMED.by_id(1)


def test_a_view_leaves_an_alias_too() -> None:
    snapshot = grown(snapshot_of(TV), "ALTER VIEW w RENAME TO x")
    assert snapshot.meant("w") == snapshot.by_name("x")
    assert asked(snapshot, "DROP TABLE w") == Refused(
        Reason.DDL_REFUSED, "'w' is a view, not a table"
    )


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)",
        "CREATE VIEW t AS SELECT id FROM s",
        "ALTER VIEW w RENAME TO t",
        "ALTER TABLE s RENAME TO t",
        "ALTER TABLE t RENAME TO t",
    ],
)
def test_old_name_is_reserved_until_the_alias_ends(text: str) -> None:
    """Also with IF NOT EXISTS: soon there would be nothing of that name."""
    message = "'t' is reserved: it is the old name of table 's', until that name ends"
    assert asked(RENAMED, text) == Refused(Reason.OBJECT_EXISTS, message)
    if " t RENAME" not in text:
        assert isinstance(asked(ended(RENAMED, "t"), text), Built)


def test_statements_take_the_old_name_for_the_table() -> None:
    for text in ("ADD COLUMN w INT", "RENAME TO r", "DROP COLUMN v"):
        by_old, by_new = (asked(RENAMED, f"ALTER TABLE {name} {text}") for name in "ts")
        assert by_old == by_new
        assert isinstance(by_old, Built)
    built = asked(RENAMED, "CREATE VIEW x AS SELECT id FROM t")
    assert isinstance(built, Built)
    assert getattr(built.objects[0].definition, "tables", ()) == (1,)


def test_names_can_follow_each_other() -> None:
    snapshot = grown(RENAMED, "ALTER TABLE s RENAME TO r")
    assert {snapshot.meant(name) for name in "tsr"} == {snapshot.by_id(1)}
    assert ended(snapshot, "t").meant("s") == snapshot.by_id(1)


def test_what_is_dropped_takes_its_old_names_along() -> None:
    snapshot = grown(snapshot_of(T), TO_S, "ALTER TABLE s RENAME TO r")
    built = asked(snapshot, "DROP TABLE r")
    assert isinstance(built, Built)
    assert [(one.object_id, one.kind, one.changes) for one in built.objects] == [
        (1, "table", (ObjectDropped(),)),
        (2, "alias", (ObjectDropped(),)),
        (3, "alias", (ObjectDropped(),)),
    ]
    assert after(snapshot, built.objects).objects() == ()


def test_a_name_that_is_not_reserved_may_be_taken_at_once() -> None:
    """And is then that of the table; the alias is found by its id."""
    taken = alias_unreserved(statement("CREATE TABLE t (id INT PRIMARY KEY)"), RENAMED, 60)
    assert isinstance(taken, Built)
    (created,) = taken.objects
    assert created.object_id == 4
    snapshot = after(RENAMED, taken.objects)
    assert snapshot.by_name("t") == created.definition
    assert snapshot.by_id(3) == RENAMED.by_id(3)


def test_a_table_that_was_there_before_takes_the_name_from_the_alias() -> None:
    snapshot = grown(snapshot_of(T + "CREATE TABLE u (id INT PRIMARY KEY)"), TO_S)
    built = alias_unreserved(statement("ALTER TABLE u RENAME TO t"), snapshot, 60)
    assert isinstance(built, Built)
    assert after(snapshot, built.objects).by_name("t") == built.objects[0].definition


def test_not_reserving_changes_nothing_else() -> None:
    snapshot = snapshot_of(TV)
    for text in (TO_S, "DROP TABLE t", "DROP TABLE IF EXISTS x", "ALTER TABLE t ADD COLUMN w INT"):
        assert alias_unreserved(statement(text), snapshot, 60) == asked(snapshot, text)
    by_old = alias_unreserved(statement("ALTER TABLE t ADD COLUMN w INT"), RENAMED, 60)
    assert by_old == asked(RENAMED, "ALTER TABLE s ADD COLUMN w INT")
    for text in ("DROP TABLE IF EXISTS t", "ALTER TABLE IF EXISTS t ADD COLUMN w INT"):
        assert alias_unreserved(statement(text), RENAMED, 60) == asked(RENAMED, text)
    assert isinstance(alias_unreserved(statement("DROP VIEW IF EXISTS y"), RENAMED, 60), NoOp)
    created = "CREATE TABLE IF NOT EXISTS s (id INT PRIMARY KEY)"
    assert isinstance(alias_unreserved(statement(created), RENAMED, 60), NoOp)


# --- what the end of a name is to whom ------------------------------------------------------------


def story() -> Catalog:
    """t from 0, s from 100 and still t until 160, r from 130 and still s until 190."""
    catalog = Catalog()

    def install(objects: tuple[ObjectChange, ...], at_ms: int) -> None:
        catalog.apply(catalog.version + 1, timestamp(at_ms), timestamp(at_ms), objects)

    for at_ms, text in ((0, T), (100, TO_S), (130, "ALTER TABLE s RENAME TO r")):
        built = asked(catalog.latest(), text.rstrip(";"))
        assert isinstance(built, Built), built
        install(built.objects, at_ms)
    for at_ms, name in ((160, "t"), (190, "s")):
        found = catalog.latest().by_name(name)
        assert found is not None
        install((dropped(found),), at_ms)
    return catalog


def survives(object_id: int, version: int, at_ms: int) -> bool:
    return forward_compatible(story().steps(object_id, version, timestamp(at_ms)))


def test_old_user_of_table_may_commit_until_alias_ends() -> None:
    assert [survives(1, 1, at_ms) for at_ms in (100, 130, 159, 160, 500)] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_user_of_new_name_ignores_end_of_old_name() -> None:
    assert [survives(1, 2, at_ms) for at_ms in (130, 160, 189, 190)] == [True, True, True, False]
    assert survives(1, 3, 500)


def test_steps_of_an_alias_include_its_end() -> None:
    assert [survives(2, 1, at_ms) for at_ms in (159, 160)] == [True, False]
    assert [survives(3, 1, at_ms) for at_ms in (160, 189, 190)] == [True, True, False]
