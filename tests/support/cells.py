"""Cells of sweeps that take a few milliseconds a run."""

from typing import Any

from ddlsim.analysis.sweep.rows import Cell
from ddlsim.cluster.run import run
from ddlsim.history.history import History
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import read

TINY = """\
title = "Two clients write while a column is added"
expect = "ok"

[strategy]
name = "iep"

[protocol]
preset = "ignite3_tests"

[cluster]
nodes = 3

[network]
latency_ms = { distribution = "uniform", low = 1, high = 4 }

[run]
load_ms = 200

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"

[[migration]]
at_ms = 50
node = "n2"
sql = "ALTER TABLE t ADD COLUMN w INT"

[[workload]]
name = "mixed"
clients = 2
operations = 10
"""


def cell(number: int = 0, **overrides: Any) -> Cell:
    """A cell of the tiny scenario; overrides with `__` for the dots of their paths."""
    changes = {name.replace("__", "."): value for name, value in overrides.items()}
    scenario = read(TINY, "tiny", overrides=changes)
    parameters = {k: v for k, v in changes.items() if not k.startswith("strategy")}
    return Cell(
        number,
        scenario.name,
        scenario.text,
        scenario.overrides,
        scenario.strategy,
        scenario.mutant,
        parameters,
    )


def guilty() -> Cell:
    """A cell whose every run breaks a claim."""
    scenario = load("negative/no_completeness_wait")
    return Cell(
        0,
        scenario.name,
        scenario.text,
        scenario.overrides,
        scenario.strategy,
        scenario.mutant,
        {},
    )


def history_of(one: Cell, seed: int) -> History:
    """The history of one run of a cell."""
    return run(plan(read(one.text, one.name, overrides=one.overrides), seed))
