"""The names that a scenario may use and that other packages define: messages, points, clauses."""

from collections.abc import Sequence
from types import ModuleType
from typing import Final

from ddlsim.fdb import messages as store_messages
from ddlsim.kernel.host import kind_of
from ddlsim.model.clauses import CLAUSES, PAUSE_POINTS
from ddlsim.model.records import Record
from ddlsim.protocol import barriers, ids, messages, replica_messages
from ddlsim.protocol.index_build import index_states
from ddlsim.protocol.raft import messages as raft
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, near

PAYLOADS: Final = (
    raft.Entry,
    messages.CatalogUpdate,
    messages.NodeJoined,
    messages.SafeTimeCommand,
    ids.TxId,
    store_messages.Entry,
    store_messages.StateChange,
    store_messages.ToResolve,
    store_messages.Tail,
    store_messages.Generation,
)
"""Records that travel inside of messages only."""


def message_types() -> dict[str, type]:
    """Every message of the Ignite plane and of clients, requests and replies, by its kind."""
    return _types_of(messages, replica_messages, barriers, raft)


def store_message_types() -> dict[str, type]:
    """Every message of the FoundationDB plane's store, requests and replies, by its kind."""
    return _types_of(store_messages)


def build_message_types() -> dict[str, type]:
    """The messages by which indexes are built on the Ignite plane, by kind.

    They are apart from the others, since worlds of all designs are drawn from those.
    """
    return _types_of(index_states)


def _types_of(*modules: ModuleType) -> dict[str, type]:
    found: dict[str, type] = {}
    for module in modules:
        for value in vars(module).values():
            is_own = isinstance(value, type) and value.__module__ == module.__name__
            if is_own and issubclass(value, Record) and value not in PAYLOADS:
                found[kind_of(value)] = value
    return dict(sorted(found.items()))


def message_kinds() -> list[str]:
    """Every kind of message of the Ignite plane and of clients, in alphabetical order."""
    return list(message_types())


def all_kinds() -> list[str]:
    """Every kind of message that can be on its way on any plane, in alphabetical order."""
    return sorted({*message_types(), *build_message_types(), *store_message_types()})


def check_kind(kind: str | None, origin: Origin, path: Path) -> None:
    """Check that a message has this kind, since another would match nothing."""
    if kind is not None and kind not in (kinds := all_kinds()):
        raise origin.error(path, f"no message is of the kind {kind!r}; {near(kind, kinds)}")


def check_point(point: str, origin: Origin, path: Path) -> None:
    """Check that the protocol has this point, since another would pause nothing."""
    points = [known.name for known in PAUSE_POINTS]
    if point not in points:
        raise origin.error(path, f"no point is called {point!r}; {near(point, points)}")


def check_clauses(clauses: Sequence[str], origin: Origin) -> None:
    """Check that clauses exist."""
    known = [clause.id for clause in CLAUSES]
    for index, clause in enumerate(clauses):
        if clause not in known:
            what = f"no clause has the id {clause!r}; see ddlsim list clauses"
            raise origin.error(("clauses", index), what)
