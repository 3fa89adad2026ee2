"""The closed form of schema aborts (6.3) beside runs of a design of the Ignite plane."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ddlsim.analysis.compare.measured import NO_CHANGES, NOT_LOST, Measured
from ddlsim.analysis.formula import protocol_forms
from ddlsim.analysis.formula.by_formula import Forms
from ddlsim.scenario.scenario import Scenario
from ddlsim.units import US_PER_MS
from ddlsim.workload.transborder import Transborder

AIMED: Final = Transborder.name
"""The workload whose transactions are there when a change comes."""


def schema_aborts(
    world: Forms, took: Measured, kind: protocol_forms.Crossing
) -> tuple[float, float]:
    """6.3 by the measured share q of changes that are incompatible.

    Least: changes come at any time; most: a workload may aim transactions at them. Both with those
    that asked for what was not there, which abort whatever the design, and where operations go on
    behind a change, with those that read a newer row, which the form leaves out.
    """
    least, most = protocol_forms.crossed(kind, _tables(took, kind), took.attempts, took.outdated)
    if kind.late:
        looks = took.first_looks / max(took.attempts, 1)
        most += looks * took.in_load / took.load_ms * float(world.delays.mean())
    aimed, dies = _aimed(world.scenario, took, kind)
    most += aimed * max(dies - most, 0.0)
    missed = (took.missed + kind.go_on * took.newer) / max(took.attempts, 1)
    return missed + (1 - missed) * least, min(missed + most, 1.0)


def _aimed(
    scenario: Scenario, took: Measured, kind: protocol_forms.Crossing
) -> tuple[float, float]:
    """The share of transactions that a workload aims at planned changes, and how many of them die
    at most: those that use the table, if the change is incompatible or they operate behind it. What
    only reads, as of the past, survives."""
    at_start = scenario.workload_world(AIMED)
    planned = len(at_start.planned_ddl)
    kinds = np.array([*took.crossed.values(), NO_CHANGES])[:, 2 * kind.shipped :][:, :2]
    rates = np.minimum(kinds.sum(axis=0) / max(planned * took.runs, 1), 1.0)
    many, dies = 0, 0.0
    for own in scenario.table.workload:
        if own.get("name") != AIMED:
            continue
        clients = int(own.get("clients", 1))
        tables = len(own.get("tables", ())) or len(at_start.tables)
        use, again = _used(own, tables)
        writers = clients * (1 - float(own.get("read_only", Transborder.read_only)))
        dies += writers * use * kind.dies(float(rates[0]), float(rates[1]), again)
        many += clients
    share = min(many * planned * took.runs / max(took.attempts, 1), 1.0)
    return share, dies / max(many, 1)


def _used(aimed: Mapping[str, Any], tables: int) -> tuple[float, float]:
    """How likely an aimed transaction uses one of so many tables at all, and in others of its
    operations than the first."""
    counts = [
        before + after
        for before in _whole(aimed.get("before", Transborder.before))
        for after in _whole(aimed.get("after", Transborder.after))
    ]
    each = 1 - 1 / max(tables, 1)
    found = [np.mean([1 - each ** max(one - less, 0) for one in counts]) for less in (0, 1)]
    return float(found[0]), float(found[1])


def _whole(span: Any) -> range:
    least, most = span if isinstance(span, list | tuple) else (span, span)
    return range(int(least), int(most) + 1)


def _tables(took: Measured, kind: protocol_forms.Crossing) -> list[protocol_forms.Used]:
    found = []
    for table in dict.fromkeys((*took.exponents, *took.outdates, *took.lost)):
        _, using, tail = took.exponents.get(table, (0.0, 0.0, 0.0))
        every, incompatible = took.crossed.get(table, NO_CHANGES)[2 * kind.shipped :][:2]
        checked = took.writing_ms.get(table, 0.0) if kind.rows else using
        outdated, lost = (each.get(table, NOT_LOST) for each in (took.outdates, took.lost))
        last, other = (
            (one.writing_us if kind.rows else one.using_us) / US_PER_MS for one in (outdated, lost)
        )
        found.append(
            protocol_forms.Used(
                every / took.load_ms,
                incompatible / took.load_ms,
                using=checked * took.users + other,
                tail=tail * took.users,
                outdated=(last + outdated.whole_us / US_PER_MS) / 2,
                whole=using * took.users + (outdated.whole_us + lost.whole_us) / US_PER_MS,
            )
        )
    return found
