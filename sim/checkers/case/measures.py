"""What judges measure on their way: numbers that are no verdict."""

from msgspec import field

from ddlsim.model.records import Record


class Measures(Record, frozen=True):
    """What one run cost.

    `after_heal_ms`: the longest that anything took to end once the last fault was healed, None
    where nothing was left to end. `blocked_behind`: long waits for a lock whose holder had a faulty
    participant. `needless_aborts`: aborts for a schema reason that no schema change asked for, by
    their cause.
    """

    after_heal_ms: float | None = None
    blocked_behind: int = 0
    needless_aborts: dict[str, int] = field(default_factory=dict)
