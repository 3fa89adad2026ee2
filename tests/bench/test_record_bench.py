"""What recording costs the clients of a database: their throughput beside that without a journal.

Clients take no pauses, and both kinds of runs take turns. CPU time is shown too, as it does not
depend on what else the machine does.
"""

import statistics
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from ddlsim.extras import EXTRAS
from ddlsim.record import recorder
from ddlsim.record.dialects.base import DATABASES
from ddlsim.record.journal import Journal
from ddlsim.record.recorder import Wanted, record
from ddlsim.record.url import url_of
from ddlsim.record.workloads import schema_append
from tests.bench.figures import show

pytestmark = pytest.mark.bench
ROUNDS = 5
WANTED = Wanted("schema-append", 4, "serializable", 0, 5.0, 120.0, 2000)
MANY = {"sqlite:///{}/db": 2000, "postgresql:embedded": 1500, "duckdb:///{}/db": 600}
"""Transactions by the database."""


class Silent(Journal):
    """A journal that writes nothing of its clients."""

    def begin(self, process: int, asked: str) -> int:
        del process, asked
        return 0

    def statement(self, *given: object, **named: object) -> None:
        """Nothing."""

    def end(self, *given: object, **named: object) -> None:
        """Nothing."""


@pytest.mark.parametrize("url", MANY)
def test_recorded_clients_beside_others(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sqlite" not in url and any(find_spec(name) is None for name in EXTRAS["real"]):
        pytest.skip("needs the extra real")
    monkeypatch.setattr(schema_append, "PAUSE_MS", (0.0, 0.0))
    rates: dict[type[Journal], list[float]] = {Journal: [], Silent: []}
    costs: dict[type[Journal], list[float]] = {Journal: [], Silent: []}
    for number in range(ROUNDS):
        for kind in (Journal, Silent):
            folder = tmp_path / f"{number}{kind.__name__}"
            (folder / "out").mkdir(parents=True)
            monkeypatch.setattr(recorder, "Journal", kind)
            at = url_of(url.format(folder))
            database, began = DATABASES.get(at.drivername)(at, prepared=False), cpu_s()
            level = next(iter(database.levels))
            wanted = replace(WANTED, isolation=level, transactions=MANY[url])
            made = record(database, wanted, folder / "out")
            many = sum(made.tally.ended.values())
            rates[kind].append(many / made.seconds)
            costs[kind].append((cpu_s() - began) / many)
    for what, ratio in (
        ("transactions a second", median_ratio(rates[Journal], rates[Silent])),
        ("transactions a CPU second", median_ratio(costs[Silent], costs[Journal])),
    ):
        show(f"{database.name}: recorded / unrecorded {what}", ratio, least=0.8)


def cpu_s() -> float:
    return time.process_time()


def median_ratio(ones: list[float], others: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(ones, others, strict=True))
