"""A witness log as `check` shows it: a row like those of our own histories."""

from pathlib import Path

from sim.checkers.explain import timeline
from sim.checkers.outcome import Outcome
from sim.foreign.witness import Judgement, judge_file
from sim.foreign.witness_records import looks_like_one
from sim.world.campaign import RunRow, structure

About = tuple[RunRow, tuple[str, ...], bool, str, str, tuple[str, ...]]
"""What `Judged` takes after the file."""


def is_witness_log(file: str) -> bool:
    """Whether the first line that is not empty is an entry of a witness log."""
    try:
        with Path(file).open("rb") as lines:
            return looks_like_one(next((line for line in lines if line.strip()), b""))
    except OSError:
        return False


def judged_log(file: str) -> About:
    """Judge a log; what cannot be judged makes it unknown, unless something is broken anyway."""
    return shown(judge_file(file))


def shown(judgement: Judgement) -> About:
    """A judgement as `check` takes it."""
    nodes = "1 node" if judgement.nodes == 1 else f"{judgement.nodes} nodes"
    about = f"witness log, {judgement.entries} entries of {nodes}; judged for I1, I4 and I8"
    problems = tuple(str(problem) for problem in judgement.problems)
    return _row(judgement), (), False, "witness", about, problems


def _row(judgement: Judgement) -> RunRow:
    arguments: dict[int, str] = {}
    told: dict[object, None] = {}
    for place, violation in enumerate(judgement.violations):
        if structure(violation) not in told:
            told[structure(violation)] = None
            arguments[place] = "\n".join(timeline(violation.witness))
    outcome = Outcome.UNKNOWN if judgement.problems else Outcome.OK
    return RunRow(
        scenario="",
        strategy="witness",
        mutant=None,
        seed=0,
        outcome=Outcome.VIOLATED if judgement.violations else outcome,
        violations=judgement.violations,
        arguments=arguments,
    )
