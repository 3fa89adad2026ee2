"""The choices that matter where something fails: leaders, leases, commits, recovery, reads."""

from ddlsim.model.hlc import HybridClock
from ddlsim.model.reasons import Reason
from ddlsim.units import Timestamp, plus_ms


def tick_of_its_term(tick_term: int, log_term: int) -> bool:
    """A safe-time command counts only in the term of the leader that made it [98.x.6]."""
    return tick_term == log_term


def any_tick(_tick_term: int, _log_term: int) -> bool:
    """A safe-time command counts in every term."""
    return True


def merge_last_stamp(clock: HybridClock, last_stamp: Timestamp) -> None:
    """A new leader's clock goes beyond every stamp in its log [98.x.1]."""
    clock.update(last_stamp)


def keep_own_clock(_clock: HybridClock, _last_stamp: Timestamp) -> None:
    """A new leader trusts its own clock."""


def new_stamp(_first_ts: Timestamp | None, now: Timestamp) -> Timestamp:
    """A command that is sent again is stamped with the leader's now, as any other [98.x.5]."""
    return now


def first_stamp(first_ts: Timestamp | None, now: Timestamp) -> Timestamp:
    """A command that is sent again keeps the stamp that this leader gave it first."""
    return now if first_ts is None else first_ts


def as_far_as_the_log(message_ts: Timestamp) -> Timestamp:
    """A restarted node is as complete as what it has applied: safe time comes back [98.x.7]."""
    return message_ts


def from_the_beginning(_message_ts: Timestamp) -> Timestamp:
    """A restarted node begins with the safe time of a new cluster."""
    return Timestamp(0)


def after_the_last_activation(planned_ts: Timestamp, last_ts: Timestamp) -> Timestamp:
    """Versions activate in the order of the log, also where DD has become smaller meanwhile."""
    return max(planned_ts, Timestamp(last_ts + 1))


def as_planned(planned_ts: Timestamp, _last_ts: Timestamp) -> Timestamp:
    """A version activates at Tm + DD, whatever the one before it does."""
    return planned_ts


def expired_everywhere(expiration_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """From when on a lease has expired on every clock: CSmax after it has on one."""
    return plus_ms(expiration_ts, max_clock_skew_ms)


def expired_here(expiration_ts: Timestamp, _max_clock_skew_ms: int) -> Timestamp:
    """From when on a lease has expired on the driver's own clock."""
    return expiration_ts


def keep_the_laggard(_behind_us: int, _laggard_us: int) -> bool:
    """A primary whose meta storage lags stays primary, and its transactions wait [98.risk.2]."""
    return True


def promote_another(behind_us: int, laggard_us: int) -> bool:
    """A primary whose meta storage lags by `laggard_ms` or more loses its lease [98.risk.2]."""
    return behind_us < laggard_us


def same_token(command_start: Timestamp, lease_start: Timestamp) -> bool:
    """A write that was sent under a lease that is over is refused (IGNITE-21572)."""
    return command_start == lease_start


def any_token(_command_start: Timestamp, _lease_start: Timestamp) -> bool:
    """Every write is applied, whatever lease it was sent under."""
    return True


def beyond_the_log(clock: HybridClock, last_stamp: Timestamp) -> Timestamp:
    """A partition's stamps rise also where its leader changes (IGNITE-20709)."""
    return clock.beyond(last_stamp)


def own_time(clock: HybridClock, _last_stamp: Timestamp) -> Timestamp:
    """A partition's leader stamps by its own clock, whatever stamps its log holds."""
    return clock.now()


def while_the_lease_lasts(commit_ts: Timestamp, expiration_ts: Timestamp) -> Reason | None:
    """The locks were held until commit_ts: the lease under which they were taken lasted."""
    return None if commit_ts < expiration_ts else Reason.PRIMARY_EXPIRED


def whatever_the_lease(_commit_ts: Timestamp, _expiration_ts: Timestamp) -> Reason | None:
    """Commit whether or not the locks still hold."""
    return None


def up_to_ten_times(attempts: int) -> bool:
    """An implicit transaction is retried by its coordinator, up to ten attempts [110.flow.8]."""
    return attempts < 10


def once_only(_attempts: int) -> bool:
    """An implicit transaction is not retried."""
    return False


def same_decision(decided_ts: Timestamp, _now: Timestamp) -> Timestamp:
    """A finish that is resent carries the same commit_ts."""
    return decided_ts


def new_decision(_decided_ts: Timestamp, now: Timestamp) -> Timestamp:
    """A finish that is resent carries a commit_ts of now."""
    return now


def recovery_aborts(_now: Timestamp) -> Timestamp | None:
    """Recovery of a transaction without its coordinator only ever aborts it."""
    return None


def recovery_commits(now: Timestamp) -> Timestamp | None:
    """Recovery of a transaction without its coordinator commits it."""
    return now


def single_writes(action: str, implicit: bool) -> bool:  # noqa: FBT001 - it comes with the request
    """An implicit write of one key commits in one phase."""
    return implicit and action in {"put", "delete"}


def never_in_one_phase(_action: str, _implicit: bool) -> bool:  # noqa: FBT001 - as above
    """Every transaction commits in two phases."""
    return False


def safely_in_the_past(
    session_ts: Timestamp | None, now: Timestamp, lag_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """A read-only transaction reads as of a past that replicas have, and not before its session."""
    past = plus_ms(now, -(lag_ms + max_clock_skew_ms))
    return past if session_ts is None else max(past, session_ts)


def in_the_past(
    _session_ts: Timestamp | None, now: Timestamp, lag_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """A read-only transaction reads in the past, even before its session (IGNITE-20668)."""
    return plus_ms(now, -(lag_ms + max_clock_skew_ms))
