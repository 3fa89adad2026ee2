"""The timeline around scripted steps: holds, slow applications, clock steps, leaders and pauses."""

from collections.abc import Mapping, Sequence

from ddlsim.model.groups import META
from ddlsim.model.programs import Step
from ddlsim.scenario.checks import check_event, check_group, check_step, must_exist, must_vote
from ddlsim.scenario.faults import FaultTargets
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin
from ddlsim.scenario.script import HoldTable, PauseTable
from ddlsim.scenario.tables import ScenarioTable
from ddlsim.scenario.vocabulary import check_kind, check_point
from ddlsim.units import decimal


def check_script(
    table: ScenarioTable,
    origin: Origin,
    targets: FaultTargets,
    *,
    voters: tuple[str, ...],
    tables: Mapping[str, int],
    steps: tuple[Step, ...],
) -> None:
    """Check that what these tables name exists and ends.

    `tables` are those at the start of the run, each with its number of partitions.
    """
    ids, nodes = [step.id for step in steps], targets.nodes
    ends = [*nodes, *dict.fromkeys(step.client for step in steps)]
    for index, hold in enumerate(table.hold):
        path: Path = ("hold", index)
        for key, end in (("from", hold.sender), ("to", hold.to)):
            must_exist(None if end and targets.is_client(end) else end, ends, origin, (*path, key))
        _check_hold(hold, ids, origin, path)
    for index, apply in enumerate(table.apply):
        must_exist(apply.node, nodes, origin, ("apply", index, "node"))
    for index, clock in enumerate(table.clock):
        must_exist(clock.node, nodes, origin, ("clock", index, "node"))
        if clock.offset_ms is None and clock.drift_ppm is None:
            raise origin.error(("clock", index), "give offset_ms, drift_ppm or both")
    for index, leader in enumerate(table.leader):
        path = ("leader", index)
        check_group(leader.group, tables, origin, (*path, "group"))
        must_exist(leader.node, nodes, origin, (*path, "node"))
        if leader.group == META:
            must_vote(leader.node, voters, origin, (*path, "node"))
    for index, pause in enumerate(table.pause):
        path = ("pause", index)
        must_exist(pause.node, nodes, origin, (*path, "node"))
        check_point(pause.point, origin, (*path, "point"))
        check_event(pause.until, ids, origin, (*path, "until"))
        _check_end(pause, 0, origin, path)


def _check_hold(hold: HoldTable, ids: Sequence[str], origin: Origin, path: Path) -> None:
    """Check what kind of messages it is about, which step's, and when it ends."""
    check_kind(hold.kind, origin, (*path, "kind"))
    check_step(hold.label, ids, origin, (*path, "label"))
    check_event(hold.until, ids, origin, (*path, "until"))
    if not hold.lost or (hold.until_ms, hold.until) != (None, None):
        _check_end(hold, hold.from_ms, origin, path)


def _check_end(held: HoldTable | PauseTable, from_ms: float, origin: Origin, path: Path) -> None:
    """Check that either an instant or an event ends it."""
    if (held.until_ms is None) == (held.until is None):
        raise origin.error(path, 'say when it ends: either until_ms = 400 or until = "w2.ok"')
    if held.until_ms is not None and held.until_ms < from_ms:
        raise origin.error((*path, "until_ms"), f"ends before it begins, at {decimal(from_ms)}")
