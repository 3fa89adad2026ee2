"""Which partition a key belongs to, and which node serves it."""

import pytest

from ddlsim.model.ops import Key
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.metastorage.placement import Placement, partition_of
from ddlsim.protocol.schema.catalog import Catalog
from tests.support.protocol import LONG_AGO_MS, T, catalog_of

NODES = ("n1", "n2", "n3")


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


def placed(by_hand: dict[PartitionId, str], replicas: int = 1) -> Placement:
    """Three nodes, and an empty catalog."""
    return Placement(NODES, by_hand, Catalog(), partitions=4, replicas=replicas)


def test_the_partitions_of_a_table_go_round_the_nodes() -> None:
    """Each table beginning at another one."""
    placement = placed({})
    firsts = [placement.replicas_of((3, partition)) for partition in range(4)]
    assert firsts == [("n1",), ("n2",), ("n3",), ("n1",)]
    assert [placement.replicas_of((table, 0)) for table in (1, 2)] == [("n2",), ("n3",)]


def test_replicas_follow_the_first_and_no_node_has_two() -> None:
    """However many are asked for."""
    assert placed({}, replicas=2).replicas_of((3, 2)) == ("n3", "n1")
    assert placed({}, replicas=9).replicas_of((3, 1)) == ("n2", "n3", "n1")


def test_a_table_keeps_the_numbers_of_its_zone_when_it_was_created() -> None:
    """Whatever becomes of the zone later; other tables have the cluster's."""
    zone = "CREATE ZONE z WITH PARTITIONS=2, REPLICAS=3"
    catalog = catalog_of(
        (zone, LONG_AGO_MS),
        (f"{T} ZONE z", LONG_AGO_MS),
        ("CREATE TABLE u (id INT PRIMARY KEY)", 5),
    )
    placement = Placement(NODES, {}, catalog, partitions=1, replicas=1)
    table, other = (found.id for found in catalog.latest().tables())
    assert len(placement.places()) == 3
    assert (placement.partitions_of(table), len(placement.replicas_of((table, 0)))) == (2, 3)
    assert (placement.partitions_of(other), len(placement.replicas_of((other, 0)))) == (1, 1)
    assert placement.knows(table)
    assert not placement.knows(99)


def test_a_partition_can_be_placed_by_hand() -> None:
    """Without moving any other."""
    placement = placed({(3, 1): "n1"})
    firsts = [placement.replicas_of((3, partition))[0] for partition in range(3)]
    assert firsts == ["n1", "n1", "n3"]
    assert placement.replicas_of((4, 1)) == ("n3",)
