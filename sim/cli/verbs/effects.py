"""What a statement of a rehearsal was measured to do to the load, beside what was predicted."""

from typing import Final, Literal

from ddlsim.record.rehearsal.measure import Figures, Measured

Effect = Literal["waited", "held up", "aborted"]
LEAST_MS: Final = 20.0
"""Shorter waits are not told: sessions are looked at every 10 ms."""
NONE: Final = "no effect was measured"


def effects(
    measured: Measured, figures: Figures, waited_ms: float | None
) -> tuple[list[Effect], str]:
    """The kinds of effects of a statement, and all of them in words.

    * `waited`: it was seen to wait for locks, for `LEAST_MS` or longer.
    * `held up`: while it ran, no statement of the load on a table succeeded for `LEAST_MS` or
      longer, and for longer than ever before the migration.
    * `aborted`: statements of the load failed, from its begin to that of the next one, by errors of
      classes that no statement had before the migration.

    Where it is none of these, no effect was measured: this load showed none, another one may.
    """
    kinds: list[Effect] = []
    told: list[str] = []
    if waited_ms is not None and waited_ms >= LEAST_MS:
        kinds.append("waited")
        told.append(f"it waited for locks for {waited_ms:,.0f} ms")
    if measured.stall_ms >= max(LEAST_MS, figures.longest_before_ms):
        kinds.append("held up")
        told.append(f"it held clients of {measured.stalled} up for {measured.stall_ms:,.0f} ms")
    new = {kind: n for kind, n in measured.aborts.items() if kind not in figures.aborts_before}
    if new:
        kinds.append("aborted")
        many = ", ".join(f"{n:,} {kind}" for kind, n in new.items())
        told.append(f"it aborted statements of clients: {many}")
    return kinds, "; ".join(told) or NONE
