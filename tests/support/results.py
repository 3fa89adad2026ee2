"""Results made by hand: rows of runs, and reports of several of them."""

from typing import Any

from ddlsim.analysis.sweep import totals
from ddlsim.checkers.base import Step
from ddlsim.checkers.judge import Violation
from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.documents.run import Report
from ddlsim.history.events import SchemaResolved
from ddlsim.history.figures import Durations, Figures, bucketed, durations
from ddlsim.verify.expectation import sum_of
from ddlsim.verify.row import RunRow

WAITS_US = (0, 0, 1_500, 12_000)
NONE = Durations(0, 0, None, None, None, None)


def some_figures(**changes: Any) -> Figures:
    """Figures of a small run."""
    fields: dict[str, Any] = {
        "committed": 90,
        "aborted": {"LOCK_CONFLICT": 6, "SCHEMA_CHANGED": 3},
        "unknown": 1,
        "attempts": 100,
        "schema_abort_rate": 0.03,
        "simulated_ms": 3100.0,
        "events": 8605,
        "ddl_latency_ms": NONE,
        "ddl_noop_latency_ms": NONE,
        "dml_latency_ms": durations(WAITS_US),
        "schema_wait_ms": durations(WAITS_US),
    }
    return Figures(**{**fields, **changes})


def a_violation(**changes: Any) -> Violation:
    """A node that answered with an old version."""
    fields: dict[str, Any] = {
        "invariant": "I1",
        "checker": "atomicity",
        "kind": "wrong-version",
        "severity": "safety",
        "status": "violation",
        "strict_only": False,
        "summary": "node n3 got version 1 of t at 351; by the complete log it was version 2",
        "witness": (SchemaResolved(351_728, "n3", "T1", None, "arrival", "t", 1, 351, 1, 0),),
    }
    return Violation(**{**fields, **changes})


def a_cycle(status: str = "violation", **changes: Any) -> Violation:
    """IEP-110's own cycle."""
    steps = (
        Step("D3", "T2", "D(column-added)", "wr-schema", "T2 ran under version 2"),
        Step("T2", "T1", "T", "wr-row", "T1 read t[1] of T2"),
        Step("T1", "D3", "T", "rw-schema", "T1 ran under version 1"),
    )
    fields: dict[str, Any] = {
        "invariant": "I3",
        "checker": "serializability",
        "kind": "schema-G-single",
        "status": status,
        "summary": "a cycle: D3 < T2 < T1 < D3",
        "steps": steps,
    }
    return a_violation(**{**fields, **changes})


def a_row(seed: int = 0, *found: Violation, **changes: Any) -> RunRow:
    """A run in which this was found."""
    broken = any(violation.status == "violation" for violation in found)
    fields: dict[str, Any] = {
        "scenario": "smoke",
        "strategy": "iep",
        "mutant": None,
        "seed": seed,
        "outcome": Outcome.VIOLATED if broken else Outcome.OK,
        "fingerprint": f"{seed:016x}",
        "reached": {"completeness-wait": 4, "idle-tick": 60},
        "violations": found,
        "arguments": {place: f"  the argument of {seed}.{place}" for place in range(len(found))},
        "figures": some_figures(),
        "pools": {
            "ddl_latency_ms": bucketed(()),
            "ddl_noop_latency_ms": bucketed(()),
            "dml_latency_ms": bucketed(WAITS_US),
            "schema_wait_ms": bucketed(WAITS_US),
        },
    }
    return RunRow(**{**fields, **changes})


def a_crash(seed: int = 0) -> RunRow:
    """A run that ended in an assertion of ours."""
    return RunRow("smoke", "iep", None, seed, Outcome.CRASHED, crash="AssertionError: 3 < 2")


def a_report(*rows: RunRow, expect: Any = "ok", reaches: tuple[str, ...] = ()) -> Report:
    """What `run` would have to tell of these rows."""
    total = sum_of(rows, reaches=reaches, expect=expect)
    return Report(
        scenario="smoke",
        title="Two ALTERs under load while a learner lags",
        strategy="iep",
        mutant=None,
        settings={"": {"delay_duration_ms": 100}},
        expect=expect,
        seeds=[row.seed for row in rows],
        sum=total,
        figures=totals.total(rows),
        found=totals.grouped(total.runs),
        command=f"ddlsim run smoke --seed {(total.first_failed or rows[0]).seed}",
    )
