"""Small histories for the oracle: of simulated stores at each level, and damaged ones.

The store is a few lines: clients run their transactions side by side, each step drawn by dice. It
serves the level it is asked for, or less, so that histories on either side of each model's border
come out; what was read is then changed here and there. Some histories have what a judge may be
unsure of: a value written twice, nil written, a transaction of a keyword process, or of none.
"""

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from tests.isolation.oracle import Operation, Transaction

LEVELS = (
    "dirty",
    "committed",
    "committed",
    "atomic",
    "snapshot",
    "stale-snapshot",
    "serial",
    "stale-serial",
)
DAMAGE = ("older", "other", "own-later", "nothing", "garbage", "shortened", "turned")


class Shape(NamedTuple):
    """How a history is made: its transactions and keys, clients, and what is unusual in it.

    `fail` and `info` are shares of transactions; `same` of writes that repeat a value, `nil` of
    writes of nil.
    """

    level: str
    lists: bool
    transactions: int
    keys: int
    clients: int
    fail: float = 0.08
    info: float = 0.16
    same: float = 0.0
    nil: float = 0.0


@dataclass
class _Running:
    """A transaction that a client runs."""

    number: int
    process: int
    plan: list[Operation]
    begin: int
    snapshot: int = 0
    told: list[Operation] = field(default_factory=list)
    done: bool = False
    status: str = "ok"


class _Store:
    """Keys and values with all their committed states, at some level."""

    def __init__(self, level: str, lists: bool, dice: Random) -> None:
        self.level, self.lists, self.dice = level, lists, dice
        self.states: list[dict[Any, Any]] = [{}]
        self.writers: list[dict[Any, int]] = [{}]
        self.dirty: dict[Any, Any] = {}

    def begin(self, one: _Running) -> None:
        newest = len(self.states) - 1
        late = self.level.startswith("stale") and self.dice.random() < 0.4
        one.snapshot = self.dice.randint(max(0, newest - 2), newest) if late else newest

    def base(self, one: _Running, key: Any) -> Any:
        """What a read sees of others."""
        newest = self.states[-1]
        if self.level == "dirty":
            return self.dirty.get(key, newest.get(key))
        if self.level == "committed":
            back = self.dice.choice([1, 1, 2, 3])
            return self.states[-min(back, len(self.states))].get(key)
        return self.states[one.snapshot].get(key)

    def step(self, one: _Running) -> None:
        name, key, value = one.plan[len(one.told)]
        if name == "r":
            seen = self.base(one, key)
            own = [told for _, at, told in one.told if _ != "r" and at == key]
            if own and self.level != "dirty":
                seen = [*(seen or []), *own] if self.lists else own[-1]
            value = list(seen or []) if self.lists else seen
        elif self.level == "dirty":
            before = self.dirty.get(key, self.states[-1].get(key))
            self.dirty[key] = [*(before or []), value] if self.lists else value
        one.told.append((name, key, value))

    def commit(self, one: _Running) -> bool:
        """Whether it may; its writes become a state."""
        writes = [(key, value) for name, key, value in one.told if name != "r"]
        since = self.writers[one.snapshot + 1 :]
        if self.level not in {"dirty", "committed", "atomic"}:
            if any(key in state for state in since for key, _ in writes):
                return False
            if self.level.endswith("serial"):
                read = {key for name, key, _ in one.told if name == "r"}
                if writes and any(key in state for state in since for key in read):
                    return False
        state = dict(self.states[-1])
        for key, value in writes:
            state[key] = [*(state.get(key) or []), value] if self.lists else value
        if self.level == "dirty":
            state = {**state, **{key: self.dirty[key] for key, _ in writes}}
        self.states.append(state)
        self.writers.append({key: one.number for key, _ in writes})
        return True


def made(seed: int) -> tuple[Transaction, ...]:
    """A history of 2 to 6 transactions, lists or registers, valid at some level or damaged."""
    dice = Random(seed)
    lists = dice.random() < 0.5
    strange = dice.choices(
        ["", "same", "nil", "keyword", "nobody"], [80, 5, 0 if lists else 8, 4, 5]
    )[0]
    shape = Shape(
        dice.choice(LEVELS), lists, dice.choice([2, 3, 4, 5, 5, 6, 6]), dice.choice([1, 2, 2, 3]),
        dice.choice([1, 2, 3, 3, 4]), same=0.2 * (strange == "same"), nil=0.2 * (strange == "nil"),
    )  # fmt: skip
    history = run(shape, dice)
    for _ in range(dice.choice([0, 0, 1, 1, 2])):
        history = damaged(history, dice, lists)
    if strange in {"keyword", "nobody"}:
        at = dice.randrange(len(history))
        one = history[at]
        one = one._replace(process=":worker" if strange == "keyword" else -1 - one.begin)
        one = one._replace(begin=-1) if strange == "nobody" else one
        history = (*history[:at], one, *history[at + 1 :])
    return history


def _plan(shape: Shape, dice: Random, used: dict[Any, int]) -> list[Operation]:
    plan: list[Operation] = []
    for _ in range(dice.choice([1, 2, 2, 3, 3, 4])):
        key = dice.randrange(shape.keys)
        if dice.random() < 0.5:
            plan.append(("r", key, None))
            continue
        used[key] = used.get(key, 0) + (dice.random() >= shape.same or not used.get(key))
        value = None if dice.random() < shape.nil else used[key]
        plan.append(("append" if shape.lists else "w", key, value))
    return plan


def run(shape: Shape, dice: Random) -> tuple[Transaction, ...]:
    """A history as a simulated store of some level answers."""
    store = _Store(shape.level, shape.lists, dice)
    used: dict[Any, int] = {}
    numbers = list(range(shape.clients))
    active: dict[int, _Running] = {}
    found: list[Transaction] = []
    clock = left = 0
    while left < shape.transactions or active:
        clock += 1
        at = dice.randrange(shape.clients)
        one = active.get(at)
        if one is None:
            if left < shape.transactions:
                active[at] = _Running(left, numbers[at], _plan(shape, dice, used), clock)
                store.begin(active[at])
                left += 1
        elif not one.done and len(one.told) < len(one.plan):
            store.step(one)
        elif not one.done:
            one.status = _ended(store, one, shape, dice)
            one.done = True
        else:
            found.append(_told(one, clock))
            del active[at]
            if one.status == "info" and dice.random() < 0.9:
                numbers[at] += 100
    return tuple(sorted(found, key=lambda one: one.begin))


def _ended(store: _Store, one: _Running, shape: Shape, dice: Random) -> str:
    luck = dice.random()
    if luck < shape.info:
        _ = dice.random() < 0.6 and store.commit(one)
        return "info"
    if luck > 1 - shape.fail or not store.commit(one):
        return "fail"
    return "ok"


def _told(one: _Running, end: int) -> Transaction:
    asked = tuple((name, key, None if name == "r" else value) for name, key, value in one.plan)
    operations = tuple(one.told) if one.status == "ok" else asked
    return Transaction(operations, one.status, one.process, one.begin, end)


def damaged(history: tuple[Transaction, ...], dice: Random, lists: bool) -> tuple[Transaction, ...]:
    """One read changed, if there is one."""
    reads = [
        (number, at)
        for number, one in enumerate(history)
        if one.status == "ok"
        for at, operation in enumerate(one.operations)
        if operation[0] == "r"
    ]
    if not reads:
        return history
    number, at = dice.choice(reads)
    one = history[number]
    _, key, value = one.operations[at]
    how = dice.choice(DAMAGE)
    value = _changed(history, one, key, value, how, dice, lists)
    operations = (*one.operations[:at], ("r", key, value), *one.operations[at + 1 :])
    return (*history[:number], one._replace(operations=operations), *history[number + 1 :])


def _changed(
    history: tuple[Transaction, ...],
    one: Transaction,
    key: Any,
    value: Any,
    how: str,
    dice: Random,
    lists: bool,
) -> Any:
    written = [told for other in history for told in other.writes().get(key, ())]
    own = list(one.writes().get(key, ()))
    if how == "garbage" and dice.random() < 0.3:
        return [*(value or []), 99] if lists else 99
    if how == "own-later" and own:
        return [*(value or []), own[-1]] if lists else own[-1]
    if how == "nothing":
        return [] if lists else None
    if not lists:
        return dice.choice([*written, None])
    if how == "shortened" and value:
        return value[: dice.randrange(len(value))]
    if how == "turned" and value and len(value) > 1:
        return dice.sample(value, len(value))
    if how == "other" and written:
        return [*(value or []), dice.choice(written)]
    seen = [
        told
        for other in history
        for name, at, told in other.operations
        if name == "r" and at == key
    ]
    return list(dice.choice([told for told in seen if told is not None] or [[]]))


def entries(history: tuple[Transaction, ...]) -> list[dict[str, Any]]:
    """A history as Jepsen's entries, as JSON has them.

    Of a transaction of no process there is only the answer. The nemesis begins it, and ends it.
    """
    timed: list[tuple[int, dict[str, Any]]] = []
    for one in history:
        asked = [(name, key, None if name == "r" else value) for name, key, value in one.operations]
        fields = {"f": "txn", "process": one.process} if one.begin >= 0 else {}
        if one.begin >= 0:
            timed.append((one.begin, {**fields, "type": "invoke", "value": asked}))
        told = one.operations if one.status == "ok" else asked
        timed.append((one.end, {**fields, "type": one.status, "value": told}))
    timed.sort(key=lambda each: each[0])
    nemesis = {"type": "info", "process": ":nemesis", "f": "kill", "value": None}
    whole = [nemesis, *(entry for _, entry in timed), nemesis]
    return [{**entry, "index": at} for at, entry in enumerate(whole)]


def as_json(history: tuple[Transaction, ...]) -> bytes:
    """A history as JSON lines."""
    return "".join(f"{json.dumps(one)}\n" for one in entries(history)).encode()


def as_edn(history: tuple[Transaction, ...]) -> bytes:
    """A history as EDN, an entry a line."""
    lines = []
    for entry in entries(history):
        told = entry["value"]
        if told is not None:
            told = [[f":{name}", key, value] for name, key, value in told]
        fields = {**entry, "type": f":{entry['type']}", "value": told}
        fields |= {"f": f":{entry['f']}"} if "f" in entry else {}
        inside = ", ".join(f":{name} {_edn(value)}" for name, value in fields.items())
        lines.append(f"{{{inside}}}\n")
    return "".join(lines).encode()


def _edn(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(_edn, value))}]"
    return "nil" if value is None else str(value)
