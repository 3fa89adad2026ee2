"""One design's runs as a line of the table: verdict, claims, and prices with intervals over seeds.

Every number is pooled over the runs of all seeds that finished; its interval is of 95 % and comes
from resampling whole seeds (analysis/stats/intervals.py). A quantile of so few durations that it
would be their maximum is left out, and so is what a plane does not measure; each such cell has its
reason. An upper end is left out where nothing bounds a number: a mean of zeros alone, a quantile of
few durations.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
from msgspec import structs
from numpy.typing import ArrayLike

from ddlsim.analysis.compare.records import UNMET, Anomalies, Breach, Line, Value, Word
from ddlsim.analysis.stats import histogram, intervals
from ddlsim.history.figures import Buckets
from ddlsim.model.design import DesignHeader
from ddlsim.model.reasons import Reason
from ddlsim.units import US_PER_MS
from ddlsim.verify.claims import KNOWN_BREACHES, ClaimRow, of_design
from ddlsim.verify.row import RunRow

MS_PER_S: Final = 1_000
SCHEMA_SERVER: Final = "which requests are for the schema alone"


# --- one design ----------------------------------------------------------------------------------


class Runs:
    """The runs of one design in one scenario, in the order of their seeds."""

    def __init__(self, design: DesignHeader, scenario: str, rows: Sequence[RunRow]) -> None:
        self.design, self.scenario, self.all = design, scenario, tuple(rows)
        self.rows = [row for row in rows if row.prices is not None and row.figures is not None]

    def line(
        self, breaches: Sequence[Breach], holes: Iterable[str], strict: Sequence[Anomalies]
    ) -> Line:
        """The line of the table; `breaches` are those found here or shown by shipped scenarios."""
        claims = self.claims()
        findings: Counter[str] = Counter()
        for claim in claims:
            findings.update(claim.findings)
        holes = tuple(holes)
        known = KNOWN_BREACHES.get(self.design.name, "")
        met, aborts = self._counts(_met), self._counts(_schema_aborts)
        word = word_of(breaches, holes=bool(holes or findings or known), tested=bool(met.sum()))
        unmet = None if met.sum() or aborts.sum() else Value(None, why=UNMET)
        committed = self._counts(_committed)
        statements = self._counts(_statements)
        reads = self._counts(_reads)
        untold = self._unmeasured("schema_reads", "which requests are for the schema")
        return Line(
            design=self.design.name,
            summary=self.design.summary,
            source=self.design.source,
            plane=self.design.plane,
            scenario=self.scenario,
            runs=len(self.all),
            lost=len(self.all) - len(self.rows),
            crash=next((row.crash for row in self.all if row.crash), ""),
            verdict=word if self.rows else "not judged",
            changes_met=rate(met, np.ones_like(met), "run that finished"),
            kept=kept(claims, breaches),
            breaches=tuple(breaches),
            findings=dict(sorted(findings.items())),
            holes=holes,
            known=known,
            strict=tuple(strict),
            dml_added_p50=self._quantile(_added, 0.5),
            dml_added_p99=self._quantile(_added, 0.99),
            dml_added_mean=mean([_added(row) for row in self.rows]),
            dml_p50=self._quantile(_pool("dml_latency_ms"), 0.5),
            dml_p99=self._quantile(_pool("dml_latency_ms"), 0.99),
            ddl_p50=self._quantile(_pool("ddl_latency_ms"), 0.5),
            ddl_p99=self._quantile(_pool("ddl_latency_ms"), 0.99),
            schema_aborts=unmet or share_of(aborts, self._counts(_attempts), "attempts"),
            refused=share_of(self._counts(_refused), self._counts(_operations), "operations"),
            frozen=share_of(self._counts(_frozen), self._counts(_operations), "operations"),
            reads_per_transaction=untold or rate(reads, committed, "committed transactions"),
            reads_per_ddl=untold or rate(reads, statements, "statements that changed the schema"),
            messages_per_transaction=rate(
                self._counts(_messages), committed, "committed transactions"
            ),
            hottest_per_s=rate(self._counts(_hottest), self._counts(_load_s), "seconds of load"),
            hottest_share=share_of(self._counts(_hottest), self._counts(_received), "messages"),
            schema_hottest_per_s=self._unmeasured("schema_hottest", SCHEMA_SERVER)
            or rate(self._counts(_price("schema_hottest")), self._counts(_load_s), "load"),
            strict_share=self._share(lambda row: bool(row.violations)),
            committed=int(committed.sum()),
            statements=int(statements.sum()),
            ddl_per_s=self._ddl_per_s(int(statements.sum())),
        )

    def claims(self) -> list[ClaimRow]:
        """Each invariant: in how many runs what was found, without what is strict only."""
        return list(of_design(self.design.name, [(relaxed(row), frozenset()) for row in self.rows]))

    def anomalies(self) -> list[Anomalies]:
        """What was found in strict mode, invariant by invariant, claimed or not."""
        names = dict.fromkeys(one.invariant for row in self.rows for one in row.violations)
        return [self._anomalies(name) for name in sorted(names, key=number)]

    def _anomalies(self, invariant: str) -> Anomalies:
        statuses: Counter[str] = Counter()
        kinds: Counter[str] = Counter()
        strict_only, severity, runs = 0, "", 0
        for row in self.rows:
            found = [one for one in row.violations if one.invariant == invariant]
            if not found:
                continue
            runs += 1
            severity = found[0].severity
            strict_only += all(one.strict_only for one in found)
            statuses.update({one.status for one in found})
            kinds.update({one.kind for one in found})
        return Anomalies(
            invariant, severity, runs, strict_only,
            dict(sorted(statuses.items())), dict(sorted(kinds.items())),
        )  # fmt: skip

    # --- numbers -----------------------------------------------------------------------------

    def _counts(self, of: Callable[[RunRow], float]) -> intervals.Array:
        return np.array([of(row) for row in self.rows], dtype=np.float64)

    def _ddl_per_s(self, statements: int) -> float | None:
        """Statements per second of the load: by the changes that came into force under it, of which
        a statement may make several; None where none did."""
        changes, in_load = (self._counts(_rate(name)).sum() for name in ("changes", "in_load"))
        if not in_load:
            return None
        each = changes / statements if statements else 1.0
        return round(float(in_load / each / self._counts(_load_s).sum()), 6)

    def _share(self, of: Callable[[RunRow], bool]) -> Value:
        """The share of the runs for which `of` is true."""
        if not self.rows:
            return Value(None, why="no run finished")
        hits, runs = self._counts(of).sum(), len(self.rows)
        low, high = intervals.share_of_runs(hits, runs)
        return _value(hits / runs, float(low), float(high))

    def _quantile(self, of: Callable[[RunRow], Buckets], share: float) -> Value:
        return quantile([of(row) for row in self.rows], share)

    def _unmeasured(self, name: str, what: str) -> Value | None:
        """An empty cell where the plane does not tell a price in any run."""
        if self.rows and all(getattr(row.prices, name) is None for row in self.rows):
            return Value(None, why=f"runs on plane {self.design.plane} do not tell {what}")
        return None


def relaxed(row: RunRow) -> RunRow:
    """A row without what only the strict graph shows."""
    kept = tuple(one for one in row.violations if not one.strict_only)
    return structs.replace(row, violations=kept)


def number(invariant: str) -> int:
    """I12 after I2."""
    return int(invariant.removeprefix("I"))


# --- verdicts ------------------------------------------------------------------------------------


def kept(claims: Sequence[ClaimRow], breaches: Sequence[Breach]) -> tuple[str, ...]:
    """The invariants that are claimed, were judged, and no run or shipped scenario breaks."""
    broken = {one.invariant for one in breaches}
    return tuple(
        one.invariant for one in claims if one.word == "kept" and one.invariant not in broken
    )


def word_of(breaches: Sequence[Breach], *, holes: bool, tested: bool) -> Word:
    """The verdict on a design, by its worst breach; `tested`: some run met a change, without which
    none can tell that safety is kept."""
    unsafe = {one.status for one in breaches if one.severity == "safety"}
    if unsafe & {"violation", "stuck"}:
        return "unsafe"
    if "accepted" in unsafe:
        return "unclaimed"
    if "out_of_assumption" in unsafe:
        return "conditional"
    if not tested:
        return "untested"
    if any(one.status in ("violation", "stuck") for one in breaches):
        return "weaker"
    return "holes" if holes else "safe"


# --- estimates -----------------------------------------------------------------------------------


def quantile(each: Sequence[Buckets], share: float) -> Value:
    """A quantile in ms of all durations, within 0.8 %, with its interval over seeds."""
    many = sum(histogram.size(one) for one in each)
    if many * (1 - share) < 1 - 1e-9:
        what = "no" if not many else f"only {many}"
        return Value(None, why=f"{what} durations: a quantile would be their maximum")
    values_us, counts = histogram.matrix(each)
    at = intervals.pooled_quantile(counts.sum(axis=0), values_us, share)
    low, high = intervals.pooled_quantile_intervals(counts, values_us, [share])[0]
    return _value(at / US_PER_MS, low / US_PER_MS, high / US_PER_MS)


def mean(each: Sequence[Buckets]) -> Value:
    """The mean in ms of all durations, with its interval over seeds."""
    totals = np.array([one.total_us / US_PER_MS for one in each], dtype=np.float64)
    counts = np.array([histogram.size(one) for one in each], dtype=np.float64)
    return _ratio(intervals.ratio_interval, totals, counts, "durations")


def share_of(hits: intervals.Array, trials: intervals.Array, of: str) -> Value:
    """The share of trials, with its interval over seeds."""
    return _ratio(intervals.share_interval, hits, trials, of)


def rate(events: intervals.Array, spans: intervals.Array, of: str) -> Value:
    """Events over that in which they were counted, with the interval over seeds."""
    return _ratio(intervals.rate_interval, events, spans, of)


def _ratio(
    how: Callable[[intervals.Array, intervals.Array], intervals.Ends],
    above: intervals.Array,
    below: intervals.Array,
    of: str,
) -> Value:
    if not below.sum():
        return Value(None, why=f"no {of}")
    low, high = how(above, below)
    return _value(above.sum() / below.sum(), low, high)


def _value(value: ArrayLike, low: ArrayLike, high: ArrayLike) -> Value:
    return Value(_finite(value), _finite(low), _finite(high))


def _finite(one: ArrayLike) -> float | None:
    found = float(np.asarray(one))
    return round(found, 6) if np.isfinite(found) else None


# --- of one run ----------------------------------------------------------------------------------


def _added(row: RunRow) -> Buckets:
    assert row.prices is not None, "rows are priced"
    return row.prices.added_us


def _pool(name: str) -> Callable[[RunRow], Buckets]:
    return lambda row: row.pools[name]


def _price(name: str) -> Callable[[RunRow], float]:
    return lambda row: float(getattr(row.prices, name) or 0)


def _figure(name: str) -> Callable[[RunRow], float]:
    return lambda row: float(getattr(row.figures, name))


_refused, _frozen, _operations = _price("refused"), _price("frozen"), _price("operations")
_messages, _reads = _price("messages"), _price("schema_reads")
_committed, _attempts = _figure("committed"), _figure("attempts")


def _schema_aborts(row: RunRow) -> float:
    assert row.figures is not None, "rows have figures"
    return sum(row.figures.aborted.get(one.name, 0) for one in Reason if one.is_schema)


def _rate(name: str) -> Callable[[RunRow], float]:
    def of(row: RunRow) -> float:
        assert row.prices is not None, "rows are priced"
        return float(getattr(row.prices.rates, name))

    return of


_met = _rate("met")


def _statements(row: RunRow) -> float:
    """Statements that installed a version and were answered."""
    assert row.figures is not None, "rows have figures"
    return row.figures.ddl_latency_ms.count


def _received(row: RunRow) -> float:
    assert row.prices is not None, "rows are priced"
    return float(sum(row.prices.received.values()))


def _hottest(row: RunRow) -> float:
    """What the server got that got most of its run."""
    assert row.prices is not None, "rows are priced"
    return float(max(row.prices.received.values(), default=0))


def _load_s(row: RunRow) -> float:
    assert row.prices is not None, "rows are priced"
    return row.prices.load_ms / MS_PER_S
