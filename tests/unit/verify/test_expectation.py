"""Several runs together: the worst outcome, vacuity over all seeds, and the scenario's word."""

from typing import Any

import pytest
from msgspec import structs

from ddlsim.checkers.outcome import Outcome
from ddlsim.checkers.signature import signature_of
from ddlsim.verify.expectation import sum_of
from ddlsim.verify.row import RunRow
from tests.support.results import a_crash, a_cycle, a_row, a_violation

VACUOUS = {"outcome": Outcome.VACUOUS, "reached": {"seen": 0}}
SEEN = {"reached": {"seen": 3}}


def ended(outcome: Outcome) -> RunRow:
    return a_crash() if outcome is Outcome.CRASHED else a_row(outcome=outcome)


@pytest.mark.parametrize("worse", list(Outcome))
def test_sum_of_has_the_worst_outcome(worse: Outcome) -> None:
    milder = [outcome for outcome in Outcome if outcome.rank < worse.rank]
    milder = [outcome for outcome in milder if outcome is not Outcome.VACUOUS]
    rows = [ended(worse), *map(ended, milder)]
    expected = Outcome.OK if worse is Outcome.VACUOUS else worse  # nothing had to be reached
    assert sum_of(rows, reaches=(), expect="ok").outcome is expected


def test_one_seed_that_reaches_a_probe_is_enough() -> None:
    total = sum_of([a_row(0, **VACUOUS), a_row(1, **SEEN)], reaches=("seen",), expect="ok")
    assert total.outcome is Outcome.OK
    assert [row.outcome for row in total.runs] == [Outcome.OK, Outcome.OK]
    assert total.reached == {"seen": 1}
    assert total.never_reached == ()


def test_sum_of_is_vacuous_where_no_seed_reaches_a_probe() -> None:
    total = sum_of([a_row(0, **VACUOUS), a_row(1, a_violation())], reaches=("seen",), expect="ok")
    assert [row.outcome for row in total.runs] == [Outcome.VACUOUS, Outcome.VIOLATED]
    assert total.outcome is Outcome.VIOLATED
    assert total.never_reached == ("seen",)


def test_two_probes_may_be_reached_by_two_seeds() -> None:
    rows = [
        a_row(0, outcome=Outcome.VACUOUS, reached={"a": 1, "b": 0}),
        a_row(1, outcome=Outcome.VACUOUS, reached={"a": 0, "b": 1}),
    ]
    assert sum_of(rows, reaches=("a", "b"), expect="ok").outcome is Outcome.OK


def test_a_crash_reaches_nothing_and_is_not_vacuous() -> None:
    total = sum_of([a_crash()], reaches=("seen",), expect="ok")
    assert (total.outcome, total.reached) == (Outcome.CRASHED, {})


def test_the_first_failed_run_is_the_one_to_look_at() -> None:
    rows = [a_row(0), a_row(1, missed=("step r",)), a_row(2, a_violation())]
    first = sum_of(rows, reaches=(), expect="ok").first_failed
    assert first is not None
    assert first.seed == 1
    assert sum_of([a_row(0)], reaches=(), expect="ok").first_failed is None


FINDING = a_cycle("finding:F-1")
WAITS = structs.replace(a_violation(status="stuck"), invariant="I9", checker="liveness")
ATOMICITY, CYCLE = (signature_of(one).text for one in (a_violation(), FINDING))
EXPECTED: list[tuple[Any, list[RunRow], bool]] = [
    ("ok", [a_row()], True),
    ("ok", [a_row(0, a_violation())], False),
    ("ok", [a_row(0, FINDING)], True),
    ("ok", [a_row(0, a_violation(status="out_of_assumption"))], True),
    ("ok", [a_row(0, missed=("step r",))], False),
    ("ok", [a_crash()], False),
    ("stuck", [a_row(outcome=Outcome.STUCK)], True),
    ("stuck", [a_row()], False),
    ({"violated": ["I1"]}, [a_row(0), a_row(1, a_violation())], True),
    ({"violated": ["atomicity"]}, [a_row(0, a_violation())], True),
    ({"violated": ["I1", "I3"]}, [a_row(0, a_violation()), a_row(1, a_cycle())], True),
    ({"violated": ["I1", "I3"]}, [a_row(0, a_violation())], False),
    ({"violated": ["I1"]}, [a_row(0, a_violation(), a_cycle())], True),
    ({"violated": ["I1"]}, [a_row(0)], False),
    ({"violated": ["I1"]}, [a_row(0, a_violation(status="accepted"))], False),
    ({"violated": ["I1"]}, [a_row(0, a_violation(status="accepted"), a_cycle())], False),
    ({"violated": ["I1"]}, [a_row(0, a_violation()), a_crash(1)], False),
    ({"finding": "F-1"}, [a_row(0), a_row(1, FINDING)], True),
    ({"finding": "F-2"}, [a_row(0, FINDING)], False),
    ({"finding": "F-1"}, [a_row(0, FINDING, a_violation())], False),
    ({"stuck": ["liveness"]}, [a_row(0, WAITS, outcome=Outcome.STUCK)], True),
    ({"stuck": ["liveness"]}, [a_row(0, a_violation(), outcome=Outcome.STUCK)], False),
    ({"stuck": ["liveness"]}, [a_row(0, a_violation())], False),
    ({"violated": ["I1"], "signature": ATOMICITY}, [a_row(0, a_violation())], True),
    ({"violated": ["I1"], "signature": ATOMICITY}, [a_row(0), a_row(1, a_violation())], True),
    ({"violated": ["I1"], "signature": CYCLE}, [a_row(0, a_violation())], False),
    ({"violated": ["I1"], "signature": CYCLE}, [a_row(0, a_violation(), FINDING)], False),
    ({"violated": ["I1"], "signature": CYCLE}, [a_row(0, a_violation(), a_cycle())], True),
    ({"finding": "F-1", "signature": CYCLE}, [a_row(0, FINDING)], True),
    ({"finding": "F-1", "signature": ATOMICITY}, [a_row(0, FINDING)], False),
]


@pytest.mark.parametrize(("expect", "rows", "fulfilled"), EXPECTED)
def test_sum_of_compares_with_expect(expect: Any, rows: list[RunRow], fulfilled: bool) -> None:
    total = sum_of(rows, reaches=(), expect=expect)
    assert total.as_expected is fulfilled
    assert bool(total.unexpected) is not fulfilled


def test_a_vacuous_run_may_be_what_is_expected() -> None:
    assert sum_of([a_row(0, **VACUOUS)], reaches=("seen",), expect="vacuous").as_expected
    assert not sum_of([a_row(0, **VACUOUS)], reaches=("seen",), expect="ok").as_expected
