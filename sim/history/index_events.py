"""Internal events on the entries of indexes, where transactions keep them beside the rows.

`values` are those of the index's columns, in its order; `key` is the row's. An entry whose row has
no value in a column has None there.
"""

from typing import Any

from ddlsim.history.event import Event
from ddlsim.model.schema import Value


class IndexWritten(Event, frozen=True):
    """A transaction put an entry into an index (`added`) or took it out.

    So does the backfill of a layer.
    """

    node: str
    tx: str
    op: str
    object_id: int
    index_id: int
    values: tuple[Value, ...]
    key: Any
    added: bool


class IndexFilled(Event, frozen=True):
    """A backfill put an entry of a row into an index (`added`) or took it out.

    It does so for a version of the row, as of its `commit_ts`, by a command that is stamped
    `stamp_ts`.
    """

    node: str
    object_id: int
    index_id: int
    commit_ts: int
    stamp_ts: int
    values: tuple[Value, ...]
    key: Any
    added: bool

    @property
    def tx(self) -> str:
        """What put it there, in words."""
        return "the backfill"


class IndexRead(Event, frozen=True):
    """A query found, by an index at `op_ts`, the rows with these `keys` under these `values`."""

    node: str
    tx: str
    op: str
    object_id: int
    index_id: int
    op_ts: int
    values: tuple[Value, ...]
    keys: tuple[Any, ...]


class IndexPartRead(IndexRead, frozen=True):
    """The same in one `partition` of a table: only the rows there are asked for."""

    partition: int


class IndexFinal(Event, frozen=True):
    """An entry that storage holds at the end of the run."""

    node: str
    object_id: int
    index_id: int
    values: tuple[Value, ...]
    key: Any


IndexEvent = IndexWritten | IndexFilled | IndexRead | IndexPartRead | IndexFinal
"""Every event of this module."""
