"""What recording costs the clients of a database: their throughput beside that without a journal.

Clients take no pauses, and both kinds of runs take turns. CPU time is shown too, as it does not
depend on what else the machine does.
"""

import statistics
import time
from pathlib import Path

import pytest

from ddlsim.record import recorder
from ddlsim.record.dialects.sqlite import Sqlite
from ddlsim.record.journal import Journal
from ddlsim.record.recorder import Wanted, record
from ddlsim.record.url import url_of
from ddlsim.record.workloads import schema_append
from tests.bench.figures import show

pytestmark = pytest.mark.bench
ROUNDS = 5
WANTED = Wanted("schema-append", 4, "serializable", 0, 5.0, 120.0, 2000)


class Silent(Journal):
    """A journal that writes nothing of its clients."""

    def begin(self, process: int, asked: str) -> int:
        del process, asked
        return 0

    def statement(self, *given: object, **named: object) -> None:
        """Nothing."""

    def end(self, *given: object, **named: object) -> None:
        """Nothing."""


def test_recorded_clients_beside_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_append, "PAUSE_MS", (0.0, 0.0))
    rates: dict[type[Journal], list[float]] = {Journal: [], Silent: []}
    costs: dict[type[Journal], list[float]] = {Journal: [], Silent: []}
    for number in range(ROUNDS):
        for kind in (Journal, Silent):
            folder = tmp_path / f"{number}{kind.__name__}"
            (folder / "out").mkdir(parents=True)
            monkeypatch.setattr(recorder, "Journal", kind)
            database, began = Sqlite(url_of(f"sqlite:///{folder}/db"), prepared=False), cpu_s()
            made = record(database, WANTED, folder / "out")
            many = sum(made.tally.ended.values())
            rates[kind].append(many / made.seconds)
            costs[kind].append((cpu_s() - began) / many)
    for what, ratio in (
        ("transactions a second", median_ratio(rates[Journal], rates[Silent])),
        ("transactions a CPU second", median_ratio(costs[Silent], costs[Journal])),
    ):
        show(f"recorded / unrecorded {what}", ratio, least=0.8)


def cpu_s() -> float:
    return time.process_time()


def median_ratio(ones: list[float], others: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(ones, others, strict=True))
