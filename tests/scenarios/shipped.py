"""The result of every shipped scenario, line by line, as `shipped.txt` has it.

    python -m tests.scenarios.shipped --write     writes the list anew

A line: the scenario, its outcome, the exit codes of `ddlsim run` and of `run --expect`, what the
judges found (invariant, status, number), and seed=fingerprint of each run.  A change of the code
that is meant to change no behaviour leaves the list as it is.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from ddlsim.checkers.outcome import Outcome
from ddlsim.scenario.shipped import shipped
from ddlsim.verify.expectation import Sum
from tests.scenarios.runs import NEGATIVE, compared, loaded, result
from tests.scenarios.test_mutants import first_conviction

LIST = Path(__file__).with_name("shipped.txt")
DIGITS = 16
"""Of a fingerprint: enough to tell two runs apart."""


def line(name: str, found: Sum) -> str:
    """The line of a scenario with this total of its runs."""
    met = Outcome.OK if found.as_expected else Outcome.VIOLATED
    breaches = Counter(
        f"{one.invariant}:{one.status}" for row in found.runs for one in row.violations
    )
    told = ",".join(f"{what}*{count}" for what, count in sorted(breaches.items())) or "-"
    runs = " ".join(f"{row.seed}={(row.fingerprint or 'none')[:DIGITS]}" for row in found.runs)
    word = found.outcome.word.replace(" ", "_")
    return f"{name} {word} {found.outcome.exit_code} {met.exit_code} {told} {runs}"


def now(name: str) -> str:
    """The line of a scenario as it runs now; a negative one by the seed that convicts it."""
    if name.startswith(NEGATIVE):
        return line(name, compared(loaded(name), [first_conviction(name.removeprefix(NEGATIVE))]))
    return line(name, result(name))


@cache
def listed() -> dict[str, str]:
    """The lines of the list by scenario."""
    return {each.split(" ", 1)[0]: each for each in LIST.read_text("utf-8").splitlines()}


def write(lines: Iterable[str]) -> None:
    """Write the list anew, by name."""
    LIST.write_text("".join(f"{each}\n" for each in sorted(lines)), "utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.scenarios.shipped --write")
    with ProcessPoolExecutor() as pool:
        write(pool.map(now, shipped(), chunksize=4))
