"""The figures of a history: outcomes of its transactions, and latencies.

Everything is counted from client events; only the schema wait and the causes of aborts come from
internal ones. No wall time enters, so the figures of equal runs are equal.

*attempts*: transactions that a client began: explicit ones, retries of them, and implicit ones (an
operation outside any transaction). Each attempt is *committed*, *aborted* (for the reason that its
coordinator noted, else for the first one that the client got), *unknown* (one of its requests was
never answered, and no other answer has its outcome), or was left open. One that goes on behind an
operation that was refused (`BAD_ROW`) is what the answer to its commit says.
*schema_abort_rate*: attempts aborted for a schema reason, divided by attempts; 0 without attempts.
*ddl_latency_ms*: from the invocation of a DDL statement to its success, of those that installed a
schema version; *ddl_noop_latency_ms*: the same of those that changed nothing.
*dml_latency_ms*: from the invocation of a data operation or commit to its success.
*schema_wait_ms*: how long a node waited for its schema to be complete, per look-up [98.past.3].
*after_heal_ms*, *blocked_behind*, *needless_aborts*: what the judges of I9 and I11 measured
(sim/checkers/case/measures.py); of several runs the longest, and the sums.
*simulated_ms*, *events*: how long the run was, and how many events the kernel executed for it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import field

from ddlsim.history.events import (
    DdlDecided,
    Failed,
    Invoked,
    Ok,
    SchemaResolved,
    TxAborted,
    Unknown,
)
from ddlsim.history.history import History
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.units import US_PER_MS

DATA: Final = ("get", "put", "delete", "insert", "replace", "update", "scan", "find")
"""The kinds of operation that read or write rows."""
ENDS: Final = {"commit": "committed", "rollback": Reason.ROLLED_BACK.name}
"""What the success of an explicit end makes of a transaction."""
EXACT: Final = 256
"""Durations below it have a bucket each; above, a bucket holds those of equal leading 8 bits."""


class Durations(Record, frozen=True):
    """Durations in milliseconds: how many, how many above zero, and their spread.

    A quantile is the smallest duration that so large a share does not exceed; None where there is
    no duration at all.
    """

    count: int
    waited: int
    mean: float | None
    p50: float | None
    p99: float | None
    max: float | None


class Figures(Record, frozen=True):
    """The figures of one run, or of several taken together."""

    committed: int
    aborted: dict[str, int]
    unknown: int
    attempts: int
    schema_abort_rate: float
    simulated_ms: float
    events: int
    ddl_latency_ms: Durations
    ddl_noop_latency_ms: Durations
    dml_latency_ms: Durations
    schema_wait_ms: Durations
    after_heal_ms: float | None = None
    blocked_behind: int = 0
    needless_aborts: dict[str, int] = field(default_factory=dict)


class Buckets(Record, frozen=True):
    """Durations of one kind, small enough to be kept for every run and added up over many.

    `counts` maps a bucket's lower end in microseconds to how many fell into it; lower ends are
    within 0.8 % of the durations.
    """

    total_us: int
    max_us: int
    counts: dict[int, int]


class Samples(Record, frozen=True):
    """The durations of one run in microseconds, unsorted."""

    ddl_us: tuple[int, ...]
    ddl_noop_us: tuple[int, ...]
    dml_us: tuple[int, ...]
    wait_us: tuple[int, ...]


def figures(history: History, taken: Samples | None = None) -> Figures:
    """The figures of a history, of which `taken` are the durations if they are at hand."""
    fates = Counter(_fates(history).values())
    taken = taken or samples(history)
    aborted = {name: fates[name] for name in sorted(fates) if name not in _NOT_ABORTED}
    attempts = sum(fates.values())
    return Figures(
        committed=fates["committed"],
        aborted=aborted,
        unknown=fates["unknown"],
        attempts=attempts,
        schema_abort_rate=schema_abort_rate(aborted, attempts),
        simulated_ms=history.end_us / US_PER_MS,
        events=history.executed_events,
        ddl_latency_ms=durations(taken.ddl_us),
        ddl_noop_latency_ms=durations(taken.ddl_noop_us),
        dml_latency_ms=durations(taken.dml_us),
        schema_wait_ms=durations(taken.wait_us),
    )


def samples(history: History) -> Samples:
    """Every duration of a history."""
    begun: dict[str, Invoked] = {}
    decided: dict[str, str] = {}
    ddl_us: list[int] = []
    ddl_noop_us: list[int] = []
    dml_us: list[int] = []
    wait_us: list[int] = []
    for event in history.of(Invoked, Ok, SchemaResolved, DdlDecided):
        if type(event) is Invoked:
            begun[event.op] = event
        elif type(event) is SchemaResolved:
            wait_us.append(event.waited_us)
        elif type(event) is DdlDecided:
            decided[event.op] = event.outcome
        elif (asked := begun.get(event.op)) is not None:
            if asked.kind == "ddl":
                changed = decided.get(event.op) != "noop"
                (ddl_us if changed else ddl_noop_us).append(event.at_us - asked.at_us)
            elif asked.kind in DATA or asked.kind == "commit":
                dml_us.append(event.at_us - asked.at_us)
    return Samples(tuple(ddl_us), tuple(ddl_noop_us), tuple(dml_us), tuple(wait_us))


_NOT_ABORTED: Final = ("committed", "unknown", "open")


def _fates(history: History) -> dict[tuple[str, str], str]:
    """Every attempt, by client and name, with its outcome."""
    causes: dict[str, str] = {}
    for aborted in history.of(TxAborted):
        causes.setdefault(aborted.tx, aborted.reason)
    attempt_of: dict[str, tuple[str, str]] = {}
    kind_of: dict[str, str] = {}
    fates: dict[tuple[str, str], str] = {}
    for event in history.of(Invoked, Ok, Failed, Unknown):
        if type(event) is Invoked:
            if event.kind == "ddl":
                continue
            attempt = (event.client, event.op if event.tx is None else event.tx)
            attempt_of[event.op] = attempt
            kind_of[event.op] = "commit" if event.tx is None else event.kind
            fates.setdefault(attempt, "open")
        elif event.op in attempt_of:
            attempt = attempt_of[event.op]
            kind, cause = kind_of[event.op], causes.get(attempt[1])
            if fates[attempt] == "open" or _went_on(event, kind, cause):
                fates[attempt] = _fate(event, kind, cause)
    return fates


def _went_on(event: Ok | Failed | Unknown, kind: str, cause: str | None) -> bool:
    """Whether it ends a transaction that an operation that was refused before did not end."""
    return kind == "commit" and cause is None and not isinstance(event, Failed)


def _fate(event: Ok | Failed | Unknown, kind: str, cause: str | None) -> str:
    """The outcome of a transaction after the completion of an operation."""
    if isinstance(event, Ok):
        return ENDS.get(kind, "open")
    return "unknown" if isinstance(event, Unknown) else cause or event.reason


def schema_abort_rate(aborted: dict[str, int], attempts: int) -> float:
    """The share of attempts that were aborted for a schema reason."""
    schema = [r.name for r in Reason if r.is_schema]
    count = sum(aborted.get(name, 0) for name in schema)
    return round(count / attempts, 6) if attempts else 0.0


# --- durations ------------------------------------------------------------------------------------


def durations(taken_us: Sequence[int]) -> Durations:
    """The spread of durations that are all at hand: exact."""
    ordered = sorted(taken_us)
    count = len(ordered)
    if not count:
        return Durations(0, 0, None, None, None, None)
    p50, p99 = (ordered[_rank(percent, count)] for percent in (50, 99))
    return Durations(
        count=count,
        waited=sum(taken > 0 for taken in ordered),
        mean=_ms(sum(ordered) / count),
        p50=_ms(p50),
        p99=_ms(p99),
        max=_ms(ordered[-1]),
    )


def bucketed(taken_us: Iterable[int]) -> Buckets:
    """Durations put into buckets."""
    counts: Counter[int] = Counter()
    total = longest = 0
    for taken in taken_us:
        counts[_lower_end(taken)] += 1
        total += taken
        longest = max(longest, taken)
    return Buckets(total, longest, dict(sorted(counts.items())))


def pooled(many: Iterable[Buckets]) -> Durations:
    """The spread of many runs' durations; quantiles within 0.8 %, the rest exact."""
    counts: Counter[int] = Counter()
    total = longest = 0
    for buckets in many:
        counts.update(buckets.counts)
        total += buckets.total_us
        longest = max(longest, buckets.max_us)
    count = counts.total()
    if not count:
        return Durations(0, 0, None, None, None, None)
    return Durations(
        count=count,
        waited=count - counts[0],
        mean=_ms(total / count),
        p50=_ms(_quantile(counts, _rank(50, count))),
        p99=_ms(_quantile(counts, _rank(99, count))),
        max=_ms(longest),
    )


def _rank(percent: int, count: int) -> int:
    """The place of a quantile among sorted durations: the nearest rank."""
    return max((percent * count + 99) // 100, 1) - 1


def _quantile(counts: Counter[int], rank: int) -> int:
    seen = 0
    for lower_end in sorted(counts):
        seen += counts[lower_end]
        if seen > rank:
            return lower_end
    raise AssertionError(f"rank {rank} among {seen}")


def _lower_end(taken_us: int) -> int:
    """The lower end of a duration's bucket."""
    if taken_us < EXACT:
        return taken_us
    shift = taken_us.bit_length() - 8
    return taken_us >> shift << shift


def _ms(us: float) -> float:
    return round(us / US_PER_MS, 3)
