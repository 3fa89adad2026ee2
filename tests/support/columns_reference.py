"""A plain second reading of column histories: loops over rows, networkx, and pairs for real time.

Nothing of `ddlsim.graph` is used but the record itself, so that both may be compared.
"""

from collections import defaultdict
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from ddlsim.graph.history import ABORTED, COMMITTED, UNKNOWN, ColumnHistory, make

READ, WRITE, APPEND, LIST_READ, PREDICATE, SCHEMA, PRECEDES = range(7)
DATA = ("ww", "wr", "rw")


class Reference(NamedTuple):
    """Edges (source, target, kind), and what is wrong with single reads."""

    edges: set[tuple[int, int, str]]
    dirty: set[str]
    nodes: set[int]
    fractured: bool


def read(history: ColumnHistory) -> Reference:
    """All edges between nodes, those of processes and of real time included."""
    columns = (history.tx, history.key, history.kind, history.version)
    ops = list(zip(*(column.tolist() for column in columns), strict=True))
    status = history.status.tolist()
    writers: dict[tuple[int, int], int] = {}
    for tx, key, kind, version in ops:
        if kind in (WRITE, APPEND) and version > 0:
            writers[key, version] = tx
    nodes = {
        tx
        for tx in range(history.transactions)
        if status[tx] == COMMITTED or (status[tx] == UNKNOWN and tx in set(writers.values()))
    }
    chains: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (key, version), tx in sorted(writers.items()):
        if tx in nodes:
            chains[key].append((version, tx))
    edges: set[tuple[int, int, str]] = set()
    for chain in chains.values():
        edges |= {(a, b, "ww") for (_, a), (_, b) in pairwise(chain)}
    for tx, key, kind, version in ops:
        if kind in (WRITE, APPEND) or version < 0 or tx not in nodes or status[tx] == UNKNOWN:
            continue
        writer = writers.get((key, version))
        if kind != PRECEDES and writer in nodes and writer is not None:
            edges.add((writer, tx, "wr"))
        later = [writer for other, writer in chains[key] if other > version]
        edges |= {(tx, later[0], "rw")} if later else set()
    edges |= _orders(history, nodes)
    apart = {e for e in edges if e[0] != e[1]}
    dirty, torn = _dirty(ops, writers, status), _fractured(ops, writers, status, nodes)
    return Reference(apart, dirty, nodes, torn)


def _fractured(
    ops: list[tuple[int, ...]],
    writers: dict[tuple[int, int], int],
    status: list[int],
    nodes: set[int],
) -> bool:
    """Whether a transaction saw one last write of another, and an older version of another key."""
    wrote: dict[int, dict[int, int]] = defaultdict(dict)
    saw: dict[int, dict[int, int]] = defaultdict(dict)
    scanned: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for tx, key, kind, version in ops:
        if kind in (WRITE, APPEND):
            wrote[tx][key] = max(version, wrote[tx].get(key, 0))
            saw[tx].setdefault(key, -1)
        elif status[tx] == COMMITTED and kind == PREDICATE and version >= 0:
            if key not in wrote[tx]:
                scanned[tx].add((key, version))
        elif status[tx] == COMMITTED and kind != PRECEDES and version >= 0:
            saw[tx].setdefault(key, version)
    for tx in {*saw, *scanned}:
        seen = {*saw[tx].items(), *scanned[tx]}
        for key, version in seen:
            writer = writers.get((key, version))
            if writer is None or writer == tx or writer not in nodes:
                continue
            if wrote[writer][key] == version and any(
                other != key and 0 <= older < wrote[writer].get(other, 0) for other, older in seen
            ):
                return True
    return False


def _orders(history: ColumnHistory, nodes: set[int]) -> set[tuple[int, int, str]]:
    begin, end = history.begin.tolist(), history.end.tolist()
    process, status = history.process.tolist(), history.status.tolist()
    known = [tx for tx in sorted(nodes) if status[tx] != UNKNOWN]
    found = {
        (a, b, "realtime") for a in known for b in nodes if 0 <= end[a] < begin[b] and begin[b] >= 0
    }
    at = [b if b >= 0 else e for b, e in zip(begin, end, strict=True)]
    by_begin = sorted((tx for tx in sorted(nodes) if at[tx] >= 0), key=at.__getitem__)
    order = {
        (a, b)
        for number, a in enumerate(by_begin)
        for b in by_begin[number + 1 :]
        if status[a] != UNKNOWN and process[b] == process[a] >= 0 and max(end[a], at[a]) <= at[b]
    }
    between = {(a, c) for a, b in order for other, c in order if other == b}
    return found | {(a, b, "process") for a, b in order - between}


def _dirty(
    ops: list[tuple[int, ...]], writers: dict[tuple[int, int], int], status: list[int]
) -> set[str]:
    found: set[str] = set()
    last: dict[tuple[int, int], int] = {}
    final = {(tx, key): version for tx, key, kind, version in ops if kind in (WRITE, APPEND)}
    own: dict[tuple[int, int], int] = {}
    to_come = {
        (tx, key, version): at
        for at, (tx, key, kind, version) in enumerate(ops)
        if kind in (WRITE, APPEND)
    }
    for at, (tx, key, kind, version) in enumerate(ops):
        if kind in (WRITE, APPEND):
            turned = status[tx] != ABORTED and 0 <= version < own.get((tx, key), -1)
            found |= {"incompatible-order"} if turned else set()
            last[tx, key] = own[tx, key] = version
            if status[writers.get((key, version - 1), tx)] == ABORTED and version > 1:
                found |= {"dirty-update"} if status[tx] != ABORTED else set()
            continue
        if status[tx] != COMMITTED or version < 0 or kind == PRECEDES:
            continue
        if kind != PREDICATE and last.setdefault((tx, key), version) != version:
            found.add("internal")
        if own.get((tx, key), version) != version:
            found.add("missed-own-write")
        found |= {"future-read"} if to_come.get((tx, key, version), -1) > at else set()
        last |= {(tx, key): version} if kind != PREDICATE else {}
        writer = writers.get((key, version))
        if writer is None:
            found |= {"garbage-read"} if version else set()
        elif status[writer] == ABORTED:
            found.add("G1a")
        elif writer != tx and final[writer, key] != version:
            found.add("G1b")
    return found


def graph(reference: Reference, *kinds: str) -> Any:
    """The graph of the edges of these kinds."""
    whole: Any = nx.DiGraph()
    whole.add_edges_from((a, b) for a, b, kind in reference.edges if kind in kinds)
    return whole


def components(whole: Any) -> set[frozenset[int]]:
    """The strongly connected components larger than one."""
    return {frozenset(part) for part in nx.strongly_connected_components(whole) if len(part) > 1}


def has_cycle(reference: Reference, model: str) -> bool:
    """Whether the graph of a model has a cycle that it forbids."""
    beside = {"strong-session": ("process",), "str": ("process", "realtime"), "": ()}[
        next(start for start in ("strong-session", "str", "") if model.startswith(start))
    ]
    if model in {"read-committed", "read-atomic"}:
        torn = model == "read-atomic" and reference.fractured
        return torn or bool(components(graph(reference, "ww", "wr")))
    if "snapshot" not in model:
        return bool(components(graph(reference, *DATA, *beside)))
    apart: Any = nx.DiGraph()
    for a, b, kind in reference.edges:
        if kind == "rw":
            apart.add_edge((a, "plain"), (b, "anti"))
        elif kind in (*DATA, *beside):
            apart.add_edges_from([((a, "plain"), (b, "plain")), ((a, "anti"), (b, "plain"))])
    return bool(components(apart))


def random_history(seed: int) -> ColumnHistory:
    """A small history of anything: orders, statuses and times at random."""
    dice = np.random.default_rng(seed)
    n, keys = int(dice.integers(1, 9)), int(dice.integers(1, 5))
    tx = np.repeat(np.arange(n), dice.integers(0, 5, n))
    key = dice.integers(0, keys, len(tx))
    write = dice.random(len(tx)) < dice.choice([0.2, 0.5, 0.8])
    tidy = dice.random() < 0.6
    version = _tidy(key, write) if tidy else np.zeros(len(tx), np.int64)
    for one in range(keys):
        here = key == one
        count = int((here & write).sum())
        if not tidy:
            version[here & write] = dice.permutation(count) + 1
        stale = here & ~write & (dice.random(len(tx)) < (0.15 if tidy else 1.0))
        version[stale] = dice.integers(0, count + 1, int(stale.sum()))
    begin = np.arange(n) * 3 + dice.integers(0, int(dice.integers(1, 12)), n)
    end = begin + dice.integers(0, int(dice.integers(1, 20)), n)
    faults = dice.random() < 0.3
    odd = dice.choice([COMMITTED, COMMITTED, ABORTED, UNKNOWN], n) if faults else np.zeros(n, int)
    kind = np.where(write, dice.choice([WRITE, APPEND]), dice.choice([READ, PREDICATE]))
    if seed % 3 == 0:
        mixed = np.random.default_rng([seed, 1]).choice([READ, PREDICATE], len(tx))
        kind = np.where(write, kind, mixed)
    if dice.random() < 0.2:
        kind = np.where(write, kind, dice.choice([READ, SCHEMA, PRECEDES], len(tx)))
    untimed = dice.random(n) < (0.1 if dice.random() < 0.3 else 0)
    stamps = np.arange(n) * 2 if dice.random() < 0.5 else dice.permutation(n) * 2
    late = np.random.default_rng([seed, 2]).choice([0, 0, 0, 1, 4])  # commit_ts is 1 later
    return make(
        transactions={
            "process": dice.integers(-1, 4, n),
            "begin": np.where(untimed, -1, begin),
            "end": np.where(untimed & (dice.random(n) < 0.5), -1, end),
            "commit_ts": stamps + 1 if dice.random() < 0.8 else np.full(n, -1),
            "read_ts": stamps + late if dice.random() < 0.8 else np.full(n, -1),
            "status": odd,
        },
        operations={"tx": tx, "key": key, "kind": kind, "version": version},
    )


def _tidy(key: Any, write: Any) -> Any:
    """Versions as if the operations had run in their order."""
    count: dict[int, int] = defaultdict(int)
    found = []
    for one, writes in zip(key.tolist(), write.tolist(), strict=True):
        count[one] += writes
        found.append(count[one])
    return np.asarray(found, np.int64)
