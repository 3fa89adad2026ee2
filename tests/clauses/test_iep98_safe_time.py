"""IEP-98, clause by clause in the document's order, each in the smallest world that shows it.

Safe time, the risks, and what the proofs need besides; what comes before is in `test_iep98`.

Each world is told a second time with the clause broken: by a mutant, by another rule in a field of
the strategy, or without the part of the world that the clause speaks of. It then comes out
otherwise. PROTOCOL.md says which clauses are left out.
"""

from typing import Any

import pytest

from ddlsim.history.events import SafeTimeAdvanced, SchemaResolved, UpdateLogged
from ddlsim.protocol.design import time_rules
from ddlsim.protocol.messages import Submitted
from ddlsim.units import plus_ms, timestamp
from tests.clauses.story import (
    HERE,
    SLOW_CATALOG,
    SPLIT,
    TWO_PARTITIONS,
    Story,
    Told,
    answers,
    differs,
    late,
    moments,
    offset,
    told_at,
)
from tests.support.log_group import Group, update

# --- using safe time -----------------------------------------------------------------------------


def test_a_schema_is_known_once_safe_time_has_reached_the_timestamp() -> None:
    """Tu = Tm = 310; the log is 20 ms late on n3, so all that it looks up waits [98.safe.1]."""
    story = Story(
        """
        20   w@n3: w = put t 1 { v = 1 }
        310  d@n1: d = ALTER TABLE t RENAME COLUMN v TO w
        312  r@n3: r = get t 1
        """,
        "[protocol]\ndelay_duration_ms = 100\nmax_clock_skew_ms = 10\nsafe_time_interval_ms = 10\n"
        '[[network.links]]\nfrom = "n1"\nto = "n3"\nkind = "append-entries"\nlatency_ms = 20\n',
        leaders=HERE,
        name="a5_safetime",
    )

    def shown(told: Told) -> Any:
        safe_ts, complete = 0, []
        for event in told.history.of(SafeTimeAdvanced, SchemaResolved):
            if event.node == "n3" and isinstance(event, SafeTimeAdvanced):
                safe_ts = event.safe_ts
            elif event.node == "n3" and event.tx == "r":
                complete.append(safe_ts >= event.ts)
        return told["r"], complete

    assert shown(story.tell()) == ({"id": 1, "w": 1}, [True] * 4)
    assert differs(story, shown, "no_completeness_wait")
    assert differs(story, shown, completeness_ts=time_rules.operation_less_delay)


def test_an_update_activates_no_earlier_than_its_message() -> None:
    """Else it would reach every node too late [98.safe.2]."""
    story = Story("110 d@n1: d = ALTER TABLE t ADD COLUMN w INT", leaders=HERE)

    def later(told: Told) -> list[bool]:
        return [each.activation_ts >= each.message_ts for each in told.of(UpdateLogged, op="d")]

    assert later(story.tell()) == [True]
    assert later(story.tell(activation_ts=time_rules.at_message)) == [True]
    assert differs(story, later, "activates_before_message")


def test_idle_commands_keep_safe_time_moving() -> None:
    """No update for 300 ms, and n3 need not wait; without such commands it would, until a lease is
    prolonged [98.safe.3]."""
    line = "300 r@n3: r = get t 1"
    told = Story(line, leaders=HERE).tell()
    assert (told["r"], told.at_ms("r")) == ("ok", 300)
    moved = [each.safe_ts for each in told.of(SafeTimeAdvanced, node="n3") if each.at_us < 301_000]
    assert moved == [timestamp(at_ms) for at_ms in (0, 50, 100, 150, 200, 250, 300)]
    silent = Story(line, "idle_ticks = false\n", leaders=HERE).tell()
    assert silent.at_ms("r") > 2_500
    assert silent.breaches == set()


# --- waiting for safe time in the past -----------------------------------------------------------


def test_a_delay_that_covers_propagation_and_skew_spares_the_wait() -> None:
    """Propagation 30, H 50, skew 10: DD 100 is enough, 45 is not, and only costs time
    [98.past.1]."""

    def waited(delay_ms: int, **rules: Any) -> tuple[float, set[str]]:
        numbers = f"delay_duration_ms = {delay_ms}\nmax_clock_skew_ms = 10\n"
        link = '[[network.links]]\nfrom = "n1"\nkind = "append-entries"\nlatency_ms = 30\n'
        world = f"[protocol]\n{numbers}safe_time_interval_ms = 50\n{offset('n3', 10)}{link}"
        told = Story("229 r@n3: r = get t 1", world, leaders=HERE).tell(**rules)
        return told.at_ms("r") - 229, told.breaches

    assert waited(100) == (0, set())
    assert waited(45) == (1, set())
    assert waited(45, completeness_ts=time_rules.never_waits)[0] == 0
    assert waited(100, completeness_ts=time_rules.at_operation)[0] > 0


@pytest.mark.parametrize("mutant", ["activates_with_message", "activates_before_message"])
def test_a_message_is_stamped_with_now_and_activates_dd_later(mutant: str) -> None:
    """At true 110 the leader shows 113: Tm = 113, Tu = 213, and the message says so
    [98.past.2]."""
    story = Story(
        "110 d@n2: d = ALTER TABLE t ADD COLUMN w INT",
        offset("n1", 3),
    )

    def stamps(told: Told) -> list[tuple[int, int, int]]:
        logged = told.of(UpdateLogged, op="d")
        return [(e.message_ts, e.activation_ts, e.delay_duration_ms) for e in logged]

    tm = timestamp(113)
    assert stamps(story.tell()) == [(tm, plus_ms(tm, 100), 100)]
    assert differs(story, stamps, mutant)


def test_only_the_wait_is_for_the_past_not_the_look_up() -> None:
    """n2 is healthy. n3's safe time is 100: enough at 195; at 230 it waits; both then find w
    [98.past.3]."""
    story = Story(
        """
        20   a@n2: a = put t 2 { v = 2 }
        20   b@n3: b = put t 1 { v = 1 }
        110  d@n1: d = ALTER TABLE t RENAME COLUMN v TO w
        195  r1@n3: r1 = get t 1
        230  r2@n3: r2 = get t 1
        230  r3@n2: r3 = get t 2
        """,
        TWO_PARTITIONS + late("n3", 105, 330),
        leaders=SPLIT,
    )
    shown = told_at("r1", "r2", "r3")
    found = [{"id": 1, "v": 1}, {"id": 1, "w": 1}, {"id": 2, "w": 2}]
    assert shown(story.tell()) == (found, [195, 330, 230])
    assert differs(story, shown, "no_completeness_wait", "looks_up_in_the_past")
    assert differs(story, shown, completeness_ts=time_rules.at_operation)


# --- risks ---------------------------------------------------------------------------------------


def test_an_update_is_not_visible_at_once_not_even_on_the_leader() -> None:
    """An operation between Tm = 110 and Tu = 210 does not find it [98.risk.1]."""
    story = Story(
        """
        110  d@n1: d = CREATE TABLE u (id INT PRIMARY KEY)
        120  c@n1: early = get u 1
        d.ok b@n1: later = get u 1
        """
    )
    shown = answers("early", "later")
    assert shown(story.tell()) == ["TABLE_NOT_FOUND", "ok"]
    assert differs(story, shown, "activates_with_message")


def test_a_node_that_lags_freezes_its_own_transactions_only() -> None:
    """No DDL at all; n3 hears nothing from 60 to 620 [98.risk.2]."""
    story = Story(
        """
        300  a@n1: other = put t 2
        300  b@n1: primary = get t 1
        300  c@n3: coordinator = get t 4
        """,
        TWO_PARTITIONS + late("n3", 60, 620),
        leaders=SPLIT,
    )
    shown = moments("other", "primary", "coordinator")
    assert shown(story.tell()) == [300, 620, 620]
    assert differs(
        story, shown, "no_completeness_wait", completeness_ts=time_rules.operation_plus_skew
    )


# --- what the text's proofs need -----------------------------------------------------------------


def test_no_idle_command_has_the_timestamp_of_an_update() -> None:
    """Both at 100, and n3 gets the first only: it must not hold itself complete [98.x.2]."""
    story = Story(
        """
        20   T@n3: w = put t 1
        100.1 d@n2: d = ALTER TABLE t DROP COLUMN v
        200  T: e = commit
        """,
        "idle_ticks = false\n[[tick]]\nat_ms = 100\n[[tick]]\nat_ms = 240\n"
        + offset("n2", -5)
        + late("n3", 100.05, 250),
        leaders=HERE,
    )

    def shown(told: Told) -> Any:
        (logged,) = told.of(UpdateLogged, op="d")
        safe_times = [event.safe_ts for event in told.of(SafeTimeAdvanced, node="n3")]
        return told["e"], told.breaches, logged.message_ts, timestamp(100) in safe_times

    assert shown(story.tell()) == ("ok", set(), timestamp(100, 1), True)
    assert story.tell("ticks_may_tie").breaches >= {"I1"}
    assert differs(story, shown, "ticks_may_tie")


def test_safe_time_is_published_after_the_catalogs_listeners_ran() -> None:
    """n3's catalog takes 200 ms to learn of it: a read at 230 waits until 310 [98.x.3]."""
    story = Story(
        """
        20   w@n3: w = put t 1 { v = 1 }
        110  d@n1: d = ALTER TABLE t RENAME COLUMN v TO w
        230  r@n3: r = get t 1
        """,
        SLOW_CATALOG,
        leaders=HERE,
    )

    shown = told_at("r")
    assert shown(story.tell()) == ([{"id": 1, "w": 1}], [310])
    assert differs(story, shown, "safe_time_before_listeners")


def test_no_readers_dd_is_larger_than_the_dd_in_the_message() -> None:
    """n3 subtracts 300 ms, so Tu = 410: at 390 it may still answer without the log [98.x.4]."""
    story = Story(
        """
        20   w@n3: w = put t 1 { v = 1 }
        110  d@n1: d = ALTER TABLE t RENAME COLUMN v TO w
        390  r@n3: r = get t 1
        """,
        '[protocol]\npreset = "ignite3_tests"\n[protocol.nodes.n3]\ndelay_duration_ms = 300\n'
        + late("n3", 105, 500),
        leaders=HERE,
    )

    def shown(told: Told) -> Any:
        (logged,) = told.of(UpdateLogged, op="d")
        return told["r"], logged.delay_duration_ms, told.at_ms("d"), told.breaches

    assert shown(story.tell()) == ({"id": 1, "v": 1}, 300, 418, set())
    assert story.tell("message_carries_own_delay").breaches >= {"I1"}
    assert differs(story, shown, "message_carries_own_delay")


def test_a_command_that_is_sent_again_gets_a_stamp_of_its_own() -> None:
    """The leader is sent it twice and appends it twice, each time under its now [98.x.5]."""
    group = Group("ab")
    group.wire.fate = lambda sent: (1000, 1000) if sent.sender == "b" else (1000,)
    answers = group.submit("b", update())
    group.until(10)
    stamps = [stamped.message_ts for stamped in group["a"].log]
    assert len(stamps) > 1
    assert stamps == sorted(set(stamps))
    assert [(each.accepted, each.catalog_version) for each in answers] == [(True, 2)]
    replies = group.wire.payloads(Submitted)
    assert {(each.accepted, each.catalog_version) for each in replies} == {(True, 2)}
    assert group["b"].catalog.version == 2


def test_a_statement_rests_on_all_that_may_have_been_acknowledged() -> None:
    """n3 hears nothing from 60 to 600, and is asked to drop what was created meanwhile [98.x.8]."""
    story = Story(
        """
        110 d@n1: d = CREATE TABLE x (id INT PRIMARY KEY)
        400 e@n3: e = DROP TABLE IF EXISTS x
        900 r@n2: r = get x 1
        """,
        '[[hold]]\nfrom = "n1"\nto = "n3"\nkind = "append-entries"\nfrom_ms = 60\nuntil_ms = 600\n',
        leaders=HERE,
    )

    def found(told: Told) -> Any:
        return told["e"], told.at_ms("e") > 600, told["r"]

    assert found(story.tell()) == ("ok", True, "TABLE_NOT_FOUND")
    assert differs(story, found, "builds_on_what_it_knows")
    assert story.tell("builds_on_what_it_knows").breaches >= {"I3", "I4"}
