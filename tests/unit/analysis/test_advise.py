"""Which designs fit a system: by what their headers say, and by their lines of the table."""

import pytest
from msgspec import structs

from ddlsim.analysis.compare.advise import (
    FITTING,
    GoalTable,
    LoadTable,
    SystemTable,
    missed,
    parsed,
    settings_of,
    split,
    unfit,
)
from ddlsim.analysis.compare.records import WORDS, Value
from ddlsim.model.design import DELAY_BOUNDED, LEASES_HOLD, SKEW_BOUNDED, Claim, DesignHeader
from ddlsim.scenario.load import load
from ddlsim.scenario.problems import ScenarioError
from ddlsim.strategies.base import DESIGNS
from tests.support.compared import a_breach, a_line

EVERY = tuple(Claim(f"I{number}") for number in range(1, 13))


def a_header(*claims: Claim, plane: str = "ignite") -> DesignHeader:
    """A design that claims everything, but for what is given."""
    given = {claim.invariant: claim for claim in claims}
    return DesignHeader("d", "", "", plane, tuple(given.get(one.invariant, one) for one in EVERY))


def less(*invariants: str) -> DesignHeader:
    """A design that does not claim these."""
    kept = tuple(claim for claim in EVERY if claim.invariant not in invariants)
    return DesignHeader("d", "", "", "ignite", kept)


def test_a_design_of_another_plane_does_not_fit() -> None:
    told = ["it runs on plane fdb; locking is asked for"]
    assert unfit(a_header(plane="fdb"), SystemTable(concurrency="locking")) == told
    assert unfit(a_header(plane="fdb"), SystemTable(concurrency="optimistic")) == []
    assert unfit(a_header(plane="fdb"), SystemTable()) == []


def test_a_needed_invariant_must_be_claimed() -> None:
    assert unfit(less("I3", "I5"), SystemTable()) == ["it does not claim I3"]
    assert unfit(less("I4"), SystemTable()) == ["it does not claim I4"]
    assert unfit(less("I4"), SystemTable(own_ddl=False)) == []
    assert unfit(less("I9"), SystemTable()) == ["it does not claim I9"]
    assert unfit(less("I9"), SystemTable(all_reachable=True)) == []
    assert unfit(less("I3"), SystemTable(invariants=("I1",))) == []


def test_what_a_claim_assumes_must_hold() -> None:
    clocks, delays = Claim("I4", (SKEW_BOUNDED,)), Claim("I1", (DELAY_BOUNDED,))
    assert unfit(a_header(clocks), SystemTable()) == []
    told = [f"for I4 it assumes {SKEW_BOUNDED}, and clocks have no bound"]
    assert unfit(a_header(clocks), SystemTable(clocks="unbounded")) == told
    assert unfit(a_header(clocks), SystemTable(clocks="unbounded", own_ddl=False)) == []
    twice = Claim("I4", (SKEW_BOUNDED, LEASES_HOLD, SKEW_BOUNDED))
    lines = unfit(a_header(twice), SystemTable(clocks="unbounded"))
    assert lines[0] == told[0], "an invariant is named once"
    told = [f"for I1 it assumes {DELAY_BOUNDED}, and delays have no bound"]
    assert unfit(a_header(delays), SystemTable()) == told
    assert unfit(a_header(delays), SystemTable(delays="bounded")) == []
    odd = unfit(a_header(Claim("I1", ("the moon is full",))), SystemTable())
    assert odd == ["for I1 it assumes the moon is full, and no fact here ensures it"]


def test_leases_fit_where_clocks_differ_without_a_bound_but_run_at_a_known_rate() -> None:
    leased = DESIGNS.get("c6_f1").header
    wanted = SystemTable(clocks="unbounded", own_ddl=False, invariants=("I6", "I7"))
    assert unfit(leased, wanted) == []
    (why,) = unfit(leased, structs.replace(wanted, rates="unbounded"))
    assert why == "for I6, I7 it assumes drift<=margin, and rates have no bound"


def test_the_known_designs_are_split_by_their_claims_alone() -> None:
    headers = [one.header for _, one in DESIGNS.items()]
    chosen = split(headers, SystemTable(clocks="unbounded"))
    assert {"c16_safe", "c1_schema"} <= {*chosen.fitting}
    assert {DESIGNS.get(name).header.plane for name in chosen.fitting} == {"fdb"}
    assert {*chosen.fitting} | {*chosen.others} == {one.name for one in headers}
    assert "iep" in split(headers, SystemTable()).fitting
    assert "a1_naive_future" in split(headers, SystemTable()).others
    assert "a1_naive_future" in split(headers, SystemTable(delays="bounded")).fitting


def test_goals_are_compared_with_the_table() -> None:
    line = a_line("d", ddl_p99=Value(362.0), schema_aborts=Value(0.121))
    assert missed(line, GoalTable()) == []
    assert missed(line, GoalTable(ddl_p99_ms=362.0, schema_aborts=0.121)) == []
    assert missed(line, GoalTable(ddl_p99_ms=361.0)) == ["DDL p99 is 362.0 ms, more than 361.0 ms"]
    told = ["schema aborts is 12.10 %, more than 12.00 %"]
    assert missed(line, GoalTable(schema_aborts=0.12)) == told
    few = a_line("d", dml_p99=Value(None, why="no durations"))
    assert missed(few, GoalTable(dml_p99_ms=1.0)) == [
        "DML p99: no durations; dml_p99_ms cannot be judged"
    ]


@pytest.mark.parametrize("word", [word for word in WORDS if word not in FITTING])
def test_a_design_that_the_table_shows_broken_does_not_fit(word: str) -> None:
    line = a_line("d", verdict=word, breaches=(a_breach(),))
    assert missed(line, GoalTable()) == [f"{word}: the table shows that it breaks I1"]


def test_the_load_is_set_in_the_scenarios_of_both_planes() -> None:
    settings = settings_of(LoadTable(ddl_per_s=4, read_only=0.25))
    assert settings == {"migration[0].every_ms": 250, "workload[0].read_only": 0.25}
    for plane in ("ignite", "fdb"):
        scenario = load(f"comparison/{plane}", settings)
        assert scenario.table.workload[0]["read_only"] == 0.25
        assert scenario.table.migration[0].every_ms == 250
    assert settings_of(LoadTable()) == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[system]\nclock = 'bounded'", "clocks"),
        ("[system]\nclocks = 'good'", "clocks"),
        ("[system]\ninvariants = ['I99']", "no invariant is called 'I99'"),
        ("[load]\nread_only = 2", "read_only"),
        ("[goals]\nddl_p99_ms = 0", "ddl_p99_ms"),
        ("[system", "TOML"),
    ],
)
def test_a_slip_in_the_file_is_one_line(text: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=r"facts\.toml") as caught:
        parsed(text, "facts.toml")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
