"""Keys of every type, hot ones and cold ones."""

from collections import Counter

import pytest

from ddlsim.kernel.rng import Streams
from ddlsim.model.ddl import CreateTable
from ddlsim.model.ops import Key
from ddlsim.sql import parse
from ddlsim.workload.base import Die
from ddlsim.workload.keys import KeyChooser, key_of


def table(columns: str) -> CreateTable:
    [parsed] = parse(f"CREATE TABLE t ({columns})")
    assert isinstance(parsed.statement, CreateTable)
    return parsed.statement


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        ("id INT PRIMARY KEY", 7),
        ("id BIGINT PRIMARY KEY, v INT", 7),
        ("id TINYINT PRIMARY KEY", 7),
        ("id VARCHAR PRIMARY KEY", "k7"),
        ("id DOUBLE PRIMARY KEY", 7.0),
        ("id BOOLEAN PRIMARY KEY", True),
        ("id DECIMAL(9, 0) PRIMARY KEY", "7"),
        ("id DATE PRIMARY KEY", "2000-01-08"),
        ("id TIMESTAMP PRIMARY KEY", "2000-01-08 00:00:00"),
        ("id TIME PRIMARY KEY", "00:00:07"),
        ("id UUID PRIMARY KEY", "00000000-0000-0000-0000-000000000007"),
        ("v INT, a VARCHAR, b INT, PRIMARY KEY (b, a)", (7, "k7")),
    ],
)
def test_key_of_gives_values_of_the_key_types(columns: str, key: Key) -> None:
    assert key_of(table(columns), 7) == key


def test_key_of_refuses_a_number_beyond_a_small_type() -> None:
    assert key_of(table("id TINYINT PRIMARY KEY"), 300) == 300 % 128


def counts(
    keys: int = 10, *, zipf: float = 0, hot_keys: int = 0, hot_share: float = 0.5
) -> Counter[int]:
    chooser = KeyChooser(keys, zipf=zipf, hot_keys=hot_keys, hot_share=hot_share)
    die = Die(Streams(1).stream("a", "b"))
    return Counter(chooser.choose(die) for _ in range(10_000))


def test_key_chooser_is_uniform_by_default() -> None:
    found = counts()
    assert sorted(found) == list(range(10))
    assert max(found.values()) < 1.2 * min(found.values())


def test_key_chooser_by_power_law_prefers_small_numbers() -> None:
    found = counts(zipf=1.0)
    assert 1.8 < found[0] / found[1] < 2.2
    assert 8 < found[0] / found[9] < 12


def test_key_chooser_gives_hot_keys_their_share() -> None:
    found = counts(hot_keys=2, hot_share=0.8)
    assert 0.8 < (found[0] + found[1]) / 10_000 < 0.87
