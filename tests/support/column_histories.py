"""Large histories from a seed, clean or with anomalies planted, for tests and measurements.

Transactions run one after the other in a serial order that real time respects; their clients see
them overlap. The cluster has as many clocks as partitions, each off by up to CSmax, and a
transaction stays in one partition: so its commit timestamps agree with the order on data, but not
with real time, as in a real cluster.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from ddlsim.graph.history import (
    ABORTED,
    COMMITTED,
    DTYPES,
    PREDICATE,
    READ,
    SCHEMA,
    WRITE,
    Array,
    ColumnHistory,
    columns_of,
    make,
)

GAP: Final = 10
"""Time units between two transactions of the serial order."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a history looks like: transactions of 1 to `longest` operations.

    `skew` is CSmax in units of time: ten of them pass from one transaction to the next.
    """

    transactions: int
    sessions: int = 20
    keys: int = 0
    longest: int = 4
    writes: float = 0.5
    partitions: int = 8
    skew: int = 0


def history(seed: int, shape: Shape) -> ColumnHistory:
    """A strictly serializable history, the same for the same seed and shape."""
    dice = np.random.default_rng(seed)
    n, sessions = shape.transactions, shape.sessions
    partitions = max(1, shape.partitions)
    keys = shape.keys or max(partitions, n // 10)
    length = dice.integers(1, shape.longest + 1, n)
    tx = np.repeat(np.arange(n, dtype=np.int32), length)
    partition = dice.integers(0, partitions, n)
    per_partition = -(-keys // partitions)
    key = dice.integers(0, per_partition, len(tx)) * partitions + partition[tx]
    write = dice.random(len(tx)) < shape.writes
    serial = (np.arange(n, dtype=np.int64) + sessions + 1) * GAP
    half = max(2, sessions * GAP // 2 - 1)
    clock = dice.integers(0, shape.skew + 1, partitions)
    stamp = serial + clock[partition] - int(clock.min(initial=0))
    return make(
        transactions={
            "process": np.arange(n) % sessions,
            "begin": serial - dice.integers(1, half, n),
            "end": serial + dice.integers(1, half, n),
            "read_ts": stamp - 1,
            "commit_ts": stamp,
        },
        operations={
            "tx": tx,
            "key": key,
            "kind": np.where(write, WRITE, READ),
            "version": versions(key, write),
        },
    )


def versions(key: Array, write: Array) -> Array:
    """The versions that operations in serial order write and find."""
    order = np.argsort(key, kind="stable")
    count = np.cumsum(write[order])
    first = np.flatnonzero(np.append(True, np.diff(key[order]) != 0))
    before = np.append(0, count)[first]
    sizes = np.diff(np.append(first, len(key)))
    found = np.empty(len(key), np.int64)
    found[order] = count - np.repeat(before, sizes)
    return found


class Planted(NamedTuple):
    """A transaction of an anomaly: operations (kind, key, version) and how it stands in time."""

    operations: tuple[tuple[int, int, int], ...]
    status: int = COMMITTED
    process: int = -1
    begin: int = 0
    end: int = 9
    ddl: bool = False


def _r(key: int, version: int) -> tuple[int, int, int]:
    return (READ, key, version)


def _w(key: int, version: int) -> tuple[int, int, int]:
    return (WRITE, key, version)


PLANTS: Final[dict[str, tuple[Planted, ...]]] = {
    "G0": (Planted((_w(0, 1), _w(1, 2))), Planted((_w(0, 2), _w(1, 1)))),
    "G1a": (Planted((_w(0, 1),), ABORTED), Planted((_r(0, 1),))),
    "G1b": (Planted((_w(0, 1), _w(0, 2))), Planted((_r(0, 1),))),
    "G1c": (Planted((_w(0, 1), _r(1, 1))), Planted((_w(1, 1), _r(0, 1)))),
    "G-single": (
        Planted((_r(0, 0), _r(1, 1))),
        Planted((_w(0, 1),)),
        Planted((_r(0, 1), _w(1, 1))),
    ),
    "G-nonadjacent": (
        Planted((_r(0, 0), _r(2, 1))),
        Planted((_w(0, 1),)),
        Planted((_r(0, 1), _r(1, 0))),
        Planted((_w(1, 1),)),
        Planted((_r(1, 1), _w(2, 1))),
    ),
    "long-fork": (
        Planted((_w(0, 1),)),
        Planted((_w(1, 1),)),
        Planted((_r(0, 1), _r(1, 0))),
        Planted((_r(0, 0), _r(1, 1))),
    ),
    "G2-item": (Planted((_r(0, 0), _w(1, 1))), Planted((_r(1, 0), _w(0, 1)))),
    "G2-predicate": (
        Planted(((PREDICATE, 0, 0), _w(1, 1))),
        Planted(((PREDICATE, 1, 0), _w(0, 1))),
    ),
    "lost-update": (Planted((_r(0, 0), _w(0, 1))), Planted((_r(0, 0), _w(0, 2)))),
    "fractured-read": (Planted((_w(0, 1), _w(1, 1))), Planted((_r(0, 1), _r(1, 0)))),
    "internal": (Planted((_w(0, 1), _r(0, 0))),),
    "dirty-update": (Planted((_w(0, 1),), ABORTED), Planted((_w(0, 2),))),
    "garbage-read": (Planted((_r(0, 1),)),),
    "G0-process": (
        Planted((_w(0, 2),), process=0, end=4),
        Planted((_w(0, 1),), process=0, begin=4),
    ),
    "G1c-process": (
        Planted((_r(0, 1),), process=0, end=4),
        Planted((_w(0, 1),), process=0, begin=4),
    ),
    "G-single-process": (
        Planted((_w(0, 1),), process=0, end=4),
        Planted((_r(0, 0),), process=0, begin=4),
    ),
    "G0-realtime": (Planted((_w(0, 2),), end=4), Planted((_w(0, 1),), begin=5)),
    "G1c-realtime": (Planted((_r(0, 1),), end=4), Planted((_w(0, 1),), begin=5)),
    "G-single-realtime": (Planted((_w(0, 1),), end=4), Planted((_r(0, 0),), begin=5)),
    "schema-G-single": (
        Planted(((SCHEMA, 0, 0), _r(1, 1))),
        Planted((_w(0, 1),), ddl=True),
        Planted(((SCHEMA, 0, 1), _w(1, 1))),
    ),
    "schema-G1c": (
        Planted((_w(0, 1), _r(1, 1)), ddl=True),
        Planted(((SCHEMA, 0, 1), _w(1, 1))),
    ),
    "schema-G-single-realtime": (
        Planted((_w(0, 1),), ddl=True, end=4),
        Planted(((SCHEMA, 0, 0),), begin=5),
    ),
}
"""The smallest history that shows each type of anomaly, on keys of its own."""


def plant(clean: ColumnHistory, *types: str, at: int | None = None) -> ColumnHistory:
    """A history with anomalies of these types added, in the middle of its time or at an instant.

    Their transactions come last and use keys of their own; in real time, and with timestamps in
    the order in which `PLANTS` has them, they stand among the others.
    """
    columns: dict[str, list[Any]] = {name: [] for name in DTYPES}
    n, keys = clean.transactions, clean.keys
    process = int(clean.process.max(initial=-1)) + 1
    middle = int(np.median(clean.begin)) if at is None and n else at or 0
    for type_ in types:
        planted = PLANTS[type_]
        for offset, one in enumerate(planted):
            _add(columns, one, n + offset, keys, process + offset, middle)
        n += len(planted)
        process += len(planted)
        keys += 1 + max(key for one in planted for _, key, _ in one.operations)
    old = columns_of(clean)
    joined = {
        name: np.concatenate([old[name], np.asarray(columns[name], DTYPES[name])]) for name in old
    }
    return ColumnHistory(**joined, names=clean.names)


def _add(
    columns: dict[str, list[Any]], one: Planted, n: int, keys: int, process: int, middle: int
) -> None:
    shown = process if one.process < 0 else 10**6 + keys + one.process
    stamp = middle + (n % GAP)
    row = (shown, middle + one.begin, middle + one.end, stamp, stamp + 1, one.status, one.ddl)
    for name, value in zip(list(DTYPES)[: len(row)], row, strict=True):
        columns[name].append(value)
    for kind, key, version in one.operations:
        for name, value in zip(
            list(DTYPES)[len(row) :], (n, keys + key, kind, version, 0), strict=True
        ):
            columns[name].append(value)
