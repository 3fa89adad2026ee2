"""The cluster behind the measurements: who is there, how far clocks are apart, who leads worst."""

from dataclasses import replace
from itertools import product
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.analysis.formula.comparison import ddl_delay_ms, slack_ms
from ddlsim.analysis.formula.wait_model import COARSE, Grid
from ddlsim.analysis.tune.cells import OFFSETS as FILE
from ddlsim.analysis.tune.cells import Cells, Load, Setting
from ddlsim.analysis.tune.goals import TuneError
from ddlsim.analysis.tune.skew import INSTANTS, RANGE, clock_bound
from ddlsim.analysis.tune.world import world_of
from ddlsim.scenario.measured import Measured, parse
from ddlsim.scenario.overrides import EMBEDDED
from ddlsim.strategies.base import STRATEGIES


def delays(text: str) -> Measured:
    return parse(text, "d.csv", "delay")


def offsets(text: str) -> Measured:
    return parse(text, "o.csv", "offset")


LINKS = "from,to,delay_ms\na,b,5\nb,a,7\na,c,90\nc,a,80\nb,c,6\nc,b,6\n"


def test_world_of_has_the_nodes_of_the_files() -> None:
    world = world_of(delays(LINKS), offsets("node,offset_ms\nc,1\n"), 9, None)
    assert world.nodes == ("a", "b", "c")
    assert world.voters == 3
    assert world_of(delays("delay_ms\n3\n"), None, 4, 2).nodes == ("n1", "n2", "n3", "n4")
    assert world_of(None, None, 2, None).voters == 2


def test_one_node_has_nothing_to_tune() -> None:
    with pytest.raises(TuneError, match="--nodes 1: one node sends no messages"):
        world_of(delays("delay_ms\n10\n"), None, 1, None)


def test_a_clock_of_a_node_without_links_is_refused() -> None:
    with pytest.raises(TuneError, match=r"o\.csv:2: z has no link in the file of delays"):
        world_of(delays(LINKS), offsets("node,offset_ms\nz,1\n"), 5, None)
    with pytest.raises(TuneError, match="--voters 4: the cluster has 3 nodes"):
        world_of(delays(LINKS), None, 5, 4)


def test_unmeasured_links_and_clocks_take_all_values() -> None:
    world = world_of(delays("from,to,delay_ms\na,b,5\nb,a,7\n"), offsets("offset_ms\n1\n3\n"), 5, 2)
    assert list(world.sample("a", "b")) == [5]
    assert sorted(world.sample("a", "x")) == [5, 7]
    assert list(world.clock("a")) == [1, 3]
    assert len(world_of(None, None, 3, None).sample("n1", "n2")) == 4_096


def test_the_worst_leader_is_the_one_with_the_longest_tail() -> None:
    world = world_of(delays(LINKS), None, 5, 3)
    led = {name: world.worst_led(COARSE, 100, 0.0, [name]) for name in "abc"}
    needs = {name: each.wait(COARSE, 100, 0.0).dd_for(0.99, 0) for name, each in led.items()}
    assert needs["a"].ordered > needs["c"].ordered > needs["b"].ordered
    assert world.worst_led(COARSE, 100, 0.0, world.nodes).leader == "a"
    assert world.worst_led(COARSE, 100, 0.0, ("b", "c")).leader == "c"


def test_voters_come_first_and_the_leader_before_them() -> None:
    from dataclasses import replace

    world = world_of(delays(LINKS), None, 5, 2)
    led = replace(world, leader="c")
    assert led.order == ("c", "a", "b")
    assert led.others == ("a",)


OFFSETS = st.dictionaries(
    st.sampled_from("abcd"),
    st.lists(st.integers(-40, 40), min_size=1, max_size=5),
    min_size=2,
)


@given(OFFSETS, st.floats(0, 2))
def test_cs_max_exceeds_every_observed_difference(
    clocks: dict[str, list[int]], margin: float
) -> None:
    text = "node,offset_ms\n" + "".join(
        f"{name},{value}\n" for name, own in clocks.items() for value in own
    )
    bound = clock_bound(world_of(None, offsets(text), 5, None), margin)
    assert bound is not None
    largest = max(
        abs(a - b)
        for one, other in product(clocks, clocks)
        if one != other
        for a in clocks[one]
        for b in clocks[other]
    )
    assert bound.largest_ms == pytest.approx(largest)
    assert bound.cs_max_ms == ceil(largest + max(margin * largest, 1.0))
    assert bound.cs_max_ms > largest, "never a quantile of the sample, nor its largest"
    assert bound.basis == RANGE, "no times, so no reading is known to be of one instant"
    assert bound.next_larger == pytest.approx(
        min(sum(2 / (len(c) + 1) for c in clocks.values()), 1)
    )
    assert set(bound.between or ()) <= set(clocks)


def test_offsets_without_names_may_be_of_two_nodes() -> None:
    bound = clock_bound(world_of(None, offsets("offset_ms\n-3\n0\n5\n1\n"), 5, None), 0.5)
    assert bound is not None
    assert (bound.basis, bound.seen) == (RANGE, 4)
    assert bound.next_larger == pytest.approx(2 / 5), "of five, the last is the largest or least"
    assert (bound.largest_ms, bound.cs_max_ms, bound.between) == (8, 12, None)
    assert clock_bound(world_of(None, None, 5, None), 0.5) is None


CLOCKS = [("a", 0, 1), ("a", 60, 9), ("b", 0, -2), ("b", 60, 8), ("c", 0, 0), ("c", 60, 5)]


def timed(rows: list[tuple[str, int, int]]) -> str:
    return "node,time_s,offset_ms\n" + "".join(f"{n},{at},{own}\n" for n, at, own in rows)


def test_clock_bound_uses_equal_instants_where_the_file_has_times() -> None:
    bound = clock_bound(world_of(None, offsets(timed(CLOCKS)), 5, None), 0.5)
    assert bound is not None
    # at 0 s: a 1, b -2, c 0; at 60 s: a 9, b 8, c 5; the range is from b at 0 s to a at 60 s
    assert (bound.largest_ms, bound.basis, bound.range_ms) == (4, INSTANTS, 11)
    assert bound.between == ("a", "c")
    assert bound.cs_max_ms == 6
    assert (bound.seen, bound.next_larger) == (2, pytest.approx(1 / 3))
    assert bound.share_most == pytest.approx(1 - 0.05 ** (1 / 2))
    assert bound.spare_ms == 2
    assert "a forward, c back" in bound.events[0]
    assert "lost for 20 s" in bound.events[2]


def moved(rows: list[tuple[str, int, int]], shift: dict[int, int]) -> Measured:
    """The same clocks, seen from a reference that is off by something else at each instant."""
    return offsets(timed([(node, at, own + shift[at]) for node, at, own in rows]))


@pytest.mark.parametrize("shift", [{0: 0, 60: 0}, {0: -50, 60: 70}])
def test_what_all_clocks_have_in_common_at_an_instant_changes_nothing(
    shift: dict[int, int],
) -> None:
    # at 0 s: a 1, b -2, c 0; at 60 s: a 9, b 8, c 5
    world = replace(world_of(None, moved(CLOCKS, shift), 5, None), leader="b")
    assert {node: list(world.clock(node)) for node in world.nodes} == {
        "a": [3, 1], "b": [0], "c": [2, -3]
    }  # fmt: skip
    made = Cells(world, {FILE: "of the file"}, "iep", Load(0.4, 50.0), ())
    text = made.looks(Setting(100, 250, 10)).overrides[f"{EMBEDDED}{FILE}"]
    drawn = parse(text, FILE, "offset").groups
    assert drawn == {("a",): (3, 1), ("b",): (0,), ("c",): (2, -3)}


def test_clocks_without_shared_instants_are_taken_as_the_file_has_them() -> None:
    rows = [*CLOCKS[:4], ("c", 30, 0), ("c", 90, 5)]
    world = world_of(None, offsets(timed(rows)), 5, None)
    assert list(world.clock("c")) == [0, 5]
    made = Cells(world, {FILE: "of the file"}, "iep", Load(0.4, 50.0), ())
    assert made._files[f"{EMBEDDED}{FILE}"] == "of the file"


@pytest.mark.parametrize("first", [50, 2])
def test_every_reading_of_an_instant_counts(first: int) -> None:
    text = timed([("a", 0, first), ("a", 0, 52 - first), ("b", 0, 0), ("c", 0, 1)])
    bound = clock_bound(world_of(None, offsets(text), 5, None), 0.5)
    assert bound is not None
    assert (bound.largest_ms, bound.basis, bound.seen) == (50, INSTANTS, 1)
    assert bound.between == ("a", "b")


@pytest.mark.parametrize("rows", [timed([("a", 0, 5), ("b", 0, 5), ("c", 0, 5)]),
                                  "node,offset_ms\na,5\nb,5\nc,5\n"])  # fmt: skip
def test_equal_clocks_are_not_ahead_of_each_other(rows: str) -> None:
    bound = clock_bound(world_of(None, offsets(rows), 5, None), 0.5)
    assert bound is not None
    assert (bound.largest_ms, bound.cs_max_ms, bound.between) == (0, 1, None)
    assert "a clock that is ahead forward" in bound.events[0]


def test_clock_bound_uses_the_range_without_shared_instants() -> None:
    rows = [*CLOCKS[:4], ("c", 30, 0), ("c", 90, 5)]
    bound = clock_bound(world_of(None, offsets(timed(rows)), 5, None), 0.5)
    assert bound is not None
    assert (bound.largest_ms, bound.basis) == (11, RANGE)


def test_a_bound_of_every_two_clocks_needs_every_clock() -> None:
    some = world_of(delays(LINKS), offsets("node,offset_ms\na,1\na,2\nb,1\n"), 5, None)
    with pytest.raises(TuneError, match=r"o\.csv: no offset of c, and CSmax is a bound of every"):
        clock_bound(some, 0.5)
    for text, what in (("node,offset_ms\na,1\na,2\n", "clock"), ("offset_ms\n5\n", "reading")):
        with pytest.raises(TuneError, match=f"it has one {what}, which tells no difference"):
            clock_bound(world_of(None, offsets(text), 5, None), 0.5)


def test_looks_at_some_of_the_nodes_are_none_at_all_of_them() -> None:
    """Two clocks read a thousand times, and once together with a third one, far away."""
    rows = [(name, at, at % 3) for name in "ab" for at in range(1_000)]
    often = clock_bound(world_of(None, offsets(timed([*rows, ("c", 999, 30)])), 5, None), 0.5)
    assert often is not None
    assert (often.basis, often.largest_ms, often.seen) == (INSTANTS, 30, 1_000)
    assert often.next_larger == pytest.approx(1 / 2), "the third one was seen once"
    assert often.share_most == pytest.approx(0.95)
    most = [*rows, *(("c", at, 5) for at in range(1, 1_000))]  # of one instant it is missing
    assert (found := clock_bound(world_of(None, offsets(timed(most)), 5, None), 0.5)) is not None
    assert found.next_larger == pytest.approx(1 / 1_000)


def test_next_larger_is_the_probability_of_the_named_quantity() -> None:
    """Beside many draws of clocks: how often the next look exceeds all before."""
    dice = np.random.default_rng(4)
    trials, count = 4_000, 9
    ranges, instants = 0, 0
    for own in dice.normal(size=(trials, 2, count + 1)):
        past = own[:, :-1]
        reach = max(past[0].max() - past[1].min(), past[1].max() - past[0].min())
        ranges += max(own[0].max() - own[1].min(), own[1].max() - own[0].min()) > reach
        apart = np.abs(own[0] - own[1])
        instants += apart[-1] > apart[:-1].max()
    rows = [(name, at, (at * 7 + ord(name) * 3) % 11) for name in "ab" for at in range(count)]
    known = world_of(None, offsets(timed(rows)), 5, None)
    text = "".join(f"{name},{own}\n" for name, _, own in rows)
    without = world_of(None, offsets("node,offset_ms\n" + text), 5, None)
    one, other = clock_bound(known, 0.5), clock_bound(without, 0.5)
    assert one is not None
    assert other is not None
    assert one.next_larger == pytest.approx(instants / trials, abs=0.015)
    assert ranges / trials <= other.next_larger <= 2.5 * ranges / trials


def test_voters_and_leader_do_not_depend_on_the_order_of_lines() -> None:
    rows = [line for line in LINKS.splitlines()[1:] if line]
    turned = "from,to,delay_ms\n" + "\n".join(reversed(rows)) + "\n"
    worlds = [world_of(delays(text), None, 5, 2) for text in (LINKS, turned)]
    assert worlds[0].nodes == worlds[1].nodes == ("a", "b", "c")
    led = [each.worst_led(COARSE, 100, 0.0, each.nodes[:2]) for each in worlds]
    assert led[0].leader == led[1].leader
    assert led[0].others == led[1].others
    many = "from,to,delay_ms\nn10,n2,5\nn2,n10,5\nn1,n2,5\n"
    assert world_of(delays(many), None, 5, None).nodes == ("n1", "n2", "n10"), "numbers by value"


def test_voters_by_name() -> None:
    world = world_of(delays(LINKS), None, 5, ("c", "b"))
    assert (world.voters, world.leader, world.others) == (2, "c", ("b",))
    assert world.order == ("c", "b", "a")
    with pytest.raises(TuneError, match="--voters z: no node is called so; nodes: a, b, c"):
        world_of(delays(LINKS), None, 5, ("a", "z"))


@pytest.mark.parametrize(
    ("strategy", "slack", "delay"),
    [("iep", 300, 350), ("a5_safetime", 0, 50), ("a6_safetime_csmax", -50, 50)],
)
def test_slack_and_ddl_delay_of_designs(strategy: str, slack: int, delay: int) -> None:
    design = STRATEGIES.get(strategy)
    assert slack_ms(design, 300, 50) == slack
    assert ddl_delay_ms(design, 300, 50) == delay
    assert slack_ms(STRATEGIES.get("a1_naive_future"), 300, 50) is None


def test_skews_shift_the_wait_of_a_node() -> None:
    text = "delay_ms\n5\n"
    even = world_of(delays(text), offsets("node,offset_ms\nn1,0\nn2,0\n"), 2, 1)
    ahead = world_of(delays(text), offsets("node,offset_ms\nn1,0\nn2,40\n"), 2, 1)
    grid = COARSE
    assert even.nodes == ahead.nodes == ("n1", "n2")
    first, second = (w.wait(grid, 100, 0.0).dd_for(0.999, 0.0).ordered for w in (even, ahead))
    assert second - first == pytest.approx(40, abs=2)
    again = even.wait(grid, 100, 0.0, np.random.default_rng(1)).dd_for(0.999, 0.0)
    assert again.ordered == pytest.approx(first), "a constant drawn again is the same"


@pytest.mark.parametrize("nodes", [3, 5])
def test_a_mean_wait_is_never_below_nothing(nodes: int) -> None:
    """Summed probabilities may exceed 1 by a rounding, and a mean then fell below 0."""
    world = world_of(delays("delay_ms\n" + "5\n" * 100), None, nodes, 3)
    model = world.wait(Grid(), 50, 0.0)
    means = [model.mean(dd) for dd in (71.0, 151.0)]
    assert all(end == 0 for each in means for end in (each.unordered, each.ordered))
