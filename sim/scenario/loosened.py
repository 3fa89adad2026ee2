"""A scenario whose steps may end in any way: what they expect of its own run is not asked for."""

from typing import Any, Final

ENDS: Final = (("step", "after"), ("hold", "until"), ("pause", "until"))
"""Where a scenario waits for an event of a step."""
OF_ITS_RUN: Final = ("finding", "reaches", "never_reaches", "expect", "expect_under")
"""The keys of a scenario that say what its own run shows and reaches."""
FAILS: Final = ("fails", "aborts")
"""The keys of a step's `expect` that say that it fails."""


def expects_failure(expect: Any) -> bool:
    """Whether a step's `expect` says that it fails."""
    return isinstance(expect, dict) and not expect.keys().isdisjoint(FAILS)


def whenever_done(event: str | None) -> str | None:
    """The event `x.done` for `x.ok` and `x.failed`; any other as it is."""
    step, dot, what = ("", "", "") if event is None else event.rpartition(".")
    return f"{step}{dot}done" if dot and what in ("ok", "failed") else event


def without_expectations(steps: list[dict[str, Any]]) -> None:
    """Drop what steps expect; one that was to fail is then a `misfit`, so that it may be wrong."""
    for step in steps:
        step.pop("expect_under", None)
        if expects_failure(step.pop("expect", None)):
            step["misfit"] = True


def loosen(data: dict[str, Any]) -> None:
    """Drop what it and its steps expect, and let all wait for an end instead of a success."""
    for key in OF_ITS_RUN:
        data.pop(key, None)
    without_expectations(data.get("step", []))
    for name, key in ENDS:
        for table in data.get(name, []):
            if key in table:
                table[key] = whenever_done(table[key])
