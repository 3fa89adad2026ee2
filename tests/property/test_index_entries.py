"""I7 of index entries against a second reading: every version is looked at, all events each time.

Random transactions use whatever version of the table they like, and storage may be read back wrong.
"""

from random import Random

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.case.case import Case
from ddlsim.history.events import Enlisted, TxCommitted, UpdateLogged, WriteExecuted
from ddlsim.history.history import History
from ddlsim.history.index_events import IndexFinal, IndexRead, IndexWritten
from ddlsim.model.schema import INDEX_STATES, PUBLIC, Table
from tests.support.layered import Layered

HISTORIES = 150
Told = tuple[str, object, object]
"""(kind, key, value)."""


def random_history(seed: int) -> History:
    """Up to 4 schema changes and 10 transactions, of which some use an old version.

    Each commit has a version of its own.
    """
    draw = Random(seed)
    story = Layered()
    versions, at = 1, 1
    steps = draw.choice([["public"], [*INDEX_STATES], ["write_only", PUBLIC], [PUBLIC, "drop"]])
    moments = sorted(draw.sample(range(3, 90, 3), len(steps)))
    since = {1: 0}
    for number, (step, tu) in enumerate(zip(steps, moments, strict=True)):
        if step == "drop":
            story.drop_index(f"D{number}", tu)
        elif number == 0:
            story.index(f"D{number}", tu, state=step)
        else:
            story.set_state(f"D{number}", step, tu)
        versions += 1
        since[versions] = tu
        if draw.random() < 0.8:
            kind = "erase" if step == "drop" else "fill"
            story.run(f"D{number}.{kind}", tu, tu + 1, (kind,), v=versions)
    for number in range(10):
        at += 3 * draw.randint(1, 3)
        right = max(version for version, tu in since.items() if tu <= at)
        version = right if draw.random() < 0.7 else draw.randint(1, versions)
        does = [draw_operation(draw) for _ in range(draw.randint(1, 3))]
        cv = None if all(one[0] == "find" for one in does) else at + 1
        story.run(f"T{number}", at - draw.choice([0, 0, 1]), cv, *does, v=version)
    story.read_back(200)
    history = story.history()
    if draw.random() < 0.3:
        finals = [one for one in history.events if isinstance(one, IndexFinal)]
        if finals:
            history.events.remove(draw.choice(finals))
    return history


def draw_operation(draw: Random) -> tuple[object, ...]:
    key, value = draw.choice("rst"), draw.choice([1, 2, None])
    return draw.choice([("put", key, value), ("put", key, value), ("delete", key), ("find", value)])


# --- the second reading ---------------------------------------------------------------------------


class Reading:
    """A history as plain lists, asked anew for every version."""

    def __init__(self, history: History) -> None:
        self.events = history.events
        self.commits = {one.tx: one.commit_ts for one in self.events if type(one) is TxCommitted}

    def rows(self, at: int) -> dict[object, object]:
        """The value of each row at a timestamp."""
        found: dict[object, tuple[int, int, object]] = {}
        for position, one in enumerate(self.events):
            if type(one) is WriteExecuted and self.commits.get(one.tx, at + 1) <= at:
                value = ("gone",) if one.row is None else dict(one.row)[1]
                place = (self.commits[one.tx], position, value)
                found[one.key] = max(found.get(one.key, place), place, key=lambda p: p[:2])
        return {key: value for key, (_, _, value) in found.items() if value != ("gone",)}

    def entries(self, at: int) -> set[tuple[object, object]]:
        """(key, value) of each entry at a timestamp."""
        found: dict[tuple[object, object], tuple[int, int, bool]] = {}
        for position, one in enumerate(self.events):
            if type(one) is IndexWritten and self.commits.get(one.tx, at + 1) <= at:
                place = (self.commits[one.tx], position, one.added)
                entry = (one.key, one.values[0])
                found[entry] = max(found.get(entry, place), place, key=lambda p: p[:2])
        return {entry for entry, (_, _, added) in found.items() if added}

    def state(self, at: int) -> str | None:
        """The state of the index at a timestamp; None where there is none."""
        table: Table | None = None
        for one in self.events:
            if type(one) is UpdateLogged and one.activation_ts <= at:
                definition = one.objects[0].definition
                assert isinstance(definition, Table)
                table = definition
        states = [] if table is None else [one.state for one in table.indexes]
        return states[0] if states else None

    def moments(self) -> list[int]:
        """Every timestamp at which something changes."""
        tus = [one.activation_ts for one in self.events if type(one) is UpdateLogged]
        return sorted({*self.commits.values(), *tus})

    def wrong(self) -> set[Told]:
        found: set[Told] = set()
        for at in self.moments():
            state, rows, entries = self.state(at), self.rows(at), self.entries(at)
            if state is not None:
                found |= {
                    ("orphan-entry", key, value)
                    for key, value in entries
                    if key not in rows or rows[key] != value
                }
            if state == PUBLIC:
                found |= {
                    ("missing-entry", key, value)
                    for key, value in rows.items()
                    if (key, value) not in entries
                }
        return found | self.wrong_in_the_end(found) | self.wrong_queries()

    def wrong_in_the_end(self, before: set[Told]) -> set[Told]:
        at = self.moments()[-1]
        stored = {(one.key, one.values[0]) for one in self.events if type(one) is IndexFinal}
        if self.state(at) is None:
            return {("orphan-entry", key, value) for key, value in stored}
        rows = self.rows(at)
        found: set[Told] = {("entry-lost", *one) for one in self.entries(at) - stored}
        if self.state(at) == PUBLIC:
            missing = {one for one in rows.items() if one not in stored}
            found |= {("missing-entry", *one) for one in missing} - before
        return found

    def wrong_queries(self) -> set[Told]:
        """Of transactions that wrote, or used the version in force."""
        found: set[Told] = set()
        for position, one in enumerate(self.events):
            if type(one) is not IndexRead or one.tx not in self.commits:
                continue
            rows = self.rows(one.op_ts)
            for own in self.events[:position]:
                if type(own) is WriteExecuted and own.tx == one.tx:
                    rows[own.key] = ("gone",) if own.row is None else dict(own.row)[1]
            wrote = self.commits[one.tx] > one.op_ts
            if not wrote and self.used(one.tx) != self.in_force(one.op_ts):
                continue
            if self.used(one.tx) == 1:
                continue  # no version up to the one used has the index
            due = {key for key, value in rows.items() if value == one.values[0]}
            found |= {("orphan-found", key, one.values[0]) for key in set(one.keys) - due}
            found |= {("row-not-found", key, one.values[0]) for key in due - set(one.keys)}
        return found

    def used(self, tx: str) -> int:
        return next(one.version for one in self.events if type(one) is Enlisted and one.tx == tx)

    def in_force(self, at: int) -> int:
        updates = [one for one in self.events if type(one) is UpdateLogged]
        return sum(one.activation_ts <= at for one in updates)


def told(history: History) -> set[Told]:
    """What the checker says, by the events that it shows."""
    found: set[Told] = set()
    for one in CHECKERS.get("index_contents").check(Case(history)):
        first, last = one.witness[0], one.witness[-1]
        if one.kind in ("orphan-found", "row-not-found"):
            assert isinstance(last, IndexRead)
            key = next(
                k
                for k in "rst"
                if repr(k) in one.summary.partition(" found ")[2]
                or repr(k) in one.summary.partition("did not find ")[2]
            )
            found.add((one.kind, key, last.values[0]))
        elif isinstance(first, IndexWritten | IndexFinal):
            found.add((one.kind, first.key, first.values[0]))
        else:
            assert first.row is not None, one
            found.add((one.kind, first.key, dict(first.row)[1]))
    return found


def test_the_checker_and_the_second_reading_agree() -> None:
    kinds: set[str] = set()
    clean = 0
    for seed in range(HISTORIES):
        history = random_history(seed)
        due = Reading(history).wrong()
        assert told(history) == due, seed
        kinds |= {kind for kind, _, _ in due}
        clean += not due
    assert kinds == {
        "orphan-entry", "missing-entry", "entry-lost", "orphan-found", "row-not-found",
    }  # fmt: skip
    assert clean > HISTORIES // 20
