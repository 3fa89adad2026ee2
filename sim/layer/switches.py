"""What designs need of the store: switches of what FoundationDB lacked in 2018, and features.

And which designs lock tables, whatever the store does with rows.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from ddlsim.layer.design import LayerDesign
from ddlsim.layer.rules import fences, leases, locks, publishing, reading, waiting

NEEDS: Final[dict[object, str]] = {
    reading.local_to_storage: "local_keys",
    fences.local_head: "local_keys",
    publishing.head_and_local: "local_keys",
    fences.schema_key_in_the_past: "past_read_conflicts",
    publishing.head_in_the_future: "future_write_conflicts",
    waiting.switch_registered_ahead: "future_write_conflicts",
}
"""The switch that must be on, by rule."""
METADATA_VERSION: Final = "metadata_version"
SCHEMA_REPLICAS: Final = "schema_replicas"
FEATURES: Final[dict[str, str]] = {
    METADATA_VERSION: "a version that comes with every read version (FoundationDB from 6.1 on)",
    "local_keys": "keys that every storage server holds, compared by proxies at the commit",
    "past_read_conflicts": "a read conflict since a version before the read version",
    "future_write_conflicts": "a write conflict at a version after the commit version",
    SCHEMA_REPLICAS: "more replicas of one range of keys than of the rest",
}
"""What a store may lack, by name, and what each is. FoundationDB has the first one alone."""
SHIPPED: Final = (METADATA_VERSION,)
"""What FoundationDB has as it is."""
RELIES_ON: Final[dict[object, str]] = NEEDS | {
    reading.metadata_version: METADATA_VERSION,
    reading.metadata_version_at_snapshot: METADATA_VERSION,
    reading.metadata_version_wrong_tag: METADATA_VERSION,
    publishing.head_and_metadata_version: METADATA_VERSION,
}
"""The feature that a rule needs; the simulated store always has the metadata version."""
LOCKS: Final = (
    locks.locked_with_a_fresh_catalog,
    locks.locked_with_the_catalog_of_the_snapshot,
    leases.lease_all_in_use,
)
"""Rules by which a statement waits for every open transaction that uses its table: a lock on it,
or a lease that does not end before the transaction (strategies.md 5, TiDB's metadata lock)."""


def switches_of(design: LayerDesign) -> tuple[str, ...]:
    """The switches that must be on for a design, by name."""
    return tuple(sorted(_named(design, NEEDS)))


def features_of(design: LayerDesign) -> tuple[str, ...]:
    """The features that a store must have for a design, in the order of `FEATURES`."""
    found = _named(design, RELIES_ON) | ({SCHEMA_REPLICAS} if design.schema_replicas else set())
    return tuple(name for name in FEATURES if name in found)


def locks_tables(design: LayerDesign) -> bool:
    """Whether a statement waits for every open transaction that uses its table."""
    return any(rule in LOCKS for rule in _rules(design))


def _named(design: LayerDesign, names: Mapping[object, str]) -> set[str]:
    """The names of the rules in the fields of a design that have one."""
    return {names[rule] for rule in _rules(design) if rule in names}


def _rules(design: LayerDesign) -> list[object]:
    """The rules in the fields of a design."""
    values = [getattr(design, one.name) for one in fields(design)]
    lists = [value if isinstance(value, tuple) else (value,) for value in values]
    return [rule for rules in lists for rule in rules if callable(rule)]
