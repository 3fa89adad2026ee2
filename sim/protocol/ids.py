"""Ids of transactions, partitions and entries of indexes, and a row on the wire."""

from ddlsim.model.records import Record
from ddlsim.model.schema import Value
from ddlsim.units import Timestamp

Tuple = tuple[Value, ...]
"""A row as bytes on the wire: values in the column order of the version it was encoded with."""


PartitionId = tuple[int, int]
"""A partition: (table id, number)."""


class TxId(Record, frozen=True, order=True, cache_hash=True):
    """A transaction: older ones compare smaller; `label` is the client's name for it."""

    begin_ts: Timestamp
    ordinal: int
    label: str


class IndexKey(Record, frozen=True):
    """The values of a row in the columns of a unique index or constraint, by the index's id."""

    index_id: int
    values: Tuple


class EntryChange(Record, frozen=True):
    """An entry of a row that a write adds to an index, or removes from it."""

    index_id: int
    values: Tuple
    added: bool
