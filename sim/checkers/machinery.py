"""I12: what every design is built on: one leader, one log, clocks and safe times that only grow.

[98.x.1] [98.x.7]
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from ddlsim.checkers.base import CHECKERS, WITNESS, Anomaly, Severity
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.rules.abort_answers import abort_answers
from ddlsim.checkers.rules.alias_rules import alias_rules
from ddlsim.checkers.rules.clock_rules import clock_rules
from ddlsim.checkers.rules.ddl_answers import ddl_answers
from ddlsim.checkers.rules.lease_rules import lease_rules
from ddlsim.checkers.rules.lock_rules import lock_rules
from ddlsim.checkers.rules.operation_checks import operation_checks
from ddlsim.checkers.rules.safe_time_rules import safe_time_rules
from ddlsim.checkers.rules.scan_rules import scan_rules
from ddlsim.checkers.rules.statement_effects import statement_effects
from ddlsim.history.events import (
    AnyEvent,
    ReadExecuted,
    SafeTimeAdvanced,
    TxBegan,
    UpdateApplied,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.world_events import (
    AppliedLost,
    CommandLogged,
    EntryLost,
    LeaderElected,
    PartDiverged,
    PartitionSafeTime,
    TxRecovered,
)
from ddlsim.model.groups import META
from ddlsim.units import MIN_TIMESTAMP, as_ms, show


class Machinery:
    """Replication, clocks, safe times and leases keep their own rules, whatever came of it.

    At most one leader of a group and term, one command at an index; terms never fall and stamps
    always rise with the index; what a member has committed stays in its log, and a catalog takes an
    update once. The answer to a DDL agrees with the log (`ddl_answers`): only this checker compares
    answers with it, and what is logged is what the statement says (`statement_effects`). What was
    under way when its transaction was aborted is answered with the reason (`abort_answers`). A
    node's schema safe time is published once its catalog has what it promises (`safe_time_rules`).
    It, and the timestamps that the node issues, never go back, not even over a crash; its safe time
    of a partition does not between crashes, and what follows something is stamped behind it on
    whichever node (`clock_rules`). Leases of one place never overlap, a prolongation never shortens
    one, what committed did so within the leases that it ran under, and no transaction uses a
    partition under two of them (`lease_rules`). The parts of a node do what their models do
    (`cluster/models`). A transaction has one outcome. Under one lease a primary executes nothing
    that conflicts with an open transaction (`lock_rules`), and a scan shows all of its table once
    (`scan_rules`). No operation goes on without its table, or behind a wait without another check
    (`operation_checks`). An old name that a design keeps after a rename does not end before its
    time (`alias_rules`). Only this checker sees such a fault while it is still without consequences
    for any transaction.
    """

    name = "machinery"
    invariant = "I12"
    severity: Severity = "safety"
    summary = "one leader a term, one log, clocks and safe times that only grow, disjoint leases"
    voices = WITNESS

    def check(self, case: Case) -> Iterator[Anomaly]:
        """Leaders, logs, safe times, clocks, leases, aliases."""
        yield from _leaders(case)
        yield from _commands(case)
        yield from _lost(case)
        yield from _diverged(case)
        yield from _two_outcomes(case)
        yield from _updates(case)
        yield from _applied(case)
        yield from _safe_times(case)
        yield from safe_time_rules(case)
        yield from _begins(case)
        yield from _lives(case)
        yield from lease_rules(case)
        yield from lock_rules(case)
        yield from scan_rules(case)
        yield from operation_checks(case)
        yield from clock_rules(case)
        yield from alias_rules(case)
        yield from ddl_answers(case)
        yield from abort_answers(case)
        yield from statement_effects(case)


# --- replication ---------------------------------------------------------------------------------


def _leaders(case: Case) -> Iterator[Anomaly]:
    first: dict[tuple[str, int], LeaderElected] = {}
    for _, elected in case.of(LeaderElected):
        before = first.setdefault((elected.group, elected.term), elected)
        if before.node != elected.node:
            yield Anomaly(
                "two-leaders",
                f"in term {elected.term} of group {case.schemas.group(elected.group)} both "
                f"{before.node} and {elected.node} were leader",
                (before, elected),
            )


def _commands(case: Case) -> Iterator[Anomaly]:
    """One command at an index; along the log, terms never fall and stamps always rise."""
    groups: dict[str, dict[int, CommandLogged]] = {}
    for _, command in case.of(CommandLogged):
        log = groups.setdefault(command.group, {})
        before = log.setdefault(command.index, command)
        if (before.term, before.stamp) != (command.term, command.stamp):
            yield Anomaly(
                "two-commands",
                f"at index {command.index} of group {case.schemas.group(command.group)} node "
                f"{before.node} applied {_described(before)}, and node {command.node} "
                f"{_described(command)}",
                (before, command),
            )
    for log in groups.values():
        yield from _along(case, log)
    yield from _above_the_first(case)


def _above_the_first(case: Case) -> Iterator[Anomaly]:
    """The first command is stamped above the safe time that all nodes begin with [98.x.1]."""
    commands = (placed for placed in case.of(CommandLogged) if placed[1].group == META)
    began = next(iter(case.of(SafeTimeAdvanced)), None)
    first = next((placed for placed in commands if placed[1].stamp), None)
    if began is None or first is None or first[0] < began[0]:
        return
    if first[1].stamp <= began[1].safe_ts:
        yield Anomaly(
            "stamped-below-safe-time",
            f"group {META} applied {_described(first[1])}, and the nodes had begun with safe time "
            f"{show(began[1].safe_ts)}",
            (began[1], first[1]),
            clauses=("98.x.1",),
        )


def _along(case: Case, log: dict[int, CommandLogged]) -> Iterator[Anomaly]:
    """A leader's first command may be empty and without a stamp: it has stamp 0."""
    stamped: CommandLogged | None = None
    before: CommandLogged | None = None
    for index in sorted(log):
        command = log[index]
        if before is not None and command.term < before.term:
            yield Anomaly(
                "term-falls",
                f"group {case.schemas.group(command.group)} applied {_described(before)} at index "
                f"{before.index}, and {_described(command)} at index {index}",
                (before, command),
            )
        before = command
        if not command.stamp:
            continue
        if stamped is not None and command.stamp <= stamped.stamp:
            stamps = (stamped.stamp, command.stamp)
            group = case.schemas.group(command.group)
            yield _unordered(group, stamped, command, *stamps, _cause(stamped, command))
        stamped = command


def _cause(before: CommandLogged, after: CommandLogged) -> tuple[str, ...]:
    """The clause beside 98.x.1 that is broken where one leader stamped both commands.

    A leader's own clock only grows. Stamps are equal if a safe-time command took the timestamp of
    the update behind it [98.x.2]; one is lower if its command was stamped before and submitted
    again [98.x.5].
    """
    if before.term != after.term:
        return ()
    return ("98.x.2",) if before.stamp == after.stamp else ("98.x.5",)


def _described(command: CommandLogged) -> str:
    return f"a command of term {command.term} stamped {show(command.stamp)}"


def _lost(case: Case) -> Iterator[Anomaly]:
    """What a member has committed stays in its log [98.def.3]."""
    for _, lost in case.of(EntryLost):
        yield Anomaly(
            "committed-entry-lost",
            f"node {lost.node} had committed index {lost.index} of group "
            f"{case.schemas.group(lost.group)} (term {lost.term}, stamped {show(lost.stamp)}), "
            "and dropped it",
            (lost,),
            clauses=("98.def.3",),
        )


def _diverged(case: Case) -> Iterator[Anomaly]:
    """Each part of a node does what its model does, which the run carries out beside it."""
    for _, diverged in case.of(PartDiverged):
        yield Anomaly(
            f"{diverged.part}-diverged",
            f"{diverged.part} of node {diverged.node} did not do what the model of it does: "
            f"{case.schemas.in_names(diverged.what)}",
            (diverged,),
        )


def _two_outcomes(case: Case) -> Iterator[Anomaly]:
    """What has committed was aborted nowhere: by no coordinator, and by no recovery."""
    for tx in case.transactions.values():
        if tx.committed is not None and tx.aborted is not None:
            yield Anomaly(
                "two-outcomes",
                f"{tx.name} has committed at {show(tx.committed.commit_ts)}, and node "
                f"{tx.aborted.node} aborted it with {tx.aborted.reason}",
                (tx.committed, tx.aborted),
                clauses=("110.flow.7",),
            )
    for _, found in case.of(TxRecovered):
        of = case.transactions.get(found.tx)
        if found.outcome != "aborted" or of is None or of.committed is None:
            continue
        if of.writes:  # what has only read may commit without an outcome, which nothing misses
            yield Anomaly(
                "two-outcomes",
                f"{found.tx} has committed at {show(of.committed.commit_ts)}, and its recovery on "
                f"node {found.node} stored that it is aborted",
                (of.committed, found),
                clauses=("110.flow.7",),
            )


def _applied(case: Case) -> Iterator[Anomaly]:
    """A catalog applies each update once between two crashes of its node [98.def.3]."""
    first: dict[tuple[str, int, int], UpdateApplied] = {}
    for at, applied in case.of(UpdateApplied):
        life = bisect_left(case.deaths.get(applied.node, ()), at)
        before = first.setdefault((applied.node, life, applied.catalog_version), applied)
        if before is not applied:
            yield Anomaly(
                "applied-twice",
                f"the catalog of node {applied.node} took version {applied.catalog_version} at "
                f"{as_ms(before.at_us)} ms and again at {as_ms(applied.at_us)} ms",
                (before, applied),
                clauses=("98.def.3",),
            )


def _updates(case: Case) -> Iterator[Anomaly]:
    """The stamps of schema updates, for histories without events of other commands."""
    ordered = sorted(
        (update for _, update in case.schemas.updates if update.op is not None),
        key=lambda update: update.index,
    )
    for before, after in pairwise(ordered):
        if after.message_ts <= before.message_ts:
            yield _unordered(META, before, after, before.message_ts, after.message_ts)


def _unordered(
    group: str,
    before: CommandLogged | UpdateLogged,
    after: CommandLogged | UpdateLogged,
    earlier: int,
    later: int,
    cause: tuple[str, ...] = (),
) -> Anomaly:
    return Anomaly(
        "stamps-unordered",
        f"in the log of group {group} index {before.index} is stamped "
        f"{show(earlier)}, and index {after.index} {show(later)}",
        (before, after),
        clauses=("98.x.1", *cause),
    )


# --- safe times ----------------------------------------------------------------------------------


def _safe_times(case: Case) -> Iterator[Anomaly]:
    """Safe time never goes back, not even over a crash [98.x.7].

    Except where the crash took what was applied: a leader may commit by the disks of others, and
    receives again what its own disk did not hold. Until then its safe time is lower.
    """
    last: dict[str, SafeTimeAdvanced] = {}
    losses: dict[str, list[int]] = defaultdict(list)
    for _, lost in case.of(AppliedLost):
        if lost.group == META:
            losses[lost.node].append(lost.at_us)
    for _, event in case.of(SafeTimeAdvanced):
        before = last.get(event.node)
        if (
            before is not None
            and event.safe_ts < before.safe_ts
            and not any(before.at_us <= at <= event.at_us for at in losses[event.node])
        ):
            yield _back(event.node, "safe time", before, event, before.safe_ts, event.safe_ts)
        last[event.node] = event
    moved: dict[tuple[str, str], tuple[int, PartitionSafeTime]] = {}
    for at, here in case.of(PartitionSafeTime):
        since, earlier = moved.get((here.node, here.group), (at, here))
        moved[here.node, here.group] = (at, here)
        lives_on = not any(since < one < at for one in case.deaths.get(here.node, ()))
        if here.ts < earlier.ts and lives_on:
            what = f"safe time of partition {case.schemas.group(here.group)}"
            yield _back(here.node, what, earlier, here, earlier.ts, here.ts)


def _back(
    node: str, what: str, before: AnyEvent, after: AnyEvent, earlier: int, later: int
) -> Anomaly:
    kind = "clock-went-back" if what == "clock" else "safe-time-went-back"
    return Anomaly(
        kind,
        f"the {what} of node {node} was {show(earlier)} at {as_ms(before.at_us)} ms "
        f"and {show(later)} at {as_ms(after.at_us)} ms",
        (before, after),
        clauses=("98.x.7",),
    )


# --- hybrid clocks -------------------------------------------------------------------------------


def _begins(case: Case) -> Iterator[Anomaly]:
    """A begin_ts is issued when its event is recorded: those of one node always rise.

    Not where it is a version of a store, which several transactions may read at.
    """
    if case.is_layered:
        return
    last: dict[str, TxBegan] = {}
    for _, began in case.of(TxBegan):
        before = last.get(began.node)
        if before is not None and began.begin_ts <= before.begin_ts:
            yield _back(began.node, "clock", before, began, before.begin_ts, began.begin_ts)
        last[began.node] = began


def _lives(case: Case) -> Iterator[Anomaly]:
    """What a node issues after a crash is above all that it issued before.

    Between two crashes only begins are compared: an operation takes its op_ts before its last
    wait, so events of operations may stand in another order. A read-only transaction does not use
    a timestamp of the node's clock.
    """
    if not case.deaths or case.is_layered:
        return
    issued: list[tuple[int, str, int, AnyEvent]] = [
        (at, began.node, began.begin_ts, began) for at, began in case.of(TxBegan)
    ]
    for kind in (ReadExecuted, WriteExecuted):
        for at, event in case.of(kind):
            assert isinstance(event, ReadExecuted | WriteExecuted), event
            if case.transactions[event.tx].read_ts is None:
                issued.append((at, event.node, event.op_ts, event))
    issued.sort(key=lambda one: one[0])
    marks = dict(case.deaths)
    highest: dict[str, tuple[int, AnyEvent]] = {}
    inherited: dict[str, tuple[int, AnyEvent]] = {}
    for at, node, ts, event in issued:
        ends = marks.get(node, [])
        if ends and at > ends[0]:
            # it may have crashed again before it issued anything
            marks[node] = [one for one in ends if one >= at]
            inherited[node] = highest.get(node, (MIN_TIMESTAMP, event))
        before = inherited.get(node)
        if before is not None and ts <= before[0]:
            yield _back(node, "clock", before[1], event, before[0], ts)
        if node not in highest or ts > highest[node][0]:
            highest[node] = (ts, event)


CHECKERS.add("machinery", Machinery())
