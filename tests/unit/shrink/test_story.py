"""The text of a shrunk scenario: it runs, it expects what it shows, its comments tell why."""

import re
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from ddlsim.checkers.judge import Violation, judge
from ddlsim.cluster.run import run
from ddlsim.history.events import ReadExecuted, TxCommitted
from ddlsim.history.history import History
from ddlsim.history.world_events import FaultBegan
from ddlsim.plan.plan import plan
from ddlsim.scenario import findings
from ddlsim.scenario.scenario import Scenario, read
from ddlsim.shrink.data import Data
from ddlsim.shrink.fault_words import begun_of
from ddlsim.shrink.story import Story, scenario_text, title_of
from ddlsim.shrink.trial import Shown
from ddlsim.verify.expectation import sum_of
from ddlsim.verify.row import row_of
from tests.support.shrinking import noisy, shown_of, shrunk

pytestmark = pytest.mark.slow


def text_of(name: str, seed: int) -> str:
    best = shrunk(name, seed).best
    said = ("It is broken.", "Because of this.")
    return scenario_text(best, said, "Shrunk.", "a source", "ddlsim run x.toml --expect")


def as_expected(scenario: Scenario) -> tuple[str, ...]:
    """What is not as the scenario expects."""
    row = row_of(run(plan(scenario, 0)), strict=False, all_claims=False, known=findings.known())
    return sum_of([row], reaches=scenario.reaches, expect=scenario.expect).unexpected


@pytest.mark.parametrize(
    ("name", "seed", "expect"),
    [
        ("findings/F-1", 0, {"finding": "F-1"}),
        ("negative/no_completeness_wait", 1, {"violated": ["atomicity"]}),
        ("negative/recovery_commits", 0, {"violated": ["serializability"]}),
    ],
)
def test_the_text_is_a_scenario_that_expects_what_it_shows(
    name: str, seed: int, expect: Data
) -> None:
    scenario = read(text_of(name, seed), "shrunk")
    assert isinstance(scenario.expect, dict)
    assert expect.items() < scenario.expect.items()
    assert as_expected(scenario) == ()
    assert scenario.source == "a source"


def test_a_file_with_another_signature_is_not_as_it_expects() -> None:
    """The fault that a replay must see: the run still fails, but in another way."""
    text = text_of("findings/F-1", 0)
    changed = re.sub(r'signature = "I3 [^"]*"', 'signature = "I3 serializability G1a"', text)
    [line] = as_expected(read(changed, "shrunk"))
    assert line == "expected the signature I3 serializability G1a, but nothing shows it"


def test_the_comments_tell_the_steps_in_the_order_of_time() -> None:
    text = text_of("findings/F-1", 0)
    told = re.findall(r"^  # ([\d.]+) ms: (.*)$", text, re.MULTILINE)
    instants = [float(at) for at, _ in told]
    assert instants == sorted(instants)
    assert len(told) == 6
    assert re.search(r"T1 runs SELECT \* FROM a under version 1 \(op_ts [\d+]+ on n1\)", text)
    assert "finds no row; answered at" in text.replace("\n  # ", " ")
    assert re.search(r"ALTER TABLE a ADD COLUMN w INT; D3 with Tm = [\d+]+, Tu = [\d+]+", text)
    assert re.search(r"T2 asks to commit; commit_ts = \d+", text)
    assert re.search(
        r"T1 reads b\[1\] under version 1 .*finds \[1\] of T2", text.replace("\n  # ", " ")
    )


def test_an_operation_of_several_parts_at_one_instant_has_one_timestamp() -> None:
    best = shrunk("findings/F-1", 0).best
    [read] = [one for one in best.history.of(ReadExecuted) if one.op == "r1"]
    once, twice = (Story(best)._data([read] * count) for count in (1, 2))
    assert "op_ts" in once
    assert " to " not in twice


def test_the_head_says_what_is_violated_and_how_to_repeat_it() -> None:
    head = text_of("findings/F-1", 0).split("\n\n")[0].splitlines()
    assert head == [
        "# It is broken.",
        "# Because of this.",
        "#",
        "# Shrunk.",
        "# Times are simulated milliseconds; in timestamps +10 is the hybrid clock's logical part.",
        "# Repeat it: ddlsim run x.toml --expect",
    ]


def test_what_stands_around_the_steps_is_told_too() -> None:
    data = noisy(
        hold=[
            {"from": "n1", "to": "n2", "kind": "append-entries", "from_ms": 5, "until_ms": 9,
             "messages": 1},
            {"from": "n1", "to": "n2", "from_ms": 5, "lost": True, "messages": 1},
            {"kind": "finish", "until": "w2.ok", "nth": 3},
        ],
        pause=[{"node": "n1", "point": "before-commit-ts", "tx": "T2", "until_ms": 400}],
        apply=[{"node": "n2", "stage": "log", "delay_ms": 2}],
        tick=[{"at_ms": 30}],
        leader=[{"group": "a/0", "node": "n2"}],
    )  # fmt: skip
    best, _ = shown_of({**data, "clock": [{"node": "n3", "at_ms": 40, "offset_ms": 1}]})
    text = scenario_text(best, ("Broken.",), "x", "planted", "y")
    for line in (
        "# From 5 ms: the first append-entries from n1 to n2 is kept back until 9 ms.",
        "# From 5 ms: the first message of any kind from n1 to n2 is lost.",
        "# From 0 ms: every finish from anywhere to anywhere, behind the first 2 of these, is",
        "# A task of T2 on n1 waits at before-commit-ts until 400 ms.",
        "# n2 takes 2 ms more at stage log.",
        "# 30 ms: an idle safe-time command.",
        "# From the start: n2 leads a/0.",
        "# 40 ms: the clock of n3 is 1 ms ahead of true time.",
        "# From 10 ms for 50 ms: ",
        "# DD = 50 ms, CSmax = 7 ms, H = 50 ms (between idle safe-time commands)",
    ):
        assert line in text, line
    found = judge(run(plan(read(text, "told"), 0)), findings=findings.known()).violations
    assert "finding:F-1" in [one.status for one in found]


def test_every_try_of_an_operation_is_told() -> None:
    """A step that was aborted, and tried again and committed, was told as aborted."""
    text = scenario_text(shown_of(LOOKED_UP)[0], ("Broken.",), "x", "planted", "y")
    told = " ".join(text.replace("\n  # ", " ").split())
    assert "c2 writes a[1]; try w, aborted: ROLLBACK_ONLY; try wr1 under version 1" in told
    assert re.search(r"; try wr1 under version 1 \(op_ts .* on n1\), commit_ts = ", told)


def test_of_many_tries_the_first_and_the_last_are_told() -> None:
    story = Story(shown_of(LOOKED_UP)[0])
    tries: dict[str, list[object]] = {name: [] for name in ("w", "wr1", "wr2", "wr3")}
    assert [*story._tried(tries)][1] == "2 more tries, wr1 to wr2"
    assert len([*story._tried(tries)]) == 3


def test_a_commit_that_recovery_stored_is_told_at_the_last_step() -> None:
    best = shrunk("negative/recovery_commits", 0).best
    [step] = [one for one in best.data["step"] if one.get("tx")][-1:]
    committed = {one.tx for one in best.history.of(TxCommitted)}
    assert step["tx"] in committed
    assert f"{step['tx']}: commit_ts = " in Story(best).step(step)


def test_clocks_are_told_with_how_far_they_are_from_true_time() -> None:
    clocks = {"nodes": {"n1": {"offset_ms": -1.5}, "n2": {"drift_ppm": 20}}}
    best, _ = shown_of(noisy(clocks=clocks))
    text = scenario_text(best, ("Broken.",), "x", "planted", "y")
    behind, drifts = (
        "the clock of n1 is 1.5 ms behind true time",
        "the clock of n2 drifts by +20 ppm",
    )
    assert f"# From the start {behind}, {drifts}." in text


LOOKED_UP: Data = {
    "title": "a late look-up",
    "source": "here",
    "step": [
        {"id": "d", "client": "c1", "node": "n1", "at_ms": 0, "ddl": "ALTER TABLE a RENAME TO t1"},
        {"id": "w", "client": "c2", "node": "n1", "after": "d.done", "do": ["put", "a", 1]},
    ],
    "cluster": {"nodes": 1},
    "strategy": {"mutant": "looks_up_in_the_past"},
    "protocol": {"preset": "ignite3_tests"},
    "schema": {"sql": "CREATE TABLE a (id INT PRIMARY KEY, v INT)"},
    "network": {"latency_ms": 1, "client_latency_ms": 1},
}


FAULTS = [
    ({"name": "pause", "node": "n3", "from_ms": 20, "for_ms": 2}, "# From 20 ms for 2 ms: "),
    (
        {"name": "clog", "node": "n3", "delay_ms": 1},
        "# From 0 ms until the load ends, at 3600 ms: ",
    ),
    (
        {"name": "clog", "node": "n3", "delay_ms": 1, "until": "update-logged"},
        '# From 0 ms until the moment "update-logged" (',
    ),
    (
        {"name": "leader_transfer", "from_ms": 900},
        "# At 900 ms: the leader of the meta storage hands over to its next voter (n2",
    ),
    (
        {"name": "lost_message", "kind": "are-older-open", "from_ms": 7},
        "# From 7 ms: the next are-older-open message is lost; it met no message.",
    ),
    (
        {"name": "pause", "node": "its node", "from_ms": 3, "for_ms": 1, "when": "tx-recovered"},
        "or found its end), from 3 ms on for 1 ms: its node stands still; it struck",
    ),
]


@pytest.mark.parametrize(("fault", "told"), FAULTS)
def test_a_fault_is_told_with_its_end_and_whether_it_met_anything(fault: Data, told: str) -> None:
    best, _ = shown_of(noisy(faults=[fault]))
    text = scenario_text(best, ("Broken.",), "x", "planted", "y")
    assert told in re.sub(r"\n# (?!At|From)", " ", text), text


def test_lines_of_comments_are_no_wider_than_a_page() -> None:
    text = text_of("negative/recovery_commits", 0)
    assert all(len(line) <= 100 for line in text.splitlines() if line.lstrip().startswith("#"))


def test_the_title_has_the_first_clauses_of_what_was_seen() -> None:
    summary = "T1 ran under version 2; version 3 drops a column"
    violation = Violation("I8", "forward_compatible", "x", "safety", "violation", False, summary)
    assert title_of(violation) == f"I8 forward_compatible: {summary}"
    long = structs.replace(violation, summary=f"{summary}; {'and so on ' * 9}")
    assert title_of(long) == f"I8 forward_compatible: {summary}"
    longer = structs.replace(violation, summary=f"T1 ran: {'and so on ' * 12}")
    assert title_of(longer) == "I8 forward_compatible: T1 ran"


TOLD = [
    ({"name": "partition", "shape": "link", "node": "n2", "side": ["n1", "n3"]},
     "messages between n2 and n1, n3 are lost"),
    ({"name": "partition", "shape": "one_way", "node": "n2"},
     "messages from n2 to other nodes are lost"),
    ({"name": "late_message", "kind": "finish", "to": "n2", "count": 2, "delay_ms": 5},
     "the next 2 finish messages to n2 are 5 ms late"),
    ({"name": "message_loss", "node": "n2", "kind": "finish", "probability": 0.2},
     "finish messages between n2 and other nodes are lost, each with probability 0.2"),
    ({"name": "message_reordering", "probability": 1},
     "messages between nodes overtake each other."),
    ({"name": "clog", "node": "n2", "to": "n3", "delay_ms": 4, "both_ways": True},
     "messages between n2 and n3 take 4 ms longer"),
    ({"name": "learner_lag", "node": "n2"}, "the meta storage log does not reach n2."),
    ({"name": "clock_step", "node": "n2", "by_ms": -4}, "n2's clock jumps back by 4 ms."),
    ({"name": "clock_drift", "node": "n2", "ppm": -4}, "n2's clock runs slower by 4 ppm."),
    ({"name": "clock_skew_beyond", "node": "n2", "beyond_ms": 4},
     "CSmax + 4 ms ahead of true time"),
    ({"name": "setting_change", "node": "n2", "key": "delay_duration_ms", "to": 4},
     "delay_duration_ms of n2 is 4 ms"),
    ({"name": "lost_message", "when": {"moment": "finish sent", "nth": 12, "plus_ms": 1.5}},
     'At the moment "finish sent" (the 12th time), 1.5 ms later: the moment\'s own message is'),
    ({"name": "crash", "node": "n1", "when": {"moment": "primary-granted", "node": "n1",
                                              "where": {"partition": "a/0"}, "nth": 2}},
     'At the moment "primary-granted" on n1 with partition = "a/0" (the 2nd time) until the load'),
    ({"name": "slow_disk", "node": "n2", "delay_ms": 3},
     "n2's disk takes 3 ms longer for each sync."),
    ({"name": "slow_listener", "node": "n2", "delay_ms": 3},
     "each command of the meta storage takes 3 ms longer on n2, in its listeners."),
    ({"name": "lease_loss", "place": "t"}, "not renew the lease of partition t/0."),
    ({"name": "leader_transfer", "group": "t/1", "to": "n2"},
     "the leader of partition t/1 hands over to n2."),
    ({"name": "re_election", "group": "its group", "rival": 1, "when": "finish sent"},
     "the leader of the moment's group steps down and stands for election, and so does the next"),
    ({"name": "swizzle", "nodes": ["n1", "n2"], "back": ["n2", "n1"]},
     "n1, n2 are cut off from all others, one every 50 ms, and 100 ms later they come back"),
    ({"name": "crash_majority"}, "most voters of the meta storage crash at once and start again"),
    ({"name": "crash_majority", "nodes": ["n1"], "lose_unsynced": True, "torn": 2},
     "n1 crashes and starts again without what its disk had not synced, but for the first 2 "),
    ({"name": "crash", "node": "n1"}, "n1 crashes and starts again with its disk."),
    ({"name": "doubled_message", "kind": "push"}, "push message is delivered twice at once"),
    ({"name": "pause", "node": "n1", "when": "update-logged",
      "until": {"at": "activation_ts", "plus_ms": 2}},
     " until the Tu (activation_ts) of that moment, 2 ms later: n1 stands still"),
]  # fmt: skip


def test_a_fault_that_is_sure_leaves_the_other_of_its_kind_to_the_second_event() -> None:
    cut = {"name": "partition", "shape": "one_node", "node": "its node", "when": "finish sent"}
    faults = [{**cut, "from_ms": 214}, {**cut, "from_ms": 80}]
    early = FaultBegan(90_000, "partition", None, ("n1",))
    later = FaultBegan(230_000, "partition", None, ("n2",))
    history = cast(History, SimpleNamespace(of=lambda *_: [early, later]))
    assert [begun_of(history, faults, one) for one in faults] == [later, early]
    history = cast(History, SimpleNamespace(of=lambda *_: [later, later]))
    assert [begun_of(history, faults, one) for one in faults] == [None, None]


def test_a_fault_is_told_in_the_words_of_its_fields() -> None:
    data, history = noisy(), cast(History, SimpleNamespace(events=[], of=lambda *_: ()))
    for fault, told in TOLD:
        best = SimpleNamespace(data={**data, "faults": [fault]}, history=history)
        assert told in Story(cast(Shown, best)).around("faults", fault)


def test_settings_of_the_protocol_are_told_where_there_is_a_protocol() -> None:
    def told(plane: str) -> str:
        numbers = {"": {"safe_time_interval_ms": 1, "delay_duration_ms": 2}}
        header = SimpleNamespace(design=SimpleNamespace(plane=plane), settings=numbers)
        history = SimpleNamespace(header=header, events=[])
        return Story(cast(Shown, SimpleNamespace(data={}, history=history))).settings()

    assert told("ignite") == "DD = 2 ms, H = 1 ms (between idle safe-time commands)"
    assert told("fdb") == ""
