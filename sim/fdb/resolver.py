"""A resolver: decides, batch after batch, which transactions conflict, for its part of the keys.

All resolvers see every batch, in the order of versions, and each decides with what it has. What one
accepts counts as written there even if another one refuses the transaction: later ones may be
refused without need, but none commits wrongly.

* `_chain`: the last batch decided. A batch waits for its predecessor, else a write would be missed.
* `_answers`: one that is sent again is not decided twice, since its own writes would refuse it.
* `_changes`: all changes of the local state, in order, with this resolver's decision. A proxy gets
  those of other proxies from here, before it goes on with its own batch.
"""

from bisect import bisect_right
from operator import attrgetter

from msgspec.structs import replace

from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.conflicts import ConflictWindow
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.membership import Answers, Chain, Process
from ddlsim.fdb.messages import (
    STALE,
    Failed,
    Generation,
    Resolve,
    Resolved,
    Stale,
    StateChange,
    Tail,
)
from ddlsim.model.ports import Node

_version = attrgetter("version")


class Resolver(Process):
    """Decides about the batches of a generation."""

    conflict_class = ConflictWindow

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self._chain = Chain(node, 0)
        self._window = self.conflict_class(config.settings.window, 0, ())
        self._answers: Answers[Resolved] = Answers()
        self._changes: list[StateChange] = []
        super().__init__(node, config)
        node.on(Resolve, self.resolve)

    def begin(self, generation: Generation, tail: Tail) -> None:
        """Start without a memory: whatever was read before conflicts."""
        start = generation.start_version
        self._chain = Chain(self.node, start)
        kept: tuple[tuple[bytes, int], ...] = ()
        if self.settings.resolver_keeps_future:
            kept = tuple(future for change in tail.changes for future in change.futures)
        self._window = self.conflict_class(
            self.settings.window,
            start,
            kept,
            forgotten_is_clean=self.settings.forgotten_is_clean,
        )
        self._answers = Answers()
        self._changes = []

    def end(self) -> None:
        """Let batches that wait for their predecessors go."""
        self._chain.break_up()

    async def resolve(self, sender: str, request: Resolve) -> Resolved | Stale | None:
        """Decide about a batch, once its predecessor is decided; None for a late copy."""
        if not self.serves(request.generation):
            return STALE
        chain = self._chain
        if chain.version < request.previous:
            await chain.reached(request.previous)
            if not self.serves(request.generation):
                return STALE
        if chain.version >= request.last:
            self.node.probe("store-batch-repeated")
            return self._answers.of(sender, request.number)
        answer = self._decide(request)
        self._answers.keep(sender, request.number, request.answered, answer)
        chain.advance(request.last)
        return answer

    def _decide(self, request: Resolve) -> Resolved:
        assert self._chain.version == request.previous, f"{self._chain.version}: {request}"
        refused: list[tuple[int, Failed]] = []
        for tx in request.transactions:
            error = self._window.decide(tx)
            if error is ErrorCode.TRANSACTION_TOO_OLD:
                refused.append((tx.version, Failed(error)))
                self.node.probe("store-too-old")
            elif error is not None:
                refused.append((tx.version, Failed(error, self._window.conflicting(tx))))
                self.node.probe("store-conflict")
        if not (request.changes or self._changes):
            return Resolved(tuple(refused), ())
        unseen = self._changes[bisect_right(self._changes, request.seen, key=_version) :]
        out = {version for version, _ in refused}
        self._changes += [
            replace(change, accepted=change.version not in out) for change in request.changes
        ]
        return Resolved(tuple(refused), tuple(unseen))
