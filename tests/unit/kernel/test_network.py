"""A message's fate depends on seed, link, kind and label, and on the rules in force."""

import sys

import pytest

from ddlsim.kernel.channel import LinkProfile
from ddlsim.kernel.engine import Loop, SimulationCrashed
from ddlsim.kernel.host import Host
from ddlsim.kernel.network import Network
from ddlsim.kernel.rng import Constant, Exponential, Uniform, mix, name_id, pick, quantiles
from ddlsim.kernel.rules import Block
from tests.support.engine import Note, Small

LOGNORMALISH = Exponential(0.1, 2)


def test_the_delay_is_a_function_of_seed_link_kind_and_label() -> None:
    small = Small(seed=9, latency=LOGNORMALISH)
    small.listen(small.b)
    small.a.send("b", Note(1), label=77)
    small.loop.run()

    key = mix(mix(9, name_id("a > b")), name_id("note"))
    assert small.arrived == [(pick(quantiles(LOGNORMALISH), mix(key, 77)), 1)]


def test_the_hot_path_draws_what_mix_draws() -> None:
    """It has the formula written out; a rule that matches nothing forces the other path."""
    small, careful = Small(latency=LOGNORMALISH), Small(latency=LOGNORMALISH)
    careful.install(Block("nobody"))
    for world in (small, careful):
        world.listen(world.b)
        for label in (-1, 0, 1, 1 << 31, 1 << 63, 1 << 70, *range(100, 400)):
            world.a.send("b", Note(label), label=label)
            world.loop.run()
    assert small.arrived == careful.arrived


def test_without_a_label_messages_are_numbered_per_link_and_kind() -> None:
    named, numbered = (Small(latency=LOGNORMALISH) for _ in range(2))
    for small in (named, numbered):
        small.listen(small.b)
        small.listen(small.c)
    for number in (1, 2, 3):
        named.a.send("b", Note(number), label=number)
        numbered.a.send("c", Note(-number))
        numbered.a.send("b", Note(number))
    named.loop.run()
    numbered.loop.run()
    assert named.arrived == [arrival for arrival in numbered.arrived if arrival[1] > 0]


def test_a_label_of_ones_own_does_not_use_up_a_number() -> None:
    """One message more, if labelled, must not change the delays of the numbered ones."""
    arrivals = []
    for extra in (False, True):
        small = Small(latency=Uniform(1, 100))
        small.network.configure(LinkProfile(reordering=1.0))
        small.listen(small.b)
        if extra:
            small.a.send("b", Note(0), label=5)
        for number in (1, 2, 3):
            small.a.send("b", Note(number))
        small.loop.run()
        arrivals.append([arrival for arrival in small.arrived if arrival[1]])
    assert arrivals[0] == arrivals[1]


def test_messages_of_one_kind_arrive_in_order_even_if_a_later_one_is_faster() -> None:
    small = Small(latency=Uniform(0, 100))
    small.listen(small.b)
    for number in range(50):
        small.a.send("b", Note(number))
    small.loop.run()
    assert small.numbers == list(range(50))


def test_a_message_to_oneself_takes_no_time_but_waits_for_its_turn() -> None:
    small = Small()
    small.listen(small.a)
    small.install(Block("a", "a"))
    small.a.send("a", Note(1))
    assert small.arrived == []
    small.loop.run()
    assert small.arrived == [(0, 1)]


def test_a_message_to_the_dead_vanishes() -> None:
    small = Small()
    small.listen(small.b)
    small.a.send("b", Note(1))
    small.b.crash()
    small.loop.run()
    assert small.arrived == []


def test_a_message_to_nobody_is_a_defect_of_the_model() -> None:
    small = Small()
    small.loop.call_at(1, small.a.send, "z", Note(1))
    with pytest.raises(SimulationCrashed, match="a sends note to z, which does not exist"):
        small.loop.run()


def test_two_hosts_of_one_name_are_refused() -> None:
    small = Small()
    with pytest.raises(AssertionError, match="two hosts named a"):
        Host(small.loop, small.network, "a", small.a.clock)


def test_a_link_without_latency_is_refused_rather_than_guessed() -> None:
    loop = Loop()
    network = Network(loop, 1)
    a, _ = (Host(loop, network, name, Small().a.clock) for name in "ab")
    with pytest.raises(AssertionError, match="no latency is configured for a > b, note"):
        a.send("b", Note(1))


def test_a_link_is_opened_without_a_look_at_the_entries_of_other_senders() -> None:
    """Else a cluster whose links all have entries takes the cube of its nodes to begin."""

    def calls(others: int) -> int:
        small, called = Small(), 0
        for number in range(others):
            small.network.configure(LinkProfile(loss=0.0), from_=f"x{number}", to="b")
        small.network.configure(LinkProfile(loss=1.0), from_="a")
        small.network.configure(LinkProfile(loss=0.0), to="b")

        def count(_frame: object, event: str, _what: object) -> None:
            nonlocal called
            called += event == "call"

        sys.setprofile(count)
        try:
            channel = small.network.channel("a", "b", "note")
        finally:
            sys.setprofile(None)
        assert not channel.loss  # of a sender's and of any's the later counts
        return called

    assert calls(2) == calls(200) > 0


def test_of_two_entries_the_later_counts_field_by_field() -> None:
    small = Small()
    small.listen(small.b)
    small.network.configure(LinkProfile(latency=quantiles(Constant(5))), to="b")
    small.network.configure(LinkProfile(loss=1.0), from_="c")
    slower = small.network.configure(LinkProfile(latency=quantiles(Constant(9))), kind="note")
    small.a.send("b", Note(1))
    small.c.send("b", Note(2))
    small.loop.run()
    assert small.arrived == [(9000, 1)]

    slower.remove()
    small.a.send("b", Note(3))
    small.loop.run()
    assert small.arrived[1:] == [(9000 + 5000, 3)]


def test_profile_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="a probability lies between 0 and 1"):
        LinkProfile(loss=1.5)
    with pytest.raises(ValueError, match="a latency must not be negative: -999 us"):
        LinkProfile(latency=quantiles(Uniform(-1, 1))[1:])


def test_certain_loss_loses_everything_until_the_override_is_removed() -> None:
    small = Small()
    small.listen(small.b)
    storm = small.network.configure(LinkProfile(loss=1.0), from_="a", to="b")
    small.a.send("b", Note(1))
    small.c.send("b", Note(2))
    small.loop.run()
    storm.remove()
    small.a.send("b", Note(3))
    small.loop.run()
    assert small.numbers == [2, 3]


def test_a_message_sent_again_under_its_label_does_not_share_its_first_fate() -> None:
    """Else a lost request could be repeated for ever."""
    small = Small()
    small.listen(small.b)
    small.network.configure(LinkProfile(loss=0.5))
    for _ in range(64):
        small.a.send("b", Note(1), label=7)
    small.loop.run()
    assert 16 < len(small.arrived) < 48


def test_a_duplicate_takes_its_own_time() -> None:
    small = Small(latency=Uniform(1, 100))
    small.listen(small.b)
    small.network.configure(LinkProfile(duplication=1.0))
    for number in range(40):
        small.a.send("b", Note(number), label=number)
    small.loop.run()
    assert sorted(small.numbers) == sorted([*range(40), *range(40)])
    assert len({at_us for at_us, _ in small.arrived}) > 40


def test_certain_reordering_lets_every_message_take_just_its_own_delay() -> None:
    small = Small(seed=3, latency=Uniform(0, 100))
    small.listen(small.b)
    small.network.configure(LinkProfile(reordering=1.0))
    for number in range(50):
        small.a.send("b", Note(number), label=number)
    small.loop.run()
    key = mix(mix(3, name_id("a > b")), name_id("note"))
    table = quantiles(Uniform(0, 100))
    assert {n: us for us, n in small.arrived} == {n: pick(table, mix(key, n)) for n in range(50)}
    assert small.numbers != list(range(50))


def test_a_watcher_sees_every_fate_and_changes_none() -> None:
    log: list[tuple[str, int, int, int]] = []
    arrivals = []
    for watched in (False, True):
        small = Small(latency=Uniform(1, 5))
        small.listen(small.b)
        if watched:
            small.network.trace = lambda what, now_us, envelope: log.append(
                (what, now_us, envelope.label, envelope.serial)
            )
        small.network.configure(LinkProfile(loss=0.3, duplication=0.3))
        for number in range(20):
            small.a.send("b", Note(number), label=number)
        small.network.configure(LinkProfile(loss=0.0, duplication=0.0))
        block = small.install(Block("a", "b"))
        small.a.send("b", Note(20), label=20)
        block.remove()
        hold = small.network.hold("a", "b", "note", label=21)
        small.a.send("b", Note(21), label=21)
        small.loop.run()
        hold.release()
        small.loop.run()
        small.a.send("b", Note(22))
        small.b.crash()
        small.loop.run()
        arrivals.append(small.arrived)

    assert arrivals[0] == arrivals[1]
    whats = [what for what, *_ in log]
    assert whats.count("send") == 23
    ends = [what for what in whats if what in {"lose", "drop", "vanish", "deliver"}]
    assert len(ends) == 23 + whats.count("copy")
    assert {"lose", "copy", "drop", "hold", "vanish", "deliver"} <= set(whats)
    delivered = [serial for what, _, _, serial in log if what == "deliver"]
    assert len(set(delivered)) == len(delivered)
