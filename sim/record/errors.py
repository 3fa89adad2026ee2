"""What errors of databases mean for a transaction, in one table.

A code is the SQLSTATE where the database has one, else the driver's own name or number.
"""

from typing import Final

from ddlsim.history.recording import UNIQUE

SERIALIZATION: Final = "serialization"
DEADLOCK: Final = "deadlock"
UNDEFINED: Final = "undefined"
DEFINITION: Final = "definition-changed"
PLAN: Final = "cached-plan"
LOCK: Final = "lock-timeout"
CANCELLED: Final = "cancelled"
LOST: Final = "connection"
NO_ROW: Final = "no-row"
OTHER: Final = "other"

CLASSES: Final = {
    SERIALIZATION: "the database could not put it in an order with others",
    DEADLOCK: "it waited for a transaction that waited for it",
    UNDEFINED: "a table or a column was not there",
    DEFINITION: "a table was changed by another transaction in the meantime",
    PLAN: "a prepared statement no longer fits its table",
    LOCK: "a lock was not free in time",
    CANCELLED: "it took longer than a statement may",
    LOST: "the connection was lost",
    UNIQUE: "two rows would have one value of a unique index",
    NO_ROW: "an UPDATE of a row that was never deleted found no row",
    OTHER: "any other error",
}
"""The classes of errors, and what each means."""

CODES: Final[dict[str, dict[str, str]]] = {
    "postgresql": {
        "40001": SERIALIZATION,
        "40P01": DEADLOCK,
        "42703": UNDEFINED,
        "42P01": UNDEFINED,
        "55P03": LOCK,
        "57014": CANCELLED,
        "57P01": LOST,
        "57P02": LOST,
        "57P03": LOST,
        "25P03": LOST,
        "08": LOST,
        "40003": LOST,
        "23505": UNIQUE,
    },
    "mariadb": {
        "1020": SERIALIZATION,
        "1213": DEADLOCK,
        "1054": UNDEFINED,
        "1146": UNDEFINED,
        "1412": DEFINITION,
        "1615": PLAN,
        "1205": LOCK,
        "1317": CANCELLED,
        "1969": CANCELLED,
        "1053": LOST,
        "1927": LOST,
        "2006": LOST,
        "2013": LOST,
        "0": LOST,
        "1062": UNIQUE,
    },
    "sqlite": {
        "SQLITE_BUSY": LOCK,
        "SQLITE_LOCKED": LOCK,
        "SQLITE_BUSY_SNAPSHOT": SERIALIZATION,
        "SQLITE_SCHEMA": DEFINITION,
        "SQLITE_INTERRUPT": CANCELLED,
        "SQLITE_CONSTRAINT_UNIQUE": UNIQUE,
        "SQLITE_CONSTRAINT_PRIMARYKEY": UNIQUE,
    },
    "duckdb": {
        "TransactionException": SERIALIZATION,
        "CatalogException": UNDEFINED,
        "BinderException": UNDEFINED,
        "InterruptException": CANCELLED,
        "ConnectionException": LOST,
    },
}
"""Of each database, what its codes mean; two characters are a whole class of SQLSTATE.

After 40003 (statement completion unknown) and errors of class 08 (such as 08007, transaction
resolution unknown) it is not known whether a COMMIT took effect.
"""

TEXTS: Final[dict[str, dict[tuple[str, str], str]]] = {
    "postgresql": {("0A000", "cached plan"): PLAN},
    "sqlite": {
        ("SQLITE_ERROR", "no such"): UNDEFINED,
        ("SQLITE_ERROR", "has no column"): UNDEFINED,
    },
    "duckdb": {("", "altered"): DEFINITION, ("ConstraintException", "uplicate"): UNIQUE},
}
"""A code, or the beginning of one, and words in an error's text that tell more than it does."""


def class_of(database: str, code: str, text: str) -> str:
    """What an error of a database means; `other` for one that is in no table."""
    known = TEXTS.get(database, {}).items()
    told = (kind for (first, word), kind in known if code.startswith(first) and word in text)
    codes = CODES[database]
    return next(told, codes.get(code) or codes.get(code[:2], OTHER))
