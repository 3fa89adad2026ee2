"""What a process does all the time, and around a statement, called on a bench.

It rests behind each error of the store: a rule without a rest would ask again in the same instant,
for as long as the store fails. In a run that is a matter of load alone, and no answer differs.

[background, before_statement, after_statement]
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.layer_walk import named
from ddlsim.cluster.store_models.rule_bench import Bench, conflicts, on
from ddlsim.cluster.store_models.shelf import PLAIN, Machine, ShelfTransaction
from ddlsim.fdb.versions import versions_in
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import MODE, MODES, SCHEMA, lease_key, switched_key, taken_key
from ddlsim.layer.rules.reading import PESSIMISTIC
from ddlsim.layer.schema import Used
from ddlsim.model.settings import Settings
from ddlsim.units import US_PER_MS

FAILURES: Final = 3
SPAN_MS: Final = 60
"""Longer than so many rests."""
STEP_US: Final = 100
SOON_MS: Final = 8
"""Longer than a watch takes, and shorter than until a lease is renewed."""
UPDATES: Final = 3
UNENDING: Final = 9_000
"""In so many versions a lease ends behind all that is done on a bench."""
COMMITS: Final = ("follow_the_mode", "follow_the_mode_stale")
"""Tasks whose rounds write, so that their commits can fail."""
READS: Final = ("watch_the_head", "watch_the_flag", "lease_the_newest", "lease_all_in_use")
"""Tasks with a watch in each transaction, whose reads of the schema can fail."""


def compare_tasks(divergence: Divergence, design: LayerDesign, settings: Settings) -> None:
    """Compare the tasks of a design: each failure has one rest behind it, and leaves no watch."""
    for task in design.background:
        if named(task) not in COMMITS + READS or divergence.is_known:
            continue
        bench = Bench(divergence, design, settings)
        part: Any = bench.part
        rests: list[str] = []
        rest = part.rest

        async def counted(purpose: str, rest: Any = rest, rests: list[str] = rests) -> None:
            rests.append(purpose)
            await rest(purpose)

        part.rest = counted
        if named(task) in COMMITS:
            bench.strike(FAILURES)
        else:
            bench.shelf.unread = FAILURES
        bench.loop.spawn(task(part))
        bench.passes(SPAN_MS)
        bench.same(f"how often {named(task)} rests behind {FAILURES} errors", len(rests), FAILURES)
        left = bench.shelf.fails, bench.shelf.unread
        bench.same(f"what still fails under {named(task)}", left, ([], 0))
        bench.same(f"the watches that {named(task)} has given up", bench.shelf.watching, 0)


def compare_kept(divergence: Divergence, design: LayerDesign, settings: Settings) -> None:
    """Compare what tasks keep: the mode that they report, a lease, how new a schema is."""
    for task in design.background:
        for form in KEPT.get(named(task), ()):
            if divergence.is_known:
                return
            bench = Bench(divergence, design, settings)
            bench.updated("ALTER TABLE t ADD COLUMN kept INT")
            bench.updated("ALTER TABLE u ADD COLUMN kept INT")
            bench.learns()
            form(bench, task)


def _reported(bench: Bench, task: Any) -> None:
    """What a process has reported counts, also while it has no answer to that (C14)."""
    shelf, part = bench.shelf, bench.part
    bench.put(MODE, (5, ("p9",)))
    shelf.struck, shelf.lost, shelf.delay_us = (MODES,), 1, STEP_US
    bench.loop.spawn(task(part))
    until_us = bench.loop.now_us + SPAN_MS * US_PER_MS
    while bench.loop.now_us < until_us and not bench.divergence.is_known:
        bench.loop.run(until_us=bench.loop.now_us + STEP_US)
        if shelf.now(switched_key(bench.node.name)) is not None:
            bench.same("the mode behind its report", part.mode, PESSIMISTIC)
    bench.same("the answers that are lost", shelf.lost, 0)


def _unread(bench: Bench, task: Any) -> None:
    """A read that fails says nothing of how new the schema is (C5)."""
    part, old = bench.part, bench.number - 1
    bench.keeps(old)
    part.confirm(old, part.now_ms())
    since_ms = part.confirmed_ms(old)
    bench.passes(3)
    bench.shelf.unread = FAILURES
    bench.loop.spawn(task(part))
    bench.passes(SPAN_MS)
    bench.same("since when a schema has been the newest", part.confirmed_ms(old), since_ms)


def _renewed(bench: Bench, task: Any) -> None:
    """What has been taken away is leased no more, and what is sent late shortens no lease.

    A process that has leased again by another way would lose time: so what leases conflicts on it.
    """
    part, shelf, newest, name = bench.part, bench.shelf, bench.number, bench.node.name
    older = named(task) == "lease_all_in_use"
    for is_taken in (False, True):
        made: list[ShelfTransaction] = []

        def transaction(made: list[ShelfTransaction] = made) -> ShelfTransaction:
            made.append(ShelfTransaction(shelf, PLAIN))
            return made[-1]

        store: Any = SimpleNamespace(transaction=transaction)
        part.store = store
        ends = shelf.version + 3
        part.leases = {newest - 1: ends}
        bench.put(lease_key(name, newest - 1), None if is_taken else ends)
        bench.loop.spawn(task(part))
        bench.passes(bench.design.lease_ms // 4)
        held = shelf.now(lease_key(name, newest - 1)), shelf.now(lease_key(name, newest))
        renewed = [one is not None and one > ends for one in held]
        bench.same(f"what is leased again, {is_taken=}", renewed, [older and not is_taken, True])
        found = [one for one in made if one.changes]
        late = [on(lease_key(name, newest)) <= conflicts(one) for one in found]
        bench.same("whether leases conflict on the one before", late, [True] * len(found))


def _watches(bench: Bench, task: Any) -> None:
    """Every update is leased as soon as it is there, and not only once a lease is to be renewed.

    Until then a statement waits for the older lease: the watch is armed again behind each update.
    """
    part, node = bench.part, bench.node.name
    bench.loop.spawn(task(part))
    bench.passes(SOON_MS)
    for number in range(UPDATES):
        bench.updated(f"ALTER TABLE u ADD COLUMN watched{number} INT")
        bench.passes(SOON_MS)
        held = part.cache is not None and part.cache.schema.number, max(part.leases, default=0)
        bench.same(f"what is leased behind update {number}", held, (bench.number, bench.number))
        ends = bench.shelf.now(lease_key(node, bench.number))
        bench.same(f"its lease behind update {number}", ends, part.leases.get(bench.number))


def _left_behind(bench: Bench, task: Any) -> None:
    """Leases that a process does not know to be its own are taken away with its next one.

    An earlier incarnation has left one, and later the answer to a lease is lost while there is yet
    another update: each would hold statements up until it ends.
    """
    part: Any = bench.part
    shelf, name, newest = bench.shelf, bench.node.name, bench.number
    ends = shelf.version + UNENDING
    for process in (name, "p2"):
        bench.put(lease_key(process, newest - 1), ends)
    bench.loop.spawn(task(part))
    bench.passes(SOON_MS)
    _compare_taken(bench, "an earlier incarnation", newest - 1)
    bench.same("the lease of another process", shelf.now(lease_key("p2", newest - 1)), ends)
    rest = part.rest

    async def updated(purpose: str) -> None:
        bench.updated("ALTER TABLE u ADD COLUMN meanwhile INT")
        await rest(purpose)

    part.rest = updated
    shelf.struck, shelf.lost = (SCHEMA, "lease"), 1
    lost = bench.updated("ALTER TABLE u ADD COLUMN unanswered INT").number
    bench.passes(2 * SOON_MS)
    bench.same("the leases whose answer is lost", (shelf.lost, bench.number), (0, lost + 1))
    _compare_taken(bench, "a lost answer", lost)


def _compare_taken(bench: Bench, whose: str, number: int) -> None:
    """The process's lease on a schema is taken away, and what commits under it conflicts."""
    name, now = bench.node.name, bench.shelf.now
    bench.same(f"the lease of {whose}", now(lease_key(name, number)), None)
    bench.same(f"what takes the lease of {whose}", now(taken_key(name, number)), number)
    held = now(lease_key(name, bench.number)) is not None
    bench.same(f"whether there is a lease behind that of {whose}", held, expected=True)


def _given_back(bench: Bench, task: Any) -> None:
    """A lease that a transaction needs stays, also if that came in the pause; no other older one.

    What a transaction that is committing needs is its lease: given back, an update would not wait
    for it. One that is open needs the newest under which its tables are as it has used them: given
    back, its commit would be refused.
    """
    part: Any = bench.part
    newest, name = bench.number, bench.node.name
    ends = bench.shelf.version + versions_in(SPAN_MS, part.settings.versions_per_second)
    part.leases = dict.fromkeys((newest - 2, newest - 1, newest), ends)
    for number in part.leases:
        bench.put(lease_key(name, number), ends)
    part.transactions["early"] = SimpleNamespace(lease=newest - 2, used=None)
    bench.loop.spawn(task(part))
    pause_us = bench.design.poll_ms * US_PER_MS
    bench.loop.run(until_us=bench.loop.now_us + pause_us // 2)
    part.transactions["late"] = SimpleNamespace(lease=newest - 1, used=None)
    del part.transactions["early"]
    bench.loop.run(until_us=bench.loop.now_us + pause_us)
    bench.same("the leases with one in use", sorted(part.leases), [newest - 1, newest])
    oldest = part.schema(newest - 2)
    used, kept = Used(oldest, oldest.latest()), oldest.latest().meant("u")
    part.transactions["open"] = SimpleNamespace(lease=None, used=used, tables={kept.id: kept})
    del part.transactions["late"]
    bench.loop.run(until_us=bench.loop.now_us + 2 * pause_us)
    bench.same("the leases with an open one", sorted(part.leases), [newest - 1, newest])
    del part.transactions["open"]
    bench.loop.run(until_us=bench.loop.now_us + 2 * pause_us)
    bench.same("the leases with none in use", sorted(part.leases), [newest])
    held = [one for one in range(newest + 1) if bench.shelf.now(lease_key(name, one)) is not None]
    bench.same("the leases in the store with none in use", held, [newest])


KEPT: Final[dict[str, tuple[Callable[[Bench, Any], None], ...]]] = {
    **dict.fromkeys(COMMITS, (_reported,)),
    "poll_the_head": (_unread,),
    **dict.fromkeys(("lease_the_newest", "lease_all_in_use"), (_renewed, _watches, _left_behind)),
    "give_back_the_older": (_given_back,),
}
"""What compares what a task keeps, by the task's name, each on a bench of its own."""


def compare_modes(divergence: Divergence, design: LayerDesign, settings: Settings) -> None:
    """A statement needs pessimistic mode until it ends, whatever becomes of another one's words.

    Of each of the other process's commits the answer is lost: what it says counts once (C14).
    """
    if named(design.before_statement) != "all_pessimistic" or divergence.is_known:
        return
    bench = Bench(divergence, design, settings)
    other: Any = bench.another()
    other.node = Machine("p2", bench.loop, bench.node.settings, Draws(2, 8))

    def needed(what: str, due: set[str]) -> None:
        bench.same(
            f"whose statements need pessimistic mode {what}", set(bench.shelf.now(MODE)[1]), due
        )

    bench.result(design.before_statement(bench.part))
    for part, step, due in (
        (other, design.before_statement, {"p1", "p2"}),
        (other, design.after_statement, {"p1"}),
        (bench.part, design.after_statement, set()),
    ):
        bench.shelf.struck, bench.shelf.lost = (MODES,), 1
        bench.result(step(part))
        needed(f"behind {named(step)}", due)
