"""The closed forms of the catalogue beside the numbers of a line: 6.1, 6.2, 6.3 and 6.6.

Which of them is a design's: `protocol_forms`, `design_forms`.

Rates and lengths are those that were measured in the same runs; settings and delays are those of
the scenario. A form has a least and a most, for what it leaves out: it knows of no faults, and of
no statements that wait for each other. A number whose interval does not meet them is outside.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ddlsim.analysis.compare import crossings
from ddlsim.analysis.compare.measured import NOT_LOST, Measured, measured
from ddlsim.analysis.compare.records import Formula, Value
from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula import design_forms, lock_forms, protocol_forms
from ddlsim.analysis.formula import store_forms as store
from ddlsim.analysis.formula.by_formula import Forms
from ddlsim.analysis.formula.comparison import CLOCK_MS
from ddlsim.analysis.stats.intervals import meets
from ddlsim.cluster.fdb_cluster import schema_servers
from ddlsim.fdb.settings import FdbSettings
from ddlsim.scenario.scenario import Scenario
from ddlsim.units import US_PER_MS
from ddlsim.verify.row import RunRow

Array = NDArray[np.float64]
MS_PER_S: Final = 1_000
DRAWN: Final = 4_000
"""Statements in a sample of latencies."""
DEALT: Final = 2
"""What takes several messages at a time (logs, resolvers) takes as long as the slower of two."""
LEGS: Final = 7
"""Round trips of a statement besides its reads: two for its read version, five for its commit."""
HALF: Final = 0.5
TAIL: Final = 0.99
BUCKET: Final = 0.008
"""Quantiles of runs are within so much of their durations."""
CLIENTS_AT_ONCE: Final = 2
"""So many clients of a process may wait for its first schema."""


# --- the forms of a design -----------------------------------------------------------------------


def by_formula(scenario: Scenario, rows: Sequence[RunRow]) -> dict[str, Callable[[Value], Formula]]:
    """The closed forms of a design by the key of the number that each is of: compared with it."""
    if not rows:
        return {}
    world, took = Forms(scenario), measured(rows)
    if not world.simple:
        return {}
    found = _of_store(world, took) if world.design.plane == "fdb" else _of_protocol(world, took)
    return {key: _beside(section, ends) for key, (section, ends) in found.items() if ends}


Found = dict[str, tuple[str, tuple[float, float] | None]]


def _beside(section: str, ends: tuple[float, float]) -> Callable[[Value], Formula]:
    least, most = sorted(round(float(one), 6) for one in ends)

    def beside(value: Value) -> Formula:
        if value.value is None:
            return Formula(section, least, most, None)
        low = value.value if value.low is None else value.low
        high = inf if value.high is None else value.high
        return Formula(section, least, most, meets(least, most, value.value, low, high))

    return beside


# --- the Ignite plane ----------------------------------------------------------------------------

HOLDS_THE_LOG: Final = "learner_lag"
DIRECT: Final = "direct"
"""The plan in which every statement is one step."""


def _of_protocol(world: Forms, took: Measured) -> Found:
    rules = world.design.rules
    found: Found = {"dml_added_mean": ("6.1, 6.7", _added(world, took))}
    sample = _of_statement(world, took)
    if sample is not None:
        found |= _latencies(world, sample, CLOCK_MS)
    kind = protocol_forms.crossing(rules)
    if kind is not None:
        found["schema_aborts"] = ("6.3", crossings.schema_aborts(world, took, kind))
    return found


def _added(world: Forms, took: Measured) -> tuple[float, float] | None:
    """6.1: what look-ups wait, for each operation. Only the first of a transaction and table comes
    at any time. Those behind it wait less where DD covers the delay of a command, and nearly H
    longer than that where it does not (A5, A6): each begins as a command has just come. Requests
    that are sent again cost one more round trip for each client and change; a node whose log is
    held freezes each client once at most."""
    sent = took.changes * _clients(world.scenario) * 2 * float(world.client_delays.mean())
    sent /= max(took.succeeded, 1)
    if protocol_forms.looks_up_at_once(world.design.rules):
        return 0.0, sent
    if world.slack is None:
        return None
    model = world.wait(took.per_ms)
    if model is None or not took.succeeded:
        return None
    least = model.mean(world.slack + CLOCK_MS).unordered * took.enlisted / took.succeeded
    slack = world.slack - CLOCK_MS
    first = model.mean(slack).ordered
    again = max(first, model.mean_again(slack, world.h))
    most = (first * took.enlisted + again * (took.looks - took.enlisted)) / took.succeeded
    frozen = _frozen(world) * took.runs / took.succeeded
    return least, most + sent + frozen


def _frozen(world: Forms) -> float:
    """6.7: for how long faults that hold a node's log freeze all clients of a run together."""
    held = (one for one in world.scenario.table.faults if one.get("name") == HOLDS_THE_LOG)
    pd = 3 * float(world.delays.mean())
    each = (
        float(forms.mean_frozen(float(one.get("for_ms", 0)), pd, world.slack or 0, world.h))
        for one in held
    )
    return _clients(world.scenario) * sum(each)


def _clients(scenario: Scenario) -> int:
    return sum(int(one.get("clients", 1)) for one in scenario.table.workload)


def _of_statement(world: Forms, took: Measured) -> tuple[Array, Array] | None:
    """6.2 of A5 to A8; of B16 behind those that use the table, least if none came meanwhile."""
    latency = world.ddl_latency()
    if latency is None or not world.waits_for_users:
        return None if latency is None else (latency, latency)
    nodes = len(world.scenario.nodes)
    least, most = _waits(
        world, took, len(latency),
        (lock_forms.waits, lambda *own: lock_forms.waits_without_a_queue(own[0], nodes, *own[1:])),
    )  # fmt: skip
    look_ms = world.plan.nodes[0].settings["retry_ms"]
    asked = 4 * float(world.delays.mean())
    return latency + least, latency + most + (most > 0) * look_ms + asked


Waits = Callable[[lock_forms.Users, np.random.Generator, int], Array]


def _waits(world: Forms, took: Measured, size: int, kinds: Sequence[Waits]) -> list[Array]:
    """Samples of waits for those that use what a statement changes: tables as often as measured."""
    clients, dice = _clients(world.scenario), np.random.default_rng(2)
    weights = {table: rate for table, (rate, _, _) in took.exponents.items() if rate}
    rates = np.array([*weights.values()])
    places = dice.choice(len(weights), size, p=rates / rates.sum()) if weights else np.zeros(size)
    found = [np.zeros(size) for _ in kinds]
    for place, table in enumerate(weights):
        mine = places == place
        share, holds = took.holds[table]
        users = lock_forms.Users(holds, min(share / clients, 1.0), clients)
        for sample, kind in zip(found, kinds, strict=True):
            sample[mine] = kind(users, dice, int(mine.sum()))
    return found


def _latencies(world: Forms, ends: tuple[Array, Array], clock_ms: float) -> Found:
    """The median and the 99th percentile of samples, with a bucket both ways; a fault may hold up
    one of a hundred statements for as long as it lasts."""
    held = max((float(one.get("for_ms", 0)) for one in world.scenario.table.faults), default=0.0)
    found: Found = {}
    for key, share, more in (("ddl_p50", HALF, 0.0), ("ddl_p99", TAIL, held)):
        least, most = (float(np.quantile(one, share)) for one in ends)
        found[key] = (
            "6.2",
            (least * (1 - BUCKET) - clock_ms, (most + more) * (1 + BUCKET) + clock_ms),
        )
    return found


# --- the store -----------------------------------------------------------------------------------


def _of_store(world: Forms, took: Measured) -> Found:
    rules, settings = world.design.rules, _settings(world)
    found = _store_latencies(world, took, settings)
    way = float(world.delays.mean())
    version = 4 * way + settings.grv_batch_us / US_PER_MS
    processes = len(world.scenario.nodes)

    def reads(span_ms: float) -> tuple[float, float] | None:
        own = design_forms.Readers(
            took.readers / span_ms, took.changes / span_ms, processes,
            version + design_forms.UPDATE_READS * 2 * way, 2 * way, settings.window_ms,
        )  # fmt: skip
        ends = design_forms.reads_per_ms(rules, own)
        return None if ends is None else (ends[0] * span_ms, ends[1] * span_ms)

    asked = rules["read_schema"] in design_forms.IN_FORCE  # while there is load
    whole = reads(took.load_ms if asked else took.simulated_ms)
    for key, of in (("reads_per_transaction", took.committed), ("reads_per_ddl", took.statements)):
        if whole is not None and of:
            found[key] = ("6.6", (whole[0] / of, whole[1] / of))
    loaded = reads(took.load_ms)
    if loaded is not None:
        each = _of_the_hottest(world, took, loaded)
        found["schema_hottest_per_s"] = ("6.6", each)
    again = version + design_forms.UPDATE_READS * 2 * way
    found["schema_aborts"] = ("6.3", _conflicts(rules, took, 2 * way + CLOCK_MS, again, processes))
    if whole is not None and took.succeeded:
        found["dml_added_mean"] = (
            "6.6",
            _read_for(rules, took, whole[1], (way, version), processes),
        )
    return found


def _read_for(
    rules: Mapping[str, str],
    took: Measured,
    most: float,
    times: tuple[float, float],
    processes: int,
) -> tuple[float, float]:
    """One round trip for each read that an operation waits for, of (a message, a read version) in
    ms: those of each transaction, and at most all; where the schema is kept and read in the
    background, the first of each process, and those behind failures."""
    way, version = times
    own = design_forms.waits_in_each(rules)
    each = 2 * way
    if rules["read_schema"] == design_forms.KEPT:
        again = rules["after_failure"] != "keep_the_schema"
        most = most if again else float(CLIENTS_AT_ONCE * processes * design_forms.UPDATE_READS)
        return 0.0, most * (each + version / design_forms.UPDATE_READS) / took.succeeded
    most = max(most, own * took.readers)
    return own * took.committed * each / took.succeeded, most * each / took.succeeded


def _of_the_hottest(
    world: Forms, took: Measured, reads: tuple[float, float]
) -> tuple[float, float]:
    """Reads per s of the busiest server: of copies on several, each has its part."""
    rules = world.design.rules
    servers = min(len(schema_servers(world.plan)), design_forms.copies_of(rules))
    own = took.readers * design_forms.in_each(rules)
    spread = own * (1 - 1 / max(servers, 1))
    least, most = ((one - spread) / took.load_ms * MS_PER_S for one in reads)
    return least, most


def _conflicts(
    rules: Mapping[str, str], took: Measured, read_ms: float, again_ms: float, processes: int
) -> tuple[float, float] | None:
    """6.3: 1 - e^(-lambda (cv - rv)) of what conflicts; the span is known up to a read.

    Least: of those that committed, which are the shorter ones; most: of all attempts, whatever
    became of them, since 1 - E[e^(-lambda L)] is 1 - e^(-lambda E[L]) at most. Both with those that
    met a newer row, or asked for what was not there, which the form leaves out: all spans are those
    of the others at most.

    C13's is lambda (cv - v0). v0 lies before a change until the process has read the schema again,
    which takes `again_ms`: behind a poll, or behind the first of its transactions that fails by the
    change. That one is open at the change, or begins later by the mean time between transactions of
    a process; it lasts a span, as others do.
    """
    kind = design_forms.conflicts_with(rules)
    if kind is None:
        return None
    missed = (took.missed + took.newer) / max(took.attempts, 1)
    if kind == "nothing":
        return missed, missed
    rate = took.in_load / took.load_ms
    least, most = rate * took.span_ms, rate * took.whole_ms
    if kind == "tables":
        least, most = _of_tables(took)
        rate = max((lam for lam, _, _ in took.exponents.values()), default=0.0)
    most /= max(1 - missed, 1 / max(took.attempts, 1))
    older = 0.0
    if kind == "since_read":
        apart_ms = processes * took.load_ms / max(took.attempts, 1)
        older = rate * (min(float(rules["poll_ms"]), apart_ms) + took.span_ms + again_ms)
        most = least
    ends = least - rate * read_ms, max(least, most) + older + rate * read_ms
    least, most = (missed + (1 - missed) * _share(one) for one in ends)
    return least, most


def _of_tables(took: Measured) -> tuple[float, float]:
    """The exponents of changes of the tables that were used: of committed ones, and of all."""
    least = sum(lam * (using + tail) for lam, using, tail in took.exponents.values())
    most = 0.0
    for table, (lam, using, tail) in took.exponents.items():
        lost = sum(each.get(table, NOT_LOST).whole_us for each in (took.outdates, took.lost))
        most += lam * ((using + tail) * took.users + lost / US_PER_MS)
    return least, most / max(took.attempts, 1)


def _share(exponent: float) -> float:
    return float(store.changed_within(max(exponent, 0.0), 1.0))


def _store_latencies(world: Forms, took: Measured, settings: FdbSettings) -> Found:
    """6.2, of samples. Least: each leg takes as long as one message; most: as long as the slower of
    two. Designs that take indexes through states have no form of the tail, where these are."""
    batches = (settings.grv_batch_us + settings.commit_batch_us) / US_PER_MS
    rules = world.design.rules
    used: Array | float = 0.0
    if design_forms.waits_for_users(rules):
        queued = rules["exclude"] == design_forms.QUEUED
        limit = float(rules["lock_timeout_ms" if queued else "lease_ms"])
        (used,) = _waits(
            world, took, DRAWN, (lambda of, dice, size: lock_forms.waits(of, dice, size, limit),)
        )  # fmt: skip

    def commits(dealt: int) -> design_forms.Commits:
        dice = np.random.default_rng(dealt)

        def way(legs: int) -> Array:
            drawn = dice.choice(world.delays, (2 * legs, dealt, DRAWN)).max(axis=1)
            return np.asarray(drawn.mean(axis=0))

        client = dice.choice(world.client_delays, (2, DRAWN)).mean(axis=0)
        one, two, own = (
            store.one_commit(way(LEGS + reads), client=at, batches=batches, reads=reads)
            for reads, at in ((1, client), (2, client), (0, 0.0))
        )
        version = 4 * way(2) + settings.grv_batch_us / US_PER_MS
        lag = 8 * float(world.delays.mean())
        return design_forms.Commits(
            one, two, own, version, 2 * way(1), lag, settings.window_ms, client, used
        )

    ends = [design_forms.statement_ms(rules, commits(dealt)) for dealt in (1, DEALT)]
    if ends[0] is None or ends[1] is None:
        return {}
    found = _latencies(world, (ends[0][0], ends[1][1]), 0.0)
    return found if rules["plan"] == DIRECT else {"ddl_p50": found["ddl_p50"]}


def _settings(world: Forms) -> FdbSettings:
    own = world.plan.store
    assert own is not None, "these are scenarios of the store"
    return FdbSettings(**own.settings)
