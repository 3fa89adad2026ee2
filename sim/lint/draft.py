"""Steps of a remedy, whose statements are carried out on the catalog one after the other.

So each statement is written for the schema that the one before it leaves: names that are free,
indexes and constraints that are there. None is refused and each changes something, and directly
before each that is incompatible stands a drain.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from ddlsim import sql
from ddlsim.lint.written import quoted
from ddlsim.model.ddl import ObjectChange, Statement
from ddlsim.model.ops import Get, Scan
from ddlsim.model.schema import Column, Table
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.compatibility import RuleSet, is_forward_compatible
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused
from ddlsim.units import Timestamp

Step = dict[str, str | None]
DRAIN: Final = "(drain)"
"""What the text of every drain ends with."""


def step(do: str, statement: str | None = None) -> Step:
    """One step: what to do, and the SQL for it if there is any."""
    return {"do": do, "sql": statement}


class Ground(NamedTuple):
    """The catalog before a statement, how it takes statements, and the rules they are judged by.

    `tightens` is False where it refuses every SET NOT NULL, as the catalog of Ignite 3 does.
    """

    snapshot: Snapshot
    build: Callable[[Statement, Snapshot], Built | NoOp | Refused]
    rules: RuleSet
    tightens: bool = True


class Draft:
    """The steps so far and the catalog after them, for a remedy that is about one object."""

    def __init__(self, ground: Ground, object_id: int, names: Iterable[str] = ()) -> None:
        """`names` are of constraints that come later, and are given to none before."""
        found = ground.snapshot.by_id(object_id)
        assert found is not None, f"nothing has the id {object_id}"
        self.ground = ground
        self.steps: list[Step] = []
        self.successors: dict[str, str | None] = {}
        """Constraints by which others were replaced; None: by none."""
        self.name = found.name
        self._snapshot = ground.snapshot
        self._id = object_id
        self._reserved = frozenset(names)

    @property
    def snapshot(self) -> Snapshot:
        """The catalog as the steps so far leave it."""
        return self._snapshot

    @property
    def table(self) -> Table:
        """The table as the steps so far leave it."""
        found = self._snapshot.by_id(self._id)
        assert isinstance(found, Table), found
        return found

    def column(self, name: str) -> Column:
        """The column that has this name now."""
        return next(one for one in self.table.columns if one.name == name)

    def names_of(self, columns: Iterable[int]) -> list[str]:
        """The names of columns by their ids."""
        names = {one.id: one.name for one in self.table.columns}
        return [names[one] for one in columns]

    def free_column(self, name: str) -> str:
        """This name for a column, or one like it that none has."""
        return self._free(name, {one.name for one in self.table.columns})

    def free_constraint(self, name: str) -> str:
        """This name for a constraint, or one like it that none has."""
        return self._free(name, {one.name for one in self.table.constraints} | self._reserved)

    def free_index(self, name: str) -> str:
        """This name for an index, or one like it that none has."""
        tables = self._snapshot.tables()
        return self._free(name, {one.name for table in tables for one in table.indexes})

    def _free(self, name: str, taken: set[str]) -> str:
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        return free

    def say(self, do: str, statement: str | None = None) -> None:
        """Add a step that changes no schema."""
        self.steps.append(step(do, statement))

    def drain(self) -> None:
        """Let transactions end, unless the last step does."""
        if not self.drained:
            self.say(f"let every transaction end that used {self.name} before {DRAIN}")

    @property
    def drained(self) -> bool:
        """Whether the last step lets transactions end."""
        return bool(self.steps) and str(self.steps[-1]["do"]).endswith(DRAIN)

    def built(self, statement: str) -> tuple[ObjectChange, ...] | None:
        """What a statement would change, None where it is refused or changes nothing."""
        [parsed] = sql.parse(statement)
        assert not isinstance(parsed.statement, Get | Scan), f"no DDL: {statement}"
        outcome = self.ground.build(parsed.statement, self._snapshot)
        return outcome.objects if isinstance(outcome, Built) else None

    def aborts_nothing(self, statement: str) -> bool:
        """Whether the catalog takes a statement and every change of it is compatible."""
        changes = self.built(statement)
        return changes is not None and self._compatible(changes)

    def _compatible(self, changes: Iterable[ObjectChange]) -> bool:
        return all(is_forward_compatible(one, self.ground.rules) for one in changes)

    def run(self, do: str, statement: str, *, drained: bool = False) -> None:
        """Add a step whose statement the catalog takes; behind a drain if it is incompatible.

        With `drained` a step before the last one let transactions end, and that is enough.
        """
        taken = self.tries(do, statement, drained=drained)
        assert taken, f"a remedy that does not work: {statement}"

    def tries(self, do: str, statement: str, *, drained: bool = False) -> bool:
        """The same; no step is added and the result is False if the catalog does not take it."""
        changes = self.built(statement)
        if changes is None:
            return False
        if not drained and not self._compatible(changes):
            self.drain()
        version = self._snapshot.version + 1
        now = Timestamp(version)
        self._snapshot = self._snapshot.after(version, now, now, changes)
        self.steps.append(step(do, statement))
        return True

    def alters(self, do: str, action: str) -> None:
        """Add a step with an action of ALTER TABLE."""
        self.run(do, self.altering(action))

    def altering(self, action: str) -> str:
        """The statement that carries out an action of ALTER TABLE."""
        return f"ALTER TABLE {quoted(self.name)} {action}"
