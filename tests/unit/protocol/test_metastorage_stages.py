"""How a committed command comes to a node, stage by stage; and the ticks of an idle log."""

from ddlsim.history.events import SafeTimeAdvanced, UpdateApplied
from ddlsim.protocol.messages import SafeTimeCommand
from ddlsim.protocol.meta_commands import Stamped
from ddlsim.protocol.raft import AppendEntries
from ddlsim.strategies.iep import IEP, IEP_LITERAL
from ddlsim.units import physical_ms, timestamp
from tests.support.log_group import Group, update
from tests.support.protocol import Sent

# --- stages of application -----------------------------------------------------------------------


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
    group["a"].delays.catalog = 5000
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
    group["a"].delays.catalog = 5000
    group.submit("a", update())
    group.until(1)
    assert group["a"].catalog.version == 1
    assert group["a"].sync.safe_time == group["a"].log[0].message_ts


def test_ticks_do_not_wait_where_no_update_does() -> None:
    """Slow catalog listeners are slow about updates only."""
    group = Group("a")
    group["a"].delays.catalog = 5000
    group["a"].meta.tick()
    assert group["a"].sync.safe_time == group["a"].log[0].message_ts


def test_a_slow_log_applies_one_command_after_another() -> None:
    """Each takes its time, in order; the answer to the submission too."""
    group = Group("a")
    group["a"].delays.log = 5000
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
    group["a"].delays.log = group["a"].delays.catalog = 5000
    group.submit("a", update("x"))
    group.submit("a", update("y", expected=2))
    group.until(1)
    group["a"].delays.log = group["a"].delays.catalog = 0
    group.until(4)
    assert group["a"].catalog.version == 1
    group.until(6)
    assert group["a"].catalog.version == 3
    versions = [event.catalog_version for event in group["a"].node.of(UpdateApplied)]
    assert versions == [2, 3]


def test_other_listeners_hold_nothing_up() -> None:
    """However slow they are."""
    group = Group("a")
    group["a"].delays.listener = 10**9
    answers = group.submit("a", update())
    group.until(1)
    assert group["a"].catalog.version == 2
    assert group["a"].sync.safe_time == group["a"].log[0].message_ts
    assert len(answers) == 1


def test_a_catalog_version_can_be_waited_for() -> None:
    """Each waiter for its own version, listeners included; at once where it is known already."""
    group = Group("a")
    part, woken = group["a"], list[tuple[int, float]]()
    part.delays.catalog = 3000

    async def wait(version: int) -> None:
        await part.meta.catalog_reaches(version)
        woken.append((version, group.loop.now_us / 1000))

    for version in (3, 2, 1):
        part.node.spawn(wait(version))
    group.submit("a", update("x"))
    group.submit("a", update("y", expected=2))
    group.until(20)
    assert woken == [(1, 0), (2, 3), (3, 6)]


def test_watcher_is_called_after_the_catalog_applied() -> None:
    """With its activation, long before that comes."""
    group = Group("ab")
    heard = []
    part = group["b"]
    part.meta.on_activation(lambda applied: heard.append((applied, part.catalog.version)))
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


# --- idle ticks ----------------------------------------------------------------------------------


def ticks(group: Group, name: str = "a") -> list[int]:
    """The milliseconds of the idle commands in a log."""
    return [
        physical_ms(stamped.message_ts)
        for stamped in group[name].log
        if type(stamped.command) is SafeTimeCommand
    ]


def test_when_nothing_happens_the_leader_ticks() -> None:
    """One H after the last command of any kind; every node's safe time moves [98.safe.3]."""
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
        group["a"].meta.group.member.propose(Stamped(group["a"].node.clock.now(), update()))
        stamps[strategy.name] = [stamped.message_ts for stamped in group["a"].log]
    assert stamps["iep"] == [timestamp(7), timestamp(7, 1)]
    assert stamps["iep_literal"] == [timestamp(7), timestamp(7)]


def test_appends_go_to_all_other_members() -> None:
    """A leader does not append by mail."""
    group = Group("abc")
    group["a"].meta.tick()
    appends = [sent for sent in group.wire.sent if type(sent.payload) is AppendEntries]
    assert [(sent.sender, sent.to) for sent in appends] == [("a", "b"), ("a", "c")]
    assert all(isinstance(sent, Sent) and sent.exchange == 0 for sent in appends)
