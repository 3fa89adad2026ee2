"""What storage held when everything had come to rest, part of I7.

Every live replica records its rows. The primary's count: those of the holder of a partition's last
lease, or of any node if it had none. Another replica may lag; if its safe time says that it does
not, it must hold the same. Of a store, whose servers may lag and hold no lease, the newest version
of each row counts that any of them has.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.rows import is_legal, upgraded
from ddlsim.checkers.case.writes import Item, Version, Writes, differing, the_row, version_of
from ddlsim.history.event import Cells
from ddlsim.history.events import AnyEvent, RowFinal
from ddlsim.history.world_events import LeaseBegan, NeverCompleted, PartitionSafeTime
from ddlsim.model.schema import Table
from ddlsim.units import MAX_TIMESTAMP, show

PartitionId = tuple[int, int]
"""A partition: (table id, number)."""


class AtRest:
    """The rows of each partition on each node, and which node's count."""

    def __init__(self, case: Case) -> None:
        self.holder: dict[str, str] = {}
        """The holder of each group's last lease."""
        last: dict[str, int] = {}
        for _, lease in case.of(LeaseBegan):
            if lease.start_ts >= last.get(lease.group, lease.start_ts):
                last[lease.group], self.holder[lease.group] = lease.start_ts, lease.holder
        self.safe: dict[str, dict[str, int]] = {}
        """By group and node: the last partition safe time."""
        for _, moved in case.of(PartitionSafeTime):
            self.safe.setdefault(moved.group, {})[moved.node] = moved.ts
        self.dead = case.dead
        self.held: dict[PartitionId, dict[str, dict[Item, RowFinal]]] = {}
        for _, event in case.of(RowFinal):
            place = self.held.setdefault((event.object_id, event.partition), {})
            rows = place.setdefault("" if case.is_layered else event.node, {})
            known = rows.get((event.object_id, event.key))
            if known is None or known.commit_ts <= event.commit_ts:
                rows[event.object_id, event.key] = event

    def primary(self, place: PartitionId) -> str | None:
        """The node whose rows count; None where it has crashed."""
        holder = self.holder.get(_group(place))
        if holder is None and "" in self.held.get(place, {}):
            return ""
        if holder is None:
            return next(iter(self.held.get(place, ())), None if self.dead else "")
        return None if holder in self.dead else holder

    def rows(self, place: PartitionId) -> dict[Item, RowFinal]:
        """What the primary of a partition held."""
        return self.held.get(place, {}).get(self.primary(place) or "", {})

    def caught_up(self, place: PartitionId) -> list[str]:
        """The other living replicas whose safe time is not behind that of the primary."""
        safe = self.safe.get(_group(place), {})
        holder = self.primary(place)
        if holder not in safe:
            return []
        return [
            node
            for node, ts in safe.items()
            if node != holder and node not in self.dead and ts >= safe[holder]
        ]


def _group(place: PartitionId) -> str:
    return f"{place[0]}/{place[1]}"


# --- the final state -----------------------------------------------------------------------------


def final_state(case: Case, writes: Writes) -> Iterator[Anomaly]:
    """What storage held at rest. A run is always read back, be it that nothing is left.

    A history that has no scenario is of no run: there some row says that it was.
    """
    is_read_back = bool(case.of(RowFinal)) or bool(case.header.scenario_text)
    if not is_read_back or case.of(NeverCompleted):
        return
    rest = AtRest(case)
    yield from _uncommitted(case)
    yield from _replicas(case, rest)
    for item, versions in writes.versions.items():
        newest = case.schemas.newest(item[0])
        if newest is None or newest.definition is None:
            continue
        due = versions[-1]
        place = (item[0], due.write.event.partition)
        if rest.primary(place) is None:
            continue
        found = rest.rows(place).get(item)
        what = the_row(case, item[0], item[1], due.write.event.version)
        if found is None or found.writer != due.write.tx:
            yield from _not_kept(case, due, found, what)
            continue
        yield from _kept_wrongly(case, writes, due, found, what)


def _uncommitted(case: Case) -> Iterator[Anomaly]:
    """Rows that storage held as committed though their writer is not."""
    for _, event in case.of(RowFinal):
        writer = case.transactions.get(event.writer)
        if writer is None or writer.committed is not None:
            continue
        what = the_row(case, event.object_id, event.key, event.version)
        aborted = () if writer.aborted is None else (writer.aborted,)
        yield Anomaly(
            "uncommitted-row",
            f"in the end storage held {what} as {event.writer} had left it, which is not committed",
            (*aborted, event),
        )


def _replicas(case: Case, rest: AtRest) -> Iterator[Anomaly]:
    """A replica that knows as much as the primary holds the same versions."""
    for place in rest.held:
        primary = rest.primary(place)
        due = rest.rows(place)
        for node in rest.caught_up(place):
            held = rest.held[place].get(node, {})
            for item in {**due, **held}:
                here, there = due.get(item), held.get(item)
                if _version(here) == _version(there):
                    continue
                event = here or there
                assert event is not None, item
                row = the_row(case, item[0], item[1], event.version)
                yield Anomaly(
                    "replicas-differ",
                    f"in the end node {primary}, the primary, held {row} as {_left(here)}, and "
                    f"node {node}, which knew as much of the partition, as {_left(there)}",
                    tuple(one for one in (here, there) if one is not None),
                )


def _version(event: RowFinal | None) -> object:
    return None if event is None else (event.writer, event.commit_ts, event.version, event.row)


def _left(event: RowFinal | None) -> str:
    if event is None:
        return "nothing"
    return f"{event.writer} had left it at {show(event.commit_ts)}"


def _not_kept(case: Case, due: Version, found: RowFinal | None, what: str) -> Iterator[Anomaly]:
    if found is None and due.write.event.row is None:
        return
    held = version_of(None if found is None else found.writer)
    seen: tuple[AnyEvent, ...] = () if found is None else (found,)
    yield Anomaly(
        "lost-write",
        f"{due.write.tx} wrote {what} and committed last, at {show(due.commit_ts)}, but "
        f"in the end storage held {held}",
        (due.write.event, case.history.events[due.committed_at], *seen),
    )


def _kept_wrongly(
    case: Case, writes: Writes, due: Version, found: RowFinal, what: str
) -> Iterator[Anomaly]:
    wrong = differing(writes, due.write, found.version, found.row)
    meant = case.meant(due.write.event, due.write.position)
    encoded = () if meant is None or due.write.event.row is None else (meant,)
    if wrong and _is_earlier(writes, due, found):
        yield Anomaly(
            "lost-write",
            f"{due.write.tx} wrote {what} more than once and committed at {show(due.commit_ts)}, "
            "but in the end storage held an earlier write of it",
            (*encoded, due.write.event, case.history.events[due.committed_at], found),
        )
    elif wrong:
        yield Anomaly(
            "corrupt-row",
            f"in the end {what} was not what {due.write.tx} had written: {'; '.join(wrong)}",
            (*encoded, due.write.event, found),
        )
    newest = case.schemas.newest(found.object_id)
    last = None if newest is None else writes.table(found.object_id, newest.version)
    written = writes.table(found.object_id, found.version)
    if last is None or written is None or found.row is None:
        return
    row = upgraded(found.row, written, last)
    illegal = is_legal(row, last)
    if illegal is not None:  # a pending column promises nothing of older rows
        pending = case.schemas.pending(found.object_id, last.version)
        excused = [id_ for id_, since in pending.items() if found.version < since]
        illegal = is_legal(row, last, excused)
    if illegal is not None:
        yield Anomaly(
            "illegal-row",
            f"in the end {what} broke version {last.version} of {last.name}: {illegal}",
            (due.write.event, found),
            clauses=("110.column.nullable" if _tightened(case, row, last) else "110.fwd.1",),
        )


def _is_earlier(writes: Writes, due: Version, found: RowFinal) -> bool:
    """Whether storage held what the transaction had written to the key before its last write."""
    before = writes.of[due.write.tx, (found.object_id, found.key)][:-1]
    return any(not differing(writes, write, found.version, found.row) for write in before)


def _tightened(case: Case, row: Cells, last: Table) -> bool:
    """Whether a column that has no value here once was nullable."""
    cells = dict(row)
    empty = {one.id for one in last.columns if not one.nullable and cells.get(one.id) is None}
    tables = (one.definition for one in case.schemas.steps(last.id, 0, MAX_TIMESTAMP))
    return any(
        column.nullable and column.id in empty
        for table in tables
        if isinstance(table, Table)
        for column in table.columns
    )
