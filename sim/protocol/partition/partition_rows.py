"""The committed rows of a partition: versions by key, in the order of their commit timestamps."""

from ddlsim.model.ops import Key
from ddlsim.protocol.partition_state import RowVersion
from ddlsim.units import Timestamp


class Rows:
    """Versions of rows."""

    __slots__ = ("rows",)

    rows: dict[Key, list[RowVersion]]

    def _put(self, key: Key, version: RowVersion) -> None:
        """File a committed version; resolved out of turn, it may not be the newest."""
        versions = self.rows.get(key)
        if versions is None:
            self.rows[key] = [version]
            return
        place = len(versions)
        while place and versions[place - 1].commit_ts > version.commit_ts:
            place -= 1
        versions.insert(place, version)

    def newest(self, key: Key) -> RowVersion | None:
        """The newest committed version of a row."""
        versions = self.rows.get(key)
        return versions[-1] if versions else None

    def as_of(self, key: Key, read_ts: Timestamp) -> RowVersion | None:
        """The committed version of a row that is in force at a timestamp."""
        for version in reversed(self.rows.get(key, ())):
            if version.commit_ts <= read_ts:
                return version
        return None
