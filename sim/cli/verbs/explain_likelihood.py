"""`ddlsim explain --likelihood`: how likely the violation of a history was along its run."""

from typing import Final

from rich.console import Console

from ddlsim.analysis.sweep.totals import ViolationGroup
from ddlsim.cli.documents import shapes_explain
from ddlsim.cli.options import Options
from ddlsim.cli.picture import curve
from ddlsim.cli.picture.rerun import repeated
from ddlsim.cli.problems import InputError
from ddlsim.cli.views.progress import Meter
from ddlsim.cli.views.words import INDENT, labelled, say
from ddlsim.history.history import History
from ddlsim.search.likelihood import (
    CONTINUATIONS,
    MOST_POINTS,
    Job,
    Likelihood,
    likelihood,
    question,
)
from ddlsim.units import US_PER_MS

BAR: Final = 40
"""The widest bar, in characters."""


def of(options: Options, history: History, found: list[ViolationGroup]) -> Likelihood | None:
    """The likelihood of the first violation of these; None where it is not asked for.

    Raises `InputError` where there is none, and where the run cannot be repeated.
    """
    if not options.likelihood:
        for flag in ("continuations", "jobs"):
            if getattr(options, flag) is not None:
                raise InputError(f"--{flag}: goes with --likelihood")
        return None
    if not found:
        what = "nothing is violated in this history, so there is no likelihood to tell"
        raise InputError(f"--likelihood: {options.history}: {what}")
    traced = repeated(history)
    if traced is None:
        what = "the run cannot be repeated: another version of ddlsim wrote it, or a plug-in"
        raise InputError(f"--likelihood: {options.history}: {what} of it (--load) is missing")
    violation = found[0].example
    asked = question(
        history,
        violation,
        strict=options.strict,
        all_claims=options.all_claims,
        loads=options.load,
    )
    continuations = options.continuations or CONTINUATIONS
    with _Runs(MOST_POINTS * continuations) as meter:
        return likelihood(
            traced, violation, asked,
            continuations=continuations, jobs=options.jobs, watch=meter.watch,
        )  # fmt: skip


class _Runs(Meter):
    """Shows how many continuations have run, of those that there will be at most."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._runs = self._shows = 0

    def watch(self, job: Job, shows: int) -> None:
        """One more has run."""
        self._runs += 1
        self._shows += shows
        self.show(self._runs, f"{self._runs / self.elapsed_s:.1f} a second")

    def status(self) -> str:
        """How far it is, in words."""
        return f"likelihood: {self._runs} continuations, {self.counts}"

    @property
    def counts(self) -> str:
        """How many show the violation."""
        return f"{self._shows} of them show it"


def document(one: Likelihood) -> shapes_explain.Likelihood:
    """The likelihood as data."""
    return {
        "signature": one.signature.text,
        "continuations": one.continuations,
        "ends_ms": one.ends_us / US_PER_MS,
        "points": [
            {
                "at_ms": None if point.sent_us is None else point.sent_us / US_PER_MS,
                "shows": point.shows,
            }
            for point in one.points
        ],
        "rises": [
            {
                "from_ms": rise.from_us / US_PER_MS,
                "until_ms": rise.until_us / US_PER_MS,
                "before": rise.before,
                "after": rise.after,
                "sent": rise.sent,
                "messages": [
                    {
                        "from": message.sender,
                        "to": message.to,
                        "kind": message.kind,
                        "took_ms": None if message.took_us is None else message.took_us / US_PER_MS,
                    }
                    for message in rise.messages
                ],
            }
            for rise in one.rises
        ],
    }


def show(one: Likelihood, to: Console) -> None:
    """The likelihood in words and bars."""
    to.print()
    labelled("likelihood", curve.about(one), to)
    rows = [(curve.instant(point), point.shows) for point in one.points]
    widest = max(len(when) for when, _ in rows)
    digits = len(str(one.continuations))
    for when, shows in rows:
        bar = "#" * round(BAR * shows / one.continuations)
        say(f"{INDENT}{when:>{widest}}  {shows:>{digits}}  {bar}".rstrip(), to)
    for text in curve.sentences(one):
        labelled("", text, to)
