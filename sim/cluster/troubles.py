"""What several faults do to one thing at a time: how they add up, and what is left as they end.

A node that two faults have crashed starts again when both are over; disks that two faults slow down
are slowed down twice; of two values of a setting the later one counts for as long as it lasts.
"""

from collections import Counter
from typing import Protocol


class Fragile(Protocol):
    """What is asked to break a cluster."""

    def crash(self, node: str) -> None: ...
    def restart(self, node: str) -> None: ...
    def lose_unsynced(self, node: str, torn: int) -> None: ...
    def set_disk_delay(self, node: str, delay_us: int) -> None: ...
    def set_setting(self, node: str, key: str, value: int) -> int: ...
    def expire_lease(self, name: str) -> None: ...
    def renew_lease(self, name: str) -> None: ...


class Troubles:
    """The faults under way in one cluster, by what they do."""

    def __init__(self, failures: Fragile) -> None:
        self._failures = failures
        self._down: Counter[str] = Counter()
        self._torn: dict[str, int] = {}
        self._disk_us: Counter[str] = Counter()
        self._leases: Counter[str] = Counter()
        self._first: dict[tuple[str, str], int] = {}
        self._values: dict[tuple[str, str], dict[int, int]] = {}
        self._changes = 0

    def down(self, node: str) -> bool:
        """Whether a fault has crashed the node."""
        return self._down[node] > 0

    def crash(self, node: str, torn: int | None) -> None:
        """Crash a node, unless it is down; `torn`: what its disk keeps of what was not synced."""
        self._down[node] += 1
        if torn is not None:
            self._torn[node] = min(torn, self._torn.get(node, torn))
        if self._down[node] == 1:
            self._failures.crash(node)

    def restart(self, node: str) -> None:
        """One fault is over; start the node again if it was the last that kept it down."""
        self._down[node] -= 1
        if self._down[node]:
            return
        torn = self._torn.pop(node, None)
        if torn is not None:
            self._failures.lose_unsynced(node, torn)
        self._failures.restart(node)

    def slow_disk(self, node: str, by_us: int) -> None:
        """A disk is slower by so much more, or less where it is negative."""
        self._disk_us[node] += by_us
        self._failures.set_disk_delay(node, self._disk_us[node])

    def expire_lease(self, place: str) -> None:
        """No lease is prolonged until this was taken back as often as it was done."""
        self._leases[place] += 1
        if self._leases[place] == 1:
            self._failures.expire_lease(place)

    def renew_lease(self, place: str) -> None:
        """Take one `expire_lease` back."""
        self._leases[place] -= 1
        if not self._leases[place]:
            self._failures.renew_lease(place)

    def set_setting(self, node: str, key: str, value: int) -> int:
        """Another value for a setting; the number by which it is taken back."""
        place = (node, key)
        before = self._failures.set_setting(node, key, value)
        if not self._values.get(place):
            self._first[place] = before
        self._changes += 1
        self._values.setdefault(place, {})[self._changes] = value
        return self._changes

    def forget_setting(self, node: str, key: str, change: int) -> None:
        """The value of the latest change that still lasts, or the first one if there is none."""
        values = self._values[node, key]
        del values[change]
        latest = values[max(values)] if values else self._first[node, key]
        self._failures.set_setting(node, key, latest)
