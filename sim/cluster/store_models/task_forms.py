"""What a process does all the time, and around a statement, called on a bench.

It rests behind each error of the store: a rule without a rest would ask again in the same instant,
for as long as the store fails. In a run that is a matter of load alone, and no answer differs.

[background, before_statement, after_statement]
"""

from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.layer_walk import named
from ddlsim.cluster.store_models.rule_bench import Bench
from ddlsim.cluster.store_models.shelf import Machine
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import MODE, MODES
from ddlsim.model.settings import Settings

FAILURES: Final = 3
SPAN_MS: Final = 60
"""Longer than so many rests."""
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
