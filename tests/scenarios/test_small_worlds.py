"""Faithful designs keep their claims in every run of a small world with one late message."""

import pytest

from ddlsim.checkers.outcome import Outcome
from ddlsim.scenario.load import load
from ddlsim.search.exhaust import World
from tests.support.exhausting import exhausted

LATE_US = 120_000


@pytest.mark.parametrize(
    ("name", "design", "kinds"),
    [
        ("findings/F-1", "iep_closed", ()),
        ("strategies/C6-C1", "c16_states", ("commit", "read-version", "push", "reported")),
    ],
)
def test_no_late_message_breaks_a_claim(name: str, design: str, kinds: tuple[str, ...]) -> None:
    scenario = load(name, {"strategy.name": design})
    of = exhausted(World(name, scenario.text, scenario.overrides, 0, (LATE_US,), kinds=kinds))
    assert of.exhausted
    assert of.found == {}
    assert set(of.outcomes) == {Outcome.OK}
    assert of.number > 40
