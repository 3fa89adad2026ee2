"""The settings of the plane: one table, declared once, with FoundationDB's numbers.

A field of `FdbSettings` is a setting: its name (with the unit), what it means, its bounds and its
default; `source` is FoundationDB's knob of that value, where it has one. From this table follow the
record that the store reads, the keys of `[fdb]` in a scenario and their bounds, `ddlsim list
settings`, and the table in scenarios/README.md.
"""

from dataclasses import replace
from typing import Annotated, Final, get_type_hints

from ddlsim.fdb.versions import versions_in
from ddlsim.model.records import Record
from ddlsim.model.settings import Setting
from ddlsim.units import FOREVER_MS

MISTAKES: Final = ("local_as_applied", "forgotten_is_clean")
"""Settings with which the store does not do what a design asks of it."""


class FdbSettings(Record, frozen=True):
    """Rates, windows, limits, waits and switches of the store."""

    versions_per_second: Annotated[
        int,
        Setting(
            "rate of the sequencer; with 1000 a version is a millisecond",
            most=1_000_000,  # a version is a microsecond or more of a timestamp
            source="VERSIONS_PER_SECOND",
        ),
    ] = 1_000_000
    window_ms: Annotated[
        int,
        Setting(
            "how far back reads and conflict checks reach",
            source="MAX_READ_TRANSACTION_LIFE_VERSIONS",
        ),
    ] = 5000
    recovery_jump: Annotated[
        int,
        Setting("versions between two generations", least=0, source="MAX_VERSIONS_IN_FLIGHT"),
    ] = 100_000_000
    grv_batch_us: Annotated[
        int, Setting("for how long requests for read versions are gathered", least=0)
    ] = 500
    commit_batch_us: Annotated[
        int,
        Setting(
            "for how long commits are gathered",
            least=0,
            source="COMMIT_TRANSACTION_BATCH_INTERVAL_MIN",
        ),
    ] = 1000
    idle_commit_ms: Annotated[
        int,
        Setting(
            "a proxy without commits commits an empty batch so often",
            source="MAX_COMMIT_BATCH_INTERVAL",
        ),
    ] = 2000
    grv_cache_ms: Annotated[
        int,
        Setting(
            "how old a cached read version may be; commits of the same process are always seen",
            least=0,
            source="MAX_VERSION_CACHE_LAG",
        ),
    ] = 100
    confirm_ms: Annotated[
        int,
        Setting(
            "for so long the answers of the logs count, that they serve a generation; a recovery "
            "takes that long at least",
            least=0,
            source="REQUIRED_MIN_RECOVERY_DURATION",
        ),
    ] = 80
    transaction_bytes: Annotated[
        int, Setting("the most that a transaction may write", source="TRANSACTION_SIZE_LIMIT")
    ] = 10_000_000
    key_bytes: Annotated[int, Setting("how long a key may be", source="KEY_SIZE_LIMIT")] = 10_000
    value_bytes: Annotated[int, Setting("how long a value may be", source="VALUE_SIZE_LIMIT")] = (
        100_000
    )
    watches_most: Annotated[
        int,
        Setting(
            "watches that a process may have at once",
            least=0,
            source="DEFAULT_MAX_OUTSTANDING_WATCHES",
        ),
    ] = 10_000
    watch_poll_ms: Annotated[
        int,
        Setting(
            "rest before a watch is asked for again whose storage server lags",
            source="WATCH_POLLING_TIME",
        ),
    ] = 1000
    watch_timeout_ms: Annotated[
        int, Setting("time limit of a watch at its storage server", source="WATCH_TIMEOUT")
    ] = 30_000
    storage_read_us: Annotated[
        int,
        Setting(
            "service time of a read at a storage server, one after the other; 0: none", least=0
        ),
    ] = 0
    log_sync_us: Annotated[int, Setting("how long a write to a log's disk takes", least=0)] = 0
    future_version_ms: Annotated[
        int,
        Setting(
            "how long a storage server lets a read wait for its version",
            source="FUTURE_VERSION_DELAY",
        ),
    ] = 1000
    peek_ms: Annotated[
        int, Setting("after so long without new entries a storage server asks the next log")
    ] = 1000
    pop_ms: Annotated[
        int, Setting("how often a storage server lets the logs forget what it has on disk")
    ] = 1000
    request_ms: Annotated[int, Setting("time limit of a request, but of a commit")] = 500
    commit_timeout_ms: Annotated[int, Setting("time limit of a commit")] = 5000
    retry_ms: Annotated[
        int, Setting("pause before a request is sent again, and bound of a random one of the layer")
    ] = 10
    avoid_ms: Annotated[
        int, Setting("how long clients pass over a process that did not serve", least=0)
    ] = 1000
    backoff_ms: Annotated[
        int,
        Setting(
            "bound of the random rest of a transaction behind its first error; each time twice "
            "as long",
            least=0,
            source="DEFAULT_BACKOFF",
        ),
    ] = 10
    backoff_most_ms: Annotated[
        int, Setting("up to which that bound grows", source="DEFAULT_MAX_BACKOFF")
    ] = 1000
    version_rest_ms: Annotated[
        int,
        Setting(
            "rest of a transaction behind a read version that is too old or not reached, each time "
            "alike, and at most `backoff_most_ms`; rest before a watch is asked for again whose "
            "time is over",
            source="FUTURE_VERSION_RETRY_DELAY",
        ),
    ] = 10
    ping_ms: Annotated[
        int, Setting("how often the controller pings the processes of a generation")
    ] = 250
    ping_timeout_ms: Annotated[int, Setting("after so long a ping counts as missed")] = 500
    pings_missed: Annotated[
        int, Setting("after so many missed pings in a row a process counts as failed")
    ] = 2
    local_keys: Annotated[
        bool, Setting("each storage server has a space of keys of its own (C7)")
    ] = False
    past_read_conflicts: Annotated[
        bool, Setting("a read conflict may reach back before the read version (C13)")
    ] = False
    future_write_conflicts: Annotated[
        bool, Setting("a write conflict may lie at a version in the future (C11)")
    ] = False
    resolver_keeps_future: Annotated[bool, Setting("these survive a recovery (C11)")] = False
    local_as_applied: Annotated[
        bool,
        Setting(
            "a mistake: storage servers answer of their own space with what they have applied, "
            "not as of the read version (C7-T2)"
        ),
    ] = False
    forgotten_is_clean: Annotated[
        bool,
        Setting(
            "a mistake: a conflict from before the window passes instead of being too old (C13-T1)"
        ),
    ] = False

    @property
    def window(self) -> int:
        """The window in versions."""
        return versions_in(self.window_ms, self.versions_per_second)


def _declared() -> dict[str, Setting]:
    """The settings of the record by name; no number has more digits than a time may have."""
    hints = get_type_hints(FdbSettings, include_extras=True)
    names, defaults = FdbSettings.__struct_fields__, FdbSettings.__struct_defaults__
    found = {}
    for name, default in zip(names, defaults, strict=True):
        declared = hints[name].__metadata__[0].of(name, default=default)
        bound = None if declared.is_switch else declared.most or FOREVER_MS
        found[name] = replace(declared, most=bound, per_node=False)
    return found


STORE_SETTINGS: Final = _declared()
"""Every setting of the store by name, in the order of the table."""
