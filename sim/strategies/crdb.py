"""CockroachDB: leases on descriptors in a table, and two versions in use at most.

A model of the documented protocol (docs/RFCS/20151009_table_descriptor_lease.md,
20151014_online_schema_change.md, pkg/sql/catalog/lease), not of the code. A node leases the newest
version of a descriptor by a row of a table, for 5 minutes, and renews it. A transaction uses what
its node has leased; the end of the lease is its deadline. A statement publishes the next version
only once no lease on the version before the newest is left: so of two versions at most are any in
use, each in force since before the transaction reads. Indexes are delete-only, then write-only,
then filled, then public.

What differs: a lease is on the whole schema here, and counts for each table whose version is the
same; its end is a version of the store instead of a hybrid timestamp, so that no clock matters.
CockroachDB asks of a commit timestamp that it lies before the deadline; the commit version of this
store is known only behind the commit, so a transaction conflicts with what takes its ended lease
away; and a process that is cut off goes on to read under its ended lease until then, where
CockroachDB has to lease anew before the read. CockroachDB lets a transaction use the older of two
versions for a table that it had not used before; here, as in TiDB, the first use of a table that
has changed behind the transaction's read is refused. Only indexes have states here; columns go
through states there too. A statement is continued by its own process alone; CockroachDB lets
another node adopt the job. Newer versions of CockroachDB tie leases to the liveness of sessions,
which is left out.
"""

from dataclasses import replace

from ddlsim.layer.rules import leases, plans
from ddlsim.strategies.base import EVENTUAL, claims, layer_design, preset_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

CRDB = layer_design(
    replace(
        C1_SCHEMA,
        header=preset_header(
            "crdb",
            "a table of leases; the next version once none is on the last but one: CockroachDB",
            "cockroachdb/cockroach: docs/RFCS/20151009_table_descriptor_lease.md",
            (*EVENTUAL, *claims("I6", "I7")),
        ),
        admit=leases.fixed_at_first_access,
        read_schema=leases.leased,
        fence=leases.under_a_lease,
        plan=plans.without_reorganization,
        pause_before=leases.older_leases_gone,
        settle=leases.older_leases_end,
        background=(leases.lease_the_newest, leases.give_back_the_older),
        lease_ms=300_000,
        poll_ms=50,
    )
)
