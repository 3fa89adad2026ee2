"""A scenario and its design on one of the data planes: which mistakes are told, and how."""

from typing import Any, Final

import pytest

from ddlsim.api import strategy
from ddlsim.cluster.designs import check_design
from ddlsim.layer.design import NUMBERS, LayerDesign
from ddlsim.layer.switches import NEEDS, switches_of
from ddlsim.model.ops import Find, Get
from ddlsim.plan.plan import plan
from ddlsim.problems import BadInputError
from ddlsim.protocol.strategy import NUMBERS as NUMBERS_OF_STRATEGIES
from ddlsim.scenario.load import load
from ddlsim.scenario.rules import FDB, IGNITE, fields_of_designs, is_number
from ddlsim.scenario.scenario import override
from ddlsim.strategies.base import LAYER_DESIGNS
from ddlsim.workload.base import WORKLOADS

BASE = load("strategies/C16-C0")
C11: Final = {"strategy.name": "c11_future_conflict", "fdb.future_write_conflicts": True}
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"strategy.name": "c16_saef"}, "no strategy is called 'c16_saef'; did you mean c16_safe"),
    ({"strategy.name": "iep_closd"}, "no strategy is called 'iep_closd'; did you mean iep_closed"),
    ({"strategy.name": "iep"}, "cluster.plane: iep runs on plane ignite; designs of plane fdb: c"),
    ({"cluster.plane": "ignite"}, "c16_safe runs on plane fdb; designs of plane ignite: a0_on"),
    ({"cluster.plane": "fbd"}, "cluster.plane: unknown value 'fbd'; known: fdb, ignite"),
    (
        {"strategy.mutant": "no_commit_check"},
        "breaks a rule of plane 'ignite', not of 'fdb'; run it under a design of plane 'ignite'",
    ),
    ({"strategy.mutant": "no_commit"}, "no mutant is called 'no_commit'"),
    ({"strategy.leese_ms": 5}, "strategy.leese_ms: no such field; did you mean lease_ms?"),
    (
        {"strategy.fence": "schema_kee"},
        "strategy.fence: no rule of it is called 'schema_kee'; rules",
    ),
    ({"strategy.background": "watch"}, "no rule of it is called 'watch'; rules: none, "),
    ({"strategy.lease_ms": 0}, "strategy.lease_ms: expected a whole number, 1 or more, not 0"),
    ({"strategy.lease_ms": 10**11}, "a whole number, 1 to 10000000000, not 100000000000"),
    ({"strategy.lease_ms": "1s"}, "expected a whole number, 1 or more, not '1s'"),
    ({"strategy.poll_ms": -1}, "strategy.poll_ms: expected a whole number, 1 or more, not -1"),
    ({"strategy.copies": 0}, "strategy.copies: expected a whole number, 1 to 10000, not 0"),
    ({"strategy.chunk_rows": 0}, "strategy.chunk_rows: expected a whole number, 1 or more, not 0"),
    ({"strategy.drift_percent": 100}, "expected a whole number, 0 to 99, not 100"),
    ({"strategy.renew_percent": 101}, "expected a whole number, 1 to 100, not 101"),
    ({"strategy.schema_replicas": 6}, "expected a whole number, 0 to 5, not 6"),
    ({"strategy.cutoff_percent": 1001}, "expected a whole number, 0 to 1000, not 1001"),
    ({"fdb.windo_ms": 5}, "fdb.windo_ms: unknown key; did you mean window_ms"),
    ({"fdb.window_ms": 0}, "fdb.window_ms: must be at least 1, not 0"),
    ({"fdb.versions_per_second": 0}, "fdb.versions_per_second: must be at least 1, not 0"),
    ({"fdb.versions_per_second": 2_000_000}, "must be at most 1000000, not 2000000"),
    ({"fdb.pings_missed": 0}, "fdb.pings_missed: must be at least 1, not 0"),
    ({"fdb.proxies": 0}, "fdb.proxies: must be at least 1, not 0"),
    ({"fdb.storages": 9}, "fdb.storages: must be at most 5, not 9"),
    ({"fdb.replicas": 4}, "4 replicas, but only 3 storage servers; raise fdb.storages"),
    ({"fdb.local_keys": "yes"}, "fdb.local_keys: expected true or false"),
    ({"cluster.nodes": ["a", "proxy1"]}, "'proxy1' is a process of the key-value store"),
    ({"strategy.name": "c7_ss_local"}, "c7_ss_local needs .*; set fdb.local_keys = true"),
    ({"strategy.name": "c13_past"}, "set fdb.past_read_conflicts = true"),
    ({"strategy.name": "c11_future_conflict"}, "set fdb.future_write_conflicts = true"),
    (
        C11 | {"strategy.distance_ms": 5_000},
        "strategy.distance_ms: 5000 ms count from the read .* fdb.window_ms = 5000 ms later; set m",
    ),
    (C11 | {"fdb.window_ms": 10_000}, "distance_ms: 10000 ms count from .*; set more than that"),
    ({"strategy.fence": "schema_key_in_the_past"}, "set fdb.past_read_conflicts = true"),
    ({"workload[0].as_of": 0.5}, r"workload\[0\].as_of: not on plane fdb: the store gives"),
    ({"workload[0].views": 0.5}, "views: not on plane fdb: the layer resolves names of tables"),
    ({"workload[0].partition_aware": 1}, "not on plane fdb: clients have no way to a row but"),
    ({"faults": [{"name": "lease_loss"}]}, "plane fdb has no replication groups, leases"),
]
"""What a scenario of plane `fdb` may get wrong, and a part of the line that tells it."""


@pytest.mark.parametrize(("changes", "told"), MISTAKES)
def test_a_mistake_is_told_in_one_line(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInputError, match=told) as raised:
        check_design(plan(override(BASE, changes), 0))
    assert "\n" not in str(raised.value)


def test_a_mutant_of_another_plane_is_told_with_its_design() -> None:
    changes = {"strategy.mutant": "skips_delete_only"}
    told = "not of 'ignite'; run it under c6_f1, or one of 'ignite': accepts_any_client_version"
    with pytest.raises(BadInputError, match=told):
        check_design(plan(override(load("smoke"), changes), 0))


def test_the_store_is_of_plane_fdb_alone() -> None:
    """Settings of the store were ignored in silence on the plane that has none."""
    with pytest.raises(BadInputError, match=r"--set fdb\.proxies: plane ignite has no"):
        override(load("smoke"), {"fdb.proxies": 2})


READS: Final = load("strategies/C15-T1")
STEP_MISTAKES: list[tuple[dict[str, Any], str]] = [
    (
        {"hold": [{"from": "storage9", "to": "b", "from_ms": 1, "until_ms": 2}]},
        r"hold\[0\].from: no node is called 'storage9'; nodes: a, b, .*storage3, c1, c2, c3$",
    ),
    (
        {"step[0].read_only": True, "step[0].as_of_ms": -50},
        r"step\[0\].as_of_ms: not on plane fdb: the store gives",
    ),
    (
        {"migration": [{"sql": "CREATE VIEW w AS SELECT * FROM t"}], "step[2].do": ["get", "w", 1]},
        r"step\[2\].do: w is a view; not on plane fdb: the layer resolves names of tables alone",
    ),
    (
        {"step[3].do": ["find", "t", "j", {"v": 5}]},
        r"step\[3\].do\[2\]: no index is called 'j'; known: i",
    ),
    (
        {"step[3].do": ["find", "t", "i", {"v": "five"}]},
        r"step\[3\].do\[3\].v: \"five\" is not a value of v INTEGER",
    ),
]
"""What a step on plane `fdb` may get wrong, and a part of the line that tells it."""


@pytest.mark.parametrize(("changes", "told"), STEP_MISTAKES)
def test_a_step_that_the_plane_cannot_do_is_told(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInputError, match=told) as raised:
        override(READS, changes)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("table", ["t", "w"])
def test_a_table_that_was_a_view_s_name_may_be_read(table: str) -> None:
    made = "CREATE VIEW w AS SELECT * FROM t; DROP VIEW w; ALTER TABLE t RENAME TO w"
    changes = {"migration": [{"sql": made}], "step[0].do": ["get", table, 1]}
    assert override(READS, changes).steps[0].do == Get(table, 1)


def test_a_workload_may_make_the_index_of_a_find() -> None:
    changes: dict[str, Any] = {"step[3].do": ["find", "t", "j", {"v": 5}]}
    changes["workload"] = [{"name": "index_builds"}]
    assert override(READS, changes).steps[3].do == Find("t", "j", {"v": 5})


def test_every_number_of_a_strategy_is_in_its_table() -> None:
    assert {one for one in fields_of_designs() if is_number(one)} == set(NUMBERS_OF_STRATEGIES)


def test_every_number_of_a_design_has_bounds_that_the_designs_keep() -> None:
    assert {one for one in fields_of_designs(FDB) if is_number(one, FDB)} == set(NUMBERS)
    for one in map(LAYER_DESIGNS.get, LAYER_DESIGNS):
        for name, (least, most) in ((one.name, one.bounds) for one in NUMBERS.values()):
            assert least <= getattr(one, name) <= most, (one.name, name)


def test_the_switches_of_a_design_follow_from_its_rules() -> None:
    found = {name: switches_of(one) for name, one in LAYER_DESIGNS.items() if switches_of(one)}
    assert found == {
        "c7_ss_local": ("local_keys",),
        "c11_future_conflict": ("future_write_conflicts",),
        "c13_past": ("past_read_conflicts",),
    }
    assert set(NEEDS.values()) == {one for switches in found.values() for one in switches}


@pytest.mark.parametrize(("name", "plane"), [("iep", IGNITE), ("c16_safe", FDB), ("crdb", FDB)])
def test_a_scenario_without_a_plane_runs_on_that_of_its_design(name: str, plane: str) -> None:
    """The same file, clients, statements and faults."""
    chosen = override(load("smoke"), {"strategy.name": name})
    assert chosen.table.cluster.plane == plane
    assert (plan(chosen, 0).store is not None) is (plane == FDB)


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_every_workload_runs_on_both_planes(name: str) -> None:
    """The same table of the same file; what a plane cannot carry is a key that may be left out."""
    workload = {"name": name, "clients": 1} | ({"operations": 2} if name == "mixed" else {})
    column = "CREATE TABLE {} (id INT PRIMARY KEY, v INT)"
    changes: dict[str, Any] = {
        "workload": [workload],
        "schema.sql": f"{column.format('a')}; {column.format('b')}",
        "migration": [{"at_ms": 50, "sql": "ALTER TABLE a ADD COLUMN w INT"}],
        "faults": [],
        "reaches": [],
    }
    for design in ("iep", "c16_safe"):
        planned = plan(override(load("smoke"), changes | {"strategy.name": design}), 0)
        assert len(planned.programs) + len(planned.steps) > 1
    for plane, keys in WORKLOADS.get(name).cannot.items():
        assert plane in (IGNITE, FDB)
        assert all(hasattr(WORKLOADS.get(name), key) for key in keys)


def test_the_api_knows_designs_of_every_plane() -> None:
    assert isinstance(strategy("c16_safe"), LayerDesign)
    assert strategy("iep").header.plane == IGNITE
