"""What closed forms multiply, measured in the runs of one design."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ddlsim.analysis.stats import histogram
from ddlsim.model.reasons import Reason
from ddlsim.units import US_PER_MS
from ddlsim.verify.rates import Crossed, Lost, Rates, Used
from ddlsim.verify.row import RunRow

Array = NDArray[np.float64]
MISSED: Final = (Reason.TABLE_NOT_FOUND.name, Reason.COLUMN_NOT_FOUND.name)
T = TypeVar("T", Crossed, Lost)
NO_CHANGES: Final = Crossed(0, 0, 0, 0)
NOT_LOST: Final = Lost(0, 0, 0)


class Measured(NamedTuple):
    """Sums over the runs of a design, in ms and numbers."""

    runs: int
    simulated_ms: float
    load_ms: float
    succeeded: int
    """Operations and commits of which the mean of what was added is."""
    committed: int
    statements: int
    attempts: int
    missed: int
    """Attempts that asked for a table or a column that was not there."""
    outdated: int
    """Attempts that aborted for the schema, these and the missed ones among them."""
    newer: int
    """Attempts that met a row of a newer schema."""
    readers: int
    looks: int
    enlisted: int
    """Look-ups for those that succeeded, and those at an enlistment among them."""
    first_looks: int
    changes: int
    in_load: int
    span_ms: float
    """The mean of the longest uses of those that committed."""
    whole_ms: float
    """The mean of the longest uses of all attempts, 0 of those that used nothing."""
    users: int
    exponents: dict[int, tuple[float, float, float]]
    """By table: changes per ms, and of a transaction the mean time of use and from that to the
    commit, of those that have not used the table too."""
    crossed: dict[int, Crossed]
    """By table: changes that came into force during the load, by kinds."""
    writing_ms: dict[int, float]
    """By table: of a transaction the mean time up to its last write of a row there."""
    outdates: dict[int, Lost]
    lost: dict[int, Lost]
    """By table: for how long those that the schema aborted, and other aborted ones, used it."""
    holds: dict[int, tuple[float, Array]]
    """By table: for how long transactions had it in use in all, ms per ms of the load, and a sample
    of how long each had."""

    @property
    def per_ms(self) -> float:
        """Schema changes per ms of the load."""
        return self.changes / self.load_ms


def measured(rows: Sequence[RunRow]) -> Measured:
    """The sums of runs that have prices and figures; at least one."""
    rates = [row.prices.rates for row in rows if row.prices is not None]
    taken = [row.figures for row in rows if row.figures is not None]
    prices = [row.prices for row in rows if row.prices is not None]
    load_ms = float(sum(one.load_ms for one in prices))
    users = sum(one.users for one in rates)
    attempts = sum(one.attempts for one in taken)
    return Measured(
        runs=len(rows),
        simulated_ms=sum(one.simulated_ms for one in taken),
        load_ms=load_ms,
        succeeded=sum(histogram.size(one.added_us) for one in prices),
        committed=sum(one.committed for one in taken),
        statements=sum(one.ddl_latency_ms.count for one in taken),
        attempts=attempts,
        missed=sum(one.aborted.get(reason, 0) for one in taken for reason in MISSED),
        outdated=sum(
            count
            for one in taken
            for reason, count in one.aborted.items()
            if Reason[reason].is_schema
        ),
        newer=sum(one.aborted.get(Reason.NEWER_ROW_VERSION.name, 0) for one in taken),
        readers=sum(one.readers for one in rates),
        looks=sum(one.looks for one in prices),
        enlisted=sum(one.first_looks for one in prices),
        first_looks=sum(one.first_looks for one in rates),
        changes=sum(one.changes for one in rates),
        in_load=sum(one.in_load for one in rates),
        span_ms=sum(one.span_us for one in rates) / US_PER_MS / max(users, 1),
        whole_ms=sum(one.span_us + one.lost_span_us for one in rates)
        / US_PER_MS
        / max(attempts, 1),
        users=users,
        exponents=_exponents(rates, load_ms, users),
        crossed=_sums((one.crossed for one in rates), NO_CHANGES),
        writing_ms={
            table: sum(one.uses[table].writing_us for one in rates if table in one.uses)
            / US_PER_MS
            / max(users, 1)
            for table in dict.fromkeys(one for each in rates for one in each.uses)
        },
        outdates=_sums((one.outdated for one in rates), NOT_LOST),
        lost=_sums((one.lost for one in rates), NOT_LOST),
        holds=_holds(rates, load_ms),
    )


def _sums(runs: Iterable[dict[int, T]], zero: T) -> dict[int, T]:
    """By table: what the runs have together."""
    found: dict[int, T] = {}
    for each in runs:
        for table, own in each.items():
            before = found.get(table, zero)
            found[table] = type(zero)(*map(sum, zip(before, own, strict=True)))
    return found


def _holds(rates: Sequence[Rates], load_ms: float) -> dict[int, tuple[float, Array]]:
    found = {}
    for table in dict.fromkeys(one for each in rates for one in each.holds):
        many = [each.holds[table] for each in rates if table in each.holds]
        pairs = [pair for one in many for pair in one.counts.items()]
        each_us, counts = np.array(pairs, dtype=np.int64).T
        whole_ms = sum(one.total_us for one in many) / US_PER_MS
        found[table] = (whole_ms / load_ms, np.repeat(each_us, counts) / US_PER_MS)
    return found


def _exponents(
    rates: Sequence[Rates], load_ms: float, users: int
) -> dict[int, tuple[float, float, float]]:
    found = {}
    for table in dict.fromkeys(one for each in rates for one in each.uses):
        used = [each.uses.get(table, Used(0, 0, 0, 0)) for each in rates]
        changes = sum(each.changes_of.get(table, 0) for each in rates)
        found[table] = (
            changes / load_ms,
            sum(one.using_us for one in used) / US_PER_MS / max(users, 1),
            sum(one.tail_us for one in used) / US_PER_MS / max(users, 1),
        )
    return found
