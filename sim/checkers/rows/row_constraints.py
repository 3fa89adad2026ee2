"""Rows that break a unique index or a CHECK constraint, part of I7.

Judged are the committed versions of rows, in the order of commit_ts, against the schema in force:

* CHECK: no version is committed while a constraint is in force that it does not satisfy.
* Unique: at no timestamp are two rows there with equal values in an index in force, unless both
  were committed before the index came into force. Rows that exist are not checked when an index or
  a constraint is added (NOT VALID); what is committed later may not equal one of these either.
  Where transactions write the entries of indexes, an index is in force once it is public, and
  no two rows are excused: what makes it public has read them all.

By commit_ts alone, a row that was written under an older schema counts as what it is when it is
committed. A design under which adding an index is incompatible never commits it that late.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.constraints import Unique, broken_checks, entry, uniques
from ddlsim.checkers.case.rows import upgraded
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.case.words import values_words
from ddlsim.checkers.case.writes import Item, Key, Version, Writes, the_row
from ddlsim.checkers.graph.late import missed
from ddlsim.history.event import Cells
from ddlsim.model.schema import Table
from ddlsim.units import MAX_TIMESTAMP, show


class InForce(NamedTuple):
    """A unique index in force on [since, until); `first` made it, `last` is the last with it."""

    unique: Unique
    since: int
    until: int
    first: SchemaVersion
    last: SchemaVersion


class Life(NamedTuple):
    """A version of a row while it is the newest one and an index is in force: [start, end)."""

    start: int
    end: int
    key: Key
    version: Version


def rows_against_constraints(case: Case, writes: Writes) -> Iterator[Anomaly]:
    """Each row that breaks a CHECK, each pair of rows that breaks a unique index."""
    tables: dict[int, list[Item]] = defaultdict(list)
    for item in writes.versions:
        tables[item[0]].append(item)
    for object_id, items in tables.items():
        steps = case.schemas.steps(object_id, 0, MAX_TIMESTAMP)
        definitions = [one.definition for one in steps if isinstance(one.definition, Table)]
        if any(one.condition for table in definitions for one in table.constraints):
            for item in items:
                for version in writes.versions[item]:
                    yield from _against_checks(case, writes, item, version)
        for force in _in_force(steps, built=case.is_layered):
            yield from _duplicates(case, writes, items, force)


def _row(writes: Writes, version: Version, target: Table) -> Cells | None:
    """A committed version as a table shows it; None for a deletion, or an unknown version."""
    event = version.write.event
    source = writes.table(event.object_id, event.version)
    if event.row is None or source is None:
        return None
    return upgraded(event.row, source, target)


# --- CHECK ----------------------------------------------------------------------------------------


def _against_checks(case: Case, writes: Writes, item: Item, version: Version) -> Iterator[Anomaly]:
    step = case.schemas.existing(item[0], version.commit_ts)
    if step is None or not isinstance(step.definition, Table):
        return
    row = _row(writes, version, step.definition)
    for name in [] if row is None else broken_checks(step.definition, row):
        event = version.write.event
        yield Anomaly(
            "check-violated",
            f"{version.write.tx} wrote {the_row(case, item[0], item[1], event.version)} and "
            f"committed at {show(version.commit_ts)}, though it does not satisfy {name}, in force "
            f"since version {step.version} at the latest",
            (event, case.history.events[version.committed_at], *case.schemas.logged(step)),
            clauses=("110.ours.check", *_look_up(case, version, name)),
        )


def _look_up(case: Case, version: Version, name: str) -> tuple[str, ...]:
    """98.ap, where a look-up missed a version in force with the constraint: that broke first."""
    tx = case.transactions[version.write.tx]
    tables = (one.definition for one in missed(case, tx, version.write.event))
    has_it = any(
        name in [constraint.name for constraint in table.constraints]
        for table in tables
        if isinstance(table, Table)
    )
    return ("98.ap",) if has_it else ()


# --- unique indexes -------------------------------------------------------------------------------


def _in_force(steps: list[SchemaVersion], *, built: bool) -> list[InForce]:
    """The unique indexes and constraints that a table ever had, and when."""
    found: dict[int, InForce] = {}
    for step in steps:
        table = step.definition
        there = uniques(table, built=built) if isinstance(table, Table) else []
        present = {one.id: one for one in there}
        for number, force in found.items():
            if force.until == MAX_TIMESTAMP and number not in present:
                found[number] = force._replace(until=step.activation_ts)
            elif number in present:
                found[number] = force._replace(last=step)
        for number, unique in present.items():
            if number not in found:
                found[number] = InForce(unique, step.activation_ts, MAX_TIMESTAMP, step, step)
    return list(found.values())


def _duplicates(case: Case, writes: Writes, items: list[Item], force: InForce) -> Iterator[Anomaly]:
    entries: dict[tuple[object, ...], list[Life]] = defaultdict(list)
    table = force.last.definition
    assert isinstance(table, Table), force
    for item in items:
        versions = writes.versions[item]
        ends = [version.commit_ts for version in versions[1:]]
        for version, end in zip(versions, [*ends, MAX_TIMESTAMP], strict=True):
            life = Life(
                max(version.commit_ts, force.since), min(end, force.until), item[1], version
            )
            row = _row(writes, version, table)
            values = None if row is None else entry(force.unique, row, table)
            if values is not None and life.start < life.end:
                entries[values].append(life)
    for shared, lives in entries.items():
        yield from _overlaps(case, force, shared, sorted(lives, key=lambda life: life.start))


def _overlaps(
    case: Case, force: InForce, values: Iterable[object], lives: list[Life]
) -> Iterator[Anomaly]:
    """The first earlier row, for each row, that is there with the same values at the same time."""
    there: list[Life] = []
    for life in lives:
        there = [one for one in there if one.end > life.start]
        for other in there:
            later = max(life.version, other.version, key=lambda one: one.commit_ts)
            excused = later.commit_ts < force.since and not case.is_layered
            if other.key != life.key and not excused:
                yield _duplicate(case, force, values, (other, life))
                break
        there.append(life)


def _duplicate(
    case: Case, force: InForce, values: Iterable[object], two: tuple[Life, Life]
) -> Anomaly:
    events = [life.version.write.event for life in two]
    rows = " and ".join(
        f"{the_row(case, event.object_id, event.key, event.version)}, committed by "
        f"{life.version.write.tx} at {show(life.version.commit_ts)},"
        for life, event in zip(two, events, strict=True)
    )
    return Anomaly(
        "unique-violated",
        f"{rows} both have {values_words(values)} in the unique index {force.unique.name} from "
        f"{show(max(life.start for life in two))} on; it is in force since version "
        f"{force.first.version}, active since {show(force.since)}",
        (*events, *case.schemas.logged(force.first)),
        clauses=("110.ours.unique",),
    )
