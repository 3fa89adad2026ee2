"""The rules of aliases: no old name ends too early, or stays for nothing. Part of I12.

The window stands in the alias [110.later.3]. What the end of an alias does to transactions is
judged by I8 and I11. An alias also ends when what it stands for is dropped, at any time, by the
same update: it would keep its name from every other table, and stand for none.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.history.events import UpdateLogged
from ddlsim.model.schema import Alias
from ddlsim.units import Timestamp, plus_ms, show


def alias_rules(case: Case) -> Iterator[Anomaly]:
    """Each alias's end against its window, which begins with the activation of the rename."""
    begun: dict[int, tuple[Alias, UpdateLogged]] = {}
    ended: set[int] = set()
    for _, update in case.schemas.updates:
        gone = {change.object_id for change in update.objects if change.definition is None}
        ended |= gone
        for alias_id, (alias, rename) in begun.items():
            if alias_id not in ended and gone.intersection(alias.tables):
                yield _left(alias, rename, update)
        for change in update.objects:
            if isinstance(change.definition, Alias):
                begun.setdefault(change.object_id, (change.definition, update))
            elif change.object_id in begun and change.object_id in gone:
                alias, rename = begun[change.object_id]
                if not gone.intersection(alias.tables):
                    yield from _judged(alias, rename, update)


def _judged(alias: Alias, rename: UpdateLogged, end: UpdateLogged) -> Iterator[Anomaly]:
    due_ts = plus_ms(Timestamp(rename.activation_ts), alias.window_ms)
    if end.activation_ts < due_ts:
        yield Anomaly(
            "alias-ended-early",
            f"the rename that is active since {show(rename.activation_ts)} keeps the "
            f"name {alias.name!r} for {alias.window_ms} ms, and the name ended at "
            f"{show(end.activation_ts)}",
            (rename, end),
            clauses=("110.later.3",),
        )


def _left(alias: Alias, rename: UpdateLogged, drop: UpdateLogged) -> Anomaly:
    return Anomaly(
        "alias-of-nothing",
        f"the update of {show(drop.activation_ts)} drops the table that {alias.name!r}, its name "
        f"until {show(rename.activation_ts)}, stands for, and keeps the old name",
        (rename, drop),
        clauses=("110.later.3",),
    )
