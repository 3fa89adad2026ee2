"""The store as FoundationDB promises it: one state after each committed transaction, in order.

The states follow from what was committed alone, transaction by transaction: no batches, windows,
resolvers or shards. A transaction is committed if its generation has accepted it and has not ended
below its version.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping

from ddlsim.fdb.keys import METADATA_VERSION
from ddlsim.fdb.messages import ADD, CLEAR, Commit, Range
from ddlsim.fdb.writes import added

Accepted = tuple[int, Commit]
"""A commit version, and the transaction with its versionstamps filled in."""


class States:
    """Values and writes by key and version."""

    def __init__(self, initial: Mapping[bytes, object], accepted: Iterable[Accepted]) -> None:
        self.committed = dict(sorted(accepted, key=lambda one: one[0]))
        self._values = {key: [(0, value)] for key, value in initial.items()}
        self._written: dict[bytes, list[int]] = {}
        self._spans: list[tuple[int, bytes, bytes]] = []
        self._bumps = [0]
        for version, one in self.committed.items():
            self._carry_out(version, one)
        self._keys = sorted(self._values)
        self._points = sorted(self._written)

    def _carry_out(self, version: int, one: Commit) -> None:
        for kind, key, value in one.mutations:
            if kind == CLEAR:
                assert isinstance(value, bytes), f"{value!r} does not end a range"
                for cleared in [known for known in self._values if key <= known < value]:
                    self._values[cleared].append((version, None))
                continue
            known = self._values.setdefault(key, [])
            before = known[-1][1] if known else None
            known.append((version, added(before, value) if kind == ADD else value))
        if one.bump:
            self._bumps.append(version)
            self._values.setdefault(METADATA_VERSION, []).append((version, version))
        for written in one.writes:
            if isinstance(written, bytes):
                self._written.setdefault(written, []).append(version)
            else:
                self._spans.append((version, *written))

    # --- values -----------------------------------------------------------------------------------

    def at(self, key: bytes, version: int) -> object:
        """A key's value at a version; None: there is none."""
        known = self._values.get(key, ())
        return next((value for since, value in reversed(known) if since <= version), None)

    def within(self, begin: bytes, end: bytes, version: int) -> list[tuple[bytes, object]]:
        """The keys of a range with their values at a version, in order."""
        keys = self._keys[bisect_left(self._keys, begin) : bisect_left(self._keys, end)]
        pairs = [(key, self.at(key, version)) for key in keys]
        return [pair for pair in pairs if pair[1] is not None]

    def bumped_at(self, version: int) -> int:
        """The metadata version at a version."""
        return self._bumps[bisect_right(self._bumps, version) - 1]

    # --- conflicts --------------------------------------------------------------------------------

    def conflict(self, version: int) -> tuple[Range, int] | None:
        """What a committed transaction has read and another one wrote meanwhile, and when."""
        one = self.committed[version]
        asked: list[tuple[Range, int]] = [(read, one.read_version) for read in one.reads]
        for read, since in asked + list(one.pasts):
            written = self._written_in(read, since, version)
            if written is not None:
                return read, written
        return None

    def _written_in(self, read: Range, since: int, until: int) -> int | None:
        """A version between two others at which a key or range was written."""
        begin, end = (read, read + b"\x00") if isinstance(read, bytes) else read
        points = self._points
        for key in points[bisect_left(points, begin) : bisect_left(points, end)]:
            versions = self._written[key]
            place = bisect_right(versions, since)
            if place < len(versions) and versions[place] < until:
                return versions[place]
        for version, first, last in self._spans:
            if since < version < until and first < end and begin < last:
                return version
        return None
