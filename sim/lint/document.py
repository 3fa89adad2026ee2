"""The document of `ddlsim compat --output json`, key by key."""

from typing import Literal, NotRequired, TypedDict


class RuleOfStatement(TypedDict):
    """A rule of the documents that a statement met."""

    clause: str
    verdict: Literal["compatible", "incompatible"]
    reason: str
    column: str | None


class Refusal(TypedDict):
    """Why the catalog refuses a statement."""

    reason: str
    message: str


class RemedyStep(TypedDict):
    """What to do in place of a statement; `sql` is what to run, if anything."""

    do: str
    sql: str | None


class IgnoredVerdict(TypedDict):
    """The comment that keeps a verdict out of the exit code."""

    clauses: list[str]
    reason: str


class Statement(TypedDict):
    """A statement of the migration; verdicts are null where the catalog refuses it."""

    sql: str
    file: str
    line: int
    column: int
    objects: list[str]
    tables: list[str]
    forward_compatible: bool | None
    backward_compatible: bool | None
    rules: list[RuleOfStatement]
    error: Refusal | None
    no_op: str | None
    remedy: list[RemedyStep]
    ignored: IgnoredVerdict | None


class TableOfSchema(TypedDict):
    """Whether a transaction survives that enlisted the table before the first statement and commits
    after the last; `because` and `changed_by` are places in `statements`."""

    forward_compatible: bool
    because: int | None
    backward_compatible: bool
    changed_by: int | None


class PassedOver(TypedDict):
    """A statement that changes no schema."""

    file: str
    line: int
    column: int
    sql: str
    word: str


class Shares(TypedDict):
    """The expected share of aborted transactions by design."""

    option_3: float
    option_3_one_operation: float
    options_1_and_2: float
    exact_match: float


class SharesOfTable(Shares):
    """The same for the statements that concern one table."""

    statements: int
    incompatible_share: float


class AbortShare(SharesOfTable):
    """The same for all statements, with the rates that were given."""

    ddl_rate: float
    tx_length: float
    working_share: float
    exponential_length: Shares
    tables: dict[str, SharesOfTable]


class Report(TypedDict):
    """Which transactions in flight survive which statement of a migration, by which rules."""

    format: int
    baseline: Literal["iep", "ignite3", "b12"]
    statements: list[Statement]
    tables: dict[str, TableOfSchema]
    files: list[str]
    passed_over: list[PassedOver]
    expected_abort_share: NotRequired[AbortShare]
