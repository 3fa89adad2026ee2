"""Processes of the layer on a plain store, driven by hand: one call is one request of a client."""

from collections.abc import Sequence
from typing import Any

from ddlsim.fdb.settings import FdbSettings
from ddlsim.history.events import SchemaResolved, UpdateLogged
from ddlsim.kernel.engine import Loop
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import INDEXES, ROWS
from ddlsim.layer.part import LayerBoot
from ddlsim.layer.process import LayerProcess
from ddlsim.model.ddl import ObjectChange
from ddlsim.protocol.messages import (
    Answer,
    ClientBegin,
    ClientCommit,
    ClientDdl,
    ClientOperation,
    ClientRollback,
    Refusal,
)
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.strategies.base import LAYER_DESIGNS
from ddlsim.units import Timestamp
from tests.support.plain_store import PlainDatabase, PlainStore
from tests.support.protocol import FakeNode, Wire, result_of
from tests.support.schemas import statement

T = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
INDEX = "CREATE INDEX i ON t (v)"
UNIQUE = "CREATE UNIQUE INDEX i ON t (v)"
DROP = "DROP INDEX i"


def initial(*statements: str) -> tuple[tuple[ObjectChange, ...], ...]:
    """The initial schema after some statements."""
    snapshot, found = Snapshot(), []
    for text in statements:
        built = build(statement(text), snapshot, snapshot.next_object_id)
        assert isinstance(built, Built), built
        found.append(built.objects)
        snapshot = snapshot.after(len(found), Timestamp(0), Timestamp(0), built.objects)
    return tuple(found)


class World:
    """Processes by name, all of one design, on one store; `node(name)` has what they recorded.

    The store's versions stand still unless something commits or `passes` is called; where they are
    `ticking`, a millisecond is at least one version.
    """

    def __init__(
        self,
        design: str | LayerDesign,
        *names: str,
        schema: Sequence[str] = (T,),
        window: int = 5000,
        ticking: bool = False,
        **settings: Any,
    ) -> None:
        self.design = LAYER_DESIGNS.get(design) if isinstance(design, str) else design
        self.loop = Loop()
        self.wire = Wire(self.loop)
        self.store = PlainStore(window)
        if ticking:
            self.store.ticks = lambda: self.loop.now_us // 1000
        self.nodes: dict[str, FakeNode] = {}
        self.processes: dict[str, LayerProcess] = {}
        self._schema = initial(*schema)
        self._ops = 0
        once: dict[object, None] = {}
        for name in names or ("a", "b"):
            self.nodes[name] = node = FakeNode(name, self.wire, **settings)
            node._once = once
            self.start(name, restarted=False)
        self.run_ms(1)

    def start(self, name: str, *, restarted: bool) -> None:
        """Start a process, anew on its node where it is restarted."""
        node = self.nodes[name]
        node.handlers.clear()
        boot = LayerBoot(
            self._schema, 0, FdbSettings(versions_per_second=1000, window_ms=5000), restarted
        )
        self.processes[name] = LayerProcess(
            node, self.design, PlainDatabase(node, self.store), boot
        )
        self.processes[name].start()

    def run_ms(self, span_ms: int) -> None:
        """Let what processes do by themselves happen for a while."""
        self.loop.run(until_us=self.loop.now_us + span_ms * 1000)

    def until(self, version: int) -> None:
        """Let everything happen until the ticking store has a version."""
        self.run_ms(version - self.loop.now_us // 1000)

    def passes(self, version: int) -> None:
        """The store's version is this one by now."""
        assert version >= self.store.version, f"it is {self.store.version} already"
        self.store.version = version

    # --- requests ---------------------------------------------------------------------------------

    def ask(self, name: str, action: str, tx: str | None, key: Any = None, **more: Any) -> Any:
        """One operation; the first one of a transaction begins it, None is one of its own."""
        request = self.request(name, action, tx, key, **more)
        return result_of(self.loop, self.processes[name].operate("c", request))

    def request(
        self, name: str, action: str, tx: str | None, key: Any = None, **more: Any
    ) -> ClientOperation:
        """The same as a request."""
        self._ops += 1
        op = f"o{self._ops}"
        process = self.processes[name]
        begins = tx is not None and tx not in process.transactions
        return ClientOperation(
            op, tx or op, action, more.pop("table", "t"), key, None, 0,
            begins=begins and not more.pop("goes_on", False), implicit=tx is None, **more,
        )  # fmt: skip

    def put(self, name: str, tx: str | None, key: Any, **values: Any) -> Any:
        """A put of these values."""
        return self.ask(name, "put", tx, key, values=values or None)

    def get(self, name: str, tx: str | None, key: Any) -> Any:
        """The row of a key, by column name; None if there is none."""
        answer = self.ask(name, "get", tx, key)
        return shown(answer)[0] if isinstance(answer, Answer) and answer.rows else answer_or(answer)

    def find(self, name: str, tx: str | None, index: str = "i", **values: Any) -> Any:
        """The keys of the rows that a query by an index finds."""
        answer = self.ask(name, "find", tx, None, values=values, index=index)
        return [key for key, _ in answer.rows] if isinstance(answer, Answer) else answer.reason

    def begin(self, name: str, tx: str, *, read_only: bool = False) -> Any:
        """Begin a transaction."""
        return result_of(
            self.loop, self.processes[name].begin("c", ClientBegin(tx, tx, None, read_only))
        )

    def commit(self, name: str, tx: str) -> Any:
        """Commit a transaction."""
        return result_of(self.loop, self.processes[name].commit("c", ClientCommit(tx, tx)))

    def commit_request(self, tx: str) -> ClientCommit:
        """A commit as a request."""
        return ClientCommit(tx, tx)

    def roll_back(self, name: str, tx: str) -> Any:
        """Roll a transaction back."""
        return result_of(self.loop, self.processes[name].roll_back("c", ClientRollback(tx, tx)))

    def ddl(self, name: str, text: str, within_ms: int = 60_000) -> Any:
        """Run a statement to its end."""
        return result_of(self.loop, self.asks(name, text), within_ms)

    def asks(self, name: str, text: str) -> Any:
        """A statement, not run yet."""
        self._ops += 1
        request = ClientDdl(f"d{self._ops}", statement(text))
        return self.processes[name]._change.run("c", request)

    # --- what is left -----------------------------------------------------------------------------

    def events(self, kind: type) -> list[Any]:
        """What all processes recorded of one kind, in order."""
        return [one for node in self.nodes.values() for one in node.events if type(one) is kind]

    def rows(self) -> dict[Any, Any]:
        """The rows that are stored, by key; what was deleted is not there."""
        return {key[2]: value[3] for key, value in self.store.under(ROWS) if value[3] is not None}

    def entries(self) -> list[tuple[Any, Any]]:
        """The entries that are stored, of indexes over one column: (value, key of the row)."""
        return [(key[2], key[4]) for key, _ in self.store.under(INDEXES)]

    def wrong_entries(self) -> tuple[list[Any], list[Any]]:
        """(entries without such a row, rows of `t` without their entry), of an index on v."""
        rows = {(row[1], key) for key, row in self.rows().items()}
        entries = set(self.entries())
        return sorted(entries - rows), sorted(rows - entries)

    def misjudged(self) -> list[tuple[str, str]]:
        """Look-ups that did not give what is in force at their time: (transaction, purpose)."""
        return misjudged([one for node in self.nodes.values() for one in node.events])


def misjudged(events: Sequence[object]) -> list[tuple[str, str]]:
    """Look-ups that did not give what is in force at their time: (transaction, purpose)."""
    steps = [
        (update.activation_ts, change.object_id, change.version)
        for update in events
        if isinstance(update, UpdateLogged)
        for change in update.objects
    ]
    found = []
    for one in events:
        if isinstance(one, SchemaResolved):
            before = [step for step in steps if step[1] == one.object_id and step[0] <= one.ts]
            if max(before)[2] != one.version:
                found.append((one.tx, one.purpose))
    return found


def shown(answer: Answer) -> list[dict[str, Any]]:
    """The rows of an answer by column name."""
    names = answer.columns or ()
    return [
        {name: value for name, (_, value) in zip(names, cells, strict=True)}
        for _, cells in answer.rows
    ]


def answer_or(reply: Any) -> Any:
    """The reason of a refusal; None of an answer."""
    return reply.reason if isinstance(reply, Refusal) else None
