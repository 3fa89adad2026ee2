"""Scenarios that cannot be run, and the one line that each is answered with: `bad_scenarios.txt`.

python -m tests.golden.bad_scenarios --write     renews the lines; review the difference
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import read

FILE = Path(__file__).with_suffix(".txt")
HEADER = re.compile(r"^-- (\S+) --\n", re.MULTILINE)
ANSWER = "=> "


class Case(NamedTuple):
    """A file, its text, and the reviewed answer; a file that scenarios name has none."""

    name: str
    text: str
    answer: str | None


@cache
def parts() -> tuple[str, tuple[Case, ...]]:
    """What stands above the first case, and the cases in the order of the file."""
    head, *pairs = HEADER.split(FILE.read_text("utf-8"))
    return head, tuple(_cases(pairs))


def _cases(pairs: list[str]) -> Iterator[Case]:
    for name, body in zip(pairs[::2], pairs[1::2], strict=True):
        text, mark, answer = body.rpartition(f"\n{ANSWER}")
        yield Case(name, f"{text}\n", answer.rstrip("\n")) if mark else Case(name, body, None)


def cases() -> list[Case]:
    """Every bad scenario."""
    return [case for case in parts()[1] if case.name.endswith(".toml")]


def answers() -> dict[str, str]:
    """What each scenario is answered with now, by its name."""
    found = {}
    with TemporaryDirectory() as folder:
        for case in parts()[1]:
            (Path(folder) / case.name).write_text(case.text, "utf-8")
        for case in cases():
            try:
                read(case.text, case.name, directory=folder)
            except ScenarioError as error:
                found[case.name] = str(error).replace(f"{folder}/", "")
            else:
                found[case.name] = f"{case.name}: accepted"
    return found


def written() -> str:
    """The file with the answers of now."""
    head, every = parts()
    now = answers()
    return head + "".join(
        f"-- {case.name} --\n{case.text}"
        + (f"{ANSWER}{now[case.name]}\n" if case.name in now else "")
        for case in every
    )


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    FILE.write_text(written(), "utf-8")
