"""Every exit code of the command, what it is called, and what it means; the help shows them."""

from typing import Final, NamedTuple

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.problems import BAD_INPUT, INTERRUPTED, PIPE_CLOSED
from ddlsim.cli.signals import SIGNALLED

SIGHUP, SIGTERM = 1, 15
"""The numbers of the signals, as POSIX has them."""
NOT_DECIDED: Final = 7
"""`verify`, `explore` or `ablate` had too little time to decide something, the rest is right."""


class ExitCode(NamedTuple):
    """One code; `name` stands in brackets where it is no outcome of a run."""

    code: int
    name: str
    meaning: str


_MEANINGS: Final = {
    Outcome.OK: "judged, no claim broken; `verify`, `--expect`: as expected; `compat`: all survive",
    Outcome.VIOLATED: "a claim broken under its assumptions; `verify`, `--expect`: not as "
    "expected; `compat`: some statements abort transactions; `rehearse`: rows or writes are lost, "
    "or a stall is too long; `advise`: no design fits",
    Outcome.STUCK: "something planned never completed after everything healed; `compat`: the "
    "catalog refuses some statements; `rehearse`: the database does",
    Outcome.CRASHED: "the simulated code or the simulator failed; never a verdict on the protocol",
    Outcome.VACUOUS: "no seed reached what the scenario says must be reached; `record`: no "
    "transaction was committed",
    Outcome.UNKNOWN: "part of a history could not be judged",
    Outcome.UNMET: "a step did not end as its `expect` says; all claims were kept",
}
CODES: Final = tuple(
    sorted(
        (
            *(ExitCode(one.exit_code, one.word, means) for one, means in _MEANINGS.items()),
            ExitCode(BAD_INPUT, "(bad input)", "nothing was run; `check`: a file cannot be judged"),
            ExitCode(NOT_DECIDED, "(not decided)", "`verify`, `explore`, `ablate`: the time did "
                     "not suffice; nothing else is wrong"),
            ExitCode(SIGNALLED + SIGHUP, "(hung up)", "ended by SIGHUP"),
            ExitCode(INTERRUPTED, "(interrupted)", "ended by an interrupt (SIGINT)"),
            ExitCode(PIPE_CLOSED, "(pipe closed)", "the reader of the output went away"),
            ExitCode(SIGNALLED + SIGTERM, "(terminated)", "ended by SIGTERM"),
        )
    )
)  # fmt: skip
"""All of them, in the order of the codes."""


def lines() -> str:
    """The codes as lines for the help."""
    width = max(len(one.name) for one in CODES)
    return "\n".join(
        f"  {one.code:>3}  {one.name.ljust(width)}  {_first(one.meaning)}" for one in CODES
    )


def table() -> str:
    """The codes as rows of a table in Markdown."""
    rows = [f"| {one.name} | {one.code} | {one.meaning} |" for one in CODES]
    return "\n".join(("| outcome | exit | meaning |", "|---|---|---|", *rows))


def _first(meaning: str) -> str:
    """What a code means of a run; docs/reference/outcomes.md tells what single verbs mean by it."""
    return meaning.partition(";")[0].replace("`", "")
