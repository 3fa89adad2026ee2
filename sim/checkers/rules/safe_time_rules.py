"""A schema safe time promises that the catalog has all updates up to it [98.x.3]; part of I12.

A look-up at Top waits for safe time and then looks up in the catalog. Where safe time is published
before the catalog's listeners ran, it looks up too early. That shows as a wrong look-up (I1) only
if one comes between the two, at a Top that is DD later than the update: often none does.

Safe times and updates of one life of a node are compared: one that has restarted takes the updates
on its disk anew, and publishes no safe time before it has them. An update that is stamped below a
command before it in the log is left out: there the stamps broke the promise, not the catalog.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.history.events import SafeTimeAdvanced, UpdateApplied
from ddlsim.history.world_events import CommandLogged
from ddlsim.model.groups import META
from ddlsim.units import MIN_TIMESTAMP, as_ms, show

PUBLISHED: Final = ("AFTER_LISTENERS", "AFTER_ALL_LISTENERS")
"""The rules of designs whose safe time follows the catalog."""


def safe_time_rules(case: Case) -> Iterator[Anomaly]:
    """What is complete up to Tm has every update with that Tm or a smaller one."""
    if case.header.design.rules.get("publish_safe_time") not in PUBLISHED:
        return
    highest = _highest_before(case)
    logged = sorted(
        (update.message_ts, update.catalog_version)
        for _, update in case.schemas.updates
        if update.op is not None and highest(update.index) < update.message_ts
    )
    stamps = [message_ts for message_ts, _ in logged]
    known: dict[tuple[str, int], dict[int, None]] = {}
    reached: dict[tuple[str, int], int] = {}
    events: list[tuple[int, SafeTimeAdvanced | UpdateApplied]] = [
        *case.of(SafeTimeAdvanced),
        *case.of(UpdateApplied),
    ]
    for at, event in sorted(events, key=lambda placed: placed[0]):
        life = (event.node, bisect_left(case.deaths.get(event.node, ()), at))
        if isinstance(event, UpdateApplied):
            known.setdefault(life, {})[event.catalog_version] = None
            continue
        begin, end = reached.get(life, 0), bisect_right(stamps, event.safe_ts)
        reached[life] = max(begin, end)
        for message_ts, version in logged[begin:end]:
            if version not in known.get(life, {}):
                yield Anomaly(
                    "safe-time-ahead-of-the-catalog",
                    f"the safe time of node {event.node} came to {show(event.safe_ts)} at "
                    f"{as_ms(event.at_us)} ms, and its catalog had not taken version {version}, "
                    f"stamped {show(message_ts)}",
                    (event,),
                    clauses=("98.x.3",),
                )


def _highest_before(case: Case) -> Callable[[int], int]:
    """Of an index of the meta storage's log: the highest stamp of the commands before it."""
    stamps = sorted(
        (event.index, event.stamp) for _, event in case.of(CommandLogged) if event.group == META
    )
    indices = [index for index, _ in stamps]
    highest = [MIN_TIMESTAMP, *accumulate((stamp for _, stamp in stamps), max)]
    return lambda index: highest[bisect_left(indices, index)]
