"""What the study says of what was found: arguments and documentation, without any number.

Numbers, versions and examples come from the recordings; scripts from their files.
"""

from typing import Final, NamedTuple


class Source(NamedTuple):
    """A place in a documentation, and what it says there, in other words."""

    place: str
    url: str
    says: str


class Finding(NamedTuple):
    """An anomaly of a database: the types by which recordings show it, why it is one, what the
    documentation has on it, what to do, and the scripts that show it or its absence.
    """

    title: str
    database: str
    types: tuple[str, ...]
    why: str
    sources: tuple[Source, ...]
    advice: str
    scripts: tuple[str, ...]
    controls: tuple[str, ...]


_PG = "https://www.postgresql.org/docs/18"
_SERIAL: Final = Source(
    "PostgreSQL, 13.2.3 Serializable Isolation Level", f"{_PG}/transaction-iso.html",
    "transactions behave as if they had run one after the other, in some order",
)  # fmt: skip
_CAVEATS: Final = f"{_PG}/mvcc-caveats.html"
_INSTANT: Final = (
    "https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-online-ddl/"
    "innodb-online-ddl-operations-with-the-instant-alter-algorithm"
)
PROMISES: Final[dict[str, Source]] = {
    "postgresql": _SERIAL,
    "mariadb": Source(
        "MariaDB, REPEATABLE READ",
        "https://mariadb.com/docs/server/reference/sql-statements/transactions/"
        "transactions-repeatable-read",
        "all consistent reads of a transaction are of the snapshot of its first one",
    ),
    "duckdb": Source(
        "DuckDB, Concurrency", "https://duckdb.org/docs/current/connect/concurrency",
        "where two threads edit (update or delete) one row at the same time, the second one fails",
    ),
    "sqlite": Source(
        "SQLite, Isolation In SQLite", "https://www.sqlite.org/isolation.html",
        "transactions are serializable; with a write-ahead log a reader keeps the state that it "
        "began with",
    ),
}  # fmt: skip
FINDINGS: Final = (
    Finding(
        "At SERIALIZABLE too, PostgreSQL shows a column before the rows of its own transaction",
        "postgresql", ("future-column", "stale-columns"),
        "Columns are looked up in the newest catalog, rows in the transaction's snapshot. A "
        "transaction whose snapshot is older than an ALTER TABLE, and that has not touched the "
        "table yet, is shown the new columns with the old rows, and commits. Serializable snapshot "
        "isolation follows reads of rows and none of columns, so SERIALIZABLE does not stop it, "
        "unless the transaction writes what the other one has read. A migration that moves a value "
        "from one column to another, with all of it in one transaction, has a state in which the "
        "value is nowhere.",
        (_SERIAL, Source(
            "PostgreSQL, 13.6 Caveats", _CAVEATS,
            "look-ups in the system catalogs do not use the transaction's isolation level, so that "
            "new objects such as tables are visible to concurrent REPEATABLE READ and SERIALIZABLE "
            "transactions, and their rows are not; columns of old tables are not mentioned",
        ), Source(
            "xataio/pgstream, pull request 1058", "https://github.com/xataio/pgstream/pull/1058",
            "a tool that copied tables under one snapshot met columns that were added after it; it "
            "names the columns since",
        )),
        "Begin a transaction that needs one state of schema and rows with LOCK TABLE ... IN ACCESS "
        "SHARE MODE on all of its tables; name columns instead of SELECT *. Backfill in another "
        "transaction than the one that adds the column does not help by itself: it is the "
        "reader's snapshot that is old.",
        ("postgresql-future-column", "postgresql-future-column-writer", "postgresql-moved-column"),
        ("postgresql-future-column-refused", "postgresql-lock-first"),
    ),
    Finding(
        "At SERIALIZABLE too, PostgreSQL shows a table as empty, and commits an UPDATE of nothing",
        "postgresql", ("vanished-rows",),
        "ALTER TABLE that writes rows anew, TRUNCATE with a refill, and a copy that takes a "
        "table's place put the rows into new storage as of the change. To a transaction with an "
        "older snapshot none of them is there yet, and the old ones are out of reach. It reads no "
        "row, stores totals of nothing, and its UPDATE changes none: in each serial order the "
        "UPDATE has an effect. All of it commits at SERIALIZABLE.",
        (_SERIAL, Source(
            "PostgreSQL, 13.6 Caveats", _CAVEATS,
            "TRUNCATE and the forms of ALTER TABLE that write a table anew are not MVCC-safe: the "
            "table looks empty to transactions with a snapshot from before; a table that is "
            "dropped and made again is not mentioned, nor what becomes of writes",
        )),
        "Lock the tables first, as above. Change a type by a new column, batches of updates and a "
        "rename where long transactions cannot be stopped.",
        ("postgresql-vanished-rows", "postgresql-update-of-nothing", "postgresql-truncated",
         "postgresql-swapped"),
        ("postgresql-lock-first",),
    ),
    Finding(
        "At REPEATABLE READ PostgreSQL loses an update under a table that is swapped or refilled",
        "postgresql", ("incompatible-order", "lost-update"),
        "A transaction copies a table and lets the copy take its place. An update that was "
        "committed after the copy's snapshot and before the first lock of the table is gone, and "
        "both transactions commit. REPEATABLE READ is snapshot isolation here, and what it checks "
        "are rows that a transaction updates, not tables that it drops or truncates.",
        (Source(
            "PostgreSQL, 13.2.2 Repeatable Read Isolation Level", f"{_PG}/transaction-iso.html",
            "a transaction that updates a row which has changed since its snapshot is rolled back; "
            "DROP TABLE and TRUNCATE are not mentioned",
        ),),
        "LOCK TABLE ... IN SHARE ROW EXCLUSIVE MODE before the copy, or SERIALIZABLE for all "
        "writers.",
        ("postgresql-swap-loses-update", "postgresql-truncate-loses-update"),
        ("postgresql-swap-refused", "postgresql-lock-before-copy"),
    ),
    Finding(
        "At REPEATABLE READ MariaDB shows a column before what its session had done ahead of it",
        "mariadb", ("future-column", "stale-columns"),
        "An instant ADD COLUMN or DROP COLUMN changes the table for all transactions at once, also "
        "for those with an older snapshot. Each statement commits by itself, so a serial order of "
        "transactions alone can be found; but not one that keeps the order in which a session, or "
        "the clock, saw them: the reader has the later commit and lacks the earlier one. Changes "
        "that write the table anew are refused (error 1412).",
        (PROMISES["mariadb"], Source(
            "MariaDB, InnoDB Online DDL Operations with the INSTANT Alter Algorithm", _INSTANT,
            "which changes are instant, and that concurrent DML is permitted; older snapshots are "
            "not mentioned",
        )),
        "Read a row of each table at the beginning of a transaction: its metadata lock makes DDL "
        "wait. Or ALTER TABLE ..., ALGORITHM=COPY, after which older snapshots are refused.",
        ("mariadb-future-column", "mariadb-future-column-strict", "mariadb-moved-column"),
        ("mariadb-rebuild-refused", "mariadb-serializable", "mariadb-read-first"),
    ),
    Finding(
        "DuckDB lets a DELETE, a TRUNCATE or a DROP TABLE lose an update",
        "duckdb", ("incompatible-order", "lost-update"),
        "Of two transactions that change one row the second is to be stopped. Where the first one "
        "updates the row and the second one deletes it, truncates or drops its table, it is not. "
        "Where it puts the rows back as it had read them, the update is gone. Schema and rows are "
        "of one snapshot always.",
        (PROMISES["duckdb"], Source(
            "DuckDB, issue 17223", "https://github.com/duckdb/duckdb/issues/17223",
            "UPDATE and DELETE of one row by two transactions both commit; reported in April "
            "2025, reproduced, closed as stale",
        )),
        "Have the second transaction UPDATE the rows that it deletes first: two updates do "
        "conflict.",
        ("duckdb-lost-update", "duckdb-delete-beside-update", "duckdb-truncate-loses-update",
         "duckdb-swap-loses-update"),
        ("duckdb-update-refused", "duckdb-update-first", "duckdb-keeps-both"),
    ),
)  # fmt: skip
NOTHING: Final = ("sqlite-keeps-both",)
"""Scripts of databases that show nothing."""
