"""The cells of the study: each database at each of its levels under each workload."""

from collections.abc import Iterator
from typing import Final, NamedTuple, cast

from ddlsim.record.dialects.base import DATABASES, Database
from ddlsim.record.workloads.base import WORKLOADS

NAMES: Final = ("postgresql", "mariadb", "duckdb", "sqlite")
SCHEMES: Final = {"postgresql": "postgresql+psycopg", "mariadb": "mariadb+pymysql"}
TYPED: Final = {
    "postgresql": "postgresql:embedded",
    "mariadb": "mariadb+pymysql://USER@HOST/",
    "duckdb": "duckdb:///new.duckdb",
    "sqlite": "sqlite:///new.db",
}
"""The URLs that a reader types to record a cell again."""
SESSIONS: Final = "strong-session-snapshot-isolation"


class Cell(NamedTuple):
    """A database at a level under a workload.

    `also` is a second model that it is judged by, of which only anomalies between schema and rows
    count. `lacks` tells why the database does not have the workload; it is empty where it has it.
    """

    database: str
    level: str
    workload: str
    also: str
    lacks: str

    @property
    def name(self) -> str:
        """What it is called on a command line."""
        return f"{self.database}/{self.level}/{self.workload}"


def cells() -> Iterator[Cell]:
    """All of them, in the order of the pages."""
    for database in NAMES:
        kind = cast(type[Database], DATABASES.get(SCHEMES.get(database, database)))
        for level in kind.levels:
            for workload in workloads():
                copies = WORKLOADS.get(workload).copies and not kind.transactional_ddl
                lacks = "DDL commits by itself, so the rows could not be kept" if copies else ""
                yield Cell(database, level, workload, _also(database, level), lacks)


def _also(database: str, level: str) -> str:
    """MariaDB documents that at REPEATABLE READ all reads are of the snapshot of the first. Its
    writes are not, so that it is judged by a weaker model, which says nothing of reads together.
    """
    return SESSIONS if (database, level) == ("mariadb", "repeatable-read") else ""


def workloads() -> list[str]:
    """The names of the workloads, the plain one first."""
    return sorted(WORKLOADS, key=lambda name: (name != "schema-append", name))
