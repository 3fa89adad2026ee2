"""What a layer's store must hold when nothing is under way: its log, its rows, their entries.

Whatever a design keeps beside the log, as copies or versions of it, tells of the same schema; and
nothing is left of what has ended: statements, locks, places in a queue, older leases.
"""

from collections.abc import Mapping
from typing import Any

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.store_models.sheets import Sheet
from ddlsim.cluster.store_models.shelf import Shelf
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import (
    HEAD,
    INDEXES,
    JOBS,
    LOCAL_HEAD,
    MODE,
    ROWS,
    SCHEMA,
    copy_key,
    lease_key,
    object_key,
    step_key,
    switched_key,
    version_key,
)
from ddlsim.layer.process import LayerProcess
from ddlsim.layer.schema import Schema, Update
from ddlsim.model.schema import PUBLIC, Table


class Stored:
    """A store, as a design must leave it; `first` is the initial schema."""

    def __init__(
        self,
        divergence: Divergence,
        design: LayerDesign,
        shelf: Shelf,
        first: tuple[Update, ...],
    ) -> None:
        self._divergence = divergence
        self._same = divergence.compare
        self._design = design
        self._shelf = shelf
        self._first = first
        log = shelf.under(SCHEMA, "log")
        found = [log[key] for key in sorted(log, key=lambda key: int(str(key[2])))]
        self.updates = [one for one in found if isinstance(one, Update)]
        self.schema = Schema((*first, *self.updates))

    def compare(self, tables: Mapping[str, Sheet]) -> None:
        """Compare all that is stored with the tables that clients must see."""
        first = len(self._first)
        due = list(range(first + 1, first + 1 + len(self.updates)))
        self._same("the numbers in the log", [one.number for one in self.updates], due)
        if self.updates:
            self._compare_published()
        self._compare_tables(tables)
        self._compare_leftovers()

    def _compare_published(self) -> None:
        """The head, and what else each update has published."""
        same, shelf, newest = self._same, self._shelf, self.schema.number
        same("the head", shelf.now(HEAD), newest)
        last: dict[int, int] = {}
        for update in self.updates:
            last |= {changed.object_id: update.number for changed in update.objects}
        for object_id, number in last.items():
            same(f"the number of {object_id}", shelf.now(object_key(object_id)), number)
        rule = getattr(self._design.publish, "__name__", "")
        copies = range(self._design.copies)
        if rule == "head_and_copies":
            found = [shelf.now(copy_key(place)) for place in copies]
            same("the copies of the log", found, [tuple(self.updates)] * len(copies))
        elif rule == "head_and_version_keys":
            found = [shelf.now(version_key(place)) for place in copies]
            same("the copies of the head", found, [newest] * len(copies))
        elif rule == "head_and_step":
            steps = [shelf.now(step_key(one.number)) for one in self.updates]
            same("the steps", steps, [one.number for one in self.updates])
        elif rule == "head_and_local":
            same("the local head", shelf.now(LOCAL_HEAD), newest)
        elif rule == "head_and_metadata_version":
            same("the metadata version", shelf.bumps[-1], self.updates[-1].version)

    def _compare_tables(self, sheets: Mapping[str, Sheet]) -> None:
        """The tables, their rows and the entries of their indexes; and none of other tables."""
        same, shelf = self._same, self._shelf
        tables = [one for one in self.schema.latest().objects() if isinstance(one, Table)]
        same("the tables", {one.name for one in tables}, set(sheets))
        if self._divergence.is_known:
            return
        stored: set[tuple[Any, ...]] = set()
        for table in tables:
            sheet = sheets[table.name]
            stored |= self._compare_table(table, sheet)
            held = shelf.under(ROWS, table.id)
            rows = {key[2:] for key, row in held.items() if row[3] is not None}
            same(f"the rows of {table.name}", rows, {_parts(key) for key in sheet.rows})
        same("the entries", sorted(map(repr, shelf.listed(INDEXES))), sorted(map(repr, stored)))
        others = [key for key in shelf.under(ROWS) if key[1] not in {one.id for one in tables}]
        same("the rows of tables that are gone", others, [])

    def _compare_table(self, table: Table, sheet: Sheet) -> set[tuple[Any, ...]]:
        """The columns and indexes of a table; the entries that these must have."""
        same, stored = self._same, set[tuple[Any, ...]]()
        names = [column.name for column in table.columns]
        same(f"the columns of {table.name}", names, list(sheet.defaults))
        same(f"the indexes of {table.name}", {one.name for one in table.indexes}, {*sheet.indexes})
        ids = {column.id: column.name for column in table.columns}
        for index in table.indexes:
            same(f"the state of {index.name}", index.state, PUBLIC)
            columns = tuple(ids[one] for one in index.columns)
            same(f"the columns of {index.name}", columns, sheet.indexes.get(index.name, ("",))[0])
            for values, key in sheet.entries(columns):
                stored.add((INDEXES, index.id, *values, 0, *_parts(key)))
        return stored

    def _compare_leftovers(self) -> None:
        """Nothing is left of what has ended."""
        same, shelf = self._same, self._shelf
        same("the statements under way", shelf.under(JOBS), {})
        for kind in ("lock", "queue"):
            same(f"what is left of a {kind}", shelf.under(SCHEMA, kind), {})
        leases = {key[3] for key in shelf.under(SCHEMA, "lease")}
        same("leases on older schemas", leases - {self.schema.number}, set())

    def compare_process(self, process: LayerProcess) -> None:
        """What a process has of its own: a lease that goes on, and the mode of all."""
        same, shelf, name = self._same, self._shelf, process.node.name
        rules = {getattr(one, "__name__", "") for one in self._design.background}
        newest = self.schema.number
        if rules & {"lease_the_newest", "lease_all_in_use"}:
            ends = process.part.leases.get(newest, 0)
            left = self._design.lease_ms * (100 - self._design.renew_percent) // 100
            if not shelf.version + left - 3 <= ends + self._design.poll_ms:
                self._divergence.found(f"the lease of {name} ends at {ends} of {shelf.version}")
            same(f"the lease of {name}", shelf.now(lease_key(name, newest)), ends)
            same(f"the leases of {name}", list(process.part.leases), [newest])
        if rules & {"follow_the_mode", "follow_the_mode_stale"} and shelf.now(MODE) is not None:
            number, processes = shelf.now(MODE)
            same("whose statements need another mode", processes, ())
            same(f"the mode of {name}", process.part.mode, "optimistic")
            same(f"the mode that {name} says", shelf.now(switched_key(name)), number)


def _parts(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)
