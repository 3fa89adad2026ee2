"""A bench for the rules of a layer: a process without tasks of its own, on a store by hand.

The rules of a design are called where a comparison turns, which a run seldom meets: a lease that
ends now, a token that is one ahead, an update that comes into force at the next version. What a
rule must do then is said a second time in `rule_forms`, `lease_forms` and `lock_forms`.
"""

from collections.abc import Coroutine
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.layer_walk import (
    LIMITS,
    NUMBERS,
    SETTINGS,
    initial,
    named,
    statement,
)
from ddlsim.cluster.store_models.shelf import Machine, Shelf, ShelfTransaction, shelved
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import Key, pack
from ddlsim.kernel.engine import Loop
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import (
    HEAD,
    LOCAL_HEAD,
    copy_key,
    log_key,
    object_key,
    version_key,
)
from ddlsim.layer.part import LayerBoot, Part
from ddlsim.layer.schema import Cached, Update
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.settings import Settings
from ddlsim.protocol.messages import ClientOperation
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.units import US_PER_MS, Timestamp

PATIENCE_MS: Final = 3_000
UNANSWERED: Final = "no answer"


class Bench:
    """A part of the design, its store, and transactions of it; `newest` is the newest update."""

    def __init__(self, divergence: Divergence, design: LayerDesign, settings: Settings) -> None:
        self.same = divergence.compare
        self.divergence = divergence
        self.loop = Loop()
        self.shelf = Shelf(self.loop, SETTINGS.window)
        limits = Settings(**{**_plain(settings), **LIMITS})
        self.node: Any = Machine("p1", self.loop, limits, Draws(1, 8))
        self.design = design.with_rules(NUMBERS)
        self.part = self.another()
        self.newest: Update | None = None
        self._ops = 0
        self.passes(40)

    def another(self) -> Part:
        """A part that has read the initial schema alone."""
        boot = LayerBoot(initial(), 0, SETTINGS)
        return Part(self.node, self.design, shelved(self.shelf), boot)

    def name(self, field: str) -> str:
        """The name of the design's rule in a field."""
        return named(getattr(self.design, field))

    # --- time -------------------------------------------------------------------------------------

    def passes(self, span_ms: int) -> None:
        """Let time go by."""
        self.loop.run(until_us=self.loop.now_us + span_ms * US_PER_MS)

    def until(self, version: int = 0) -> None:
        """Let time go by until the store has a version, and no later one by its commits."""
        at_ms = max(version, self.shelf.version)
        self.loop.run(until_us=max(at_ms * US_PER_MS, self.loop.now_us))

    def result(self, task: Coroutine[Any, Any, Any]) -> Any:
        """What a rule comes to; time stands still then."""
        return self.timed(task)[0]

    def timed(self, task: Coroutine[Any, Any, Any]) -> tuple[Any, int]:
        """The same, and how long it took, in microseconds."""
        found: list[Any] = []
        began_us = self.loop.now_us

        async def watched() -> None:
            found.append(await task)
            self.loop.stop()

        self.loop.spawn(watched())
        self.loop.run(until_us=began_us + PATIENCE_MS * US_PER_MS)
        return found[0] if found else UNANSWERED, self.loop.now_us - began_us

    def strike(self, times: int) -> None:
        """The next commits fail."""
        self.shelf.fails = [FdbError(ErrorCode.NOT_COMMITTED)] * times

    # --- the store --------------------------------------------------------------------------------

    def put(self, key: Key, value: object) -> None:
        """Write a key at the next version."""
        packed = pack(key)
        span = packed, packed + b"\x00"
        self.shelf.carry_out([(span, value, key)], self.shelf.version + 1)

    def updated(self, text: str, ahead: int = 0) -> Update:
        """Another update, in force so many versions behind its own; all that tells of it agrees."""
        part = self.another()
        log = [self.shelf.now(log_key(n)) for n in range(part.first + 1, self.number + 1)]
        part.learn(tuple(one for one in log if isinstance(one, Update)))
        snapshot = part.log.latest()
        built = build(statement(text), snapshot, snapshot.next_object_id)
        assert isinstance(built, Built), built
        number, version = self.number + 1, self.shelf.version + 1
        objects = built.objects
        made = Update(number, "p9", f"d{number}", f"d{number}/0", version, version + ahead, objects)
        self.put(log_key(number), made)
        for key in (HEAD, LOCAL_HEAD, *(object_key(one.object_id) for one in objects)):
            self.put(key, number)
        for place in range(self.design.copies):
            self.put(version_key(place), number)
            self.put(copy_key(place), (*log, made))
        self.shelf.bumps.append(self.shelf.version)
        self.newest = made
        return made

    @property
    def number(self) -> int:
        """The number of the newest update."""
        return self.part.first if self.newest is None else self.newest.number

    # --- transactions -----------------------------------------------------------------------------

    def begun(self, *, reads: bool = False) -> tuple[LayerTx, ShelfTransaction]:
        """A transaction, which has its read version or not."""
        self._ops += 1
        store = self.part.store.transaction(self.design.options)
        assert isinstance(store, ShelfTransaction), store
        tx = LayerTx(self.node, f"x{self._ops}", store, SETTINGS.versions_per_second)
        if reads:
            self.result(tx.read_version())
        return tx, store

    def keeps(self, number: int | None) -> None:
        """The part keeps the schema of a number that it has read, as of now; None: none."""
        if number is None:
            self.part.cache = None
            return
        schema = self.part.schema(number)
        self.part.cache = Cached(schema, number, self.shelf.version, self.part.now_ms())

    def learns(self) -> None:
        """The part has read the whole log."""
        first = self.part.first
        log = [self.shelf.now(log_key(number)) for number in range(first + 1, self.number + 1)]
        self.part.learn(tuple(log))

    def request(self, session: int | None = None, table: str = "t") -> ClientOperation:
        """A read of a client that has seen a schema."""
        token = None if session is None else Timestamp(session)
        return ClientOperation("o", "x", "get", table, 1, None, 0, session_ts=token)


def conflicts(store: ShelfTransaction) -> set[tuple[bytes, int | None]]:
    """The single keys that a transaction conflicts on, with the version since which."""
    return {(span[0], since) for span, since in store.reads}


def on(*keys: Key) -> set[tuple[bytes, int | None]]:
    """Conflicts on these keys since the read version."""
    return {(pack(key), None) for key in keys}


def _plain(settings: Settings) -> dict[str, Any]:
    names = Settings.__dataclass_fields__
    return {name: getattr(settings, name) for name, field in names.items() if field.init}
