"""When a transaction may be taken to have run on a newer schema than it did (relaxed mode).

Protocol.md's rule: the edge T -> D_{v+1} is dropped where the step from v to v+1 is forward-
compatible, T made no metadata query, and every row it read that was written under a newer version
is allowed by the design's `backward` rule. Metadata queries and rows are those of the same table:
the versions of different tables have nothing to do with each other.
"""

from typing import Final, NamedTuple

from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.rows import fits
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.case.writes import Writes
from ddlsim.checkers.rulings import ruling_of
from ddlsim.checkers.spec.spec import (
    Ruling,
    harmless_to_older,
    judgeable_by_row,
    leaves_rows_alone,
)
from ddlsim.history.events import MetadataRead, ReadExecuted, RowRead
from ddlsim.model.schema import Table

NO_RULE: Final = "off"
"""What a design says that downgrades rows of newer schemas whatever was changed."""


class Hold(NamedTuple):
    """Why a transaction stays before a DDL; `tag` is what a finding is recognised by."""

    tag: str
    why: str
    event: MetadataRead | ReadExecuted | None = None


class Backward:
    """Judges which steps of a table's schema a transaction passes over unnoticed."""

    def __init__(self, case: Case, writes: Writes) -> None:
        self._case = case
        self._writes = writes
        self._rule = case.header.design.backward
        self._next: dict[tuple[int, int], SchemaVersion | None] = {}
        self._rulings: dict[tuple[int, int], Ruling] = {}

    def ruling(self, step: SchemaVersion) -> Ruling:
        """Whether a step is forward-compatible, and by which clause."""
        key = (step.object_id, step.version)
        found = self._rulings.get(key)
        if found is None:
            found = self._rulings[key] = ruling_of(self._case, step)
        return found

    def next_incompatible(self, after: SchemaVersion) -> SchemaVersion | None:
        """The first step behind a compatible one that is not forward-compatible."""
        passed: list[SchemaVersion] = []
        step: SchemaVersion | None = after
        while step is not None and (step.object_id, step.version) not in self._next:
            passed.append(step)
            step = self._case.schemas.after(step.object_id, step.version)
            if step is not None and not self.ruling(step).compatible:
                break
        else:
            step = None if step is None else self._next[step.object_id, step.version]
        self._next.update({(one.object_id, one.version): step for one in passed})
        return step

    def hold(self, tx: Transaction, version: int, step: SchemaVersion) -> Hold | None:
        """Why `tx`, which ran under `version`, cannot be taken to have run after `step`."""
        ruling = self.ruling(step)
        if not ruling.compatible:
            return Hold(ruling.clause, f"not forward-compatible: {ruling.reason} [{ruling.clause}]")
        return self.noticed(tx, step.object_id, version)

    def noticed(self, tx: Transaction, object_id: int, version: int) -> Hold | None:
        """What showed `tx` which version of a table it ran under, if anything did."""
        for _, query in tx.metadata:
            if query.object_id == object_id:
                return Hold("metadata", f"{tx.name} was shown the table's columns", query)
        for _, read in tx.reads:
            if read.object_id != object_id:
                continue
            for row in read.rows:
                if row.row_version > version and not self._allowed(object_id, version, row):
                    rule = f"the rule {self._rule} does not allow"
                    if self._rule == NO_RULE:
                        rule = "no rule allows"
                    what = f"read row {row.key!r} as written under version {row.row_version}"
                    why = f"{tx.name} {what}, which {rule} [110.back]"
                    return Hold("newer-row", why, read)
        return None

    def _allowed(self, object_id: int, version: int, row: RowRead) -> bool:
        """The design's rule for one row of a newer version; what is no rule allows nothing."""
        steps = self._case.schemas.steps(object_id, version, row.row_version)
        changes = [change for step in steps for change in step.changes]
        if self._rule == "by_change_type":
            return harmless_to_older(changes)
        if self._rule == "by_table_version":
            return leaves_rows_alone(changes)
        if self._rule != "by_tuple" or not judgeable_by_row(changes):
            return False
        older = self._case.schemas.definition(object_id, version)
        for write in self._writes.of.get((row.writer or "", (object_id, row.key)), ()):
            source = self._case.schemas.definition(object_id, write.event.version)
            if not isinstance(source, Table) or not isinstance(older, Table):
                return False
            if not fits(write.event.row, source, older):
                return False
        return True
