"""The shape of the document of `ddlsim rehearse --output json`; rehearsal.json of `--out`."""

from typing import Literal, TypedDict

from ddlsim.cli.documents.shapes import Checked


class LatencyOf(TypedDict):
    """Of statements of the load that succeeded: how many, quantiles of their latency in ms, and how
    many there were a second.
    """

    count: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    per_s: float


class RefusedBy(TypedDict):
    """The error with which the database refused a statement of the migration."""

    code: str
    kind: str
    text: str


class Predicted(TypedDict):
    """What `compat` says of a statement: do transactions survive that used its table before it and
    commit after it? `none` where it says nothing, and `why`.
    """

    verdict: Literal["survive", "abort", "refused", "none"]
    clauses: list[str]
    why: str


class CrossingLoad(TypedDict):
    """Transactions of the load that surely were across the statement, and how many of them ended
    with an error of the schema: a use of its table was answered before it was sent, and a statement
    of theirs was sent after it had taken effect.
    """

    transactions: int
    aborted: int


class RehearsedStatement(TypedDict):
    """A statement of the migration; of one that was not reached only its text is known.

    `started_ms` is the time since the begin of the load. `waited_ms` is the time for which it was
    seen to wait for locks, null where the database tells of none; `behind` the largest number of
    clients that waited meanwhile, `waited_for` the statements of others that it waited for.
    `stall_ms` is how long, while it ran, statements of the load on the table `stalled` got no
    answer. `aborts` counts errors of the load by class from its begin to that of the next one,
    `examples` has the text of the first of each class. `effects` are the kinds of what the
    statement was measured to do to the load, `measured` says it in words.
    """

    line: int
    sql: str
    ran: bool
    started_ms: float
    duration_ms: float
    waited_ms: float | None
    behind: int
    waited_for: list[str]
    stall_ms: float
    stalled: str
    latency: LatencyOf
    aborts: dict[str, int]
    examples: dict[str, str]
    refused: RefusedBy | None
    predicted: Predicted
    crossing: CrossingLoad
    agreement: Literal["agrees", "differs", "not seen", "no prediction"]
    effects: list[Literal["waited", "held up", "aborted"]]
    measured: str


class RowAnomaly(TypedDict):
    """Rows and acknowledged writes that are wrong: `count` cases, the first in words, and where
    the database's documentation warns of it, if it does.
    """

    type: Literal["vanished-rows", "lost-write", "unwritten-value"]
    table: str
    count: int
    example: str
    documented: str


class Rehearse(TypedDict):
    """A rehearsal.

    `stall_ms` is the longest time in which statements of the load on the table `stalled` got no
    answer, as far as it overlaps the migration; `longest_before_ms` the same before it. `check` is
    the element of `files` of `check --output json`, null where the load is not judged, as `notes`
    say. `silent` counts clients that did not come to an end in time.
    """

    format: int
    command: str
    directory: str | None
    migration: str
    outcome: str
    database: str
    server: str
    driver: str
    isolation: str
    says: str
    promise: str
    in_place: bool
    source: str
    tables: list[str]
    clients: int
    seed: int
    committed: int
    failed: int
    unknown: int
    why: dict[str, int]
    before: LatencyOf
    after: LatencyOf
    aborts_before: dict[str, int]
    longest_before_ms: float
    stall_ms: float
    stalled: str
    max_stall_ms: float | None
    statements: list[RehearsedStatement]
    anomalies: list[RowAnomaly]
    notes: list[str]
    silent: int
    check: Checked | None
