"""Trials of mutants from tests: in a process that has not imported the protocol."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from ddlsim.model.records import Record
from ddlsim.mutation.campaign import Campaign, warm
from ddlsim.mutation.course import Course, Survey
from ddlsim.mutation.mutants import Mutant
from ddlsim.mutation.records import Result
from ddlsim.mutation.source import ROOT, Module
from ddlsim.mutation.trial import Budget

PROJECT = Path(__file__).resolve().parents[2]
SMALL: Final = 20
BYTECODE: Final = "BYTECODE_OF_TRIALS"
"""The variable with the folder where trials, but not what they share, read and write bytecode."""


class Plant(Record, frozen=True):
    """A piece of a file's text, found once, and what it becomes."""

    file: str
    old: str
    new: str


class Request(Record, frozen=True):
    """Plants, the designs, the first seed and the budget of each, and how many are tried at once.

    The worlds of `SMALL` and of the next seed are small.
    """

    plants: tuple[Plant, ...]
    designs: tuple[str, ...]
    budget: Budget
    jobs: int = 2
    first: int = SMALL


class _Under(Campaign):
    """A campaign under given designs, whose worlds begin with that of a seed."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.budget, request.jobs)
        self._wanted = request.designs
        self._survey = _Unsurveyed(request.first)

    def designs(self, mutant: Mutant) -> tuple[str, ...]:
        return self._wanted


class _Unsurveyed(Survey):
    """No survey; all worlds are fresh ones, from a seed on."""

    def __init__(self, first: int) -> None:
        super().__init__(())
        self._first = first

    def course(self, mutant: Mutant, designs: tuple[str, ...]) -> Course:
        return Course((), designs, self._first)


def mutant_of(plant: Plant) -> Mutant:
    """The plant as a mutant."""
    source = (ROOT / plant.file).read_text("utf-8")
    assert source.count(plant.old) == 1, f"{plant.old!r} is not once in {plant.file}"
    pairs = zip(plant.old, plant.new, strict=False)
    same = next((at for at, (a, b) in enumerate(pairs) if a != b), 0)
    same -= plant.new[same].isspace() and same > 0  # at the end of a line: its last character
    if not same:
        same = len(plant.new) - len(plant.new.lstrip())
    before = source[: source.index(plant.old) + same]
    column = len(before.rpartition("\n")[2].encode())
    return Mutant(
        f"test:{plant.file}:{plant.new}",
        "test",
        f"{plant.file}:test",
        "test",
        Module(plant.file, source).name,
        before.count("\n") + 1,
        column,
        f"{plant.old} becomes {plant.new}",
        source.replace(plant.old, plant.new),
    )


def tried(request: Request, **variables: str) -> list[Result]:
    """The results of plants, in their order, from a process of its own."""
    (found,) = tried_in_turn(request, **variables)
    return found


def tried_in_turn(*requests: Request, **variables: str) -> list[list[Result]]:
    """The same of several requests: one process answers all of them, and tries nothing itself."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.trials"],
        cwd=PROJECT,
        env={**os.environ, **variables},
        input=msgspec.json.encode(requests),
        capture_output=True,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=list[list[Result]])


def _in_order(plants: Sequence[Mutant], results: Sequence[Result]) -> list[Result]:
    by_id = {one.id: one for one in results}
    return [by_id[one.id] for one in plants]


def _serve() -> None:
    requests = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Request])
    warm()
    sys.pycache_prefix = os.environ.get(BYTECODE, sys.pycache_prefix)
    sys.stdout.buffer.write(msgspec.json.encode([_answer(request) for request in requests]))


def _answer(request: Request) -> list[Result]:
    found: list[Result] = []
    mutants = [mutant_of(plant) for plant in request.plants]
    _Under(request).run(mutants, found.append)
    return _in_order(mutants, found)


if __name__ == "__main__":
    _serve()
