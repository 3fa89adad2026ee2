"""A shrunk scenario as commands write it: its text, its page, and one sentence about it."""

import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import fields, replace

from ddlsim.checkers.argument import argue
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.signature import CRASH, signature_of
from ddlsim.cli.documents import shapes_shrink
from ddlsim.cli.picture import page as picture
from ddlsim.cli.picture.words import cited, three_sentences
from ddlsim.cli.views.progress import Meter
from ddlsim.escape import counted
from ddlsim.history.history import FORMAT
from ddlsim.scenario.config import Seeds
from ddlsim.shrink.data import Data
from ddlsim.shrink.shrink import Shrinking, Shrunk, shrink
from ddlsim.shrink.size import Counts, counts_of
from ddlsim.shrink.story import scenario_text, title_of
from ddlsim.shrink.trial import Shown, shown

PRINTED: Final = "shrunk.toml"
"""What the command that repeats a scenario calls it where it is printed."""
ANY: Final = 0
"""The seed with which a shrunk scenario is run; it says itself which parts need another."""
PARTS: Final = tuple(part.name for part in fields(Seeds))
"""The parts of a run that draw."""
ENDS: Final = {
    "done": "nothing smaller was found",
    "runs": "the bound of runs was reached",
    "time": "the bound of time was reached",
    "interrupted": "interrupted",
}
"""Why shrinking ended, in words."""


class ShrunkText(NamedTuple):
    """A shrunk scenario: its text, the command that repeats it, the counts before, and in words."""

    state: Shrinking
    shrunk: Shrunk
    text: str
    command: str
    before: Counts
    was: str


def shrunk_text(state: Shrinking, file: str, loads: Sequence[str]) -> ShrunkText:
    """Shrink with progress on stderr; the text, whose command names `file`."""
    before, was = counts_of(state.best.data), size_words(state.best.data)
    with Passes(state) as passes:
        shrunk = shrink(state, watch=passes.watch)
    name, seed = state.failure.name, state.failure.seed
    shrunk = replace(shrunk, best=of_any_seed(state, shrunk.best))
    crash = state.target.status == CRASH  # which no scenario expects
    words = ["ddlsim", "run", file, *(() if crash else ("--expect",))]
    words += [word for each in loads for word in ("--load", each)]
    command = shlex.join(words)
    note = f"Shrunk from {name}, seed {seed}: {was}; now {size_words(shrunk.best.data)}."
    source = f"shrunk from {name}, seed {seed}"
    said = _sentences(shrunk)
    clauses = cited(shrunk.best.violation, said)
    said = (*said, clauses) if clauses else said
    text = scenario_text(shrunk.best, said, note, source, command)
    return ShrunkText(state, shrunk, text, command, before, was)


def _sentences(shrunk: Shrunk) -> tuple[str, ...]:
    """What is broken, the events that show it, and why it counts."""
    case, violation = Case(shrunk.best.history), shrunk.best.violation
    return three_sentences(case, violation, argue(case, violation))


def of_any_seed(state: Shrinking, best: Shown) -> Shown:
    """The scenario with the seeds that it needs: nodes draw when they stand for election."""
    seed = state.failure.seed
    if seed == ANY:
        return best
    failure = replace(state.failure, seed=ANY)
    given = best.data.get("seeds", {})
    for parts in ((), ("network",), PARTS):
        seeds = dict.fromkeys(parts, seed) | given
        found = shown(failure, best.data | ({"seeds": seeds} if seeds else {}), state.target)
        if found is not None:
            return found
    raise AssertionError(f"{state.failure.name}: seed {seed} draws more than {PARTS}")


class Passes(Meter):
    """Shows which pass is tried and how large the scenario is by now."""

    def __init__(self, state: Shrinking) -> None:
        super().__init__(state.budget.time_s, timed=True)
        self._state, self._name = state, ""

    def watch(self, state: Shrinking, name: str) -> None:
        """Another candidate was tried, by the pass of this name."""
        self._state, self._name = state, name
        spent_s = min(state.cpu_s, state.budget.time_s)
        self.show(spent_s, f"at most {state.budget.time_s - spent_s:.0f} s of CPU left")

    def status(self) -> str:
        """How far it is, in words."""
        return f"shrinking, {self.counts}"

    @property
    def counts(self) -> str:
        """Runs, the present pass, and the size of the best scenario."""
        size = size_words(self._state.best.data)
        return f"{counted(self._state.runs, 'run')}, pass {self._name}: {size}"


def size_words(data: Data) -> str:
    """How large a scenario is: `2 transactions, 1 statement, 3 nodes, 5 steps and faults`.

    Clients that a run generates are counted by themselves: what they do is not written down.
    """
    counts = counts_of(data)
    clients = sum(int(one.get("clients", 1)) for one in data.get("workload", []))
    words = [
        counted(counts["transactions"], "transaction"),
        counted(counts["statements"], "statement"),
        *([counted(clients, "generated client")] if clients else []),
        counted(counts["nodes"], "node"),
        "1 step or fault" if counts["entries"] == 1 else f"{counts['entries']} steps and faults",
    ]
    return ", ".join(words)


def sentence(shorter: ShrunkText) -> str:
    """What shrinking came to, in one line."""
    best, shrunk = shorter.shrunk.best, shorter.shrunk
    return (
        f"{signature_of(best.violation).text}: {shorter.was} -> "
        f"{size_words(best.data)}; {counted(shrunk.runs, 'run')}, "
        f"{shrunk.cpu_s:.1f} s of CPU; {ENDS[shrunk.ended]}"
    )


def document(shorter: ShrunkText, file: str | None) -> shapes_shrink.Shrink:
    """The document of `--output json`; `file` is the one that holds the scenario."""
    best, shrunk = shorter.shrunk.best, shorter.shrunk
    signature = signature_of(best.violation)
    return {
        "format": FORMAT,
        "signature": {"id": signature.id, "text": signature.text},
        "status": best.violation.status,
        "before": shorter.before,
        "after": counts_of(best.data),
        "drawn": best.size.drawn,
        "ended": shrunk.ended,
        "runs": shrunk.runs,
        "helped": shrunk.helped,
        "file": file,
        "command": shorter.command,
        "scenario": shorter.text,
    }


def page_of(shorter: ShrunkText) -> str:
    """The page that `explain --html` would write about the shrunk run."""
    best = shorter.shrunk.best
    case, violation = Case(best.history), best.violation
    argued = picture.ArguedViolation(violation, argue(case, violation))
    return picture.html(case, title_of(violation), [argued], shorter.command)
