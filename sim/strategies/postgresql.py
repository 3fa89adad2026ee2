"""PostgreSQL: locks on tables until the end of a transaction, and a catalog that no snapshot binds.

A model of the documented behaviour (its manual, 13.3 Explicit Locking, 13.6 Caveats, 19.11
`lock_timeout`), not of the code. A statement locks its tables until the transaction ends; DDL needs
the one lock that excludes all others, and stands in the queue for it before what comes later.
Catalog look-ups use a snapshot of their own, taken under the lock: so a transaction at SERIALIZABLE
or REPEATABLE READ is shown a column that was added behind its snapshot, with rows as of before. One
that only reads commits with that; one that writes conflicts. An index made or rewritten behind the
snapshot is maintained, but not used: of I10, columns from behind the snapshot are admitted, and no
query by such an index. At any time one version of a table is in use; I6, which orders transactions
by their snapshots, is not claimed.

What differs: the store has no locks on rows, so transactions that wrote conflict at the commit. A
statement of DDL is a transaction of its own, with the entries of its indexes: DDL beside other
statements of one transaction is not modelled, nor are rewrites, which read empty there. A lock ends
at the time limit of its transaction, since a process may die; there a server takes them along.
"""

from dataclasses import replace

from ddlsim.layer.rules import locks
from ddlsim.model.design import Claim
from ddlsim.strategies.base import claims, layer_design, preset_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

POSTGRESQL = layer_design(
    replace(
        C1_SCHEMA,
        header=preset_header(
            "postgresql",
            "a table is locked until the end, its schema read at a fresh snapshot: PostgreSQL",
            "postgresql.org/docs: 13.3 Explicit Locking, 13.6 Caveats",
            (
                *claims("I2", "I5", "I7", "I8", "I9", "I12"),
                Claim("I10", less=("fractured-schema", "past-schema")),
            ),
        ),
        admit=locks.locked_with_a_fresh_catalog,
        fence=locks.until_the_end,
        after_failure=locks.release,
        exclude=locks.once_unlocked,
        after_statement=locks.out_of_the_queue,
        poll_ms=5,
        lock_timeout_ms=1_000,
    )
)
