"""The shape of the document of `ddlsim tune --from --output json`."""

from typing import TypedDict


class Recorded(TypedDict):
    """A recording that was read."""

    directory: str
    database: str
    server: str
    isolation: str
    workload: str
    clients: int
    tables: int
    ddl_per_s: float
    seconds: float
    transactions: int
    statements_of_ddl: int


class Interval(TypedDict):
    """A value with its 95 % interval; `high` is null where nothing bounds it: of a measurement that
    was 0 throughout and is no share, and of a quantile of few."""

    value: float
    low: float
    high: float | None


class Simulated(Interval):
    """The same from runs of a design of the simulator, over seeds."""

    strategy: str


class Quantity(TypedDict):
    """A quantity as predicted by closed form, by the simulator, and as it was.

    `agrees` is whether the intervals of the closed form and of the measurement overlap; null
    without a measurement, and where only the end that it lacks would tell.
    """

    name: str
    meaning: str
    unit: str
    predicted: Interval
    simulated: list[Simulated]
    measured: Interval | None
    agrees: bool | None


class Sample(TypedDict):
    """A sample of times in ms."""

    count: int
    mean: float
    p50: float
    p95: float


class Calibrated(TypedDict):
    """The parameters: docs/how-to/tune.md tells each."""

    transaction_ms: Sample
    statement_ms: Sample
    think_ms: Sample
    hold_ms: Sample
    gap_ms: Sample
    execute_ms: Sample
    keep_ms: Sample
    used_share: float
    conflict_share: float


class Explained(TypedDict):
    """Statement by statement: DDL beside the users of its table. `correlation` of its latency with
    how long those went on, which is `mean_ms` on average; `others` is the share of DDL that took
    longer than they explain."""

    correlation: float
    others: float
    mean_ms: float


class Predict(TypedDict):
    """What is predicted for a database under DDL, and what it did."""

    format: int
    writer: str
    calm: Recorded
    loaded: Recorded | None
    lock_ms: float
    calibrated: Calibrated
    quantities: list[Quantity]
    explained: Explained | None
    wrong: list[str]
    command: str
