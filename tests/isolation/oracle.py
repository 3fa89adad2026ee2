"""Whether some execution explains a small history: all orders, all outcomes, no graph.

The judge under test builds graphs; this builds executions. Nothing of `sim` is imported. A history
keeps to a model if some outcome of the indeterminate transactions and some execution of those that
committed shows every committed read what it returned. What an execution is:

* `read-uncommitted` (Adya's PL-1, no G0): the committed transactions stand in one order, and write
  in it. A value read was written by some transaction, whatever became of it. Of a list, what is
  left without the elements of aborted transactions is a beginning of the list in that order, and
  no element stands there more often than it was appended.
* `read-committed` (PL-2; Adya, Liskov, O'Neil, "Generalized Isolation Level Definitions", ICDE
  2000): as before, and each read returns a version that a transaction earlier in the order left
  behind, or the initial one (no G1a, G1b, G1c). After an own write a read returns that write: that
  is part of what Adya calls a history.
* `read-atomic` (Bailis et al., "Scalable Atomic Visibility with RAMP Transactions", SIGMOD 2014;
  Cerone, Bernardi, Gotsman, "A Framework for Transactional Consistency Models with Atomic
  Visibility", CONCUR 2015: INT and EXT): each transaction sees some set of earlier ones, each of
  them whole; a read returns the last of the visible writes. Of lists, whoever sees an element sees
  the transaction that appended it, not only the last one.
* `snapshot-isolation` (Berenson et al., SIGMOD 1995; Cerone, Gotsman, "Analysing Snapshot
  Isolation", PODC 2016): starts and commits stand in one order. A transaction reads what had
  committed before its start and what it wrote itself; two that wrote one key do not overlap.
* `serializable` (PL-3): one after another.
* `strong-session-...` (Daudjee, Salem, "Lazy Database Replication with Ordering Guarantees", ICDE
  2004): whatever a process had acknowledged before it began a transaction has committed before
  that one starts. `strong-snapshot-isolation`, `strict-serializable`: whatever anyone had.

A key's initial value is nil, or the empty list. Versions of lists follow each other in one order:
each version is a beginning of the next one (Kingsbury, Alvaro, "Elle", VLDB 2020).
"""

from collections.abc import Iterator
from functools import partial
from itertools import chain, combinations
from typing import Any, NamedTuple

Operation = tuple[str, Any, Any]
State = dict[Any, Any]

MODELS = (
    "read-uncommitted",
    "read-committed",
    "read-atomic",
    "snapshot-isolation",
    "serializable",
    "strong-session-snapshot-isolation",
    "strong-session-serializable",
    "strong-snapshot-isolation",
    "strict-serializable",
)


class Transaction(NamedTuple):
    """What a client told: its operations, how it ended, and when (places in the history).

    `status` is `ok`, `fail` or `info`. `end` counts only where it is `ok`. Reads of others than
    `ok` tell nothing.
    """

    operations: tuple[Operation, ...]
    status: str
    process: int
    begin: int
    end: int

    def writes(self) -> dict[Any, tuple[Any, ...]]:
        """What it wrote to each key, in its order."""
        found: dict[Any, tuple[Any, ...]] = {}
        for name, key, value in self.operations:
            if name != "r":
                found[key] = (*found.get(key, ()), value)
        return found


def explained(history: tuple[Transaction, ...], model: str) -> bool:
    """Whether some outcome and some execution explain a history."""
    sure = [one for one in history if one.status == "ok"]
    open_ = [one for one in history if one.status == "info"]
    return any(_Execution((*sure, *chosen), history, model).exists() for chosen in _subsets(open_))


def _subsets(of: list[Any]) -> Iterator[tuple[Any, ...]]:
    return chain.from_iterable(combinations(of, size) for size in range(len(of) + 1))


class _Execution:
    """The search for an execution of those that committed."""

    def __init__(
        self, committed: tuple[Transaction, ...], history: tuple[Transaction, ...], model: str
    ) -> None:
        self._all = committed
        self._history = history
        self._model = model
        self._lists = any(name == "append" for one in history for name, _, _ in one.operations)
        self._lists |= any(
            isinstance(value, list) for one in history for _, _, value in one.operations
        )
        self._before = [
            {at for at, other in enumerate(committed) if self._precedes(other, one)}
            for one in committed
        ]
        self._dead: set[Any] = set()

    def _precedes(self, one: Transaction, other: Transaction) -> bool:
        """Whether the model puts one before another because of when they were asked for."""
        if one is other or one.status != "ok" or not one.end < other.begin:
            return False
        if self._model in {"strict-serializable", "strong-snapshot-isolation"}:
            return True
        return self._model.startswith("strong-session") and one.process == other.process

    def exists(self) -> bool:
        if self._model == "read-uncommitted":
            return self._no_garbage() and self._ordered((), self._uncommitted)
        if self._model == "read-committed":
            return self._ordered((), self._committed)
        if self._model == "read-atomic":
            return self._ordered((), self._atomic)
        if "snapshot" in self._model:
            return self._snapshots(frozenset(), frozenset(), ())
        return self._serial(frozenset(), {})

    # --- one after another ------------------------------------------------------------------------

    def _serial(self, done: frozenset[int], state: State) -> bool:
        if len(done) == len(self._all):
            return True
        known = (done, _frozen(state))
        if known in self._dead:
            return False
        for at, one in enumerate(self._all):
            if at in done or not self._before[at] <= done:
                continue
            after = self._run(one, state)
            if after is not None and self._serial(done | {at}, after):
                return True
        self._dead.add(known)
        return False

    def _run(self, one: Transaction, state: State) -> State | None:
        """The state after a transaction; None if it did not read what this one holds."""
        now = dict(state)
        for name, key, value in one.operations:
            if name == "append":
                now[key] = (*now.get(key, ()), value)
            elif name == "w":
                now[key] = value
            elif one.status == "ok" and self._told(value) != now.get(key, self._nothing):
                return None
        return now

    @property
    def _nothing(self) -> Any:
        return () if self._lists else None

    def _told(self, value: Any) -> Any:
        return tuple(value or ()) if self._lists else value

    # --- starts and commits -----------------------------------------------------------------------

    def _snapshots(
        self, active: frozenset[int], done: frozenset[int], commits: tuple[int, ...]
    ) -> bool:
        """Commits tell the state; an active transaction has read, and nobody may cross it."""
        if len(done) == len(self._all):
            return True
        state = self._after(commits)
        known = (active, done, _frozen(state))
        if known in self._dead:
            return False
        for at, one in enumerate(self._all):
            if at in active:
                crossed = any(
                    other != at and self._all[other].writes().keys() & one.writes().keys()
                    for other in active
                )
                if not crossed and self._snapshots(active - {at}, done | {at}, (*commits, at)):
                    return True
            elif at not in done and self._before[at] <= done:
                started = self._run(one, state) is not None
                if started and self._snapshots(active | {at}, done, commits):
                    return True
        self._dead.add(known)
        return False

    def _after(self, commits: tuple[int, ...]) -> State:
        state: State = {}
        for at in commits:
            for key, values in self._all[at].writes().items():
                state[key] = (*state.get(key, ()), *values) if self._lists else values[-1]
        return state

    # --- the weaker ones: an order, and what each transaction of it may have seen -----------------

    def _ordered(self, placed: tuple[int, ...], fits: Any) -> bool:
        if len(placed) == len(self._all):
            return fits != self._uncommitted or self._all_begin(placed)
        return any(
            at not in placed and fits(at, placed) and self._ordered((*placed, at), fits)
            for at in range(len(self._all))
        )

    def _written(self, key: Any, placed: tuple[int, ...]) -> list[tuple[Any, ...]]:
        """What each transaction left at a key, in the order; of lists the whole list."""
        found: list[tuple[Any, ...]] = [()]
        for at in placed:
            values = self._all[at].writes().get(key)
            if values:
                found.append((*found[-1], *values) if self._lists else (values[-1],))
        return found

    def _versions(self, key: Any, placed: tuple[int, ...]) -> list[Any]:
        written = self._written(key, placed)
        return written if self._lists else [one[0] if one else None for one in written]

    def _reads(self, at: int) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
        """Key, value, and what the transaction itself had written there by then."""
        one, own = self._all[at], {}
        for name, key, value in one.operations:
            if name != "r":
                own[key] = (*own.get(key, ()), value)
            elif one.status == "ok":
                yield key, self._told(value), own.get(key, ())

    def _committed(self, at: int, placed: tuple[int, ...]) -> bool:
        for key, value, own in self._reads(at):
            versions = self._versions(key, placed)
            if own:
                versions = [(*versions[-1], *own) if self._lists else own[-1]]
            if value not in versions:
                return False
        return True

    def _atomic(self, at: int, placed: tuple[int, ...]) -> bool:
        return self._committed(at, placed) and any(
            map(partial(self._seen, at, placed), _subsets(list(placed)))
        )

    def _seen(self, at: int, placed: tuple[int, ...], visible: tuple[int, ...]) -> bool:
        for key, value, own in self._reads(at):
            last = self._versions(key, visible)[-1]
            if own:
                last = (*last, *own) if self._lists else own[-1]
            if value != last:
                return False
        return True

    def _uncommitted(self, at: int, placed: tuple[int, ...]) -> bool:
        return True

    def _no_garbage(self) -> bool:
        """Nothing was read that nobody wrote, nor more often than it was written."""
        written: dict[Any, list[Any]] = {}
        for one in self._history:
            for key, values in one.writes().items():
                written.setdefault(key, []).extend(values)
        for at in range(len(self._all)):
            for key, value, _ in self._reads(at):
                here = written.get(key, [])
                seen = value if self._lists else () if value is None else (value,)
                if any(seen.count(element) > here.count(element) for element in seen):
                    return False
        return True

    def _all_begin(self, placed: tuple[int, ...]) -> bool:
        if not self._lists:
            return True
        for at in range(len(self._all)):
            for key, value, _ in self._reads(at):
                whole = self._written(key, placed)[-1]
                kept = tuple(element for element in value if element in whole)
                if kept != whole[: len(kept)]:
                    return False
        return True


def _frozen(state: State) -> frozenset[tuple[Any, Any]]:
    return frozenset(state.items())
