"""The whole scenario file as one record."""

from typing import Annotated, Any

from msgspec import Meta, field

from ddlsim.scenario import config, script
from ddlsim.scenario.config import TableRecord, Text


class AlsoTable(TableRecord, frozen=True):
    """`[[finding.also]]`: another anomaly that the same hole shows in."""

    breaks: Annotated[str, Meta(pattern=r"^I[0-9]+$")]
    signature: Annotated[tuple[str, ...], Meta(min_length=1)]


class FindingTable(TableRecord, frozen=True):
    """`[finding]`: a hole in the documents, and how a run's anomaly is recognised as it.

    `breaks` is the invariant, `signature` the structure of the anomaly (`*` may stand within its
    words), `closing` the fields of the strategy that close the hole. `hole` lists for some fields
    the rules with which the hole is there; a design has it that meets one of these tables.
    `within_skew`: what was read was replaced at most CSmax after the timestamp it was read at.
    `also` are the other anomalies that it shows in.
    """

    id: Annotated[str, Meta(pattern=r"^F-[0-9]+$")]
    title: Text
    breaks: Annotated[str, Meta(pattern=r"^I[0-9]+$")]
    signature: Annotated[tuple[str, ...], Meta(min_length=1)]
    clauses: tuple[str, ...] = ()
    closing: dict[str, str] = field(default_factory=dict)
    hole: tuple[dict[str, tuple[str, ...]], ...] = ()
    within_skew: bool = False
    also: tuple[AlsoTable, ...] = ()


class ScenarioTable(TableRecord, frozen=True):
    """The keys that may stand at the top of a scenario file."""

    title: str = ""
    source: str = ""
    clauses: list[str] = field(default_factory=list)
    expect: str | dict[str, Any] = "ok"
    expect_under: dict[str, Any] = field(default_factory=dict)
    reaches: list[str] = field(default_factory=list)
    never_reaches: list[str] = field(default_factory=list)
    finding: FindingTable | None = None
    idle_ticks: bool = True
    strict: bool = False
    all_claims: bool = False
    seed: config.Seed | None = None
    strategy: dict[str, Any] = field(default_factory=dict)
    protocol: config.Protocol = field(default_factory=config.Protocol)
    cluster: config.Cluster = field(default_factory=config.Cluster)
    fdb: config.Fdb = field(default_factory=config.Fdb)
    clocks: config.Clocks = field(default_factory=config.Clocks)
    network: config.Network = field(default_factory=config.Network)
    schema: config.Schema = field(default_factory=config.Schema)
    run: config.Run = field(default_factory=config.Run)
    seeds: config.Seeds = field(default_factory=config.Seeds)
    migration: list[config.Migration] = field(default_factory=list)
    workload: list[dict[str, Any]] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    step: list[script.StepTable] = field(default_factory=list)
    hold: list[script.HoldTable] = field(default_factory=list)
    apply: list[script.ApplyTable] = field(default_factory=list)
    tick: list[script.TickTable] = field(default_factory=list)
    clock: list[script.ClockTable] = field(default_factory=list)
    leader: list[script.LeaderTable] = field(default_factory=list)
    pause: list[script.PauseTable] = field(default_factory=list)
