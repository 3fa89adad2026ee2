"""The names of replication groups."""

from typing import Final

META: Final = "meta"
"""The group of the meta storage; that of a partition is called by its table and number, `t/0`."""
