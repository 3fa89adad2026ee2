"""The order of outcomes and their exit codes."""

from ddlsim.checkers.outcome import Outcome, worst


def test_the_worst_outcome_wins() -> None:
    order = [
        Outcome.OK,
        Outcome.VACUOUS,
        Outcome.UNKNOWN,
        Outcome.UNMET,
        Outcome.STUCK,
        Outcome.VIOLATED,
        Outcome.CRASHED,
    ]
    for at, outcome in enumerate(order):
        assert worst(order[: at + 1]) is outcome
        assert worst(reversed(order[: at + 1])) is outcome
    assert worst([]) is Outcome.OK


def test_the_exit_codes_are_those_that_others_script_against() -> None:
    assert {outcome.word: outcome.exit_code for outcome in Outcome} == {
        "ok": 0,
        "violated": 1,
        "stuck": 3,
        "crashed": 4,
        "vacuous": 5,
        "unknown": 6,
        "unmet": 8,
    }
