"""What a hunt came to, as a document and for people."""

import shlex
from collections import Counter
from typing import Final, NamedTuple

from ddlsim.checkers.outcome import Outcome, worst
from ddlsim.checkers.signature import CRASH
from ddlsim.cli.documents import seen as seen_as
from ddlsim.cli.documents import shapes_hunt
from ddlsim.cli.options import Options
from ddlsim.cli.verbs import hunted
from ddlsim.cli.views import words
from ddlsim.escape import counted
from ddlsim.history.history import FORMAT
from ddlsim.search.corpus import Found, State
from ddlsim.search.explore import STUCK, Seen
from ddlsim.search.hunt import is_known

HOUR_S: Final = 3_600
OUTCOMES: Final = {CRASH: Outcome.CRASHED, STUCK: Outcome.STUCK}


class Result(NamedTuple):
    """A hunt that has ended: its state, why it ended, and the files of what it found."""

    options: Options
    state: State
    ended: str
    directory: str
    shrunk: dict[str, hunted.Shrunk]


def _outcome(seen: Seen) -> Outcome:
    """The outcome that a signature means: ok for what a known finding explains."""
    return Outcome.OK if is_known(seen) else OUTCOMES.get(seen.status, Outcome.VIOLATED)


def outcome(state: State) -> Outcome:
    """The worst of what was found."""
    return worst(_outcome(one.seen) for one in state.found)


def document(result: Result) -> shapes_hunt.Hunt:
    """The document of `--output json`."""
    state, design = result.state, result.state.target.overrides
    return {
        "format": FORMAT,
        "strategy": design.get("strategy.name"),
        "mutant": design.get("strategy.mutant"),
        "seed": state.seed,
        "outcome": outcome(state).word,
        "ended": result.ended,
        "worlds": state.number,
        "transactions": state.transactions,
        "features": len(state.hits),
        "coverage": _kinds(state),
        "corpus": len(state.entries),
        "cpu_s": round(state.cpu_s, 3),
        "per_cpu_hour": _per_hour(state),
        "found": [_found(result, one) for one in state.found],
        "command": _command(result),
    }


def _kinds(state: State) -> dict[str, int]:
    """Features by their kind."""
    return dict(sorted(Counter(one.partition(" ")[0] for one in state.hits).items()))


def _per_hour(state: State) -> shapes_hunt.PerHour:
    def rate(count: int) -> float:
        return round(count * HOUR_S / state.cpu_s, 1) if state.cpu_s else 0.0

    return {
        "worlds": rate(state.number),
        "transactions": rate(state.transactions),
        "features": rate(len(state.hits)),
        "signatures": rate(len(state.found)),
    }


def _found(result: Result, found: Found) -> shapes_hunt.HuntFound:
    shrunk = result.shrunk.get(hunted.stem(found))
    return {
        **seen_as.document(found.seen),
        "worlds": found.count,
        "first": found.number,
        "cpu_s": found.cpu_s,
        "seed": found.world.seed,
        "file": hunted.file_of(result.directory, found),
        "command": hunted.command_of(result.directory, found, result.state.target),
        "shrunk": None
        if shrunk is None
        else {
            "scenario": shrunk.scenario,
            "page": shrunk.page,
            "command": shrunk.command,
            "story": list(shrunk.story),
        },
    }


def _command(result: Result) -> str:
    """The command that hunts again, to the same end; a corpus makes it go on, in equal batches."""
    options = result.options
    said = ["ddlsim", "hunt", "--seed", str(options.seed), "--batch", str(options.batch)]
    for flag in ("strategy", "mutant", "corpus", "out"):
        if getattr(options, flag) is not None:
            said += [f"--{flag}", getattr(options, flag)]
    for flag in ("set", "load"):
        for value in getattr(options, flag):
            said += [f"--{flag}", value]
    said += ["--worlds", str(options.worlds)] if options.worlds else []
    said += ["--time", f"{options.time:g}s"] if options.time else []
    for flag in ("strict", "all_claims", "keep_going", "findings", "unguided", "no_shrink"):
        said += [f"--{flag.replace('_', '-')}"] * getattr(options, flag)
    return shlex.join(said)


def show(result: Result) -> None:
    """The same for people."""
    to, state = words.console(), result.state
    whole = document(result)
    counts = [
        counted(state.number, "world"),
        counted(state.transactions, "committed transaction"),
        counted(len(state.hits), "feature"),
    ]
    head = f"{', '.join(counts)}; {state.cpu_s:.1f} s of CPU; ended by {ENDS[result.ended]}"
    words.say(f"hunt, seed {state.seed}: {head}", to, "bold")
    rates = (f"{count:,.0f} {what}" for what, count in whole["per_cpu_hour"].items())
    words.labelled("CPU hour", ", ".join(rates), to)
    kinds = (f"{name} {count:,}" for name, count in whole["coverage"].items())
    words.labelled("coverage", ", ".join(kinds), to)
    for one in whole["found"]:
        words.say(seen_as.heading(one), to, "bold")
        often = f"in {counted(one['worlds'], 'world')}, first in world {one['first']}"
        words.labelled("summary", f"{one['summary']}; {often}, {one['cpu_s']:.1f} s of CPU", to)
        words.labelled("world", one["file"], to)
        words.command(one["command"], to)
        shrunk = one["shrunk"]
        if shrunk is not None:
            for sentence in shrunk["story"]:
                words.labelled("story", sentence, to)
            words.labelled("shrunk", f"{shrunk['scenario']}, {shrunk['page']}", to)
            words.command(shrunk["command"], to)
    if not whole["found"]:
        words.say("nothing was found", to)


ENDS: Final = {
    "violation": "what it found",
    "time": "--time",
    "worlds": "--worlds",
    "interrupted": "an interrupt",
}
"""What ended a hunt, in words."""
