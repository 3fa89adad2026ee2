"""A fault begins at its moment: the right occurrence, on the right node, once, in the right order.

`expected` finds the occurrence a second time, from the recorded events and the trace of a run.
"""

from typing import Any

import pytest

from ddlsim.cluster import nemesis
from ddlsim.cluster.moments import Moments, Occurrence
from ddlsim.cluster.run import Run, run, run_to
from ddlsim.history.codec import load
from ddlsim.history.events import TxBegan, TxCommitted, UpdateLogged, WriteExecuted
from ddlsim.history.history import History
from ddlsim.history.world_events import (
    FaultBegan,
    FaultHealed,
    MessageDelivered,
    MessageSent,
    NodeCrashed,
    NothingMatched,
    TrafficDelayed,
)
from ddlsim.kernel.host import kind_of
from ddlsim.plan.plan import plan
from ddlsim.plan.records import MomentPlan, Plan
from ddlsim.scenario.scenario import read
from ddlsim.units import US_PER_MS, physical_ms

WORLD = """
[protocol]
preset = "ignite3_tests"
operation_timeout_ms = 1_000
commit_wait_ms = 500
resend_ms = 50
election_timeout_ms = 300
[cluster]
nodes = 4
voters = 3
partitions = 2
replicas = 3
[network]
latency_ms = 1
client_latency_ms = 0.5
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE u (id INT PRIMARY KEY, v INT)"
[run]
load_ms = 600
[[migration]]
at_ms = 150
every_ms = 150
node = "n2"
sql = "ALTER TABLE t ADD COLUMN w INT; ALTER TABLE u ADD COLUMN w INT"
[[workload]]
name = "mixed"
clients = 3
operations = 14
keys = 12
implicit = 0.0
"""


def planned(*faults: str, seed: int = 1, trace: bool = True) -> Plan:
    text = WORLD + "".join(f"[[faults]]\n{one}\n" for one in faults)
    return plan(read(text, "moments.toml"), seed, trace=trace)


def ran(*faults: str, **more: Any) -> History:
    return run(planned(*faults, **more))


def pause(when: str, more: str = "for_ms = 5", node: str = "its node") -> str:
    return f'name = "pause"\nnode = "{node}"\nwhen = {when}\n{more}'


def events_of(name: str) -> type:
    """The class of the events that a moment is made of; a trace's for messages."""
    kind, _, what = name.rpartition(" ")
    if kind:
        return MessageSent if what == "sent" else MessageDelivered
    known = {kind_of(each): each for each in (TxBegan, TxCommitted, UpdateLogged, WriteExecuted)}
    return known[name]


def expected(history: History, moment: MomentPlan, from_us: int = 0) -> Any:
    """The occurrence of a moment by the record of the run; None if it did not come."""
    assert moment.name is not None
    kind, _, what = moment.name.rpartition(" ")
    left = moment.nth
    for event in history.of(events_of(moment.name)):
        if kind and event.kind != kind:
            continue
        if getattr(event, "message_ts", 1) < 0:  # the schema at the start
            continue
        node = event.to if what == "delivered" else getattr(event, "sender", None) or event.node
        fits = moment.node in (None, node) and event.at_us >= from_us
        if moment.tx is not None:
            fits = fits and event.tx == moment.tx
        fits = fits and all(getattr(event, key) == value for key, value in moment.where.items())
        left -= fits
        if not left:
            return event
    return None


def complaints(history: History, chosen: Plan) -> list[str]:
    """Where the faults of a run did not begin as its record says that they should."""
    found = []
    began = history.of(FaultBegan)
    for fault in chosen.faults:
        assert fault.when is not None
        ours = [event for event in began if event.fault == fault.name]
        event = expected(history, fault.when, fault.from_us)
        if event is None or len(ours) != 1:
            found.append(f"{fault.name} began {len(ours)} times, expected {event}")
            continue
        at_us = event.at_us + fault.when.plus_us
        if ours[0].at_us != at_us:
            found.append(f"{fault.name} began at {ours[0].at_us}, expected {at_us}")
        node = getattr(event, "node", None) or event.sender
        if fault.fields.get("node") == "its node" and ours[0].nodes != (node,):
            found.append(f"{fault.name} began on {ours[0].nodes}, expected {node}")
    return found


CASES = {
    "event": pause('{ moment = "write-executed", nth = 7 }'),
    "event of a transaction": pause('{ moment = "tx-committed", tx = "mixed-2.3" }'),
    "event on a node": pause('{ moment = "write-executed", node = "n3", nth = 4 }'),
    "event with a field": pause('{ moment = "update-logged", where = { catalog_version = 4 } }'),
    "message sent": pause('{ moment = "finish sent", nth = 6 }'),
    "message sent later": pause('{ moment = "cleanup sent", plus_ms = 0.7 }', "from_ms = 100"),
    "after an instant": pause('"write-executed"', "from_ms = 133\nfor_ms = 9"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fault_begins_at_the_occurrence_that_its_moment_says(case: str) -> None:
    chosen = planned(CASES[case])
    assert complaints(run(chosen), chosen) == []


def one_too_early(self: Moments, awaited: Any, found: Occurrence) -> bool:
    fits = FITS(self, awaited, found)
    if fits and awaited.seen + 2 == awaited.plan.nth:
        awaited.seen += 1
    return fits


def never_counts_the_node(self: Moments, awaited: Any, found: Occurrence) -> bool:
    return FITS(self, awaited, found._replace(node=awaited.plan.node or found.node))


def forgets_from(self: Moments, awaited: Any, found: Occurrence) -> bool:
    awaited.from_us = 0
    return FITS(self, awaited, found)


def any_transaction(self: Moments, awaited: Any, found: Occurrence) -> bool:
    return FITS(self, awaited, found._replace(tx=awaited.plan.tx or found.tx))


def the_next_node(self: Moments, role: str, found: Occurrence) -> str:
    node = RESOLVE(self, role, found)
    return f"n{int(node[1:]) % 4 + 1}"


def twice(self: nemesis.Nemesis, attack: Any, found: Any = None) -> None:
    BEGIN(self, attack, found)
    BEGIN(self, attack, found)


def without_plus(self: Moments, awaited: Any, found: Occurrence) -> None:
    awaited.plan = MomentPlan(awaited.plan.name)
    GO_ON(self, awaited, found)


FITS, RESOLVE, GO_ON = Moments._fits, Moments.resolve, Moments._go_on
BEGIN = nemesis.Nemesis._begin
PLANTS: dict[str, tuple[type, str, Any, str]] = {
    "a wrong number": (Moments, "_fits", one_too_early, "event"),
    "a node that does not count": (Moments, "_fits", never_counts_the_node, "event on a node"),
    "an instant that does not count": (Moments, "_fits", forgets_from, "after an instant"),
    "another transaction": (Moments, "_fits", any_transaction, "event of a transaction"),
    "a wrong node": (Moments, "resolve", the_next_node, "message sent"),
    "a second beginning": (nemesis.Nemesis, "_begin", twice, "event"),
    "a forgotten delay": (Moments, "_go_on", without_plus, "message sent later"),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_defect_of_the_engine_is_seen(plant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, broken, case = PLANTS[plant]
    monkeypatch.setattr(owner, name, broken)
    chosen = planned(CASES[case])
    assert complaints(run(chosen), chosen) != []


# --- order ----------------------------------------------------------------------------------------


def stamped_and_dead() -> History:
    return ran('name = "crash"\nnode = "its node"\nwhen = "after-commit-ts"')


def finishes_after_the_crash(history: History) -> list[MessageSent]:
    """Outcomes that a crashed node sends after its crash."""
    (crash,) = history.of(NodeCrashed)
    place = history.events.index(crash)
    return [
        event
        for event in history.events[place:]
        if isinstance(event, MessageSent) and event.sender == crash.node and event.kind == "finish"
        and event.at_us == crash.at_us
    ]  # fmt: skip


def test_a_crash_at_a_point_comes_before_the_task_goes_on() -> None:
    history = stamped_and_dead()
    (began,) = history.of(FaultBegan)
    assert history.of(NodeCrashed)[0].at_us == began.at_us
    assert finishes_after_the_crash(history) == []
    decided = [e for e in history.of(TxCommitted) if e.at_us == began.at_us]
    assert decided == []


def test_a_fault_begins_after_the_step_that_its_moment_comes_in() -> None:
    """All that the step records stands before the fault: a write and its lock, say."""
    history = ran(pause('{ moment = "write-executed", nth = 3 }'))
    (began,) = history.of(FaultBegan)
    before = history.events[: history.events.index(began)]
    assert len([e for e in before if type(e) is WriteExecuted]) == 3
    third = history.of(WriteExecuted)[2]
    sent = [e for e in before if isinstance(e, MessageSent) and e.sender == third.node]
    assert sent[-1].at_us == began.at_us, "the intent leaves the node in the same step"


def test_a_fault_within_the_step_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(self: Moments, call: Any) -> None:
        call()

    monkeypatch.setattr(Moments, "_after_the_step", at_once)
    with pytest.raises(AssertionError):
        test_a_fault_begins_after_the_step_that_its_moment_comes_in()


def test_faults_at_one_moment_begin_in_the_order_of_the_file() -> None:
    both = [
        '\nname = "slow_disk"\nnode = "its node"\ndelay_ms = 1\nwhen = "after-commit-ts"',
        '\nname = "clock_drift"\nnode = "its node"\nppm = 5\nwhen = "after-commit-ts"',
    ]
    for faults in (both, both[::-1]):
        names = [event.fault for event in ran(*faults).of(FaultBegan)]
        assert [f'\nname = "{name}"' in one for name, one in zip(names, faults, strict=True)] == [
            True,
            True,
        ]


# --- what a moment binds --------------------------------------------------------------------------


def bound(role: str, when: str, seed: int = 1) -> tuple[FaultBegan, History]:
    history = ran(pause(when, node=role), seed=seed)
    (began,) = history.of(FaultBegan)
    return began, history


def test_its_sender_and_its_receiver_are_the_ends_of_the_message() -> None:
    for role, end in (("its sender", "sender"), ("its receiver", "to"), ("its node", "sender")):
        began, history = bound(role, '{ moment = "cleanup sent", nth = 2 }')
        second = [e for e in history.of(MessageSent) if e.kind == "cleanup"][1]
        assert began.nodes == (getattr(second, end),)
    began, history = bound("its node", '{ moment = "cleanup delivered", nth = 2 }')
    second = [e for e in history.of(MessageDelivered) if e.kind == "cleanup"][1]
    assert (began.nodes, began.at_us) == ((second.to,), second.at_us)


def test_its_coordinator_began_the_transaction() -> None:
    for nth in (3, 11):
        when = f'{{ moment = "write-executed", nth = {nth} }}'
        began, history = bound("its coordinator", when)
        write = history.of(WriteExecuted)[nth - 1]
        (begun,) = [e for e in history.of(TxBegan) if e.tx == write.tx]
        assert began.nodes == (begun.node,)


def test_its_primary_and_its_leader_belong_to_the_partition() -> None:
    for role in ("its primary", "its leader"):
        began, history = bound(role, '{ moment = "write-executed", nth = 5 }')
        assert began.nodes == (history.of(WriteExecuted)[4].node,)


def test_its_partition_at_a_point_is_where_the_transaction_commits() -> None:
    history = ran('name = "pause"\nnode = "its primary"\nwhen = "after-commit-check"\nfor_ms = 5')
    (began,) = history.of(FaultBegan)
    sent = [e for e in history.of(MessageSent) if e.kind == "finish" and e.at_us >= began.at_us]
    assert began.nodes == (sent[0].to,)


def test_a_role_that_the_occurrence_does_not_have_leaves_the_fault_without_effect() -> None:
    """A client is no node."""
    history = ran(pause('"client-commit sent"', node="its sender"))
    assert history.probes["fault-on-nobody"] == 1
    assert "struck nothing: no node had that part" in history.of(NothingMatched)[0].what


def test_a_table_narrows_a_moment_to_its_partitions() -> None:
    history = ran(pause('{ moment = "write-executed", table = "u" }'))
    (began,) = history.of(FaultBegan)
    ids = dict.fromkeys(event.object_id for event in history.of(WriteExecuted))
    first = next(e for e in history.of(WriteExecuted) if e.object_id == max(ids))
    assert began.at_us == first.at_us


# --- when it begins and heals ---------------------------------------------------------------------

LAG = 'name = "learner_lag"\nnode = "n4"\n'


def test_at_is_the_instant_at_which_true_time_reaches_a_timestamp() -> None:
    until = 'until = { at = "activation_ts", plus_ms = -3 }'
    history = ran(f'{LAG}when = {{ moment = "update-logged", plus_ms = 2 }}\n{until}')
    update = next(e for e in history.of(UpdateLogged) if e.at_us)
    (began,), (healed,) = history.of(FaultBegan), history.of(FaultHealed)
    assert began.at_us == update.at_us + 2_000
    assert healed.at_us == physical_ms(update.activation_ts) * US_PER_MS - 3_000
    late = ran(f'{LAG}when = {{ moment = "update-logged", at = "activation_ts" }}\nfor_ms = 4')
    times = [event.at_us for event in late.of(FaultBegan, FaultHealed)]
    assert times == [healed.at_us + 3_000, healed.at_us + 7_000]


def test_until_a_moment_is_awaited_from_the_beginning_on() -> None:
    history = ran(f'{LAG}from_ms = 100\nuntil = {{ moment = "tx-committed", nth = 2 }}')
    later = [e.at_us for e in history.of(TxCommitted) if e.at_us >= 100_000]
    (healed,) = history.of(FaultHealed)
    assert healed.at_us == later[1]


def test_chance_draws_which_time_it_is_before_the_run() -> None:
    when = pause('{ moment = "write-executed", nth = 2, chance = 0.25 }')
    drawn = [planned(when, seed=seed).faults[0].when for seed in range(300)]
    numbers = [moment.nth for moment in drawn if moment is not None]
    assert min(numbers) >= 2
    assert len(set(numbers)) > 10
    assert 7 < sum(numbers) / len(numbers) < 9, "2 successes at a quarter each take 8 trials"


def test_a_moment_that_does_not_come_is_reported() -> None:
    never = pause('{ moment = "finish sent", nth = 5_000 }')
    (what,) = [event.what for event in ran(never).of(NothingMatched)]
    assert what.startswith("faults[0] (pause on its node) struck nothing: its moment, finish sent")
    assert what.endswith("of 5000 times")
    (what,) = [event.what for event in ran(pause('"snapshot-install"')).of(NothingMatched)]
    assert what.endswith("its moment, snapshot-install, never came")


def test_an_end_that_does_not_come_is_reported() -> None:
    """The fault lasts until all are healed, as one without an end does."""
    history = ran(f'{LAG}from_ms = 100\nuntil = "snapshot-install"')
    (what,) = [event.what for event in history.of(NothingMatched)]
    lasted = "lasted until the load ended: its end, snapshot-install, never came"
    assert what == f"faults[0] (learner_lag on n4) {lasted}"
    came = ran(f'{LAG}from_ms = 100\nuntil = "tx-committed"')
    assert not came.of(NothingMatched)


# --- single messages ------------------------------------------------------------------------------


def of_kind(history: History, kind: str, event: type = MessageDelivered) -> list[Any]:
    return [each for each in history.of(event) if each.kind == kind]


def on_links(sent: list[Any]) -> list[Any]:
    """Without the messages of a node to itself."""
    return [event for event in sent if event.sender != event.to]


def ends(event: Any) -> tuple[str, str, int]:
    return event.sender, event.to, event.label


def test_lost_message_loses_that_of_its_moment_alone() -> None:
    history = ran('name = "lost_message"\nwhen = { moment = "cleanup sent", nth = 3 }')
    struck = on_links(of_kind(history, "cleanup", MessageSent))[2]
    (began,), (healed,) = history.of(FaultBegan), history.of(FaultHealed)
    assert began.nodes == (struck.sender, struck.to)
    assert began.at_us == healed.at_us == struck.at_us
    arrived = [ends(event) for event in of_kind(history, "cleanup")]
    lost = [ends(e) for e in of_kind(history, "cleanup", MessageSent) if ends(e) not in arrived]
    assert lost == [ends(struck)]


def test_late_message_delays_that_of_its_moment() -> None:
    late = 'name = "late_message"\ndelay_ms = 30\nwhen = { moment = "finish sent", nth = 2 }'
    history = ran(late)
    struck = on_links(of_kind(history, "finish", MessageSent))[1]
    (arrived,) = [e for e in of_kind(history, "finish") if ends(e) == ends(struck)]
    assert arrived.at_us == struck.at_us + 1_000 + 30_000


@pytest.mark.parametrize(
    ("more", "number"),
    [('when = { moment = "finish sent", nth = 2 }', 1), ('kind = "finish"\ncount = 900', -1)],
)
def test_the_end_of_the_load_records_how_late_struck_messages_are(more: str, number: int) -> None:
    history = ran(f'name = "late_message"\ndelay_ms = 800\n{more}')
    (healed,), (delayed,) = history.of(FaultHealed), history.of(TrafficDelayed)
    sent = [e for e in on_links(of_kind(history, "finish", MessageSent)) if e.at_us < healed.at_us]
    assert delayed.by_us == sent[number].at_us + 800_000 - healed.at_us
    assert (delayed.at_us, delayed.nodes) == (healed.at_us, healed.nodes)
    in_time = ran('name = "late_message"\ndelay_ms = 30\nwhen = "finish sent"')
    assert not in_time.of(TrafficDelayed)


def test_doubled_message_delivers_that_of_its_moment_again() -> None:
    twice = 'name = "doubled_message"\ndelay_ms = 40\nwhen = { moment = "finish sent", nth = 2 }'
    history = ran(twice)
    struck = on_links(of_kind(history, "finish", MessageSent))[1]
    arrived = [
        e.at_us - struck.at_us for e in of_kind(history, "finish") if ends(e) == ends(struck)
    ]
    assert arrived == [1_000, 41_000]


def test_a_kind_strikes_the_next_messages_of_it() -> None:
    history = ran('name = "lost_message"\nkind = "cleanup"\ncount = 3\nfrom_ms = 100')
    sent = on_links(of_kind(history, "cleanup", MessageSent))
    sent = [event for event in sent if event.at_us >= 100_000]
    arrived = [ends(event) for event in of_kind(history, "cleanup")]
    assert [ends(event) in arrived for event in sent[:4]] == [False, False, False, True]
    (healed,) = history.of(FaultHealed)
    assert healed.at_us == sent[2].at_us


# --- recording, streams, and without moments ------------------------------------------------------


def test_moments_come_without_recording_and_in_a_stream(tmp_path: Any) -> None:
    chosen = planned(CASES["event"], CASES["message sent"], stamped := PAUSED, trace=False)
    assert stamped
    whole = run(chosen)
    silent = run(replaced(chosen, recording=False))
    assert silent.events == []
    assert silent.probes == whole.probes
    assert silent.executed_events == whole.executed_events
    run_to(chosen, tmp_path / "run.jsonl")
    assert load(tmp_path / "run.jsonl").fingerprint() == whole.fingerprint()


PAUSED = 'name = "re_election"\ngroup = "its group"\nwhen = "after-commit-check"\n'


def replaced(chosen: Plan, **changes: Any) -> Plan:
    from msgspec.structs import replace

    return replace(chosen, **changes)


def test_without_moments_nothing_listens() -> None:
    made = Run(planned('name = "pause"\nnode = "n1"\nfrom_ms = 5', trace=False))
    recorder = made.cluster.recorder
    assert recorder.listeners is None
    assert recorder.record == recorder.history.events.append
    assert all(port.probe == port._count for port in made.cluster.ports.values())
    off = Run(planned('name = "pause"\nnode = "n1"\nfrom_ms = 5', trace=False, seed=2))
    assert not off.cluster.network._watches


def test_channels_of_a_moment_that_came_are_plain_again() -> None:
    made = Run(planned(CASES["message sent"], trace=False))
    made.carry_out()
    channels = made.cluster.network._channels.values()
    assert all(channel.on_send is None for channel in channels)
    assert [c for c in channels if c.kind == "finish" and not c.loopback and not c.plain] == []
