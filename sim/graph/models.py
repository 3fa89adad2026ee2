"""Consistency models by what they forbid (Adya's names; Elle's for what lists show).

A model forbids phenomena, and says which orders beside the data's count: none, that of each
process, or real time too. `strict-serializable` is strong serializability. `read-uncommitted` is
Adya's PL-1: no G0, whatever was read of transactions that aborted. From `read-committed` (PL-2) on
a transaction finds its own writes and none that it has yet to make. `read-atomic` (Bailis et al.,
SIGMOD 2014; Cerone, Bernardi, Gotsman, CONCUR 2015) sees of another transaction all or nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ddlsim.graph.names import split

_UNCOMMITTED: Final = frozenset({"G0", "garbage-read", "duplicate-elements", "incompatible-order"})
_COMMITTED: Final = _UNCOMMITTED | {
    "G1a",
    "G1b",
    "G1c",
    "dirty-update",
    "future-read",
    "missed-own-write",
}
_ATOMIC: Final = _COMMITTED | {"internal", "fractured-read"}
_SNAPSHOT: Final = _ATOMIC | {
    "lost-update",
    "long-fork",
    "G-single",
    "G-nonadjacent",
}
_SERIALIZABLE: Final = _SNAPSHOT | {"G2-item", "G2-predicate"}


@dataclass(frozen=True, slots=True)
class Model:
    """A model: the phenomena it forbids, and up to which order (0 data, 1 process, 2 real time)."""

    name: str
    forbids: frozenset[str]
    level: int

    def forbids_type(self, type_: str) -> bool:
        """Whether an anomaly of this type, suffix and prefix included, breaks the model."""
        base, level = split(type_)
        return base in self.forbids and level <= self.level

    def implies(self, other: "Model") -> bool:
        """Whether what keeps to this model keeps to the other one too; a model implies itself."""
        return self.forbids >= other.forbids and self.level >= other.level


MODELS: Final = {
    model.name: model
    for model in (
        Model("read-uncommitted", _UNCOMMITTED, 0),
        Model("read-committed", _COMMITTED, 0),
        Model("read-atomic", _ATOMIC, 0),
        Model("snapshot-isolation", _SNAPSHOT, 0),
        Model("serializable", _SERIALIZABLE, 0),
        Model("strong-session-snapshot-isolation", _SNAPSHOT, 1),
        Model("strong-session-serializable", _SERIALIZABLE, 1),
        Model("strong-snapshot-isolation", _SNAPSHOT, 2),
        Model("strict-serializable", _SERIALIZABLE, 2),
    )
}
"""Every model by its name, weaker ones first."""
DEFAULT: Final = "strict-serializable"


def ruled_out(types: Iterable[str]) -> tuple[str, ...]:
    """The models that any of these anomalies breaks, weaker ones first."""
    seen = tuple(types)
    return tuple(
        name for name, model in MODELS.items() if any(model.forbids_type(one) for one in seen)
    )


def model_of(name: str) -> Model:
    """A model by its name; `ValueError` with all names for an unknown one."""
    if name not in MODELS:
        raise ValueError(f"no model {name!r}; there are {', '.join(MODELS)}")
    return MODELS[name]
