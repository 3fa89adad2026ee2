"""The old name of a table or view that is renamed: gone at once, or kept as an alias.

IEP-110 calls a rename incompatible and postpones the alternative: a rename in two stages, with an
alias [110.later.3]. In the first stage the object gets its new name, and the old one stays as an
*alias*, an object of the catalog that stands for it as a view does; transactions that use the old
name may still commit. In the second, `alias_ms` later (`alias_ends`), the alias is removed.

A transaction that uses the old name meanwhile enlists the alias beside the object, so that the end
of the alias concerns it, and no transaction that uses the new name [110.compat.scope]. One that had
enlisted the object before the rename counts as a user of the old name (`Catalog.steps`).

Meanwhile the old name is *reserved*: else it would mean two things at one timestamp. In statements
it means what it means in operations.
"""

from ddlsim.model.aliased import ObjectAliased
from ddlsim.model.ddl import ObjectChange, ObjectDropped, ObjectRenamed, Statement
from ddlsim.model.schema import Alias
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.protocol.schema.ddl_answers import created, dropped

Answer = Built | NoOp | Refused


def incompatible(statement: Statement, snapshot: Snapshot, _alias_ms: int) -> Answer:
    """The old name means nothing from the activation on [110.table.rename]."""
    return build(statement, snapshot, snapshot.next_object_id)


def alias(statement: Statement, snapshot: Snapshot, alias_ms: int) -> Answer:
    """The old name stays for `alias_ms` at least, and is reserved meanwhile [110.later.3]."""
    return _with_aliases(build(statement, snapshot, snapshot.next_object_id), snapshot, alias_ms)


def alias_unreserved(statement: Statement, snapshot: Snapshot, alias_ms: int) -> Answer:
    """As alias, but another table or view may take the old name at once."""
    aliases = (found for found in snapshot.objects() if isinstance(found, Alias))
    gone = tuple(map(dropped, aliases))
    free = snapshot.after(snapshot.version, snapshot.message_ts, snapshot.activation_ts, gone)
    built = build(statement, free, snapshot.next_object_id)
    if not isinstance(built, Built):  # perhaps because it uses an old name
        built = build(statement, snapshot, snapshot.next_object_id)
    return _with_aliases(built, snapshot, alias_ms)


def _with_aliases(built: Answer, snapshot: Snapshot, alias_ms: int) -> Answer:
    """Add an alias for each object that is renamed; drop the aliases of a dropped one."""
    if not isinstance(built, Built):
        return built
    objects: list[ObjectChange] = []
    for change in built.objects:
        (first, *_) = change.changes
        if isinstance(first, ObjectRenamed):
            objects += _kept(change, first, snapshot.next_object_id + len(objects), alias_ms)
        else:
            objects.append(change)
            if isinstance(first, ObjectDropped):
                objects += map(dropped, _aliases_of(change.object_id, snapshot))
    return Built(tuple(objects))


def _kept(
    change: ObjectChange, renamed: ObjectRenamed, alias_id: int, alias_ms: int
) -> list[ObjectChange]:
    old, new = renamed.old_name, renamed.new_name
    assert old != new, f"{old} is renamed to itself"
    aliased = ObjectAliased(old, new, alias_id)
    step = ObjectChange(
        change.object_id, change.kind, change.name, change.version, change.definition, (aliased,)
    )
    return [step, created(Alias(alias_id, old, 1, "", (change.object_id,), alias_ms))]


def _aliases_of(object_id: int, snapshot: Snapshot) -> list[Alias]:
    return [
        found
        for found in snapshot.objects()
        if isinstance(found, Alias) and object_id in found.tables
    ]
