"""Each fault pulls the levers that it should, and releases them."""

from dataclasses import fields
from typing import Any

import pytest

from sim.nemesis.base import ANY, ANY_FOLLOWER, FAULTS, LEADER, PRIMARY, FaultWorld
from tests.unit.nemesis.small import NotedLevers, Picks, Pull

APPEND = "append-entries"
CASES: list[tuple[str, dict[str, Any], list[Pull]]] = [
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
        "message_loss",
        {"probability": 0.5, "node": "n3", "kind": APPEND},
        [
            ("weather", sender, to, APPEND, 0.5, None)
            for sender, to in (("n1", "n3"), ("n2", "n3"), ("n3", "n1"), ("n3", "n2"))
        ],
    ),
    (
        "message_duplication",
        {"probability": 1},
        [
            ("weather", sender, to, None, None, 1)
            for sender in ("n1", "n2", "n3")
            for to in ("n1", "n2", "n3")
            if sender != to
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "pulls"), CASES)
def test_a_fault_pulls_its_levers_and_releases_them(
    name: str, fields: dict[str, Any], pulls: list[Pull]
) -> None:
    levers, fault = NotedLevers(), FAULTS.get(name)(**fields)

    fault.begin(levers)
    assert levers.pulls == pulls

    fault.heal(levers)
    assert levers.pulls == [*pulls, ("release",)]


def test_every_fault_has_a_case_and_tells_what_it_is() -> None:
    assert list(FAULTS) == sorted({name for name, _, _ in CASES})
    for name in FAULTS:
        kind = FAULTS.get(name)
        assert kind.name == name
        assert kind.summary
        assert set(kind.targets) <= {field.name for field in fields(kind)}


WORLD = FaultWorld(nodes=("n1", "n2", "n3"), leader="n2")


def test_dice_decide_which_node_any_node_is() -> None:
    pause = FAULTS.get("pause")

    assert pause(node=ANY).decide(WORLD, Picks(2)) == pause(node="n3")
    assert pause(node=ANY_FOLLOWER).decide(WORLD, Picks(1)) == pause(node="n3")
    assert pause(node=LEADER).decide(WORLD, Picks()) == pause(node=LEADER)


def test_a_lonely_leader_is_its_own_follower() -> None:
    alone = FaultWorld(nodes=("n1",), leader="n1")
    pause = FAULTS.get("pause")
    assert pause(node=ANY_FOLLOWER).decide(alone, Picks(0)) == pause(node="n1")


def test_halves_are_drawn_where_no_side_is_given() -> None:
    partition = FAULTS.get("partition")
    four = FaultWorld(nodes=("n1", "n2", "n3", "n4"), leader="n1")

    drawn = partition().decide(four, Picks(3, 0))
    assert drawn == partition(side=("n1", "n4"))
    assert partition(side=("n2",)).decide(four, Picks()) == partition(side=("n2",))
    assert partition(side=(ANY,)).decide(four, Picks(2)) == partition(side=("n3",))


def test_histories_name_the_one_node_of_a_fault() -> None:
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
        ("partition", {"shape": "one_way"}, "node: one_way needs one"),
        ("partition", {"shape": "one_node", "node": "n1", "side": ("n2",)}, "side: one_node cuts"),
        ("partition", {"node": "n1"}, "node: halves have a side"),
        ("message_loss", {"probability": 0}, "probability: must be more than 0"),
        ("message_duplication", {"probability": 1.1}, "probability: must be more than 0"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FAULTS.get(name)(**fields)


@pytest.mark.parametrize(
    ("role", "parts"),
    [
        ("primary of t", ("t", None)),
        ("primary of my_table/12", ("my_table", "12")),
        ("primary of", None),
        ("primary of t/x", None),
        ("the primary of t", None),
    ],
)
def test_a_primarys_role_names_a_table_and_perhaps_a_partition(
    role: str, parts: tuple[str, str | None] | None
) -> None:
    match = PRIMARY.match(role)
    assert (match.groups() if match else None) == parts
