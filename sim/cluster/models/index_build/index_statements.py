"""Statements on indexes that are built in states, beside a run: each against what others do.

From PROTOCOL.md, "Index builds": CREATE INDEX registers its index and is answered once that is
AVAILABLE; where it is removed before, the statement is refused (DDL_CONFLICT). DROP INDEX brings an
AVAILABLE index to STOPPING and is answered once that is removed; another index it removes at once.
It waits while an index of its name is on its way out, which then is not there; where one gets there
meanwhile, it is refused (DDL_CONFLICT). Other statements are answered at once.

A run has few such statements, and they seldom meet. So beside each run every kind of them is
carried out on a catalog of its own, where each rest lets others take a step.
"""

from collections.abc import Coroutine, Iterator
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

from msgspec.structs import replace

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.model.ddl import (
    AddColumn,
    AlterTable,
    ColumnSpec,
    CreateIndex,
    DropIndex,
    IndexCreated,
    IndexDropped,
    IndexStateSet,
    ObjectChange,
    ObjectCreated,
    ObjectDropped,
    Statement,
)
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import PUBLIC, Column, ColumnType, Index, Table
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl_answers import Decision, NoOp, Refused
from ddlsim.protocol.strategy import SchemaChangePart, Strategy
from ddlsim.units import Timestamp

NUMBER: Final = ColumnType("INTEGER")
COLUMNS: Final = (Column(1, "k", NUMBER, nullable=False), Column(2, "v", NUMBER))
TABLE: Final = Table(1, "t", 1, COLUMNS, (1,), "default", next_column_id=3)
BUILT, OTHER = 11, 12
"""The index `i` of the statements, and `j`, which is AVAILABLE from the start."""
REGISTERED, BUILDING, STOPPING = "write_only", "reorganization", "write_only"
PAST: Final[dict[str, tuple[str, ...]]] = {
    "absent": (),
    "registered": (REGISTERED,),
    "building": (REGISTERED, BUILDING),
    "available": (REGISTERED, BUILDING, PUBLIC),
    "stopping": (REGISTERED, BUILDING, PUBLIC, STOPPING),
    "at once": (PUBLIC,),
}
"""By how far the index is: the states that it has been in."""
TS: Final = 10
"""How far apart activations are."""


class Case(NamedTuple):
    """A statement where the index has had some states, what others do, and what is due.

    `steps` are states that the index gets, `removed`, `dropped` with its table, or `beside`: what
    does not concern it. `submitted` are the changes of the statement, `left` the steps that are not
    taken when it is answered.
    """

    begins: str
    statement: Statement
    steps: tuple[str, ...]
    reason: Reason | None
    submitted: tuple[str, ...]
    left: int = 0
    loses: int = 0


CREATE: Final = CreateIndex("i", "t", ("v",))
DROP: Final = DropIndex("i")
ADD: Final = AlterTable("t", (AddColumn(ColumnSpec("w", NUMBER)),))
CASES: Final = (
    Case("absent", CREATE, (BUILDING, PUBLIC, "beside"), None, ("registered",), 1),
    Case("absent", CREATE, ("beside", BUILDING, "beside", PUBLIC), None, ("registered",)),
    Case("absent", CREATE, ("removed", "beside"), Reason.DDL_CONFLICT, ("registered",), 1),
    Case("absent", CREATE, (BUILDING, "removed"), Reason.DDL_CONFLICT, ("registered",)),
    Case("absent", CREATE, (BUILDING, "dropped"), Reason.DDL_CONFLICT, ("registered",)),
    Case("absent", DROP, ("beside",), Reason.OBJECT_NOT_FOUND, (), 1),
    Case("absent", DropIndex("i", if_exists=True), ("beside",), None, (), 1),
    Case("registered", CREATE, (BUILDING,), Reason.OBJECT_EXISTS, (), 1),
    Case("registered", DROP, ("beside",), None, ("removed",), 1),
    Case("building", DROP, ("beside",), None, ("removed",), 1),
    Case("available", DROP, ("beside", "removed", "beside"), None, ("stopping",), 1),
    Case("available", DROP, ("dropped",), None, ("stopping",)),
    Case("at once", DROP, ("removed",), None, ("stopping",)),
    Case("stopping", DROP, ("beside", "removed", "beside"), Reason.OBJECT_NOT_FOUND, (), 1),
    Case("stopping", DropIndex("i", if_exists=True), ("removed",), None, ()),
    Case("stopping", DROP, ("dropped",), Reason.OBJECT_NOT_FOUND, ()),
    Case("available", DROP, (STOPPING, "removed"), Reason.DDL_CONFLICT, ("stopping",), 1, loses=1),
    Case("stopping", ADD, ("removed",), None, ("beside",), 1),
    Case("available", ADD, ("beside",), None, ("beside",), 1),
)


class _EndlessError(Exception):
    """A statement rests though nothing is left to wait for."""


class _Change:
    """What a statement sees of its node, on a catalog of its own."""

    def __init__(self, strategy: Strategy, case: Case) -> None:
        self.strategy = strategy
        self.catalog = Catalog()
        self.submitted: list[ObjectChange] = []
        self.acknowledged: list[tuple[str, int]] = []
        self.steps, self._loses = list(case.steps), case.loses
        settings = SimpleNamespace(ddl_attempts=3, retry_us=1, max_clock_skew_ms=0)
        self.node = SimpleNamespace(settings=settings, sleep=self._rest, probe=lambda _name: None)
        self.metastorage = SimpleNamespace(catalog_reaches=self._reached)
        self._apply(ObjectChange(1, "table", "t", 1, TABLE, (ObjectCreated(),)))
        self._index_id = BUILT
        self._add(Index(OTHER, "j", (2,)))
        for number, state in enumerate(PAST[case.begins]):
            if number:
                self._take(state)
            else:
                self._add(Index(BUILT, "i", (2,), state=state))

    # --- what the statement asks for --------------------------------------------------------------

    async def _rest(self, _us: int) -> None:
        if not self.steps:
            raise _EndlessError
        self._take(self.steps.pop(0))

    async def _reached(self, _version: int) -> None:
        return

    async def knows_enough(self) -> None:
        """The catalog is complete."""

    async def submit(self, _command_id: str, _version: int, built: Any) -> tuple[bool, int]:
        """Send the update through the log; another one may come before it."""
        self.submitted += built.objects
        if self._loses:
            self._loses -= 1
            self._take(self.steps.pop(0))
            return False, self.catalog.version
        for step in built.objects:
            ids = [one.index.id for one in step.changes if isinstance(one, IndexCreated)]
            self._index_id = ids[0] if ids else self._index_id
            self._apply(step)
        return True, self.catalog.version

    def goes_on(self) -> None:
        """Another statement may begin."""

    async def acknowledge(self, _op: str, outcome: str, version: int, *_given: Any) -> None:
        """The answer."""
        self.acknowledged.append((outcome, version))

    def installed(self) -> Decision:
        """It is in effect."""
        return Decision(None)

    def known(self, built: NoOp | Refused) -> Decision:
        """There is nothing to do, or it is refused."""
        return Decision(None if isinstance(built, NoOp) else built.reason)

    def conflict(self) -> Decision:
        """It has lost at every attempt."""
        return Decision(None, "lost")

    # --- what others do ---------------------------------------------------------------------------

    def table(self) -> Table:
        """The newest version of the table."""
        found = self.catalog.latest().by_id(1)
        assert isinstance(found, Table), found
        return found

    def _apply(self, step: ObjectChange) -> None:
        version = self.catalog.version + 1
        ts = Timestamp(version * TS)
        self.catalog.apply(version, ts, ts, (step,))

    def _change(self, indexes: tuple[Index, ...], change: Any) -> None:
        version = self.table().version + 1
        new = replace(self.table(), version=version, indexes=indexes)
        self._apply(ObjectChange(1, "table", "t", version, new, (change,)))

    def _add(self, index: Index) -> None:
        self._change((*self.table().indexes, index), IndexCreated(index))

    def _take(self, step: str) -> None:
        """Another one takes a step."""
        index_id = OTHER if step == "beside" else self._index_id
        if step == "dropped":
            version = self.table().version + 1
            self._apply(ObjectChange(1, "table", "t", version, None, (ObjectDropped(),)))
            return
        kept = self.table().indexes
        if step == "removed":
            (gone,) = [one for one in kept if one.id == index_id]
            self._change(tuple(one for one in kept if one is not gone), IndexDropped(gone))
            return
        state = step
        if step == "beside":
            (other,) = [one for one in kept if one.id == OTHER]
            state = REGISTERED if other.state == PUBLIC else PUBLIC
        now = tuple(replace(one, state=state) if one.id == index_id else one for one in kept)
        self._change(now, IndexStateSet(index_id, state))


def _ended(task: Coroutine[Any, Any, Decision]) -> Decision | str:
    """What a task that never waits comes to."""
    try:
        task.send(None)
    except StopIteration as stop:
        found: Decision = stop.value
        return found
    except _EndlessError:
        return "it rests for ever"
    task.close()
    return "it waits for something else"


def _word(step: ObjectChange) -> str:
    """What a step of a statement does."""
    (change,) = step.changes
    match change:
        case IndexCreated(index=Index(state="write_only")):
            return "registered"
        case IndexStateSet(index_id=11, state="write_only"):
            return "stopping"
        case IndexDropped(index=Index(id=11)):
            return "removed"
    return "beside" if "Index" not in type(change).__name__ else f"{change}"


def _wrong(change: _Change, before: Table, case: Case, found: Decision | str) -> Iterator[str]:
    if (
        not isinstance(found, Decision)
        or found.reason is not case.reason
        or found.message == "lost"
    ):
        yield f"came to {found}, not {case.reason}"
    submitted = tuple(map(_word, change.submitted))
    if submitted != case.submitted:
        yield f"submitted {submitted}, not {case.submitted}"
    for step in change.submitted:
        if step.definition is None or step.version != before.version + 1:
            yield f"submitted {step} behind version {before.version}"
    if len(change.steps) != case.left:
        yield f"ended before {change.steps}, not before the last {case.left}"
    outcomes = [outcome for outcome, _ in change.acknowledged]
    due = "refused" if case.reason else ("installed" if case.submitted else "noop")
    if outcomes != [due]:
        yield f"was acknowledged as {outcomes}, not as {due}"
    elif change.acknowledged[0][1] != change.catalog.version:
        yield f"was acknowledged for version {change.acknowledged[0][1]}"


def compare_statements(divergence: Divergence, strategy: Strategy) -> None:
    """Compare the statements of a design with index builds in every case."""
    for case in CASES:
        change = _Change(strategy, case)
        before = change.table()
        task: Any = strategy.install(cast("SchemaChangePart", change), "o", case.statement)
        for what in _wrong(change, before, case, _ended(task)):
            divergence.found(f"{case.statement} where the index is {case.begins} {what}")
