"""The work of a swarm: tables, clients with transactions of every shape, DDL of every kind."""

from typing import Final

from ddlsim.plan.swarm_faults import has_unreplicated
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table
from ddlsim.workload import ddl_mix
from ddlsim.workload.base import Die

TABLES: Final = {
    "a": "CREATE TABLE a (id INT PRIMARY KEY, v INT)",
    "b": "CREATE TABLE b (id INT PRIMARY KEY, v INT, s VARCHAR(20))",
    "c": "CREATE TABLE c (k VARCHAR(10), n INT, v INT DEFAULT 3, PRIMARY KEY (k, n))",
    "d": "CREATE TABLE d (id UUID PRIMARY KEY, f BOOLEAN, x REAL, e DECIMAL(5, 2) NOT NULL,"
    " h TIME, p TIMESTAMP(3), g DATE, y VARBINARY(8))",
}
CONSTRAINTS: Final = {
    "a": "CONSTRAINT positive CHECK (v >= 1), CONSTRAINT single UNIQUE (v)",
    "b": "CONSTRAINT pair UNIQUE (v, s), CONSTRAINT apart UNIQUE (s),"
    " CONSTRAINT either CHECK (v >= 2 OR s <= 'k5'), CONSTRAINT other CHECK (s <> 'k1')",
    "c": "CONSTRAINT some CHECK (v <> 1 AND v IS NOT NULL), CONSTRAINT numbered UNIQUE (n, v)",
    "d": "CONSTRAINT exact UNIQUE (e), CONSTRAINT bound CHECK (e <= 99.99 OR f = FALSE)",
}
"""The constraints that a table may have from the start."""
CONSTRAINED: Final = 0.3
"""The share of tables that have them."""
CHANGES: Final = {
    "a": (
        ("ADD COLUMN m1 INT", "ALTER COLUMN v SET DATA TYPE BIGINT", "DROP COLUMN v"),
        ("DROP COLUMN v", "ADD COLUMN v INT", "ADD COLUMN m1 VARCHAR(10)"),
        ("RENAME COLUMN v TO v2", "RENAME COLUMN v2 TO v", "ADD COLUMN m1 INT"),
        ("ADD COLUMN m1 INT NOT NULL DEFAULT 7", "DROP COLUMN m1", "ADD COLUMN m1 REAL"),
    ),
    "b": (
        ("ADD COLUMN m1 INT", "RENAME COLUMN s TO s2", "DROP COLUMN v"),
        ("RENAME TO b2", "RENAME TO b", "ADD COLUMN m1 INT"),
        ("DROP TABLE", "CREATE TABLE", "ADD COLUMN m1 INT"),
        ("DROP COLUMN s", "ADD COLUMN s VARCHAR(20)", "ALTER COLUMN s SET DATA TYPE VARCHAR(30)"),
    ),
    "c": (
        ("ALTER COLUMN v SET DEFAULT 4", "ADD COLUMN m1 INT", "DROP COLUMN v"),
        ("RENAME TO c2", "ADD COLUMN m1 INT", "RENAME TO c"),
        ("DROP TABLE", "CREATE TABLE", "ALTER COLUMN v DROP DEFAULT"),
    ),
    "d": (
        ("ALTER COLUMN e SET DATA TYPE DECIMAL(7, 2)", "ALTER COLUMN e DROP NOT NULL"),
        ("ALTER COLUMN e SET DATA TYPE DECIMAL(6, 2)", "ALTER COLUMN e SET DATA TYPE VARCHAR(8)"),
        (
            "ALTER COLUMN e SET DATA TYPE DECIMAL(6, 3)",
            "ALTER COLUMN e SET DATA TYPE DECIMAL(6, 2)",
        ),
        ("ALTER COLUMN g SET DATA TYPE VARCHAR(10)", "DROP COLUMN p", "ADD COLUMN p TIMESTAMP"),
        ("ALTER COLUMN h SET DATA TYPE TIME(3)", "ALTER COLUMN f SET DATA TYPE VARCHAR(5)"),
    ),
}
"""Sequences of changes to a table, each allowed after the one before."""


def _statements(table: str, changes: tuple[str, ...]) -> list[str]:
    """The changes as SQL; statements after a rename use the new name."""
    name, made = table, []
    for change in changes:
        if change == "DROP TABLE":
            made.append(f"DROP TABLE {name}")
        elif change == "CREATE TABLE":
            made.append(TABLES[table])
        else:
            made.append(f"ALTER TABLE {name} {change}")
        if change.startswith("RENAME TO "):
            name = change.rpartition(" ")[2]
    return made


def schema(knobs: Knobs, nodes: int) -> tuple[list[str], str]:
    """One to three tables, some of them in a zone of their own, some read by views."""
    count = knobs.pick("tables", (1, 2, 2, 3))
    if requires_values(knobs):
        count = max(count, 2)  # an update of one column of the second leaves another one alone
        knobs.tell("tables", count)
    names = list(TABLES)[:count]
    if knobs.on("table of many types", 0.25):
        names[-1] = "d"
    statements = [TABLES[name] for name in names]
    for place, name in enumerate(names):
        if knobs.on(f"constraints of {name} at the start", CONSTRAINED):
            statements[place] = f"{statements[place][:-1]}, {CONSTRAINTS[name]})"
    die = knobs.die("zone")
    if die.chance(0.3):
        replicas, partitions = die.pick((1, min(3, nodes))), die.pick((1, 2, 4))
        knobs.tell("zone", f"{partitions} partitions, {replicas} replicas")
        statements[-1] += " ZONE z"
        statements.insert(
            0, f"CREATE ZONE z WITH (PARTITIONS = {partitions}, REPLICAS = {replicas})"
        )
    else:
        knobs.tell("zone", OFF)
    if knobs.on("views at the start", 0.5) or has_changing_views(knobs):
        statements.append(f"CREATE VIEW {names[0]}v AS SELECT * FROM {names[0]}")
    if has_changing_views(knobs):
        statements.append(f"CREATE VIEW {names[0]}vw AS SELECT * FROM {names[0]}v")
    return names, "".join(f"{statement};\n" for statement in statements)


def migrations(
    knobs: Knobs, names: list[str], nodes: tuple[str, ...], load_ms: int, delay_ms: int
) -> list[Table]:
    """In some scenarios, planned statements on a table that clients use."""
    die = knobs.die("migration")
    if only_compatible(knobs) or not die.chance(0.5):
        knobs.tell("migration", OFF)
        return []
    name = die.pick(names)
    statements = _statements(name, die.pick(CHANGES[name]))[: die.between(1, 3)]
    knobs.tell("migration", f"{len(statements)} on {name}")
    pace: Table = (
        {"every_ms": max(round(die.pick((0.2, 0.5, 2, 4)) * delay_ms), 1)}
        if die.chance(0.8)
        else {}
    )
    return [
        {
            "at_ms": die.between(load_ms // 10, load_ms // 2),
            "node": die.pick(nodes),
            **pace,
            "sql": "".join(f"{sql};\n" for sql in statements),
        }
    ]


LATE: Final = "late"
LATE_ZONE: Final = "late_zone"
IN_A_ZONE: Final = 0.25
"""The share of worlds with such a table in which it lies in a zone that changes."""


def late_table(knobs: Knobs, nodes: tuple[str, ...], load_ms: int) -> list[Table]:
    """In some scenarios, a planned statement that makes the table `LATE`, which faults may name.

    In some of these it lies in a zone of its own, whose number of replicas changes then: the table
    keeps those that it was created with.
    """
    die = knobs.die("late table")
    is_drawn = die.chance(0.25)
    in_a_zone = knobs.on("late table in a zone", IN_A_ZONE, unless=not is_drawn)
    if not is_drawn:
        knobs.tell("late table", OFF)
        return []
    at_ms = die.between(load_ms // 10, load_ms * 9 // 10)
    knobs.tell("late table", f"at {at_ms} ms")
    node, sql = die.pick(nodes), f"CREATE TABLE {LATE} (id INT PRIMARY KEY, v INT)"
    if in_a_zone:
        replicas, most = die.between(1, 3), min(3, len(nodes))
        zone = f"CREATE ZONE {LATE_ZONE} WITH (PARTITIONS = 2, REPLICAS = {min(replicas, most)})"
        then = f"ALTER ZONE {LATE_ZONE} SET (REPLICAS = {min(replicas % 3 + 1, most)})"
        sql = f"{zone};\n{sql} ZONE {LATE_ZONE};\n{then}"
    return [{"at_ms": at_ms, "node": node, "sql": f"{sql};\n"}]


COMPATIBLE: Final = 0.3
"""The share of worlds all of whose schema changes are compatible, or create tables: transactions
live on across them."""


def only_compatible(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    return knobs.on("compatible changes alone", COMPATIBLE)


REQUIRING: Final = 0.06
"""The share of worlds in which columns become NOT NULL while clients write NULL and update rows."""


def requires_values(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    return knobs.on("columns become NOT NULL", REQUIRING, unless=only_compatible(knobs))


# --- clients -------------------------------------------------------------------------------------


def workloads(
    knobs: Knobs, names: list[str], load_ms: int, delay_ms: int, *, planned: bool
) -> list[Table]:
    """Clients with transactions of every shape, and with DDL."""
    if is_quiet(knobs):
        return [_quiet(knobs, load_ms), _ddl_mix(knobs, delay_ms) | QUIET_DDL]
    made = [_mixed(knobs, load_ms, delay_ms)]
    if requires_values(knobs):
        made[0] |= UPDATING
    if len(names) > 1 and knobs.on("spanning transactions", SPANNING):
        made.append(_spanning(knobs, delay_ms))
    if knobs.die("ddl mix").chance(0.8) or requires_values(knobs):
        made.append(_ddl_mix(knobs, delay_ms))
    else:
        knobs.tell("ddl mix", OFF)
    if knobs.die("ddl storm").chance(0.3):
        made.append(_storm(knobs, load_ms))
    else:
        knobs.tell("ddl storm", OFF)
    if planned and knobs.on("transborder", 0.6):
        around: Table = {"before_ms": [1, max(delay_ms, 2)], "after_ms": [0, max(delay_ms, 2)]}
        made.append({"name": "transborder", "clients": 2, "keys": 5, **around})
    if knobs.on("read own DDL", 0.2):
        pauses = [0, load_ms // 4]
        own: Table = {"name": "read_own_ddl", "operations": 3, "clients": 2, "pause_ms": pauses}
        made.append(own | ({"drops": 0.0} if only_compatible(knobs) else {}))
    if len(names) > 1 and knobs.on("rename swap", 0.15) and not only_compatible(knobs):
        made.append({"name": "rename_swap", "swaps": 2, "clients": 1, "operations": 6})
    return [*made, *_aimed(knobs, delay_ms)]


SHAPES: Final = {
    "even": {},
    "writes": {"get": 15, "put": 70, "delete": 10},
    "reads": {"get": 70, "put": 15, "scan": 10},
    "scans": {"scan": 20, "select": 20},
    "deletes": {"delete": 30},
}
"""Weights of operations, by the name that reports show."""


def _mixed(knobs: Knobs, load_ms: int, delay_ms: int) -> Table:
    clients = knobs.pick("clients", (20, 24, 28))
    transactions = knobs.pick("transactions of each", (14, 18, 22))
    most = knobs.pick("operations of a transaction", (1, 1, 1, 1, 2, 4))
    die = knobs.die("pauses")
    pace_ms = load_ms / transactions
    idle = die.chance(0.2)
    knobs.tell("idle phases", "on" if idle else OFF)
    keys = knobs.pick("keys", (5, 20, 80, 200))
    table: Table = {
        "name": "mixed",
        "clients": clients,
        "operations": transactions * (1 + most) // 2,
        "transaction_operations": [1, most],
        "transaction_tables": [1, 2],
        "pause_ms": [0, 2 * pace_ms] if idle else [0, 0.7 * pace_ms],
        "gap_ms": [0, delay_ms * knobs.pick("gap of DD", (0, 0, 0.02, 0.1))],
        **SHAPES[knobs.pick("shape", list(SHAPES))],
        "keys": keys,
        "hot_keys": min(2, keys) if die.chance(0.4) else 0,
        "implicit": knobs.pick("implicit", (0.3, 0.6, 0.9)),
        "fresh": knobs.pick("fresh", (0.0, 0.1, 0.5)),
        "session": knobs.pick("session", (0.0, 0.25, 1.0)),
        "partition_aware": knobs.pick("partition-aware", (0.0, 0.5, 1.0)),
        "retries": knobs.pick("retries", (0, 0, 1, 3)),
    }
    knobs.tell("hot keys", table["hot_keys"])
    table["values"] = knobs.pick("values of a column", (0, 0, 3, 12))
    return table | _kinds(knobs, load_ms, delay_ms)


UPDATING: Final = {
    "get": 10,
    "put": 20,
    "update": 60,
    "by_name": 1.0,
    "edges": 0.0,
    "bad": 0.0,
    "keys": 20,
    "hot_keys": 0,
}
"""Of worlds in which columns become NOT NULL: rows with NULL, and updates that keep it."""


QUIET: Final = 0.05
"""The share of worlds with few messages, whose clocks are far apart, and whose leaders change.

Between two messages hybrid clocks do not follow each other: what is stamped then shows whether
stamps rest on messages or on what is in the log.
"""


def is_quiet(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    return knobs.on("quiet", QUIET, unless=requires_values(knobs))


QUIET_DDL: Final = {"clients": 1, "operations": 3, "inside": 0, "reads": 0, "session": 0}


def _quiet(knobs: Knobs, load_ms: int) -> Table:
    """Two clients that write now and then."""
    die = knobs.die("quiet clients")
    operations = die.pick((5, 8))
    return {
        "name": "mixed",
        "clients": 2,
        "operations": operations,
        "transaction_operations": [1, 1],
        "pause_ms": [0, 2 * load_ms // operations],
        "keys": 5,
        "implicit": 0.5,
        "partition_aware": die.pick((0.0, 1.0)),
        **SHAPES["writes"],
    }


SHARES: Final = {
    "named": (0.0, 0.1, 0.4),
    "by_name": (0.0, 0.2, 0.6),
    "bad": (0.0, 0.0, 0.03),
    "edges": (0.0, 0.1, 0.3),
    "misses": (0.0, 0.05, 0.3),
    "views": (0.0, 0.2, 0.6),
    "read_only": (0.0, 0.1, 0.4),
    "as_of": (0.0, 0.3, 0.8),
    "pipelined": (0.0, 0.3, 0.6),
    "abandoned": (0.0, 0.0, 0.01),
    "long": (0.0, 0.02, 0.04),
    "rested": (0.0, 0.2, 0.5),
    "begun": (0.0, 0.0, 0.3),
    "rollback": (0.0, 0.02, 0.05),
}
"""The shares of a mixed workload, of which each is one with equal chance."""


def _kinds(knobs: Knobs, load_ms: int, delay_ms: int) -> Table:
    """What transactions and their operations are, beside the weights of reads and writes."""
    table: Table = {share: knobs.pick(share, shares) for share, shares in SHARES.items()}
    weight = knobs.pick("conditional writes", (0, 2, 8))
    table |= dict.fromkeys(("insert", "strict", "replace"), weight)
    table["update"] = knobs.pick("updates", (0, 4, 16))
    table["as_of_ms"] = [-knobs.die("as_of_ms").pick((delay_ms, load_ms // 2)), delay_ms]
    table["long_gap_ms"] = [delay_ms / 2, 2 * delay_ms]
    table["rest_ms"] = [0, 2 * delay_ms]
    return table


CHANGING_VIEWS: Final = 0.12
"""The share of worlds with views of views, which change while transactions use them."""


def has_changing_views(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    return knobs.on("changing views", CHANGING_VIEWS)


def _aimed(knobs: Knobs, delay_ms: int) -> list[Table]:
    """Clients whose transactions lead to where a rule of the protocol is at stake."""
    made: list[Table] = []
    if has_changing_views(knobs):
        made += _through_views(delay_ms)
    if has_unreplicated(knobs):
        made.append(_filling(delay_ms))
    if knobs.on("deleted rows", 0.15):
        made += _deleting(delay_ms)
    if knobs.on("renamed tables", RENAMED, unless=only_compatible(knobs)):
        made += _renaming(delay_ms)
    return made


NEITHER: Final = dict.fromkeys(("get", "put", "delete", "scan", "select"), 0)
"""Weights of a mixed workload that begin at nothing."""


def _through_views(delay_ms: int) -> list[Table]:
    """Transactions use tables through views, of which other clients rename and drop some."""
    changes = {**dict.fromkeys(ddl_mix.KINDS, 0), "rename_view": 4, "view": 3, "drop_view": 2}
    statements: Table = {"name": "ddl_mix", "clients": 1, "operations": 6, **changes}
    users: Table = {"name": "mixed", "clients": 4, "operations": 12, "views": 1.0, "keys": 20}
    users |= {"implicit": 0.2, "long": 0.7, "long_operations": [2, 4], "retries": 0}
    users |= {"long_gap_ms": [delay_ms / 4, delay_ms], "pause_ms": [0, delay_ms]}
    return [{**statements, "pause_ms": [0, 2 * delay_ms]}, users]


def _filling(delay_ms: int) -> Table:
    """Transactions write new rows and scan them before these are replicated."""
    table: Table = {"name": "mixed", "clients": 6, "operations": 24, "keys": 400, "retries": 0}
    table |= {"implicit": 0.0, "transaction_operations": [3, 6], "transaction_tables": 1}
    return table | {"pipelined": 0.7, "pause_ms": [0, delay_ms], **NEITHER, "put": 6, "scan": 4}


def _deleting(delay_ms: int) -> list[Table]:
    """Long transactions read rows that others delete meanwhile, under a later version perhaps."""
    readers: Table = {"name": "mixed", "clients": 4, "operations": 16, "keys": 6, "retries": 0}
    readers |= {"implicit": 0.0, "long": 1.0, "long_operations": [3, 4], "pause_ms": [0, delay_ms]}
    readers |= {"long_gap_ms": [delay_ms / 4, 2 * delay_ms], **NEITHER, "get": 8, "scan": 2}
    others: Table = {"name": "mixed", "clients": 2, "operations": 24, "keys": 6, "retries": 0}
    others |= {"implicit": 1.0, "pause_ms": [0, delay_ms], **NEITHER, "put": 4, "delete": 6}
    return [readers, others]


RENAMED: Final = 0.2
"""The share of worlds whose tables are renamed again and again while long transactions read."""


def _renaming(delay_ms: int) -> list[Table]:
    """Long transactions read rows that others write meanwhile, under another name perhaps."""
    changes = {**dict.fromkeys(ddl_mix.KINDS, 0), "rename_table": 1}
    statements: Table = {"name": "ddl_mix", "clients": 1, "operations": 6, "again": 0, **changes}
    readers: Table = {"name": "mixed", "clients": 6, "operations": 16, "keys": 4, "retries": 0}
    readers |= {"implicit": 0.0, "long": 1.0, "long_operations": [3, 4], "pause_ms": [0, delay_ms]}
    readers |= {"long_gap_ms": [delay_ms / 4, 2 * delay_ms], **NEITHER, "get": 1}
    writers: Table = {"name": "mixed", "clients": 3, "operations": 24, "keys": 4, "retries": 0}
    writers |= {"implicit": 1.0, "pause_ms": [0, delay_ms], **NEITHER, "put": 1}
    return [{**statements, "pause_ms": [0, 2 * delay_ms]}, readers, writers]


SPANNING: Final = 0.5
"""The share of worlds of several tables with clients whose transactions outlive schema changes."""


def _spanning(knobs: Knobs, delay_ms: int) -> Table:
    """Clients whose transactions use several tables, a change or two apart.

    They have the keys of the other clients, which commit in between.
    """
    die = knobs.die("spanning")
    shape = die.pick(list(SPANNING_SHAPES))
    knobs.tell("spanning transactions", shape)
    return {
        "name": "mixed",
        "clients": 6,
        "operations": 12,
        "implicit": 0.0,
        "long": 1.0,
        "long_operations": [2, 3],
        "long_gap_ms": [delay_ms / 4, 2 * delay_ms],
        "pause_ms": [0, delay_ms],
        "keys": die.pick((5, 20)),
        "named": die.pick((0.0, 0.4)),
        "retries": 0,
        **SPANNING_SHAPES[shape],
    }


SPANNING_SHAPES: Final = {
    "shown": {"select": 40, "get": 30, "put": 20},
    "reads": {"get": 60, "scan": 40, "put": 0, "delete": 0, "select": 0},
    "writes": {"get": 20, "put": 70},
}
"""Weights of the operations of transactions that outlive changes."""


KINDS: Final = {
    "every kind": {},
    "columns": {"create": 0, "drop_table": 0, "rename_table": 0, "index": 0, "drop_index": 0},
    "compatible": {"create": 4, "drop": 0, "rename": 0, "drop_table": 0, "rename_table": 0},
    "incompatible": {"add": 3, "drop": 6, "rename": 6, "relax": 0, "default": 0},
    "tables": {"add": 2, "create": 6, "drop_table": 4, "rename_table": 4},
    "pointless": {"add": 2, "noop": 4, "refused": 4},
}
"""Weights of statements of a storm, by the name that reports show."""


MIXES: Final = {
    "every kind": {},
    "columns": {"create": 0, "drop_table": 0, "rename_table": 0, "compound": 8, "again": 6},
    "at once": {
        "mixed": 8,
        "require": 5,
        "compound": 6,
        "again": 4,
        "drop_table": 0,
        "rename_table": 0,
    },
    "compatible": {
        **dict.fromkeys(ddl_mix.KINDS, 0),
        "add": 6,
        "relax": 2,
        "widen": 2,
        "default": 2,
        "create": 4,
    },
    "in use": {"drop_table": 0, "rename_table": 0, "drop": 1, "index": 4, "constraint": 4},
    "types": {"add": 8, "widen": 8, "narrow": 6, "create": 0, "drop_table": 0, "drop": 1},
    "strict": {"constraint": 6, "unique": 4, "require": 4, "narrow": 4},
    "required": {**dict.fromkeys(ddl_mix.KINDS, 0), "require": 8, "relax": 4, "add": 2},
    "objects": {"view": 6, "rename_view": 4, "zone": 4, "alter_zone": 4, "rename_zone": 3},
    "tables": {"create": 8, "drop_table": 5, "rename_table": 5, "mandatory": 5},
}
"""Weights of statements, by the name that reports show."""


def _ddl_mix(knobs: Knobs, delay_ms: int) -> Table:
    die: Die = knobs.die("statements")
    clients, statements = die.pick((1, 1, 2, 3)), die.between(6, 14)
    kinds = die.pick([kind for kind in MIXES if kind != "required"])
    kinds = "compatible" if only_compatible(knobs) else kinds
    kinds = "required" if requires_values(knobs) else kinds
    knobs.tell("ddl mix", f"{clients} x {statements}, {kinds}")
    mix: Table = {"name": "ddl_mix", "clients": clients, "operations": statements, "again": 2}
    mix["inside"] = die.pick((0.4, 0.8) if only_compatible(knobs) else (0.1, 0.3, 0.6))
    mix["reads"] = die.pick((0.0, 0.3, 0.6))
    mix["inside_gap_ms"] = [0, delay_ms * die.pick((0, 0.1, 0.3))]
    mix["session"] = knobs.pick("session of statements", (0.0, 0.0, 1.0))
    return {**mix, "pause_ms": [0, delay_ms], **MIXES[kinds]}


def _storm(knobs: Knobs, load_ms: int) -> Table:
    die: Die = knobs.die("ddl")
    clients, statements = die.between(1, 2), die.between(2, 3)
    kinds = die.pick(list(KINDS))
    kinds = "compatible" if only_compatible(knobs) else kinds
    knobs.tell("ddl storm", f"{clients} x {statements}, {kinds}")
    pauses = [0, load_ms // statements]
    storm: Table = {"name": "ddl_storm", "clients": clients, "operations": statements}
    return {**storm, "pause_ms": pauses, **KINDS[kinds]}
