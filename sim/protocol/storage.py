"""Rows by version: what a primary stores for a partition.

A row is kept as it was encoded: a tuple of values in the column order of one schema version, and
that version's number beside it. It is decoded with that version and then upgraded to the schema of
whoever reads it. A *write intent* is a row that its transaction has not committed yet; strict locks
keep everybody else from seeing it. A deleted row stays as a version without values, so that a read
of its absence can tell whose deletion it saw.
"""

from sim.model.ops import Key
from sim.model.records import Record
from sim.protocol.messages import Tuple, TxId
from sim.units import Timestamp


class RowVersion(Record, frozen=True):
    """One version of a row; `row` None is a deletion."""

    writer: str
    commit_ts: Timestamp
    version: int
    row: Tuple | None


class Intent(Record, frozen=True):
    """A row that a transaction wrote and has not committed."""

    tx: TxId
    version: int
    row: Tuple | None


class Partition:
    """The rows of one partition of one table: committed versions by key, and intents."""

    __slots__ = ("intents", "rows")

    def __init__(self) -> None:
        self.rows: dict[Key, list[RowVersion]] = {}
        self.intents: dict[Key, Intent] = {}

    def read(self, tx: TxId, key: Key) -> tuple[str | None, int, Tuple | None]:
        """What `tx` sees under the key: (writer, schema version, row); writer None: never written.

        Its own intent if it has one, else the newest committed version.
        """
        intent = self.intents.get(key)
        if intent is not None and intent.tx == tx:
            return tx.label, intent.version, intent.row
        versions = self.rows.get(key)
        if not versions:
            return None, 0, None
        newest = versions[-1]
        return newest.writer, newest.version, newest.row

    def keys(self, tx: TxId) -> list[Key]:
        """Every key that was ever written here, as far as `tx` can see, in order of first write."""
        keys = list(self.rows)
        keys += [
            key for key, intent in self.intents.items() if intent.tx == tx and key not in self.rows
        ]
        return keys

    def write(self, tx: TxId, key: Key, version: int, row: Tuple | None) -> None:
        """Leave a write intent; the exclusive lock makes sure that nobody else has one there."""
        known = self.intents.get(key)
        assert known is None or known.tx == tx, f"{tx.label} writes over {known}"
        self.intents[key] = Intent(tx, version, row)

    def finish(self, tx: TxId, key: Key, commit_ts: Timestamp | None) -> None:
        """Turn the intent into a committed version, or drop it."""
        intent = self.intents.pop(key, None)
        assert intent is not None, f"no intent under {key!r} to finish"
        assert intent.tx == tx, f"{tx.label} finishes an intent of {intent.tx.label}"
        if commit_ts is not None:
            version = RowVersion(tx.label, commit_ts, intent.version, intent.row)
            self.rows.setdefault(key, []).append(version)
