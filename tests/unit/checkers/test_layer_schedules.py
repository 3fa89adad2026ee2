"""The schedules of strategies.md, family C, made by hand: what must be found, and the controls.

The version is in force from the version of its statement's commit on, unless a schedule says
otherwise. What a store with working conflicts would have aborted is aborted in the controls.
"""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from ddlsim.checkers.judge import judge
from ddlsim.layer.rules import locks
from ddlsim.model.schema import PUBLIC
from ddlsim.strategies.postgresql import POSTGRESQL
from tests.scenarios.runs import loaded, runner_of
from tests.support.history import add_column
from tests.support.layered import Layered

CONFLICT = "TX_CONFLICT"
LEASED = ("I6", "I7")
"""What a design with leases claims."""


def told(story: Layered, *, status: str = "violation") -> dict[str, set[str]]:
    """The kinds of anomalies with this status, by invariant."""
    found: dict[str, set[str]] = {}
    for one in judge(story.history()).violations:
        if one.status == status:
            found.setdefault(one.invariant, set()).add(one.kind)
    return found


def clean(story: Layered) -> bool:
    return told(story) == {}


# --- C1, C12: the schema is read, and does not conflict -------------------------------------------


def crossing(aborts: str = "") -> Layered:
    """A statement commits between the read version of T and its commit; R reads behind it."""
    story = Layered()
    story.index("D", 110, submit=90)
    more = {"aborts": aborts} if aborts else {}
    story.run("T", 100, 120, ("put", "r", 5), **more)
    story.run("R", 115, None, ("find", 5), ("get", "r"), v=2)
    story.run("Q", 130, None, ("find", 5), v=2)
    story.read_back(140)
    return story


@pytest.mark.parametrize("schedule", ["C1-T1", "C12-T1"])
def test_a_transaction_that_crosses_an_index_leaves_a_row_without_its_entry(schedule: str) -> None:
    found = told(crossing())
    assert found.pop("I7") == {"missing-entry", "row-not-found"}
    assert found.pop("I1") == {"wrong-version"}, schedule
    assert found.pop("I3") == {"schema-G2-item"}
    assert found == {"I2": {"inconsistent-row"}, "I8": {"incompatible-commit"}}


@pytest.mark.parametrize("control", ["a serializable read of the schema", "C12 with a key"])
def test_a_read_of_the_schema_that_conflicts_aborts_it(control: str) -> None:
    assert clean(crossing(CONFLICT)), control


# --- C15: a cached schema and a read conflict on its key ------------------------------------------


def cached(rv: int, cv: int | None, *, begins: int, aborts: str = "") -> Layered:
    """A process cached version 1 at 100; a statement commits at 110 and is answered at 112."""
    story = Layered()
    story.index("D", 110, submit=105, ack=112)
    more: dict[str, object] = {"aborts": aborts} if aborts else {}
    does = ("put", "r", 5) if cv is not None else ("get", "r")
    story.run("T", rv, cv, does, begins=begins, **more)
    story.read_back(200)
    return story


def test_c15_t1_a_change_between_the_cache_and_the_read_version() -> None:
    found = told(cached(120, 130, begins=120))
    assert found["I7"] == {"missing-entry"}
    assert found["I1"] == {"wrong-version"}
    assert "I3" in found
    assert found["I4"] == {"ddl-not-seen"}


def test_c15_t1_without_an_answer_no_cycle_shows_it_and_the_entries_do() -> None:
    """Without real time the cycle needs a third transaction: I1 and I7 are independent of it."""
    story = Layered()
    story.index("D", 110)
    story.run("T", 120, 130, ("put", "r", 5))
    found = told(story)
    assert "I3" not in found
    assert found["I7"] == {"missing-entry"}
    assert found["I1"] == {"wrong-version"}


def test_c15_t2_a_change_behind_the_read_version_conflicts() -> None:
    assert clean(cached(109, 131, begins=109, aborts=CONFLICT))


def test_c15_t3_a_blind_write_gets_its_read_version_when_it_commits() -> None:
    """It began before the statement, so nothing was owed to its client."""
    found = told(cached(128, 130, begins=104))
    assert found["I7"] == {"missing-entry"}
    assert found["I1"] == {"wrong-version"}
    assert "I4" not in found


def test_c15_t4_a_reader_is_never_judged_by_the_store() -> None:
    found = told(cached(150, None, begins=111))
    assert found.pop("I10") == {"past-schema"}
    assert found == {"I1": {"wrong-version"}}


# --- C16 ------------------------------------------------------------------------------------------


def test_c16_c0_the_tag_closes_one_gap_and_the_key_the_other() -> None:
    story = Layered()
    story.run("A", 90, 95, ("put", "q", 4))
    story.index("D", 110, submit=105, ack=112)
    story.run("D.fill", 105, 110, ("fill",), v=2, begins=105)
    story.run("T1", 120, 130, ("put", "r", 5), v=2)
    story.run("T3", 109, 131, ("put", "r", 6), aborts=CONFLICT)
    story.run("B", 128, 133, ("put", "s", 5), begins=104, v=2)
    story.run("R", 150, None, ("find", 5), ("find", 4), v=2)
    story.read_back(200)
    assert clean(story)


# --- C5: leases -----------------------------------------------------------------------------------


def leased(*, d2: int, **more: object) -> Layered:
    """Two statements: the index is delete-only from 10 on and write-only from `d2` on."""
    story = Layered(LEASED)
    story.run("P", 1, 5, ("put", "r", 5))
    story.index("D1", 10, state="delete_only")
    story.set_state("D2", "write_only", d2)
    assert not more, more
    return story


def behind(story: Layered, rv: int, cv: int, *, newest: int) -> Layered:
    """A writes r with its entry under version 3; B, still under version 1, deletes it."""
    story.run("A", newest, newest + 1, ("put", "r", 6), v=3, node="a")
    story.run("B", rv, cv, ("delete", "r"), v=1, node="b")
    story.read_back(3000)
    return story


@pytest.mark.parametrize(
    ("schedule", "d2", "rv", "cv", "newest"),
    [
        ("C5-T1, no refusal", 1011, 1500, 1505, 1480),
        ("C5-T2, no fencing", 1011, 999, 1030, 1012),
        ("C5-T3, a slow clock", 1050, 1100, 1105, 1060),
    ],
)
def test_c5_three_versions_in_use_and_then_an_orphan(
    schedule: str, d2: int, rv: int, cv: int, newest: int
) -> None:
    found = told(behind(leased(d2=d2), rv, cv, newest=newest))
    assert found == {"I6": {"outside-window"}, "I7": {"orphan-entry"}}, schedule


@pytest.mark.parametrize(("rv", "cv"), [(990, 1000), (1000, 1010)])
def test_c5_with_a_refusal_and_a_fence_two_versions_at_most(rv: int, cv: int) -> None:
    assert clean(behind(leased(d2=1011), rv, cv, newest=1012))


def test_c5_t4_two_versions_at_once_are_claimed_and_the_same_answer_everywhere_is_not() -> None:
    story = Layered(LEASED)
    story.ddl("D", story.t, add_column(2, "w"), tu=10)
    story.run("A", 20, 30, ("put", "r", 1), v=2)
    story.run("B", 21, 31, ("put", "s", 1), v=1)
    assert clean(story)
    assert told(story, status="accepted")["I1"] == {"wrong-version"}


# --- C6: states of an index -----------------------------------------------------------------------


def c6_t1() -> Layered:
    """From absent to public."""
    story = Layered(LEASED)
    story.index("D", 5)
    story.run("S2", 8, 10, ("put", "r", 5), v=2)
    story.run("S1", 18, 20, ("delete", "r"), v=1)
    story.run("Q", 30, None, ("find", 5), v=2)
    return story


def c6_t2(aborts: str = "") -> Layered:
    """Delete-only is skipped; the orphan is there when the index is public."""
    story = Layered(LEASED)
    story.index("D1", 5, state="write_only")
    story.run("S2", 8, 10, ("put", "r", 5), v=2)
    more = {"aborts": aborts} if aborts else {}
    story.run("S1", 4, 20, ("delete", "r"), v=1, **more)
    story.run("D1.fill", 25, 26, ("fill",), v=2)
    story.set_state("D2", PUBLIC, 40)
    story.run("Q", 50, None, ("find", 5), v=3)
    story.read_back(60)
    return story


def c6_t3() -> Layered:
    """Write-only and reorganization are skipped."""
    story = Layered(LEASED)
    story.index("D1", 1, state="delete_only")
    story.run("S1", 8, 10, ("put", "r", 5), v=2)
    story.set_state("D2", PUBLIC, 15)
    story.run("S2", 20, None, ("find", 5), v=3)
    return story


def c6_t4() -> Layered:
    """Three versions in use: S1 is delete-only when rows have been read for the backfill."""
    story = Layered(LEASED)
    story.index("D1", 1, state="delete_only")
    story.set_state("D2", "write_only", 10)
    story.set_state("D3", "reorganization", 15)
    story.run("A", 16, 17, ("put", "s", 1), v=4)
    story.run("D.fill", 20, 21, ("fill",), v=4)
    story.run("S1", 24, 25, ("put", "r", 5), v=2)
    story.set_state("D4", PUBLIC, 30)
    story.run("S2", 35, None, ("find", 5), v=5)
    return story


def c6_t5() -> Layered:
    """The backfill reads rows while delete-only is in use."""
    story = Layered(LEASED)
    story.index("D1", 1, state="delete_only")
    story.set_state("D2", "write_only", 12)
    story.run("D.fill", 15, 16, ("fill",), v=3)
    story.run("S1", 17, 18, ("put", "r", 5), v=2)
    story.set_state("D3", PUBLIC, 30)
    story.run("S2", 35, None, ("find", 5), v=4)
    return story


def c6_t6(*, transactional: bool = False) -> Layered:
    """The backfill writes the entry of a row that was deleted since it read it."""
    story = Layered(LEASED)
    story.run("P", 1, 2, ("put", "r", 5))
    story.index("D1", 5, state="delete_only")
    story.set_state("D2", "write_only", 12)
    more = {"aborts": CONFLICT} if transactional else {}
    story.run("D.fill", 20, 30, ("fill",), v=3, **more)
    story.run("S1", 24, 25, ("delete", "r"), v=3)
    story.set_state("D3", PUBLIC, 40)
    story.run("S2", 45, None, ("find", 5), v=4)
    return story


ORPHAN = {"orphan-entry", "orphan-found"}
MISSING = {"missing-entry", "row-not-found"}


@pytest.mark.parametrize(
    ("schedule", "due", "within"),
    [
        (c6_t1, ORPHAN, True),
        (c6_t2, ORPHAN, True),
        (c6_t3, MISSING, True),
        (c6_t4, MISSING, False),
        (c6_t5, MISSING, True),
        (c6_t6, ORPHAN, True),
    ],
)
def test_c6_a_state_that_is_skipped_or_a_backfill_that_comes_at_the_wrong_time(
    schedule: Callable[[], Layered], due: set[str], within: bool
) -> None:
    found = told(schedule())
    assert found.pop("I7") == due
    assert found == ({} if within else {"I6": {"outside-window"}})


def in_full() -> Layered:
    """Every state, each when the one before the last is out of use; up, and down again."""
    story = Layered(LEASED)
    story.run("P", 1, 2, ("put", "r", 5), ("put", "s", 6))
    story.index("D1", 10, state="delete_only")
    story.run("A1", 12, 15, ("delete", "r"), v=1)
    story.run("B1", 13, 16, ("put", "t", 1), v=2)
    story.set_state("D2", "write_only", 20)
    story.run("A2", 22, 25, ("put", "r", 7), v=2)
    story.run("B2", 26, 27, ("put", "r", 8), v=3)
    story.run("A3", 28, 29, ("delete", "r"), v=2)
    story.set_state("D3", "reorganization", 30)
    story.run("D.fill", 35, 36, ("fill",), v=4)
    story.run("B3", 37, 38, ("put", "u", 9), v=3)
    story.set_state("D4", PUBLIC, 40)
    story.run("Q1", 45, None, ("find", 6), ("find", 1), ("find", 9), v=5)
    story.run("B4", 46, 47, ("put", "s", 1), v=4)
    story.run("Q2", 48, None, ("find", 6), ("find", 1), v=5)
    story.set_state("E1", "write_only", 60)
    story.run("A5", 62, 65, ("put", "s", 2), ("find", 2), v=5)
    story.set_state("E2", "delete_only", 70)
    story.run("A6", 72, 75, ("put", "s", 3), v=6)
    story.run("B6", 76, 77, ("delete", "s"), v=7)
    story.drop_index("E3", 80)
    story.run("A7", 82, 83, ("put", "u", 1), v=7)
    story.run("E.erase", 95, 96, ("erase",), v=8)
    story.read_back(100)
    return story


def test_c6_c0_the_full_sequence_keeps_entries_though_versions_differ() -> None:
    story = in_full()
    assert clean(story)
    assert told(story, status="accepted")["I1"] == {"wrong-version"}


def test_c6_t6_with_a_backfill_in_a_transaction() -> None:
    assert clean(c6_t6(transactional=True))


def test_c6_c1_where_crossing_transactions_abort_three_states_are_enough() -> None:
    assert clean(c6_t2(aborts=CONFLICT))


# --- C8, C9: a version that is in force later -----------------------------------------------------


def later(activation: int, *, used_by_y: int) -> Layered:
    """A statement reads at 1000 and commits at 1400; X cached its record at 1300, Y at 1500."""
    story = Layered()
    story.ddl("D", story.t, add_column(2, "w"), tu=activation, tm=1400, submit=1000, ack=2500)
    story.run("X", 2100, 2110, ("put", "r", 1), v=1)
    story.run("Y", 2101, 2111, ("put", "s", 1), v=used_by_y)
    story.run("Z", 2450, 2460, ("put", "z", 1), v=2)
    return story


def test_c8_t1_anchored_at_the_read_version() -> None:
    """X may use version 1 until 2300, and version 2 is in force from 2000 on."""
    found = told(later(2000, used_by_y=2))
    assert set(found) == {"I1"}


def test_c8_c0_anchored_at_the_commit_version() -> None:
    assert clean(later(2400, used_by_y=1))


def crossing_the_activation(aborts: str = "") -> Layered:
    """In force from 2400 on: T reads at 2399 and commits behind it."""
    story = Layered()
    story.index("D", 2400, tm=1400, submit=1000, ack=2405)
    more = {"aborts": aborts} if aborts else {}
    story.run("T", 2399, 2450, ("put", "r", 5), **more)
    story.run("R", 2420, None, ("get", "r"), v=2)
    return story


def test_c9_t1_no_distance_makes_up_for_a_fence() -> None:
    found = told(crossing_the_activation())
    assert found["I7"] == {"missing-entry"}
    assert "I3" in found
    assert found["I1"] == {"wrong-version"}


def test_c11_t1_a_conflict_at_the_activation_fences_it() -> None:
    assert clean(crossing_the_activation(CONFLICT))


def test_c9_t2_a_second_statement_overwrites_the_record() -> None:
    """A client that reads the record at 1600 uses version 2 until 2500, and so before 2400."""
    story = Layered()
    story.ddl("D1", story.t, add_column(2, "w"), tu=2400, tm=1400, submit=1000)
    story.ddl("D2", story.t, add_column(3, "x"), tu=2500, tm=1500, submit=1450)
    story.run("T", 2000, 2010, ("put", "r", 1), v=2)
    found = told(story)
    assert found["I1"] == {"wrong-version"}
    assert set(found) == {"I1", "I2", "I8"}


# --- C10: two cut-offs ----------------------------------------------------------------------------


def two_cutoffs(*, erased: int, commits: int) -> Layered:
    """No reads from 100000 on; what is left is erased behind the end of writes."""
    story = Layered(("I7",))
    story.index("C", 10)
    story.drop_index("D", 100_000)
    story.run("T", 99_900, commits, ("put", "r", 5), v=2)
    story.run("D.erase", erased - 1, erased, ("erase",), v=3)
    story.read_back(120_000)
    return story


@pytest.mark.parametrize(
    ("schedule", "erased", "commits", "due"),
    [
        ("C10-T1, the end of writes is too early", 102_001, 104_500, {"I7": {"orphan-entry"}}),
        ("C10-T1, control", 105_001, 104_500, {}),
        ("C10-T2, no read conflicts", 105_001, 105_100, {"I7": {"orphan-entry"}}),
    ],
)
def test_c10_writes_under_the_old_version_end_before_the_erasure(
    schedule: str, erased: int, commits: int, due: dict[str, set[str]]
) -> None:
    assert told(two_cutoffs(erased=erased, commits=commits)) == due, schedule


# --- postgresql: a catalog that no snapshot binds -------------------------------------------------


@pytest.mark.parametrize(
    ("does", "due"),
    [(("find", 5), {"I10": {"row-not-found"}}), (("find", 6), {}), (("scan",), {})],
)
@pytest.mark.parametrize("ends", [None, 60], ids=["a read-only one", "one that wrote nothing"])
def test_an_index_from_behind_the_snapshot_answers_no_query(
    does: tuple[object, ...], due: dict[str, set[str]], ends: int | None
) -> None:
    """The reader is shown the newer schema, which is admitted; its snapshot has no entries."""
    story = Layered()
    story.design = replace(story.design, claims=POSTGRESQL.header.claims)
    story.run("A", 10, 20, ("put", "r", 5))
    story.index("D", 40)
    story.run("D.fill", 39, 40, ("fill",), v=2)
    story.run("Q", 30, ends, does, v=2, at=50)
    story.read_back(70)
    assert told(story) == due


def test_a_design_that_uses_such_an_index_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = runner_of(loaded("presets/postgresql-index_behind_snapshot"))
    assert not runner.row(0).failed
    monkeypatch.setattr(locks, "_indexes", lambda _table: {})
    found = [(one.invariant, one.kind, one.status) for one in runner.row(0).violations]
    assert ("I10", "row-not-found", "violation") in found
