"""Dice, spans, names, and what every workload must keep."""

from collections import Counter
from typing import Any

import pytest

from ddlsim.kernel.rng import Streams
from ddlsim.workload.base import WORKLOADS, Die, quoted
from tests.support.workloads import world

FIELDS: dict[str, dict[str, Any]] = {
    "index_builds": {},
    "mixed": {"operations": 30},
    "transborder": {},
    "read_own_ddl": {"operations": 4},
    "ddl_mix": {"operations": 12},
    "ddl_storm": {"operations": 12},
    "rename_swap": {"operations": 6},
}
"""For each workload, the fields that it cannot do without."""
BUSY = world(ddl={500: "ALTER TABLE t ADD COLUMN a INT", 900: "ALTER TABLE t DROP COLUMN v"})


def die(seed: int = 1) -> Die:
    return Die(Streams(seed).stream("a", "b"))


def test_a_die_reads_blocks_of_62_bits_from_their_ends() -> None:
    """Each world that was ever told by its seed depends on it."""
    own, generator = die(), Streams(1).stream("a", "b")
    blocks = [generator.integers(0, 1 << 62, 256).tolist() for _ in range(3)]
    due = [number for block in blocks for number in reversed(block)]
    assert [own.below(1 << 62) for _ in due] == due


def test_die_below_gives_every_value_below_its_bound() -> None:
    dice = die()
    counts = Counter(dice.below(5) for _ in range(5_000))
    assert sorted(counts) == [0, 1, 2, 3, 4]
    assert min(counts.values()) > 850


def test_die_between_includes_both_ends() -> None:
    dice = die()
    assert {dice.between(-1, 1) for _ in range(100)} == {-1, 0, 1}


@pytest.mark.parametrize(("share", "least", "most"), [(0, 0, 0), (1, 1000, 1000), (0.3, 250, 350)])
def test_die_chance_is_true_in_its_share(share: float, least: int, most: int) -> None:
    dice = die()
    assert least <= sum(dice.chance(share) for _ in range(1_000)) <= most


def test_die_some_gives_different_items() -> None:
    dice = die()
    for _ in range(50):
        assert len(set(dice.some("abcde", 3))) == 3
    assert sorted(dice.some("abc", 9)) == ["a", "b", "c"]


def test_bounds_of_a_span_or_a_number() -> None:
    dice = die()
    assert dice.duration_us(2.5) == 2_500
    assert {dice.count((1, 3)) for _ in range(100)} == {1, 2, 3}
    assert all(1_000 <= dice.duration_us((1, 2)) <= 2_000 for _ in range(100))


@pytest.mark.parametrize(("name", "sql"), [("t", "t"), ("T", '"T"'), ("a b", '"a b"')])
def test_quoted_quotes_names_where_sql_needs_it(name: str, sql: str) -> None:
    assert quoted(name) == sql


def test_there_is_a_case_for_every_workload() -> None:
    assert list(WORKLOADS) == sorted(FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_every_workload_has_a_summary(name: str) -> None:
    kind = WORKLOADS.get(name)
    assert kind.name == name
    assert kind.summary
    assert kind.__doc__


@pytest.mark.parametrize("name", FIELDS)
def test_the_same_seed_makes_the_same_work_and_another_seed_other_work(name: str) -> None:
    made = WORKLOADS.get(name)(clients=3, **FIELDS[name])

    def of(seed: int) -> Any:
        streams = Streams(seed)
        return made.programs(BUSY, streams), made.steps(BUSY, streams)

    assert of(7) == of(7)
    assert of(7) != of(8)


@pytest.mark.parametrize("name", FIELDS)
def test_one_client_more_leaves_the_others_as_they_were(name: str) -> None:
    def of(clients: int) -> dict[str, Any]:
        made = WORKLOADS.get(name)(clients=clients, **FIELDS[name])
        streams = Streams(5)
        found: dict[str, Any] = {p.client: p for p in made.programs(BUSY, streams)}
        for step in made.steps(BUSY, streams):
            found.setdefault(step.client, []).append(step)
        return found

    few, many = of(2), of(3)
    assert len(many) > len(few)
    assert {client: many[client] for client in few} == few


@pytest.mark.parametrize("name", FIELDS)
def test_generated_writes_name_only_keys(name: str) -> None:
    made = WORKLOADS.get(name)(clients=2, **FIELDS[name])
    streams = Streams(3)
    operations = [
        operation
        for program in made.programs(BUSY, streams)
        for item in program.items
        for operation in getattr(item, "operations", ())
    ]
    operations += [step.do for step in made.steps(BUSY, streams)]
    assert operations or name in {"ddl_mix", "ddl_storm"}
    if name != "index_builds":  # its clients look for the values that they write
        assert all(getattr(operation, "values", None) is None for operation in operations)


@pytest.mark.parametrize("name", FIELDS)
def test_fits_refuses_a_schema_without_tables(name: str) -> None:
    with pytest.raises(ValueError, match="tables: there is none"):
        WORKLOADS.get(name)(**FIELDS[name]).fits(world(sql=""))
