"""Scenarios that draw from measurements: each link and node its own, nothing beyond the file."""

from pathlib import Path

import pytest

from ddlsim.kernel.rng import Empirical
from ddlsim.plan.plan import plan
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import Scenario, override, read

TEXT = """
[protocol]
preset = "ignite3_tests"
[cluster]
nodes = 3
[network]
latency_ms = { distribution = "empirical", file = "d.csv" }
client_latency_ms = { distribution = "empirical", file = "d.csv" }
[clocks]
offset_ms = { distribution = "empirical", file = "o.csv" }
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY)"
"""
DELAYS = "from,to,delay_ms\nn1,n2,9\nn1,n2,7\nn2,n1,30\n"
OFFSETS = "node,offset_ms\nn1,-5\nn2,3\nn2,4\n"


def given(folder: Path, delays: str = DELAYS, offsets: str = OFFSETS, text: str = TEXT) -> Scenario:
    Path(folder, "d.csv").write_text(delays, "utf-8")
    Path(folder, "o.csv").write_text(offsets, "utf-8")
    return read(text, "m.toml", directory=str(folder))


def test_each_link_has_its_own_delays_and_others_have_all(tmp_path: Path) -> None:
    links = {(one.sender, one.to): one.latency for one in plan(given(tmp_path), 1).links}
    assert links["n1", "n2"] == Empirical((7.0, 9.0))
    assert links["n2", "n1"] == Empirical((30.0,))
    assert links["n3", "n1"] == Empirical((7.0, 9.0, 30.0))
    assert links[None, None] == Empirical((7.0, 9.0, 30.0)), "clients are on no link of the file"


def test_each_clock_has_its_own_offsets(tmp_path: Path) -> None:
    scenario = given(tmp_path)
    offsets = [{n.name: n.clock_offset_us for n in plan(scenario, s).nodes} for s in range(40)]
    assert {each["n1"] for each in offsets} == {-5_000}
    assert {each["n2"] for each in offsets} == {3_000, 4_000}
    assert {each["n3"] for each in offsets} == {-5_000, 3_000, 4_000}


def test_pooled_takes_no_notice_of_names(tmp_path: Path) -> None:
    text = TEXT.replace('"d.csv" }', '"d.csv", pooled = true }')
    scenario = given(tmp_path, DELAYS.replace("n2", "elsewhere"), text=text)
    assert all(one.latency == Empirical((7.0, 9.0, 30.0)) for one in plan(scenario, 1).links)


def test_files_travel_with_the_overrides(tmp_path: Path) -> None:
    scenario = given(tmp_path)
    for file in tmp_path.iterdir():
        file.unlink()
    again = read(scenario.text, scenario.name, overrides=scenario.overrides)
    assert plan(again, 7) == plan(scenario, 7)
    assert plan(override(again, {"cluster.partitions": 2}), 7).links == plan(scenario, 7).links


@pytest.mark.parametrize(
    ("delays", "told"),
    [
        (
            DELAYS + "n1,n9,4\n",
            (
                "m.toml:7: network.latency_ms: d.csv:5: no node is called 'n9'; "
                "known: n1, n2, n3; or say pooled = true"
            ),
        ),
        (
            DELAYS + "n1,n2,-4\n",
            (
                "m.toml:7: network.latency_ms.file: d.csv:5: delay_ms: a negative delay, -4; "
                "are the two clocks in step?"
            ),
        ),
    ],
)
def test_read_samples_errors_name_both_files(tmp_path: Path, delays: str, told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        given(tmp_path, delays)
    assert str(caught.value) == told


def test_read_samples_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"no file o\.csv beside the scenario"):
        read(TEXT, "m.toml", directory=str(tmp_path))


def test_a_shipped_scenario_runs_on_the_shipped_sample() -> None:
    from ddlsim.cluster.run import run
    from ddlsim.scenario.load import load

    scenario = load("measured")
    links = [link for link in plan(scenario, 0).links if link.sender == "n1" and link.to == "n2"]
    assert len(links[0].latency.values) == 200, "n1 to n2 as the file has it"
    assert run(plan(scenario, 0)).executed_events > 1_000
