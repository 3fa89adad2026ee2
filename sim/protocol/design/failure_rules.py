"""The choices that matter where something fails: leaders, leases, commits, recovery, reads."""

from ddlsim.model.hlc import HybridClock
from ddlsim.model.reasons import Reason
from ddlsim.units import Timestamp, plus_ms


def tick_of_its_term(tick_term: int, log_term: int) -> bool:
    """A safe-time command counts only in the term of the leader that made it [98.x.6]."""
    return tick_term == log_term


def any_tick(tick_term: int, log_term: int) -> bool:
    """A safe-time command counts whoever made it, and whenever."""
    del tick_term, log_term
    return True


def merge_last_stamp(clock: HybridClock, last_stamp: Timestamp) -> None:
    """A new leader's clock goes beyond every stamp in its log [98.x.1]."""
    clock.update(last_stamp)


def keep_own_clock(clock: HybridClock, last_stamp: Timestamp) -> None:
    """A new leader trusts its own clock."""
    del clock, last_stamp


def new_stamp(first_ts: Timestamp | None, now: Timestamp) -> Timestamp:
    """A command that is sent again is stamped with the leader's now, as any other [98.x.5]."""
    del first_ts
    return now


def first_stamp(first_ts: Timestamp | None, now: Timestamp) -> Timestamp:
    """A command that is sent again keeps the stamp that this leader gave it first."""
    return now if first_ts is None else first_ts


def as_far_as_the_log(message_ts: Timestamp) -> Timestamp:
    """A restarted node is as complete as what it has applied: safe time comes back [98.x.7]."""
    return message_ts


def from_the_beginning(message_ts: Timestamp) -> Timestamp:
    """A restarted node knows nothing of safe time, as when the cluster was new."""
    del message_ts
    return Timestamp(0)


def after_the_last_activation(planned_ts: Timestamp, last_ts: Timestamp) -> Timestamp:
    """Versions activate in the order of the log, also where DD has become smaller meanwhile."""
    return max(planned_ts, Timestamp(last_ts + 1))


def as_planned(planned_ts: Timestamp, last_ts: Timestamp) -> Timestamp:
    """A version activates at Tm + DD, whatever the one before it does."""
    del last_ts
    return planned_ts


def expired_everywhere(expiration_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """From when on a lease has expired on every clock: CSmax after it has on one."""
    return plus_ms(expiration_ts, max_clock_skew_ms)


def expired_here(expiration_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """From when on a lease has expired on the driver's own clock."""
    del max_clock_skew_ms
    return expiration_ts


def keep_the_laggard(behind_us: int, laggard_us: int) -> bool:
    """A primary whose meta storage lags stays primary, and its transactions wait [98.risk.2]."""
    del behind_us, laggard_us
    return True


def promote_another(behind_us: int, laggard_us: int) -> bool:
    """A primary whose meta storage lags by `laggard_ms` or more loses its lease [98.risk.2]."""
    return behind_us < laggard_us


def same_token(command_start: Timestamp, lease_start: Timestamp) -> bool:
    """What was sent under a lease that is over leaves nothing in the data (IGNITE-21572)."""
    return command_start == lease_start


def any_token(command_start: Timestamp, lease_start: Timestamp) -> bool:
    """Whatever was sent is applied."""
    del command_start, lease_start
    return True


def beyond_the_log(clock: HybridClock, last_stamp: Timestamp) -> Timestamp:
    """A partition's stamps rise also where its leader changes (IGNITE-20709)."""
    return clock.beyond(last_stamp)


def own_time(clock: HybridClock, last_stamp: Timestamp) -> Timestamp:
    """A partition's leader stamps by its own clock, whatever its predecessors did."""
    del last_stamp
    return clock.now()


def while_the_lease_lasts(commit_ts: Timestamp, expiration_ts: Timestamp) -> Reason | None:
    """The locks were held until commit_ts: the lease under which they were taken lasted."""
    return None if commit_ts < expiration_ts else Reason.PRIMARY_EXPIRED


def whatever_the_lease(commit_ts: Timestamp, expiration_ts: Timestamp) -> Reason | None:
    """Commit without asking whether the locks still stand."""
    del commit_ts, expiration_ts
    return None


def up_to_ten_times(attempts: int) -> bool:
    """An implicit transaction is tried again inside, up to ten times in all [110.flow.8]."""
    return attempts < 10


def once_only(attempts: int) -> bool:
    """An implicit transaction that fails has failed."""
    del attempts
    return False


def same_decision(decided_ts: Timestamp, now: Timestamp) -> Timestamp:
    """A finish that is sent again says the same commit_ts."""
    del now
    return decided_ts


def new_decision(decided_ts: Timestamp, now: Timestamp) -> Timestamp:
    """A finish that is sent again says a commit_ts of now."""
    del decided_ts
    return now


def recovery_aborts(now: Timestamp) -> Timestamp | None:
    """Who finds a transaction without its coordinator only ever aborts it."""
    del now
    return None


def recovery_commits(now: Timestamp) -> Timestamp | None:
    """Who finds a transaction without its coordinator takes it for committed."""
    return now


def single_writes(action: str, implicit: bool) -> bool:  # noqa: FBT001 - it comes with the request
    """An implicit write of one key commits in one phase."""
    return implicit and action in {"put", "delete"}


def never_in_one_phase(action: str, implicit: bool) -> bool:  # noqa: FBT001 - as above
    """Every transaction commits in two phases."""
    del action, implicit
    return False


def safely_in_the_past(
    session_ts: Timestamp | None, now: Timestamp, lag_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """A read-only transaction reads what replicas surely know, and no older than its session."""
    past = plus_ms(now, -(lag_ms + max_clock_skew_ms))
    return past if session_ts is None else max(past, session_ts)


def in_the_past(
    session_ts: Timestamp | None, now: Timestamp, lag_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """A read-only transaction reads in the past, whatever its session has seen (IGNITE-20668)."""
    del session_ts
    return plus_ms(now, -(lag_ms + max_clock_skew_ms))
