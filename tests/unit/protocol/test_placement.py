"""Which partition a key belongs to, and which node serves it."""

import pytest

from sim.model.ops import Key
from sim.protocol.placement import Placement, partition_of


@pytest.mark.parametrize(
    ("key", "partitions", "partition"),
    [(0, 3, 0), (7, 3, 1), (-1, 3, 2), (7, 1, 0), ("a", 25, 19), ("b", 25, 23), ((1, 2), 25, 21)],
)
def test_a_keys_partition_is_the_same_in_every_process(
    key: Key, partitions: int, partition: int
) -> None:
    """These numbers must never change: histories and scenarios rest on them."""
    assert partition_of(key, partitions) == partition


def test_every_partition_is_used() -> None:
    """By numbers and by texts alike."""
    for keys in (range(100), [str(number) for number in range(100)]):
        assert {partition_of(key, 4) for key in keys} == {0, 1, 2, 3}


def test_a_number_and_its_text_are_different_keys() -> None:
    """So is a truth value."""
    assert partition_of(1, 25) != partition_of("1", 25)
    assert partition_of(1, 25) != partition_of(True, 25)


def test_the_partitions_of_a_table_go_round_the_nodes() -> None:
    """Each table beginning at another one."""
    placement = Placement(("n1", "n2", "n3"), {})
    assert [placement.primary(3, partition) for partition in range(4)] == ["n1", "n2", "n3", "n1"]
    assert [placement.primary(table, 0) for table in (1, 2, 3)] == ["n2", "n3", "n1"]


def test_a_partition_can_be_placed_by_hand() -> None:
    """Without moving any other."""
    placement = Placement(("n1", "n2", "n3"), {(3, 1): "n1"})
    assert [placement.primary(3, partition) for partition in range(3)] == ["n1", "n1", "n3"]
    assert placement.primary(4, 1) == "n3"
