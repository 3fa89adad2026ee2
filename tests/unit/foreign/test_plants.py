"""Every planted anomaly is named, and rules out what it should."""

import pytest

from ddlsim.graph.models import MODELS, model_of
from tests.support.jepsen_histories import APPENDS, REGISTERS, Shape, history
from tests.support.jepsen_plants import PLANTS, plant, stretched
from tests.support.register_cases import STRICT, planted, verdict_on

ALL = [(workload, type_) for workload, plants in PLANTS.items() for type_ in plants]


@pytest.mark.parametrize(("workload", "type_"), ALL)
def test_a_planted_anomaly_is_named(workload: str, type_: str) -> None:
    verdict = planted(workload, type_)
    assert verdict.valid is False
    assert type_ in verdict.types
    assert "strict-serializable" in verdict.ruled_out


@pytest.mark.parametrize(("workload", "type_"), ALL)
def test_in_the_middle_of_a_clean_history_it_is_named_too(workload: str, type_: str) -> None:
    clean = history(Shape(60, workload), seed=3)
    verdict = verdict_on(plant(clean, workload, type_))
    assert type_ in verdict.types


@pytest.mark.parametrize(("workload", "type_"), ALL)
def test_a_model_that_allows_all_that_is_there_is_not_broken(workload: str, type_: str) -> None:
    types = planted(workload, type_).types
    for name in MODELS:
        allowed = not any(model_of(name).forbids_type(one) for one in types)
        assert planted(workload, type_, name).valid in ({True, "unknown"} if allowed else {False})


@pytest.mark.parametrize(
    ("type_", "models"),
    [
        ("G2-item", {"serializable", "strict-serializable"}),
        ("G-single", {"snapshot-isolation", "serializable", "strict-serializable"}),
        ("G-single-realtime", {"strict-serializable"}),
        ("G1c", {"read-committed", "snapshot-isolation", "serializable", "strict-serializable"}),
    ],
)
@pytest.mark.parametrize("workload", [APPENDS, REGISTERS])
def test_an_anomaly_counts_only_under_models_that_forbid_it(
    workload: str, type_: str, models: set[str]
) -> None:
    asked = ("read-committed", "snapshot-isolation", "serializable", "strict-serializable")
    broken = {name for name in asked if planted(workload, type_, name).valid is False}
    assert broken == models


def test_one_component_of_nearly_all_is_searched() -> None:
    verdict = verdict_on(stretched(history(Shape(400), seed=1)), STRICT)
    assert verdict.valid is False
    single = next(one for one in verdict.anomalies if one.type.startswith("G-single"))
    assert len(single.txns) <= 3
