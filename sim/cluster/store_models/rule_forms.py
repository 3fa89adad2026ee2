"""Rules of transactions and of updates a second time, from the thread: on a bench, by name.

[admit, fence, after_failure, newer_row, token, read_schema, activation, pause_before, settle]
"""

from collections.abc import Callable
from typing import Any, Final

from ddlsim.cluster.store_models.layer_walk import SETTINGS
from ddlsim.cluster.store_models.rule_bench import UNANSWERED, Bench, conflicts, on
from ddlsim.fdb.keys import METADATA_VERSION, Key, pack
from ddlsim.layer.design import Publication, Step
from ddlsim.layer.keyspace import (
    CUTOVER,
    HEAD,
    LOCAL_HEAD,
    LOG_END,
    copy_key,
    log_key,
    object_key,
    step_key,
    version_key,
)
from ddlsim.layer.rules.plans import of_statement
from ddlsim.layer.rules.reading import newest_of
from ddlsim.layer.schema import Used
from ddlsim.model.ddl import DropIndex
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.units import US_PER_MS, Timestamp

LATE: Final = Reason.METADATA_LATE
ADD: Final = ("ALTER TABLE t ADD COLUMN x1 INT", "ALTER TABLE u ADD COLUMN x2 INT")
OTHER: Final = "ALTER TABLE t ADD COLUMN x3 INT"
Form = Callable[[Bench], None]
STEP: Final = Step(of_statement(DropIndex("none")))


# --- admit ----------------------------------------------------------------------------------------


def leased(bench: Bench) -> None:
    """An operation is refused without a lease on its schema, or on what the process has by now; a
    process that has nothing reads the schema."""
    part, rule = bench.part, bench.name("admit")
    for age_ms in (None, 0, bench.design.lease_ms - 1, bench.design.lease_ms):
        for kept in (None, part.first, part.first + 1):
            for used in (None, part.first):
                if kept is None and used is not None:
                    continue
                tx, _ = bench.begun()
                bench.keeps(kept)
                tx.used = None if used is None else newest_of(part.schema(used))
                number = used if used is not None and rule == "while_leased" else kept
                part._confirmed_ms.clear()
                if number is not None and age_ms is not None:
                    part.confirm(number, part.now_ms() - age_ms)
                got = bench.result(bench.design.admit(part, tx, bench.request()))
                lasts = number is not None and age_ms is not None
                lasts = lasts and age_ms is not None and age_ms < bench.design.lease_ms
                if kept is None:
                    cache = part.cache
                    bench.same(f"what {rule} reads", cache and cache.schema.number, bench.number)
                    lasts = True
                what = f"{rule} behind {age_ms} ms, with {kept} kept and {used} used"
                bench.same(what, got, None if lasts else LATE)


def token(bench: Bench) -> None:
    """A schema that the client has seen is waited for, read, or a reason to be refused."""
    part, rule = bench.part, bench.name("admit")
    newest = bench.number
    for kept in (None, newest - 1, newest):
        for seen in (None, newest - 1, newest):
            bench.keeps(kept)
            behind = seen is not None and (kept is None or kept < seen)
            tx, _ = bench.begun()
            got, took_us = bench.timed(bench.design.admit(part, tx, bench.request(seen)))
            refused = behind and rule != "token_fetched"
            bench.same(f"{rule} with {kept} of {seen}", got, LATE if refused else None)
            cache = part.cache
            fetched = newest if behind and not refused else kept
            number = None if cache is None else cache.schema.number
            bench.same(f"what is kept behind {rule}", number, fetched)
            limit_us = bench.node.settings.operation_timeout_us
            if behind and rule == "token_awaited" and took_us < limit_us - US_PER_MS:
                bench.divergence.found(f"a token is awaited for {took_us} us alone")
            elif not (behind and rule == "token_awaited") and took_us:
                bench.divergence.found(f"{rule} takes {took_us} us")
    if rule == "token_awaited":
        bench.keeps(newest - 1)
        bench.loop.call_later(20 * US_PER_MS, bench.keeps, newest)
        tx, _ = bench.begun()
        got, took_us = bench.timed(bench.design.admit(part, tx, bench.request(newest)))
        bench.same("a token that is reached", got, None)
        if not 20 * US_PER_MS <= took_us <= 30 * US_PER_MS:
            bench.divergence.found(f"a token that is reached is awaited for {took_us} us")


# --- read_schema ----------------------------------------------------------------------------------

CONFLICTS: Final[dict[str, tuple[Key, ...]]] = {
    "version_key_first": (HEAD,),
    "local_to_storage": (),
    "metadata_version_at_snapshot": (),
    "kept": (),
}
"""The keys that reading the schema makes a transaction conflict on, where it has not changed."""
OF_ANY: Final = {"one_of_the_copies": copy_key, "one_of_the_version_keys": version_key}
KEEPS: Final = ("kept",)
"""Rules that use what is kept, whatever the store has."""


def read(bench: Bench) -> None:
    """The schema of a transaction is that of its read version; what it conflicts on."""
    _read_now(bench)
    if bench.name("read_schema") not in KEEPS:
        _read_before(bench)


def _read_now(bench: Bench) -> None:
    """What it reads at the newest version, whatever its process keeps."""
    rule, part = bench.name("read_schema"), bench.part
    for kept in (None, bench.number - 1, bench.number):
        bench.keeps(kept)
        if part.cache is not None and rule.startswith("metadata_version"):
            tag = bench.shelf.bumps[-1 if kept == bench.number else -2]
            cache = part.cache
            part.cache = type(cache)(cache.schema, tag, cache.version, cache.read_ms)
        tx, store = bench.begun()
        used = bench.result(bench.design.read_schema(part, tx))
        if not isinstance(used, Used):
            bench.divergence.found(f"{rule} gives {used!r}")
            return
        due = kept if rule in KEEPS and kept is not None else bench.number
        bench.same(f"the schema by {rule} with {kept} kept", used.schema.number, due)
        bench.same(f"the tables by {rule}", used.snapshot.tables(), used.schema.latest().tables())
        if rule not in KEEPS and tx.version is None:
            bench.divergence.found(f"{rule} reads without a read version that is known")
        if kept == bench.number and rule in CONFLICTS:
            bench.same(f"the conflicts of {rule}", conflicts(store), on(*CONFLICTS[rule]))
        if rule == "whole_schema":
            log = pack(log_key(part.first + 1)), pack(LOG_END)
            bench.same(f"the conflicts of {rule}", store.reads, [(log, None)])
        if rule == "metadata_version":
            both = {(METADATA_VERSION, None)}
            bench.same(f"the conflicts of {rule}", conflicts(store), both)
        if rule in OF_ANY and kept == bench.number:
            places = [on(OF_ANY[rule](place)) for place in range(bench.design.copies)]
            if conflicts(store) not in places:
                bench.divergence.found(f"{rule} conflicts on {conflicts(store)}")


def _read_before(bench: Bench) -> None:
    """An update behind the read version is not used, though the process has read it meanwhile."""
    rule, number = bench.name("read_schema"), bench.number
    tx, _ = bench.begun(reads=True)
    bench.updated("CREATE INDEX later ON t (v)")
    for kept in (None, bench.number):
        bench.learns()
        bench.keeps(kept)
        used = bench.result(bench.design.read_schema(bench.part, tx))
        got = used.schema.number if isinstance(used, Used) else used
        bench.same(f"the schema by {rule} before an update, with {kept} kept", got, number)


def in_force(bench: Bench) -> None:
    """What is in force at the read version, by a log that was read late enough for that."""
    rule, part = bench.name("read_schema"), bench.part
    valid = part.distance - (SETTINGS.window if rule == "in_force_less_the_window" else 0)
    newest = bench.updated(OTHER, ahead=2 * part.distance)
    bench.learns()
    bench.until(bench.shelf.version + 1)
    version = bench.shelf.version
    for age in (0, valid - 1, valid, valid + 1, -1):
        bench.keeps(bench.number - 1)
        cache = part.cache
        assert cache is not None, "a schema is kept"
        part.cache = type(cache)(cache.schema, cache.tag, version - age, cache.read_ms)
        tx, _ = bench.begun()
        used = bench.result(bench.design.read_schema(part, tx))
        fresh = not 0 <= age < valid
        number = used.schema.number if isinstance(used, Used) else used
        bench.same(f"{rule} by a log of {age} versions ago", number, newest.number - (not fresh))
    for at in (newest.activation - 1, newest.activation):
        bench.until(at)
        bench.keeps(bench.number)
        tx, _ = bench.begun()
        used = bench.result(bench.design.read_schema(part, tx))
        table = used.snapshot.meant("t") if isinstance(used, Used) else None
        names = {one.name for one in table.columns} if isinstance(table, Table) else set()
        bench.same(
            f"{rule} at {at}, of {newest.activation}", "x3" in names, at == newest.activation
        )


def by_mode(bench: Bench) -> None:
    """What is kept in optimistic mode, behind a read version; else the head, which conflicts."""
    part = bench.part
    for mode in ("", "optimistic", "pessimistic"):
        bench.keeps(bench.number - 1)
        part.mode = mode
        tx, store = bench.begun()
        used = bench.result(bench.design.read_schema(part, tx))
        due = bench.number - (mode == "optimistic")
        bench.same(f"the schema in mode {mode!r}", used.schema.number, due)
        if (tx.version is None) or ((HEAD_CONFLICT in conflicts(store)) == (mode == "optimistic")):
            bench.divergence.found(f"mode {mode!r} conflicts on {conflicts(store)}")


HEAD_CONFLICT: Final = next(iter(on(HEAD)))


# --- fence ----------------------------------------------------------------------------------------


def fence(bench: Bench) -> None:
    """What a transaction conflicts on, or requires, besides what it has read."""
    rule, part = bench.name("fence"), bench.part
    tx, store = bench.begun(reads=True)
    bench.keeps(bench.number)
    tx.used = newest_of(part.schema(bench.number))
    tables = [one for one in tx.used.snapshot.tables() if one.name in ("t", "u")]
    tx.tables = {one.id: one for one in tables}
    tx.schema_version = 17
    bench.same(f"{rule}", bench.result(bench.design.fence(part, tx)), None)
    due = {
        "unfenced": set(),
        "schema_key": on(HEAD),
        "object_keys": on(*(object_key(one.id) for one in tables)),
        "cutover_key": on(CUTOVER),
        "schema_key_in_the_past": {(key, 17) for key, _ in on(HEAD)},
        "local_head": set(),
    }
    bench.same(f"the conflicts of {rule}", conflicts(store), due[rule])
    required = [(LOCAL_HEAD, bench.number)] if rule == "local_head" else []
    bench.same(f"what {rule} requires", store.required, required)
    if rule == "local_head":
        tx, store = bench.begun()
        tx.used = newest_of(part.schema(part.first))
        bench.result(bench.design.fence(part, tx))
        bench.same("what is required at first", store.required, [(LOCAL_HEAD, None)])


def tables_named(used: Used, names: tuple[str, ...]) -> dict[int, Table]:
    """The tables that a transaction uses, in the order of their first uses."""
    found = [used.snapshot.meant(name) for name in names]
    return {one.id: one for one in found if isinstance(one, Table)}


def lease_fence(bench: Bench) -> None:
    """A lease at the commit, and a conflict on the update after the next one.

    Where tables stay as they were, the schema that the process has by now counts.
    """
    rule, part, newest = bench.name("fence"), bench.part, bench.number
    by_table = rule == "lease_and_unchanged_tables"
    for age_ms in (None, bench.design.lease_ms - 1, bench.design.lease_ms):
        for used in (newest - 1, newest):
            for names in (("t",), ("u",), ("u", "t")):
                tx, store = bench.begun()
                bench.keeps(newest)
                tx.used = newest_of(part.schema(used))
                tx.tables = tables_named(tx.used, names)
                part._confirmed_ms.clear()
                number = newest if by_table else used
                if age_ms is not None:
                    part.confirm(number, part.now_ms() - age_ms)
                got = bench.result(bench.design.fence(part, tx))
                due = None if age_ms == bench.design.lease_ms - 1 else LATE
                changed = by_table and used < newest and "u" in names  # by the last update
                what = f"{rule} of {names} under {used}, {age_ms} ms behind its lease"
                bench.same(what, got, Reason.SCHEMA_CHANGED if changed and not due else due)
                if got is None:
                    bench.same(
                        f"the conflicts of {rule}", conflicts(store), on(step_key(number + 2))
                    )
    if by_table:
        tx, _ = bench.begun()
        tx.used = newest_of(part.schema(newest))
        bench.keeps(None)
        bench.same(f"{rule} of nothing kept", bench.result(bench.design.fence(part, tx)), None)


# --- failures, rows, tokens -----------------------------------------------------------------------

READ_AGAIN: Final = {
    "keep_the_schema": (),
    "read_again_after_conflicts": (
        Reason.TX_CONFLICT, Reason.NEWER_ROW_VERSION, Reason.TABLE_NOT_FOUND,
    ),
    "read_again_after_newer_rows": (Reason.NEWER_ROW_VERSION,),
}  # fmt: skip
"""The failures behind which the schema is read again."""


def after_failure(bench: Bench) -> None:
    """Which failures make the process read the schema again."""
    rule = bench.name("after_failure")
    for reason in Reason:
        bench.keeps(bench.number)
        tx, _ = bench.begun()
        bench.design.after_failure(bench.part, tx, reason)
        forgets = bench.part.cache is None
        bench.same(f"whether {rule} forgets at {reason}", forgets, reason in READ_AGAIN[rule])


def newer_row(bench: Bench) -> None:
    """A row of a newer schema is refused, or decoded as one of the schema in use."""
    rule, due = bench.name("newer_row"), {"refuse_newer_rows": Reason.NEWER_ROW_VERSION}
    bench.same(f"{rule}", bench.design.newer_row(7, 5), due.get(rule, 5))


def answer(bench: Bench) -> None:
    """The token of an answer."""
    rule, part = bench.name("token"), bench.part
    for used in (None, bench.number - 1, bench.number):
        for asked in (None, 0, bench.number - 1, bench.number, bench.number + 1):
            tx, _ = bench.begun()
            tx.used = None if used is None else newest_of(part.schema(used))
            got = bench.design.token(part, tx, None if asked is None else Timestamp(asked))
            due = {"no_token": 0, "schema_used": max(used or 0, asked or 0), "as_asked": asked or 0}
            bench.same(f"{rule} of {used}, asked with {asked}", got, due[rule])


# --- updates --------------------------------------------------------------------------------------


def activation(bench: Bench) -> None:
    """Since when an update is in force."""
    rule = bench.name("activation")
    due = {"at_commit": 70, "after_read_version": 55, "after_commit_version": 75}
    bench.same(f"{rule}", bench.design.activation(50, 70, 5), due[rule])


def pause_in_force(bench: Bench) -> None:
    """A further update waits until the last one is in force, and no longer."""
    rule, part = bench.name("pause_before"), bench.part
    made = bench.updated(OTHER, ahead=60)
    bench.learns()
    for left in (11, 1, 0, -1):
        bench.until(made.activation - left)
        store = bench.begun()[1]
        got = bench.result(bench.design.pause_before(part, store, part.log))
        due = max(left, 0) * US_PER_MS + (left > 0)
        bench.same(f"{rule}, {left} versions before", got, due)


LOOKED_MS: Final = 13
"""How long before an update its process has last found the schema before it to be the newest."""


def pause_leases(bench: Bench) -> None:
    """A further update waits until no process can have a lease on the schema before the newest."""
    part, design = bench.part, bench.design
    store = bench.begun()[1]
    first = bench.result(design.pause_before(part, store, part.schema(part.first)))
    bench.same("the pause before the first update", first, 0)
    part.confirm(part.log.number, part.now_ms())  # others read it still, until the update
    bench.passes(LOOKED_MS)
    bench.updated(OTHER)
    bench.learns()
    longest_us = _longest_us(bench)
    for gone_ms in (0, 1, 11, 2 * design.lease_ms):
        since_ms = part.known_since_ms(part.log.number)
        bench.passes(max(gone_ms - (part.now_ms() - since_ms), 0))
        got = bench.result(design.pause_before(part, store, part.log))
        due = max(longest_us - max(gone_ms - 1, 0) * US_PER_MS, 0)
        bench.same(f"the pause {gone_ms} ms behind an update", got, due)


def _longest_us(bench: Bench) -> int:
    """How long a lease may last by a slow clock, as a fast one sees it, and a microsecond."""
    drift, lease_us = bench.design.drift_percent, bench.design.lease_ms * US_PER_MS
    return lease_us * (100 + drift) // (100 - drift) + 1


def settle(bench: Bench) -> None:
    """How long a statement waits behind its update."""
    rule, part, design = bench.name("settle"), bench.part, bench.design
    made = bench.updated(OTHER, ahead=60)
    bench.learns()
    bench.keeps(None)
    got, took_us = bench.timed(design.settle(part, made, STEP))
    if got == UNANSWERED:
        bench.divergence.found(f"{rule} does not end")
    version = bench.shelf.version
    cutoff = SETTINGS.window * design.cutoff_percent // 100
    due = {"in_force": made.activation, "in_force_and_drained": made.activation + cutoff}
    if rule in due and not due[rule] <= version <= due[rule] + 1:
        bench.divergence.found(f"{rule} ends at {version}, of {due[rule]}")
    spans = {"leases_end": _longest_us(bench), "at_once": 0, "read_again": 0}
    if rule in spans:
        bench.same(f"the span of {rule}", took_us, spans[rule])
    if rule == "read_again":
        number = None if part.cache is None else part.cache.schema.number
        bench.same("what is read again", number, made.number)


def _made(version: int) -> Any:
    """What stands for an update."""
    return version, "made"


def publish(bench: Bench) -> None:
    """What an update writes: the head, a key for each of its objects, and what readers look at."""
    rule, part, number = bench.name("publish"), bench.part, bench.number + 1
    store = bench.begun()[1]
    new = Publication(part.log, number, (41, 42), 50, _made)
    bench.design.publish(part, store, new)
    due: dict[Key, object] = {HEAD: number, object_key(41): number, object_key(42): number}
    copies = range(bench.design.copies)
    due |= {
        "head_and_step": {step_key(number): number},
        "head_and_local": {LOCAL_HEAD: number},
    }.get(rule, {})
    if rule == "head_and_version_keys":
        due |= {version_key(place): number for place in copies}
    got = {key: value for _, value, key in store.changes if key is not None}
    bench.same(f"what {rule} writes", got, due)
    before = tuple(part.log.updates[part.first :])
    made = {key: make(70) for key, make in store.stamped}
    copied = {copy_key(place): (*before, (70, "made")) for place in copies}
    bench.same(f"what {rule} stamps", made, copied if rule == "head_and_copies" else {})
    bench.same(f"whether {rule} bumps", store.bumped, rule == "head_and_metadata_version")
    at = bench.design.activation(50, 50, part.distance)
    ahead = [(span[0], version) for span, version in store.futures]
    key = next(iter(on(CUTOVER)))[0]
    bench.same(f"what {rule} registers", ahead, [(key, at)] if rule == "head_in_the_future" else [])


PUBLISHED: Final = (
    "head", "head_and_step", "head_and_local", "head_and_copies", "head_and_version_keys",
    "head_and_metadata_version", "head_in_the_future",
)  # fmt: skip
FORMS: Final[dict[str, Form]] = {
    **dict.fromkeys(PUBLISHED, publish),
    **dict.fromkeys(("while_leased", "while_newest_leased"), leased),
    **dict.fromkeys(("token_awaited", "token_fetched", "token_refused"), token),
    **dict.fromkeys((*CONFLICTS, *OF_ANY, "whole_schema", "metadata_version"), read),
    **dict.fromkeys(("in_force_at_read_version", "in_force_less_the_window"), in_force),
    "by_mode": by_mode,
    **dict.fromkeys(("unfenced", "schema_key", "object_keys", "cutover_key"), fence),
    **dict.fromkeys(("schema_key_in_the_past", "local_head"), fence),
    **dict.fromkeys(("lease_and_next_step", "lease_and_unchanged_tables"), lease_fence),
    **dict.fromkeys(READ_AGAIN, after_failure),
    **dict.fromkeys(("refuse_newer_rows", "decode_as_used"), newer_row),
    **dict.fromkeys(("no_token", "schema_used", "as_asked"), answer),
    **dict.fromkeys(("at_commit", "after_read_version", "after_commit_version"), activation),
    "once_the_last_is_in_force": pause_in_force,
    "once_leases_have_ended": pause_leases,
    **dict.fromkeys(("at_once", "read_again", "leases_end"), settle),
    **dict.fromkeys(("in_force", "in_force_and_drained"), settle),
}
"""What compares a rule, by its name."""
FIELDS: Final = (
    "admit", "read_schema", "fence", "after_failure", "newer_row", "token", "activation",
    "pause_before", "settle", "publish",
)  # fmt: skip
"""The fields with such rules."""
