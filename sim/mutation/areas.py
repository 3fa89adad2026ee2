"""The areas of both data planes, by file and function, and designs under which each is tried."""

from fnmatch import fnmatchcase
from typing import Final

CLOSED: Final = "iep_closed"
OPEN: Final = "iep"
SHIPPED: Final = "ignite3"
BUILDING: Final = "ignite_index"
"""The design that builds indexes on the Ignite plane."""
BASELINES: Final = (CLOSED, OPEN, SHIPPED)
"""A rule is tried under those of these that have it, anything else under all of them."""
SAFE: Final = "c16_safe"
LEASED: Final = "c6_f1"
LOCKING: Final = "postgresql"
"""The design of a layer whose transactions lock tables."""
LAYERS: Final = (
    SAFE,
    LEASED,
    "c1_schema",
    "c1b_version",
    "c3_copies",
    "c3b_versions",
    "c7_ss_local",
    "c9_future_cv",
    "c10_two_cutoffs",
    "c11_future_conflict",
    "c12_grv",
    "c13_past",
    "c14_modes",
    "c16_states",
    "c16_tables",
    "c2_watch",
    "c4_session",
    "c4_fetch",
    "c4_retry",
    LOCKING,
)
"""The same on the FoundationDB plane: those that claim most come first."""
STORE_BASELINES: Final = (SAFE, LEASED)
"""The designs under which the store is tried, and what all layers have in common."""
STRICT: Final = (CLOSED,)
"""The designs whose runs are judged by the strict graph."""

TRANSACTION: Final = "protocol/transaction"
AREAS: Final[dict[str, tuple[str, ...]]] = {
    "index-builds": (
        "protocol/index_build/*",
        "protocol/partition/index_store.py:*",
        "protocol/partition/partition.py:Partition._fill",
        "protocol/partition/partition.py:Partition._record_filled",
        f"{TRANSACTION}/index_entries.py:*",
        "protocol/schema/index_states.py:*",
        "protocol/design/index_rules.py:*",
    ),
    "reads": (
        f"{TRANSACTION}/readers.py:*",
        f"{TRANSACTION}/routing.py:Router.ask_replica*",
        f"{TRANSACTION}/coordinator.py:Coordinator._read_only",
        f"{TRANSACTION}/coordinator.py:Coordinator._gathered",
        f"{TRANSACTION}/commit.py:TransactionCompletion.state_of*",
        "protocol/partition/partition.py:Partition.as_of",
        "protocol/partition/partition.py:Partition.newest",
        "protocol/design/failure_rules.py:safely_in_the_past",
    ),
    "rules": ("protocol/design/*", f"{TRANSACTION}/commit_check.py:*"),
    "raft": ("protocol/raft/*",),
    "replication": ("protocol/replication/*", "protocol/partition/*"),
    "leases": (
        "protocol/leases.py:*",
        "protocol/metastorage/placement_driver.py:*",
        "protocol/metastorage/placement.py:*",
    ),
    "metastorage": (
        "protocol/metastorage/*",
        "protocol/schema_change/*",
        "protocol/server.py:*",
    ),
    "schema": ("protocol/schema/*",),
    "locks": (f"{TRANSACTION}/locks.py:*", f"{TRANSACTION}/lock_waits.py:*"),
    "recovery": (f"{TRANSACTION}/participant.py:*", "protocol/waiting.py:*"),
    "operations": (
        f"{TRANSACTION}/client.py:*",
        f"{TRANSACTION}/replica.py:*",
        f"{TRANSACTION}/execution.py:*",
        f"{TRANSACTION}/conditional.py:*",
        f"{TRANSACTION}/routing.py:*",
    ),
    "commit": (f"{TRANSACTION}/*", "protocol/transaction_record.py:*"),
    "clocks": (
        "model/hlc.py:*",
        "kernel/clock.py:PhysicalClock.due_us",
        "kernel/clock.py:PhysicalClock.on_change*",
        "kernel/deadlines.py:*",
    ),
    "store-commits": (
        "fdb/conflicts.py:*",
        "fdb/resolver.py:*",
        "fdb/proxy.py:*",
        "fdb/local_state.py:*",
        "fdb/sequencer.py:*",
        "fdb/grv.py:*",
        "fdb/versions.py:*",
    ),
    "store-recovery": ("fdb/controller.py:*", "fdb/log.py:*", "fdb/membership.py:*"),
    "store-reads": ("fdb/storage.py:*", "fdb/store.py:*"),
    "library": (
        "fdb/transaction.py:*",
        "fdb/connection.py:*",
        "fdb/writes.py:*",
        "fdb/watches.py:*",
        "fdb/keys.py:*",
        "fdb/config.py:*",
        "fdb/errors.py:ErrorCode.retriable",
    ),
    "layer-rules": ("layer/rules/*",),
    "layer-ddl": (
        "layer/schema_change.py:*",
        "layer/update.py:*",
        "layer/backfill.py:*",
        "layer/schema.py:*",
    ),
    "layer": ("layer/*",),
}
"""Patterns of `file:function` by area; the first area with a pattern that fits has the function."""

OUT: Final = (
    "kernel/clock.py:Piece.*",
    "kernel/clock.py:PhysicalClock.[!do]*",  # all but `due_us` and `on_change`
    "protocol/barriers.py:*",
    "protocol/metastorage/alias_ends.py:*",
    "protocol/metastorage/schema_sync.py:SchemaSync.safe_time_reaches_in_time",
    "protocol/transaction/replica.py:Replica.has_open_work",
    "protocol/transaction/marking.py:Marks.uses",
    "protocol/transaction/marking.py:Marks.abort_users",
    "protocol/schema_change/row_counter.py:*",
    "protocol/transaction/coordinator.py:Coordinator._find",
    "protocol/transaction/readers.py:Readers._found",
    "protocol/schema/indexes.py:*",
    "protocol/schema/type_examples.py:*",
    "protocol/schema/endpoints.py:*",
    "protocol/design/agreed_installs.py:*",
    "protocol/design/border_rules.py:*",
    "protocol/design/index_rules.py:at_once",
    "protocol/design/index_rules.py:once_registered",
    "protocol/design/index_rules.py:once_stopping",
    "protocol/design/lag_policies.py:*",
    "protocol/design/mandatory_columns.py:*",
    "fdb/controller.py:Controller._tell",
    "fdb/processes.py:*",
    "fdb/database.py:*",
    "fdb/errors.py:ErrorCode.number",
    "fdb/errors.py:ErrorCode.sentence",
    "fdb/errors.py:FdbError.*",
    "fdb/settings.py:*",
    "fdb/sizes.py:*",
    "fdb/config.py:processes_of",
    "fdb/config.py:plain_config",
    "fdb/transaction.py:_bytes",
    "layer/final_state.py:*",
    "layer/rules/options.py:*",
    "layer/switches.py:*",
    "layer/process.py:LayerProcess.has_open_work",
    "layer/process.py:LayerProcess.left_open",
)
"""What no baseline uses, what only words for people are made of, what the end of a run alone asks,
what a scenario is read with before its run, and what a machine's clock shows: another clock is
another world, and no fault of the protocol."""

WATCHING: Final = ("c4_session", "c2_watch")
LOCAL: Final = ("c7_ss_local",)
ONLY: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(AREAS["index-builds"], (BUILDING,)),
    f"{TRANSACTION}/participant.py:Participant._validate_and_finish": (SHIPPED,),
    "protocol/schema/by_name.py:*": (SHIPPED,),
    "protocol/schema/compatibility.py:*_as_shipped": (SHIPPED,),
    "protocol/schema/compatibility.py:forward_compatible": (SHIPPED,),
    "protocol/schema/compatibility.py:first_incompatible": (SHIPPED,),
    "fdb/watches.py:*": WATCHING,
    "fdb/storage.py:Storage.watch": WATCHING,
    "fdb/storage.py:Storage._look_at_watches": WATCHING,
    "fdb/storage.py:_give_up": WATCHING,
    "fdb/connection.py:Connection.changed": WATCHING,
    "fdb/transaction.py:Transaction.watch": WATCHING,
    "fdb/transaction.py:Transaction.metadata_version": (SAFE, "c12_grv"),
    "fdb/transaction.py:Transaction.*local": LOCAL,
    "fdb/local_state.py:LocalState.holds": LOCAL,
    "fdb/proxy.py:_writes_local": LOCAL,
    "fdb/proxy.py:Proxy._change": (*LOCAL, "c11_future_conflict"),
    "fdb/proxy.py:*": (SAFE, *LOCAL),
    "fdb/local_state.py:*": (SAFE, *LOCAL),
    "fdb/resolver.py:*": (SAFE, *LOCAL),
    "fdb/conflicts.py:ConflictWindow._let_come": ("c11_future_conflict",),
    "fdb/transaction.py:Transaction.add_*_conflict_key": (
        SAFE,
        "c13_past",
        "c11_future_conflict",
    ),
    "fdb/conflicts.py:ConflictWindow._judge": (SAFE, LEASED, "c13_past"),
    "fdb/conflicts.py:*": (SAFE, LEASED, "c11_future_conflict"),
    "layer/backfill.py:*": (SAFE, LEASED, "c16_states"),
    "layer/execution.py:Executor._find": (SAFE, LEASED, LOCKING),
    "layer/update.py:Attempt.run": (SAFE, LEASED, LOCKING),
    "layer/schema_change.py:SchemaChange._in_turn": (SAFE, LEASED, "c14_modes"),
    "layer/schema_change.py:*": (SAFE, LEASED, "c16_states"),
    "layer/schema.py:Schema.newest": ("c11_future_conflict", "c10_two_cutoffs"),
    "layer/schema.py:Schema.same_until": (LOCKING,),
    "layer/schema.py:Schema.at": ("c11_future_conflict", "c9_future_cv"),
}
"""Functions outside of the rules that some baselines alone use, by their patterns."""

FILES: Final = (
    "protocol/**/*.py",
    "model/hlc.py",
    "kernel/clock.py",
    "kernel/deadlines.py",
    "fdb/*.py",
    "layer/**/*.py",
)
"""Where mutants are made."""


def area_of(place: str) -> str | None:
    """The area of a `file:function`; None for what is out."""
    if is_out(place):
        return None
    return next((name for name, patterns in AREAS.items() if _fits(place, patterns)), None)


def is_out(place: str) -> bool:
    """Whether no mutants are made in a function."""
    return _fits(place, OUT)


def is_rule(place: str) -> bool:
    """Whether a function is a rule, or a part of one, that a design may have or not."""
    return _fits(place, AREAS["rules"]) or place.startswith(
        ("protocol/design/", "protocol/schema/renaming.py", "layer/rules/")
    )


def is_of_store(place: str) -> bool:
    """Whether a function is of the FoundationDB plane: of the store, or of a layer on it."""
    return place.startswith(("fdb/", "layer/"))


def designs_for(place: str, used: dict[str, frozenset[str]]) -> tuple[str, ...]:
    """The designs under which a mutant of a function is tried; none where no baseline has it.

    `used` are the rules of each baseline, as `file:function`.
    """
    only = next((names for pattern, names in ONLY.items() if fnmatchcase(place, pattern)), None)
    if only is not None:
        return only
    if not is_rule(place):
        return STORE_BASELINES if is_of_store(place) else BASELINES
    known = LAYERS if is_of_store(place) else BASELINES
    return tuple(name for name in known if _is_part(place, used[name]))


def _is_part(place: str, rules: frozenset[str]) -> bool:
    return any(place == rule or place.startswith(f"{rule}.") for rule in rules)


def _fits(place: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(place, pattern) for pattern in patterns)
