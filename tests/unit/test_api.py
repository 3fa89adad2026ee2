"""The Python API says what the commands say, and its examples are true."""

import doctest
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ddlsim
from ddlsim import api
from tests.support.command import ROOT
from tests.support.command import ddlsim as call

BAD = "strategies/B3-T1"


@pytest.fixture(scope="module")
def bad() -> api.Runs:
    return api.run(BAD)


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_the_examples_are_true() -> None:
    found = doctest.testmod(api)
    assert found.attempted > 10
    assert found.failed == 0


UNGUARDED = f"""
import ddlsim
print(ddlsim.run("{BAD}", seeds=range(2), jobs=2).outcome)
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_a_file", [True, False])
def test_a_script_without_a_guard_runs_seeds_in_several_processes(
    tmp_path: Path, is_a_file: bool
) -> None:
    """A process that ran the script once more would begin its own processes, and so on."""
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    command, text = ([script], None) if is_a_file else ([], UNGUARDED)
    env = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command], input=text, capture_output=True, text=True, check=True, env=env
    )
    assert (done.stdout, done.stderr.count("Traceback")) == ("violated\n", 0)


def test_the_example_script_runs() -> None:
    command = [sys.executable, "scenarios/examples/notebook.py"]
    env = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("violated ['schema-G-single', 'ddl-not-seen']")
    assert "rw-schema[newer-row, late]" in done.stdout


def test_importing_ddlsim_imports_nothing_heavy() -> None:
    code = "import sys, ddlsim; dir(ddlsim); print([m for m in sys.modules if '.' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ddlsim." not in done.stdout


def test_the_package_offers_the_api_and_nothing_else() -> None:
    assert ddlsim.run is api.run
    assert {"run", "check", "compat", "strategy"} <= set(dir(ddlsim))
    with pytest.raises(AttributeError, match="no attribute 'explore'"):
        _ = ddlsim.explore


def test_run_is_the_command(bad: api.Runs) -> None:
    assert bad.document == json.loads(call("run", BAD, "--output", "json").out)


def test_check_is_the_command(bad: api.Runs, tmp_path: Path) -> None:
    api.run(BAD, out=str(tmp_path / "out"))
    file = str(tmp_path / "out" / "seed-0.jsonl")
    found = api.check(file)
    assert [found.document] == json.loads(call("check", file, "--output", "json").out)["files"]
    assert list(found.events) == list(bad.events())
    assert nx.utils.graphs_equal(found.graph(), bad.graph())


def test_compat_is_the_command() -> None:
    files = ("scenarios/realistic/schema.sql", "scenarios/realistic/orders.sql")
    done = call("compat", *files, "--output", "json")
    found = api.compat(*files)
    assert (found.exit_code, found.document) == (done.code, json.loads(done.out))


def test_several_seeds_have_a_row_each() -> None:
    pytest.importorskip("pandas")
    runs = api.run("smoke", seeds=range(2), jobs=1)
    assert runs.rows["seed"].tolist() == [0, 1]
    assert runs.rows["outcome"].tolist() == ["ok", "ok"] == list(runs.verdicts.values())
    assert runs.figures is not None
    assert runs.rows["committed"].sum() == runs.figures.committed
    texts = runs.rows.select_dtypes(exclude="number").columns
    assert list(texts) == ["outcome", "fingerprint"]
    quirks = runs.rows["needless_aborts.quirk"]
    assert quirks.tolist() == [0, 1], "a reason that a run does not have is 0 in its row"
    assert quirks.dtype == "int64"
    graph = runs.graph(1)
    assert nx.is_directed_acyclic_graph(_relaxed(graph))


def _relaxed(graph: "nx.MultiDiGraph[str]") -> "nx.MultiDiGraph[str]":
    kept = [
        (*ends, key)
        for *ends, key, strict in graph.edges(keys=True, data="strict_only")
        if not strict
    ]
    return graph.edge_subgraph(kept)


def test_the_graph_has_the_cycle_of_the_verdict(bad: api.Runs) -> None:
    graph = bad.graph()
    [cycle] = [one for one in bad.violations if one.kind == "schema-G-single"]
    for step in cycle.steps:
        edges = graph.get_edge_data(step.source, step.target).values()
        assert (step.edge, step.because) in [(one["name"], one["because"]) for one in edges]
    assert not nx.is_directed_acyclic_graph(_relaxed(graph))


def test_the_graph_can_be_written_for_other_programs(bad: api.Runs, tmp_path: Path) -> None:
    """GraphML has no None."""
    graph = bad.graph()
    nx.write_graphml(graph, tmp_path / "graph.xml")
    read = nx.read_graphml(tmp_path / "graph.xml", node_type=str, force_multigraph=True)
    assert dict(read.nodes(data=True)) == dict(graph.nodes(data=True))
    assert nx.is_isomorphic(read, graph)


def test_real_time_is_whole(bad: api.Runs) -> None:
    """What follows from the least form is every pair that real time orders."""
    from ddlsim.checkers.case.case import Case
    from ddlsim.checkers.graph.graph import graph_of
    from ddlsim.checkers.graph.networkx_graph import real_time

    graph = graph_of(Case(bad.history()))
    least = nx.DiGraph([(one.source, one.target) for one in real_time(graph)])
    due = {
        (a, b)
        for a, one in enumerate(graph.nodes)
        for b, other in enumerate(graph.nodes)
        if one.ends_at is not None and other.begins_at is not None and one.ends_at < other.begins_at
    }
    assert due
    assert set(nx.transitive_closure(least).edges) == due
    assert set(nx.transitive_reduction(least).edges) == set(least.edges)


def test_pages_show_markup_as_text(bad: api.Runs) -> None:
    assert "<td>strategies/B3-T1</td>" in bad._repr_html_()
    assert "&lt;b&gt;" in api._table([("x", "<b>")])


def test_a_shell_shows_a_result_as_one_line(bad: api.Runs) -> None:
    facts = "scenario: strategies/B3-T1; design: b3_opt3; outcome: violated; runs: "
    assert repr(bad).startswith(f"<Runs: {facts}")
    checked = api.check(ROOT / "tests/golden/foreign/list-append/G-single.edn")
    assert repr(checked).endswith("; outcome: violated; anomalies: G-single, fractured-read>")


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ({"seed": 1, "seeds": range(2)}, "exclude each other"),
        ({"seeds": range(0)}, r"at least one seed, in steps of 1, such as range\(100\)"),
        ({"strategy": "no_such"}, "no_such"),
        ({"settings": {"cluster.nods": 3}}, "nods"),
        ({"settings": ["cluster.nodes=3"]}, "settings is a mapping"),
        ({"settings": {"cluster.nodes": {1}}}, "cluster.nodes: no TOML value"),
        ({"settings": {"title": 1}}, "title"),
        ({"seeds": 5}, "seeds is a range"),
        ({"seeds": "0..3"}, "seeds is a range"),
        ({"seed": "a"}, "--seed: expected a whole number, not 'a'"),
        ({"seed": 1.5}, "--seed: expected a whole number"),
        ({"seed": True}, "--seed: expected a text or a number, or a list of them, not True"),
        ({"set": {"cluster.nodes": 3}}, "--set: expected a text or a number, or a list of them"),
        ({"time": "5x"}, "--time: expected a time"),
        ({"memory": "xx"}, "--memory"),
        ({"jobs": 0}, "--jobs"),
        ({"strict": "yes"}, "--strict: expected True or False, not 'yes'"),
        ({"load": "no_such.py"}, "no_such.py"),
        ({"load": [Path("no_such.py")]}, "no_such.py"),
    ],
)
def test_what_cannot_be_run_is_a_value_error(what: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        api.run(BAD, **what)  # type: ignore[arg-type]  # wrong on purpose


def test_what_cannot_be_judged_is_a_value_error() -> None:
    for given, told in (
        ({"input": "nix"}, "--input: unknown 'nix'"),
        ({"model": "x"}, "--model"),
        ({"load": "no_such.py"}, "no_such.py"),
    ):
        with pytest.raises(ValueError, match=told):
            api.check("tests/golden/foreign/list-append/G-single.edn", **given)
    with pytest.raises(ValueError, match="--baseline"):
        api.compat("scenarios/realistic/schema.sql", baseline="x")
    with pytest.raises(ValueError, match="tests/golden: is a folder; name one history"):
        api.check("tests/golden")
    name = "a" * 300
    for asked in (lambda: api.check(name), lambda: api.compat(name, "m.sql")):
        with pytest.raises(ValueError, match="File name too long; name a file that can be used"):
            asked()
    with pytest.raises(ValueError, match="FILE is missing"):
        api.check(None)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="scenario is missing"):
        api.run()


def test_settings_are_any_values_of_a_scenario() -> None:
    tables = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))"
    workload = [{"name": "mixed", "clients": 1, "operations": 3}]
    settings = {"schema.sql": tables, "workload": workload, "title": '123 "x"'}
    runs = api.run("smoke", settings=settings)
    assert runs.document["scenario"] == "smoke"
    assert any("mixed-" in str(getattr(one, "op", "")) for one in runs.events())


def test_numbers_of_numpy_are_settings_and_seeds() -> None:
    settings = {"cluster.nodes": np.int64(4), "network.loss": np.float32(0.5)}
    overrides = api.run("smoke", settings=settings).history().header.overrides
    assert (overrides["cluster.nodes"], overrides["network.loss"]) == (4, 0.5)
    seed: Any = np.int64(3)
    assert api.run(BAD, seed=seed).verdicts == {3: "violated"}


def test_the_environment_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DDLSIM_SEED", "nonsense")
    assert api.run(BAD).verdicts == {0: "violated"}


def test_an_unknown_flag_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="run takes no 'sed'"):
        api.run(BAD, sed=1)
    with pytest.raises(TypeError, match="by position"):
        api.check("tests/golden/foreign/list-append/G-single.edn", files="other.edn")
    with pytest.raises(TypeError, match="by position"):
        api.compat("scenarios/realistic/schema.sql", files=["other.sql"])


def test_another_seed_has_no_history(bad: api.Runs) -> None:
    with pytest.raises(ValueError, match="seed 7 was not run"):
        bad.history(7)


@pytest.mark.parametrize("seed", [0, "0", "0x0", np.int64(0)])
def test_a_seed_of_a_history_is_a_number_or_its_text(bad: api.Runs, seed: Any) -> None:
    assert bad.history(seed) is bad.history()


@pytest.mark.parametrize(
    ("seed", "what"),
    [
        ("x", "seed: expected a whole number, not 'x'"),
        (0.5, "seed: expected a whole number, not '0.5'"),
        (True, "seed: expected a text or a number"),
        ("7", r"seed 7 was not run; there are \[0\]"),
    ],
)
def test_what_is_no_seed_has_no_history(bad: api.Runs, seed: Any, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        bad.history(seed)


def test_a_foreign_history_has_no_graph() -> None:
    found = api.check("tests/golden/foreign/list-append/G-single.edn")
    with pytest.raises(ValueError, match="only histories of this program"):
        found.graph()


@pytest.mark.parametrize(
    ("schema", "migration", "told"),
    [
        ("DROP TABLE t", "DROP TABLE t", r"s\.sql:1: there is no table 't'"),
        ("CREATE TABLE t (id INT)", "DROP t; TRUNCATE t", r"m\.sql:1:6: unexpected 't'"),
        ("CREATE TABLE t (id INT)", "", r"m\.sql: there is no statement in it"),
    ],
)
def test_a_migration_that_cannot_be_judged_is_a_value_error(
    schema: str, migration: str, told: str, tmp_path: Path
) -> None:
    for name, text in (("s.sql", schema), ("m.sql", migration)):
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(ValueError, match=told):
        api.compat(tmp_path / "s.sql", tmp_path / "m.sql")


def test_a_migration_that_begins_with_nothing(tmp_path: Path) -> None:
    file = tmp_path / "m.sql"
    file.write_text("CREATE TABLE t (id INT PRIMARY KEY); DROP TABLE t;", "utf-8")
    for given in (file, [file], str(file)):
        found = api.compat(from_scratch=given)
        assert [one["forward_compatible"] for one in found.statements] == [True, False]
    with pytest.raises(ValueError, match=r"takes the place of SCHEMA\.sql"):
        api.compat(file, from_scratch=file)
    with pytest.raises(ValueError, match=r"SCHEMA\.sql is missing"):
        api.compat()


def test_the_page_of_a_migration_has_each_statement(tmp_path: Path) -> None:
    """The second time it is refused, and nothing aborts."""
    file = tmp_path / "m.sql"
    table = "CREATE TABLE t (id INT PRIMARY KEY);"
    file.write_text(f"{table}{'ALTER TABLE t ADD COLUMN v INT;' * 2}DROP TABLE t;", "utf-8")
    found = api.compat(from_scratch=file)
    assert repr(found).endswith("DROP TABLE t: abort>")
    page = found._repr_html_()
    assert [part.split("<")[0] for part in page.split("<td>")[1:]] == [
        "survive", "survive", "refused", "abort",
    ]  # fmt: skip
