"""The parameters of a lock on tables, measured in a calm recording.

Tables are used alike by the recorder's workloads, so all of them are one sample. A sample is kept
by slices of time, and whole slices are resampled: what happens at one time is not independent.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ddlsim.analysis.predict.recorded import Recorded, Tx
from ddlsim.analysis.stats.intervals import DICE, Array
from ddlsim.analysis.tune.goals import TuneError

SLICES: Final = 20
DRAWN: Final = 20_000
"""Gaps that are drawn where tables are used less often."""
FEWEST: Final = 10
"""So many statements of DDL are needed to know how long one executes."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What a closed form needs, in ms.

    `holds`: locks on a table of one client; `gaps`: from the end of one to its next on the same
    table; `executes`: a statement of DDL once nothing holds the table; `keeps`: from its answer to
    the end of its transaction; `takes`: a statement that takes a lock, while no DDL is under way;
    `thinks`: between the transactions of a client; `spans`: from the begin of one to its end;
    `uses`: its statements on tables. `conflicts`: the share of its transactions that abort.
    """

    clients: int
    tables: int
    holds: Array
    gaps: Array
    executes: Array
    keeps: Array
    takes: Array
    thinks: Array
    spans: Array
    uses: Array
    conflicts: float

    @property
    def used(self) -> float:
        """The share of time for which one client holds a lock on a given table."""
        cycle = float(self.holds.mean() + self.gaps.mean())
        return float(self.holds.mean()) / cycle

    @property
    def complete(self) -> bool:
        """Whether a closed form has all samples that it needs."""
        return all(len(one) for one in (self.holds, self.gaps, self.executes, self.takes))

    def over(self, tables: int) -> "Calibrated":
        """The same clients over another number of tables, each used less often, or more.

        A transaction of m statements uses a given one of n tables with probability
        1 - (1 - 1/n)^m: of the uses of a table so large a share is left, and a gap is as many of
        the gaps and holds of before as it takes until one is left.
        """
        if tables == self.tables:
            return self
        if tables < self.tables:
            raise TuneError(
                f"the recording of --from has {self.tables} tables, more than {tables}: "
                "record it with a lower --ddl-rate, or for a shorter time"
            )
        now, then = (float((1 - (1 - 1 / n) ** self.uses).mean()) for n in (self.tables, tables))
        dice = np.random.default_rng(DICE)
        more = dice.geometric(then / now, size=DRAWN) - 1
        gaps = dice.choice(self.gaps, size=DRAWN)
        total = int(more.sum())
        each = dice.choice(self.holds, size=total) + dice.choice(self.gaps, size=total)
        np.add.at(gaps, np.repeat(np.arange(DRAWN), more), each)
        fewer = 1 - (1 - self.conflicts) ** (self.tables / tables)
        return replace(self, tables=tables, gaps=gaps, conflicts=fewer)


@dataclass(frozen=True, slots=True)
class Calm:
    """A calm recording, in slices of time."""

    slices: tuple[Calibrated, ...]

    @property
    def whole(self) -> Calibrated:
        """The parameters of all of it."""
        return _joined(self.slices)

    def resampled(self, times: int) -> list[Calibrated]:
        """The parameters of so many resamples of slices, without those that lack a sample."""
        dice = np.random.default_rng(DICE)
        most = len(self.slices)
        drawn = dice.integers(0, most, size=(times, most))
        found = [_joined([self.slices[at] for at in row]) for row in drawn]
        return [one for one in found if one.complete] or [self.whole]


def calibrate(recorded: Recorded) -> Calm:
    """Measure the parameters; `TuneError` where the recording lacks something."""
    made = executions(recorded)
    if len(made) < FEWEST:
        raise TuneError(
            f"--from {recorded.folder}: {len(made)} statements of DDL are too few to know how "
            f"long one executes; record with a low --ddl-rate, for {FEWEST} that do not fail"
        )
    samples = _Samples(recorded.span)
    _of_clients(recorded, samples)
    for tx, executes, keeps in made:
        samples.add("executes", tx.began, executes)
        samples.add("keeps", tx.began, keeps)
    head = recorded.head
    calm = Calm(tuple(samples.slices(head.clients, len(head.tables))))
    if not calm.whole.complete:
        raise TuneError(
            f"--from {recorded.folder}: no client came to a table twice, or none while no DDL was "
            "under way; record for longer"
        )
    return calm


SAMPLED: Final = ("holds", "gaps", "executes", "keeps", "takes", "thinks", "spans", "uses")


class _Samples:
    """Values by their names and slices of time."""

    def __init__(self, span: tuple[float, float]) -> None:
        self._edges = np.linspace(*span, SLICES + 1)[1:-1]
        self._values: list[dict[str, list[float]]] = [defaultdict(list) for _ in range(SLICES)]

    def add(self, name: str, at: float, value: float) -> None:
        self._values[int(np.searchsorted(self._edges, at))][name].append(value)

    def slices(self, clients: int, tables: int) -> Iterator[Calibrated]:
        for of in self._values:
            samples = {name: np.array(of[name], dtype=np.float64) for name in SAMPLED}
            yield Calibrated(clients, tables, conflicts=sum(of["conflicts"]), **samples)


def _of_clients(recorded: Recorded, samples: _Samples) -> None:
    shut = [(tx.ddl.at, tx.ended) for tx in recorded.changes if tx.ddl is not None]
    last: dict[tuple[int, str], float] = {}
    before: dict[int, float] = {}
    for tx in recorded.clients:
        for one in tx.sent:
            if one.first:
                key = tx.client, one.table
                samples.add("holds", one.at, tx.ended - one.at)
                if key in last:
                    samples.add("gaps", one.at, max(one.at - last[key], 0.0))
                last[key] = tx.ended
                if not any(at <= one.until and one.at <= end for at, end in shut):
                    samples.add("takes", one.at, one.took)
        if tx.client in before:
            samples.add("thinks", tx.began, max(tx.began - before[tx.client], 0.0))
        before[tx.client] = tx.ended
        samples.add("spans", tx.began, tx.ended - tx.began)
        samples.add("uses", tx.began, len(tx.sent))
        samples.add("conflicts", tx.began, float(tx.outcome != "ok"))


def executions(recorded: Recorded) -> list[tuple[Tx, float, float]]:
    """Of each change that was made: how long its DDL executed, and how long it was kept open.

    It executes from when the last transaction that had used the table before it has ended.
    """
    holders: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for tx in recorded.clients:
        for table, since, until in tx.holds:
            holders[table].append((since, until))
    made = []
    for tx in recorded.changes:
        ddl = tx.ddl
        if ddl is None or tx.outcome != "ok":
            continue
        free = free_since(holders[ddl.table], ddl.at, ddl.until)
        made.append((tx, ddl.until - free, tx.ended - ddl.until))
    return made


def free_since(holders: list[tuple[float, float]], at: float, until: float) -> float:
    """When the last of those ended that held a table as a statement came that has an answer.

    A client's end is written down a little behind the lock's: no later than the answer.
    """
    ends = [end for since, end in holders if since < at < end]
    return min(max(ends, default=at), until)


def _joined(slices: Sequence[Calibrated]) -> Calibrated:
    samples = {name: np.concatenate([getattr(one, name) for one in slices]) for name in SAMPLED}
    aborted, all_ = sum(one.conflicts for one in slices), sum(len(one.spans) for one in slices)
    first = slices[0]
    return Calibrated(first.clients, first.tables, conflicts=aborted / max(all_, 1), **samples)
