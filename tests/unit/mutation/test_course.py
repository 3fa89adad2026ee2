"""A mutant is tried in the worlds that execute its statement, most often per event first."""

import ast
from typing import Any

import pytest

from ddlsim.mutation.course import Course, Survey, Surveyed, in_turn, number_of, packed
from ddlsim.mutation.mutants import mutants
from ddlsim.mutation.records import World
from ddlsim.mutation.source import COUNTS, counted, number_at, number_of_statements

SOURCE = """\
TABLE = [1]

class Lock:
    held = None

    def take(self, tx):
        if tx in TABLE:
            self.held = tx
        elif self.held:
            return [one for one in TABLE]
        else:
            self.held = None
"""


LINES = (7, 8, 9, 10, 12)


@pytest.mark.parametrize(
    ("tx", "held", "executed"), [(1, None, (7, 8)), (2, 3, (7, 9, 10)), (2, None, (7, 9, 12))]
)
def test_counted_statements_have_the_numbers_that_places_have(
    tx: int, held: int | None, executed: tuple[int, ...]
) -> None:
    tree = ast.parse(SOURCE)
    assert counted(tree, 0) == number_of_statements(ast.parse(SOURCE)) == len(LINES)
    counts = [0] * len(LINES)
    module: dict[str, Any] = {COUNTS: counts}
    exec(compile(tree, "lock.py", "exec"), module)
    lock = module["Lock"]()
    lock.held = held
    lock.take(tx)
    numbers = {line: number_at(ast.parse(SOURCE), line, 12) for line in LINES}
    assert {line for line in LINES if counts[numbers[line]]} == set(executed)


def surveyed(design: str, seed: int, events: int, number: int, times: int) -> Surveyed:
    counts = [0] * (number + 1)
    counts[number] = times
    return Surveyed(World(design, seed, f"run {seed}"), events, packed(counts))


def test_worlds_that_do_not_execute_the_statement_are_left_out() -> None:
    mutant = next(iter(mutants().values()))
    number = number_of(mutant)
    found = Survey([
        surveyed("iep", 0, 100, number, 1_000_000),
        surveyed("iep_closed", 0, 100, number, 0),
        surveyed("iep_closed", 1, 4000, number, 255),
        surveyed("iep_closed", 2, 100, number, 1),
        surveyed("iep_closed", 3, 100, number, 255),
    ]).course(mutant, ("iep_closed", "iep"))  # fmt: skip
    assert [world.seed for world in found.worlds] == [3, 0, 2, 1]
    assert (found.designs, found.fresh) == (("iep_closed", "iep"), 4 + 2 * 3)


def test_the_first_design_has_as_many_turns_as_all_others() -> None:
    assert in_turn(("a",)) == ("a",)
    assert in_turn(("a", "b", "c")) == ("a", "b", "a", "c")


def test_a_statement_that_only_the_second_design_executes_is_tried_under_that() -> None:
    mutant = next(iter(mutants().values()))
    number = number_of(mutant)
    worlds = [surveyed("iep_closed", 0, 100, number, 0), surveyed("iep", 1, 100, number, 2)]
    found = Survey(worlds).course(mutant, ("iep_closed", "iep"))
    assert found.worlds == (World("iep", 1, "run 1"),)
    assert found.designs == ("iep",)


def test_a_design_that_was_not_surveyed_has_fresh_worlds_in_its_turns() -> None:
    mutant = next(iter(mutants().values()))
    number = number_of(mutant)
    worlds = [surveyed("iep_closed", seed, 100, number, 2) for seed in range(2)]
    found = Survey(worlds).course(mutant, ("iep_closed", "iep"))
    assert [world.design for world in found.worlds] == ["iep_closed", "iep"] * 2
    assert [world.run for world in found.worlds] == ["run 0", "", "run 1", ""]
    later = {(found.at(number).design, found.at(number).seed) for number in range(20)}
    assert len(later) == 20


def test_behind_the_worlds_of_a_survey_come_fresh_ones_without_an_end() -> None:
    listed = World("iep", 7, "run")
    course = Course((listed,), ("iep_closed", "iep"), 100)
    assert course.at(0) == listed
    assert course.at(1) == World("iep_closed", 100)
    assert course.at(4) == World("iep", 103)
