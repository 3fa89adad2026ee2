"""Versions: what orders commits, and how a version becomes a timestamp of the history.

A version is an `int`. Every committed transaction has a version of its own: FoundationDB gives all
transactions of a batch one version and tells them apart by their place in it (the last two bytes of
a versionstamp); here the place is part of the version, so that a batch takes as many versions as it
has transactions. A read version is always the last version of a batch.
"""

from ddlsim.units import Timestamp, timestamp

US_PER_S = 1_000_000
US_PER_MS = 1000


def stamp(version: int, per_second: int) -> Timestamp:
    """A version as a timestamp: physical part in milliseconds, logical part in microseconds.

    `per_second`: versions in a second. Exact up to 1,000,000 of them.
    """
    us = version * US_PER_S // per_second
    return timestamp(us // US_PER_MS, us % US_PER_MS)


def versions_in(duration_ms: int, per_second: int) -> int:
    """How many versions go by in so many milliseconds."""
    return duration_ms * per_second // US_PER_MS
