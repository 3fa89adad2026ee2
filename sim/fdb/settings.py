"""The numbers of the plane: FoundationDB's defaults where it has them.

Times are in milliseconds (`_ms`) or microseconds (`_us`), sizes in bytes.
"""

from typing import Final

from ddlsim.fdb.versions import versions_in
from ddlsim.model.records import Record

MISTAKES: Final = ("local_as_applied", "forgotten_is_clean")
"""Settings with which the store does not do what a design asks of it."""


class FdbSettings(Record, frozen=True):
    """Rates, windows, limits, waits and switches; FoundationDB's knobs in its own words are beside.

    `versions_per_second`: rate of the sequencer. `window_ms`: how far back reads and conflict
    checks reach. `recovery_jump`: versions between two generations. `idle_commit_ms`: a proxy
    without commits commits an empty batch so often. `confirm_ms`: for so long the word of the logs
    counts that they serve a generation; a recovery takes that long at least. `storage_read_us`:
    service time of a read at a storage server, one after the other; 0: none. `log_sync_us`: what a
    log's disk takes. `avoid_ms`: how long clients pass over a process that did not serve. Switches
    for what FoundationDB lacked in 2018: `local_keys` (C7), `past_read_conflicts` (C13),
    `future_write_conflicts` (C11), which `resolver_keeps_future` lets survive a recovery. Switches
    for mistakes in building these: `local_as_applied` (storage servers answer of the local space
    with what they have applied, not as of the read version: C7-T2), `forgotten_is_clean` (a
    conflict from before the window passes instead of being too old: C13-T1).
    """

    versions_per_second: int = 1_000_000
    window_ms: int = 5000
    recovery_jump: int = 100_000_000
    grv_batch_us: int = 500
    commit_batch_us: int = 1000
    idle_commit_ms: int = 2000
    grv_cache_ms: int = 100
    confirm_ms: int = 80
    transaction_bytes: int = 10_000_000
    key_bytes: int = 10_000
    value_bytes: int = 100_000
    watches_most: int = 10_000
    watch_poll_ms: int = 1000
    watch_timeout_ms: int = 30_000
    storage_read_us: int = 0
    log_sync_us: int = 0
    future_version_ms: int = 1000
    peek_ms: int = 1000
    pop_ms: int = 1000
    request_ms: int = 500
    commit_timeout_ms: int = 5000
    retry_ms: int = 10
    avoid_ms: int = 1000
    backoff_ms: int = 10
    backoff_most_ms: int = 1000
    ping_ms: int = 250
    ping_timeout_ms: int = 500
    pings_missed: int = 2
    local_keys: bool = False
    past_read_conflicts: bool = False
    future_write_conflicts: bool = False
    resolver_keeps_future: bool = False
    local_as_applied: bool = False
    forgotten_is_clean: bool = False

    @property
    def window(self) -> int:
        """The window in versions."""
        return versions_in(self.window_ms, self.versions_per_second)


MAY_BE_0: Final = (
    "recovery_jump",
    "grv_batch_us",
    "commit_batch_us",
    "grv_cache_ms",
    "confirm_ms",
    "watches_most",
    "storage_read_us",
    "log_sync_us",
    "avoid_ms",
    "backoff_ms",
)
"""The numbers that may be 0; all others are 1 at least."""
MOST: Final = {"versions_per_second": 1_000_000}
"""The most of numbers that are bounded: a version is a microsecond or more of a timestamp."""
