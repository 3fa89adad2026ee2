"""What the documentation of databases says of anomalies between schema and rows."""

from typing import Final

from ddlsim.foreign.recording.crossings import FUTURE, STALE, VANISHED

_CATALOG: Final = (
    "PostgreSQL's manual, 13.6 Caveats: access to the system catalogs does not use the isolation "
    "level of the transaction, so that new objects are visible to concurrent REPEATABLE READ and "
    "SERIALIZABLE transactions, though the rows in them are not. Serializable snapshot isolation "
    "does not stop such a transaction: it follows reads of rows and none of columns"
)
_REWRITE: Final = (
    "PostgreSQL's manual, 13.6 Caveats: TRUNCATE and the forms of ALTER TABLE that write a table "
    "anew are not MVCC-safe: to transactions with a snapshot from before, the table is empty"
)
DOCUMENTED: Final = {
    ("postgresql", FUTURE): _CATALOG,
    ("postgresql", STALE): _CATALOG,
    ("postgresql", VANISHED): _REWRITE,
}
"""By the database and the type: the place and the sense of a warning; nothing where there is none.
"""
