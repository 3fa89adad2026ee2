"""The catalog: the schemas in force at every timestamp, and the steps that led there."""

from ddlsim.model.schema import Table
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.units import Timestamp, timestamp
from tests.support.schemas import install, statement

CREATE = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"


def three_versions() -> Catalog:
    catalog = Catalog()
    install(catalog, CREATE, 100)
    install(catalog, "ALTER TABLE t ADD COLUMN w INT", 200)
    install(catalog, "ALTER TABLE t DROP COLUMN v", 300)
    return catalog


def version_at(catalog: Catalog, ts: Timestamp) -> int:
    return catalog.at(ts).version


def test_before_the_first_version_there_is_nothing() -> None:
    catalog = three_versions()
    before = catalog.at(Timestamp(timestamp(100) - 1))
    assert before.version == 0
    assert before.by_name("t") is None
    assert before.tables() == ()


def test_an_interval_is_closed_on_the_left_and_open_on_the_right() -> None:
    catalog = three_versions()
    for version, start in ((1, 100), (2, 200), (3, 300)):
        assert version_at(catalog, timestamp(start)) == version
        assert version_at(catalog, Timestamp(timestamp(start) - 1)) == version - 1
        assert version_at(catalog, timestamp(start, 1)) == version


def seen(catalog: Catalog) -> list[object]:
    """What is there at each instant, by which steps, and every definition."""
    each: list[object] = [
        (found.version, found.objects())
        for found in map(catalog.at, map(timestamp, range(50, 500)))
    ]
    steps = [catalog.steps(1, after, timestamp(500)) for after in range(4)]
    return [*each, *steps, *(catalog.definition(1, version) for version in range(5))]


def test_a_copy_goes_on_apart() -> None:
    catalog = three_versions()
    before = seen(catalog)
    copies = [catalog.copied() for _ in range(2)]
    for copy, name in zip(copies, "xy", strict=True):
        assert seen(copy) == before
        install(copy, f"ALTER TABLE t ADD COLUMN {name} INT", 400)
    assert seen(catalog) == before
    for copy, name in zip(copies, "xy", strict=True):
        whole = three_versions()
        install(whole, f"ALTER TABLE t ADD COLUMN {name} INT", 400)
        assert seen(copy) == seen(whole) != before


def test_the_interval_that_was_hit_last_never_outlives_an_update() -> None:
    catalog = Catalog()
    install(catalog, CREATE, 100)
    assert version_at(catalog, timestamp(250)) == 1
    install(catalog, "ALTER TABLE t ADD COLUMN w INT", 200)
    assert version_at(catalog, timestamp(250)) == 2
    assert version_at(catalog, timestamp(150)) == 1


def test_of_two_versions_with_one_activation_the_later_holds() -> None:
    catalog = Catalog()
    install(catalog, CREATE, 100)
    install(catalog, "ALTER TABLE t ADD COLUMN w INT", 100)
    assert version_at(catalog, timestamp(100)) == 2
    assert version_at(catalog, Timestamp(timestamp(100) - 1)) == 0


def test_a_later_version_may_activate_before_an_earlier_one() -> None:
    catalog = Catalog()
    install(catalog, CREATE, 100)
    install(catalog, "ALTER TABLE t ADD COLUMN w INT", 300)
    install(catalog, "ALTER TABLE t ADD COLUMN x INT", 200)
    assert [version_at(catalog, timestamp(at)) for at in (100, 200, 299, 300)] == [1, 3, 3, 2]
    assert catalog.latest().version == 3
    table = catalog.at(timestamp(250)).by_name("t")
    assert isinstance(table, Table)
    assert [column.name for column in table.columns] == ["id", "v", "w", "x"]


def test_the_latest_snapshot_holds_what_is_not_in_force_yet() -> None:
    catalog = three_versions()
    assert catalog.latest().version == catalog.version == 3
    assert catalog.latest().activation_ts == timestamp(300)
    assert version_at(catalog, timestamp(150)) == 1


def test_updates_that_come_in_a_wrong_order_end_in_the_right_state() -> None:
    right = three_versions()
    wrong = Catalog()
    for version in (1, 3, 2):
        snapshot = right.at(timestamp(version * 100))
        change = right.steps(1, version - 1, timestamp(version * 100))[0]
        wrong.apply(version, snapshot.message_ts, snapshot.activation_ts, (change,))
    assert wrong.version == 3
    for at in (99, 100, 200, 300):
        assert wrong.at(timestamp(at)).objects() == right.at(timestamp(at)).objects()
    assert wrong.steps(1, 0, timestamp(300)) == right.steps(1, 0, timestamp(300))


def test_a_version_that_comes_twice_changes_nothing() -> None:
    """That it comes is for a judge to see."""
    right, catalog = three_versions(), three_versions()
    change = right.steps(1, 1, timestamp(200))[0]
    catalog.apply(2, timestamp(200), timestamp(200), (change,))
    assert catalog.version == 3
    for at in (99, 100, 200, 300):
        assert catalog.at(timestamp(at)).objects() == right.at(timestamp(at)).objects()
    assert catalog.steps(1, 0, timestamp(300)) == right.steps(1, 0, timestamp(300))


def test_steps_are_those_past_a_version_that_are_in_force() -> None:
    catalog = three_versions()

    def versions(after: int, at: int) -> list[int]:
        return [step.version for step in catalog.steps(1, after, timestamp(at))]

    assert versions(1, 299) == [2]
    assert versions(1, 300) == [2, 3]
    assert versions(0, 300) == [1, 2, 3]
    assert versions(2, 200) == []
    assert versions(3, 100) == []


def test_a_drop_is_a_step_too() -> None:
    catalog = three_versions()
    install(catalog, "DROP TABLE t", 400)
    (step,) = catalog.steps(1, 3, timestamp(400))
    assert step.definition is None
    assert catalog.steps(1, 3, timestamp(399)) == ()


def test_steps_of_other_objects_do_not_count() -> None:
    catalog = three_versions()
    install(catalog, "CREATE TABLE u (id INT PRIMARY KEY)", 400)
    assert catalog.steps(1, 3, timestamp(400)) == ()
    assert catalog.steps(99, 0, timestamp(400)) == ()


def test_every_version_of_an_object_stays_known() -> None:
    catalog = three_versions()
    install(catalog, "DROP TABLE t", 400)
    widths = []
    for version in (1, 2, 3):
        table = catalog.definition(1, version)
        assert isinstance(table, Table)
        widths.append(len(table.columns))
    assert widths == [2, 3, 2]
    assert catalog.definition(1, 4) is None
    assert catalog.definition(1, 5) is None
    assert catalog.definition(2, 1) is None


def test_the_activation_of_a_version_is_known() -> None:
    catalog = three_versions()
    assert [catalog.activation_of(version) for version in (1, 2, 3)] == [
        timestamp(100),
        timestamp(200),
        timestamp(300),
    ]


def test_names_indexes_and_zones_are_found() -> None:
    catalog = three_versions()
    install(catalog, "CREATE INDEX i ON t (id)", 400)
    install(catalog, "CREATE VIEW w AS SELECT id FROM t", 500)
    install(catalog, "CREATE ZONE t", 600)
    snapshot = catalog.latest()
    table = snapshot.by_name("t")
    assert isinstance(table, Table)
    assert snapshot.index_owner("i") == table
    assert snapshot.index_owner("j") is None
    zone = snapshot.zone("t")
    assert zone is not None
    assert snapshot.by_id(zone.id) == zone
    assert snapshot.by_id(table.id) == table
    assert snapshot.tables() == (table,)
    assert [found.name for found in snapshot.objects()] == ["t", "w", "t"]


def test_looking_up_copies_nothing() -> None:
    catalog = three_versions()
    assert catalog.at(timestamp(250)) is catalog.at(timestamp(299))
    assert catalog.at(timestamp(300)) is catalog.latest()


def test_ids_are_never_given_out_again() -> None:
    catalog = Catalog()
    install(catalog, CREATE, 100)
    install(catalog, "ALTER TABLE t ADD CONSTRAINT c CHECK (v > 0), DROP CONSTRAINT c", 200)
    install(catalog, "CREATE INDEX i ON t (v)", 300)
    install(catalog, "DROP INDEX i", 400)
    install(catalog, "DROP TABLE t", 500)
    install(catalog, CREATE, 600)
    table = catalog.latest().by_name("t")
    assert table is not None
    assert table.id == 4
    assert statement(CREATE) == statement(CREATE.lower())
