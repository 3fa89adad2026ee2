"""What `ddlsim record` and `ddlsim rehearse` take."""

from typing import Final

import click

from ddlsim.cli.flags import complete, values
from ddlsim.cli.flags.flag import argument, flag, repeated
from ddlsim.cli.flags.many import model, output
from ddlsim.cli.flags.values import Known

RECORDED: Final = ("schema-append", "retype", "truncate", "rename-swap", "drop-create", "index")
"""The workloads of `record`."""
DISTURBED: Final = (
    "slow-clients", "client-killed", "backend-terminated", "table-locked", "server-restarted",
)  # fmt: skip
"""The faults of `record`."""
REHEARSE_LOAD: Final = "DDLSIM_REHEARSE_LOAD"
"""The variable of `rehearse --load`: DDLSIM_LOAD names files of Python for other verbs."""


def recording() -> list[click.Parameter]:
    """The URL, and what is done to its database."""
    return [
        argument("url", "sqlite:///FILE, for example; docs/how-to/record.md has the others", "URL"),
        flag("--workload", f"what is done: {', '.join(RECORDED)}", "W", type=Known(RECORDED),
             default=RECORDED[0]),
        flag("--isolation", "the level of isolation (default: the database's strongest)", "L"),
        flag("--clients", "clients that read and write; one more changes tables", "N",
             type=values.positive, default="4"),
        flag("--time", "end after 90s, 10m or 1h (default: 10s, or 10m with --transactions)", "T",
             type=values.duration),
        flag("--transactions", "end after so many", "N", type=values.positive),
        flag("--seed", "the seed of what clients do", "N", type=values.seed, default="0"),
        flag("--ddl-rate", "DDL statements per second", "R", type=values.rate, default="5"),
        repeated("--fault", f"what disturbs them: {', '.join(DISTURBED)}; a URL's own server is "
                 "disturbed too", "F", type=Known(DISTURBED)),
        flag("--prepared", "let the driver prepare statements on the server"),
        flag("--out", "the directory of the recording, new or empty", "DIR", required=True,
             type=values.written, shell_complete=complete.folders),
        flag("--unjudged", "leave the history to check"),
        model("what the database should keep to (default: what it documents for the level)"),
        output("text", "json"),
        ]  # fmt: skip


def rehearsal() -> list[click.Parameter]:
    """The URL, the migration, and what happens around it."""
    return [
        argument("url", "where the copy is made: sqlite:///FILE, postgresql:embedded, ...; "
                 "docs/how-to/rehearse.md has the others", "URL"),
        argument("migration", "the statements, run one after the other in one session",
                 "MIGRATION.sql"),
        flag("--schema", "the tables, in place of those of the URL's own database", "FILE.sql",
             shell_complete=complete.files),
        flag("--rows", "rows that are made for each empty table of a copy", "N",
             type=values.seed, default="1000"),
        flag("--load", "clients and their transactions (default: reads and updates of each table "
             f"by its primary key; variable: {REHEARSE_LOAD})", "WORKLOAD.toml",
             shell_complete=complete.files, variable=REHEARSE_LOAD),
        flag("--clients", "clients, in place of those of the load", "N", type=values.positive),
        flag("--isolation", "the level of isolation (default: the load's, else what a session of "
             "the database has)", "L"),
        flag("--seed", "the seed of what clients do", "N", type=values.seed, default="0"),
        flag("--lock-timeout-ms", "how long a statement of the migration waits for a lock", "MS",
             type=values.positive, default="2000"),
        flag("--statement-timeout-ms", "how long one may take at all", "MS",
             type=values.positive, default="60000"),
        flag("--before", "load before the migration", "T", type=values.duration, default="3s"),
        flag("--pause", "load between two statements outside of a transaction", "T",
             type=values.duration, default="1s"),
        flag("--after", "load after the migration", "T", type=values.duration, default="3s"),
        flag("--max-stall-ms", "exit 1 if statements of the load on a table get no answer for "
             "longer", "MS", type=values.rate),
        flag("--in-place", "run it on the URL's own database, not on a copy: the migration and "
             "the load CHANGE IT"),
        flag("--out", "the directory of the recording and of the page, new or empty", "DIR",
             type=values.written, shell_complete=complete.folders),
        output("text", "json"),
        ]  # fmt: skip
