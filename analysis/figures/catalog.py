"""The figures that there are, and what each needs; naming them imports nothing that draws."""

from importlib import import_module
from typing import Any, Final, Literal, NamedTuple

from ddlsim.analysis.sweep.need import Need

Kind = Literal["sweep", "history", "tune", "compare", "prediction"]
"""What a figure is drawn of: the cells of a sweep, a history, what `ddlsim tune` found, the JSON of
`ddlsim compare`, or the `prediction.json` of `ddlsim tune --from`."""

PREDICTION: Final = "prediction.json"
"""The file that `ddlsim tune --from --out DIR` writes."""


class Plot(NamedTuple):
    """One figure: what it shows, and what it needs."""

    name: str
    summary: str
    needs: tuple[Need, ...] = ()
    of: Kind = "sweep"

    def draw(self, found: Any) -> Any:
        """The matplotlib figure of what it is drawn of: `draw` of analysis/plot_NAME.py."""
        return import_module(f"ddlsim.analysis.plot_{self.name}").draw(found)


_PLOTS: Final = (
    Plot(
        "abort_rate",
        "schema aborts against DDL per transaction",
        (Need("gap_ms", "workload[*].gap_ms"),),
    ),
    Plot("atomicity", "violations of the Atomicity Property over two parameters"),
    Plot(
        "cutover",
        "rows without their entries against the distance of two cutoffs",
        (Need("cutoff_percent", "strategy.cutoff_percent"),),
    ),
    Plot(
        "ddl_storm",
        "goodput and attempts against the rate of schema changes",
        (Need("ddl_clients", "workload[*].clients"),),
    ),
    Plot(
        "delay",
        "aborts, waits and latencies against DD",
        (Need("delay_duration_ms", "protocol.delay_duration_ms"),),
    ),
    Plot(
        "designs", "designs one below the other: latencies, schema aborts, needless aborts, safety"
    ),
    Plot(
        "freeze",
        "operations frozen by a learner that lags",
        (Need("outage_ms", "faults[*].for_ms"),),
    ),
    Plot(
        "own_ddl",
        "clients that do not see their own DDL, against the skew",
        (Need("skew_ms", "clocks.nodes.*.offset_ms"),),
    ),
    Plot("pareto", "designs by DML latency, DDL latency, aborts and safety"),
    Plot(
        "prediction",
        "a database's DDL waits and DML stalls, predicted and measured",
        of="prediction",
    ),
    Plot("price_safety", "all designs by what they add to DML, by DDL and safety", of="compare"),
    Plot("run_clocks", "offsets of the clocks of a run, with the CSmax envelope", of="history"),
    Plot("run_lag", "now less schema safe time, on every node of a run", of="history"),
    Plot("run_latency", "latency of every operation of a run, with its faults", of="history"),
    Plot(
        "schema_load",
        "reads of the schema against clients, and the queue of its server",
        (Need("clients", "workload[*].clients"),),
    ),
    Plot(
        "stale_gap",
        "commits under a stale schema against its age",
        (Need("poll_ms", "strategy.poll_ms"), Need("read_only", "workload[*].read_only")),
    ),
    Plot(
        "staleness",
        "how stale a schema gets that is read again every so often",
        (Need("poll_ms", "strategy.poll_ms"),),
    ),
    Plot(
        "store_aborts",
        "schema aborts on a key-value store against the rate of schema changes",
        (Need("ddl_clients", "workload[*].clients"),),
    ),
    Plot("tune", "the wait against DD and the Pareto front, as tune found them", of="tune"),
)
PLOTS: Final = {plot.name: plot for plot in _PLOTS}
"""Every figure by its name."""
