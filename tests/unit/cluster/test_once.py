"""What is compared beside a run is compared once for what it is a function of."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from ddlsim.cluster.models import once as module
from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.once import AGREED, frozen, once, once_each
from ddlsim.cluster.run import run
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.strategies.base import DESIGNS


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    AGREED.clear()


def models() -> tuple[Models, list[str]]:
    found = list[str]()
    loop = cast("Any", SimpleNamespace(now_us=0))
    return Models(lambda event: found.append(event.what), loop), found


def test_what_agreed_is_compared_once_and_what_did_not_every_time() -> None:
    of, found = models()
    made = list[str]()
    for key in ((1, "a"), (1, "a"), (2, "a"), (1, "b"), (2, "a")):
        once(of, key, lambda: made.append("once"))
    assert len(made) == 3
    for _ in range(3):
        once(of, (9,), lambda: of.divergence("part", "n1").found("another"))
    assert found == ["another"] * 3


def test_a_comparison_that_raises_is_made_again() -> None:
    of, found = models()
    record = of.record
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            once(of, (1,), lambda: cast("None", 1 // 0))
    assert of.record is record
    assert (AGREED, found) == ({}, [])


def test_no_more_is_kept_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    of, _ = models()
    monkeypatch.setattr(module, "MOST", 2)
    for key in range(4):
        once(of, (key,), lambda: None)
    assert len(AGREED) == 2


def test_a_design_is_another_by_each_of_its_fields() -> None:
    designs = [one for _, one in DESIGNS.items()]
    assert len({frozen(one) for one in designs}) == len(designs)
    assert frozen({"a": [1, {2}]}) == frozen({"a": [1, {2}]}) != frozen({"a": [1, {3}]})
    with pytest.raises(AssertionError, match="has no parts that are known"):
        frozen(bytearray())


@pytest.mark.parametrize(
    ("name", "design", "part"),
    [
        ("findings/F-1", "iep_closed", "ddlsim.cluster.cluster.beside"),
        ("strategies/C6-C1", "c6_f1", "ddlsim.cluster.store_models.beside_runs._walk_layer"),
    ],
)
def test_a_run_is_the_same_with_and_without_what_is_beside_it(
    name: str, design: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another seed is compared, the same one is not."""
    scenario = load(name, {"strategy.name": design})
    made = list[object]()
    monkeypatch.setattr(part, lambda _models, *given: made.append(given))
    planned = plan(scenario, 0, models=True)
    first, again = run(planned), run(planned)
    assert first.events == again.events
    assert len(made) == 1
    run(structs.replace(planned, seed=1))
    assert len(made) == 2
    run(planned)
    assert len(made) == 2


def test_of_several_comparisons_each_is_made_anew_where_what_it_depends_on_is_another() -> None:
    of, _ = models()
    made = list[object]()

    def of_seed(_models: Models, seed: int) -> None:
        made.append(seed)

    def of_both(_models: Models, design: str, seed: int) -> None:
        made.append((design, seed))

    for design, seed in (("a", 0), ("b", 0), ("b", 1)):
        once_each(of, ((of_seed, (seed,)), (of_both, (design, seed))))
    assert made == [0, ("a", 0), ("b", 0), 1, ("b", 1)]
