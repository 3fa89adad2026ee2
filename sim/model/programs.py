"""The work of clients, decided before the run: generated programs and scripted steps.

A *program* is one client's list of transactions and DDL statements, run one after the other, each
as soon as the one before has ended and its pause is over. A *step* is one operation of a scripted
timeline, due at an instant or after another step. Both are plain data without dice.
"""

from typing import Any

from ddlsim.model.ops import Operation
from ddlsim.model.records import Record
from ddlsim.units import Micros


class TransactionItem(Record, frozen=True):
    """One transaction of a program.

    `implicit` runs its single operation without begin and commit. `pause_us` lies before the first
    operation, `gap_us` between operations, `rest_us` before the commit. A retriable failure is
    repeated as a new transaction, up to `retries` times. `node` is the coordinator. `fresh` forgets
    the client's cached schemas first, as a new connection does. `read_only` begins it as a
    read-only transaction, which reads `as_of_ms` after the client's present where that is not None.
    `pipelined` sends the operations after the first one, and the commit, without waiting for
    answers; `begun` begins the transaction with a request of its own, not with its first operation.
    `abandoned` ends it with neither commit nor rollback. A DDL statement among the operations is
    issued outside of the transaction, while that is open.
    """

    node: str
    operations: tuple[Operation, ...]
    pause_us: Micros
    gap_us: Micros = Micros(0)
    rest_us: Micros = Micros(0)
    implicit: bool = False
    retries: int = 3
    fresh: bool = False
    read_only: bool = False
    as_of_ms: int | None = None
    pipelined: bool = False
    begun: bool = False
    abandoned: bool = False


class DdlItem(Record, frozen=True):
    """One DDL statement of a program; `at_us` None follows the item before, after `pause_us`."""

    node: str
    sql: str
    pause_us: Micros
    at_us: Micros | None = None


class Program(Record, frozen=True):
    """One client's work; with `session` it carries a causal token from answer to request.

    A `partition_aware` client begins each transaction at the primary of its first operation's key,
    as the node that the item names knows it; where that knows none, at this node.
    """

    client: str
    items: tuple[TransactionItem | DdlItem, ...]
    session: bool = False
    partition_aware: bool = False


class Step(Record, frozen=True):
    """One operation of a scripted timeline.

    It is due at `at_us`, or `plus_us` after the event `after` (`"r1.ok"`: step r1 succeeded;
    `.failed`, `.done`: either way; `.invoked`: it was sent), at the later of the two where it has
    both, or as soon as the client's step before it has ended. `expect` is what the scenario says
    must come of it (the interface's grammar). `read_only` stands on the step that begins a
    read-only transaction, `as_of_ms` on one whose timestamp the client chooses. `fresh` forgets
    the client's cached schemas first, as a new connection does.
    """

    id: str
    client: str
    node: str
    do: Operation
    tx: str | None = None
    at_us: Micros | None = None
    after: str | None = None
    plus_us: Micros = Micros(0)
    session: bool = False
    read_only: bool = False
    as_of_ms: int | None = None
    fresh: bool = False
    expect: Any = None
    line: int = 0
