"""The rules of the two documents as differences of instants: can a given cycle happen at all?

A model of its own, written from the texts; it knows nothing of the simulator. Every event has a
real instant and a timestamp. Clocks are ahead of the slowest one by 0 to `skew`, so that one taken
at r lies in [r, r + skew]. A cycle is a set of inequalities between these numbers, and so is each
rule; what no sum of them contradicts is possible (Bellman-Ford). A rule that can be kept in two
ways is left out: what is possible may be called so without cause, and never the reverse.

The rules, by clause:

    98.def.1     version v is in force on [Tu(v), Tu(v+1)); Tu rises along the log
    98.def.2     it is used where its message has arrived
    98.past.2    Tu = Tm + DD, and Tm is taken after the submission
    98.flow.4    a DDL is answered once every clock shows Tu
    98.ap        what has been looked up at a timestamp is final: a later submission has a later Tu
    110.valid.2  every operation on a table lies within the version that the transaction enlisted
    110.x.1      its timestamp is taken once its locks are granted
    110.valid.1  no step from there to the version at commit_ts is incompatible
    110.x.2      commit_ts is larger than the timestamp of every operation
    IEP-91       locks until the end: who reads or overwrites a row has a later timestamp than the
                 commit that wrote it; a read-only transaction reads at one timestamp, without locks
"""

from dataclasses import dataclass, field
from typing import Final

UNIT: Final = 1
"""Strictly before means so much before; DD and the skew are large beside it."""
DD: Final = 2_000
SKEW: Final = 1_000

COMPATIBLE, INCOMPATIBLE, CREATE = "column-added", "column-dropped", "object-created"
ROW_EDGES: Final = ("wr-row", "rw-row", "ww-row")


@dataclass(frozen=True)
class Ddl:
    """A statement on one of two tables, and what kind of change it is."""

    table: str
    kind: str


@dataclass(frozen=True)
class Tx:
    """A transaction: read-only or not, and on which tables it looked at the columns."""

    read_only: bool = False
    shown: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Way:
    """An edge from one node of a cycle to the next; `table` where it is about one."""

    kind: str
    table: str = ""


@dataclass(frozen=True)
class Cycle:
    """Nodes and the edge out of each; `log` is the order of the DDLs among the nodes.

    `versions` tells for each transaction and table under which version it ran: how many of the DDLs
    on that table, in the order of the log, had been installed.
    """

    nodes: tuple[Ddl | Tx, ...]
    ways: tuple[Way, ...]
    log: tuple[int, ...]
    versions: tuple[tuple[tuple[str, int], ...], ...]

    def on(self, table: str) -> list[int]:
        """The DDLs on a table, in the order of the log."""
        found = []
        for place in self.log:
            node = self.nodes[place]
            if isinstance(node, Ddl) and node.table == table:
                found.append(place)
        return found


@dataclass
class Inequalities:
    """`later - earlier >= by`, for named numbers."""

    given: dict[tuple[str, str], int] = field(default_factory=dict)

    def least(self, earlier: str, later: str, by: int = 0) -> None:
        """later >= earlier + by."""
        known = self.given.get((earlier, later))
        if known is None or by > known:
            self.given[earlier, later] = by

    def before(self, earlier: str, later: str) -> None:
        """Strictly."""
        self.least(earlier, later, UNIT)

    def taken(self, ts: str, at: str, skew: int) -> None:
        """A timestamp that is taken from some clock at an instant."""
        self.least(at, ts)
        self.least(ts, at, -skew)

    def solved(self) -> dict[str, int] | None:
        """The earliest numbers that satisfy all of them; None if there are none."""
        value = {name: 0 for pair in self.given for name in pair}
        for _ in range(len(value) + 1):
            changed = False
            for (earlier, later), by in self.given.items():
                if value[later] < value[earlier] + by:
                    value[later] = value[earlier] + by
                    changed = True
            if not changed:
                return value
        return None


@dataclass(frozen=True)
class Rules:
    """Which rules hold beside those of the documents: the closing rules of findings.

    `one_instant`: the versions that a transaction used were in force at one timestamp.
    `exact_if_shown`: no change at all of a table whose columns were shown. `exact`: no change of a
    used table before commit_ts where it writes, before its last operation where it reads.
    `answers_when_past`: an answer comes once the commit's timestamp is past by every clock;
    `also_read_only`: that of a read-only transaction too.
    """

    skew: int = 0
    past: int = 0
    """How long before now a read-only transaction reads at least."""
    delay: int = DD
    checks_operations: bool = True
    checks_commits: bool = True
    one_instant: bool = False
    exact_if_shown: bool = False
    exact: bool = False
    answers_when_past: bool = False
    also_read_only: bool = False


CLOSED: Final = Rules(
    skew=SKEW,
    one_instant=True,
    exact_if_shown=True,
    exact=True,
    answers_when_past=True,
    also_read_only=True,
)


def inequalities(cycle: Cycle, rules: Rules) -> Inequalities:
    """All that a cycle demands and all that the rules demand of what lies on it."""
    found = Inequalities()
    _statements(cycle, rules, found)
    for place, node in enumerate(cycle.nodes):
        if isinstance(node, Tx):
            _transaction(cycle, place, node, rules, found)
    for place in range(len(cycle.nodes)):
        _edge(cycle, place, rules, found)
    return found


def _statements(cycle: Cycle, rules: Rules, found: Inequalities) -> None:
    for place in cycle.log:
        found.least(f"submitted{place}", f"logged{place}")
        found.taken(f"tm{place}", f"logged{place}", rules.skew)
        found.least(f"tm{place}", f"tu{place}", rules.delay)
        found.least(f"tu{place}", f"tm{place}", -rules.delay)
        found.least(f"tu{place}", f"acknowledged{place}")
        found.before(f"logged{place}", f"acknowledged{place}")
    for earlier, later in zip(cycle.log, cycle.log[1:], strict=False):
        found.before(f"tm{earlier}", f"tm{later}")
        found.least(f"logged{earlier}", f"logged{later}")


def tables_of(cycle: Cycle, place: int) -> dict[str, str]:
    """On which table each operation of a transaction runs; the way in and the way out decide."""
    into, out = cycle.ways[place - 1], cycle.ways[place]
    return {"in": into.table or out.table or "a", "out": out.table or into.table or "a"}


def _transaction(cycle: Cycle, place: int, node: Tx, rules: Rules, found: Inequalities) -> None:
    versions = dict(cycle.versions[place])
    if node.read_only:
        _read_only(cycle, place, versions, rules, found)
        return
    tables = tables_of(cycle, place)
    found.taken(f"ts-begun{place}", f"begun{place}", rules.skew)
    for end in ("in", "out"):
        found.before(f"begun{place}", f"{end}{place}")
        found.before(f"ts-begun{place}", f"ts-{end}{place}")
        found.taken(f"ts-{end}{place}", f"{end}{place}", rules.skew)
        found.before(f"{end}{place}", f"committed{place}")
        found.before(f"ts-{end}{place}", f"ts-committed{place}")
        version = versions[tables[end]]
        _known(cycle, tables[end], version, f"{end}{place}", found)
        _begun(cycle, tables[end], version, f"ts-{end}{place}", found)
        if rules.checks_operations:
            _not_over(cycle, tables[end], version, f"ts-{end}{place}", found)
    found.taken(f"ts-committed{place}", f"committed{place}", rules.skew)
    found.least(f"committed{place}", f"ended{place}")
    if rules.answers_when_past:
        found.least(f"ts-committed{place}", f"ended{place}")
    for table, version in versions.items():
        _commit(cycle, place, node, (table, version), rules, found)


def _commit(
    cycle: Cycle, place: int, node: Tx, used: tuple[str, int], rules: Rules, found: Inequalities
) -> None:
    """What may have changed a table by commit_ts."""
    table, version = used
    later = cycle.on(table)[version:]
    for step in later:
        kind = ddl(cycle, step).kind
        if rules.checks_commits and kind == INCOMPATIBLE:
            found.before(f"ts-committed{place}", f"tu{step}")
        if rules.exact_if_shown and table in node.shown:
            found.before(f"ts-committed{place}", f"tu{step}")
        if rules.exact:
            for end in _last(cycle, place):
                found.before(f"ts-{end}{place}", f"tu{step}")
        if rules.one_instant:
            for other, own in dict(cycle.versions[place]).items():
                if own:
                    found.before(f"tu{cycle.on(other)[own - 1]}", f"tu{step}")


def _last(cycle: Cycle, place: int) -> tuple[str, ...]:
    """Up to where nothing may have changed: the commit where it writes, else the operations."""
    return ("committed",) if writes(cycle, place) else ("in", "out")


def writes(cycle: Cycle, place: int) -> bool:
    """Whether the edges around a transaction ask it to write; else it only reads."""
    into, out = cycle.ways[place - 1].kind, cycle.ways[place].kind
    return into in {"rw-row", "ww-row"} or out in {"wr-row", "ww-row"}


def _read_only(
    cycle: Cycle, place: int, versions: dict[str, int], rules: Rules, found: Inequalities
) -> None:
    """One timestamp for all of it, which some clock had shown by its end."""
    found.before(f"begun{place}", f"read{place}")
    found.least(f"ts-read{place}", f"read{place}", rules.past - rules.skew)
    found.least(f"read{place}", f"ended{place}")
    if rules.also_read_only:
        found.least(f"ts-read{place}", f"ended{place}")
    for table, version in versions.items():
        _known(cycle, table, version, f"read{place}", found)
        _begun(cycle, table, version, f"ts-read{place}", found)
        _not_over(cycle, table, version, f"ts-read{place}", found)


def _known(cycle: Cycle, table: str, version: int, at: str, found: Inequalities) -> None:
    """A version is used where its message has arrived [98.def.2]."""
    if version:
        found.least(f"logged{cycle.on(table)[version - 1]}", at)


def _begun(cycle: Cycle, table: str, version: int, ts: str, found: Inequalities) -> None:
    """Past its first instant: whether that is its own decides nothing here."""
    if version:
        found.before(f"tu{cycle.on(table)[version - 1]}", ts)


def _not_over(cycle: Cycle, table: str, version: int, ts: str, found: Inequalities) -> None:
    steps = cycle.on(table)
    if version < len(steps):
        found.before(ts, f"tu{steps[version]}")


def ddl(cycle: Cycle, place: int) -> Ddl:
    node = cycle.nodes[place]
    assert isinstance(node, Ddl), node
    return node


# --- what the edges say --------------------------------------------------------------------------


def _edge(cycle: Cycle, place: int, rules: Rules, found: Inequalities) -> None:
    to = (place + 1) % len(cycle.nodes)
    source, target, way = cycle.nodes[place], cycle.nodes[to], cycle.ways[place]
    if way.kind in {"rt", "process"}:
        ends = f"acknowledged{place}" if isinstance(source, Ddl) else f"ended{place}"
        begins = f"submitted{to}" if isinstance(target, Ddl) else f"begun{to}"
        found.before(ends, begins)
    if way.kind == "process":
        found.least(stamp(cycle, place), stamp(cycle, to))
    if way.kind == "rt" and isinstance(source, Tx) and isinstance(target, Ddl):
        found.before(stamp(cycle, place), f"tu{to}")  # [98.ap]
    if way.kind in ROW_EDGES:
        _row(cycle, place, to, found)


def stamp(cycle: Cycle, place: int) -> str:
    """Where a node stands in the order of timestamps."""
    node = cycle.nodes[place]
    if isinstance(node, Ddl):
        return f"tu{place}"
    return f"ts-read{place}" if node.read_only else f"ts-committed{place}"


def _row(cycle: Cycle, place: int, to: int, found: Inequalities) -> None:
    source, target = cycle.nodes[place], cycle.nodes[to]
    assert isinstance(source, Tx), source
    assert isinstance(target, Tx), target
    if source.read_only:
        found.before(f"ts-read{place}", f"ts-committed{to}")
    elif target.read_only:
        found.before(f"ts-committed{place}", f"ts-read{to}")
    else:
        found.before(f"ts-committed{place}", f"ts-in{to}")
        found.before(f"committed{place}", f"in{to}")


def tag(cycle: Cycle, place: int) -> str:
    """What an edge is called: with the reason why a transaction stays before a DDL."""
    way, node = cycle.ways[place], cycle.nodes[place]
    if way.kind != "rw-schema":
        return way.kind
    assert isinstance(node, Tx), node
    if ddl(cycle, (place + 1) % len(cycle.nodes)).kind == INCOMPATIBLE:
        return "rw-schema[110.column.drop]"
    return f"rw-schema[{'metadata' if way.table in node.shown else 'compatible'}]"


# --- what leads back in the order of timestamps --------------------------------------------------


def leaves(cycle: Cycle, place: int) -> str:
    """The timestamp at which an edge leaves its source.

    A transaction that used a version which was replaced leaves when the edge before it came: it
    may be later by its commit_ts, but nothing of that is said by its use.
    """
    if cycle.ways[place].kind != "rw-schema":
        return stamp(cycle, place)
    before = place - 1 if place else len(cycle.nodes) - 1
    way = cycle.ways[before]
    return f"ts-begun{place}" if way.kind == "rt" else stamp(cycle, before)


def arrives(cycle: Cycle, place: int) -> str:
    """Where an edge arrives: in real time a transaction is there once it begins."""
    to = (place + 1) % len(cycle.nodes)
    in_time = cycle.ways[place].kind == "rt" and isinstance(cycle.nodes[to], Tx)
    return f"ts-begun{to}" if in_time else stamp(cycle, to)


def led_back(cycle: Cycle, rules: Rules, back: frozenset[int], by: int = UNIT) -> Inequalities:
    """The same inequalities where these edges lead back, by at least so much, and no others do."""
    found = inequalities(cycle, rules)
    for place in range(len(cycle.ways)):
        if place in back:
            found.least(arrives(cycle, place), leaves(cycle, place), by)
        else:
            found.least(leaves(cycle, place), arrives(cycle, place))
    return found
