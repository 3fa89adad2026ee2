"""Clocks, when an update activates, how long a reader waits, when a DDL is acknowledged."""

from collections.abc import Callable

from ddlsim.model.hlc import HybridClock
from ddlsim.model.physical import PhysicalTimestamps
from ddlsim.units import MIN_TIMESTAMP, Timestamp, plus_ms, round_up

UNBOUNDED_MS = 10**10
"""In milliseconds: more than any run takes."""


def hybrid_clock(
    physical_ms: Callable[[], int], last: Timestamp, write_limit: Callable[[int], None]
) -> HybridClock:
    """Timestamps are hybrid (IEP-98, Using safe time), and rise across a restart [98.x.7]."""
    return HybridClock(physical_ms, last, write_limit)


def clock_of_this_life(
    physical_ms: Callable[[], int], _last: Timestamp, _write_limit: Callable[[int], None]
) -> HybridClock:
    """Timestamps are hybrid; a restarted node begins at its physical clock."""
    return HybridClock(physical_ms)


def physical_clock(
    physical_ms: Callable[[], int], _last: Timestamp, _write_limit: Callable[[int], None]
) -> HybridClock:
    """A node's timestamps are those of its physical clock, also when that steps back."""
    return PhysicalTimestamps(physical_ms)


def once_the_limit_has_come(limit_ts: Timestamp) -> Timestamp:
    """A restarted node takes part once its physical clock shows the limit on its disk [98.x.7].

    The hybrid clock begins there. No physical clock need have shown it, and a wait that ends by a
    hybrid clock, Now >= Tu + CSmax, means only then that every clock shows Tu [98.flow.4].
    """
    return limit_ts


def ahead_of_physical_clocks(_limit_ts: Timestamp) -> Timestamp:
    """A restarted node takes part at once, its hybrid clock ahead of its physical one."""
    return MIN_TIMESTAMP


def at_message_plus_delay(message_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """Tu = Tm + DD, with the DD that the message carries [98.past.2]."""
    return plus_ms(message_ts, delay_duration_ms)


def at_message(message_ts: Timestamp, _delay_duration_ms: int) -> Timestamp:
    """Tu = Tm: the update activates with its message (IEP-98, Using safe time) [98.safe.2]."""
    return message_ts


def operation_less_delay(
    op_ts: Timestamp, delay_duration_ms: int, _max_clock_skew_ms: int
) -> Timestamp:
    """Wait for safeTime >= Top - DD [98.past.3]."""
    return plus_ms(op_ts, -delay_duration_ms)


def at_operation(op_ts: Timestamp, _delay_duration_ms: int, _max_clock_skew_ms: int) -> Timestamp:
    """Wait for safeTime >= Top [98.safe.1]."""
    return op_ts


def operation_plus_skew(
    op_ts: Timestamp, _delay_duration_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """Wait for safeTime >= Top + CSmax: what the text's proof says, not its rule."""
    return plus_ms(op_ts, max_clock_skew_ms)


def never_waits(_op_ts: Timestamp, _delay_duration_ms: int, _max_clock_skew_ms: int) -> Timestamp:
    """Do not wait: use the versions that the node has applied."""
    return MIN_TIMESTAMP


def operation_less_delay_plus_skew(
    op_ts: Timestamp, delay_duration_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """Wait for safeTime >= Top - DD + CSmax: right even if a new leader trusts its own clock."""
    return plus_ms(op_ts, max_clock_skew_ms - delay_duration_ms)


def at_activation(activation_ts: Timestamp, _max_clock_skew_ms: int) -> Timestamp:
    """Acknowledge when Now >= Tu on the coordinator's own clock."""
    return activation_ts


def looked_up_at_operation(op_ts: Timestamp, _delay_duration_ms: int) -> Timestamp:
    """The subtraction affects only the wait: the look-up is at Top itself [98.past.3]."""
    return op_ts


def activation_plus_skew_rounded(activation_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """Acknowledge when Now >= Tu + CSmax, up to the next whole physical tick [98.flow.4].

    Physical clocks are within CSmax of each other in whole ticks; a logical part means nothing on
    another node, so it counts as one tick more.
    """
    return round_up(plus_ms(activation_ts, max_clock_skew_ms))


def activation_plus_skew(activation_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """Acknowledge when Now >= Tu + CSmax, as the text has it to the letter [98.flow.4]."""
    return plus_ms(activation_ts, max_clock_skew_ms)


def at_once(_activation_ts: Timestamp, _max_clock_skew_ms: int) -> Timestamp:
    """Acknowledge without waiting."""
    return MIN_TIMESTAMP


def largest_delay(own_ms: int, cluster_ms: int) -> int:
    """A message carries the largest DD of the cluster: no reader's is larger [98.x.4]."""
    return max(own_ms, cluster_ms)


def own_delay(own_ms: int, _cluster_ms: int) -> int:
    """A message carries the DD of the node that built it."""
    return own_ms


def agreed_delay(cluster_ms: int) -> int:
    """No reader subtracts more than the DD that the cluster was built with [98.x.4].

    Every message carries at least that much, so a node whose DD is raised while the cluster runs
    goes on waiting as before.
    """
    return cluster_ms


def whatever_delay(_cluster_ms: int) -> int:
    """A reader subtracts its own DD, however large it is."""
    return UNBOUNDED_MS


def tick_with_new_timestamp(clock: HybridClock) -> Timestamp:
    """An idle safe-time command ticks the clock: no later update can tie with it [98.x.2]."""
    return clock.now()


def tick_with_current_time(clock: HybridClock) -> Timestamp:
    """An idle safe-time command shows the clock without ticking it: ties are possible."""
    return clock.current()
