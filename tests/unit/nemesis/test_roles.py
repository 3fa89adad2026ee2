"""Roles and groups name tables as they are called, in quotes where that is needed."""

import pytest

from ddlsim.history.world_events import FaultBegan, LeaseBegan, NothingMatched
from ddlsim.nemesis.roles import group_words, leader_in, named, place_of, primary_in, table_of
from ddlsim.plan import swarm
from ddlsim.scenario.problems import ScenarioError
from tests.support.worlds import ran, scenario

QUOTED = "replicas = 3\n[schema]\nsql = 'CREATE TABLE \"a b/c\" (id INT PRIMARY KEY, v INT)'\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("t", ("t", 0)),
        ("t/1", ("t", 1)),
        ('a"b/2', ('a"b', 2)),
        ('"a b"', ("a b", 0)),
        ('"a/b"/3', ("a/b", 3)),
        ('"a""b"/1', ('a"b', 1)),
        ("a b", None),
        ('"a b', None),
        ('""', None),
        ("t/x", None),
        ("meta", None),
    ],
)
def test_a_table_is_named_with_or_without_quotes(text: str, place: tuple[str, int] | None) -> None:
    assert place_of(text) == place
    if text != "meta":
        assert primary_in(f"primary of {text}") == leader_in(f"leader of {text}") == place
        assert table_of(f"leader of {text}") == place
    assert leader_in(f"primary of {text}") is None


@pytest.mark.parametrize("table", ["t", "a b", "a/b", '"', 'a"b', " ", "a\tb"])
def test_a_name_that_is_made_is_read_as_that_table(table: str) -> None:
    assert place_of(f"{named(table)}/4") == (table, 4)
    assert named("t") == "t"
    assert group_words('"a b"/1') == 'partition "a b"/1'


@pytest.mark.parametrize(
    "table",
    [
        '[[faults]]\nname = "pause"\nnode = \'primary of "a b/c"\'\nfrom_ms = 5\nfor_ms = 9\n',
        '[[faults]]\nname = "crash"\nnode = \'leader of "a b/c"/0\'\nfrom_ms = 5\nfor_ms = 9\n',
        '[[faults]]\nname = "lease_loss"\nplace = \'"a b/c"/0\'\nfrom_ms = 5\nfor_ms = 9\n',
        '[[faults]]\nname = "leader_transfer"\ngroup = \'"a b/c"\'\nfrom_ms = 5\n',
        '[[leader]]\ngroup = \'"a b/c"\'\nnode = "n3"\nat_ms = 5\n',
    ],
)
def test_a_fault_strikes_a_table_whose_name_needs_quotes(table: str) -> None:
    history = ran(f"[cluster]\n{QUOTED}{table}")
    assert bool(history.of(FaultBegan)) == ("faults" in table)
    assert not history.of(NothingMatched)


def test_a_table_whose_name_needs_quotes_has_the_primary_that_is_set() -> None:
    history = ran(f'[cluster]\n{QUOTED}[[leader]]\ngroup = \'"a b/c"\'\nnode = "n3"\n')
    assert history.of(LeaseBegan)[0].holder == "n3"


def test_without_quotes_the_error_shows_them() -> None:
    with pytest.raises(ScenarioError, match=r"in quotes: '\"a b\"/0'"):
        scenario(f"[cluster]\n{QUOTED}[[leader]]\ngroup = 'a b/c'\nnode = \"n3\"\n")


def test_worlds_around_such_a_table_name_it() -> None:
    base = scenario(f"[cluster]\n{QUOTED}")
    source = swarm.source_of(base, {})
    texts = [swarm.scenario(source, seed).text for seed in range(12)]
    assert any('\\"a b/c\\"' in text for text in texts)
