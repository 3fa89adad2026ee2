"""The passes of shrinking, in their order: cheap and most reducing first, names last.

Each is a name, one sentence, and a function of the best scenario so far that offers candidates.
"""

from collections.abc import Callable, Generator
from typing import Final, NamedTuple

from ddlsim.shrink import latencies, names, structure, tables, times, world
from ddlsim.shrink.data import Data
from ddlsim.shrink.trial import Failure, Shown

Offer = Callable[[Shown, Failure], Generator[Data, bool | None, object]]
"""The candidates that rest on the best scenario so far; what it returns does not count."""


class Pass(NamedTuple):
    """One way to make a scenario smaller."""

    name: str
    summary: str
    candidates: Offer


def _pass(name: str, candidates: Offer) -> Pass:
    """A pass whose summary is the first sentence of its function."""
    return Pass(name, (candidates.__doc__ or "").partition("\n")[0].rstrip("."), candidates)


FIRST: Final = (
    _pass("load and drain", times.lengths),
    _pass("parties only", structure.parties_only),
    _pass("nothing after", structure.nothing_after),
    _pass("all instants", times.all_instants),
    _pass("some clients", structure.some_clients),
    _pass("some transactions", structure.some_transactions),
    _pass("no latency", latencies.calm),
    _pass("shorter drain", times.drain),
    _pass("by default", world.by_default),
    _pass("around", structure.around),
    _pass("some operations", structure.some_operations),
    _pass("nodes", world.nodes),
    _pass("counts", world.counts),
    _pass("all in order", times.all_ordered),
)
"""What is done once at the beginning, many steps at a time: each run takes less time then."""

PASSES: Final = (
    _pass("parties only", structure.parties_only),
    _pass("nothing after", structure.nothing_after),
    _pass("generated clients", structure.generated),
    _pass("clients", structure.clients),
    _pass("transactions", structure.transactions),
    _pass("nodes", world.nodes),
    _pass("statements", structure.statements),
    _pass("around", structure.around),
    _pass("operations", structure.operations),
    _pass("at their instants", times.at_their_instants),
    _pass("no latency", latencies.calm),
    _pass("counts", world.counts),
    _pass("preset", world.preset),
    _pass("settings", world.settings),
    _pass("constant latencies", latencies.constants),
    _pass("probabilities", latencies.surely),
    _pass("single messages", latencies.written_down),
    _pass("schema", world.schema),
    _pass("plain tables", tables.plain_tables),
    _pass("actions", world.actions),
    _pass("instants", times.instants),
    _pass("order", times.ordered),
    _pass("earlier", times.earlier),
    _pass("round numbers", times.rounded),
)
"""What is done until nothing helps any more."""

LAST: Final = (
    _pass("single holds", latencies.narrow_holds),
    _pass("visible times", names.visible_times),
    _pass("order of steps", names.in_time_order),
    _pass("small keys", names.small_keys),
    _pass("plain names", names.plain_names),
    _pass("nodes once", names.nodes_once),
    _pass("default lengths", times.default_lengths),
)
"""What is done once at the end: not smaller, but easier to read."""
