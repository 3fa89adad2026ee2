"""Which designs fit a system: by what their headers say, and by their lines of the table."""

import math

import pytest
from msgspec import structs

from ddlsim.analysis.compare.advise import (
    GoalTable,
    LoadTable,
    SystemTable,
    missed,
    parsed,
    settings_of,
    split,
    unfit,
)
from ddlsim.analysis.compare.records import Value
from ddlsim.layer.switches import FEATURES
from ddlsim.model.design import DELAY_BOUNDED, LEASES_HOLD, SKEW_BOUNDED, Claim, DesignHeader
from ddlsim.scenario.load import load
from ddlsim.scenario.problems import ScenarioError
from ddlsim.strategies.base import DESIGNS
from tests.support.compared import a_breach, a_line

EVERY = tuple(Claim(f"I{number}") for number in range(1, 14))


def a_header(*claims: Claim, plane: str = "ignite") -> DesignHeader:
    """A design that claims everything, but for what is given."""
    given = {claim.invariant: claim for claim in claims}
    return DesignHeader("d", "", "", plane, tuple(given.get(one.invariant, one) for one in EVERY))


def less(*invariants: str) -> DesignHeader:
    """A design that does not claim these."""
    kept = tuple(claim for claim in EVERY if claim.invariant not in invariants)
    return DesignHeader("d", "", "", "ignite", kept)


def test_a_design_of_another_plane_does_not_fit() -> None:
    told = ["transactions of plane fdb are optimistic, and it locks no table; locking is asked for"]
    assert unfit(a_header(plane="fdb"), SystemTable(concurrency="locking")) == told
    told = ["transactions of plane ignite are locking; optimistic is asked for"]
    assert unfit(a_header(plane="ignite"), SystemTable(concurrency="optimistic")) == told
    assert unfit(a_header(plane="fdb"), SystemTable(concurrency="optimistic")) == []
    assert unfit(a_header(plane="fdb"), SystemTable()) == []


def test_a_design_that_locks_tables_fits_a_locking_system_on_either_plane() -> None:
    asked = SystemTable(concurrency="locking")
    assert unfit(a_header(plane="fdb"), asked, locks=True) == []
    assert unfit(a_header(), asked, locks=True) == []
    assert unfit(a_header(plane="fdb"), SystemTable(concurrency="optimistic"), locks=True) == []
    assert unfit(a_header(), SystemTable(concurrency="optimistic"), locks=True) != []


def test_a_locking_design_of_the_other_plane_is_told_what_it_lacks_and_not_its_plane() -> None:
    others = split([one for _, one in DESIGNS.items()], SystemTable(concurrency="locking")).others
    assert others["postgresql"] == ["it does not claim I1, I3, I4"]
    assert others["tidb_mdl"] == ["it does not claim I1, I2, I3, I8, I4"]


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
    designs = [one for _, one in DESIGNS.items()]
    chosen = split(designs, SystemTable(clocks="unbounded"))
    assert {"c16_safe", "c1_schema"} <= {*chosen.fitting}
    assert {DESIGNS.get(name).header.plane for name in chosen.fitting} == {"fdb"}
    assert {*chosen.fitting} | {*chosen.others} == {one.name for one in designs}
    assert "iep" in split(designs, SystemTable()).fitting
    assert "a1_naive_future" in split(designs, SystemTable()).others
    assert "a1_naive_future" in split(designs, SystemTable(delays="bounded")).fitting


def test_goals_are_compared_with_the_table() -> None:
    line = a_line("d", ddl_p99=Value(362.0), schema_aborts=Value(0.121))
    assert missed(line, SystemTable(), GoalTable()) == []
    assert missed(line, SystemTable(), GoalTable(ddl_p99_ms=362.0, schema_aborts=0.121)) == []
    assert missed(line, SystemTable(), GoalTable(ddl_p99_ms=361.0)) == [
        "DDL p99 is 362.0 ms, more than 361.0 ms"
    ]
    told = ["schema aborts is 12.10 %, more than 12.00 %"]
    assert missed(line, SystemTable(), GoalTable(schema_aborts=0.12)) == told
    few = a_line("d", dml_p99=Value(None, why="no durations"))
    assert missed(few, SystemTable(), GoalTable(dml_p99_ms=1.0)) == [
        "DML p99: no durations; dml_p99_ms cannot be judged"
    ]


@pytest.mark.parametrize(
    ("number", "goal", "told"),
    [
        (7e-6, 1e-6, "schema aborts is 0.0007 %, more than 0.0001 %"),
        (0.12004, 0.12, "schema aborts is 12.004 %, more than 12.000 %"),
        (math.nextafter(0.12, 1), 0.12, "schema aborts is 12."),
    ],
)
def test_a_goal_that_is_missed_by_little_has_as_many_digits_as_tell(
    number: float, goal: float, told: str
) -> None:
    line = a_line("d", schema_aborts=Value(number))
    (why,) = missed(line, SystemTable(), GoalTable(schema_aborts=goal))
    assert why.startswith(told)


def test_schema_aborts_are_judged_at_the_rate_of_the_system() -> None:
    """The runs have 4 statements per second; 6.3: 1 - (1 - 0.19)^(rate / 4)."""
    line = a_line("d", schema_aborts=Value(0.19), ddl_per_s=4.0)
    goals = GoalTable(schema_aborts=0.1)
    assert missed(line, SystemTable(), goals) == ["schema aborts is 19.00 %, more than 10.00 %"]
    assert missed(line, SystemTable(), goals, LoadTable(ddl_per_s=2)) == []
    rare = GoalTable(schema_aborts=0.00053)
    assert missed(line, SystemTable(), rare, LoadTable(ddl_per_s=0.01)) == []
    told = "schema aborts is 34.39 % at 8 statements per second (by 6.3, from 4), more than 10.00 %"
    assert missed(line, SystemTable(), goals, LoadTable(ddl_per_s=8)) == [told]
    unmet = a_line("d", schema_aborts=Value(None, why="no change"), ddl_per_s=None)
    (why,) = missed(unmet, SystemTable(), goals, LoadTable(ddl_per_s=2))
    assert why.endswith("schema_aborts cannot be judged")


BREACHES = [
    ("violation", "I3", True),
    ("stuck", "I9", True),
    ("violation", "I11", True),
    ("accepted", "I1", True),
    ("accepted", "I3", False),
    ("out_of_assumption", "I1", False),
]
"""Where I1 alone is needed: a breach, and whether it tells against the design."""


@pytest.mark.parametrize(("status", "invariant", "against"), BREACHES)
def test_a_breach_counts_if_it_is_of_a_claim_or_of_what_is_needed(
    status: str, invariant: str, *, against: bool
) -> None:
    system = SystemTable(invariants=("I1",), own_ddl=False, all_reachable=True)
    breach = structs.replace(a_breach(), status=status, invariant=invariant)
    line = a_line("d", verdict="unsafe", breaches=(breach,))
    told = [f"unsafe: the table shows that it breaks {invariant}"]
    assert missed(line, system, GoalTable()) == told * against


def test_a_design_of_which_no_run_ended_does_not_fit() -> None:
    line = a_line("d", verdict="not judged")
    assert missed(line, SystemTable(), GoalTable()) == ["not judged: no run ended"]


@pytest.mark.parametrize("verdict", ["untested", "unclaimed", "conditional"])
def test_a_design_that_no_change_has_met_is_not_proven(verdict: str) -> None:
    """Nor where a shipped scenario breaks what is not needed, as I1 of `tidb_lease`."""
    line = a_line("d", verdict=verdict, changes_met=Value(0.0))
    (why,) = missed(line, SystemTable(), GoalTable())
    assert why.startswith("untested: no change came into force under load")


LACKS = {
    "c7_ss_local": "local_keys",
    "c11_future_conflict": "future_write_conflicts",
    "c13_past": "past_read_conflicts",
    "c1c_replicas": "schema_replicas",
}
TAGGED = ("c12_grv", "c16_safe", "c16_states", "c16_tables", "record_layer")


def test_a_store_must_have_what_a_design_needs() -> None:
    designs = [one for _, one in DESIGNS.items()]
    as_it_is = split(designs, SystemTable()).others
    for name, feature in LACKS.items():
        assert as_it_is[name][0] == f"its store needs {feature}, {FEATURES[feature]}"
    wider = split(designs, SystemTable(store_has=tuple(FEATURES)))
    assert {"c7_ss_local", "c11_future_conflict", "c1c_replicas"} <= {*wider.fitting}
    assert wider.others["c13_past"] == ["it does not claim I1, I2, I3, I4"]
    of_2018 = split(designs, SystemTable(store_has=()))
    assert {one for one, why in of_2018.others.items() if "metadata_version" in why[0]} == {
        *TAGGED,
        "c12_at_start",
    }


ANSWERS = [
    # strategies.md, section 7: the facts, designs that fit, designs that do not
    ("concurrency = 'optimistic'\nclocks = 'unbounded'",
     "c1_schema c1b_version c3_copies c3b_versions c12_grv c16_safe",
     "c2_watch c4_session c5_lease c7_ss_local c11_future_conflict c12_at_start c14_modes iep"),
    ("concurrency = 'locking'\nclocks = 'unbounded'", "", "iep a3_barrier a7_dd c16_safe"),
    ("clocks = 'unbounded'\nown_ddl = false\ninvariants = ['I1', 'I2', 'I8']",
     "a5_safetime a6_safetime_csmax a7_dd iep", "a1_naive_future a2_warmup_physical a3_barrier"),
    ("concurrency = 'locking'", "a5_safetime a7_dd a4_ack_gate iep",
     "a0_on_receipt a1_naive_future a3_barrier ignite3"),
    ("concurrency = 'locking'\ndelays = 'bounded'", "a1_naive_future iep", "a2_warmup_physical"),
    # A1-T2: a fast clock alone is late, however short the delays
    ("delays = 'bounded'\nclocks = 'unbounded'\nown_ddl = false\ninvariants = ['I1', 'I2']",
     "a5_safetime a7_dd", "a1_naive_future a2_warmup_physical"),
    ("all_reachable = true", "a3_barrier c14_modes c1_schema", "c14_hoped c2b_poll"),
    ("own_ddl = false\ninvariants = ['I6', 'I7']\nclocks = 'unbounded'",
     "c6_f1 tidb_lease tidb_mdl crdb", "c5_lease c8_future_rv c16_safe"),
    ("own_ddl = false\ninvariants = ['I7']\nstore_has = ['past_read_conflicts']",
     "c10_two_cutoffs c13_past c1_schema c6_f1", "c9_future_cv c12_grv c15_known_bug"),
    # section 5 and B16: a statement waits for transactions that use the table
    ("concurrency = 'locking'\nown_ddl = false\ninvariants = ['I7']",
     "postgresql tidb_mdl b16_mdl iep", "crdb tidb_lease c6_f1 c5_lease c1_schema c16_safe"),
    ("concurrency = 'locking'\nown_ddl = false\ninvariants = ['I2', 'I7', 'I8']",
     "postgresql b16_mdl", "tidb_mdl crdb c1_schema"),
    ("concurrency = 'optimistic'\nown_ddl = false\ninvariants = ['I7']",
     "postgresql tidb_mdl crdb c1_schema", "b16_mdl iep"),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "fit", "others"), ANSWERS)
def test_systems_get_the_designs_of_the_catalogue(facts: str, fit: str, others: str) -> None:
    system = parsed(f"[system]\n{facts}\n", "facts.toml").system
    chosen = split([one for _, one in DESIGNS.items()], system)
    assert {*fit.split()} <= {*chosen.fitting}
    assert bool(fit) == bool(chosen.fitting)
    assert {*others.split()} <= {*chosen.others}


def test_the_load_is_set_in_the_scenarios_of_both_planes() -> None:
    """Transactions that cross a change are as others: a share of them only reads."""
    for plane, readers in (("ignite", ["mixed", "transborder"]), ("fdb", ["mixed"])):
        settings = settings_of(LoadTable(ddl_per_s=4, read_only=0.25), plane)
        table = load(f"comparison/{plane}", settings).table
        assert [one["name"] for one in table.workload if one.get("read_only") == 0.25] == readers
        assert table.migration[0].every_ms == 250
        assert settings_of(LoadTable(), plane) == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[system]\nclock = 'bounded'", "clocks"),
        ("[system]\nclocks = 'good'", "clocks"),
        ("[system]\ninvariants = ['I99']", "no invariant is called 'I99'"),
        ("[system]\nstore_has = ['local_key']", "did you mean local_keys?"),
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
