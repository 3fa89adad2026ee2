"""A history as Chrome trace JSON, which ui.perfetto.dev and chrome://tracing open.

Clients are threads of one process, with their operations as slices and their transactions above
them; nodes are threads of another, with faults, deaths, waits for schemas and locks, what they
applied, and messages where the run recorded them. Counters follow the catalog's version and how far
each node's safe time is behind; activations are instants at Tu. Leases, and leaders that were
elected, are slices of processes of their own, a thread for each partition's group.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from ddlsim.checkers.case.case import Case
from ddlsim.escape import natural
from ddlsim.history.events import LockWaited, SafeTimeAdvanced, SchemaResolved, UpdateApplied
from ddlsim.history.world_events import (
    FaultBegan,
    FaultHealed,
    LeaderElected,
    LeaderSteppedDown,
    LeaseBegan,
    MessageDelivered,
    MessageSent,
    NodeCrashed,
    NodeRestarted,
)
from ddlsim.units import US_PER_MS, Timestamp, physical_ms, show

CLIENTS: Final = 1
CLUSTER: Final = 2
LEASES: Final = 3
LEADERS: Final = 4
EVERYWHERE: Final = "the whole cluster"
"""The thread of what is of no node."""
Record = dict[str, Any]


def perfetto(case: Case) -> str:
    """The whole trace."""
    return json.dumps({"traceEvents": list(_records(case)), "displayTimeUnit": "ms"})


def _records(case: Case) -> Iterator[Record]:
    clients = _threads({one.invoked.client for one in case.operations.values() if one.invoked})
    nodes = {EVERYWHERE: 0} | _threads({node for node in case.header.settings if node})
    leased = _threads({event.group for _, event in case.of(LeaseBegan)})
    led = _threads({event.group for _, event in case.of(LeaderElected)})
    for pid, process, threads in (
        (CLIENTS, "clients", clients),
        (CLUSTER, "cluster", nodes),
        (LEASES, "leases", leased),
        (LEADERS, "leaders elected", led),
    ):
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": process}}
        for name, tid in threads.items():
            args = {"name": case.schemas.group(name) if pid in {LEASES, LEADERS} else name}
            yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": args}
    yield from _operations(case, clients)
    yield from _transactions(case, clients)
    yield from _schema(case, nodes)
    yield from _safe_times(case)
    yield from _waits(case, nodes)
    yield from _leases(case, leased)
    yield from _leaders(case, led)
    yield from _faults(case, nodes)
    yield from _messages(case, nodes)


def _threads(names: set[str]) -> dict[str, int]:
    return {name: tid for tid, name in enumerate(sorted(names, key=natural), 1)}


def _operations(case: Case, clients: dict[str, int]) -> Iterator[Record]:
    """Asynchronous slices: a client may have asked for several things at once."""
    for operation in case.operations.values():
        asked, ended = operation.invoked, operation.ended
        if asked is None:
            continue
        until_us = case.history.end_us if ended is None else ended.at_us
        args = {"node": asked.node, "tx": asked.tx, "table": asked.table, "sql": asked.sql}
        args["end"] = "none" if ended is None else type(ended).__name__
        known = {name: value for name, value in args.items() if value is not None}
        yield from _slice(
            "operation",
            operation.name,
            asked.kind,
            (asked.at_us, until_us),
            CLIENTS,
            clients[asked.client],
            known,
        )


def _transactions(case: Case, clients: dict[str, int]) -> Iterator[Record]:
    events = case.history.events
    for tx in case.transactions.values():
        if tx.begins_at is None or tx.client is None:
            continue
        from_us = events[tx.begins_at].at_us
        ends = [event.at_us for event in (tx.committed, tx.aborted) if event is not None]
        ends += [events[tx.ends_at].at_us] if tx.ends_at is not None else []
        args: Record = {"reads": len(tx.reads), "writes": len(tx.writes)}
        if tx.committed is not None:
            args["commit_ts"] = show(tx.committed.commit_ts)
        if tx.aborted is not None:
            args["aborted"] = tx.aborted.reason
        span = (from_us, max([from_us, *ends]))
        yield from _slice("transaction", tx.name, tx.name, span, CLIENTS, clients[tx.client], args)


def _slice(
    cat: str, id_: str, name: str, span: tuple[int, int], pid: int, tid: int, args: Record
) -> Iterator[Record]:
    common = {"cat": cat, "id": f"{cat}:{id_}", "name": name, "pid": pid, "tid": tid}
    yield {"ph": "b", "ts": span[0], **common, "args": args}
    yield {"ph": "e", "ts": span[1], **common}


def _schema(case: Case, nodes: dict[str, int]) -> Iterator[Record]:
    for _, update in case.schemas.updates:
        if update.op is None:
            continue
        value = {"v": update.catalog_version}
        yield {"ph": "C", "pid": CLUSTER, "ts": update.at_us, "name": "version", "args": value}
        at_us = physical_ms(Timestamp(update.activation_ts)) * US_PER_MS
        name = f"D{update.catalog_version} active: {case.statement(update.op)}"
        yield {"ph": "i", "s": "g", "pid": CLUSTER, "tid": 0, "ts": at_us, "name": name}
    for _, applied in case.of(UpdateApplied):
        if applied.node in nodes:
            yield _instant(
                f"D{applied.catalog_version} applied", applied.at_us, nodes[applied.node]
            )


def _instant(name: str, at_us: int, tid: int) -> Record:
    return {"ph": "i", "s": "t", "pid": CLUSTER, "tid": tid, "ts": at_us, "name": name}


def _safe_times(case: Case) -> Iterator[Record]:
    """How far the schema safe time of each node is behind, just before and after it advances."""
    known: dict[str, float] = {}
    for _, event in case.of(SafeTimeAdvanced):
        now_ms, safe_ms = event.at_us / US_PER_MS, physical_ms(Timestamp(event.safe_ts))
        for at_us, behind in ((event.at_us - 1, known.get(event.node)), (event.at_us, safe_ms)):
            if behind is not None and at_us >= 0:
                lag = {"ms": round(max(now_ms - behind, 0), 3)}
                name = f"safe-time lag {event.node}"
                yield {"ph": "C", "pid": CLUSTER, "ts": at_us, "name": name, "args": lag}
        known[event.node] = safe_ms


def _waits(case: Case, nodes: dict[str, int]) -> Iterator[Record]:
    """Waits for the completeness of schema metadata, and for locks."""
    waits: list[tuple[int, SchemaResolved | LockWaited]] = [
        *case.of(SchemaResolved),
        *case.of(LockWaited),
    ]
    for at, event in waits:
        name = "lock wait" if isinstance(event, LockWaited) else "completeness wait"
        if event.waited_us and event.node in nodes:
            span = (event.at_us - event.waited_us, event.at_us)
            args = {"tx": event.tx, "object": case.schemas.name(event.object_id)}
            yield from _slice("wait", f"{at}", name, span, CLUSTER, nodes[event.node], args)


def _leases(case: Case, groups: dict[str, int]) -> Iterator[Record]:
    """Which node is primary of a partition, from the start of its lease to its expiration."""
    ends: dict[tuple[str, str, int], int] = {}
    for _, event in case.of(LeaseBegan):  # again, with the same start, where it is prolonged
        key = (event.group, event.holder, event.start_ts)
        ends[key] = max(ends.get(key, 0), event.expiration_ts)
    for (group, holder, start_ts), expiration_ts in ends.items():
        begin, end = Timestamp(start_ts), Timestamp(expiration_ts)
        span = (physical_ms(begin) * US_PER_MS, physical_ms(end) * US_PER_MS)
        args = {"start_ts": show(begin), "expiration_ts": show(end)}
        id_ = f"{group}:{holder}:{show(start_ts)}"
        yield from _slice("lease", id_, f"primary {holder}", span, LEASES, groups[group], args)


def _leaders(case: Case, groups: dict[str, int]) -> Iterator[Record]:
    """Each leader that was elected, until it steps down, dies, or another one is elected.

    Groups are born with a leader, whose time is not a slice.
    """
    open_: dict[str, LeaderElected] = {}
    for event in case.history.events:
        for one in [one for one in open_.values() if _ends(one, event)]:
            yield from _led(open_.pop(one.group), event.at_us, groups)
        if isinstance(event, LeaderElected):
            open_[event.group] = event
    for one in open_.values():
        yield from _led(one, case.history.end_us, groups)


def _ends(one: LeaderElected, event: object) -> bool:
    """Whether an event ends a leader's time."""
    if isinstance(event, NodeCrashed):
        return event.node == one.node
    if isinstance(event, LeaderSteppedDown):
        return (event.group, event.node) == (one.group, one.node)
    return isinstance(event, LeaderElected) and event.group == one.group


def _led(one: LeaderElected, until_us: int, groups: dict[str, int]) -> Iterator[Record]:
    span, args = (one.at_us, until_us), {"term": one.term}
    id_ = f"{one.group}:{one.term}:{one.node}"
    yield from _slice("leader", id_, f"leader {one.node}", span, LEADERS, groups[one.group], args)


def _faults(case: Case, nodes: dict[str, int]) -> Iterator[Record]:
    """A fault that names no node stands beside them, on a thread of its own."""
    for event in sorted(case.faults, key=lambda one: one.at_us):
        begins = isinstance(event, FaultBegan | NodeCrashed)
        crash = isinstance(event, NodeCrashed | NodeRestarted)
        why = event.fault if isinstance(event, FaultBegan | FaultHealed) else "dead"
        touched = () if crash else getattr(event, "nodes", ())
        for node in touched or (event.node,):
            yield {
                "ph": "b" if begins else "e",
                "cat": "fault",
                "id": f"fault:{why}:{node}",
                "name": why,
                "pid": CLUSTER,
                "tid": nodes.get(node or "", 0),
                "ts": event.at_us,
            }


def _messages(case: Case, nodes: dict[str, int]) -> Iterator[Record]:
    """An arrow from slice to slice, where messages were recorded (`--trace`).

    A message that is sent again has the same label; one that arrives twice has one arrow.
    """
    drawn: dict[tuple[str, str], None] = {}
    for kind, ph in ((MessageSent, "s"), (MessageDelivered, "f")):
        for _, event in case.of(kind):
            assert isinstance(event, MessageSent | MessageDelivered), event
            node = event.sender if ph == "s" else event.to
            if event.sender not in nodes or event.to not in nodes:
                continue
            common = {"pid": CLUSTER, "tid": nodes[node], "ts": event.at_us}
            sent_us = event.sent_us if isinstance(event, MessageDelivered) else event.at_us
            id_ = f"{event.sender}>{event.to}:{event.kind}:{event.label}:{sent_us}"
            end = {"bp": "e"} if ph == "f" else {}
            yield {"ph": "X", "dur": 1, "cat": "net", "name": event.kind, **common}
            if (ph, id_) not in drawn:
                drawn[ph, id_] = None
                yield {"ph": ph, "id": id_, "cat": "net", "name": "message", **common, **end}
