"""IEP-110, clause by clause in the document's order, each in the smallest world that shows it.

What the text says beside its flow and its rules: the linearization of DDL, when schema changes are
validated, rows of newer schemas, the quirk, the simplification, and what its proofs need. Between
validation and backward compatibility the document has the rules of `test_iep110_schema`.

Each world is told a second time with the clause broken, and then comes out otherwise.
"""

from typing import Any

from ddlsim.history.events import SchemaResolved, TxAborted, TxCommitted, WriteExecuted
from ddlsim.model.reasons import Reason
from ddlsim.mutants.iep110 import any_row
from ddlsim.protocol.design import flows
from ddlsim.protocol.strategy import Steps
from tests.clauses.story import (
    HERE,
    TWO_PARTITIONS,
    TWO_TABLES,
    Story,
    Told,
    answers,
    differs,
    held,
    late,
    told_at,
)

CHECKED = "CREATE TABLE t (id INT PRIMARY KEY, v INT, CONSTRAINT positive CHECK (v > 0))"


def paused(node: str, point: str, until: str) -> str:
    """T stands still on a node, at a point of the protocol, until an event."""
    return f'[[pause]]\nnode = "{node}"\npoint = "{point}"\ntx = "T"\nuntil = "{until}"\n'


# --- weirdness and the linearization of DDL ------------------------------------------------------


def test_after_a_ddl_a_transaction_can_only_commit() -> None:
    """Option 3: no write (option 1), no read (option 2), but a commit [110.border]."""
    story = Story(
        """
        20   T1@n1: w1 = put t 1 { v = 1 }
        20   T2@n1: w2 = put t 2 { v = 2 }
        20   T3@n1: w3 = put t 3 { v = 3 }
        110  d@n1: d = ALTER TABLE t DROP CONSTRAINT positive
        d.ok T1: write = put t 4 { v = -4 }
        d.ok T2: read = get t 4
        d.ok T3: commit = commit
        """,
        schema=CHECKED,
    )
    shown = answers("write", "read", "commit")
    assert shown(story.tell()) == ["SCHEMA_CHANGED", "SCHEMA_CHANGED", "ok"]
    assert differs(story, shown, "primary_takes_its_own_version", "no_operation_check")
    assert differs(story, shown, check_commit=any_step_aborts)


def any_step_aborts(steps: Steps) -> Reason | None:
    """No change of an enlisted table is compatible."""
    return Reason.SCHEMA_INCOMPATIBLE if steps else None


def test_a_ddl_is_strictly_serializable_with_transactions() -> None:
    """T before the DDL before T2 before T is refused; so is a row that is being written
    [110.lin]."""
    around = Story(
        """
        20   T@n1: r1 = get t 1
        110  d@n1: d = ALTER TABLE t ADD COLUMN w INT
        d.ok c@n1: w = put t 2
        w.ok T: r2 = get t 2
        -    T: e = commit
        """
    )
    through = Story(
        """
        20   T1@n1: w1 = put t 1
        30   T2@n1: r1 = SELECT id, v FROM t
        40   T1: w2 = put t 2
        50   T1: e1 = commit
        60   T2: r2 = get t 2
        -    T2: e2 = commit
        """
    )
    assert around.tell().breaches == through.tell().breaches == set()
    assert around.tell("no_operation_check", check_tuple=any_row).breaches >= {"I3"}
    assert through.tell("readers_ignore_locks").breaches >= {"I3"}


# --- when schema changes are validated -----------------------------------------------------------


def test_at_the_commit_i_must_be_compatible_with_the_schema_at_commit_ts() -> None:
    """Tu = 210: t changes incompatibly, u compatibly, and T3 comes before [110.valid.1]."""
    story = Story(
        """
        20   T1@n3: w1 = put t 1
        20   T2@n3: w2 = put u 1
        20   T3@n3: w3 = put t 3
        110  d1@n1: d1 = ALTER TABLE t DROP COLUMN v
        110  d2@n1: d2 = ALTER TABLE u ADD COLUMN w INT
        209  T3: e3 = commit
        250  T1: e1 = commit
        250  T2: e2 = commit
        """,
        late("n3", 105, 400),
        schema=TWO_TABLES,
    )
    shown = answers("e1", "e2", "e3")
    assert shown(story.tell()) == ["SCHEMA_INCOMPATIBLE", "ok", "ok"]
    assert story.tell("no_commit_check").breaches >= {"I8"}
    assert differs(story, shown, "no_commit_check", check_commit=any_step_aborts)


def test_an_operation_fails_where_the_schema_is_not_i() -> None:
    """Though every commit would survive the change; and the transaction is over [110.valid.2]."""
    story = Story(
        """
        20   T@n1: r1 = get t 1
        110  d@n2: d = ALTER TABLE t ADD COLUMN w INT
        209  T: r2 = get t 2
        212  T: r3 = get t 3
        213  T: e = commit
        """
    )
    shown = answers("r2", "r3", "e")
    assert shown(story.tell()) == ["ok", "SCHEMA_CHANGED", "SCHEMA_CHANGED"]
    assert differs(story, shown, "no_operation_check")


def test_an_activation_rolls_back_the_transactions_that_it_dooms() -> None:
    """T1 at Tu, without asking; T2 not, its commitTs is fixed. No outcome depends on it
    [110.valid.3]."""
    lines = """
        20   T1@n2: w1 = put t 1
        20   T@n1: w2 = put t 2
        110  d@n1: d = ALTER TABLE t DROP COLUMN v
        209  T: e2 = commit
        212  c@n3: w3 = put t 1
        300  T1: e1 = commit
        """
    story = Story(lines, paused("n1", "after-commit-check", "e1.done"))

    def shown(told: Told) -> Any:
        ends = [(each.tx, each.reason, each.at_us // 1000) for each in told.of(TxAborted)]
        return ends, told["e2"], told.at_ms("w3")

    assert shown(story.tell()) == ([("T1", "ROLLBACK_ONLY", 211)], "ok", 212)
    assert differs(story, shown, "no_commit_check", on_activated=flows.leave_unmarked)
    unmarked = story.tell(on_activated=flows.leave_unmarked)
    assert unmarked["e2"] == "ok"
    assert unmarked["e1"] == "SCHEMA_INCOMPATIBLE"


# --- rows and tables at an operation's timestamp -------------------------------------------------


def test_a_row_that_was_written_later_than_i_aborts_its_reader() -> None:
    """The text's four steps; T's read arrived before Tu and comes to the row after it
    [110.back]."""
    story = Story(
        """
        20   T@n1: r1 = get t 1
        110  d@n1: d = ALTER TABLE t ADD COLUMN w INT
        205  T: r2 = get t 2
        d.ok c@n1: w = put t 2
        r2.done T: e = commit
        """,
        TWO_PARTITIONS + paused("n2", "after-arrival-check", "w.ok"),
        leaders={"t/0": "n2", "t/1": "n1"},
        check_operation_when="ARRIVAL_ONLY",
    )
    shown = answers("r2", "e")
    assert shown(story.tell()) == ["NEWER_ROW_VERSION", "NEWER_ROW_VERSION"]
    assert story.tell("reads_newer_rows").breaches >= {"I3"}
    assert differs(story, shown, "reads_newer_rows")


def test_a_missing_table_fails_the_operation_and_not_the_commit() -> None:
    """At its opTs: T's at 212, where t is dropped, and that of a name that never meant anything
    [110.table.exists]."""
    story = Story(
        """
        20   T@n1: w1 = put t 1
        110  d@n1: d = DROP TABLE t
        209  T: w2 = put t 2
        212  T: w3 = put t 3
        212  c@n2: w4 = put t 4
        """,
        on_activated="leave_unmarked",
    )
    shown = answers("w2", "w3", "w4")
    assert shown(story.tell()) == ["ok", "TABLE_DROPPED", "TABLE_NOT_FOUND"]
    assert differs(story, shown, check_exists=lambda _: None)


def test_enlistment_and_operation_may_straddle_an_activation() -> None:
    """Enlisted at 205, executed at 215: one needless abort; again, and all is well [110.quirk]."""
    story = Story(
        """
        110  d@n1: d = ALTER TABLE t ADD COLUMN w INT
        205  T@n1: r1 = get t 1
        205  c@n1: r2 = get t 2
        r1.done T2@n1: r3 = get t 1
        """,
        held("n1", "n3", "operate", 204, 215),
        leaders=HERE,
    )
    shown = told_at("r1", "r2", "r3")
    assert shown(story.tell()) == (["SCHEMA_CHANGED", "ok", "ok"], [215, 215, 215])
    begun_at = [each.ts >> 16 for each in story.tell().of(SchemaResolved, tx="T")]
    assert begun_at == [205, 215]
    assert differs(story, shown, "no_operation_check")


def test_name_means_the_same_table_for_a_whole_transaction() -> None:
    """t becomes s and another table is called t: T fails rather than reads that one
    [110.simple]."""
    story = Story(
        """
        20   T@n1: r1 = get t 1
        110  d@n1: d1 = ALTER TABLE t RENAME TO s
        d1.ok d: d2 = CREATE TABLE t (id INT PRIMARY KEY, v INT)
        d2.ok c@n2: w = put t 1 { v = 2 }
        w.ok T: r2 = get t 1
        """,
        on_activated="leave_unmarked",
    )
    shown = answers("r2")
    assert shown(story.tell()) == ["SCHEMA_CHANGED"]
    assert shown(story.tell("enlists_at_every_operation")) == [{"id": 1, "v": 2}]
    assert differs(story, shown, "enlists_at_every_operation")


# --- what the text's proofs need -----------------------------------------------------------------


def test_the_schema_is_checked_again_once_the_locks_are_granted() -> None:
    """Checked on arrival at 205, locked when c has written and is done: refused [110.x.1]."""
    story = Story(
        """
        20   T@n1: r1 = get t 1
        110  d@n1: d = ALTER TABLE t ADD COLUMN w INT
        205  T: r2 = delete t 2
        d.ok c@n1: w = put t 2
        """,
        TWO_PARTITIONS + paused("n2", "after-arrival-check", "w.ok"),
        leaders={"t/0": "n2", "t/1": "n1"},
    )
    shown = answers("r2")
    assert shown(story.tell()) == ["SCHEMA_CHANGED"]
    assert differs(story, shown, "checks_on_arrival_only")


def test_commit_ts_is_larger_than_every_op_ts() -> None:
    """T's second write is on its way until 250, its commit is asked for at 110 [110.x.2]."""
    story = Story(
        """
        20   T@n1: w1 = put t 1
        105  T: w2 = put t 2
        110  T: e = commit
        """,
        held("n1", "n3", "operate", 104, 250),
        leaders=HERE,
    )

    def shown(told: Told) -> Any:
        op_ts = [each.op_ts for each in told.of(WriteExecuted, tx="T")]
        commit_ts = [each.commit_ts for each in told.of(TxCommitted, tx="T")]
        return answers("w2", "e")(told), len(op_ts), max(op_ts) < min(commit_ts)

    assert shown(story.tell()) == (["ok", "ok"], 2, True)
    assert differs(story, shown, before_commit_ts=flows.stamp_at_once)
