"""What a process does all the time, called on a bench: it rests behind each error of the store.

A rule without a rest would ask again in the same instant, for as long as the store fails. In a run
that is a matter of load alone, and no answer differs.

[background]
"""

from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.store_models.layer_walk import named
from ddlsim.cluster.store_models.rule_bench import Bench
from ddlsim.layer.design import LayerDesign
from ddlsim.model.settings import Settings

FAILURES: Final = 3
SPAN_MS: Final = 60
"""Longer than so many rests."""
COMMITS: Final = ("follow_the_mode", "follow_the_mode_stale")
"""Tasks whose rounds write, so that their commits can fail."""


def compare_tasks(divergence: Divergence, design: LayerDesign, settings: Settings) -> None:
    """Compare the tasks of a design that commit: each failure has one rest behind it."""
    for task in design.background:
        if named(task) not in COMMITS or divergence.is_known:
            continue
        bench = Bench(divergence, design, settings)
        part: Any = bench.part
        rests: list[str] = []
        rest = part.rest

        async def counted(purpose: str, rest: Any = rest, rests: list[str] = rests) -> None:
            rests.append(purpose)
            await rest(purpose)

        part.rest = counted
        bench.strike(FAILURES)
        bench.loop.spawn(task(part))
        bench.passes(SPAN_MS)
        bench.same(f"how often {named(task)} rests behind {FAILURES} errors", len(rests), FAILURES)
        bench.same(f"what still fails under {named(task)}", bench.shelf.fails, [])
