"""A scenario that cannot be run is answered with one line: file, line, key and remedy."""

import pytest

from tests.golden.bad_scenarios import FILE, Case, answers, cases, written


@pytest.fixture(scope="module")
def now() -> dict[str, str]:
    """The answers of now."""
    return answers()


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_bad_scenario_is_answered_with_the_reviewed_line(case: Case, now: dict[str, str]) -> None:
    assert now[case.name] == case.answer


def test_every_answer_is_one_line_about_its_scenario() -> None:
    names = [case.name for case in cases()]
    assert names == sorted(set(names))
    assert len(names) > 190
    for case in cases():
        assert case.answer is not None, case.name
        assert case.answer.startswith(f"{case.name}:")
        assert "\n" not in case.answer
        assert not case.answer.endswith(": accepted")


def test_writing_the_file_anew_changes_nothing() -> None:
    assert written() == FILE.read_text("utf-8")
