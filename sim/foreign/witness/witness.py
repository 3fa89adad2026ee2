"""`check --input witness`: the log of a real cluster, judged for I1, I4 and I8.

The entries become events of our vocabulary, and the same checkers that judge simulated runs judge
them. I1 and I8 need no clock. I4 asks what happened *after* an acknowledgement: two instants on one
wall clock are compared as they are, those of two clocks only count as ordered where they are
further apart than `clock_error_ms`. So nothing is accused that might have been the other way round.

What had no entries to judge by, and whatever could not be read, makes the verdict "unknown".
"""

from collections import Counter
from collections.abc import Iterator
from math import inf
from typing import Final, NamedTuple

from msgspec import structs

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.operations import AT_THE_PRIMARY
from ddlsim.checkers.judge import Violation, violation_of
from ddlsim.foreign.witness import words as witness_words
from ddlsim.foreign.witness.order import unordered
from ddlsim.foreign.witness.records import (
    DdlAcknowledged,
    Line,
    Log,
    Problem,
    SchemaActivated,
    SchemaApplied,
    SchemaResolved,
    TransactionCommitted,
    hlc,
    load,
)
from ddlsim.foreign.witness.schema import Truth, truth_of
from ddlsim.graph.verdict import KEPT_OF_A_KIND
from ddlsim.history import events
from ddlsim.history.events import AnyEvent
from ddlsim.history.history import HISTORY_FORMAT, Header, History
from ddlsim.model.design import DesignHeader

OWING: Final = ("enlist", *AT_THE_PRIMARY)
"""What I4 judges an operation by: `own_ddl`."""


class Judgement(NamedTuple):
    """What a log shows, what could not be judged of it, and how much there was, by kind.

    `shown` has the lines that each violation rests on, in their order.
    """

    violations: tuple[Violation, ...]
    problems: tuple[Problem, ...]
    entries: int
    nodes: int
    kinds: tuple[tuple[str, int], ...] = ()
    shown: tuple[tuple[Line, ...], ...] = ()


def judge_file(file: str) -> Judgement:
    """Judge a log; `ForeignError` if it is none."""
    return judge_log(load(file))


def judge_log(log: Log) -> Judgement:
    """Judge what could be read of a log."""
    origin_ms = min((line.entry.wall_ms for line in log.lines), default=0.0)
    truth = truth_of(log, origin_ms)
    writer = _Writer(log, truth, origin_ms)
    everything = writer.everything()
    found: list[Violation] = []
    for name in ("atomicity", "forward_compatible"):
        found += _found(name, everything)
    judge = CHECKERS.get("forward_compatible")
    found += [violation_of(judge, one, "violation") for one in unordered(truth)]
    for history in writer.by_clock():
        found += _found("own_ddl", history)
    nodes = {line.entry.node for line in log.lines}
    problems = [*log.problems, *writer.silent()]
    problems.sort(key=lambda one: (not one.line, one.line))
    kinds = Counter(str(line.entry.__struct_config__.tag) for line in log.lines)
    few = tuple(writer.explained(one) for one in _few(found))
    return Judgement(
        tuple(one for one, _ in few), tuple(problems), len(log.lines), len(nodes),
        tuple(sorted(kinds.items())), tuple(lines for _, lines in few),
    )  # fmt: skip


def _found(name: str, history: History) -> Iterator[Violation]:
    checker = CHECKERS.get(name)
    for anomaly in checker.check(Case(history)):
        yield violation_of(checker, anomaly, "violation")


def _few(found: list[Violation]) -> tuple[Violation, ...]:
    """Some of each kind, as a verdict keeps them."""
    seen: dict[tuple[str, str], int] = {}
    kept = []
    for one in found:
        times = seen[one.checker, one.kind] = seen.get((one.checker, one.kind), 0) + 1
        kept += [one] if times <= KEPT_OF_A_KIND else []
    return tuple(kept)


class _Writer:
    """Turns entries into events, and counts what each invariant was judged by."""

    def __init__(self, log: Log, truth: Truth, origin_ms: float) -> None:
        self._log = log
        self._truth = truth
        self._origin_ms = origin_ms
        self._whole = not log.problems  # of what is missing, any entry may be a rename or a drop
        self._noted: dict[Problem, None] = {}
        self._judged: dict[str, int] = {"I1": 0, "I4": 0, "I8": 0}
        self._lines: dict[int, tuple[Line, AnyEvent]] = {}  # by id: an event and its line
        activated: dict[tuple[int, int], Line] = {}
        for line in log.lines:
            if isinstance(entry := line.entry, SchemaActivated):
                activated.setdefault((entry.object, entry.version), line)
        for key, update in truth.updates.items():
            self._lines[id(update)] = (activated[key], update)

    def _of(self, line: Line, event: AnyEvent) -> AnyEvent:
        """An event, with its line remembered."""
        self._lines[id(event)] = (line, event)
        return event

    def explained(self, found: Violation) -> tuple[Violation, tuple[Line, ...]]:
        """A violation in the words of the log, and the lines that it rests on."""
        lines = {
            line.number: line
            for event in found.witness
            for line, _ in [self._lines.get(id(event), (None, event))]
            if line is not None
        }
        inside = tuple(lines[number] for number in sorted(lines))
        said = witness_words.summary(found, inside, self._log.clock_error_ms)
        return structs.replace(found, summary=said), inside

    def _history(self) -> History:
        design = DesignHeader("witness", "a real cluster", self._log.file, "ignite", ())
        header = Header(HISTORY_FORMAT, "", self._log.file, "", {}, 0, design, None, "ok", (), {})
        history = History(header)
        history.events.extend(self._truth.updates.values())
        return history

    def everything(self) -> History:
        """All that is judged without looking at wall clocks, in the order of the log."""
        history = self._history()
        commits: dict[str, tuple[int, int]] = {}
        for line in self._log.lines:
            match line.entry:
                case SchemaApplied() as entry if self._known(line, entry.object, entry.version):
                    history.events.append(self._of(line, self._applied(entry)))
                case SchemaResolved() as entry if self._resolvable(line, entry):
                    self._judged["I1"] += 1
                    history.events.append(self._of(line, self._resolved(entry, entry.operation)))
                case TransactionCommitted() as entry if self._committable(line, entry, commits):
                    self._judged["I8"] += 1
                    history.events.append(self._of(line, self._committed(entry)))
        return history

    def by_clock(self) -> Iterator[History]:
        """For each wall clock: its operations, and every acknowledgement where it surely was."""
        acknowledged = [
            (line, entry)
            for line in self._log.lines
            if isinstance(entry := line.entry, DdlAcknowledged)
            and self._known(line, entry.object, entry.version)
        ]
        asked: dict[str, list[tuple[Line, SchemaResolved]]] = {}
        for line in self._log.lines:
            entry = line.entry
            if isinstance(entry, SchemaResolved) and entry.started_ms is not None:
                asked.setdefault(entry.clock or entry.node, []).append((line, entry))
        for clock, operations in asked.items():
            placed: list[tuple[float, int, list[AnyEvent]]] = []
            past = {entry.transaction for _, entry in operations if entry.read_only}
            for line, ack in acknowledged:
                own = (ack.clock or ack.node) == clock
                surely_ms = ack.wall_ms + (0 if own else self._log.clock_error_ms)
                placed.append((surely_ms, line.number, self._acknowledged(line, ack)))
            first_ms = min((surely_ms for surely_ms, _, _ in placed), default=inf)
            for line, entry in operations:
                if self._truth.knows(entry.object, entry.version) or not entry.object:
                    assert entry.started_ms is not None
                    owes = entry.purpose in OWING and entry.transaction not in past
                    self._judged["I4"] += owes and entry.started_ms > first_ms
                    placed.append((entry.started_ms, 0, self._asked(line, entry, clock)))
            history = self._history()
            for _, _, some in sorted(placed, key=lambda one: one[:2]):
                history.events += some
            yield history

    def silent(self) -> Iterator[Problem]:
        """The invariants that nothing in the log could be judged by."""
        needs = {
            "I1": "schema_resolved entries of objects whose schema_activated entries are there",
            "I4": f"schema_resolved entries ({', '.join(OWING)}; not read_only) with a started_ms "
            "after a ddl_acknowledged one",
            "I8": "transaction_committed entries",
        }
        for invariant, need in needs.items():
            if not self._judged[invariant]:
                yield Problem(self._log.file, 0, invariant, f"was not judged: there are no {need}")

    # --- what can be judged at all ---------------------------------------------------------------

    def _known(self, line: Line, object_id: int, version: int) -> bool:
        if self._truth.knows(object_id, version):
            return True
        if object_id not in self._truth.doubtful:
            what = f"no schema_activated entry has version {version} of object {object_id}"
            self._note(line, "version", what)
        else:
            self._note(line, "object", f"object {object_id} is in doubt")
        return False

    def _note(self, line: Line, key: str, message: str) -> None:
        problem = Problem(self._log.file, line.number, key, message)
        if problem not in self._noted:
            self._noted[problem] = None
            self._log.problems.append(problem)

    def _resolvable(self, line: Line, entry: SchemaResolved) -> bool:
        if entry.object:
            return self._known(line, entry.object, entry.version)
        if not self._whole:
            self._note(line, "table", f"{entry.table!r} may be part of what could not be read")
        return self._whole

    def _committable(
        self, line: Line, entry: TransactionCommitted, commits: dict[str, tuple[int, int]]
    ) -> bool:
        commit_ts = hlc(entry.commit) or 0
        before, number = commits.setdefault(entry.transaction, (commit_ts, line.number))
        if before != commit_ts:
            what = f"of {entry.transaction} is another one in line {number}"
            self._note(line, "commit", what)
            return False
        known = [self._known(line, use.object, use.version) for use in entry.tables]
        return all(known) and number == line.number

    # --- entries as events -----------------------------------------------------------------------

    def _us(self, wall_ms: float) -> int:
        return round((wall_ms - self._origin_ms) * 1000)

    def _applied(self, entry: SchemaApplied) -> AnyEvent:
        update = self._truth.updates[entry.object, entry.version]
        return events.UpdateApplied(
            self._us(entry.wall_ms),
            entry.node,
            update.catalog_version,
            update.message_ts,
            update.activation_ts,
        )

    def _resolved(self, entry: SchemaResolved, op: str | None) -> AnyEvent:
        return events.SchemaResolved(
            self._us(entry.wall_ms),
            entry.node,
            entry.transaction,
            op,
            entry.purpose,
            entry.table if self._whole else None,
            entry.object,
            hlc(entry.at) or 0,
            entry.version,
            0,
        )

    def _committed(self, entry: TransactionCommitted) -> AnyEvent:
        return events.TxCommitted(
            self._us(entry.wall_ms),
            entry.node,
            entry.transaction,
            hlc(entry.commit) or 0,
            tuple((use.object, use.version, 0) for use in entry.tables),
        )

    def _acknowledged(self, line: Line, entry: DdlAcknowledged) -> list[AnyEvent]:
        at_us, client = self._us(entry.wall_ms), entry.clock or entry.node
        op = f"DDL {entry.object}/{entry.version}"
        sql = self._truth.statements[entry.object, entry.version]
        asked = events.Invoked(at_us, client, op, None, entry.node, "ddl", sql=sql)
        return [self._of(line, asked), self._of(line, events.Ok(at_us, client, op))]

    def _asked(self, line: Line, entry: SchemaResolved, clock: str) -> list[AnyEvent]:
        op = entry.operation or f"{entry.transaction}@{line.number}"
        assert entry.started_ms is not None
        at_us = self._us(entry.started_ms)
        begun: list[AnyEvent] = []
        if entry.read_only:
            read_ts = hlc(entry.at)
            begun.append(events.TxBegan(at_us, entry.transaction, entry.node, 0, read_ts=read_ts))
        asked = events.Invoked(at_us, clock, op, entry.transaction, entry.node, entry.purpose)
        return [self._of(line, one) for one in (*begun, asked, self._resolved(entry, op))]
