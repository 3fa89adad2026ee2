"""What the page and the sentences of a failure must show: a scenario of each kind, read again."""

import json
import re
from pathlib import Path

import pytest
from msgspec import structs

from ddlsim.checkers.argument import argue, prose
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import Violation, judge
from ddlsim.cli.picture.cut import subject_of
from ddlsim.cli.picture.space import Space, space
from ddlsim.cli.picture.words import cited, three_sentences
from ddlsim.cli.views.checked import amount_words
from ddlsim.cluster.run import run
from ddlsim.history.history import History
from ddlsim.model.clauses import CLAUSES
from ddlsim.plan.plan import plan
from ddlsim.scenario.findings import known
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import read
from tests.support.command import ddlsim

LATE = """
step = [
  { id = "d1", client = "c1", node = "n2", at_ms = 0, ddl = "ALTER TABLE a RENAME TO t1" },
  { id = "d2", client = "c1", node = "n1", ddl = "ALTER TABLE t1 RENAME TO a", after = "d1.done" },
  { id = "w", client = "c2", node = "n1", do = ["put", "b", 1], after = "d2.done" },
  { id = "d3", client = "c1", after = "d2.done", ddl = "ALTER TABLE b RENAME TO t2" },
]
title = "what is shown"
source = "here"
[strategy]
mutant = "no_completeness_wait"
[cluster]
nodes = 2
[protocol]
preset = "ignite3_tests"
delay_duration_ms = 20
operation_timeout_ms = 70
[schema]
sql = '''
CREATE ZONE z WITH (PARTITIONS = 4, REPLICAS = 3);
CREATE TABLE a (id INT PRIMARY KEY, v INT);
CREATE TABLE b (id INT PRIMARY KEY, v INT, s VARCHAR(20), CONSTRAINT pair UNIQUE (v, s)) ZONE z;
'''
[[faults]]
name = "partition"
shape = "one_node"
node = "primary of b"
when = { moment = "update-logged" }
from_ms = 1
"""
"""The update of d3 is committed when the partition heals, long after its Tu."""
SMALL = """
title = "what is shown"
source = "here"
[network]
latency_ms = 1
client_latency_ms = 1
[schema]
sql = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"
[cluster]
nodes = 1
[protocol]
preset = "ignite3_tests"
"""
LATE_LOOK_UP = f"""
step = [
  {{ id = "d", client = "c1", node = "n1", at_ms = 0, ddl = "ALTER TABLE a RENAME TO t1" }},
  {{ id = "w", client = "c2", node = "n1", after = "d.done", do = ["put", "a", 1] }},
]
strategy = {{ mutant = "looks_up_in_the_past" }}
{SMALL}
"""
MARKED = f"""
step = [
  {{ id = "d", client = "c1", node = "n1", at_ms = 0, ddl = "ALTER TABLE a RENAME TO t1" }},
  {{ id = "r", client = "c2", tx = "T", node = "n1", at_ms = 0, do = ["get", "a", 1] }},
]
strategy = {{ mutant = "marks_on_receipt" }}
{SMALL}
"""
STAMPED = """
step = [
  { id = "d1", client = "c1", node = "n1", ddl = "ALTER TABLE c ADD COLUMN d1 INT DEFAULT 1" },
  { id = "d2", client = "c2", node = "n3", after = "d1.done", ddl = "ALTER TABLE d ADD x INT" },
  { id = "d3", client = "c1", after = "d2.done", ddl = "ALTER TABLE c ALTER d1 SET DEFAULT 9" },
  { id = "w", client = "c3", node = "n3", at_ms = 18.785, do = ["put", "c", 1, { v = 41 }] },
]
title = "what is shown"
source = "here"
[strategy]
mutant = "one_phase_trusts_arrival"
[protocol]
delay_duration_ms = 5
max_clock_skew_ms = 2
safe_time_interval_ms = 2
[clocks]
nodes = { n1 = { offset_ms = -0.131 } }
[network]
latency_ms = 1
[schema]
sql = '''
CREATE ZONE z WITH (PARTITIONS = 2, REPLICAS = 3);
CREATE TABLE d (id INT PRIMARY KEY, v INT);
CREATE TABLE c (id INT PRIMARY KEY, v INT);
'''
"""


def history_of(text: str) -> History:
    return run(plan(read(text, "shown"), 0, trace=True))


def first(history: History, kind: str) -> Violation:
    return next(one for one in judge(history).violations if one.kind == kind)


def how(history: History, kind: str) -> str:
    """The second sentence."""
    violation, case = first(history, kind), Case(history)
    return three_sentences(case, violation, argue(case, violation))[1]


def test_a_wrong_look_up_is_told_with_when_its_node_had_the_update() -> None:
    """Whether a node lacked the update or looked it up wrongly was not to be seen."""
    late = how(history_of(LATE), "wrong-version")
    assert re.search(r"with Tm = 56\+\d+ ms and Tu = 76\+\d+ ms, in the log at \d{4}", late)
    assert re.search(r"; at \d{4}[\d.]* ms n1 applies D\d\.$", late), late
    wrong = how(history_of(LATE_LOOK_UP), "wrong-version")
    assert wrong.endswith("; n1 had applied D2 at 1 ms.")


def test_the_words_beside_a_bar_lie_beside_all_bars_of_their_client() -> None:
    """Tries of one operation overlap, and bars lay over the words of others."""
    history = history_of(LATE)
    violation, case = first(history, "wrong-version"), Case(history)
    drawn = space(case, violation, argue(case, violation))
    tries = [bar for bar in drawn.bars if bar.text.endswith("of client c2")]
    assert len({bar.x for bar in tries}) > 1
    lane = drawn.layout.lane("c2")
    assert lane is not None
    words = [one for one in drawn.notches if lane.left <= one.x < lane.right]
    assert words
    assert min(one.x for one in words) >= max(bar.x + bar.width for bar in tries)


def test_the_tm_of_a_statement_lies_behind_the_request_for_it() -> None:
    """Both are at 56 ms here, and the request was drawn below Tm."""
    history = history_of(LATE)
    violation, case = first(history, "wrong-version"), Case(history)
    drawn = space(case, violation, argue(case, violation))
    [asked] = [
        row.y
        for row in drawn.layout.rows
        if any(getattr(one, "op", None) == "d3" for one in drawn.steps.events_of(row.shown.step))
    ][:1]
    [tm] = [mark.y for mark in drawn.layout.marks if mark.named.name.startswith("Tm")]
    assert tm > asked


def test_explain_begins_with_what_the_scenario_expects_by_its_signature(tmp_path: Path) -> None:
    """The page of a shrunk scenario was about another violation of its run."""
    history = history_of(LATE)
    names = {(one.invariant, one.kind): one for one in judge(history).violations}
    assert len(names) > 1, names
    for (invariant, kind), violation in names.items():
        clauses = ", ".join(violation.clauses)
        signature = f"{invariant} {violation.checker} {kind}: {clauses}"
        head = f'expect = {{ violated = ["{violation.checker}"], signature = "{signature}" }}'
        (tmp_path / "one.toml").write_text(head + LATE)
        out = tmp_path / kind
        ran = ddlsim("run", str(tmp_path / "one.toml"), "--out", str(out), "--no-shrink")
        assert "seed-0.jsonl" in ran.out, ran.err
        done = ddlsim("explain", str(out / "seed-0.jsonl"), "--output", "json")
        assert json.loads(done.out)["arguments"][0]["kind"] == kind


@pytest.mark.parametrize(
    ("text", "kind"), [("MARKED", "marked-too-early"), ("STAMPED", "inconsistent-row")]
)
def test_the_update_that_a_transaction_met_is_told(text: str, kind: str) -> None:
    """The judges name neither: one came in force at commit_ts, the other was only known."""
    history = history_of({"MARKED": MARKED, "STAMPED": STAMPED}[text])
    violation, case = first(history, kind), Case(history)
    argument = argue(case, violation)
    assert subject_of(case, argument.parties, violation.witness).updates(case)
    what = r"D\d is ALTER TABLE .* with Tm = "
    assert re.match(what, three_sentences(case, violation, argument)[1])


@pytest.mark.parametrize("name", ["findings/F-7", "negative/values_stay_unlocked"])
def test_no_timestamp_of_the_beginning_is_a_number(name: str) -> None:
    """The initial schema was active from -86400000, and no schema from -70368744177664 on."""
    history = run(plan(load(name), 0))
    case = Case(history)
    for violation in judge(history, findings=known()).violations:
        argument = argue(case, violation)
        texts = [*three_sentences(case, violation, argument), *prose(argument), violation.summary]
        assert not re.search(r"-\d{6}", " ".join(texts))
        assert "the beginning ms" not in " ".join(texts)


def test_a_look_up_by_an_id_is_told_by_the_name_of_its_table() -> None:
    violation = first(history_of(LATE_LOOK_UP), "wrong-version")
    assert "resolving 'a' for w" in violation.summary
    ids = [one for one in judge(history_of(LATE)).violations if "(arrival)" in one.summary]
    assert all("object" not in one.summary for one in ids)


def test_the_end_of_an_alias_is_told_by_its_name() -> None:
    history = run(plan(load("negative/ends_alias_early"), 0))
    told = how(history, "alias-ended-early")
    assert "is the end of the name 't', with Tm" in told


def test_a_design_without_a_rule_for_newer_rows_is_not_said_to_have_one() -> None:
    """It was "the rule off does not allow"."""
    history = run(plan(load("strategies/B7-T1"), 0))
    reasons = [step.because for one in judge(history).violations for step in one.steps]
    assert any("which no rule allows" in one for one in reasons)


def test_a_stuck_run_of_a_mutant_names_the_mutant() -> None:
    history = run(plan(load("negative/ticks_in_old_term"), 0))
    case = Case(history)
    violation = first(history, "never-completed")
    counts = three_sentences(case, violation, argue(case, violation))[2]
    assert "the run is stuck, which counts whatever the design iep claims; it ran with" in counts
    assert "the mutant ticks_in_old_term (" in counts


def drawn(name: str, kind: str) -> Space:
    history = run(plan(load(name), 0, trace=True))
    violation, case = first(history, kind), Case(history)
    return space(case, violation, argue(case, violation))


def test_a_statement_that_made_several_updates_has_one_bar_with_all_their_names() -> None:
    shown = drawn("strategies/C9-T1", "schema-G2-item")
    [bar] = [one for one in shown.bars if one.look == "ddl"]
    assert bar.text.startswith("D2, D3, of client ")


def test_bars_stand_side_by_side_in_the_order_of_their_beginnings() -> None:
    """A statement stood beside the line of its client, for a transaction that began later."""
    shown = drawn("strategies/A8-T2", "resolved-too-early")
    own = sorted(shown.bars, key=lambda bar: bar.top)
    assert len(own) > 1
    assert all(bar.x == own[0].x for bar in own if bar.top >= own[0].bottom)
    lane = shown.layout.lanes[0]
    assert own[0].x == lane.x - 4


def test_an_operation_without_an_answer_is_drawn_with_what_its_node_did() -> None:
    """No message leads back to its client, and the picture had its client alone."""
    shown = drawn("negative/ticks_in_old_term", "never-completed")
    assert {lane.kind for lane in shown.layout.lanes} == {"client", "node"}
    assert shown.arrows


def test_one_of_what_was_looked_at_is_said_as_one() -> None:
    assert amount_words(1, "nodes") == "1 node"
    assert amount_words(1, "queries by an index") == "1 query by an index"
    assert amount_words(1, "aborted or read-only transactions that read") == (
        "1 aborted or read-only transaction that read"
    )
    assert amount_words(1_000, "look-ups of a schema") == "1,000 look-ups of a schema"
    assert amount_words(1, "acknowledged DDL") == "1 acknowledged DDL"


AHEAD = """
step = [
  { id = "d", client = "c1", node = "n1", at_ms = 0, ddl = "ALTER TABLE t DROP COLUMN w" },
  { id = "r1", client = "c2", node = "n3", at_ms = 95, do = ["get", "t", 1] },
  { id = "r2", client = "c3", node = "n1", after = "r1.done", do = ["get", "t", 2] },
]
title = "what is shown"
source = "here"
[clocks]
nodes = { n3 = { offset_ms = 5 } }
[protocol]
preset = "ignite3_tests"
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, w INT)"
[cluster]
partitions = 2
"""


def test_a_band_that_began_before_the_run_begins_with_the_picture() -> None:
    """The clock of n3 shows Tm from the beginning; its band began where the update was logged."""
    history = history_of(AHEAD)
    [violation] = judge(history).violations
    case = Case(history)
    shown = space(case, violation, argue(case, violation))
    bands = {one.text.partition(": ")[0][-2:]: one.top for one in shown.bands if one.look == "dd"}
    assert bands["n3"] < bands["n1"]
    assert bands["n3"] <= min(row.y for row in shown.layout.rows)


def test_the_clauses_that_a_failure_names_are_said_in_words(tmp_path: Path) -> None:
    """Their ids are ours: a reader of the documents does not know them."""
    says = {clause.id: clause.sentence for clause in CLAUSES}
    file = tmp_path / "one.toml"
    file.write_text(LATE_LOOK_UP)
    page = tmp_path / "page.html"
    done = ddlsim("shrink", str(file), "--html", str(page))
    head = " ".join(done.out.partition("\n\n")[0].replace("\n# ", " ").split())
    named = {*re.findall(r"\[(\d+\.[.\w]+)\]", head.partition("Clauses: ")[0])}
    assert named
    for one in named:
        assert f"[{one}] {says[one]}" in head
        assert f"[{one}] {says[one]}" in page.read_text("utf-8")
    violation = first(history_of(LATE_LOOK_UP), "wrong-version")
    [broken, *_], other = violation.clauses, CLAUSES[-1].id
    twice = cited(violation, (f"by [{other}] and [{broken}]",))
    assert twice.count(f"[{broken}]") == twice.count(f"[{other}] {says[other]}") == 1
    assert cited(structs.replace(violation, clauses=()), ()) == ""
