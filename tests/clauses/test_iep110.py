"""IEP-110, clause by clause in the document's order, each in the smallest world that shows it.

The requirements and the overall flow. Then come `test_iep110_validation` (weirdness, validation,
and what the text leaves open) and `test_iep110_schema` (schema compatibility and the basic schema
changes, where the smallest world is a schema and a statement).

Each world is told a second time with the clause broken, and then comes out otherwise.
"""

from typing import Any

from ddlsim.history.events import (
    Encoded,
    Enlisted,
    ReadExecuted,
    TxBegan,
    TxCommitted,
    WriteExecuted,
)
from ddlsim.model.ops import Put
from ddlsim.model.reasons import Reason
from ddlsim.protocol.design.flows import replicate_wait_acknowledge
from ddlsim.units import Micros
from tests.clauses.story import (
    HERE,
    SPLIT,
    TWO_PARTITIONS,
    TWO_TABLES,
    Story,
    Told,
    answers,
    differs,
    held,
    offset,
    told_at,
)
from tests.support.worlds import program, ran, statement, transaction


def at_begin(now: int, begin_ts: int, created_ts: int) -> int:
    """Take every table as it was when the transaction began."""
    del now, created_ts
    return begin_ts


# --- requirements --------------------------------------------------------------------------------


def test_transactions_and_ddl_do_not_block_each_other() -> None:
    """T is open while the DDL is installed, neither waits for the other; T gives way
    [110.req.0]."""
    story = Story(
        """
        20   T@n1: w = put t 1
        110  d@n2: d = ALTER TABLE t DROP COLUMN v
        111  T: r1 = get t 1
        209  T: r2 = get t 2
        d.ok T: e = commit
        """
    )

    async def once_all_is_quiet(change: Any, op: str, asked: Any) -> Any:
        await change.node.sleep(Micros(500_000))
        return await replicate_wait_acknowledge(change, op, asked)

    told = story.tell()
    assert answers("w", "d", "r2", "e")(told) == ["ok", "ok", "ok", "ROLLBACK_ONLY"]
    assert [told.at_ms(step) for step in ("d", "r1", "r2", "e")] == [218, 111, 209, 218]
    shown = told_at("d", "r1", "r2", "e")
    assert differs(story, shown, "no_commit_check", install=once_all_is_quiet)


def test_no_transaction_runs_on_two_schemas() -> None:
    """T wrote under version 1, so it may not write under version 2; nothing of it stays
    [110.req.1]."""
    story = Story(
        """
        20   T@n1: w1 = put t 1 { v = 1 }
        110  d@n1: d = ALTER TABLE t ADD COLUMN w INT DEFAULT 7
        d.ok T: w2 = put t 2 { v = 2 }
        -    T: e = commit
        e.done r@n2: r = scan t
        """
    )
    shown = answers("w2", "e", "r")
    assert shown(story.tell()) == ["SCHEMA_CHANGED", "SCHEMA_CHANGED", []]
    assert story.tell("enlists_at_every_operation").breaches >= {"I5"}
    assert differs(story, shown, "enlists_at_every_operation", "no_operation_check")


def test_a_transaction_can_use_a_table_that_is_younger() -> None:
    """T began at 50, the table is there at 218 [110.req.2]."""
    story = Story(
        """
        50   T@n1: b = begin
        110  d@n2: d = CREATE TABLE u (id INT PRIMARY KEY)
        d.ok T: w = put u 1
        -    T: e = commit
        """
    )
    shown = answers("w", "e")
    assert shown(story.tell()) == ["ok", "ok"]
    assert differs(story, shown, base_ts=at_begin)


def test_an_alter_before_a_tables_first_use_does_no_harm() -> None:
    """T has used u before it and uses t after it [110.req.3]."""
    story = Story(
        """
        50   T@n1: w1 = put u 1
        110  d@n2: d = ALTER TABLE t DROP COLUMN v, ADD COLUMN w INT
        d.ok T: w2 = put t 1
        -    T: w3 = put u 2
        -    T: e = commit
        """,
        schema=TWO_TABLES,
    )
    shown = answers("w2", "w3", "e")
    assert shown(story.tell()) == ["ok", "ok", "ok"]
    assert differs(story, shown, base_ts=at_begin)


# --- the overall flow ----------------------------------------------------------------------------

REFRESHED = Story(
    """
    20   c@n1: w1 = put t 1 { v = 1 }
    110  d@n1: d = ALTER TABLE t ADD COLUMN w INT DEFAULT 7
    d.ok c: w2 = put t 2 { v = 2 }
    w2.done r@n2: r = get t 2
    """
)
"""A client that wrote before an ALTER comes back after it, with the schema that it has cached."""


def test_a_client_sends_the_version_that_it_encoded_with() -> None:
    """None at first, then what it was sent; after the ALTER still that [110.flow.1]."""
    told_of: list[tuple[int, int]] = []

    def overhear(client_version: int, enlist_version: int) -> bool:
        told_of.append((client_version, enlist_version))
        return client_version == enlist_version

    told = REFRESHED.tell(check_client_version=overhear)
    assert told_of[:4] == [(0, 1), (1, 1), (1, 2), (2, 2)]
    encoded = [(each.op, each.version) for each in told.of(Encoded)]
    assert encoded == [("w1", 1), ("w2", 1), ("w2", 2)]


def test_the_coordinator_resolves_the_version_and_sends_any_other_back() -> None:
    """At baseTs, after the ALTER, it is 2: what is encoded with 1 comes again [110.flow.2]."""

    def shown(told: Told) -> Any:
        rows = [(each.version, each.row) for each in told.of(WriteExecuted, op="w2")]
        return told["r"], rows, told.breaches

    row = ((1, 2), (2, 2), (3, 7))
    assert shown(REFRESHED.tell()) == ({"id": 2, "v": 2, "w": 7}, [(2, row)], set())
    assert REFRESHED.tell("accepts_any_client_version").breaches == {"I7"}
    assert differs(REFRESHED, shown, "accepts_any_client_version")


def test_the_coordinator_sends_the_enlisted_version_to_the_primary() -> None:
    """Sent at 205 and there at 215, after Tu = 210: the primary hears of version 1
    [110.flow.3]."""
    story = Story(
        """
        110  d@n1: d = ALTER TABLE t ADD COLUMN w INT
        205  T@n1: r = get t 1
        """,
        held("n1", "n3", "operate", 204, 215),
        leaders=HERE,
    )

    def shown(told: Told) -> Any:
        ran_under = [each.version for each in told.of(ReadExecuted, tx="T")]
        return [each.version for each in told.of(Enlisted, tx="T")], told["r"], ran_under

    assert shown(story.tell()) == ([1], "SCHEMA_CHANGED", [])
    assert shown(story.tell("primary_takes_its_own_version")) == ([1], "ok", [2])
    assert differs(story, shown, "primary_takes_its_own_version")


def test_one_table_has_one_enlisted_version() -> None:
    """n3's clock is 7 ms behind: it still runs T when T's client has version 2 [110.flow.4]."""
    story = Story(
        """
        20   T@n3: w1 = put t 1 { v = 1 }
        110  d@n1: d = ALTER TABLE t ADD COLUMN w INT DEFAULT 7
        212  t@n2: r = get t 2
        213  T@n3: w2 = put t 3 { v = 3 }
        """,
        TWO_PARTITIONS + offset("n3", -7),
        leaders=SPLIT,
    )

    def shown(told: Told) -> Any:
        enlisted = [(each.object_id, each.version) for each in told.of(Enlisted, tx="T")]
        return enlisted, [each.version for each in told.of(Encoded)], told["w2"]

    assert shown(story.tell()) == ([(1, 1)], [1, 2, 1], "ok")
    assert differs(story, shown, "enlists_at_every_operation")


def test_the_primary_takes_the_enlisted_version_as_i() -> None:
    """For every read and write: what is in order before Tu is refused after it; and a row is read
    as I shows it [110.flow.5]."""
    story = Story(
        """
        20   T1@n1: r0 = get t 1
        20   T2@n1: r1 = get t 1
        20   T3@n1: r2 = get t 1
        20   T4@n1: r3 = get t 1
        20   a@n1: w = put t 9 { v = 9 }
        110  d@n1: d = ALTER TABLE t ADD COLUMN w INT DEFAULT 7
        d.ok T1: get = get t 2
        d.ok T2: put = put t 3
        d.ok T3: delete = delete t 4
        d.ok T4: scan = scan t
        d.ok T5@n1: new = get t 9
        """
    )
    shown = answers("get", "put", "delete", "scan", "new")
    assert shown(story.tell()) == ["SCHEMA_CHANGED"] * 4 + [{"id": 9, "v": 9, "w": 7}]
    assert differs(story, shown, "no_operation_check", "decodes_with_initial")


CROSSING = Story(
    """
    20   T1@n1: w1 = put t 1
    20   T2@n1: w2 = put u 1
    110  d1@n1: d1 = ALTER TABLE t DROP COLUMN v
    110  d2@n2: d2 = ALTER TABLE u ADD COLUMN w INT
    300  T1: e1 = commit
    300  T2: e2 = commit
    """,
    schema=TWO_TABLES,
    on_activated="leave_unmarked",
)
"""Two transactions across a DDL each, of which the first is incompatible; there are no marks."""


def test_the_coordinator_takes_the_enlisted_version_as_i_at_the_commit() -> None:
    """And not the one of anything later than the enlistment for C [110.flow.6]."""

    def shown(told: Told) -> Any:
        return [told["e1"], told["e2"], *(each.tables for each in told.of(TxCommitted))]

    assert shown(CROSSING.tell()) == ["SCHEMA_INCOMPATIBLE", "ok", ((2, 1, 2),)]
    assert CROSSING.tell("validates_at_enlistment").breaches >= {"I8"}
    assert differs(CROSSING, shown, "validates_at_enlistment")


def test_schema_failure_is_retriable() -> None:
    """At an operation, at the commit, and by a mark [110.flow.7]."""
    story = Story(
        """
        20   T1@n1: w1 = put t 1
        20   T2@n1: w2 = put t 2
        110  d@n1: d = ALTER TABLE t DROP COLUMN v
        d.ok T1: r = get t 1
        d.ok T2: e = commit
        """
    )

    def retriable(told: Told) -> list[bool]:
        return [Reason[told[step]].retriable for step in ("r", "e") if told[step] != "ok"]

    unmarked = Story(story.lines, on_activated="leave_unmarked")
    assert retriable(story.tell()) == retriable(unmarked.tell()) == [True, True]
    assert answers("r", "e")(unmarked.tell()) == ["SCHEMA_CHANGED", "SCHEMA_INCOMPATIBLE"]
    assert differs(unmarked, retriable, "no_commit_check", check_operation=given_up)


def given_up(initial: int, current: int, steps: Any) -> Reason | None:
    """Refuse for a reason that is not retriable."""
    del steps
    return None if initial == current else Reason.TX_FINISHED


def test_a_client_retries_its_transaction_as_a_new_one() -> None:
    """Two writes with an activation in between: refused, begun again, committed [110.flow.8]."""

    def lives(retries: int) -> tuple[int, int]:
        writes = Put("t", 1), Put("t", 2)
        shy = transaction(*writes, gap_us=Micros(150_000), pause_us=Micros(50_000), retries=retries)
        history = ran(
            "[run]\nload_ms = 900\n",
            programs=(
                program(shy),
                program(statement("ALTER TABLE t ADD COLUMN w INT"), client="d"),
            ),
        )
        begun = [each for each in history.of(TxBegan) if not each.implicit]
        return len({each.tx for each in begun}), len(history.of(TxCommitted))

    assert lives(retries=1) == (2, 1)
    assert lives(retries=0) == (1, 0)
