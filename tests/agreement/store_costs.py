"""Sections 6.2 and 6.6 on a key-value store: latencies of statements, reads of the schema, queues.

Delays are constants, so that a statement's latency is one number: its own transaction, and what its
design waits for. Reads of the schema are counted in runs that read nothing else.
"""

from functools import partial
from typing import Final, NamedTuple

import numpy as np

from ddlsim.analysis.formula import store_forms as store
from ddlsim.analysis.formula.design_forms import (
    UPDATE_READS,
    Commits,
    Readers,
    reads_per_ms,
    statement_ms,
)
from ddlsim.analysis.formula.wait_model import Ends
from ddlsim.analysis.stats import intervals
from ddlsim.cluster.designs import declared
from ddlsim.history.events import DdlDecided, Invoked, Ok, SchemaResolved, TxBegan
from ddlsim.history.history import History
from ddlsim.history.world_events import MessageSent
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import read as read_scenario
from ddlsim.units import US_PER_MS
from tests.agreement.base import Line, Setup, measured

WAY_MS: Final = 1.0
CLIENT_MS: Final = 0.5
RTT_MS: Final = 2 * WAY_MS
BATCHES_MS: Final = 1.5
"""Half a millisecond for read versions, one for commits."""
READ_VERSION_MS: Final = 2 * RTT_MS + 0.5
LEASE_MS: Final = 300
DRIFT: Final = 0.1
IDLE_MS: Final = 20
"""So often a store without commits begins an empty one, to move its version on."""
LAG_MS: Final = IDLE_MS + 4 * RTT_MS
"""How old a read version may be: an empty commit is under way for four round trips."""
DISTANCE_MS: Final = 400
WINDOW_MS: Final = 500
FAR_MS: Final = 900
"""C11 counts from the read version, and must be longer than the window."""
POLL_MS: Final = 50
STATEMENTS: Final = 2
PAUSE_MS: Final = 1_300
"""Between statements: longer than any of them takes."""
ONE_COMMIT: Final = (
    "c1_schema", "c1b_version", "c1c_replicas", "c2_watch", "c2b_poll", "c3_copies", "c3b_versions",
    "c4_session", "c7_ss_local", "c12_grv", "c12_at_start", "c13_past", "c15_known_bug", "c16_safe",
)  # fmt: skip
WAITING: Final = (
    "c5_lease", "c6_f1", "c8_future_rv", "c9_future_cv", "c10_two_cutoffs", "c11_future_conflict",
    "c14_modes",
)  # fmt: skip
NUMBERS: Final = f"""
lease_ms = {LEASE_MS}
drift_percent = {round(100 * DRIFT)}
distance_ms = {{distance}}
poll_ms = {POLL_MS}
"""


# --- 6.2 ------------------------------------------------------------------------------------------


def statements(strategy: str) -> Setup:
    """One client that adds columns, each well after the one before."""
    distance = FAR_MS if strategy.startswith("c11") else DISTANCE_MS
    made = "".join(
        f'[[migration]]\nnode = "n1"\nat_ms = {PAUSE_MS * (1 + number)}\n'
        f'sql = "ALTER TABLE a ADD COLUMN c{number} INT"\n'
        for number in range(STATEMENTS)
    )
    return Setup(f"""
[strategy]
name = "{strategy}"
{NUMBERS.format(distance=distance)}
{_plane(nodes=3)}
[run]
load_ms = {PAUSE_MS * (1 + STATEMENTS)}
drain_ms = 60_000
{made}
""")


def _plane(*, nodes: int, read_us: int = 0) -> str:
    return f"""
[protocol]
preset = "ignite3_tests"
[cluster]
plane = "fdb"
nodes = {nodes}
[fdb]
window_ms = {WINDOW_MS}
idle_commit_ms = {IDLE_MS}
storage_read_us = {read_us}
local_keys = true
past_read_conflicts = true
future_write_conflicts = true
[network]
latency_ms = {WAY_MS}
client_latency_ms = {CLIENT_MS}
[schema]
sql = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"
"""


def latencies(history: History) -> list[float]:
    """The latency of every statement, in ms."""
    begun = {one.op: one.at_us for one in history.of(Invoked) if one.kind == "ddl"}
    installed = {one.op for one in history.of(DdlDecided) if one.outcome == "installed"}
    return [
        (one.at_us - begun[one.op]) / US_PER_MS for one in history.of(Ok) if one.op in installed
    ]


def of_statements(strategy: str, runs: list[list[float]]) -> Line:
    """The mean latency of a statement, beside its closed form."""
    each = np.array([np.mean(run) for run in runs])
    low, high = (each.min(), each.max())
    least, most = by_formula(strategy)
    return Line({"design": strategy}, "DDL latency, ms", float(each.mean()), float(low),
                float(high), Ends(least, most), 2)  # fmt: skip


def rules_of(strategy: str) -> dict[str, str]:
    """What the header of a design says of its fields, with the numbers of these experiments."""
    return declared(plan(read_scenario(statements(strategy).text, "agreement"), 0)).rules


def by_formula(strategy: str) -> tuple[float, float]:
    """6.2 of a design: the least and the most."""
    commit = [
        float(store.one_commit(WAY_MS, client=client, batches=BATCHES_MS, reads=reads))
        for client, reads in ((CLIENT_MS, 1), (CLIENT_MS, 2), (0, 0))
    ]
    own = Commits(*commit, READ_VERSION_MS, RTT_MS, LAG_MS, WINDOW_MS, CLIENT_MS)
    found = statement_ms(rules_of(strategy), own)
    assert found is not None, f"6.2 has no form for {strategy}"
    return float(found[0]), float(found[1])


# --- 6.6 ------------------------------------------------------------------------------------------

CLIENTS_OF_LOAD: Final = (4, 16)
CHANGES_EVERY_MS: Final = (100, 400)
LOAD_MS: Final = 2_000
SCHEMA_SERVER_READS: Final = ("get", "get-range")
READERS: Final = (
    "c1_schema", "c1b_version", "c3b_versions", "c5_lease", "c9_future_cv", "c12_grv", "c13_past",
)  # fmt: skip
PROCESSES: Final = 4


class Reads(NamedTuple):
    """One run: requests for the schema, transactions, changes, span in ms."""

    requests: int
    transactions: int
    changes: int
    span_ms: float


def loaded(strategy: str, clients: int, every_ms: int, read_us: int = 0) -> Setup:
    """Blind writes, one for each transaction, so that they read nothing but the schema."""
    defaults = ";\n".join(
        f"ALTER TABLE a ALTER COLUMN v SET DEFAULT {n}" for n in range(LOAD_MS // every_ms)
    )
    return Setup(
        f"""
[strategy]
name = "{strategy}"
{NUMBERS.format(distance=DISTANCE_MS) if strategy != "c13_past" else f"poll_ms = {POLL_MS}"}
{_plane(nodes=PROCESSES, read_us=read_us)}
[run]
load_ms = {LOAD_MS}
drain_ms = 60_000
[[workload]]
name = "mixed"
clients = {clients}
operations = 2000
transaction_operations = 1
pause_ms = [0, 60]
implicit = 1.0
rollback = 0.0
get = 0
put = 1
delete = 0
scan = 0
select = 0
keys = 20000
[[migration]]
node = "n1"
at_ms = 50
every_ms = {every_ms}
sql = \"\"\"
{defaults}
\"\"\"
""",
        trace=True,
    )


def reads(history: History) -> Reads:
    """Requests for the schema, the only reads of a run, and what the formulas count them by."""
    sent = sum(one.kind in SCHEMA_SERVER_READS for one in history.of(MessageSent))
    changes = sum(one.outcome == "installed" for one in history.of(DdlDecided))
    return Reads(sent, len(history.of(TxBegan)), changes, history.end_us / US_PER_MS)


def by_rates(strategy: str, runs: list[Reads]) -> tuple[float, float]:
    """6.6 of a design in requests per ms: (least, most), by its measured rates."""
    total_ms = sum(run.span_ms for run in runs)
    rate = sum(run.transactions for run in runs) / total_ms
    changes = sum(run.changes for run in runs) / total_ms
    read_ms = READ_VERSION_MS + UPDATE_READS * RTT_MS
    text = loaded(strategy, 1, CHANGES_EVERY_MS[0]).text
    rules = declared(plan(read_scenario(text, "agreement"), 0)).rules
    found = reads_per_ms(rules, Readers(rate, changes, PROCESSES, read_ms, RTT_MS, WINDOW_MS))
    assert found is not None, f"6.6 has no form for {strategy}"
    return found


def of_reads(strategy: str, clients: int, every_ms: int, runs: list[Reads]) -> Line:
    """Requests for the schema per second."""
    low, high = intervals.rate_interval(
        np.array([run.requests for run in runs], dtype=np.float64),
        np.array([run.span_ms for run in runs]),
    )
    mean = sum(run.requests for run in runs) / sum(run.span_ms for run in runs)
    cell = {"design": strategy, "clients": clients, "every_ms": every_ms}
    bracket = Ends(*(1000 * end for end in by_rates(strategy, runs)))
    return Line(cell, "reads of the schema per s", 1000 * mean, 1000 * float(low),
                1000 * float(high), bracket, 7)  # fmt: skip


READ_US: Final = 4_000
QUEUES: Final = (2, 4, 6)
"""Clients; the busiest server of them is used to nearly 9 parts of 10."""


def waits(history: History) -> tuple[float, int, float]:
    """(the sum of the times to read the version key in ms, how many, transactions per ms)."""
    looks = [one for one in history.of(SchemaResolved) if one.purpose == "enlist"]
    waited = sum(one.waited_us for one in looks) / US_PER_MS
    return waited, len(looks), len(looks) / (history.end_us / US_PER_MS)


def of_queue(clients: int, runs: list[tuple[float, int, float]]) -> Line:
    """C1b: what it takes to read a key whose server is nearly busy."""
    rate = float(np.mean([run[2] for run in runs]))
    least, most = store.queued(rate, READ_US / US_PER_MS)
    low, high = intervals.ratio_interval(
        np.array([run[0] for run in runs]), np.array([run[1] for run in runs], dtype=np.float64)
    )
    mean = sum(run[0] for run in runs) / sum(run[1] for run in runs)
    cell = {"design": "c1b_version", "clients": clients,
            "busy": round(float(store.busy(rate, READ_US / US_PER_MS)), 3)}  # fmt: skip
    return Line(cell, "time to read the version key, ms", mean, float(low), float(high),
                Ends(RTT_MS + float(least), RTT_MS + float(most)), 7)  # fmt: skip


def lines(seeds: range, *, quick: bool = False, jobs: int | None = None) -> list[Line]:
    """Every cell of the experiments; `quick` takes a few."""
    designs = (*ONE_COMMIT[:1], *WAITING) if quick else (*ONE_COMMIT, *WAITING)
    few = range(seeds.start, seeds.start + 2)
    told = measured([statements(name) for name in designs], few, latencies, jobs)
    found = [of_statements(name, own) for name, own in zip(designs, told, strict=True)]
    cells = [
        (name, clients, every)
        for name in (("c1b_version", "c12_grv") if quick else READERS)
        for clients in CLIENTS_OF_LOAD[: 1 if quick else None]
        for every in CHANGES_EVERY_MS[: 1 if quick else None]
    ]
    read = measured([partial(_loaded, *cell) for cell in cells], seeds, reads, jobs)
    found += [of_reads(*cell, own) for cell, own in zip(cells, read, strict=True)]
    counts = QUEUES[1:2] if quick else QUEUES
    queues = [loaded("c1b_version", clients, LOAD_MS, READ_US) for clients in counts]
    waited = measured(queues, seeds, waits, jobs)
    return found + [of_queue(clients, own) for clients, own in zip(counts, waited, strict=True)]


def _loaded(name: str, clients: int, every_ms: int, seed: int) -> Setup:
    del seed
    return loaded(name, clients, every_ms)
