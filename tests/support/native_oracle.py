"""Native histories drawn at random, and a plain search for a serial order that explains each.

The search knows nothing of edges and cycles: it places transactions and DDLs one after another and
looks whether each finds what it found. It is exponential, and so for a handful of nodes only. What
it shares with the judge is how a history is read: writes of a row follow each other by commit_ts; a
scan that leaves a key out saw the last deletion that was stored before it (in the past: committed
up to its read_ts); and real time is the order of the events. No two events here share an instant:
then the instants alone say which came first.
"""

from random import Random
from typing import Final, NamedTuple

from ddlsim.model import ddl
from ddlsim.model.schema import Column
from tests.support.history import INT, Story, add_column

NEVER: Final = 10**9
KEYS: Final = ("x", "y")


class Did(NamedTuple):
    """One operation of a transaction.

    `saw` is the writer of each key that it found (None: there never was a row).
    """

    kind: str
    key: str
    at: int
    version: int
    saw: dict[str, str | None]


class Tx(NamedTuple):
    """A transaction: the instants are those of its client; `ended` may be `NEVER`."""

    name: str
    client: str
    ops: tuple[Did, ...]
    commit: int
    ended: int
    aborted: bool
    read_at: int | None
    session: bool

    @property
    def began(self) -> int:
        return self.ops[0].at - 1

    def wrote(self, key: str) -> Did | None:
        found = [one for one in self.ops if one.kind in ("put", "delete") and one.key == key]
        return found[-1] if found else None


class Change(NamedTuple):
    """A DDL, of which transactions on the version before may notice nothing (`compatible`)."""

    name: str
    client: str
    began: int
    tu: int
    ended: int
    compatible: bool


class World(NamedTuple):
    """All that happened; the n-th change makes version n + 2 of the one table."""

    txs: tuple[Tx, ...]
    changes: tuple[Change, ...]

    @property
    def committed(self) -> tuple[Tx, ...]:
        return tuple(one for one in self.txs if not one.aborted)

    def writers(self, key: str) -> list[str]:
        """Who wrote a key and committed, in the order of commit_ts."""
        found = [one for one in self.committed if one.wrote(key) is not None]
        return [one.name for one in sorted(found, key=lambda one: one.commit)]


# --- drawing -------------------------------------------------------------------------------------


class _Draw:
    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self._taken: set[int] = set()

    def instant(self, at: int) -> int:
        """The first instant from here on at which nothing happens yet; the next stays free too."""
        while {at, at + 1} & self._taken:
            at += 1
        self._taken |= {at, at + 1}
        return at + 1

    def world(self) -> World:
        dice = self.dice
        changes: list[Change] = []
        began = 20
        for number in range(dice.choice((0, 1, 2, 2))):
            began = self.instant(began + dice.randint(0, 60))
            tu = max(began, changes[-1].tu if changes else 0) + dice.randint(1, 30)
            ended = self.instant(dice.choice((began, tu)) + dice.randint(1, 20))
            ended = dice.choice((ended, ended, NEVER))
            of = (f"d{number}", dice.choice("ab"), began, tu, ended)
            changes.append(Change(*of, compatible=dice.random() < 0.6))
        txs = [self.transaction(f"T{number}", changes) for number in range(dice.randint(2, 4))]
        self.find(txs)
        return World(tuple(txs), tuple(changes))

    def transaction(self, name: str, changes: list[Change]) -> Tx:
        """A transaction whose reads have not found anything yet."""
        dice = self.dice
        reads_only = dice.random() < 0.2
        at = self.instant(20 + dice.randint(0, 80))
        in_force = 1 + sum(one.tu <= at for one in changes)
        usual = dice.choice((in_force, in_force, dice.randint(1, 1 + len(changes))))
        ops: list[Did] = []
        for _ in range(dice.randint(1, 3)):
            version = dice.randint(1, 1 + len(changes)) if dice.random() < 0.05 else usual
            kind = dice.choice(("get", "get", "scan", "put", "put", "delete"))
            key = dice.choice(KEYS)
            if kind in ("put", "delete") and (reads_only or any(one.key == key for one in ops)):
                kind = "get"
            ops.append(Did(kind, key, at, version, {}))
            at = self.instant(at + dice.randint(1, 25))
        ended = dice.choice((at, at, self.instant(at + dice.randint(1, 20)), NEVER))
        read_at = max(1, ops[0].at - dice.randint(0, 60)) if reads_only else None
        aborted = not reads_only and dice.random() < 0.1
        return Tx(name, dice.choice("ab"), tuple(ops), at, ended, aborted, read_at,
                  dice.random() < 0.5)  # fmt: skip

    def find(self, txs: list[Tx]) -> None:
        """What each read found: mostly what it had to."""
        for tx in txs:
            memory: dict[str, str | None] = {}
            for op in tx.ops:
                for key in KEYS if op.kind == "scan" else (op.key,):
                    self.found(txs, tx, op, key, memory)

    def found(
        self, txs: list[Tx], tx: Tx, op: Did, key: str, memory: dict[str, str | None]
    ) -> None:
        dice = self.dice
        if op.kind in ("put", "delete"):
            return
        writer = self.writer(txs, tx, op, key, memory)
        if op.kind == "scan":
            wrote = next((one.wrote(key) for one in txs if one.name == writer), None)
            if wrote is None or (wrote.kind == "delete" and dice.random() < 0.5):
                return
        op.saw[key] = writer

    def writer(
        self, txs: list[Tx], tx: Tx, op: Did, key: str, memory: dict[str, str | None]
    ) -> str | None:
        dice, own = self.dice, tx.wrote(key)
        if own is not None and own.at < op.at:
            return tx.name
        if key in memory and dice.random() < 0.95:
            return memory[key]
        upto = op.at if tx.read_at is None else tx.read_at
        others = [one for one in txs if one.name != tx.name and one.wrote(key) is not None]
        due = [one for one in others if not one.aborted and one.commit <= upto]
        written = [one for one in others if any(did.at < op.at for did in (one.wrote(key),) if did)]
        writer = max(due, key=lambda one: one.commit).name if due else None
        if dice.random() < 0.3:
            writer = dice.choice([None, *(one.name for one in written)])
        memory[key] = writer
        return writer


def drawn(seed: int) -> World:
    """A few transactions and DDLs that overlap, right more often than not."""
    return _Draw(seed).world()


def told(world: World) -> Story:
    """The history of a world."""
    story = Story(backward="forbid_all")
    table = story.table()
    for number, one in enumerate(world.changes):
        story.ddl(one.name, table, _change(story, table, number, compatible=one.compatible),
                  tu=one.tu, submit=one.began, ack=None if one.ended == NEVER else one.ended,
                  client=one.client)  # fmt: skip
    for tx in world.txs:
        story.begin(tx.name, tx.began, client=tx.client, session=tx.session, read_at=tx.read_at)
        for op in tx.ops:
            if op.kind in ("put", "delete"):
                row = {} if op.kind == "put" else {"row": None}
                story.write(tx.name, table, op.key, op.at, op.version, client=tx.client, **row)
    for tx in world.txs:
        for op in tx.ops:
            if op.kind == "get":
                story.read(tx.name, table, op.key, op.at, op.saw[op.key], version=op.version,
                           client=tx.client)  # fmt: skip
            elif op.kind == "scan":
                found = {key: writer for key, writer in op.saw.items() if writer is not None}
                story.scan(tx.name, table, op.at, found, version=op.version, client=tx.client)
        if tx.aborted:
            story.abort(tx.name, tx.commit)
        else:
            more = {"outcome": None} if tx.ended == NEVER else {"told": tx.ended}
            story.commit(tx.name, tx.commit, client=tx.client, **more)
    return story


def _change(story: Story, table: int, number: int, *, compatible: bool) -> object:
    if compatible:
        return add_column(10 + number, f"c{number}")
    before = next(one for one in story.definition(table, number + 1).columns if one.id == 1)
    after = Column(1, "v", INT, default=number, initial_default=before.initial_default)
    return ddl.ColumnAltered(before, after)


# --- searching -----------------------------------------------------------------------------------


class Orders:
    """The serial orders of a world, by the strict graph's reading of schemas or the relaxed one."""

    def __init__(self, world: World, *, strict: bool) -> None:
        self.world, self.strict = world, strict
        self.nodes: dict[str, Tx | Change] = {
            one.name: one for one in (*world.committed, *world.changes)
        }
        self.writers = {key: world.writers(key) for key in KEYS}

    def exist(self) -> bool:
        """Whether there is one that explains everything."""
        return self._after((), {}, 1)

    def _after(self, done: tuple[str, ...], state: dict[str, str], version: int) -> bool:
        left = [one for one in self.nodes.values() if one.name not in done]
        if not left:
            return True
        for one in left:
            if any(self._precedes(other, one) for other in left if other is not one):
                continue
            order = (*done, one.name)
            if isinstance(one, Change):
                is_next = one is self.world.changes[version - 1]
                if is_next and self._after(order, state, version + 1):
                    return True
            elif self._uses(one, version) and self._reads(one, state) and self._writes(one, done):
                written = {key: one.name for key in KEYS if one.wrote(key) is not None}
                if self._after(order, {**state, **written}, version):
                    return True
        return False

    def _precedes(self, one: Tx | Change, other: Tx | Change) -> bool:
        """Whether one had ended before another began, for all or for its client's session."""
        if isinstance(other, Tx) and other.read_at is not None:
            return other.session and one.client == other.client and one.ended < other.began
        return one.ended < other.began

    def _uses(self, tx: Tx, version: int) -> bool:
        """Whether it may be taken to have run under a version."""
        return all(self._may_be(tx, op.version, version) for op in tx.ops)

    def _may_be(self, tx: Tx, used: int, version: int) -> bool:
        if self.strict or version <= used:
            return version == used
        newer = [self._version_of(name, key) > used for key, name in _found(tx)]
        return not any(newer) and all(
            one.compatible for one in self.world.changes[used - 1 : version - 1]
        )

    def _version_of(self, writer: str, key: str) -> int:
        wrote = next(one.wrote(key) for one in self.world.txs if one.name == writer)
        return 0 if wrote is None else wrote.version

    def _reads(self, tx: Tx, state: dict[str, str]) -> bool:
        own: dict[str, str] = {}
        for op in tx.ops:
            if op.kind in ("put", "delete"):
                own[op.key] = op.kind
                continue
            for key in KEYS if op.kind == "scan" else (op.key,):
                if key in own:
                    if op.saw.get(key) != tx.name and own[key] == "put":
                        return False
                    if key in op.saw and op.saw[key] != tx.name:
                        return False
                elif (op.saw[key] if key in op.saw else self._deleter(tx, op, key)) != state.get(
                    key
                ):
                    return False
        return True

    def _deleter(self, tx: Tx, op: Did, key: str) -> str | None:
        """Who had left no row there that a scan could find."""
        upto = op.at if tx.read_at is None else tx.read_at
        txs = {one.name: one for one in self.world.committed}
        known = [txs[name] for name in self.writers[key] if txs[name].commit <= upto]
        deleted = [one.name for one in known if _deletes(one, key)]
        return deleted[-1] if deleted else None

    def _writes(self, tx: Tx, done: tuple[str, ...]) -> bool:
        """Whether all versions of its rows that are to come before its own have come."""
        return all(
            set(writers[: writers.index(tx.name)]) == set(writers) & set(done)
            for writers in self.writers.values()
            if tx.name in writers
        )


def _found(tx: Tx) -> list[tuple[str, str]]:
    return [(key, one) for op in tx.ops for key, one in op.saw.items() if one is not None]


def _deletes(tx: Tx, key: str) -> bool:
    wrote = tx.wrote(key)
    return wrote is not None and wrote.kind == "delete"
