"""Small worlds: a plan from a few lines of TOML, a cluster of it, a run of it."""

from typing import Any

from msgspec.structs import replace

from ddlsim.cluster.adapters import Recorder
from ddlsim.cluster.cluster import Cluster
from ddlsim.cluster.run import run
from ddlsim.history.history import Header, History
from ddlsim.model.design import DesignHeader
from ddlsim.model.ops import Operation
from ddlsim.model.programs import DdlItem, Program, TransactionItem
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.protocol.server import Parts
from ddlsim.strategies.iep import IEP
from ddlsim.units import Micros
from tests.support.small_scenario import SCHEMA, scenario


def planned(text: str = "", **changes: Any) -> Plan:
    """A plan of three nodes with table t, DD 100 ms, CSmax 7 ms; fields can be set by name."""
    schema = "" if "[schema]" in text else SCHEMA
    return replace(plan(scenario(f"{text}\n{schema}")), **changes)


def empty_history() -> History:
    """A history of nothing yet."""
    design = DesignHeader("none", "", "", "ignite", ())
    return History(Header(1, "", "", "", {}, 0, design, None, "ok", (), {}))


def built(text: str = "", *, recording: bool = True, **changes: Any) -> Cluster:
    """A cluster of such a plan, before anything happens."""
    chosen = planned(text, **changes)
    recorder = Recorder(empty_history(), recording=recording)
    return Cluster(chosen, IEP, Parts(), recorder)


def ran(text: str = "", **changes: Any) -> History:
    """The history of such a plan."""
    return run(planned(text, **changes))


def transaction(*operations: Operation, **more: Any) -> TransactionItem:
    """A transaction on n1 without pauses."""
    fields: dict[str, Any] = {"node": "n1", "pause_us": Micros(0)}
    return TransactionItem(operations=operations, **(fields | more))


def statement(sql: str, **more: Any) -> DdlItem:
    """A DDL statement on n1 without a pause."""
    fields: dict[str, Any] = {"node": "n1", "pause_us": Micros(0)}
    return DdlItem(sql=sql, **(fields | more))


def program(*items: TransactionItem | DdlItem, client: str = "c", session: bool = False) -> Program:
    """What one client does."""
    return Program(client, items, session)
