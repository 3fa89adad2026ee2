"""Scenario files that cannot be run, and the one line that each is answered with.

python -m tests.golden.bad_scenarios --write     renews the lines; review the difference
"""

import sys
from pathlib import Path

from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import read

FOLDER = Path(__file__).parent / "bad_scenarios"
EXPECTED = FOLDER / "expected.txt"


def cases() -> list[Path]:
    """Every bad scenario, in the order of the names."""
    return sorted(FOLDER.glob("*.toml"))


def told(path: Path) -> str:
    """What is said to a scenario."""
    try:
        read(path.read_text("utf-8"), path.name, directory=str(FOLDER))
    except ScenarioError as error:
        return str(error)
    return f"{path.name}: accepted"


def expected() -> dict[str, str]:
    """The reviewed lines by the name of the file, with which each begins."""
    lines = EXPECTED.read_text("utf-8").splitlines()
    return {line.partition(":")[0]: line for line in lines}


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    EXPECTED.write_text("".join(f"{told(path)}\n" for path in cases()), "utf-8")
