"""The log of updates on every node: stamps, compare-and-set, stages of application, idle ticks."""

from typing import Any

import pytest

from sim.history.events import SafeTimeAdvanced, UpdateApplied, UpdateLogged
from sim.kernel.loop import Loop
from sim.model.ddl import ObjectChange
from sim.protocol.catalog import Catalog
from sim.protocol.ddl import Built, build
from sim.protocol.messages import CatalogUpdate, SafeTimeCommand, Submit, Submitted
from sim.protocol.metastorage import MetaStorage, Stamped
from sim.protocol.raft import AppendEntries, Member
from sim.protocol.schema_sync import SchemaSync
from sim.protocol.strategy import Strategy
from sim.strategies.iep import IEP, IEP_LITERAL
from sim.units import physical_ms, timestamp
from tests.helpers_protocol import ADD, LONG_AGO_MS, FakeNode, Sent, T, Wire, catalog_of, run_until
from tests.schemas import statement

INITIAL = catalog_of((T, LONG_AGO_MS))


class Part:
    """One node's meta storage with what it stands on."""

    def __init__(self, wire: Wire, name: str, voters: str, learners: str, group: "Group") -> None:
        self.node = FakeNode(name, wire, **group.changes)
        self.catalog: Catalog = catalog_of((T, LONG_AGO_MS))
        self.sync = SchemaSync(self.node, group.strategy, self.catalog)
        member = Member(name, tuple(voters), tuple(learners), voters[0])
        self.meta = MetaStorage(
            self.node,
            member,
            group.strategy,
            self.catalog,
            self.sync,
            cluster_delay_ms=group.cluster_delay_ms,
            idle_ticks=group.idle_ticks,
        )

    @property
    def log(self) -> list[Stamped]:
        return [entry.command for entry in self.meta.member.log]


class Group:
    """Voters and learners on a wire that takes 1 ms; the first voter leads. No idle ticks."""

    def __init__(
        self,
        voters: str = "abc",
        learners: str = "",
        *,
        strategy: Strategy = IEP,
        idle_ticks: bool = False,
        cluster_delay_ms: int = 100,
        **changes: Any,
    ) -> None:
        self.strategy, self.idle_ticks, self.changes = strategy, idle_ticks, changes
        self.cluster_delay_ms = cluster_delay_ms
        self.loop = Loop()
        self.wire = Wire(self.loop)
        self.wire.fate = lambda sent: (0 if sent.sender == sent.to else 1000,)
        self.parts = {
            name: Part(self.wire, name, voters, learners, self) for name in voters + learners
        }

    def __getitem__(self, name: str) -> Part:
        return self.parts[name]

    def submit(self, name: str, update: CatalogUpdate) -> list[Submitted]:
        """Have a node submit an update; the answer is put into the list."""
        answers: list[Submitted] = []

        async def submitted() -> None:
            answers.append(await self.parts[name].meta.submit(update))

        self.parts[name].node.spawn(submitted())
        return answers

    def until(self, at_ms: float) -> None:
        run_until(self.loop, at_ms)

    def of(self, kind: type) -> list[Any]:
        """What all nodes recorded of one kind, in order."""
        return [event for part in self.parts.values() for event in part.node.of(kind)]


def objects(asked: str = ADD) -> tuple[ObjectChange, ...]:
    """What a statement makes of the initial schema."""
    built = build(statement(asked), INITIAL.latest(), INITIAL.latest().next_object_id)
    assert isinstance(built, Built)
    return built.objects


def update(op: str = "d", *, expected: int = 1, delay_ms: int = 100) -> CatalogUpdate:
    """An update that was built against a catalog version."""
    return CatalogUpdate(f"{op}/0", expected, delay_ms, objects())


# --- submitting --------------------------------------------------------------------------------------


def test_an_update_reaches_the_catalog_of_every_node() -> None:
    """Through the log, from whichever node submits it, voters and learners alike."""
    group = Group("abc", "d")
    answers = group.submit("d", update())
    group.until(10)
    assert [(a.accepted, a.catalog_version) for a in answers] == [(True, 2)]
    assert {name: part.catalog.version for name, part in group.parts.items()} == dict.fromkeys(
        "abcd", 2
    )


def test_it_activates_a_delay_duration_after_the_leaders_stamp() -> None:
    """Tm is the leader's now and Tu = Tm + DD, the same on every node."""
    group = Group("ab")
    group.submit("b", update())
    group.until(10)
    [stamped] = group["a"].log
    assert physical_ms(stamped.message_ts) == 1
    assert {part.catalog.activation_of(2) for part in group.parts.values()} == {
        stamped.message_ts + timestamp(100)
    }


def test_the_stamp_lies_after_the_time_of_whoever_submits() -> None:
    """The leader merges the submitter's clock, and the submitter the leader's."""
    group = Group("ab")
    group["b"].node.ahead_ms = 70
    group.submit("b", update())
    group.until(10)
    [stamped] = group["a"].log
    assert stamped.message_ts > timestamp(70)
    group = Group("ab")
    group["a"].node.ahead_ms = 70
    group.submit("b", update())
    group.until(10)
    assert group["b"].node.clock.current() > timestamp(71)


def test_stamps_rise_strictly_in_the_order_of_the_log() -> None:
    """Whoever submits when, and however many fall into one millisecond."""
    group = Group("abc")
    for number, name in enumerate("abcabc"):
        group.submit(name, update(f"d{number}"))
    group["a"].meta.tick()
    group.until(10)
    stamps = [stamped.message_ts for stamped in group["c"].log]
    assert len(stamps) == 7
    assert stamps == sorted(set(stamps))


def test_of_two_updates_built_on_one_version_one_takes_effect() -> None:
    """The other is told the version that it lost to; every node decides alike."""
    group = Group("abc", "d")
    winner, loser = group.submit("a", update("x")), group.submit("b", update("y"))
    group.until(10)
    assert [(a.accepted, a.catalog_version) for a in winner + loser] == [(True, 2), (False, 2)]
    assert {part.catalog.version for part in group.parts.values()} == {2}
    assert {part.node.probes["catalog-cas-lost"] for part in group.parts.values()} == {1}


def test_an_update_built_on_a_version_to_come_is_refused_too() -> None:
    """Compare-and-set means equal."""
    group = Group("a")
    answers = group.submit("a", update(expected=2))
    group.until(10)
    assert [(a.accepted, a.catalog_version) for a in answers] == [(False, 1)]


def test_an_update_is_logged_once_for_all_and_applied_once_on_each_node() -> None:
    """In the history, under the operation of the client that asked for it."""
    group = Group("abc")
    group.submit("b", update("c1.d4"))
    group.until(10)
    logged = group.of(UpdateLogged)
    assert {(e.op, e.catalog_version, e.index, e.delay_duration_ms) for e in logged} == {
        ("c1.d4", 2, 1, 100)
    }
    assert [e.node for e in group.of(UpdateApplied)] == ["a", "b", "c"]
    assert {(e.message_ts, e.activation_ts) for e in group.of(UpdateApplied)} == {
        (e.message_ts, e.activation_ts) for e in logged
    }


# --- messages that come twice or not at all ----------------------------------------------------------


def test_a_submission_that_comes_twice_takes_effect_once() -> None:
    """Both are answered alike; what is appended again has a stamp of its own [98.x.5]."""
    group = Group("ab")
    group.wire.fate = lambda sent: (1000, 1000) if type(sent.payload) is Submit else (1000,)
    answers = group.submit("b", update())
    group.until(10)
    assert [(a.accepted, a.catalog_version) for a in answers] == [(True, 2)]
    first, second = (stamped.message_ts for stamped in group["b"].log)
    assert first < second
    assert group["b"].catalog.version == 2
    replies = group.wire.payloads(Submitted)
    assert {(a.accepted, a.catalog_version) for a in replies} == {(True, 2)}
    assert len(replies) == 2


def test_a_submission_that_comes_again_later_is_answered_from_memory() -> None:
    """Also with a refusal: the outcome of a command never changes."""
    group = Group("a")
    group.submit("a", update("x"))
    group.submit("a", update("y"))
    group.until(10)
    again = group.submit("a", update("x")) + group.submit("a", update("y"))
    assert again == []
    first, second = group.submit("a", update("x")), group.submit("a", update("y"))
    group.until(20)
    assert [(a.accepted, a.catalog_version) for a in first + second] == [(True, 2), (False, 2)]
    assert len(group["a"].log) == 2


@pytest.mark.parametrize("lost", [Submit, Submitted])
def test_a_submission_is_repeated_until_it_is_answered(lost: type) -> None:
    """Whether it was lost or its answer."""
    group = Group("ab")
    group.wire.fate = lambda sent: () if type(sent.payload) is lost else (1000,)
    answers = group.submit("b", update())
    group.until(30)
    assert answers == []
    group.wire.fate = lambda _: (1000,)
    group.until(60)
    assert [(a.accepted, a.catalog_version) for a in answers] == [(True, 2)]
    assert group["b"].node.probes["submit-resent"] == 2
    assert group["b"].catalog.version == 2


def lost_to(name: str) -> Any:
    """The fate of a node that hears nothing of the log."""
    return lambda sent: () if sent.to == name and type(sent.payload) is AppendEntries else (1000,)


def test_what_a_member_did_not_get_is_sent_again_until_it_has_it() -> None:
    """And then no more."""
    group = Group("abc")
    group.wire.fate = lost_to("c")
    group.submit("a", update())
    group.until(90)
    assert (group["c"].catalog.version, group["a"].catalog.version) == (1, 2)
    assert group["a"].node.probes["append-resent"] == 3
    group.wire.fate = lambda _: (1000,)
    group.until(130)
    assert group["c"].catalog.version == 2
    said = len(group.wire.sent)
    group.until(1000)
    assert len(group.wire.sent) == said


def test_appends_that_come_twice_and_out_of_order_change_nothing() -> None:
    """Every node ends with the same log, applied in order."""
    group = Group("abc")
    delays = iter([5000, 1000, 9000, 2000, 3000, 7000] * 20)
    group.wire.fate = lambda sent: (next(delays), next(delays)) if sent.sender != sent.to else (0,)
    for number in range(4):
        group.submit("a", update(f"d{number}", expected=number + 1))
        group["a"].meta.tick()
    group.until(200)
    assert group["a"].log == group["b"].log == group["c"].log
    assert {part.catalog.version for part in group.parts.values()} == {5}
    for name in "abc":
        moved = [event.safe_ts for event in group[name].node.of(SafeTimeAdvanced)]
        assert moved == [stamped.message_ts for stamped in group["a"].log]


# --- the delay in the message ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "own_ms", "carried_ms"),
    [(IEP, 40, 100), (IEP, 100, 100), (IEP, 160, 160), (IEP_LITERAL, 40, 40)],
)
def test_a_message_carries_a_delay_that_no_readers_exceeds(
    strategy: Strategy, own_ms: int, carried_ms: int
) -> None:
    """The leader raises it to the largest of the cluster [98.x.4]; the text alone does not."""
    group = Group("ab", strategy=strategy, cluster_delay_ms=100)
    group.submit("b", update(delay_ms=own_ms))
    group.until(10)
    [stamped] = group["b"].log
    assert isinstance(stamped.command, CatalogUpdate)
    assert stamped.command.delay_duration_ms == carried_ms
    assert group["b"].catalog.activation_of(2) == stamped.message_ts + timestamp(carried_ms)
    assert [e.delay_duration_ms for e in group["b"].node.of(UpdateLogged)] == [carried_ms]


# --- stages of application -----------------------------------------------------------------------------


def test_safe_time_is_the_stamp_of_the_last_command_applied() -> None:
    """On each node, when the command is applied there."""
    group = Group("ab")
    group.submit("a", update())
    group.until(2)
    [stamped] = group["a"].log
    assert group["a"].sync.safe_time == stamped.message_ts
    assert group["b"].sync.safe_time < stamped.message_ts
    group.until(3)
    assert group["b"].sync.safe_time == stamped.message_ts


def test_safe_time_waits_for_the_catalog_and_no_tick_overtakes_it() -> None:
    """A tick behind a slow update is published after it [98.x.3]."""
    group = Group("a")
    group["a"].meta.delays.catalog = 5000
    group.submit("a", update())
    group.until(1)
    group["a"].meta.tick()
    group.until(4)
    assert (group["a"].catalog.version, len(group["a"].log)) == (1, 2)
    assert group["a"].node.of(SafeTimeAdvanced) == []
    group.until(5)
    assert group["a"].catalog.version == 2
    safe_times = [(e.at_us, e.safe_ts) for e in group["a"].node.of(SafeTimeAdvanced)]
    assert safe_times == [(5000, stamped.message_ts) for stamped in group["a"].log]


def test_the_text_alone_lets_safe_time_run_ahead_of_the_catalog() -> None:
    """Which is what makes the rule above necessary."""
    group = Group("a", strategy=IEP_LITERAL)
    group["a"].meta.delays.catalog = 5000
    group.submit("a", update())
    group.until(1)
    assert group["a"].catalog.version == 1
    assert group["a"].sync.safe_time == group["a"].log[0].message_ts


def test_ticks_do_not_wait_where_no_update_does() -> None:
    """Slow catalog listeners are slow about updates only."""
    group = Group("a")
    group["a"].meta.delays.catalog = 5000
    group["a"].meta.tick()
    assert group["a"].sync.safe_time == group["a"].log[0].message_ts


def test_a_slow_log_applies_one_command_after_another() -> None:
    """Each takes its time, in order; the answer to the submission too."""
    group = Group("a")
    group["a"].meta.delays.log = 5000
    answers = group.submit("a", update("x"))
    group.until(0)
    group["a"].meta.tick()
    moments = []
    for at_ms in (4, 5, 9, 10):
        group.until(at_ms)
        moments.append((group["a"].catalog.version, len(group["a"].node.of(SafeTimeAdvanced))))
    assert moments == [(1, 0), (2, 1), (2, 1), (2, 2)]
    assert len(answers) == 1


def test_a_stage_that_becomes_quick_again_still_keeps_the_order() -> None:
    """What is already waiting waits to its end; the rest follows at once."""
    group = Group("a")
    group["a"].meta.delays.log = group["a"].meta.delays.catalog = 5000
    group.submit("a", update("x"))
    group.submit("a", update("y", expected=2))
    group.until(1)
    group["a"].meta.delays.log = group["a"].meta.delays.catalog = 0
    group.until(4)
    assert group["a"].catalog.version == 1
    group.until(6)
    assert group["a"].catalog.version == 3
    versions = [event.catalog_version for event in group["a"].node.of(UpdateApplied)]
    assert versions == [2, 3]


def test_other_listeners_hold_nothing_up() -> None:
    """However slow they are."""
    group = Group("a")
    group["a"].meta.delays.listener = 10**9
    answers = group.submit("a", update())
    group.until(1)
    assert group["a"].catalog.version == 2
    assert group["a"].sync.safe_time == group["a"].log[0].message_ts
    assert len(answers) == 1


def test_a_catalog_version_can_be_waited_for() -> None:
    """Each waiter for its own version, listeners included; at once where it is known already."""
    group = Group("a")
    part, woken = group["a"], list[tuple[int, float]]()
    part.meta.delays.catalog = 3000

    async def wait(version: int) -> None:
        await part.meta.catalog_reaches(version)
        woken.append((version, group.loop.now_us / 1000))

    for version in (3, 2, 1):
        part.node.spawn(wait(version))
    group.submit("a", update("x"))
    group.submit("a", update("y", expected=2))
    group.until(20)
    assert woken == [(1, 0), (2, 3), (3, 6)]


def test_who_watches_hears_of_an_update_once_the_catalog_knows_it() -> None:
    """With its activation, long before that comes."""
    group = Group("ab")
    heard = []
    part = group["b"]
    part.meta.on_activation = lambda applied: heard.append((applied, part.catalog.version))
    group.submit("a", update())
    group.submit("a", update())
    group.until(10)
    [(applied, version)] = heard
    assert (applied.catalog_version, version) == (2, 2)
    assert applied.activation_ts == part.catalog.activation_of(2)


def test_an_activation_is_counted_when_the_clock_has_passed_it() -> None:
    """By the node's own clock."""
    group = Group("a")
    group.submit("a", update())
    group.until(99)
    assert group["a"].node.probes["schema-activated"] == 0
    group.until(101)
    assert group["a"].node.probes["schema-activated"] == 1


# --- idle ticks ----------------------------------------------------------------------------------------


def ticks(group: Group, name: str = "a") -> list[int]:
    """The milliseconds of the idle commands in a log."""
    return [
        physical_ms(stamped.message_ts)
        for stamped in group[name].log
        if type(stamped.command) is SafeTimeCommand
    ]


def test_when_nothing_happens_the_leader_ticks() -> None:
    """One H after the last command, whatever it was; everybody's safe time moves [98.safe.3]."""
    group = Group("ab", idle_ticks=True)
    group.until(130)
    group.submit("a", update())
    group.until(190)
    assert ticks(group) == [50, 100, 180]
    assert physical_ms(group["b"].sync.safe_time) == 180
    assert group["a"].node.probes["idle-tick"] == 3


def test_the_interval_is_the_leaders_setting() -> None:
    """It may change at run time, from the next command on."""
    group = Group("a", idle_ticks=True, safe_time_interval_ms=20)
    group.until(30)
    group["a"].node.settings.safe_time_interval_ms = 100
    group.until(160)
    assert ticks(group) == [20, 40, 140]


def test_without_idle_ticks_there_are_only_those_asked_for() -> None:
    """A scripted scenario places them; and only the leader has any."""
    group = Group("ab")
    group.until(60)
    group["a"].meta.tick()
    group["b"].meta.tick()
    group.until(200)
    assert ticks(group, "b") == [60]


def test_an_update_never_ties_with_the_tick_before_it() -> None:
    """A tick ticks the leader's clock [98.x.2]; where it does not, it can tie."""
    stamps = {}
    for strategy in (IEP, IEP_LITERAL):
        group = Group("a", strategy=strategy)
        group.until(7)
        group["a"].meta.tick()
        group["a"].meta.member.propose(Stamped(group["a"].node.clock.now(), update()))
        stamps[strategy.name] = [stamped.message_ts for stamped in group["a"].log]
    assert stamps["iep"] == [timestamp(7), timestamp(7, 1)]
    assert stamps["iep_literal"] == [timestamp(7), timestamp(7)]


def test_what_the_wire_carries_is_sent_to_everybody_but_oneself() -> None:
    """A leader does not append by mail."""
    group = Group("ab", "c")
    group["a"].meta.tick()
    appends = [sent for sent in group.wire.sent if type(sent.payload) is AppendEntries]
    assert [(sent.sender, sent.to) for sent in appends] == [("a", "b"), ("a", "c")]
    assert all(isinstance(sent, Sent) and sent.exchange == 0 for sent in appends)
