"""What must justify an abort because metadata was not complete in time; part of I11."""

from typing import Final

from ddlsim.checkers.assumptions import Clocks
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.needless.needless import Needless
from ddlsim.history.events import SafeTimeAdvanced
from ddlsim.history.world_events import SettingChanged
from ddlsim.units import Timestamp, physical_ms

BEHIND: Final = {
    "at_operation": (0, 0),
    "operation_plus_skew": (0, -1),
    "operation_less_delay_plus_skew": (1, -1),
}
"""How far behind an operation safe time may be, in DD and CSmax, by rules that are not IEP-98's."""


def metadata_late(case: Case, tx: Transaction) -> Needless | None:
    """While it was open some node's safe time was so far behind the clocks, at some time, that its
    metadata was not complete for an operation: DD, where the design has IEP-98's rule [98.risk.2].
    """
    clocks, aborted = case.once(Clocks), tx.aborted
    assert aborted is not None, tx.name
    placed = case.began.get(tx.name)
    from_us = 0 if placed is None else placed[1].at_us
    delays = case.settings("delay_duration_ms")
    delays += [one.value for _, one in case.of(SettingChanged) if one.key == "delay_duration_ms"]
    last: dict[str, int] = dict.fromkeys((node for node in case.header.settings if node), 0)
    seen: dict[str, int] = {}
    worst_ms = 0
    for _, event in case.of(SafeTimeAdvanced):
        if event.at_us > aborted.at_us:
            break
        if event.at_us >= from_us and event.node in seen:
            behind_ms = clocks.furthest_ms(event.at_us) - seen[event.node]
            worst_ms = max(worst_ms, behind_ms)
        seen[event.node] = physical_ms(Timestamp(event.safe_ts))
    shown_ms = clocks.furthest_ms(aborted.at_us)
    worst_ms = max([worst_ms, *(shown_ms - seen.get(node, 0) for node in last)])
    of_dd, of_skew = BEHIND.get(case.header.design.rules.get("completeness_ts", ""), (1, 0))
    skew_ms = max(case.settings("max_clock_skew_ms"), default=0)
    least_ms = of_dd * min((one for one in delays if one), default=0) + of_skew * skew_ms
    if worst_ms >= least_ms:
        return None
    return Needless(
        "metadata-complete",
        f"no node's safe time was more than {worst_ms} ms behind the clocks meanwhile, and "
        f"metadata is complete up to {least_ms} ms behind them",
    )
