"""The exit codes that the texts name are those of the code: all of them, with one meaning each.

`python -m tests.unit.cli.test_exit_codes` writes the tables of both texts anew.
"""

import re
import signal
from pathlib import Path

import pytest

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli import problems
from ddlsim.cli.arguments import EPILOG
from ddlsim.cli.exit_codes import CODES, table
from ddlsim.cli.signals import ASKING, SIGNALLED
from ddlsim.cli.verbs import verify as verb_verify
from ddlsim.lint import compat

ROOT = Path(__file__).resolve().parents[3]
TEXTS = ("docs/reference/outcomes.md", "scenarios/README.md")
BEGIN, END = "<!-- exit codes:begin -->\n", "\n<!-- exit codes:end -->"


def test_every_code_of_the_program_is_listed_once() -> None:
    known = [one.code for one in CODES]
    assert known == sorted(set(known)) == [*range(9), 129, 130, 141, 143]
    signals = {SIGNALLED + getattr(signal, name) for name in ASKING}
    outcomes = {outcome.exit_code for outcome in Outcome}
    ours = {problems.BAD_INPUT, problems.CRASHED, problems.INTERRUPTED, problems.PIPE_CLOSED}
    verdicts = {verb_verify.AS_EXPECTED, verb_verify.NOT_AS_EXPECTED, verb_verify.NOT_DECIDED}
    assert set(known) == signals | outcomes | ours | verdicts | {compat.REFUSED}
    words = {one.name: one.code for one in CODES}
    assert {outcome.word: outcome.exit_code for outcome in Outcome}.items() <= words.items()


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_has_the_table_of_the_code(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0] == table()


def test_the_help_names_each_code() -> None:
    assert [int(code) for code in re.findall(r"^ +(\d+)  ", EPILOG, re.MULTILINE)] == [
        one.code for one in CODES
    ]
    assert max(map(len, EPILOG.splitlines())) <= 80


def main() -> None:
    """Put the table of the code into each text."""
    for name in TEXTS:
        path = ROOT / name
        before, _, rest = path.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        path.write_text(f"{before}{BEGIN}{table()}{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
