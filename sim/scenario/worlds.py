"""What a scenario lets its workloads know of the world."""

from typing import TYPE_CHECKING

from ddlsim.scenario.first_schema import tables_at_start
from ddlsim.scenario.migrations import paced
from ddlsim.workload.base import PlannedDdl, WorkloadWorld

if TYPE_CHECKING:
    from ddlsim.scenario.scenario import Scenario


def workload_world(scenario: "Scenario", label: str) -> WorkloadWorld:
    """Nodes, tables at the start, and the DDL whose instants are known."""
    planned = [
        PlannedDdl(at_us, line.statement, line.sql)
        for _, at_us, line in paced(scenario.migrations)
        if at_us is not None
    ]
    return WorkloadWorld(
        label=label,
        nodes=scenario.nodes,
        tables=tuple(tables_at_start(scenario.schema).values()),
        planned_ddl=tuple(sorted(planned, key=lambda ddl: ddl.at_us)),
        delay_duration_ms=scenario.largest_delay_ms,
    )
