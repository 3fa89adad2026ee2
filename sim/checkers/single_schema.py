"""I5: no transaction observes two versions of one table, or two tables under one name.

[110.req.1]
"""

from collections.abc import Iterator

from ddlsim.checkers.base import CHECKERS, WITNESS, Anomaly, Severity
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.history.events import AnyEvent, MetadataRead, ReadExecuted
from ddlsim.units import as_ms, show


class SingleSchema:
    """What a transaction can see of a table's schema never changes during its life.

    Observed is what operations ran under and what a metadata query showed, in whatever order, and
    whether or not the transaction commits in the end. A table that was enlisted but never used is
    not observed, so a coordinator may enlist it again before its first operation. A name that two
    objects bear at the timestamp at which it is looked up is a breach, whichever of them is found.
    """

    name = "single_schema"
    invariant = "I5"
    severity: Severity = "session"
    summary = "no transaction observes two versions of one table, or two tables under one name"
    voices = WITNESS

    def check(self, case: Case) -> Iterator[Anomaly]:
        """Two versions of one table, two tables under one name, names that mean two things."""
        for tx in case.transactions.values():
            yield from _two_versions(case, tx)
            yield from _two_tables(case, tx)
            if case.schemas.shared_names:
                yield from _two_meanings(case, tx)


def _two_versions(case: Case, tx: Transaction) -> Iterator[Anomaly]:
    first: dict[int, tuple[int, AnyEvent]] = {}
    yielded: dict[int, None] = {}
    for object_id, version, _, event in tx.uses():
        before_version, before = first.setdefault(object_id, (version, event))
        if version == before_version or object_id in yielded:
            continue
        yielded[object_id] = None
        yield Anomaly(
            "two-versions",
            f"{tx.name} {_saw(before)} {case.schemas.describe(object_id, before_version)} at "
            f"{as_ms(before.at_us)} ms, and {_saw(event)} version {version} at "
            f"{as_ms(event.at_us)} ms",
            (before, event),
            clauses=("110.req.1",),
        )


def _saw(event: AnyEvent) -> str:
    if isinstance(event, MetadataRead):
        return f"was shown the columns ({', '.join(event.columns)}) of"
    return "read under" if isinstance(event, ReadExecuted) else "wrote under"


def _two_tables(case: Case, tx: Transaction) -> Iterator[Anomaly]:
    """Names as the client gave them: they stand in the resolutions made to enlist."""
    used = {object_id: event for object_id, _, _, event in reversed(tx.uses())}
    meant: dict[str, int] = {}
    for place, resolved in tx.resolved:
        object_id, name = resolved.object_id, resolved.name
        is_way = case.schemas.is_way(object_id) and object_id not in tx.forgotten
        if name is None or place in tx.given_up or not (object_id in used or is_way):
            continue
        before = meant.setdefault(name, object_id)
        if before == object_id:
            continue
        witness = tuple(used[one] for one in (before, object_id) if one in used)
        yield Anomaly(
            "two-tables",
            f"to {tx.name} the name {name!r} meant object {before} first and object {object_id} "
            f"at {as_ms(resolved.at_us)} ms",
            (*witness, resolved),
            clauses=("110.req.1", "110.simple"),
        )
        meant[name] = object_id


def _two_meanings(case: Case, tx: Transaction) -> Iterator[Anomaly]:
    """A name that meant two things at the very timestamp at which it was looked up."""
    yielded: dict[str, None] = {}
    for _, resolved in tx.resolved:
        name = resolved.name
        if name not in case.schemas.shared_names or name in yielded:
            continue
        meanings = case.schemas.relations(name, resolved.ts)
        if len(meanings) > 1:
            yielded[name] = None
            logged = [case.schemas.catalog(one.catalog_version) for one in meanings]
            again = any(case.schemas.is_in_force_again(one, resolved.ts) for one in meanings)
            which = " and ".join(f"{one.kind} {one.object_id}" for one in meanings)
            yield Anomaly(
                "two-meanings",
                f"{tx.name} looked {name!r} up at {show(resolved.ts)}, where it is the "
                f"name of {which}, and was given object {resolved.object_id}",
                (*(one for one in logged if one is not None), resolved),
                clauses=("110.req.1", "98.past.2" if again else "110.later.3"),
            )


CHECKERS.add("single_schema", SingleSchema())
