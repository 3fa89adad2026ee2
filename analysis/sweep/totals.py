"""Totals over many runs: pooled figures, and findings grouped by structure."""

from collections import Counter
from collections.abc import Iterable, Sequence

from ddlsim.checkers.judge import Violation
from ddlsim.history.figures import Figures, pooled, schema_abort_rate
from ddlsim.model.records import Record
from ddlsim.verify.row import RunRow, Structure, structure

BY_WEIGHT = ("violation", "stuck", "finding", "out_of_assumption", "accepted")
"""The kinds of status, the gravest first."""


class ViolationGroup(Record, frozen=True):
    """Violations of several runs that differ in names and times alone.

    `example` and `argument` are those of the first of `seeds`. `times` counts the violations that
    the judges kept; of many of a kind they keep only some.
    """

    example: Violation
    argument: str
    seeds: tuple[int, ...]
    times: int

    @property
    def kind(self) -> tuple[str, str, str]:
        """Status, invariant and kind, which several structures may share."""
        return (self.example.status, self.example.invariant, self.example.kind)


def total(rows: Iterable[RunRow]) -> Figures | None:
    """The pooled figures of all runs; None where every run crashed."""
    finished = [row for row in rows if row.figures is not None]
    figures = [row.figures for row in finished if row.figures is not None]
    if not figures:
        return None
    aborted: Counter[str] = Counter()
    needless: Counter[str] = Counter()
    for each in figures:
        aborted.update(each.aborted)
        needless.update(each.needless_aborts)
    attempts = sum(each.attempts for each in figures)
    ordered = dict(sorted(aborted.items()))
    return Figures(
        committed=sum(each.committed for each in figures),
        aborted=ordered,
        unknown=sum(each.unknown for each in figures),
        attempts=attempts,
        schema_abort_rate=schema_abort_rate(ordered, attempts),
        simulated_ms=round(sum(each.simulated_ms for each in figures), 3),
        events=sum(each.events for each in figures),
        ddl_latency_ms=pooled(row.pools["ddl_latency_ms"] for row in finished),
        ddl_noop_latency_ms=pooled(row.pools["ddl_noop_latency_ms"] for row in finished),
        dml_latency_ms=pooled(row.pools["dml_latency_ms"] for row in finished),
        schema_wait_ms=pooled(row.pools["schema_wait_ms"] for row in finished),
        after_heal_ms=max(
            (each.after_heal_ms for each in figures if each.after_heal_ms is not None),
            default=None,
        ),
        blocked_behind=sum(each.blocked_behind for each in figures),
        needless_aborts=dict(sorted(needless.items())),
    )


def grouped(rows: Sequence[RunRow]) -> list[ViolationGroup]:
    """The violations of these runs by structure, the gravest and most frequent first."""
    groups: dict[Structure, list[tuple[RunRow, int]]] = {}
    for row in rows:
        for place, violation in enumerate(row.violations):
            groups.setdefault(structure(violation), []).append((row, place))
    result = []
    for members in groups.values():
        row, place = members[0]
        seeds = tuple(dict.fromkeys(member.seed for member, _ in members))
        example, argument = row.violations[place], row.arguments[place]
        result.append(ViolationGroup(example, argument, seeds, len(members)))
    return sorted(result, key=_order)


def times_of(members: Sequence[ViolationGroup], rows: Iterable[RunRow]) -> int:
    """The number of violations of one kind, with those that the judges counted and did not keep."""
    example = members[0].example
    key = f"{example.checker} {example.kind} {example.status}"
    return sum(one.times for one in members) + sum(row.omitted.get(key, 0) for row in rows)


def _order(one: ViolationGroup) -> tuple[int, int, int, str, str]:
    kind = BY_WEIGHT.index(one.example.status.partition(":")[0])
    invariant = int(one.example.invariant.removeprefix("I"))
    return (kind, -len(one.seeds), invariant, one.example.kind, one.example.summary)
