"""Experiment 8 and section 6.3 on a key-value store: aborts, and commits under a stale schema.

Statements come as a Poisson process per table, transactions from many clients that pause, over so
many rows that they do not meet. Rates and spans (from the read version to the commit version) are
measured; the bracket leaves room for what the formula has not: how long a read of the schema takes,
and batches.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula import store_forms as store
from ddlsim.analysis.formula.comparison import CLOCK_MS
from ddlsim.analysis.formula.wait_model import Ends
from ddlsim.analysis.stats import intervals, measures
from ddlsim.history.events import TxAborted, TxBegan, TxCommitted, UpdateLogged
from ddlsim.history.history import History
from ddlsim.model.reasons import Reason
from ddlsim.units import US_PER_MS
from ddlsim.verify.prices import covered_us
from tests.agreement.base import Line, Setup, measured

TABLES: Final = ("a", "b")
NODES: Final = 4
CLIENTS: Final = 16
WAY_MS: Final = 1.0
READ_MS: Final = 4 * WAY_MS + 1
"""A read version and a read of the head, at least."""
LOAD_MS: Final = 4_000
DICE: Final = 98_115
EVERY_MS: Final = (1_600.0, 400.0, 100.0)
"""The mean time between statements on one table."""
OWN_TABLE, STORE = 1, len(TABLES)
"""Of how many tables the changes conflict."""
EXACT: Final = {
    "c1_schema": STORE,
    "c1b_version": STORE,
    "c3b_versions": STORE,
    "c7_ss_local": STORE,
    "c12_grv": STORE,
    "c16_safe": STORE,
    "c16_tables": OWN_TABLE,
}
"""Designs that abort what a change crosses."""
POLLED: Final = ("c2b_poll", "c15_known_bug")
POLLS_MS: Final = (50, 200, 800)
UNFENCED: Final = ("c12_at_start", "c9_future_cv")
DISTANCE_MS: Final = 200
FOREVER: Final = 1e9
UNAWARE: Final = 'settle = "at_once"'
"""The closed forms of C15 have a process that learns nothing of its own statements either."""


class Crossed(NamedTuple):
    """One run: attempts and what became of them, commits, and their spans in ms."""

    attempts: int
    outdated: int
    committed: int
    stale: int
    updates: int
    span_ms: float


def crossed(history: History) -> Crossed:
    """What changes of the schema made of the transactions of clients."""
    begun = {event.tx: event for event in history.of(TxBegan)}
    reasons = [event.reason for event in history.of(TxAborted) if event.tx in begun]
    commits = [event for event in history.of(TxCommitted) if event.tx in begun]
    stale = list(measures.staleness(history))
    spans = [sum(both) for both in zip(*measures.spans(history), strict=True)]
    return Crossed(
        len(begun),
        reasons.count(Reason.SCHEMA_CONFLICT.name),
        len(commits),
        sum(us > 0 for us in stale),
        sum(event.op is not None for event in history.of(UpdateLogged)),
        float(np.mean(spans)) / US_PER_MS if spans else 0.0,
    )


def world(strategy: str, every_ms: float, seed: int, *, load: str = "") -> Setup:
    """Two tables, transactions of one of them, statements at Poisson instants."""
    return Setup(f"""
[strategy]
{strategy}
[protocol]
preset = "ignite3_tests"
ddl_attempts = 1000
[cluster]
plane = "fdb"
nodes = {NODES}
[fdb]
local_keys = true
past_read_conflicts = true
[network]
latency_ms = {WAY_MS}
client_latency_ms = 0.5
[run]
load_ms = {LOAD_MS}
drain_ms = 60000
[schema]
sql = "CREATE TABLE a (id INT PRIMARY KEY, v INT); CREATE TABLE b (id INT PRIMARY KEY, v INT)"
[[workload]]
name = "mixed"
clients = {CLIENTS}
operations = 120
transaction_operations = 4
transaction_tables = 1
pause_ms = [0, 200]
gap_ms = 5
implicit = 0.0
rollback = 0.0
retries = 0
get = 1
put = 1
delete = 0
scan = 0
select = 0
keys = 20000
{load}
{_migrations(every_ms, seed)}
""")


def _migrations(every_ms: float, seed: int) -> str:
    made = []
    for number, table in enumerate(TABLES):
        dice = np.random.default_rng([DICE, seed, number, round(every_ms)])
        at, count = 0.0, 0
        while (at := at + float(dice.exponential(every_ms))) < LOAD_MS - 1:
            count += 1
            made.append(
                f'[[migration]]\nnode = "n{1 + count % NODES}"\nat_ms = {at:.1f}\n'
                f'sql = "ALTER TABLE {table} ALTER COLUMN v SET DEFAULT {count}"\n'
            )
    return "".join(made)


# --- lines ----------------------------------------------------------------------------------------


def lines(seeds: range, *, quick: bool = False, jobs: int | None = None) -> list[Line]:
    """Every cell of the experiments; `quick` takes a few."""
    paces = EVERY_MS[1:2] if quick else EVERY_MS
    designs = ("c12_grv", "c16_tables") if quick else tuple(EXACT)
    fenced = [(name, every) for name in designs for every in paces]
    polls = POLLS_MS[1:2] if quick else POLLS_MS
    kept = [(name, every, poll) for name in POLLED for every in paces for poll in polls]
    open_ones = [(name, every) for name in UNFENCED for every in paces]
    worlds = [
        *(partial(world, f'name = "{name}"', every) for name, every in fenced),
        *(partial(_polled, *cell) for cell in kept),
        *(partial(_unfenced, *cell) for cell in open_ones),
    ]
    runs = iter(measured(worlds, seeds, crossed, jobs))
    found: list[Line] = []
    for cell in fenced:
        own = next(runs)
        found += [aborts(*cell, own), restarts(*cell, own)]
    found += [stale(*cell, next(runs)) for cell in kept]
    found += [crossing(*cell, next(runs)) for cell in open_ones]
    (met,) = measured([until_conflict], seeds, noticed, jobs)
    return [*found, until_a_conflict(met)]


def _polled(name: str, every_ms: float, poll_ms: int, seed: int) -> Setup:
    strategy = f'name = "{name}"\n{UNAWARE}\nbackground = "poll_the_head"\npoll_ms = {poll_ms}'
    return world(strategy, every_ms, seed)


def _unfenced(name: str, every_ms: float, seed: int) -> Setup:
    distance = f"\ndistance_ms = {DISTANCE_MS}" if name.startswith("c9") else ""
    return world(f'name = "{name}"{distance}', every_ms, seed)


def aborts(name: str, every_ms: float, runs: list[Crossed]) -> Line:
    """6.3: the share of attempts that a change crosses, which conflict."""
    lam, span = EXACT[name] * _changes(runs), _span(runs)
    slack = CLOCK_MS + READ_MS
    bracket = [float(store.changed_within(lam, span + more)) for more in (-slack, slack)]
    cell = {"design": name, "every_ms": every_ms, "lambda_span": round(lam * span, 5)}
    return _share(cell, "schema abort rate", runs, _outdated, _attempts, bracket)


def restarts(name: str, every_ms: float, runs: list[Crossed]) -> Line:
    """6.4: attempts for each that no change has crossed."""
    lam, span = EXACT[name] * _changes(runs), _span(runs)
    slack = CLOCK_MS + READ_MS
    bracket = [float(forms.attempts(lam, span + more)) for more in (-slack, slack)]
    cell = {"design": name, "every_ms": every_ms, "lambda_span": round(lam * span, 5)}
    return _share(cell, "attempts until one commits", runs, _attempts, _uncrossed, bracket)


def stale(name: str, every_ms: float, poll_ms: int, runs: list[Crossed]) -> Line:
    """6.5: the share of commits under a schema that was replaced since it was last read.

    Before the read version where the rest conflicts (C15), else before the commit.
    """
    lam, span = _changes(runs), 0.0 if name.startswith("c15") else _span(runs)
    bracket = [
        float(store.changed_since_poll(lam, poll_ms + more, more + span)) for more in (0, READ_MS)
    ]
    cell = {"design": name, "every_ms": every_ms, "poll_ms": poll_ms}
    return _share(cell, "stale commits", runs, _stale, _committed, bracket)


def crossing(name: str, every_ms: float, runs: list[Crossed]) -> Line:
    """6.5: the share of commits that a change crosses where nothing conflicts."""
    lam, span = _changes(runs), _span(runs)
    slack = CLOCK_MS + READ_MS
    bracket = [float(store.changed_within(lam, span + more)) for more in (-slack, slack)]
    cell = {"design": name, "every_ms": every_ms, "lambda_span": round(lam * span, 5)}
    return _share(cell, "crossing commits", runs, _stale, _committed, bracket)


# --- C15: until the next conflict -----------------------------------------------------------------


class Noticed(NamedTuple):
    """One run: commits, conflicts and changes, and how long processes had an open transaction."""

    stale: int
    committed: int
    conflicts: int
    changes: int
    busy_ms: float
    whole_ms: float


def until_conflict(seed: int) -> Setup:
    """C15 that reads again after conflicts, which few rows make; indexes leave rows as they are."""
    statements = ";\n".join(
        f"{'DROP INDEX i' if number % 2 else 'CREATE INDEX i ON a (v)'}" for number in range(6)
    )
    migration = f'[[migration]]\nnode = "n1"\nat_ms = 400\nevery_ms = 600\nsql = """{statements}"""'
    strategy = f'name = "c15_recheck"\n{UNAWARE}'
    text = world(strategy, FOREVER, seed, load='tables = ["a"]').text
    text = text.replace("keys = 20000", "keys = 40").replace("operations = 120", "operations = 400")
    return Setup(text + migration)


def noticed(history: History) -> Noticed:
    """How long processes went on with a schema that was replaced."""
    begun = {event.tx: event for event in history.of(TxBegan)}
    ends = [one for one in history.of(TxAborted, TxCommitted) if one.tx in begun]
    conflicts = sum(
        type(one) is TxAborted and one.reason == Reason.TX_CONFLICT.name for one in ends
    )
    busy_us = 0
    for node in {one.node for one in ends}:
        spans = [(begun[one.tx].at_us, one.at_us) for one in ends if one.node == node]
        busy_us += covered_us(spans, 0, LOAD_MS * US_PER_MS)
    return Noticed(
        stale=sum(us > 0 for us in measures.staleness(history)),
        committed=sum(type(one) is TxCommitted for one in ends),
        conflicts=conflicts,
        changes=sum(one.op is not None for one in history.of(UpdateLogged)),
        busy_ms=busy_us / US_PER_MS,
        whole_ms=float(NODES * LOAD_MS),
    )


def until_a_conflict(runs: list[Noticed]) -> Line:
    """C15 4.: stale commits of a process for one change, (1 - u) r / kappa."""
    stale_, committed, conflicts, changes, busy, whole = (
        float(each) for each in np.array(runs, dtype=np.float64).sum(axis=0)
    )
    shares = [busy / whole, max(busy / whole - 2 * READ_MS * committed / whole, 0.0)]
    bracket = [
        stale_until_conflict(share, committed / whole, conflicts / whole) for share in shares
    ]
    low, high = intervals.rate_interval(
        np.array([run.stale for run in runs], dtype=np.float64),
        np.array([run.changes * NODES for run in runs], dtype=np.float64),
    )
    cell = {"design": "c15_recheck", "busy": round(shares[0], 3)}
    return Line(cell, "stale commits for a change", stale_ / changes / NODES, float(low),
                float(high), Ends(*bracket), 8)  # fmt: skip


def stale_until_conflict(open_share: float, rate: float, conflicts: float) -> float:
    """C15 4.: (1 - u) r / kappa stale commits of a client for one change.

    With conflicts at rate kappa, after each of which the schema is read again. A client has a
    transaction open for the share u of the time: then the change itself is the conflict.
    """
    return (1 - open_share) * rate / conflicts


Count = Callable[[Crossed], int]


def _attempts(run: Crossed) -> int:
    return run.attempts


def _uncrossed(run: Crossed) -> int:
    return run.attempts - run.outdated


def _outdated(run: Crossed) -> int:
    return run.outdated


def _committed(run: Crossed) -> int:
    return run.committed


def _stale(run: Crossed) -> int:
    return run.stale


def _changes(runs: Sequence[Crossed]) -> float:
    """The changes of one table per ms, measured."""
    return sum(run.updates for run in runs) / len(runs) / len(TABLES) / LOAD_MS


def _span(runs: Sequence[Crossed]) -> float:
    return float(np.mean([run.span_ms for run in runs]))


def _share(
    cell: dict[str, object],
    figure: str,
    runs: list[Crossed],
    above: Count,
    below: Count,
    bracket: list[float],
) -> Line:
    hits = np.array([above(run) for run in runs], dtype=np.float64)
    of = np.array([below(run) for run in runs], dtype=np.float64)
    low, high = intervals.share_interval(hits, of)
    share = float(hits.sum() / of.sum())
    return Line(cell, figure, share, float(low), float(high), Ends(*bracket), 8)
