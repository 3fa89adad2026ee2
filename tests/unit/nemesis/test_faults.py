"""What each fault does through its actions, and which fields it refuses."""

from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from ddlsim.nemesis.base import FAULTS, FaultWorld
from ddlsim.nemesis.roles import ANY, ANY_FOLLOWER, ANY_VOTER, LEADER, place_of, table_of
from ddlsim.units import Ms, SignedMs
from tests.support.recorded_actions import Call, NotedActions, Picks

APPEND = "append-entries"
CASES: list[tuple[str, dict[str, Any], list[Call]]] = [
    ("learner_lag", {"node": "n3"}, [("hold", None, "n3", APPEND)]),
    ("learner_lag", {"node": LEADER, "delay_ms": 1.5}, [("delay", None, "n1", APPEND, 1_500)]),
    ("learner_lag", {"node": "primary of t"}, [("hold", None, "n2", APPEND)]),
    ("clock_step", {"node": "n2", "by_ms": -80}, [("step", "n2", -80_000, True)]),
    ("clock_step", {"node": "n2", "by_ms": 5, "stays": True}, [("step", "n2", 5_000, False)]),
    ("clock_drift", {"node": "n2", "ppm": 200}, [("drift", "n2", 200)]),
    ("pause", {"node": "primary of t/3"}, [("pause", "n2")]),
    ("slow_listener", {"node": "n1", "delay_ms": 9}, [("slow", "n1", "listener", 9_000)]),
    (
        "slow_listener",
        {"node": "n1", "delay_ms": 9, "stage": "log"},
        [("slow", "n1", "log", 9_000)],
    ),
    (
        "partition",
        {"shape": "halves", "side": ("n3",)},
        [
            ("block", "n3", "n1", None), ("block", "n1", "n3", None),
            ("block", "n3", "n2", None), ("block", "n2", "n3", None),
        ],
    ),
    (
        "partition",
        {"shape": "one_node", "node": "primary of t"},
        [
            ("block", "n2", "n1", None), ("block", "n1", "n2", None),
            ("block", "n2", "n3", None), ("block", "n3", "n2", None),
        ],
    ),
    (
        "partition",
        {"shape": "one_way", "node": LEADER},
        [("block", "n1", "n2", None), ("block", "n1", "n3", None)],
    ),
    (
        "partition",
        {"shape": "link", "node": LEADER, "side": ("n3",)},
        [("block", "n1", "n3", None), ("block", "n3", "n1", None)],
    ),
    (
        "partition",
        {"shape": "link", "node": LEADER, "side": ("primary of t",)},
        [("block", "n1", "n2", None), ("block", "n2", "n1", None)],
    ),
    (
        "message_loss",
        {"probability": 0.5, "node": "n3", "kind": APPEND},
        [
            ("link", sender, to, APPEND, 0.5, None, None)
            for sender, to in (("n1", "n3"), ("n2", "n3"), ("n3", "n1"), ("n3", "n2"))
        ],
    ),
    (
        "message_duplication",
        {"probability": 1},
        [
            ("link", sender, to, None, None, 1, None)
            for sender in ("n1", "n2", "n3")
            for to in ("n1", "n2", "n3")
            if sender != to
        ],
    ),
    (
        "message_reordering",
        {"probability": 0.2, "node": "n1"},
        [
            ("link", sender, to, None, None, None, 0.2)
            for sender, to in (("n1", "n2"), ("n1", "n3"), ("n2", "n1"), ("n3", "n1"))
        ],
    ),
    (
        "partition",
        {"shape": "bridge", "node": LEADER, "side": ("n3",)},
        [("block", "n3", "n2", None), ("block", "n2", "n3", None)],
    ),
    (
        "swizzle",
        {"nodes": ("n3", "primary of t"), "back": ("n3", "primary of t"), "every_ms": 5},
        [
            ("later", 0), ("cut", "n3"), ("later", 5_000), ("cut", "n2"),
            ("later", 110_000), ("reconnect", "n3"), ("later", 115_000), ("reconnect", "n2"),
        ],
    ),
    ("crash", {"node": LEADER}, [("crash", "n1", None)]),
    ("crash", {"node": "n2", "lose_unsynced": True, "torn": 2}, [("crash", "n2", 2)]),
    (
        "crash_majority",
        {"nodes": ("n3", LEADER), "lose_unsynced": True},
        [("crash", "n3", 0), ("crash", "n1", 0)],
    ),
    ("slow_disk", {"node": "n1", "delay_ms": 30}, [("disk", "n1", 30_000)]),
    ("clog", {"node": "n1", "to": "n3", "delay_ms": 7}, [("delay", "n1", "n3", None, 7_000)]),
    (
        "clog",
        {"node": "n2", "delay_ms": 7, "both_ways": True, "kind": APPEND},
        [
            ("delay", "n2", "n1", APPEND, 7_000), ("delay", "n1", "n2", APPEND, 7_000),
            ("delay", "n2", "n3", APPEND, 7_000), ("delay", "n3", "n2", APPEND, 7_000),
        ],
    ),
    ("clock_skew_beyond", {"node": "n2", "beyond_ms": 3}, [("beyond", "n2", 3_000)]),
    (
        "clock_skew_beyond",
        {"node": "n2", "beyond_ms": 3, "behind": True},
        [("beyond", "n2", -3_000)],
    ),
    ("leader_transfer", {}, [("transfer", "meta", None)]),
    ("leader_transfer", {"group": "t/1", "to": "primary of t"}, [("transfer", "t/1", "n2")]),
    ("re_election", {"group": "t/1"}, [("re-elect", "t/1", 0)]),
    ("re_election", {"rival": 2}, [("re-elect", "meta", 2)]),
    ("lease_loss", {"place": "t"}, [("expire", "t")]),
    ("lost_message", {}, [("strike", "lost", 0)]),
    ("late_message", {"delay_ms": 1.5}, [("strike", "late", 1_500)]),
    (
        "doubled_message",
        {"kind": APPEND, "count": 2, "to": LEADER},
        [("strike", "doubled", 0, 2, None, "n1", APPEND)],
    ),
    (
        "setting_change",
        {"node": "n3", "key": "delay_duration_ms", "to": 20},
        [("set", "n3", "delay_duration_ms", 20)],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "calls"), CASES)
def test_begin_calls_the_actions_of_the_fault_and_heal_undoes_them(
    name: str, fields: dict[str, Any], calls: list[Call]
) -> None:
    actions, fault = NotedActions(), FAULTS.get(name)(**fields)

    fault.begin(actions)
    assert actions.calls == calls

    fault.heal(actions)
    assert actions.calls == [*calls, ("undo",)]


def test_every_fault_has_a_case_and_a_summary() -> None:
    assert list(FAULTS) == sorted({name for name, _, _ in CASES})
    for name in FAULTS:
        kind = FAULTS.get(name)
        assert kind.name == name
        assert kind.summary
        known = {field.name for field in fields(kind)}
        assert {*kind.targets, *kind.groups, *kind.places} <= known


WORLD = FaultWorld(nodes=("n1", "n2", "n3"), voters=("n1", "n2"), leader="n2")


def test_decide_draws_the_node_of_any_role() -> None:
    pause = FAULTS.get("pause")

    assert pause(node=ANY).decide(WORLD, Picks(2)) == pause(node="n3")
    assert pause(node=ANY_FOLLOWER).decide(WORLD, Picks(1)) == pause(node="n3")
    assert pause(node=ANY_VOTER).decide(WORLD, Picks(1)) == pause(node="n2")
    assert pause(node=LEADER).decide(WORLD, Picks()) == pause(node=LEADER)


def test_decide_any_follower_of_one_node_is_that_node() -> None:
    alone = FaultWorld(nodes=("n1",), voters=("n1",), leader="n1")
    pause = FAULTS.get("pause")
    assert pause(node=ANY_FOLLOWER).decide(alone, Picks(0)) == pause(node="n1")


def test_partition_decide_draws_halves_without_a_side() -> None:
    partition = FAULTS.get("partition")
    four = FaultWorld(nodes=("n1", "n2", "n3", "n4"), voters=("n1", "n2", "n3", "n4"), leader="n1")

    drawn = partition().decide(four, Picks(3, 0))
    assert drawn == partition(side=("n1", "n4"))
    assert partition(side=("n2",)).decide(four, Picks()) == partition(side=("n2",))
    assert partition(side=(ANY,)).decide(four, Picks(2)) == partition(side=("n3",))


def test_partition_decide_keeps_the_bridge_out_of_the_sides() -> None:
    partition = FAULTS.get("partition")
    drawn = partition(shape="bridge", node=ANY).decide(WORLD, Picks(1, 1))
    assert drawn == partition(shape="bridge", node="n2", side=("n3",))


def test_crash_majority_decide_draws_voters_without_nodes() -> None:
    crash = FAULTS.get("crash_majority")
    five = FaultWorld(("n1", "n2", "n3", "n4", "n5", "n6"), ("n1", "n2", "n3", "n4", "n5"), "n1")
    assert crash().decide(five, Picks(4, 0, 1)) == crash(nodes=("n5", "n1", "n3"))
    assert crash(nodes=("n6",)).decide(five, Picks()) == crash(nodes=("n6",))
    assert crash(nodes=("n1", ANY)).decide(five, Picks(0)) == crash(nodes=("n1", "n1"))


def test_swizzle_decide_draws_both_orders() -> None:
    swizzle = FAULTS.get("swizzle")
    drawn = swizzle().decide(WORLD, Picks(2, 0, 0, 1, 0))
    assert drawn == swizzle(nodes=("n3", "n1"), back=("n1", "n3"))
    again = swizzle(nodes=("n1", ANY)).decide(WORLD, Picks(0, 1, 0))
    assert again == swizzle(nodes=("n1", "n1"), back=("n1", "n1"))  # then there is just one
    named = swizzle(nodes=("n1", ANY), back=(ANY, "n1")).decide(WORLD, Picks(2))
    assert named == swizzle(nodes=("n1", "n3"), back=("n3", "n1"))


def test_crash_majority_crashes_a_node_of_two_roles_once() -> None:
    actions = NotedActions()
    FAULTS.get("crash_majority")(nodes=(LEADER, "n1", "n2")).begin(actions)
    assert actions.calls == [("crash", "n1", None), ("crash", "n2", None)]


def test_node_named_is_the_one_node_of_a_fault() -> None:
    assert FAULTS.get("pause")(node="n2").node_named == "n2"
    assert FAULTS.get("partition")(side=("n2",)).node_named is None
    assert FAULTS.get("message_loss")(probability=1).node_named is None


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("learner_lag", {"node": "n1", "delay_ms": 0}, "delay_ms: must be more than 0"),
        ("clock_step", {"node": "n1", "by_ms": 0}, "by_ms: must not be 0"),
        ("clock_drift", {"node": "n1", "ppm": 0}, "ppm: must not be 0"),
        ("clock_drift", {"node": "n1", "ppm": -1_000_000}, "ppm: must lie between"),
        ("slow_listener", {"node": "n1", "delay_ms": -1}, "delay_ms: must be more than 0"),
        ("partition", {"shape": "one_way"}, "node: one_way needs a node"),
        ("partition", {"shape": "one_node", "node": "n1", "side": ("n2",)}, "side: one_node cuts"),
        ("partition", {"node": "n1"}, "node: halves have a side"),
        ("partition", {"shape": "bridge"}, "node: bridge needs a node"),
        ("partition", {"shape": "bridge", "node": "n1", "side": ("n1",)}, "side: node is on"),
        ("partition", {"shape": "link", "node": "n1"}, "side: link needs the other end"),
        ("crash", {"node": "n1", "torn": -1}, "torn: must not be negative"),
        ("crash", {"node": "n1", "torn": 1}, "torn: needs lose_unsynced"),
        ("crash_majority", {"torn": 1}, "torn: needs lose_unsynced"),
        ("slow_disk", {"node": "n1", "delay_ms": 0}, "delay_ms: must be more than 0"),
        ("clog", {"node": "n1", "delay_ms": 0}, "delay_ms: must be more than 0"),
        ("clog", {"node": "n1", "to": "n1", "delay_ms": 1}, "to: is n1 itself"),
        ("clock_skew_beyond", {"node": "n1", "beyond_ms": 0}, "beyond_ms: must be more than 0"),
        (
            "setting_change",
            {"node": "n1", "key": "safe_time_interval_ms", "to": 0},
            "to: must be at least 1",
        ),
        ("swizzle", {"back": ("n1",)}, "back: needs nodes"),
        ("swizzle", {"nodes": ("n1", "n2"), "back": ("n1",)}, "back: must name the same"),
        ("swizzle", {"every_ms": -1}, "every_ms: must not be negative"),
        ("message_reordering", {"probability": 0}, "probability: must be more than 0"),
        ("message_loss", {"probability": 0}, "probability: must be more than 0"),
        ("message_duplication", {"probability": 1.1}, "probability: must be more than 0"),
    ],
)
def test_verify_refuses_contradicting_fields(
    name: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FAULTS.get(name)(**fields)


@pytest.mark.parametrize(
    ("role", "place"),
    [
        ("primary of t", ("t", 0)),
        ("primary of my_table/12", ("my_table", 12)),
        ("leader of t/3", ("t", 3)),
        ("primary of", None),
        ("primary of t/x", None),
        ("the primary of t", None),
    ],
)
def test_table_of_gives_table_and_partition_of_a_role(
    role: str, place: tuple[str, int] | None
) -> None:
    assert table_of(role) == place


def test_place_of_is_none_for_meta_and_for_no_group() -> None:
    assert [place_of(name) for name in ("meta", "t", "t/2", "t/", "a b")] == [
        None,
        ("t", 0),
        ("t", 2),
        None,
        None,
    ]


@pytest.mark.parametrize("name", list(FAULTS))
def test_no_duration_of_a_fault_is_for_ever(name: str) -> None:
    hints = get_type_hints(FAULTS.get(name), include_extras=True)
    bounded = {one for bound in (Ms, SignedMs) for one in (bound, bound | None)}
    for field in fields(FAULTS.get(name)):
        if field.name.endswith("_ms") and "float" in str(hints[field.name]):
            assert hints[field.name] in bounded, field.name
