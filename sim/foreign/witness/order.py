"""Versions that activate before an earlier one of the same object [98.past.2].

[Tu, Tu') takes for granted that Tu < Tu' (IGNITE-20498, F-23): where DD was lowered between two
statements and the order is not kept, the schema goes back. Simulated runs show it by a transaction
that commits meanwhile; of a real cluster the log of schema updates is proof enough. It belongs to
I8: the way from I to C is no longer one of steps in the order of their activation.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.foreign.witness.schema import Truth
from ddlsim.history.events import UpdateLogged
from ddlsim.units import show

UNORDERED = "activations-unordered"


def unordered(truth: Truth) -> Iterator[Anomaly]:
    """Each version against the one before it with the largest Tu; equal ones are in order."""
    last: dict[int, tuple[int, UpdateLogged]] = {}
    for object_id, version in sorted(truth.updates):
        if object_id in truth.doubtful:
            continue
        update = truth.updates[object_id, version]
        before, earlier = last.get(object_id, (version, update))
        if update.activation_ts < earlier.activation_ts:
            tu, later = show(update.activation_ts), show(earlier.activation_ts)
            yield Anomaly(
                UNORDERED,
                f"version {version} of object {object_id} activates at {tu}, before version "
                f"{before}, which does at {later}: then the schema goes back to it",
                (earlier, update),
                clauses=("98.past.2",),
            )
        else:
            last[object_id] = (version, update)
