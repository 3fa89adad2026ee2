"""The scope `iep110`: transactions that cross a DDL, with whatever clocks and delays.

One table, whose rows are spread over the nodes; every node may have a clock of its own time, and
node 1 leads the meta storage. What IEP-98 ensures is taken for granted: a resolution at a time
returns what the whole log says for it (the scope `iep98` is about that). Transactions enlist the
table, read and write rows under locks, and commit. A row is deleted like it is written, so that
there is not always a row whose version could be compared. What must hold:

* I2: all operations of a committed transaction ran under one version.
* I3: committed transactions and DDLs have a serial order. A DDL after a transaction, because that
  ran under the version before it, is left out where its change is forward-compatible and the
  transaction read nothing of a newer version (the relaxed graph). There are no edges of real time:
  that an acknowledged DDL is seen is I4, which the scope `iep98` judges.
* I5: the operations of no transaction, committed or not, ran under two versions.
* I8: every change from the initial schema to that at commit_ts is forward-compatible.

Clocks are hybrid logical ones: an event gets a timestamp above what its node has seen. There is
no bound on skew. Deadlocks end nowhere: the transactions wait, as they may for any time here. A
transaction has one operation at a time.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ddlsim.spec.base import Constant, Label, Rule, Scope, Variant, raised, replaced, scope
from ddlsim.spec.serial_order import (
    ABORTED,
    COMMITTED,
    READ,
    RUNNING,
    STAMPED,
    WAITING,
    WRITE,
    Change,
    Request,
    State,
    Transaction,
    all_compatible,
    cycle_of,
    edge_words,
    edges,
    has_serial_order,
    version_at,
)

UNIFORM: Final = "I2"
SERIALIZABILITY: Final = "I3"
SINGLE_SCHEMA: Final = "I5"
FORWARD_COMPATIBLE: Final = "I8"


class Bounds(NamedTuple):
    """The constants."""

    nodes: int
    time: int
    ddls: int
    dd: int
    transactions: int
    operations: int
    keys: int


CONSTANTS: Final = (
    Constant("nodes", "nodes; the first one leads the meta storage", 2, 1, 4),
    Constant("time", "the last tick of every clock", 7, 1, 30),
    Constant("ddls", "DDLs that may be logged", 1, 1, 4),
    Constant("dd", "DD, the delay duration, in ticks", 1, 0, 20),
    Constant(
        "transactions", "transactions; number t is coordinated by node t (mod nodes)", 2, 1, 4
    ),
    Constant("operations", "operations of a transaction at most", 2, 1, 4),
    Constant("keys", "rows; the primary of number k is node k + 1 (mod nodes)", 1, 1, 4),
)

SAME: Final = "same_as_initial"
GOES_ON: Final = "goes_on"
FOLLOWS: Final = "follows_compatible"
FOLLOWS_ANY: Final = "follows_any"
OWN: Final = "own_version"
AFTER_LOCKS: Final = "after_locks"
ON_ARRIVAL: Final = "on_arrival_only"
AT_COMMIT: Final = "at_commit_ts"
LAST_STEP: Final = "last_step_at_commit_ts"
AT_OPERATION: Final = "at_last_op_ts"
NEVER: Final = "never"

RULES: Final = (
    Rule("operation", "110.valid.2", {
        SAME: "the schema at op_ts must be I, else the transaction aborts",
        GOES_ON: "runs under I, whatever the schema at op_ts is",
        FOLLOWS: "runs under the schema at op_ts, which becomes I, if all changes are compatible",
        FOLLOWS_ANY: "runs under the schema at op_ts, which becomes I",
        OWN: "runs under the schema at op_ts, and I stays",
    }),
    Rule("checked", "110.x.1", {
        AFTER_LOCKS: "at an op_ts that is taken once the locks are granted, too",
        ON_ARRIVAL: "only at the op_ts of its arrival",
    }),
    Rule("commit", "110.valid.1", {
        AT_COMMIT: "every change from I to the schema at commit_ts must be compatible",
        LAST_STEP: "the last change up to commit_ts must be compatible",
        AT_OPERATION: "every change from I to the schema at the last op_ts must be compatible",
        NEVER: "is not checked",
    }),
)  # fmt: skip


class Transborder:
    """The machine; `steps` is the module's `Next`, action for action."""

    def __init__(
        self, constants: Mapping[str, int], rules: Mapping[str, str], judged: Collection[str]
    ) -> None:
        self.bounds = Bounds(**constants)
        self._judged = frozenset(judged)
        self._operation = rules["operation"]
        self._after_locks = rules["checked"] == AFTER_LOCKS
        self._commit = rules["commit"]

    def first(self) -> State:
        """Clocks at 0, nothing logged, no transaction begun."""
        bounds = self.bounds
        begun = (Transaction(),) * bounds.transactions
        return State((0,) * bounds.nodes, (), begun, ((),) * bounds.keys, ())

    def broken(self, state: State) -> tuple[str, ...]:
        """What the last action broke."""
        return state.broken

    def tests(self, label: Label, after: State) -> tuple[str, ...]:
        """A second operation, and a commit after it, with a DDL that has activated; a commit across
        one; a commit that another one precedes.
        """
        if label[0] not in {"grant", "finish"}:
            return ()
        one = after.transactions[label[1]]
        version = version_at(after.log, one.seen)
        twice = one.operations > 1 and version > 0
        if label[0] == "grant":
            return (SINGLE_SCHEMA,) * twice
        ordered = version > 0 and any(e[0][0] == e[1][0] == "T" for e in edges(after))
        return (
            (UNIFORM,) * twice
            + (SERIALIZABILITY,) * (ordered or twice)
            + (FORWARD_COMPATIBLE,) * (version > one.initial)
        )

    def steps(self, state: State) -> Iterator[tuple[Label, State]]:
        """Every action that may be taken."""
        if state.broken:
            return
        time = self.bounds.time
        for number, one in enumerate(state.transactions):
            yield from self._of_transaction(state, number, one)
        for node, now in enumerate(state.now):
            if now < time:
                yield ("tick", node), state._replace(now=replaced(state.now, node, now + 1))
        if len(state.log) < self.bounds.ddls and state.now[0] < time:
            clocks = replaced(state.now, 0, state.now[0] + 1)
            for compatible in (True, False):
                made = Change(clocks[0] + self.bounds.dd, compatible)
                yield ("log",), state._replace(now=clocks, log=(*state.log, made))

    def _of_transaction(
        self, state: State, number: int, one: Transaction
    ) -> Iterator[tuple[Label, State]]:
        match one.phase:
            case "idle":
                yield from self._enlisted(state, number, one)
            case "running":
                if one.operations < self.bounds.operations:
                    yield from self._arrived(state, number, one)
                if one.operations:
                    yield from self._stamped(state, number, one)
            case "waiting":
                yield from self._granted(state, number, one)
            case "stamped":
                yield ("finish", number), self._finished(state, number, one)

    def _stamp(self, state: State, node: int, above: int) -> tuple[int, tuple[int, ...]] | None:
        """A timestamp of a node above one that it has seen, and the clocks with it.

        None where clocks end before, or the schema at that time cannot be resolved yet.
        """
        stamp = max(state.now[node], above) + 1
        if stamp > self.bounds.time:
            return None
        now = replaced(state.now, node, stamp)
        return (stamp, now) if now[0] + self.bounds.dd >= stamp else None

    def _coordinator(self, number: int) -> int:
        return number % self.bounds.nodes

    def _primary(self, key: int) -> int:
        return (key + 1) % self.bounds.nodes

    def _enlisted(
        self, state: State, number: int, one: Transaction
    ) -> Iterator[tuple[Label, State]]:
        """The coordinator resolves the table at base_ts: I."""
        if (taken := self._stamp(state, self._coordinator(number), 0)) is not None:
            base_ts, now = taken
            initial = version_at(state.log, base_ts)
            begun = one._replace(phase=RUNNING, initial=initial, seen=base_ts)
            yield ("enlist", number), _put(state, number, begun, now)

    def _arrived(
        self, state: State, number: int, one: Transaction
    ) -> Iterator[tuple[Label, State]]:
        """An operation arrives at the primary of its key, and gets an op_ts."""
        for key in range(self.bounds.keys):
            taken = self._stamp(state, self._primary(key), one.seen)
            if taken is None:
                continue
            op_ts, now = taken
            runs = self._checked(state, one, op_ts) is not None
            for kind in (READ, WRITE):
                asked = one._replace(phase=WAITING, asked=Request(kind, key, op_ts))
                yield (kind, number, key), _put(state, number, asked if runs else GONE, now)

    def _checked(self, state: State, one: Transaction, op_ts: int) -> Transaction | None:
        """The transaction with the version under which an operation runs; None: it aborts."""
        current = version_at(state.log, op_ts)
        initial, used = one.initial, current
        match self._operation:
            case "same_as_initial":
                if current != initial:
                    return None
            case "goes_on":
                used = initial
            case "follows_compatible":
                if not all_compatible(state.log[initial:current]):
                    return None
                initial = current
            case "follows_any":
                initial = current
        first = one.operations == 0
        return one._replace(
            initial=initial,
            lowest=used if first else min(one.lowest, used),
            highest=used if first else max(one.highest, used),
        )

    def _granted(
        self, state: State, number: int, one: Transaction
    ) -> Iterator[tuple[Label, State]]:
        """An operation gets its lock and is executed."""
        asked = one.asked
        assert asked is not None, one
        if not _is_free(state, number, asked):
            return
        op_ts, now = asked.op_ts, state.now
        if self._after_locks:
            if (taken := self._stamp(state, self._primary(asked.key), 0)) is None:
                return
            op_ts, now = taken
        run = self._checked(state, one, op_ts)
        if run is None:
            yield ("grant", number), _put(state, number, GONE, now)
            return
        reads, wrote = one.reads, one.wrote
        if asked.kind == WRITE:
            wrote |= {asked.key}
        elif asked.key not in wrote:
            reads |= {(asked.key, len(state.rows[asked.key]))}
        done = run._replace(
            phase=RUNNING,
            seen=max(one.seen, op_ts),
            operations=one.operations + 1,
            asked=None,
            reads=reads,
            wrote=wrote,
        )
        broken = (SINGLE_SCHEMA,) * (done.lowest != done.highest and SINGLE_SCHEMA in self._judged)
        yield ("grant", number), _put(state, number, done, now)._replace(broken=broken)

    def _stamped(
        self, state: State, number: int, one: Transaction
    ) -> Iterator[tuple[Label, State]]:
        """The coordinator takes commit_ts, and checks."""
        if (taken := self._stamp(state, self._coordinator(number), one.seen)) is not None:
            commit_ts, now = taken
            until_ts = one.seen if self._commit == AT_OPERATION else commit_ts
            steps = state.log[one.initial : version_at(state.log, until_ts)]
            if self._commit == LAST_STEP:
                steps = steps[-1:]
            if self._commit != NEVER and not all_compatible(steps):
                yield ("stamp", number), _put(state, number, GONE, now)
            else:
                stamped = one._replace(phase=STAMPED, seen=commit_ts)
                yield ("stamp", number), _put(state, number, stamped, now)

    def _finished(self, state: State, number: int, one: Transaction) -> State:
        """The primaries make what was written visible, and give the locks back."""
        now, rows = state.now, state.rows
        for key in sorted(one.wrote):
            now = raised(now, self._primary(key), one.seen)
            rows = (*rows[:key], (*rows[key], number), *rows[key + 1 :])
        after = _put(state, number, one._replace(phase=COMMITTED), now)._replace(rows=rows)
        return after._replace(broken=tuple(self._broken_by_commit(after, one)))

    def _broken_by_commit(self, after: State, one: Transaction) -> Iterator[str]:
        """The judged invariants that a commit breaks."""
        judged = self._judged
        if UNIFORM in judged and one.lowest != one.highest:
            yield UNIFORM
        if SERIALIZABILITY in judged and not has_serial_order(after):
            yield SERIALIZABILITY
        steps = after.log[one.initial : version_at(after.log, one.seen)]
        if FORWARD_COMPATIBLE in judged and not all_compatible(steps):
            yield FORWARD_COMPATIBLE

    def words(self, label: Label, before: State, after: State) -> str:
        """An action in words; transactions, nodes and DDLs count from 1, version 0 is the first."""
        action, *rest = label
        if action == "log":
            made = after.log[-1]
            kind = "compatible" if made.compatible else "incompatible"
            return f"DDL {len(after.log)}, {kind}, is logged: Tu = {made.activation}"
        if action == "tick":
            return f"the clock of node {rest[0] + 1} shows {after.now[rest[0]]}"
        number = rest[0]
        one, name = after.transactions[number], f"T{number + 1}"
        if one.phase == ABORTED:
            return f"{name} aborts: {self._abort(label, before, after)}"
        match action:
            case "enlist":
                return f"{name} enlists the table at base_ts {one.seen}: I is version {one.initial}"
            case "grant":
                return f"{name} gets its lock and {_executed(before, after, number)}"
            case "stamp":
                return f"{name} takes commit_ts {one.seen}"
            case "finish":
                return f"{name} is committed at {one.seen}"
        op_ts = after.transactions[number].asked
        assert op_ts is not None
        return f"{name} asks to {action} row {rest[1] + 1}: op_ts {op_ts.op_ts}"

    def _abort(self, label: Label, before: State, after: State) -> str:
        """Why a transaction aborts."""
        action, number, *rest = label
        one = before.transactions[number]
        key = one.asked.key if one.asked is not None else (*rest, 0)[0]
        node = self._coordinator(number) if action == "stamp" else self._primary(key)
        is_early = action == "stamp" and self._commit == AT_OPERATION
        at_ts = one.seen if is_early else after.now[node]
        is_same = action != "stamp" and self._operation == SAME
        what = f"I is {one.initial}" if is_same else f"a change since {one.initial} is incompatible"
        return f"the schema at {at_ts} is version {version_at(before.log, at_ts)}, {what}"

    def why(self, invariant: str, state: State) -> str:
        """What a broken state shows."""
        if invariant == SERIALIZABILITY:
            return f"these precede each other: {', '.join(map(edge_words, cycle_of(state)))}"
        for number, one in enumerate(state.transactions):
            if invariant in {UNIFORM, SINGLE_SCHEMA} and one.lowest != one.highest:
                return f"T{number + 1} ran under versions {one.lowest} and {one.highest}"
            if invariant == FORWARD_COMPATIBLE and one.phase == COMMITTED:
                commit = version_at(state.log, one.seen)
                if not all_compatible(state.log[one.initial : commit]):
                    span = f"I is version {one.initial}, that at commit_ts {commit}"
                    return f"T{number + 1}: {span}, and a change between is not compatible"
        raise AssertionError(state)

    def shown(self, state: State) -> dict[str, Any]:
        """The variables by name; transactions count from 1."""
        return {
            "now": state.now,
            "log": [one._asdict() for one in state.log],
            "transactions": [_shown(one) for one in state.transactions],
            "rows": [[number + 1 for number in row] for row in state.rows],
            "broken": state.broken,
        }


GONE: Final = Transaction(phase=ABORTED)
"""An aborted transaction: nothing of it is left."""


def _is_free(state: State, number: int, asked: Request) -> bool:
    """Whether no other transaction holds a lock that forbids this one."""
    for other, one in enumerate(state.transactions):
        if other == number or one.phase not in {RUNNING, WAITING, STAMPED}:
            continue
        if asked.key in one.wrote:
            return False
        if asked.kind == WRITE and any(key == asked.key for key, _ in one.reads):
            return False
    return True


# --- small parts ----------------------------------------------------------------------------------


def _put(state: State, number: int, one: Transaction, now: tuple[int, ...]) -> State:
    """The state with another transaction in a place, and other clocks."""
    every = state.transactions
    return state._replace(now=now, transactions=(*every[:number], one, *every[number + 1 :]))


def _executed(before: State, after: State, number: int) -> str:
    """What an operation did that got its lock."""
    asked, one = before.transactions[number].asked, after.transactions[number]
    assert asked is not None
    row = f"row {asked.key + 1} at op_ts {one.seen} under version {one.highest}"
    if asked.kind == WRITE:
        return f"writes {row}"
    writers = before.rows[asked.key]
    by = f"T{writers[-1] + 1}" if writers else "no transaction"
    return f"reads {row}, written by {by}"


def _shown(one: Transaction) -> dict[str, Any]:
    asked = None if one.asked is None else {**one.asked._asdict(), "key": one.asked.key + 1}
    reads = [{"key": key + 1, "writes": seen} for key, seen in sorted(one.reads)]
    wrote = [key + 1 for key in sorted(one.wrote)]
    return {**one._asdict(), "asked": asked, "reads": reads, "wrote": wrote}


TWO_DDLS: Final = {"ddls": 2}
ONE_TRANSACTION: Final = {"transactions": 1, "operations": 2}
DESIGNS: Final[Mapping[str, Variant]] = {
    "iep": Variant({}),
    "iep_literal": Variant({"checked": ON_ARRIVAL}, (SERIALIZABILITY,)),
    "b1_opt1": Variant({"operation": FOLLOWS}, (UNIFORM, SINGLE_SCHEMA), ONE_TRANSACTION),
    "b2_opt2": Variant({"operation": GOES_ON}, (SERIALIZABILITY,)),
    "b3_opt3": Variant({}),
    "b3_no_commit_check": Variant({"commit": NEVER}, (FORWARD_COMPATIBLE,)),
}
MUTANTS: Final[Mapping[str, Variant]] = {
    "no_operation_check": Variant({"operation": GOES_ON}, (SERIALIZABILITY,)),
    "checks_on_arrival_only": Variant({"checked": ON_ARRIVAL}, (SERIALIZABILITY,)),
    "no_commit_check": Variant({"commit": NEVER}, (FORWARD_COMPATIBLE,)),
    "one_phase_trusts_arrival": Variant({"commit": AT_OPERATION}, (FORWARD_COMPATIBLE,)),
    "judges_last_step_only": Variant({"commit": LAST_STEP}, (FORWARD_COMPATIBLE,), TWO_DDLS),
    "enlists_at_every_operation": Variant(
        {"operation": FOLLOWS_ANY}, (UNIFORM, SERIALIZABILITY, SINGLE_SCHEMA), ONE_TRANSACTION
    ),
    "primary_takes_its_own_version": Variant(
        {"operation": OWN}, (UNIFORM, SINGLE_SCHEMA), ONE_TRANSACTION
    ),
}

IEP110: Final = scope(
    Scope(
        name="iep110",
        title="transactions that cross a DDL: which of them commit, and in what order",
        source="IEP-110",
        constants=CONSTANTS,
        rules=RULES,
        invariants=(UNIFORM, SERIALIZABILITY, SINGLE_SCHEMA, FORWARD_COMPATIBLE),
        designs=DESIGNS,
        mutants=MUTANTS,
        make=Transborder,
        tla=Path(__file__).with_suffix(".tla"),
    )
)
