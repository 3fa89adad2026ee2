"""Faithful designs keep their claims in every run of a small world with one late message."""

import pytest
from msgspec import structs

from ddlsim.checkers.outcome import Outcome
from ddlsim.scenario.load import load
from ddlsim.search.exhaust import Exhaustion, Worker, World

LATE_US = 120_000


def explored(name: str, design: str, **more: tuple[str, ...]) -> Exhaustion:
    scenario = load(name, {"strategy.name": design})
    world = World(name, scenario.text, scenario.overrides, 0, (LATE_US,))
    of = Exhaustion(structs.replace(world, **more), 1)
    worker = Worker(of.world)
    while of.open_level() is not None:
        for job in list(of.jobs()):
            of.take(job, worker.act([job])[0])
    return of


@pytest.mark.parametrize(
    ("name", "design", "kinds"),
    [
        ("findings/F-1", "iep_closed", ()),
        ("strategies/C6-C1", "c16_states", ("commit", "read-version", "push", "reported")),
    ],
)
def test_no_late_message_breaks_a_claim(name: str, design: str, kinds: tuple[str, ...]) -> None:
    of = explored(name, design, kinds=kinds)
    assert of.exhausted
    assert of.found == {}
    assert set(of.outcomes) == {Outcome.OK}
    assert of.number > 40
