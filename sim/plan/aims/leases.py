"""Processes that live by their lease, for designs whose updates wait for leases to end.

A lease matters only if a process is without the schema for longer than it lasts while two updates
go by, and its clients go on to write. In most drawn worlds nothing of the kind happens. Here the
schema does not reach one process, or reaches it late, from the first lease on; statements follow
each other at another one; and clients write all the time.

Where leases lie in the store, a statement waits for them twice: in its own update, and behind it.
Only the first wait holds back a statement of another process, so two processes run statements on
one table. A process keeps an old lease because the schema does not reach it, or because a
transaction that began under it is still open.

Worlds of other designs are drawn without a die of this module, and stay what they are.
"""

from typing import Final

from ddlsim.plan import swarm_work
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table

PAUSE_BEFORE: Final = "once_leases_have_ended"
"""The rule of `pause_before` of such designs."""
IN_THE_STORE: Final = "older_leases_gone"
"""That of designs whose leases lie in the store."""
SHARE: Final = 0.4
"""The share of their worlds in which a process lives by its lease."""
LEASES_MS: Final = (60, 120)
POLLS: Final = 12
"""How often the schema is read in the time of a lease."""
LOAD: Final = 9
"""How long the load is, in leases."""
STATEMENTS: Final = 5
NODE: Final = "n1"
HOW: Final = ("cut off", "late")
"""What becomes of the schema on its way to the process."""
LATE: Final = 1.25
"""How late it comes, in leases: a lease that began with the answer would last over two updates."""
DROPS, APART = "commits late, drops", "clocks apart"
MORE: Final = ("commits late", DROPS, APART)
"""What becomes of the process instead: its commits are late, while statements change the table or
drop its indexes; or its clock is slow, and that of the process that waits for its lease is fast."""
MORE_SHARE: Final = 0.5
"""The share of worlds with a lease that have one of these."""
LATE_COMMITS: Final = 2
"""How late such commits are, in leases: over two updates, or over a drop and what it erases."""
INDEXES: Final = ("ai", "aj")
BETWEEN: Final = 2.5
"""The time between drops of them, in leases: an update between would refuse commits that are late.
"""
ROUNDS: Final = (0, 3, 6)
"""When each pair of updates begins where clocks are apart, in leases."""
BEHIND: Final = 0.95
"""When the second one of a pair is asked for, behind the first one: its process has then waited
almost long enough, by its fast clock."""
SLOW_PPM, FAST_PPM = -100_000, 100_000
"""The margin that leases allow for."""
LONGER: Final = 4
"""By how much leases are longer there: a tenth of one is then longer than a commit takes."""
OFTEN: Final = 80
"""How often the schema is read there in the time of a lease."""
KEPT: Final = ("cut off", "open")
"""Why a process keeps an old lease that lies in the store."""
AMID: Final = ("a commit of a row", "the commit of a lease")
"""What else is late of a process that keeps an old lease: commits of its clients, one here and one
there; or the commit of its first lease, before the schema does not reach it any more."""
AMID_SHARE: Final = 0.35
"""The share of worlds with an old lease that have one of these instead of the reasons above."""
LATE_POLLS: Final = (4, 8)
"""How late such commits of rows are, in polls: over two updates, and no longer than a lease."""
OPEN: Final = (0.1, 0.3)
"""The time between the operations of open transactions, in leases."""
LATE_COMMIT: Final = 0.3
"""How late the commit of a lease is, in leases."""
EARLY: Final = 0.5
"""When the schema does not reach the process behind that, in leases: before it leases again."""
OLD_LEASES_MS: Final = (160, 320)
"""Leases in the store, so long that others take and give back theirs while one lasts."""
OLD_LOAD: Final = 5
POLL_MS: Final = 10
NODES: Final = 3
SCHEMA: Final = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"


def add(knobs: Knobs, data: Table) -> None:
    """Let a process live by its lease."""
    if not knobs.on("lives by a lease", SHARE):
        return
    how = knobs.pick("schema on its way", HOW)
    if knobs.on("lives by a lease, more", MORE_SHARE):
        how = knobs.pick("lives by a lease, what more", MORE)
        knobs.tell("schema on its way", how)
    lease_ms = knobs.pick("lease of it", LEASES_MS) * (LONGER if how == APART else 1)
    _leased(knobs, data, lease_ms, LOAD * lease_ms)
    data["strategy"]["poll_ms"] = lease_ms // POLLS
    data["migration"] = [_statements("n2", lease_ms, 0)]
    data["workload"] = [_writers()]
    if how in HOW:
        data["faults"] = [_fault(how, data["fdb"]["storages"], lease_ms, (LOAD - 2) * lease_ms)]
    elif how == APART:
        _clocks_apart(data, lease_ms)
    else:
        _commits_late(data, how, lease_ms)


def add_in_the_store(knobs: Knobs, data: Table) -> None:
    """Let a process keep an old lease while two others run statements."""
    if not knobs.on("keeps an old lease", SHARE):
        return
    lease_ms = knobs.pick("old lease", OLD_LEASES_MS)
    why = knobs.pick("why it keeps it", KEPT)
    load_ms = OLD_LOAD * lease_ms
    _leased(knobs, data, lease_ms, load_ms)
    data["strategy"]["poll_ms"] = POLL_MS
    data["cluster"]["nodes"] = NODES
    both = (("n2", 0), ("n3", STATEMENTS))
    data["migration"] = [_statements(node, lease_ms, first) for node, first in both]
    data["workload"] = [_writers()]
    data["faults"] = []
    if knobs.on("old lease, amid a commit", AMID_SHARE):
        _amid(knobs, data, lease_ms)
    elif why == "cut off":
        data["faults"] = [_fault(why, data["fdb"]["storages"], lease_ms, 2 * lease_ms)]
    else:
        data["workload"].append(_open(lease_ms))
        data["protocol"]["tx_timeout_ms"] = load_ms


def _commits_late(data: Table, how: str, lease_ms: int) -> None:
    """Let the commits of the process be late, and the schema reach it."""
    late: Table = {"name": "late_message", "kind": "commit", "sender": NODE, "count": 1_000}
    late["delay_ms"] = LATE_COMMITS * lease_ms
    data["faults"] = [late | {"from_ms": lease_ms}]
    if how == DROPS:
        made = "".join(f";\nCREATE INDEX {name} ON a (v)" for name in INDEXES)
        data["schema"]["sql"] += made
        drops = ";\n".join(f"DROP INDEX {name}" for name in INDEXES)
        data["migration"][0] |= {"sql": drops, "every_ms": BETWEEN * lease_ms}


def _clocks_apart(data: Table, lease_ms: int) -> None:
    """Let the process have a slow clock, and miss an update; a fast one waits to make the next."""
    data["cluster"]["nodes"] = NODES
    data["strategy"]["poll_ms"] = max(lease_ms // OFTEN, 1)
    rates = {NODE: SLOW_PPM, "n3": FAST_PPM}
    data["clocks"]["nodes"] = {
        node: {"offset_ms": 0, "drift_ppm": ppm} for node, ppm in rates.items()
    }
    count = len(ROUNDS)
    data["migration"] = [
        {
            "node": node,
            "at_ms": (1 + behind + turn) * lease_ms,
            "sql": f"ALTER TABLE a ALTER COLUMN v SET DEFAULT {first + place}",
        }
        for node, behind, first in (("n2", 0.0, 0), ("n3", BEHIND, count))
        for place, turn in enumerate(ROUNDS)
    ]
    cut = _fault("cut off", data["fdb"]["storages"], lease_ms, 2 * lease_ms)
    at_once: Table = {"moment": "update-logged", "node": "n2"}
    data["faults"] = [cut | {"when": at_once, "from_ms": (1 + turn) * lease_ms} for turn in ROUNDS]


def _amid(knobs: Knobs, data: Table, lease_ms: int) -> None:
    """Let commits of rows be late while updates go by; or that of a lease, which is the last."""
    what = knobs.pick("old lease, amid what", AMID)
    knobs.tell("why it keeps it", what)
    late: Table = {"name": "late_message", "kind": "commit", "sender": NODE}
    if what == "a commit of a row":
        die = knobs.die("old lease, which commits")
        data["fdb"]["proxies"] = max(data["fdb"]["proxies"], 2)
        knobs.tell("proxies", data["fdb"]["proxies"])
        late["to"] = f"proxy{data['fdb']['proxies']}"
        data["faults"] = [
            {**late, "from_ms": at_ms, "delay_ms": die.between(*LATE_POLLS) * POLL_MS}
            for at_ms in range(lease_ms, (OLD_LOAD - 1) * lease_ms, LATE_POLLS[1] * POLL_MS)
        ]
        return
    for one in data["migration"]:
        one["at_ms"] = EARLY * lease_ms
    cut = _fault("cut off", data["fdb"]["storages"], lease_ms, 2 * lease_ms)
    late |= {"from_ms": 0, "delay_ms": LATE_COMMIT * lease_ms}
    data["faults"] = [late, cut | {"from_ms": EARLY * lease_ms}]


def _leased(knobs: Knobs, data: Table, lease_ms: int, load_ms: int) -> None:
    """One table, quick messages, a calm store, and a lease of that length."""
    store = data["fdb"]
    data["strategy"]["lease_ms"] = lease_ms
    knobs.drop(data["strategy"], "drift_percent", "renew_percent", "schema_replicas")
    store["storages"], store["replicas"] = max(store["storages"], 2), 1
    for key in ("window_ms", "commit_timeout_ms", "request_ms"):
        store[key] = max(store[key], load_ms)
    data["run"]["load_ms"] = load_ms
    data["clocks"] = {"max_skew_ms": 0, "drift_ppm": 0}
    data["network"] = {"latency_ms": 0.5, "client_latency_ms": 0.2}
    data["schema"] = {"sql": SCHEMA}
    knobs.tell("faults of machines", OFF)
    knobs.tell("load", load_ms)


def _statements(node: str, lease_ms: int, first: int) -> Table:
    """Statements on one table, one as soon as the one before has ended; `first`: its default."""
    values = range(first, first + STATEMENTS)
    made = ";\n".join(f"ALTER TABLE a ALTER COLUMN v SET DEFAULT {n}" for n in values)
    return {"node": node, "at_ms": lease_ms * 1.1, "every_ms": 1, "sql": made}


def _writers() -> Table:
    """Clients that write rows of that table, each write a transaction of its own."""
    writers: Table = {"name": "mixed", "clients": 6, "operations": 300, "keys": 1_000}
    writers |= {"implicit": 1.0, "retries": 0, "tables": ["a"], "transaction_operations": 1}
    writers |= {"pause_ms": [0, 4], "rollback": 0.0, "fresh": 0.0}
    return writers | {**swarm_work.NEITHER, "put": 1}


def _open(lease_ms: int) -> Table:
    """A client whose transactions write, rest and write again, one after the other."""
    holder: Table = {"name": "mixed", "clients": 1, "operations": 60, "keys": 1_000}
    holder |= {"implicit": 0.0, "retries": 0, "tables": ["a"], "long": 1.0, "rollback": 0.0}
    holder |= {"long_operations": [2, 3], "long_gap_ms": [part * lease_ms for part in OPEN]}
    holder |= {"pause_ms": [0, 4], "fresh": 0.0}
    return holder | {**swarm_work.NEITHER, "put": 1}


def _fault(how: str, storages: int, lease_ms: int, for_ms: int) -> Table:
    """From the first lease on: the last storage server, which has the schema, is not reached; or
    what it answers comes late."""
    schema = f"storage{storages}"
    if how == "late":
        fault: Table = {"name": "late_message", "kind": "got", "count": 1_000}
        fault |= {"sender": schema, "to": NODE, "from_ms": lease_ms}
        return {**fault, "delay_ms": round(LATE * lease_ms)}
    cut: Table = {"name": "partition", "shape": "link", "node": NODE, "side": [schema]}
    return {**cut, "from_ms": lease_ms, "for_ms": for_ms}
