"""What a statement of a rehearsal is said to have done to the load, from its figures."""

import pytest

from ddlsim.cli.verbs.effects import LEAST_MS, NONE, effects
from ddlsim.record.rehearsal.measure import Crossing, Figures, Latency, Measured

CALM = Latency(0, 0.0, 0.0, 0.0, 0.0)
BEFORE_MS = 40.0
FIGURES = Figures(CALM, CALM, BEFORE_MS, 0.0, "", {"serialization": 2}, [])


def found(
    stall_ms: float = 0.0, waited_ms: float | None = 0.0, aborts: dict[str, int] | None = None
) -> tuple[list[str], str]:
    measured = Measured(stall_ms, "accounts", CALM, aborts or {}, {}, Crossing(0, 0))
    kinds, words = effects(measured, FIGURES, waited_ms)
    return [*kinds], words


def test_all_that_was_measured_is_told() -> None:
    kinds, words = found(250.0, 120.0, {"lock-timeout": 3, "serialization": 9})
    assert kinds == ["waited", "held up", "aborted"]
    assert words == (
        "it waited for locks for 120 ms; it held clients of accounts up for 250 ms; "
        "it aborted statements of clients: 3 lock-timeout"
    )


@pytest.mark.parametrize(
    ("stall", "waited", "aborts"),
    [(BEFORE_MS - 1, LEAST_MS - 1, {}), (0.0, None, {"serialization": 90}), (0.0, 0.0, {})],
)
def test_what_the_load_shows_by_itself_is_no_effect(
    stall: float, waited: float | None, aborts: dict[str, int]
) -> None:
    assert found(stall, waited, aborts) == ([], NONE)
