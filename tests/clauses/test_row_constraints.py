"""Rows and constraints: unique indexes, CHECK and NOT NULL [110.ours.unique] [110.ours.check]."""

import pytest

from tests.clauses.story import SCHEMA, SPLIT, Story, answers, differs

UNIQUE = "CREATE TABLE t (id INT PRIMARY KEY, v INT UNIQUE)"
TWO = "[cluster]\nnodes = 3\nvoters = 1\npartitions = 2\n"
THREE_REPLICAS = "[cluster]\nnodes = 3\nvoters = 1\nreplicas = 3\n[network]\nlatency_ms = 5\n"


def test_a_value_is_taken_once_in_a_partition() -> None:
    """A single write in one phase is compared with the rows as well [110.ours.unique]."""
    story = Story("50 a@n1: w1 = put t 1 { v = 1 }\n60 b@n1: w2 = put t 2 { v = 1 }", schema=UNIQUE)
    assert story.tell()["w2"] == "UNIQUE_VIOLATED"
    assert differs(story, answers("w2"), "one_phase_checks_nothing")


def test_a_value_is_taken_once_in_all_partitions() -> None:
    """Of two rows in two partitions [110.ours.unique]."""
    lines = "50 a@n1: w1 = put t 1 { v = 1 }\n60 b@n1: w2 = put t 2 { v = 1 }"
    story = Story(lines, TWO, schema=UNIQUE, leaders=SPLIT)
    assert story.tell()["w2"] == "UNIQUE_VIOLATED"
    assert differs(story, answers("w2"), "looks_up_at_home_only")
    assert story.tell("looks_up_at_home_only").breaches == {"I7"}


def test_a_value_is_free_once_its_row_is_deleted() -> None:
    """[110.ours.unique]"""
    story = Story(
        """50 a@n1: w1 = put t 1 { v = 1 }
           60 a: w2 = delete t 1
           70 a: w3 = put t 2 { v = 1 }""",
        schema=UNIQUE,
    )
    assert story.tell()["w3"] == "ok"
    assert differs(story, answers("w3"), "deleted_rows_keep_values")


@pytest.mark.parametrize("order", [("1", "2"), ("2", "1")])
def test_of_two_concurrent_writers_of_a_value_one_commits(order: tuple[str, str]) -> None:
    """Wait-die decides by the locks on the values, in either partition [110.ours.unique]."""
    one, other = order
    story = Story(
        f"""50   T1@n1: w1 = put t {one} {{ v = 1 }}
            50.5 T2@n2: w2 = put t {other} {{ v = 1 }}
            90   T1: e1 = commit
            90   T2: e2 = commit""",
        TWO,
        schema=UNIQUE,
        leaders=SPLIT,
    )
    told = story.tell()
    assert [told["e1"], told["w2"]] == ["ok", "LOCK_CONFLICT"]
    assert told.breaches == set()


def test_a_write_on_its_way_through_the_log_holds_its_value() -> None:
    """It is no row and no intent yet: only its lock shows [110.ours.unique]."""
    story = Story(
        "50 a@n1: w1 = put t 1 { v = 1 }\n51 b@n1: w2 = put t 2 { v = 1 }",
        THREE_REPLICAS,
        schema=UNIQUE,
    )
    assert story.tell().breaches == set()
    assert story.tell("values_stay_unlocked").breaches == {"I7"}


def test_an_intent_of_the_older_schema_blocks_an_older_transaction_of_the_newer_one() -> None:
    """T2 has no lock on its value and is younger; T1 is refused with ground [110.ours.unique]."""
    story = Story(
        """50   T1@n1: r = get u 1
           60   T2@n2: w = put t 1 { v = 1 }
           70   a@n3: d = CREATE UNIQUE INDEX tv ON t (v)
           d.ok T1: w1 = put t 3 { v = 1 }""",
        schema=f"{SCHEMA}; CREATE TABLE u (id INT PRIMARY KEY)",
        on_activated="leave_unmarked",
    )
    told = story.tell()
    assert told["w1"] == "LOCK_CONFLICT"
    assert told.breaches == set()


def test_a_row_obeys_the_checks_of_the_version_that_it_is_written_under() -> None:
    """[110.ours.check]"""
    story = Story(
        """50   a@n1: d = ALTER TABLE t ADD CHECK (v > 0)
           d.ok a: w = put t 1 { v = 0 }""",
    )
    assert story.tell()["w"] == "CHECK_VIOLATED"
    assert differs(story, answers("w"), "checks_under_first_version")


def test_a_transaction_of_the_older_schema_obeys_no_newer_check() -> None:
    """It may not commit once the constraint is in force [110.ours.constraint.add]."""
    story = Story(
        """50  T@n1: w = put t 1 { v = 0 }
           60  a@n2: d = ALTER TABLE t ADD CHECK (v > 0)
           d.ok T: e = commit""",
    )
    assert [story.tell()["w"], story.tell()["e"]] == ["ok", "ROLLBACK_ONLY"]


def test_an_update_keeps_no_null_in_a_column_that_is_not_null() -> None:
    """The row was written before SET NOT NULL; it may be given a value [110.ours.notnull]."""
    story = Story(
        """50    a@n1: w = put t 1 { w = 1 }
           w.ok  a: d = ALTER TABLE t ALTER COLUMN v SET NOT NULL
           d.ok  a: u = UPDATE t SET w = 2 WHERE id = 1
           u.done a: x = UPDATE t SET v = 2 WHERE id = 1""",
        schema="CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT)",
    )
    told = story.tell()
    assert [told["u"], told["x"]] == ["BAD_ROW", True]
    assert differs(story, answers("u"), "updates_keep_nulls")
