"""Dice and a small world for the workloads' tests."""

from typing import Any

from ddlsim.kernel.rng import Streams
from ddlsim.model.ddl import CreateTable, CreateView
from ddlsim.model.ops import Get, Scan
from ddlsim.model.programs import Program, Step
from ddlsim.sql import parse
from ddlsim.units import Micros
from ddlsim.workload.base import WORKLOADS, PlannedDdl, Workload, WorkloadWorld

TABLES = """
CREATE TABLE t (id INT PRIMARY KEY, v INT);
CREATE TABLE u (a VARCHAR, b INT, w INT, PRIMARY KEY (a, b));
"""
NODES = ("n1", "n2", "n3")


def world(sql: str = TABLES, ddl: dict[int, str] | None = None, **changes: Any) -> WorkloadWorld:
    """Three nodes, the tables of a text, and DDL planned at instants in milliseconds."""
    tables = [parsed.statement for parsed in parse(sql)]
    planned = [
        PlannedDdl(Micros(at_ms * 1000), parsed.statement, parsed.sql)
        for at_ms, text in (ddl or {}).items()
        for parsed in parse(text)
        if not isinstance(parsed.statement, Get | Scan)
    ]
    known: dict[str, Any] = {
        "label": "w",
        "nodes": NODES,
        "tables": tuple(each for each in tables if isinstance(each, CreateTable)),
        "planned_ddl": tuple(planned),
        "views": tuple(each for each in tables if isinstance(each, CreateView)),
        "delay_duration_ms": 100,
    }
    return WorkloadWorld(**{**known, **changes})


def workload(name: str, **fields: Any) -> Workload:
    """A workload by name."""
    return WORKLOADS.get(name)(**fields)


def programs(
    name: str, seed: int = 1, there: WorkloadWorld | None = None, **fields: Any
) -> list[Program]:
    """The programs that a workload makes of a seed."""
    return workload(name, **fields).programs(there or world(), Streams(seed))


def steps(
    name: str, seed: int = 1, there: WorkloadWorld | None = None, **fields: Any
) -> list[Step]:
    """The steps that a workload makes of a seed."""
    return workload(name, **fields).steps(there or world(), Streams(seed))
