"""TiDB: leases on the schema with F1's states, and the metadata lock that came in 6.3.

Models of the documented protocol, not of the code. `tidb_lease`
(docs/design/2018-10-08-online-DDL.md, `SchemaValidator`): a server reads the schema every half
lease, statements go through one state of an index at a time, each a lease apart; a commit is
refused if the lease is over, and if a table that it used has changed in what the server knows.

`tidb_mdl` (docs.pingcap.com, "Metadata Lock"; the default since 6.5): the next step of a statement
waits until no transaction on older metadata uses the table, so that none has to be aborted; a table
stays in a transaction as it was at its first access, and the first access of one that has changed
behind the transaction's snapshot is refused. One transaction that never ends blocks the statement:
here the time limit of transactions ends it.

What differs: TiDB compares its commit timestamp with the end of the lease. The commit version of
this store is known only behind the commit, so in its place stands a conflict: with the update after
the next one (`tidb_lease`), with what takes an ended lease away (`tidb_mdl`). Servers register in
etcd there, in the store here. Only indexes have states here; columns go through states there too. A
statement is continued by its own process alone; there the next owner takes its job up.
"""

from dataclasses import replace

from ddlsim.layer.rules import fences, leases
from ddlsim.strategies.base import EVENTUAL, claims, layer_design, preset_header
from ddlsim.strategies.c5_lease import C6_F1
from ddlsim.strategies.crdb import CRDB

TIDB_LEASE = layer_design(
    replace(
        C6_F1,
        header=preset_header(
            "tidb_lease",
            "c6_f1 with leases of 45 s and a check of each table at commit: after TiDB",
            "pingcap/tidb: docs/design/2018-10-08-online-DDL.md, domain/schema_validator.go",
            C6_F1.header.claims,
        ),
        admit=fences.while_newest_leased,
        fence=fences.lease_and_unchanged_tables,
        lease_ms=45_000,
        poll_ms=22_500,
    )
)
TIDB_MDL = layer_design(
    replace(
        CRDB,
        header=preset_header(
            "tidb_mdl",
            "statements wait for transactions on older metadata: after TiDB's metadata lock",
            "docs.pingcap.com: Metadata Lock",
            (*EVENTUAL, *claims("I6", "I7")),
        ),
        plan=C6_F1.plan,
        background=(leases.lease_all_in_use, leases.give_back_the_older),
        lease_ms=45_000,
    )
)
