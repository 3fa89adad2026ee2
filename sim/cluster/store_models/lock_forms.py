"""Rules of locks on tables, and of leases in the store, a second time: on a bench, by name.

[admit, read_schema, fence, after_failure, exclude, after_statement, pause_before, settle]
"""

from itertools import product
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.store_models.plan_forms import PLAN_FORMS
from ddlsim.cluster.store_models.rule_bench import PATIENCE_MS, UNANSWERED, Bench, conflicts, on
from ddlsim.cluster.store_models.rule_forms import (
    ADD,
    FIELDS,
    FORMS,
    LATE,
    STEP,
    Form,
    tables_named,
)
from ddlsim.cluster.store_models.shelf import ShelfTransaction
from ddlsim.fdb.keys import Key
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import broken_key, lease_key, lock_key, queue_key, taken_key
from ddlsim.layer.rules.reading import newest_of
from ddlsim.layer.schema import Used
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.model.settings import Settings
from ddlsim.units import US_PER_MS

COMMAND: Final = "d1/0"
TIMEOUT: Final = Reason.LOCK_TIMEOUT
NEVER: Final = -1
"""How a lock or a place in the queue that is not there ends."""


def written(store: ShelfTransaction) -> dict[Key, Any]:
    """What a transaction writes, key by key."""
    return {key: value for _, value, key in store.changes if key is not None}


def table_of(bench: Bench, name: str) -> int:
    """The id of a table."""
    table = bench.part.log.latest().meant(name)
    assert isinstance(table, Table), f"there is no {name}"
    return table.id


# --- locks: statements ----------------------------------------------------------------------------


def excluded(bench: Bench) -> None:
    """Whether a statement may change its tables, beside locks and places in the queue.

    Those that have ended are taken away, and what held them can no longer commit.
    """
    queues = bench.name("exclude") == "once_unlocked"
    objects = table_of(bench, "t"), table_of(bench, "u")
    places = ("none", "own", "own, late", "own, ended", "other", "other, ended")
    for ends, place, at in product((NEVER, 0, 1, 50), places, objects):
        bench.until()
        now = version = bench.shelf.version
        end = version + ends
        locks: dict[Key, Any] = {}
        if ends != NEVER:
            locks = {lock_key(at, "x1"): end, lock_key(at, "x2"): min(end, version)}
        queued: Any = {
            "none": None,
            "own": (COMMAND, now + 5_000, bench.part.now_ms() + 1),
            "own, late": (COMMAND, now + 5_000, bench.part.now_ms()),
            "own, ended": (COMMAND, version, bench.part.now_ms() + 1),
            "other": ("d2/0", now + 5_000, 0),
            "other, ended": ("d2/0", version, 0),
        }[place]
        beside = queue_key(objects[0] + objects[1] - at)
        held = {**locks, queue_key(at): queued, beside: ("d3/0", version, 0)}
        _lay(bench, held, objects)
        store = bench.begun()[1]
        store.version = version
        got = bench.result(bench.design.exclude(bench.part, store, COMMAND, objects))
        free = (ends == NEVER or end <= version) and place != "other"
        poll_us = bench.design.poll_ms * US_PER_MS
        due = 0 if free else TIMEOUT if place == "own, late" else poll_us
        what = f"a lock that ends in {ends}, {place} in the queue"
        bench.same(f"the wait beside {what}", got, due)
        broken = {broken_key(name): version for name in ("x1", "x2") if locks}
        gone = {key: None for key, value in held.items() if value is not None}
        bench.same(f"what is taken away of {what}", written(store), {**broken, **gone})
        _compare_place(bench, what, place, queued, at, stands=queues and due == poll_us)


def _lay(bench: Bench, held: dict[Key, Any], objects: tuple[int, ...]) -> None:
    """Have these locks and places, and no others, without another version."""
    for one in objects:
        for key in (queue_key(one), *(lock_key(one, name) for name in ("x1", "x2"))):
            last = bench.shelf.last
            bench.put(key, held.get(key))
            packed = next(place for place, known in bench.shelf.keys.items() if known == key)
            bench.shelf.values[packed] = [(0, held.get(key))]
            bench.shelf.last = last
    bench.shelf.written.clear()


def _compare_place(
    bench: Bench, what: str, place: str, before: Any, at: int, *, stands: bool
) -> None:
    """A statement that waits stands in front of what comes later, if no other one does."""
    span_ms = bench.design.lock_timeout_ms
    after = bench.shelf.now(queue_key(at))
    if not stands or place in ("own", "own, late", "own, ended", "other"):
        bench.same(f"the place of {what}", after, before)
        return
    mine = isinstance(after, tuple) and after[0] == COMMAND
    until = (after[1], after[2]) if isinstance(after, tuple) else (0, 0)
    least = bench.shelf.version + span_ms - 3, bench.part.now_ms() + span_ms - 1
    if not mine or until[0] < least[0] or not least[1] <= until[1] <= least[1] + 2:
        bench.divergence.found(f"the place of {what} is {after}")


def refused(bench: Bench) -> None:
    """A statement that is refused is in no queue any more, whether it knows its place there or not.

    Another one keeps its place, and one that is made has left the queue with its update.
    """
    part, shelf, design = bench.part, bench.shelf, bench.design
    objects = table_of(bench, "t"), table_of(bench, "u")
    made = bench.newest
    assert made is not None, "there is an update"
    for command, place, unknown in product(
        (COMMAND, made.command), ("new", "lost", "found"), (None, False, True)
    ):
        bench.until()
        end, found = shelf.version + 5_000, place == "found"
        mine = (command, end, part.now_ms() + 5_000) if found else None
        _lay(bench, {lock_key(objects[0], "x1"): end, queue_key(objects[0]): mine}, objects)
        shelf.struck, shelf.unknown = queue_key(objects[0])[:2], [] if found else [unknown]
        bench.result(design.exclude(part, bench.begun()[1], command, objects))
        theirs = ("d2/0", end, 0) if place == "lost" else None
        if theirs:
            bench.put(queue_key(objects[1]), theirs)
        shelf.unknown, before = [unknown] if found else [], shelf.last
        bench.result(design.after_statement(part))
        bench.passes(20)
        shelf.struck, shelf.unknown = (), []
        what = f"a place that is {place} in the queue, of {command}, {unknown=}"
        if command == made.command:
            bench.same(f"what is written of {what}", shelf.last, before)
            continue
        bench.same(what, [shelf.now(queue_key(one)) for one in objects], [None, theirs])
    _lay(bench, {}, objects)


# --- locks: transactions --------------------------------------------------------------------------


def locked(bench: Bench) -> None:
    """A table is locked at its first use, unless a statement stands before it for too long."""
    part, design, t = bench.part, bench.design, table_of(bench, "t")
    limit_us = design.lock_timeout_ms * US_PER_MS
    span = bench.node.settings.tx_timeout_ms
    for ends in (NEVER, 0, 20, 5_000):
        bench.put(queue_key(t), None if ends == NEVER else ("d", bench.shelf.version + 1 + ends, 0))
        bench.until()
        tx, _ = bench.begun()
        version = bench.shelf.version
        got, took_us = bench.timed(design.admit(part, tx, bench.request()))
        what = f"a lock behind a place that ends in {ends}"
        bench.same(what, got, TIMEOUT if ends == 5_000 else None)
        end = bench.shelf.now(lock_key(t, tx.label))
        bench.same(f"whether it holds {what}", end is not None, ends != 5_000)
        if ends != 5_000:
            bench.same(
                f"what it has of {what}", (tx.locks, tx.used is not None), ({t}, ends < 9999)
            )
            at = version + max(ends, 0)
            if not at + span <= end <= at + span + 2 * design.poll_ms:
                bench.divergence.found(f"{what} ends at {end}, of {at}")
        most_us = {20: 20 * US_PER_MS, 5_000: limit_us}.get(ends, 0)
        if not most_us - US_PER_MS <= took_us <= most_us + 2 * design.poll_ms * US_PER_MS:
            bench.divergence.found(f"{what} takes {took_us} us")
    bench.put(queue_key(t), None)
    _uses_again(bench)
    _goes_on(bench)
    _uses_another(bench)
    _ended(bench)
    _without_an_answer(bench)


def _uses_again(bench: Bench) -> None:
    """A table that was used is not locked again; one that is not there, not at all."""
    part, design, t = bench.part, bench.design, table_of(bench, "t")
    tx, _ = bench.begun()
    for table in ("none", "t"):
        bench.same(
            f"{table} at first",
            bench.result(design.admit(part, tx, bench.request(table=table))),
            None,
        )
    assert tx.used is not None, "a schema is in use"
    table_of_t = tx.used.snapshot.meant("t")
    assert isinstance(table_of_t, Table), "there is no t"
    tx.tables[t] = table_of_t
    before = bench.shelf.last
    bench.put(queue_key(t), ("d", bench.shelf.version + 5_000, 0))
    bench.same("t again", bench.result(design.admit(part, tx, bench.request())), None)
    bench.same("what is written for it", bench.shelf.last, before + 1)
    bench.put(queue_key(t), None)


def _goes_on(bench: Bench) -> None:
    """The newest schema is used, unless a table that was used is another one in it.

    What has become an index behind the read version cannot answer.
    """
    part, design = bench.part, bench.design
    for changes in ("t", "u"):
        tx, _ = bench.begun(reads=True)
        bench.result(design.admit(part, tx, bench.request(table="u")))
        assert tx.used is not None, "a schema is in use"
        used = tx.used.snapshot.meant("u")
        assert isinstance(used, Table), "there is no u"
        tx.tables[used.id] = used
        number = bench.updated(f"CREATE INDEX n{changes} ON {changes} (v)").number
        got = bench.result(design.admit(part, tx, bench.request()))
        bench.same(
            f"t behind an index of {changes}",
            got,
            None if changes == "t" else Reason.SCHEMA_CHANGED,
        )
        if got is None:
            bench.same("the schema behind it", tx.used.schema.number, number)
            table = part.log.latest().meant("t")
            new = {one.id for one in table.indexes} if isinstance(table, Table) else set()
            bench.same("the indexes that are too new", set(tx.too_new), new)


def _uses_another(bench: Bench) -> None:
    """An index that is too new for the read version stays so when another table is used."""
    part, design = bench.part, bench.design
    tx, _ = bench.begun(reads=True)
    bench.updated("CREATE INDEX nt2 ON t (v)")
    new: set[int] = set()
    for name in ("t", "u"):
        bench.same(
            f"{name} next", bench.result(design.admit(part, tx, bench.request(table=name))), None
        )
        table = part.log.latest().meant(name)
        assert isinstance(table, Table), f"there is no {name}"
        tx.tables[table.id] = table
        new |= {one.id for one in table.indexes if one.name == "nt2"}
        bench.same(f"the indexes that are too new once {name} is used", new - tx.too_new, set())


def _ended(bench: Bench) -> None:
    """A transaction that has ended meanwhile holds no lock, and hears why it has ended."""
    part, design, t = bench.part, bench.design, table_of(bench, "t")
    tx, _ = bench.begun(reads=True)
    tx.reason = Reason.TX_TIMED_OUT
    bench.result(design.admit(part, tx, bench.request()))
    bench.passes(20)
    bench.same("the lock of what has ended", bench.shelf.now(lock_key(t, tx.label)), None)
    bench.put(queue_key(t), ("d", bench.shelf.version + 5_000, 0))
    tx, _ = bench.begun(reads=True)
    tx.reason = Reason.TX_TIMED_OUT
    got = bench.result(design.admit(part, tx, bench.request()))
    bench.same("a wait of what has ended", got, Reason.TX_TIMED_OUT)
    bench.put(queue_key(t), None)


def _without_an_answer(bench: Bench) -> None:
    """A lock whose answer is lost stands before what comes meanwhile, if it is there.

    It ends with its transaction, also with one that ends while its answer is waited for.
    """
    part, design, shelf, t = bench.part, bench.design, bench.shelf, table_of(bench, "t")
    for is_there, meanwhile in product((False, True), ("", "a statement", "the end")):
        tx, _ = bench.begun(reads=True)
        key = lock_key(t, tx.label)
        comes: dict[str, Any] = {
            "a statement": (bench.put, queue_key(t), ("d", shelf.version + 5_000, 0)),
            "the end": (setattr, tx, "reason", Reason.TX_TIMED_OUT),
        }
        if meanwhile:
            bench.loop.call_later(US_PER_MS // 2, *comes[meanwhile])  # before it is tried again
        shelf.struck, shelf.unknown = key, [is_there]
        got, took_us = bench.timed(design.admit(part, tx, bench.request()))
        what = f"a lock without an answer, {is_there=}, and {meanwhile!r}"
        due = {"a statement": None if is_there else TIMEOUT, "the end": Reason.TX_TIMED_OUT}
        bench.same(what, got, due.get(meanwhile))
        if got is not TIMEOUT and took_us >= design.lock_timeout_ms * US_PER_MS:
            bench.divergence.found(f"{what} takes {took_us} us")
        bench.same(f"whether it is there behind {what}", shelf.now(key) is not None, got is None)
        if meanwhile != "the end":
            design.after_failure(part, tx, Reason.ROLLED_BACK)
        bench.passes(20)
        bench.same(f"what is left of {what}", shelf.now(key), None)
        shelf.struck, shelf.unknown = (), []
        bench.put(queue_key(t), None)


def until_the_end(bench: Bench) -> None:
    """Locks of what has written end with its commit, if it still has them; others at once."""
    part, objects = bench.part, (table_of(bench, "t"), table_of(bench, "u"))
    for wrote in (False, True):
        tx, store = bench.begun(reads=True)
        tx.wrote, tx.locks = wrote, set(objects)
        keys = [lock_key(one, tx.label) for one in objects]
        for key in keys:
            bench.put(key, 9_999)
        bench.same("the end of locks", bench.result(bench.design.fence(part, tx)), None)
        bench.passes(5)
        left = [bench.shelf.now(key) for key in keys]
        bench.same(f"the locks left, {wrote}", left, [9_999 if wrote else None] * 2)
        due = on(broken_key(tx.label)) if wrote else set()
        bench.same("the conflicts of locks", conflicts(store), due)
        bench.same("what ends locks", written(store), dict.fromkeys(keys if wrote else ()))


def release(bench: Bench) -> None:
    """The locks of a failed transaction end, whether their end conflicts or has no answer."""
    for fails, unknown in ((0, []), (2, []), (0, [False]), (0, [True])):
        tx, _ = bench.begun(reads=True)
        objects = {table_of(bench, "t"), table_of(bench, "u")}
        tx.locks = objects
        for one in objects:
            bench.put(lock_key(one, tx.label), 9_999)
        bench.strike(fails)
        bench.shelf.struck, bench.shelf.unknown = (), [*unknown]
        bench.design.after_failure(bench.part, tx, Reason.TX_CONFLICT)
        bench.passes(20)
        left = [bench.shelf.now(lock_key(one, tx.label)) for one in objects]
        bench.same("the locks of what has failed", left, [None, None])
    before = bench.shelf.last
    bench.design.after_failure(bench.part, bench.begun()[0], Reason.TX_CONFLICT)
    bench.passes(5)
    bench.same("what is written without a lock", bench.shelf.last, before)


# --- leases in the store --------------------------------------------------------------------------


def first_lease(bench: Bench) -> None:
    """A transaction uses what is leased, and waits for the first lease, but not for ever."""
    part, read = bench.part, bench.design.read_schema
    bench.keeps(None)
    got, took_us = bench.timed(read(part, bench.begun()[0]))
    bench.same("a schema without a lease", got, LATE)
    limit_us = bench.node.settings.operation_timeout_us
    if not limit_us - US_PER_MS <= took_us <= limit_us + 10 * US_PER_MS:
        bench.divergence.found(f"a lease is waited for {took_us} us")
    bench.loop.call_later(20 * US_PER_MS, bench.keeps, bench.number)
    got = bench.result(read(part, bench.begun()[0]))
    number = got.schema.number if isinstance(got, Used) else got
    bench.same("the schema of the first lease", number, bench.number)


def first_access(bench: Bench) -> None:
    """A table stays as it was at its first use; one that has changed before that is refused.

    What has read nothing goes on under the newest schema, if the tables that it uses are the same.
    """
    part, newest = bench.part, bench.number
    for used, kept, has_read, uses in product(
        (None, newest - 1, newest), (None, newest), (False, True), ("", "t", "u")
    ):
        for table in ("t", "u"):
            tx, _ = bench.begun(reads=has_read)
            bench.keeps(kept)
            tx.used = None if used is None else newest_of(part.schema(used))
            if tx.used is not None and uses:
                known = tx.used.snapshot.meant(uses)
                assert isinstance(known, Table), f"there is no {uses}"
                tx.tables = {known.id: known}
            got = bench.result(bench.design.admit(part, tx, bench.request(table=table)))
            crosses = used == newest - 1 and kept is not None and table == "u" and uses != "u"
            refused = crosses and has_read
            what = f"{table} under {used}, beside {uses!r}, {has_read=}, with {kept}"
            bench.same(what, got, Reason.SCHEMA_CHANGED if refused else None)
            number = None if tx.used is None else tx.used.schema.number
            bench.same(f"the schema of {what}", number, newest if crosses and not refused else used)


def under_a_lease(bench: Bench) -> None:
    """It commits on the newest lease of a schema in which its tables are as it uses them.

    Its read version lies before the end of that lease, and what takes it away conflicts. Where none
    is left to commit on, the process asks for one: a recovery of the store may have ended all.
    """
    part, newest, node = bench.part, bench.number, bench.node.name
    asked: list[int] = []
    part.lease_again = lambda: asked.append(1)
    for left, names, leases, fixed in product(
        (0, 1),
        (("t",), ("u",), ("u", "t")),
        ((newest - 1,), (newest,), (newest - 1, newest), ()),
        (False, True),
    ):
        tx, store = bench.begun(reads=True)
        assert tx.version is not None, "the read version is known"
        tx.used = newest_of(part.schema(newest - 1))
        tx.tables = tables_named(tx.used, names)
        part.leases = dict.fromkeys(leases, tx.version + left)
        usable = [one for one in leases if one == newest - 1 or "u" not in names]
        if fixed and usable:
            tx.lease = usable[0]
            usable = usable[:1]
        got = bench.result(bench.design.fence(part, tx))
        due = None if usable and left else LATE
        what = f"a commit on {leases}, of {names}, {left} before their end"
        bench.same(what, got, due)
        bench.same(f"whether {what} asks for a lease", len(asked), int(due is LATE))
        asked.clear()
        if due is None:
            bench.same(
                f"the conflicts of {what}", conflicts(store), on(taken_key(node, usable[-1]))
            )


def older_leases(bench: Bench) -> None:
    """Leases on older schemas that have ended are taken away, and others waited for."""
    part, newest, field = bench.part, bench.number, bench.name("pause_before")
    for left, fails in ((0, 0), (30, 0), (0, 1)):
        bench.until()
        version = bench.shelf.version + 20
        older = [("p1", newest - 1), ("p2", newest - 1), ("p3", newest - 2)]
        for process, number in older:
            bench.put(lease_key(process, number), version)
        bench.put(lease_key("p2", newest), version + 9_000)
        bench.put(lease_key("p1", newest - 1), version + left)
        bench.until(version)
        store = bench.begun()[1]
        got = bench.result(bench.design.pause_before(part, store, part.log))
        bench.same(f"{field}, {left} before", got, bench.design.poll_ms * US_PER_MS if left else 0)
        gone: dict[Key, Any] = {lease_key(*one): None for one in older}
        taken = {taken_key(*one): one[1] for one in older}
        bench.same("the leases that are taken away", written(store), gone | taken)
        bench.strike(fails)
        update = bench.newest
        assert update is not None, "there is an update"
        ended, took_us = bench.timed(bench.design.settle(part, update, STEP))
        if ended == UNANSWERED or took_us < (left - 2) * US_PER_MS:
            bench.divergence.found(f"older leases end behind {took_us} us, of {left} ms")
        lasting = [bench.shelf.now(lease_key(*one)) for one in older]
        bench.same("the older leases behind that", lasting, [None] * 3)
        held = [bench.shelf.now(taken_key(*one)) for one in older]
        bench.same("what says so", held, [one[1] for one in older])
        rest = bench.shelf.now(lease_key("p2", newest))
        bench.same("the newest lease", rest, version + 9_000)


LOCK_FORMS: Final[dict[str, Form]] = {
    **dict.fromkeys(("once_unlocked", "once_unlocked_without_a_queue"), excluded),
    "out_of_the_queue": refused,
    "locked_with_a_fresh_catalog": locked,
    "until_the_end": until_the_end,
    "release": release,
    "leased": first_lease,
    "fixed_at_first_access": first_access,
    "under_a_lease": under_a_lease,
    "older_leases_gone": older_leases,
}
"""What compares a rule of locks or leases, by its name."""


def compare_rules(divergence: Divergence, design: LayerDesign, settings: Settings) -> None:
    """Compare each rule of a design that has a form, on a bench of its own."""
    forms = {**FORMS, **LOCK_FORMS, **PLAN_FORMS}
    for field in (*FIELDS, "exclude", "after_statement", "plan"):
        bench = Bench(divergence, design, settings)
        form = forms.get(bench.name(field))
        if form is None or divergence.is_known:
            continue
        for text in ADD:
            bench.updated(text)
        bench.learns()
        form(bench)
        bench.passes(PATIENCE_MS)
