"""The table of settings: what follows from what, and what a scenario may give."""

import pytest
from msgspec import structs

from ddlsim.model.settings import DEFAULTS, PRESETS, REQUIRED, SETTINGS, Settings, complete
from ddlsim.scenario.config import NodeProtocol, Protocol
from ddlsim.scenario.problems import ScenarioError
from tests.support.small_scenario import scenario

WHOLE = DEFAULTS | PRESETS["ignite3_defaults"]


def test_complete_computes_what_is_not_given() -> None:
    numbers = complete(
        WHOLE | {"resend_ms": 90, "election_timeout_ms": 500, "lease_duration_ms": 1_001}
    )
    assert {name: numbers[name] for name, each in SETTINGS.items() if each.rule} == {
        "retry_ms": 22,
        "heartbeat_ms": 50,
        "heartbeat_idle_ms": 250,
        "election_spread_ms": 500,
        "lease_renewal_ms": 500,
        "lease_grant_ms": 500,
        "read_resend_ms": 2_000,
        "orphan_answer_ms": 1_000,
        "orphan_sweep_ms": 2_000,
        "metadata_wait_ms": 15_000,
        "metadata_hope_ms": 3_000,
    }


def test_complete_keeps_what_is_given_and_bounds_what_follows() -> None:
    numbers = complete(WHOLE | {"resend_ms": 3, "heartbeat_ms": 7, "operation_timeout_ms": 9})
    assert (numbers["retry_ms"], numbers["heartbeat_ms"]) == (1, 7)
    assert (numbers["metadata_wait_ms"], numbers["metadata_hope_ms"]) == (4, 0)


def test_complete_gives_exactly_the_fields_of_the_record() -> None:
    settings = Settings(**complete(WHOLE))
    assert (settings.operation_timeout_us, settings.resend_us) == (30_000_000, 200_000)
    assert settings.retry_us == 50_000
    assert "commit_wait_ms" not in complete(WHOLE)


def test_complete_fails_without_a_number_that_a_rule_needs() -> None:
    with pytest.raises(KeyError, match="resend_ms"):
        complete({name: value for name, value in WHOLE.items() if name != "resend_ms"})


def test_every_preset_gives_what_is_required() -> None:
    assert {tuple(preset) for preset in PRESETS.values()} == {REQUIRED}


def test_scenario_tables_have_every_setting_as_a_key() -> None:
    shared = [each.name for each in structs.fields(Protocol)]
    own = [each.name for each in structs.fields(NodeProtocol)]
    assert sorted(shared) == sorted([*SETTINGS, "preset", "nodes"])
    assert sorted(own) == sorted(name for name in SETTINGS if name != "commit_wait_ms")


@pytest.mark.parametrize(
    ("where", "name"),
    [
        *(("protocol", name) for name in SETTINGS),
        *(("protocol.nodes.n2", name) for name, each in SETTINGS.items() if each.per_node),
    ],
)
def test_a_scenario_refuses_a_setting_out_of_its_bounds(where: str, name: str) -> None:
    each = SETTINGS[name]
    scenario(overrides={f"{where}.{name}": each.least})
    wrong = [each.least - 1] + ([] if each.most is None else [each.most + 1])
    for value in wrong:
        with pytest.raises(ScenarioError, match=name):
            scenario(overrides={f"{where}.{name}": value})
