"""Worlds in which a process lives by its lease: whose they are, and what they show."""

from typing import Any

import pytest

from ddlsim.plan import swarm
from ddlsim.plan.aims import leases
from ddlsim.plan.plan import plan
from ddlsim.plan.swarm_knobs import OFF
from ddlsim.strategies.base import LAYER_DESIGNS
from ddlsim.verify.campaign import Job, Runner
from tests.support.drawn_worlds import drawn_of, under

pytestmark = pytest.mark.slow

LEASED = ("c5_lease", "c6_f1", "tidb_lease")
MANY = range(60)
IN_THE_STORE = ("crdb", "tidb_mdl")
LATE, CUT_OFF, LONG = 27, 2, 23
"""Seeds of worlds in which the schema comes late, and not at all, for short and long leases."""
KEPT = {"cut off": 1, "open": 15}
"""Seeds of worlds in which a process keeps an old lease, by the reason."""


def drawn(design: str, seed: int) -> swarm.Drawn:
    return drawn_of(seed, design)


@pytest.mark.parametrize("name", [name for name in LAYER_DESIGNS if name not in LEASED])
def test_worlds_of_other_designs_have_none(name: str) -> None:
    assert "lives by a lease" not in drawn(name, LATE).knobs


def test_about_so_many_worlds_have_one_and_all_can_be_planned() -> None:
    worlds = [drawn("c6_f1", seed) for seed in MANY]
    count = sum(one.knobs["lives by a lease"] != OFF for one in worlds)
    assert 0.7 * leases.SHARE < count / len(MANY) < 1.3 * leases.SHARE
    assert {one.knobs.get("schema on its way") for one in worlds} - {None} == {
        *leases.HOW,
        *leases.MORE,
    }
    more = [one.knobs.get("lives by a lease, more", OFF) for one in worlds]
    assert 0.6 * leases.MORE_SHARE < sum(one != OFF for one in more) / count < 1.5
    for seed in MANY[:25]:
        assert plan(swarm.scenario(under("tidb_lease"), seed), seed).store is not None
    assert drawn("c5_lease", LATE).knobs["schema on its way"] == "late"
    assert drawn("c5_lease", CUT_OFF).knobs["schema on its way"] == "cut off"


@pytest.mark.parametrize("name", [name for name in LAYER_DESIGNS if name not in IN_THE_STORE])
def test_worlds_of_other_designs_have_no_old_lease(name: str) -> None:
    assert "keeps an old lease" not in drawn(name, KEPT["open"]).knobs


def test_about_so_many_worlds_have_an_old_lease_for_either_reason_and_all_can_be_planned() -> None:
    worlds = [drawn("crdb", seed) for seed in MANY]
    count = sum(one.knobs["keeps an old lease"] != OFF for one in worlds)
    assert 0.7 * leases.SHARE < count / len(MANY) < 1.3 * leases.SHARE
    assert {one.knobs.get("why it keeps it") for one in worlds} - {None} == {
        *leases.KEPT,
        *leases.AMID,
    }
    amid = [one for one in worlds if one.knobs.get("old lease, amid a commit", OFF) != OFF]
    assert 0.4 * leases.AMID_SHARE < len(amid) / count < 1.8 * leases.AMID_SHARE
    for seed in MANY[:25]:
        assert plan(swarm.scenario(under("tidb_mdl"), seed), seed).store is not None


def broken(seed: int, **strategy: Any) -> bool:
    """Whether a drawn world shows three versions in use at a time."""
    settings = {f"strategy.{key}": value for key, value in strategy.items()}
    row = Runner(Job("", "", settings, swarm=True, models=False)).row(seed)
    assert row.crash is None
    return any(one.invariant == "I6" for one in row.violations)


@pytest.mark.parametrize(("design", "seed"), [("c5_lease", CUT_OFF), ("c6_f1", LONG)])
def test_a_lease_that_is_held_twice_as_long_is_seen(design: str, seed: int) -> None:
    assert broken(seed, name=design, mutant="holds_leases_twice_as_long")
    assert not broken(seed, name=design)


def test_a_lease_that_begins_with_the_answer_is_seen() -> None:
    assert broken(LATE, name="c5_lease", mutant="confirms_after_the_read")
    assert not broken(LATE, name="c5_lease")


@pytest.mark.parametrize("design", IN_THE_STORE)
@pytest.mark.parametrize("why", leases.KEPT)
def test_an_update_that_overlooks_an_old_lease_is_seen(design: str, why: str) -> None:
    assert drawn(design, KEPT[why]).knobs["why it keeps it"] == why
    assert broken(KEPT[why], name=design, mutant="overlooks_a_lasting_lease")
    assert not broken(KEPT[why], name=design)
