"""Coverage counted a second way: by its definitions, event by event, with nothing remembered."""

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

from ddlsim.history.events import (
    Encoded,
    Enlisted,
    Invoked,
    LockWaited,
    MetadataRead,
    ReadExecuted,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.history import History
from ddlsim.history.world_events import (
    FaultBegan,
    FaultHealed,
    LeaderElected,
    LeaseBegan,
    NodeCrashed,
    SnapshotInstalled,
    TxRecovered,
)

MS = 1 << 16
ENDS = (TxCommitted, TxAborted)


def features(history: History) -> set[str]:
    found = set(probes(history)) | set(pairs(history)) | set(faults(history))
    return found | set(met(history)) | set(across(history)) | set(states(history))


# --- probes, faults ------------------------------------------------------------------------------


def probes(history: History) -> Iterator[str]:
    for name, count in history.probes.items():
        least = [1, 2, 3, 4, 8, 16, 32, 128]
        yield f"probe {name} {[one for one in least if one <= count][-1]}"


def faults(history: History) -> Iterator[str]:
    for at, event in enumerate(history.events):
        what = happened(history, at, event)
        if what is not None:
            before = history.events[:at]
            for name in {one.fault for one in before if isinstance(one, FaultBegan)}:
                began = sum(isinstance(e, FaultBegan) and e.fault == name for e in before)
                healed = sum(isinstance(e, FaultHealed) and e.fault == name for e in before)
                if began > healed:
                    yield f"fault {name} {what}"


def happened(history: History, at: int, event: Any) -> str | None:
    names = {LeaderElected: "election", NodeCrashed: "crash", SnapshotInstalled: "snapshot",
             UpdateLogged: "ddl", TxCommitted: "commit", TxAborted: "abort",
             TxRecovered: "recovery"}  # fmt: skip
    if isinstance(event, LeaseBegan):
        before = leases(history, at, event.group)
        same = before and (before[-1].holder, before[-1].start_ts) == (event.holder, event.start_ts)
        return "lease-moved" if before and not same else None
    return names.get(type(event))


def leases(history: History, at: int, group: str) -> list[LeaseBegan]:
    return [e for e in history.events[:at] if isinstance(e, LeaseBegan) and e.group == group]


# --- pairs ---------------------------------------------------------------------------------------


def pairs(history: History) -> Iterator[str]:
    for tx in {tx_of(event) for event in history.events} - {None}:
        own = [(at, e) for at, e in enumerate(history.events) if tx_of(e) == tx]
        traits = {trait for at, event in own for trait in traits_of(history, at, event)}
        tables = {e.object_id for _, e in own if isinstance(e, Enlisted)}
        traits |= {"several-tables"} if len(tables) > 1 else set()
        parts = {(e.object_id, e.partition) for _, e in own
                 if isinstance(e, ReadExecuted | WriteExecuted)}  # fmt: skip
        traits |= {"several-partitions"} if len(parts) > 1 else set()
        for one, other in combinations(sorted(traits), 2):
            yield f"pair {one} {other}"


def tx_of(event: Any) -> str | None:
    return None if isinstance(event, Invoked) else getattr(event, "tx", None)


def traits_of(history: History, at: int, event: Any) -> Iterator[str]:
    if isinstance(event, TxBegan):
        yield from ["implicit"] if event.implicit else []
        yield from ["read-only"] if event.read_ts is not None else []
    elif isinstance(event, SchemaResolved):
        yield from ["completeness-wait"] if event.waited_us > 0 else []
        yield from ["table-gone"] if event.version == 0 and event.name is None else []
    elif isinstance(event, TxCommitted):
        yield "commit"
        changed = [version for _, initial, version in event.tables if version != initial]
        yield from ["transborder"] if any(changed) else []
        yield from ["transborder-drop"] if 0 in changed else []
    elif isinstance(event, TxAborted):
        yield "abort-" + "-".join(event.reason.lower().split("_"))
    elif isinstance(event, TxRecovered):
        yield f"recovered-{event.outcome}"
    else:
        yield from traits_of_operation(history, at, event)


def traits_of_operation(history: History, at: int, event: Any) -> Iterator[str]:
    if isinstance(event, LockWaited):
        yield "lock-wait" if event.granted else "lock-refused"
    elif isinstance(event, MetadataRead):
        yield "metadata"
    elif isinstance(event, WriteExecuted):
        yield "write"
        yield "delete" if event.row is None else "write"
        encodings = [e for e in history.events[:at] if isinstance(e, Encoded) and e.op == event.op]
        yield from ["client-version-refreshed"] if len(encodings) >= 2 else []
    elif isinstance(event, ReadExecuted):
        yield "read"
        yield from ["scan"] if event.predicate else []
        for row in event.rows:
            if row.writer is None:
                yield "miss"
            elif row.row_version > event.version:
                yield "newer-row"
            elif row.row_version < event.version:
                yield "older-row"


# --- schema changes ------------------------------------------------------------------------------


def changes(history: History, object_id: int) -> list[tuple[str, int, int]]:
    """Kinds, Tm and Tu of the changes of an object, the latest first."""
    found = []
    for event in history.events:
        if isinstance(event, UpdateLogged) and event.op is not None:
            for each in event.objects:
                if each.object_id == object_id:
                    tags = {type(one).__struct_config__.tag for one in each.changes}
                    label = "+".join(sorted(map(str, tags)))
                    found.append((label, event.message_ts, event.activation_ts))
    return found[::-1]


def skew(history: History) -> int:
    return min(one.get("max_clock_skew_ms", 0) for one in history.header.settings.values()) * MS


def phase(history: History, object_id: int, ts: int) -> tuple[str, str]:
    """The kinds and the phase of the latest change that is near; `quiet` without one."""
    for label, tm, tu in changes(history, object_id):
        span = max(tu - tm, MS)
        phases = {
            "at": tu - skew(history) <= ts <= tu + skew(history),
            "after": tu <= ts < tu + span,
            "pending": tm <= ts < tu,
            "before": tm - span <= ts < tm,
        }
        for name, holds in phases.items():
            if holds:
                return label, name
    return "", "quiet"


def met(history: History) -> Iterator[str]:
    for at, event in enumerate(history.events):
        for object_id, ts, what in used(history, at, event):
            label, where = phase(history, object_id, ts)
            if where != "quiet":
                yield f"ddl {label} {what} {where}"


def used(history: History, at: int, event: Any) -> Iterator[tuple[int, int, str]]:
    if isinstance(event, Enlisted):
        yield event.object_id, event.enlist_ts, "enlist"
    elif isinstance(event, ReadExecuted):
        yield event.object_id, event.op_ts, "scan" if event.predicate else "read"
    elif isinstance(event, WriteExecuted):
        yield event.object_id, event.op_ts, "delete" if event.row is None else "write"
    elif isinstance(event, MetadataRead):
        first = enlisted(history, at, event.tx).get(event.object_id)
        if first is not None:
            yield event.object_id, first, "metadata"
    elif isinstance(event, TxCommitted):
        for object_id, _, _ in event.tables:
            yield object_id, event.commit_ts, "commit"


def enlisted(history: History, at: int, tx: str) -> dict[int, int]:
    """When the tables of a transaction were enlisted last before an operation ran there."""
    found: dict[int, int] = {}
    own = [event for event in history.events[:at] if tx_of(event) == tx]
    for number, event in enumerate(own):
        ran = {e.object_id for e in own[:number] if isinstance(e, ReadExecuted | WriteExecuted)}
        if isinstance(event, Enlisted) and event.object_id not in ran:
            found[event.object_id] = event.enlist_ts
    return found


def across(history: History) -> Iterator[str]:
    for at, event in enumerate(history.events):
        if isinstance(event, TxCommitted):
            for object_id, first_ts in enlisted(history, at, event.tx).items():
                for label, _, tu in changes(history, object_id):
                    if first_ts < tu <= event.commit_ts:
                        yield f"ddl {label} commit across"


# --- states --------------------------------------------------------------------------------------

GRAVE = ("none", "quiet", "held", "before", "after", "pending", "at", "ending", "over", "moved")


def states(history: History) -> Iterator[str]:
    for at, event in enumerate(history.events):
        if isinstance(event, ReadExecuted | WriteExecuted):
            _, ts, what = next(used(history, at, event))
            lease = lease_state(history, at, event.tx, group_of(event), ts)
            _, where = phase(history, event.object_id, ts)
            yield f"state {what} {lease} {done(history, at, event.tx)} {where}"
        elif isinstance(event, ENDS):
            ts_or_none = event.commit_ts if isinstance(event, TxCommitted) else None
            own = [e for e in history.events[:at] if tx_of(e) == event.tx]
            groups = {group_of(e) for e in own if isinstance(e, ReadExecuted | WriteExecuted)}
            found = [lease_state(history, at, event.tx, group, ts_or_none) for group in groups]
            lease = max(found, default="none", key=GRAVE.index)
            where = "quiet"
            if isinstance(event, TxCommitted):
                phases = [phase(history, each, event.commit_ts)[1] for each, _, _ in event.tables]
                where = max(phases, default="quiet", key=GRAVE.index)
            what = "commit" if isinstance(event, TxCommitted) else "abort"
            yield f"state {what} {lease} {done(history, at, event.tx)} {where}"


def group_of(event: Any) -> str:
    return f"{event.object_id}/{event.partition}"


def done(history: History, at: int, tx: str) -> str:
    own = [e for e in history.events[:at] if tx_of(e) == tx]
    began = [e for e in own if isinstance(e, TxBegan)]
    if any(e.read_ts is not None for e in began):
        return "read-only"
    kinds = {type(e) for e in own}
    word = "wrote" if WriteExecuted in kinds else "read" if ReadExecuted in kinds else "new"
    return f"{word}-implicit" if any(e.implicit for e in began) else word


def lease_state(history: History, at: int, tx: str, group: str, ts: int | None) -> str:
    own = leases(history, at, group)
    if not own:
        return "none"
    moved_ts = own[0].start_ts
    for before, after in pairwise(own):
        if (before.holder, before.start_ts) != (after.holder, after.start_ts):
            moved_ts = after.start_ts
    began = [e for e in history.events[:at] if isinstance(e, TxBegan) and e.tx == tx]
    if began and moved_ts > began[-1].begin_ts:
        return "moved"
    if ts is None or own[-1].expiration_ts - ts > skew(history):
        return "held"
    return "ending" if own[-1].expiration_ts > ts else "over"
