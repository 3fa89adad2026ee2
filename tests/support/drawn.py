"""Tiny sweeps that every figure can be drawn from, made by processes without Spark."""

from contextlib import chdir
from pathlib import Path

from ddlsim.cli import main

SCENARIO = """\
title = "Two clients write while columns are added, and a learner lags"
expect = "ok"

[strategy]
name = "iep"

[protocol]
preset = "ignite3_tests"

[cluster]
nodes = 3
voters = 1

[clocks.nodes.n1]
offset_ms = 0

[network]
latency_ms = { distribution = "uniform", low = 1, high = 4 }
client_latency_ms = 0.5

[run]
load_ms = 100

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"

[[workload]]
name = "mixed"
clients = 2
operations = 4

[[workload]]
name = "ddl_storm"
clients = 1
operations = 1
pause_ms = [0, 50]

[[faults]]
name = "learner_lag"
node = "n3"
from_ms = 30
for_ms = 10
"""
EVERYTHING = """\
title = "every axis that a figure asks for"
scenarios = ["scenario.toml"]
seeds = "0..1"
pairwise = true

[parameters]
delay_duration_ms = { path = "protocol.delay_duration_ms", values = [0, 60] }
skew_ms = { path = "clocks.nodes.n1.offset_ms", values = [0, 20] }
outage_ms = { path = "faults[0].for_ms", values = [10, 60] }
gap_ms = { path = "workload[0].gap_ms", values = [0, 9] }
ddl_clients = { path = "workload[1].clients", values = [1, 3] }
"""
TWO = """\
title = "two axes and two designs"
scenarios = ["scenario.toml"]
strategies = ["a0_on_receipt", "iep"]
seeds = "0..1"

[parameters]
skew_ms = { path = "clocks.nodes.n1.offset_ms", values = [0, 20] }
outage_ms = { path = "faults[0].for_ms", values = [10, 60] }
"""


def swept(folder: Path, text: str) -> Path:
    """The directory of a sweep of this text, named by a relative path and run to its end."""
    (folder / "scenario.toml").write_text(SCENARIO, "utf-8")
    (folder / "sweep.toml").write_text(text, "utf-8")
    with chdir(folder):
        words = ["sweep.toml", "--out", "out", "--master", "none", "--jobs", "1"]
        assert main(["sweep", *words]) == 0
    return folder / "out"
