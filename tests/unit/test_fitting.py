"""What guards the results of rules from outside of the program lets through every right one."""

from collections.abc import Iterator

import pytest

from ddlsim import fitting
from ddlsim.fitting import guarded_rules
from ddlsim.strategies.base import LAYER_DESIGNS, STRATEGIES
from ddlsim.verify.campaign import Job, Runner


@pytest.fixture
def foreign() -> Iterator[None]:
    """Every shipped design, as if its rules were those of a plug-in."""
    kept = [(registry, dict(registry.items())) for registry in (STRATEGIES, LAYER_DESIGNS)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "OURS", "of another program.")
        for registry, items in kept:
            registry._items.update({name: guarded_rules(one) for name, one in items.items()})
        yield
    for registry, items in kept:
        registry._items.update(items)


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize("seed", [1, 5])
@pytest.mark.parametrize("name", ["iep", "ignite_index", "b13_alias", "c16_tables", "postgresql"])
def test_the_rules_of_shipped_designs_pass(name: str, seed: int) -> None:
    """Rules that may give None, give nothing at all, a number or a record; functions and flows."""
    job = Job(name="", text="", overrides={"strategy.name": name}, swarm=True, models=False)
    assert Runner(job).row(seed).crash is None


def test_a_rule_is_guarded_once_and_keeps_its_name() -> None:
    def mine(message_ts: int, delay_duration_ms: int) -> int:
        return message_ts + delay_duration_ms

    iep = STRATEGIES.get("iep")
    guarded = guarded_rules(iep.with_rules({"activation_ts": mine}))
    assert guarded.activation_ts.__name__ == "mine"
    assert guarded.activation_ts is not mine
    assert guarded_rules(guarded) is guarded
    assert guarded_rules(iep) is iep
