"""Every cycle of a few DDLs and one or two transactions over two tables, whether it can be or not.

Every kind of edge there is (wr, rw and ww on the versions of a table and on rows, real time, the
order of one session), every kind of statement, read-only transactions, looks at the columns.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Final

from tests.ledger.rules import COMPATIBLE, CREATE, INCOMPATIBLE, ROW_EDGES, Cycle, Ddl, Tx, Way, ddl

EDGES: Final = {
    (True, True): ("ww-schema", "rt"),
    (True, False): ("wr-schema", "rt", "process"),
    (False, True): ("rw-schema", "rt"),
    (False, False): (*ROW_EDGES, "rt", "process"),
}
"""By whether the source is a DDL, and whether the target is one."""


def cycles(ddls: int, transactions: int) -> Iterator[Cycle]:
    """Every cycle of so many DDLs and transactions over two tables, up to names and turns."""
    for pattern in _patterns(ddls, transactions):
        for nodes in _nodes(pattern):
            for ways in _ways(nodes):
                yield from _placed(nodes, ways)


def _patterns(ddls: int, transactions: int) -> list[str]:
    """Which nodes follow each other: one turn of each."""
    words = {"".join(one) for one in permutations("D" * ddls + "T" * transactions)}
    least = {min(word[at:] + word[:at] for at in range(len(word))) for word in words}
    return sorted(least)


def _nodes(pattern: str) -> list[tuple[Ddl | Tx, ...]]:
    of_ddl = [Ddl(table, kind) for table in "ab" for kind in (COMPATIBLE, INCOMPATIBLE, CREATE)]
    of_tx = [
        Tx(read_only, shown)
        for read_only in (False, True)
        for shown in map(frozenset, ("", "a", "b"))
        if not (read_only and shown)
    ]
    choices: list[Sequence[Ddl | Tx]] = [of_ddl if one == "D" else of_tx for one in pattern]
    found = []
    for nodes in product(*choices):
        first = next(node for node in nodes if isinstance(node, Ddl))
        if first.table == "a":
            found.append(nodes)
    return found


def _ways(nodes: tuple[Ddl | Tx, ...]) -> list[tuple[Way, ...]]:
    """Every edge that may lead from each node to the next."""
    choices: list[list[Way]] = []
    for place, source in enumerate(nodes):
        target = nodes[(place + 1) % len(nodes)]
        own: list[Way] = []
        for kind in EDGES[isinstance(source, Ddl), isinstance(target, Ddl)]:
            own += [Way(kind, table) for table in _about(kind, source, target)]
        choices.append(own)
    return list(product(*choices))


def _about(kind: str, source: Ddl | Tx, target: Ddl | Tx) -> tuple[str, ...]:
    """On which tables such an edge can be."""
    reads_past = isinstance(target, Tx) and target.read_only
    if kind == "rt":
        return () if reads_past else ("",)
    if kind == "process":
        return ("",) if reads_past else ()
    if kind == "ww-schema":
        assert isinstance(source, Ddl), source
        assert isinstance(target, Ddl), target
        return (source.table,) if source.table == target.table else ()
    if isinstance(source, Ddl):
        return (source.table,)
    if isinstance(target, Ddl):
        return () if target.kind == CREATE else (target.table,)
    if source.read_only:  # it writes nothing
        return ("a", "b") if kind == "rw-row" and not reads_past else ()
    return ("a", "b") if not reads_past or kind == "wr-row" else ()


def _placed(nodes: tuple[Ddl | Tx, ...], ways: tuple[Way, ...]) -> list[Cycle]:
    """Every order of the log, and every version that fits the edges."""
    statements = [place for place, node in enumerate(nodes) if isinstance(node, Ddl)]
    found = []
    for log in permutations(statements):
        draft = Cycle(nodes, ways, log, tuple(() for _ in nodes))
        if _log_fits(draft):
            choices = [_versions(draft, place) for place in range(len(nodes))]
            found += [Cycle(nodes, ways, log, one) for one in product(*choices)]
    return found


def _log_fits(cycle: Cycle) -> bool:
    """A table is created first; what replaces a version is the next one."""
    for table in "ab":
        steps = cycle.on(table)
        if any(ddl(cycle, step).kind == CREATE for step in steps[1:]):
            return False
    for place, way in enumerate(cycle.ways):
        if way.kind == "ww-schema":
            steps, to = cycle.on(way.table), (place + 1) % len(cycle.nodes)
            if steps.index(to) != steps.index(place) + 1:
                return False
    return True


def _versions(cycle: Cycle, place: int) -> list[tuple[tuple[str, int], ...]]:
    """Under which versions a transaction can have used the tables that its edges are about."""
    node = cycle.nodes[place]
    if isinstance(node, Ddl):
        return [()]
    into, out = cycle.ways[place - 1], cycle.ways[place]
    tables = sorted({way.table for way in (into, out) if way.table})
    if not tables:  # real time alone: it has used something all the same
        tables = ["a"]
    if not set(node.shown) <= ({out.table} if out.kind == "rw-schema" else set()):
        return []
    found = []
    for versions in product(
        *(range(_first(cycle, table), len(cycle.on(table)) + 1) for table in tables)
    ):
        own = dict(zip(tables, versions, strict=True))
        if _edges_fit(cycle, place, own):
            found.append(tuple(own.items()))
    return found


def _first(cycle: Cycle, table: str) -> int:
    """A table that is created on the cycle has no version before that."""
    steps = cycle.on(table)
    return int(bool(steps) and ddl(cycle, steps[0]).kind == CREATE)


def _edges_fit(cycle: Cycle, place: int, own: dict[str, int]) -> bool:
    """wr: the version that the DDL installed. rw: that before it, or before what it passes over."""
    into, out = cycle.ways[place - 1], cycle.ways[place]
    size = len(cycle.nodes)
    if into.kind == "wr-schema":
        steps = cycle.on(into.table)
        if own[into.table] != steps.index((place - 1) % size) + 1:
            return False
    if out.kind == "rw-schema":
        steps, version = cycle.on(out.table), own[out.table]
        target = steps.index((place + 1) % size)
        passed = [ddl(cycle, step).kind for step in steps[version:target]]
        if target < version or INCOMPATIBLE in passed:
            return False
        return not passed or ddl(cycle, steps[target]).kind == INCOMPATIBLE
    return True


def _canonical(cycle: Cycle) -> tuple[object, ...]:
    """The same for every turn of a cycle, and with the tables' names exchanged."""
    size = len(cycle.nodes)
    best: tuple[object, ...] | None = None
    for names in ({"a": "a", "b": "b", "": ""}, {"a": "b", "b": "a", "": ""}):
        for turn in range(size):
            order = [(turn + at) % size for at in range(size)]
            told = tuple(_told(cycle, place, names) for place in order)
            log = tuple(order.index(place) for place in cycle.log)
            found = (told, log)
            if best is None or repr(found) < repr(best):
                best = found
    assert best is not None
    return (repr(best),)


def _told(cycle: Cycle, place: int, names: dict[str, str]) -> tuple[object, ...]:
    node, way = cycle.nodes[place], cycle.ways[place]
    if isinstance(node, Ddl):
        own: tuple[object, ...] = ("D", names[node.table], node.kind)
    else:
        versions = sorted((names[table], version) for table, version in cycle.versions[place])
        own = ("T", node.read_only, sorted(names[table] for table in node.shown), versions)
    return (*own, way.kind, names[way.table])
