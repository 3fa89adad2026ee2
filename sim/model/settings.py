"""The numbers of the protocol that follow from others unless they are given.

Every span of time in the protocol is a setting; so that a scenario need not name each of them, most
have a default that is a share of another one. `ALWAYS` of the scenario's tables holds the rest.
"""

from collections.abc import Callable, Mapping
from typing import Final

Numbers = Mapping[str, int]

DERIVED: Final[dict[str, Callable[[Numbers], int]]] = {
    "retry_ms": lambda n: max(1, n["resend_ms"] // 4),
    "heartbeat_ms": lambda n: max(1, n["election_timeout_ms"] // 10),
    "election_spread_ms": lambda n: n["election_timeout_ms"],
    "lease_renewal_ms": lambda n: n["lease_duration_ms"] // 2,
    "lease_grant_ms": lambda n: max(1, n["lease_duration_ms"] // 2),
    "read_resend_ms": lambda n: 2 * n["partition_idle_ms"],
    "orphan_answer_ms": lambda n: max(4 * n["resend_ms"], n["orphan_check_ms"]),
    "orphan_sweep_ms": lambda n: 2 * n["orphan_check_ms"],
    "metadata_wait_ms": lambda n: n["operation_timeout_ms"] // 2,
    "metadata_hope_ms": lambda n: n["operation_timeout_ms"] // 10,
}
"""By the setting's name: what it is where nobody says otherwise, in whole milliseconds."""


def with_derived(numbers: Numbers) -> dict[str, int]:
    """The same numbers, and those that follow from them where they are not given."""
    return {name: rule(numbers) for name, rule in DERIVED.items()} | dict(numbers)
