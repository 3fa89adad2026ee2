"""The probes: every rare branch of the simulated code that counts how often it was reached.

A run over many seeds lists those that no seed has reached: a branch that no run takes is untested.
"""

from collections.abc import Container
from typing import Final, NamedTuple

from ddlsim.model.clauses import PAUSE_POINTS
from ddlsim.model.reasons import Reason


class Probe(NamedTuple):
    """A branch by its name, and in words what happens there."""

    name: str
    sentence: str


def _of_reason(reason: Reason) -> Probe:
    name = f"abort-{reason.name.lower().replace('_', '-')}"
    return Probe(name, f"a transaction was aborted: {reason.sentence}")


OF_DDL: Final = (
    Reason.DDL_REFUSED,
    Reason.DDL_CONFLICT,
    Reason.OBJECT_EXISTS,
    Reason.OBJECT_NOT_FOUND,
    Reason.TX_FINISHED,
)
"""Reasons for which an operation fails, but no transaction aborts."""

ABORTS: Final = tuple(_of_reason(reason) for reason in Reason if reason not in OF_DDL)
"""One for each reason for which a transaction may be aborted.

`abort-bad-row` is an update that keeps a NULL in a column that has become NOT NULL: no run of a
design reaches it whose rule refuses SET NOT NULL, as F-15's closing one does.
"""

PAUSES: Final = tuple(
    Probe(f"paused-{point.name}", f"a scripted pause stopped a task {point.name}")
    for point in PAUSE_POINTS
)
"""Only scripts reach them."""

BRANCHES: Final = (
    # the meta storage and the catalog
    Probe("submit-resent", "a DDL's command was sent to the leader again"),
    Probe("append-resent", "a leader sent entries again that were not acknowledged"),
    Probe("idle-tick", "the leader committed an idle safe-time command"),
    Probe("catalog-cas-lost", "an update found another catalog version than it was made for"),
    Probe("alias-ended", "the old name of what had been renamed ended"),
    Probe("slow-listener", "a slow listener held safe time back"),
    Probe("schema-activated", "a schema version came into force on a node"),
    Probe("completeness-wait", "a look-up waited until the schema was complete"),
    Probe("read-time-awaited", "a coordinator waited for a read timestamp that lay in its future"),
    Probe("statement-awaits-metadata", "a DDL waited until its node's metadata was complete"),
    Probe("users-awaited", "a DDL waited for transactions that had used its table"),
    Probe("lock-awaited", "an operation waited for a lock on a table behind a DDL"),
    Probe("locks-awaited", "a DDL waited for locks on its table, in front of what came later"),
    Probe("unique-lookup", "values of a unique index were looked up in another partition"),
    Probe("newer-row-excused", "a row of a newer schema was read under an older one"),
    Probe("barrier-met", "a look-up waited behind a barrier"),
    Probe("proceeded-unsafely", "a look-up went on with incomplete metadata"),
    Probe("tick-ignored", "an idle command of a leader that leads no more was ignored"),
    Probe("late-start-of-ticks", "a new leader began its idle commands late"),
    Probe("restart-waits", "a node started again only once its clock showed its disk's limit"),
    # groups and leases
    Probe("election", "a group elected a leader"),
    Probe("election-timeout", "a follower had no message of a leader for an election timeout"),
    Probe("quorum-lost", "a leader without answers of a majority stepped down"),
    Probe("transfer", "a fault or the script made a leader hand over"),
    Probe("log-compacted", "a log was cut behind a snapshot"),
    Probe("snapshot-install", "a member that had fallen behind was sent a snapshot"),
    Probe("catalog-version-awaited", "entries waited until the catalog knew their schema"),
    Probe("lease-prolonged", "a lease was prolonged"),
    Probe("lease-cas-lost", "two placement drivers wrote leases, one lost"),
    Probe("failover", "a partition got another primary"),
    Probe("lease-fenced", "a primary reported a lease under which its group takes no write"),
    Probe("partition-tick", "a partition's leader stamped an idle command"),
    Probe("partition-submit-repeated", "a command was sent to a partition's leader again"),
    Probe("write-fenced", "a write under a lease that was over was refused by the log"),
    # DDL
    Probe("ddl-installed", "a DDL statement took effect"),
    Probe("ddl-noop", "a DDL statement had nothing to do"),
    Probe("ddl-refused", "a DDL statement was refused"),
    Probe("table-looked-at", "a DDL read its table to see if it is empty"),
    Probe("column-pending", "a mandatory column was installed, and its table not looked at yet"),
    Probe("column-confirmed", "a table was empty when its column became pending"),
    Probe("column-cancelled", "a pending column was dropped: its table had rows"),
    Probe("ddl-attempts-exhausted", "a DDL statement lost against others at every attempt"),
    # transactions
    Probe("implicit-retry", "an implicit transaction was tried again by its coordinator"),
    Probe("outcome-looked-up", "a process looked for the outcome of a commit without an answer"),
    Probe("statement-resumed", "a process that started again went on with a DDL statement"),
    Probe("implicit-retry-over", "an implicit transaction was not tried again: its time was up"),
    Probe("unlocked-without-check", "a transaction that only read keys ended without validation"),
    Probe("client-version-refreshed", "a client's cached schema was out of date"),
    Probe("transborder-commit", "a transaction committed across a schema change"),
    Probe("finish-resent", "the outcome of a transaction was sent again"),
    Probe("cleanup-resent", "a clean-up was sent again"),
    Probe("transaction-timed-out", "a transaction was aborted when its time was up"),
    Probe("enlisted-before-activation", "a version was enlisted whose end was known already"),
    Probe("marked-rollback", "an open transaction was marked for rollback"),
    Probe("enlisted-under-two-names", "a transaction met one table under two names"),
    Probe("reenlisted", "a table was enlisted again: nothing of the transaction had run on it"),
    Probe("lock-wait", "an operation waited for a lock"),
    Probe("lock-retry", "a refused lock was retried"),
    Probe("wait-die-abort", "an operation died rather than wait for an older transaction"),
    Probe("newer-row-met", "an operation met a row of a newer schema version"),
    Probe("primary-awaited", "a coordinator waited until a partition had a primary"),
    Probe("lease-awaited", "an operation came before the lease that it names"),
    Probe("primary-expired", "an operation came under a lease that was over"),
    Probe("answer-awaits-activation", "a commit was answered once its versions were active"),
    Probe("replication-awaited", "a commit waited until its writes were replicated"),
    Probe("commit-awaits-leases", "a commit waited for updates that may prolong a lease"),
    Probe("lease-over-at-commit", "a transaction's locks were lost before its commit timestamp"),
    Probe("one-phase-commit", "a single write committed in one phase"),
    Probe("one-phase-revalidated", "a partition's leader judged a write at its own stamp"),
    Probe("one-phase-awaits-metadata", "a leader's metadata was not complete for its own stamp"),
    Probe("one-phase-asked-again", "a single write was retried at a leader without metadata"),
    Probe("one-phase-repeated", "a single write was sent again, its outcome unknown"),
    Probe("intent-resolved", "an intent was met whose transaction's outcome had to be looked up"),
    Probe("coordinator-recovery", "a transaction was aborted without its coordinator"),
    Probe("cleanup-resumed", "a new primary went on sending an outcome to participants"),
    Probe("read-only-read", "a read-only transaction read"),
    Probe("read-only-wait", "a replica waited until it was complete up to a read's timestamp"),
    Probe("read-at-another-replica", "a replica did not answer a read, so another was asked"),
    # builds of indexes
    Probe("index-drain", "the next state of an index waited for older transactions of a node"),
    Probe("index-drain-skipped", "a node did not answer, and its transactions were not waited for"),
    Probe("index-state-ended", "an index went on to its next state"),
    Probe("backfill-begun", "a backfill began with the first rows of a partition"),
    Probe("backfill-resumed", "a backfill went on with further rows of a partition"),
    Probe("index-gone", "a query by an index was refused: the index was removed by then"),
    # the key-value store
    Probe("store-recovery", "the store's controller began a recovery"),
    Probe("store-rollback", "a storage server took back what a recovery had not committed"),
    Probe("store-too-old", "a read or a commit was refused as older than the window"),
    Probe("store-conflict", "a resolver refused a transaction that had read what was written"),
    Probe("store-required", "a proxy refused a transaction by what it required of local keys"),
    Probe("store-change-taken", "a proxy took another proxy's change of the local state"),
    Probe("store-batch-repeated", "a resolver was sent a batch again"),
    Probe(
        "store-batch-overtakes", "a batch's request for versions overtook that of an earlier batch"
    ),
    Probe("store-copy-ignored", "a proxy got a copy of a commit"),
    Probe("store-commit-unknown", "a client was left without the outcome of its commit"),
    Probe("store-version-awaited", "a storage server had not reached a read's version"),
    Probe("store-future-version", "a storage server did not reach a read's version in time"),
    Probe("store-window-full", "a proxy held a batch a window ahead of what had committed"),
    Probe("store-watch-fired", "a watch fired"),
    # faults
    Probe("crash", "a node crashed"),
    Probe("unsynced-lost", "a disk lost what was not synced"),
    Probe("slow-disk", "a write waited for a slow disk"),
    Probe("setting-changed", "a setting was changed while the node ran"),
    Probe("fault-on-nobody", "no node had the role that a fault names: its table did not exist"),
)

ONLY_BROKEN: Final = ("tick-ignored",)
"""Reached under mutants alone: the idle timer ends with its term, so that each idle command has
the term of its entry."""

PROBES: Final = (*BRANCHES, *ABORTS, *PAUSES)
"""All of them; the tests compare this list with the code."""

_ADDED: Final[dict[str, Probe]] = {}


def add(name: str, sentence: str) -> Probe:
    """Make a probe of a plug-in known, so that a scenario can ask for it."""
    return _ADDED.setdefault(name, Probe(name, sentence))


def known() -> tuple[Probe, ...]:
    """Every probe that a scenario can ask for, those of plug-ins too."""
    return (*PROBES, *_ADDED.values())


def never_reached(reached: Container[str]) -> tuple[str, ...]:
    """The probes that are not among those reached, but for what only mutants reach."""
    branches = (*BRANCHES, *ABORTS, *_ADDED.values())
    return tuple(
        probe.name
        for probe in branches
        if probe.name not in reached and probe.name not in ONLY_BROKEN
    )
