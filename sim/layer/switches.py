"""The rules of designs that need what FoundationDB lacked in 2018, and its switch in the store."""

from dataclasses import fields
from typing import Final

from ddlsim.layer.design import LayerDesign
from ddlsim.layer.rules import fences, publishing, reading, waiting

NEEDS: Final[dict[object, str]] = {
    reading.local_to_storage: "local_keys",
    fences.local_head: "local_keys",
    publishing.head_and_local: "local_keys",
    fences.schema_key_in_the_past: "past_read_conflicts",
    publishing.head_in_the_future: "future_write_conflicts",
    waiting.switch_registered_ahead: "future_write_conflicts",
}
"""The switch that must be on, by rule."""


def switches_of(design: LayerDesign) -> tuple[str, ...]:
    """The switches that must be on for a design, by name."""
    found = {NEEDS[rule] for one in fields(design) for rule in _rules(getattr(design, one.name))}
    return tuple(sorted(found))


def _rules(value: object) -> list[object]:
    rules = value if isinstance(value, tuple) else (value,)
    return [one for one in rules if callable(one) and one in NEEDS]
