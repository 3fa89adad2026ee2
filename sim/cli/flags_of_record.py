"""What `ddlsim record` takes."""

from typing import Final

import click

from ddlsim.cli import complete, values
from ddlsim.cli.flags import argument, flag, repeated
from ddlsim.cli.flags_of_many import model, output
from ddlsim.cli.values import Known

RECORDED: Final = ("schema-append", "retype", "truncate", "rename-swap", "drop-create", "index")
"""The workloads of `record`."""
DISTURBED: Final = ("client-killed", "backend-terminated", "table-locked", "server-restarted")
"""The faults of `record`."""


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
             shell_complete=complete.folders),
        flag("--unjudged", "leave the history to check"),
        model("what the database should keep to (default: what it documents for the level)"),
        output("text", "json"),
        ]  # fmt: skip
