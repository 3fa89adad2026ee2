"""What every event of a history is."""

import msgspec

from ddlsim.model.schema import Value

Cells = tuple[tuple[int, Value], ...]
"""A row: (column id, value) pairs in the order of the schema's columns."""


class Event(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag=True):
    """Something that happened at a simulated instant."""

    at_us: int
