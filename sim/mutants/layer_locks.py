"""A design of a layer that locks tables, and a lock that is missing."""

from ddlsim.layer import design
from ddlsim.layer.rules import locks
from ddlsim.mutants.base import mutant

mutant(
    "uses_tables_unlocked",
    "postgresql.org/docs, 13.3: most commands automatically acquire locks of appropriate modes",
    "index_contents",
    summary="a transaction reads the newest schema of a table, and takes no lock on it",
    under="postgresql",
    admit=locks.unlocked_with_a_fresh_catalog,
)
mutant(
    "changes_tables_in_use",
    "postgresql.org/docs, 13.3: ACCESS EXCLUSIVE conflicts with locks of all modes",
    "index_contents",
    summary="a statement does not wait for transactions with a lock on its table",
    under="postgresql",
    exclude=design.no_locks,
)
