"""A cycle that the model calls possible as a scripted scenario, instant by instant.

Clocks agree. A unit of the model is 10 ms, so that what must come first does; DD is 200 ms and
CSmax 7 ms. A read-only transaction reads the state of 10 ms ago.
"""

from operator import itemgetter
from typing import Final

from tests.ledger.rules import (
    COMPATIBLE,
    CREATE,
    UNIT,
    Cycle,
    Ddl,
    Rules,
    Tx,
    inequalities,
    tables_of,
)

UNIT_MS: Final = 10
DELAY: Final = 20
FIRST_MS: Final = 400
EXACT: Final = Rules(skew=0, past=UNIT, delay=DELAY)
"""The rules of the documents under exact clocks, in the units of a script."""
PUT, GET, COMMIT = "put", "get", 'do = "commit"'
HEAD: Final = """
expect = "ok"
strict = true
[protocol]
delay_duration_ms = 200
max_clock_skew_ms = 7
safe_time_interval_ms = 10
partition_idle_ms = 3
[cluster]
nodes = 3
voters = 3
[run]
drain_ms = 2_000
"""


def script(cycle: Cycle) -> str | None:
    """The scenario, by the earliest instants that satisfy everything; None where there are none."""
    found = inequalities(cycle, EXACT)
    for place, node in enumerate(cycle.nodes):
        if isinstance(node, Tx) and node.read_only:
            found.least(f"read{place}", f"ts-read{place}", -UNIT)
    at = found.solved()
    if at is None:
        return None
    steps = [step for place in range(len(cycle.nodes)) for step in _steps(cycle, place, at)]
    return "\n".join(
        [HEAD, _schema(cycle), *(text for _, text in sorted(steps, key=itemgetter(0)))]
    )


def _schema(cycle: Cycle) -> str:
    """The tables that the cycle does not create."""
    created = {node.table for node in cycle.nodes if isinstance(node, Ddl) and node.kind == CREATE}
    sql = [_create(cycle, name) for name in "ab"]
    kept = [one for name, one in zip("ab", sql, strict=True) if name not in created]
    return f'[schema]\nsql = "{"; ".join([*kept, "CREATE TABLE other (id INT PRIMARY KEY)"])}"\n'


def _create(cycle: Cycle, table: str) -> str:
    """With a column for each statement that drops one."""
    columns = ", ".join(f"c{place} INT" for place in range(len(cycle.nodes)))
    return f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns})"


def _steps(cycle: Cycle, place: int, at: dict[str, int]) -> list[tuple[int, str]]:
    """Each node's steps; of a transaction's at one instant the next follows the one before."""
    node = cycle.nodes[place]
    if isinstance(node, Ddl):
        todo = [("d", at[f"logged{place}"], _ddl(cycle, place, node))]
    elif node.read_only:
        tables = dict(cycle.versions[place])
        todo = [
            (f"r{table}", at[f"read{place}"], _do(GET, table, _key(cycle, place, table)))
            for table in tables
        ]
        todo.append(("z", at[f"read{place}"], COMMIT))
    else:
        tables_by_end = tables_of(cycle, place)
        todo = [
            (end, at[f"{end}{place}"], _operation(cycle, place, end, tables_by_end[end]))
            for end in ("in", "out")
        ]
        todo.sort(key=itemgetter(1))
        todo.append(("z", at[f"committed{place}"], COMMIT))
    found = []
    before: tuple[str, int] | None = None
    for name, when, what in todo:
        follows = None if before is None or before[1] != when else f"{before[0]}{place}"
        found.append((when, _step(cycle, place, name, (when, follows), what)))
        before = (name, when)
    return found


def _step(cycle: Cycle, place: int, name: str, when: tuple[int, str | None], what: str) -> str:
    node, (at, follows) = cycle.nodes[place], when
    lines = [
        "[[step]]",
        f'id = "{name}{place}"',
        f'client = "{_client(cycle, place)}"',
        f'node = "n{place % 3 + 1}"',
        f'after = "{follows}.ok"' if follows else f"at_ms = {FIRST_MS + UNIT_MS * at}",
        what,
        'expect = "ok"',
    ]
    if isinstance(node, Tx):
        lines.append(f'tx = "T{place}"')
        first = follows is None and name != "z"
        lines += ["read_only = true"] if node.read_only and first else []
    if "process" in {cycle.ways[place].kind, cycle.ways[place - 1].kind}:
        lines.append("session = true")
    return "\n".join([*lines, ""])


def _client(cycle: Cycle, place: int) -> str:
    """One client for what the order of its session joins."""
    while cycle.ways[place - 1].kind == "process":
        place = (place - 1) % len(cycle.nodes)
    return f"client{place}"


def _ddl(cycle: Cycle, place: int, node: Ddl) -> str:
    sql = {
        COMPATIBLE: f"ALTER TABLE {node.table} ADD COLUMN w{place} INT",
        CREATE: _create(cycle, node.table),
    }.get(node.kind, f"ALTER TABLE {node.table} DROP COLUMN c{place}")
    return f'ddl = "{sql}"'


def _operation(cycle: Cycle, place: int, end: str, table: str) -> str:
    """What the edge at this end asks for: a read or a write of the row that it is about."""
    node = cycle.nodes[place]
    assert isinstance(node, Tx), node
    number = place - 1 if end == "in" else place
    kind = cycle.ways[number].kind
    writes = {"in": ("rw-row", "ww-row"), "out": ("wr-row", "ww-row")}[end]
    key = _row(cycle, number) if kind.endswith("-row") else 100 + 2 * place + (end == "in")
    if kind == "rw-schema" and end == "out" and table in node.shown:
        return f'do = "SELECT * FROM {table} WHERE id = {key}"'
    return _do(PUT if kind in writes else GET, table, key)


def _do(action: str, table: str, key: int) -> str:
    return f'do = ["{action}", "{table}", {key}]'


def _row(cycle: Cycle, number: int) -> int:
    """The row that an edge is about: one for each edge."""
    return 1 + number % len(cycle.nodes)


def _key(cycle: Cycle, place: int, table: str) -> int:
    """The row that a read-only transaction is about."""
    for number in (place - 1, place):
        way = cycle.ways[number]
        if way.kind.endswith("-row") and way.table == table:
            return _row(cycle, number)
    return 100 + 2 * place
