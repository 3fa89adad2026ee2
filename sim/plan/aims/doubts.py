"""Statements whose answers are lost, where few attempts are made: for designs of the store.

A statement is given up after so many lost attempts, but not while one of them may have committed.
With the ten attempts that there are by default, and answers that are seldom lost, no drawn world
comes to that.
"""

from typing import Final

from ddlsim.plan.swarm_knobs import Knobs, Table, migrate

SHARE: Final = 0.08
"""The share of worlds with such statements."""
ATTEMPTS: Final = (1, 2, 10)
STATEMENTS: Final = 6
LOST: Final = (1, 4)
"""How many answers to commits are lost in a row: some are those of clients."""
AT_ONCE: Final = 0.7
"""The share of these worlds in which all other processes make tables at the same instants."""


def add(knobs: Knobs, data: Table) -> None:
    """Let a process make tables while answers to its commits are lost; some others do, too."""
    if not knobs.on("statements in doubt", SHARE):
        return
    data["protocol"]["ddl_attempts"] = knobs.pick("ddl_attempts", ATTEMPTS)
    load_ms: int = data["run"]["load_ms"]
    every_ms = load_ms // (2 * STATEMENTS)
    tables = range(STATEMENTS)
    migrate(data, _made("doubt"), every_ms)
    if knobs.on("statements in doubt, others at once", AT_ONCE):
        for number in range(2, data["cluster"]["nodes"] + 1):
            migrate(data, _made(f"beside{number}_"), every_ms, f"n{number}")
    die = knobs.die("statements in doubt, which")
    lost: Table = {"name": "lost_message", "kind": "committed", "to": "n1"}
    data["faults"] = data["faults"] + [
        lost | {"from_ms": load_ms // 10 + place * every_ms, "count": die.between(*LOST)}
        for place in tables
    ]


def _made(name: str) -> str:
    """Statements that make tables whose names begin so."""
    return ";\n".join(
        f"CREATE TABLE {name}{number} (id INT PRIMARY KEY)" for number in range(STATEMENTS)
    )
