"""Which closed form is a design's, by its rules: statements (6.2), aborts (6.3), reads (6.6).

Nothing here names a design: what its header says of its fields decides. Times are in milliseconds,
rates per millisecond, and what may be an array (a sample of delays) broadcasts. Each form has a
least and a most, for what it leaves out; None where the catalogue has none.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddlsim.analysis.formula import store_forms as store

Array = NDArray[np.float64]
Rules = Mapping[str, str]
Both = tuple[Array, Array]
"""The least and the most."""
UNLOCKED: Final = "no_locks"
"""The rule of `exclude` of designs without locks, which have no form."""

# --- 6.6: reads of the schema ---------------------------------------------------------------------

WHOLE: Final = ("whole_schema", "whole_schema_at_snapshot")
"""Rules of `read_schema` that read the whole log, by one request."""
VERSION: Final = ("version_key_first",)
COPIED: Final = ("one_of_the_copies", "one_of_the_version_keys")
"""Rules that take any one of the copies."""
AFTER_CHANGES: Final = (
    "metadata_version", "metadata_version_at_snapshot", "local_to_storage",
)  # fmt: skip
"""Rules that read the schema only behind a change."""
IN_FORCE: Final = ("in_force_at_read_version", "in_force_less_the_window")
KEPT: Final = "kept"
UPDATE_READS: Final = 2
"""The head and the log: of a statement, and of a process that takes in a change."""

WATCH_READS: Final = 3
"""The key when its watch fires, then the head and the log."""


def in_each(rules: Rules) -> int:
    """How many reads of the schema every transaction makes."""
    return int(rules["read_schema"] in (*WHOLE, *VERSION, *COPIED))


def waits_in_each(rules: Rules) -> int:
    """How many round trips every transaction makes for its schema, to whatever server."""
    return in_each(rules) or int(rules["read_schema"] == "local_to_storage")


def copies_of(rules: Rules) -> int:
    """Of how many keys a transaction reads any one."""
    return int(rules["copies"]) if rules["read_schema"] in COPIED else 1


class Readers(NamedTuple):
    """What is read for: transactions and changes per ms, and processes that keep a schema.

    `read` is the time of a read version and the reads behind it, `round_trip` that of one read,
    `window` W in the time in which so many versions go by.
    """

    rate: float
    changes: float
    processes: int
    read: float
    round_trip: float
    window: float = 0.0


def reads_per_ms(rules: Rules, of: Readers) -> tuple[float, float] | None:
    """6.6: requests for the schema per ms.

    A statement reads the head, and the log where its process has not all of it; each of the other
    processes takes a change in once. Least: a poll takes the time to read besides, and a process
    without a transaction, or a poll, between two changes takes in both at once. Most: two
    transactions of a process that begin within a read both read.
    """
    if rules["exclude"] != UNLOCKED:
        return None
    rule, changes = rules["read_schema"], of.changes
    each = float(store.reads_per_change(of.processes, changes))
    met = float(store.changed_within(of.rate / of.processes, 1 / changes)) if changes else 0.0
    at_once = 1 + of.rate / of.processes * UPDATE_READS * of.round_trip
    least, most = (each - changes) * met + changes, each * at_once + UPDATE_READS * changes
    own = float(store.reads_in_each(of.rate))
    if rule in (*WHOLE, "one_of_the_copies"):
        return own + changes, own + UPDATE_READS * changes
    if rule in (*VERSION, *COPIED):
        return own + least, own + most
    if rule in AFTER_CHANGES:
        headed = 1 if rule == "local_to_storage" else 2
        return headed * least - changes * (headed > 1), 2 * most
    return _polled(rules, of, each)


def _polled(rules: Rules, of: Readers, each: float) -> tuple[float, float] | None:
    """Of processes that read by the clock, or once a watch fires; `each` is one read of each of
    them for each change."""
    rule, changes = rules["read_schema"], of.changes
    in_force = rule in IN_FORCE
    if rule == KEPT and rules["background"] == "watch_the_head":
        herd = WATCH_READS * each
        return herd + changes, herd + WATCH_READS * changes
    if in_force:
        every = float(rules["distance_ms"]) - of.window * (rule == "in_force_less_the_window")
    elif rule == KEPT and rules["background"] == "poll_the_head":
        every = float(rules["poll_ms"])
    else:
        return None
    idle = of.processes / of.rate if in_force and of.rate else 0.0
    polls = [float(store.reads_every(of.processes, every + more)) for more in (of.read + idle, 0.0)]
    again = 2 * each * (rules["after_failure"] == "read_again_after_conflicts")
    met = float(store.changed_within(changes, every))
    taken_in = min(polls[0] * met, each - changes) * (not in_force)
    most = each * (1 + of.rate / of.processes * UPDATE_READS * of.round_trip)
    return polls[0] + taken_in + changes, polls[1] + most + UPDATE_READS * changes + again


# --- 6.3: aborts ----------------------------------------------------------------------------------

OF_THE_STORE: Final = (*WHOLE[:1], *VERSION, *COPIED, "metadata_version")
"""Rules of `read_schema` by which any change since the read version conflicts."""
FENCED: Final = ("schema_key", "local_head", "cutover_key")
"""Fences with which it does."""
SINCE_READ: Final = "schema_key_in_the_past"
"""The fence with which any change does since the process has read its schema."""
NOTHING: Final = "unfenced"


def conflicts_with(rules: Rules) -> str | None:
    """Which changes since the read version abort a transaction that writes: `store`, all;
    `since_read`, all, and those since its process has read the schema; `tables`, those of what it
    used; `nothing`. None: no form says. A statement of C14 commits while every process reads the
    head in its transactions: C1's conflicts. Where some processes may not, no form says."""
    if rules["exclude"] != UNLOCKED:
        return None
    if rules["fence"] == "object_keys":
        return "tables"
    if rules["fence"] == SINCE_READ:
        return "since_read"
    if rules["fence"] in FENCED or rules["read_schema"] in OF_THE_STORE:
        return "store"
    if rules["before_statement"] == BY_MODE:
        return "store"
    unfenced = rules["fence"] == NOTHING and rules["before_statement"] == "nothing"
    return "nothing" if unfenced else None


# --- 6.2: statements ------------------------------------------------------------------------------


class Commits(NamedTuple):
    """A statement's own transaction with one read and with two, and one of its process that reads
    nothing (`own`); the time to a read version (`version`), how old it may be where nothing commits
    (`lag`), the window W, a message to the process (`client`), and the wait for the transactions
    that use what the statement changes (`used`), all in ms."""

    one: ArrayLike
    two: ArrayLike
    own: ArrayLike
    version: ArrayLike
    round_trip: ArrayLike
    lag: float
    window: float
    client: ArrayLike
    used: ArrayLike = 0.0


AT_ONCE: Final = ("at_once", "read_again")
"""Rules of `settle` that wait for nothing but a read."""
BY_MODE: Final = "all_pessimistic"
QUEUED: Final = "once_unlocked"
"""The rule of `exclude` with locks, and a queue for them."""
GIVEN_BACK: Final = "older_leases_end"
"""The rule of `settle` that waits until no process has an older lease in the store."""
FORGETS: Final = (
    "three_states_alone", "all_states", "all_states_up", "without_delete_only",
    "without_write_only", "without_reorganization", "backfill_too_early",
)  # fmt: skip
"""The plans whose statements end with a transaction that forgets how far they were: all but those
that create a table."""


def waits_for_users(rules: Rules) -> bool:
    """Whether a statement waits for the transactions that use what it changes."""
    return rules["exclude"] == QUEUED or rules["settle"] == GIVEN_BACK


def statement_ms(rules: Rules, of: Commits) -> Both | None:
    """6.2: the latency of a statement of one step.

    A second read where the process has not all of the log; a wait for a version ends with a look at
    it, and versions come as late as the store is idle; C14 pushes a mode twice, waits for polls and
    for the window. No form knows of statements that wait for each other.
    """
    one, two, version, own, round_trip = (
        np.asarray(each, dtype=np.float64)
        for each in (of.one, of.two, of.version, of.own, of.round_trip)
    )
    settle, distance = rules["settle"], float(rules["distance_ms"])
    forgets = own * (rules["plan"] in FORGETS)
    if rules["before_statement"] == BY_MODE:
        wait = of.window + 2 * (own + round_trip)
        return one + wait, two + wait + 2 * float(rules["poll_ms"]) + 6 * version
    if rules["before_statement"] != "nothing" or rules["exclude"] not in (UNLOCKED, QUEUED):
        return None
    if waits_for_users(rules):
        return _behind_users(rules, of, forgets)
    if settle in AT_ONCE:
        again = (version + 2 * round_trip) * (settle == "read_again")
        return one + again, two + again
    if settle == "leases_end":
        lease = store.longest_lease(float(rules["lease_ms"]), float(rules["drift_percent"]) / 100)
        return store.statement(one, wait=lease), store.statement(two, wait=lease + forgets)
    if rules["activation"] == "after_read_version":
        since = np.asarray(of.client) + version
        ends = [store.anchored_at_read_version(each, distance, behind=since) for each in (one, two)]
        return ends[0] - of.lag, ends[1] + 2 * version + forgets + of.lag
    if rules["activation"] == "after_commit_version":
        drained = settle == "in_force_and_drained"
        behind = distance + of.window * float(rules["cutoff_percent"]) / 100 * drained
        ends = [store.statement(each, wait=behind) for each in (one, two)]
        return ends[0] - version, ends[1] + 2 * version + forgets + of.lag
    return None


def _behind_users(rules: Rules, of: Commits, forgets: Array) -> Both:
    """6.2, B16: a statement behind the transactions that use what it changes.

    Locks: it reads the locks and the queue in its transaction. Where one lasts, it stands in the
    queue by a transaction of its own, those that only read release theirs by another, and a look
    at the locks comes a poll late.

    Leases in the store: behind its update every process leases the newest schema (head and log are
    read), gives the older one back at a poll, once no transaction needs it, and the statement's
    look comes a poll late. At most, a process has begun to renew the older one just before.
    """
    one, two, version, own, round_trip, used = (
        np.asarray(each, dtype=np.float64)
        for each in (of.one, of.two, of.version, of.own, of.round_trip, of.used)
    )
    poll = float(rules["poll_ms"])
    look = version + round_trip
    if rules["exclude"] == QUEUED:
        found = UPDATE_READS * round_trip
        late = (used > 0) * (2 * own + poll + look + found)
        return one + found + used, two + found + used + late
    leased = own + UPDATE_READS * round_trip
    least = one + round_trip + np.maximum(leased, used) + own + look
    most = two + 2 * round_trip + 2 * leased + used + 2 * poll + 2 * own + look + forgets
    return least, most
