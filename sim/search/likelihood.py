"""How likely a run's violation was at each instant of the run.

A continuation of a run repeats it up to an instant; of everything that is sent later it draws the
delay and the fate anew, within the same latencies. The plan is the same: clients, statements,
faults, clocks. The likelihood at an instant is the share of the continuations from there that show
a violation of the same signature. Before the first message it is that of the plan under any delays;
behind the last event of the violation it is 1, unless what comes later hides it.

Draws are made at sends alone (and where hosts draw spans, such as for elections), so between two
instants of sending the likelihood is the same, and a rise belongs to the delays of the messages
that were sent at one instant. `Curve` looks for the largest rises: it halves the interval over
which the likelihood changes most until that is one instant. All instants have the same
continuations (the same seeds of draws), so two likelihoods differ by what lies between them alone.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

from msgspec import structs

from ddlsim.checkers.judge import Verdict, Violation, judge
from ddlsim.checkers.signature import Signature, is_of, signature_of
from ddlsim.execute.parallel import Executor
from ddlsim.history.history import History
from ddlsim.history.world_events import MessageDelivered, MessageSent, PartDiverged
from ddlsim.kernel.rng import mix, name_id, quantiles
from ddlsim.model.records import Record
from ddlsim.plan.plan import plan
from ddlsim.plan.records import LinkPlan, Plan, Redraw
from ddlsim.registry import load_file
from ddlsim.scenario import findings
from ddlsim.scenario.scenario import read
from ddlsim.search.crash import most_events, ran_and_judged
from ddlsim.units import Micros

CONTINUATIONS: Final = 30
"""From each instant, unless another number is asked for."""
GRID: Final = 9
"""So many instants are looked at first, equally far apart, where the first and the last differ."""
MOST_POINTS: Final = 24
LEAST_RISE: Final = 0.2
"""Where the likelihood changes by less, the interval is not halved."""
MOST_RISES: Final = 3
MOST_MESSAGES: Final = 4
"""Of those that were sent at one instant, so many are listed."""


class Question(Record, frozen=True):
    """A run, the violation that is looked for in its continuations, and how these are judged."""

    scenario_text: str
    scenario: str
    overrides: dict[str, object]
    seed: int
    signature: Signature
    status: str
    strict: bool
    all_claims: bool
    models: bool
    events_max: int
    loads: tuple[str, ...] = ()

    def planned(self) -> Plan:
        """The plan of the run; raises `BadInputError` where the scenario is none here."""
        scenario = read(self.scenario_text, self.scenario, overrides=self.overrides)
        return plan(scenario, self.seed, models=self.models)


class Point(NamedTuple):
    """In so many continuations from an instant on the violation shows; `sent_us` is that instant:
    what was sent earlier is as it was. None: everything is drawn anew.
    """

    sent_us: int | None
    shows: int


class Message(NamedTuple):
    """A message between two hosts, and how long it was under way; None: it did not arrive."""

    sender: str
    to: str
    kind: str
    took_us: int | None


class Rise(NamedTuple):
    """A change of the likelihood: by what was sent from `from_us` to before `until_us`.

    `messages` are the first of them, of all `sent`; there are some where this is one instant.
    """

    from_us: int
    until_us: int
    before: int
    after: int
    sent: int
    messages: tuple[Message, ...]


class Job(NamedTuple):
    """Continuation `number` of what is sent later than `after_us`; None: of everything."""

    after_us: int | None
    number: int


class Likelihood(NamedTuple):
    """The curve: its points in order of time, of how many continuations each, and its rises, the
    largest first. `ends_us`: when the violation was complete.
    """

    signature: Signature
    continuations: int
    ends_us: int
    points: tuple[Point, ...]
    rises: tuple[Rise, ...]


def question(
    history: History,
    violation: Violation,
    *,
    strict: bool,
    all_claims: bool,
    loads: Sequence[str] = (),
) -> Question:
    """What is asked of a history that can be run again, about one of its violations."""
    header = history.header
    return Question(
        header.scenario_text,
        header.scenario,
        header.overrides,
        header.seed,
        signature_of(violation),
        violation.status,
        strict,
        all_claims,
        models=bool(history.of(PartDiverged)),
        events_max=most_events(history),
        loads=tuple(loads),
    )


# --- continuations --------------------------------------------------------------------------------


class Continuer:
    """Runs continuations in this process."""

    def __init__(self, of: Question) -> None:
        for file in of.loads:
            load_file(file)
        self._of = of
        self._plan = of.planned()
        self._known = findings.known()

    def shows(self, job: Job) -> bool:
        """Whether a continuation shows the violation."""
        _, verdict = ran_and_judged(continued(self._plan, job), self._judged, self._of.events_max)
        of = self._of
        return any(is_of(one, of.signature, of.status) for one in verdict.violations)

    def _judged(self, history: History) -> Verdict:
        of = self._of
        return judge(history, strict=of.strict, all_claims=of.all_claims, findings=self._known)


def continued(planned: Plan, job: Job) -> Plan:
    """The plan of a continuation."""
    seed = mix(planned.network_seed ^ name_id("continuation"), job.number)
    if job.after_us is None:
        return structs.replace(planned, network_seed=seed)
    return structs.replace(planned, redraw=Redraw(Micros(job.after_us), seed))


def _made(of: Question) -> Callable[[Sequence[Job]], list[bool]]:
    continuer = Continuer(of)
    return lambda jobs: [continuer.shows(job) for job in jobs]


def _lost(job: Job, how: str) -> bool:
    """A continuation that no process survives does not show the violation."""
    return False


# --- the curve ------------------------------------------------------------------------------------


class Sends:
    """The messages between hosts of a traced history, by the instants at which they were sent."""

    def __init__(self, traced: History, until_us: int, links: Sequence[LinkPlan]) -> None:
        """Those up to `until_us`; `links` say whose delays are drawn."""
        self._links = links
        self._took: dict[tuple[str, str, str, int, int], int] = {}
        self._sent: dict[int, list[MessageSent]] = {}
        for event in traced.events:
            if isinstance(event, MessageSent) and event.sender != event.to:
                if event.at_us <= until_us:
                    self._sent.setdefault(event.at_us, []).append(event)
            elif isinstance(event, MessageDelivered):
                key = event.sender, event.to, event.kind, event.label, event.sent_us
                self._took.setdefault(key, event.at_us - event.sent_us)
        self.instants: list[int] = sorted(self._sent)

    def count(self, first: int, last: int) -> int:
        """The messages of the instants from number `first` to before number `last`."""
        return sum(len(self._sent[at]) for at in self.instants[first:last])

    def messages(self, number: int) -> list[Message]:
        """Those of an instant, by its number; first those whose delay is drawn."""
        at_us = self.instants[number]
        found = []
        for one in sorted(self._sent[at_us], key=lambda one: not self._is_drawn(one)):
            took = self._took.get((one.sender, one.to, one.kind, one.label, at_us))
            found.append(Message(one.sender, one.to, one.kind, took))
        return found

    def _is_drawn(self, one: MessageSent) -> bool:
        """Whether the latency of a message, but for faults, is not the same for all of its kind."""
        for link in reversed(self._links):
            where = (link.sender, one.sender), (link.to, one.to), (link.kind, one.kind)
            if link.latency is not None and all(wanted in (None, given) for wanted, given in where):
                table = quantiles(link.latency)
                return table[0] != table[-1]
        return False


class Curve:
    """Looks for the instants at which the likelihood changes most.

    Place `p` is the instant number `p` of those at which something was sent: all that was sent at
    earlier instants is as it was. The last place lies behind all of them.
    """

    def __init__(self, sends: Sends, continuations: int) -> None:
        self._sends, self._continuations = sends, continuations
        self._shows: dict[int, int] = {}
        self._last = len(sends.instants)

    def carry_out(self, shows: Callable[[list[Job]], list[bool]]) -> None:
        """Ask for continuations until there are points enough, or nothing is left to halve."""
        self._look({0, self._last}, shows)
        if not any(self._large()):
            return
        self._look({self._last * part // (GRID - 1) for part in range(1, GRID - 1)}, shows)
        while len(self._shows) < MOST_POINTS and (place := self._next()) is not None:
            self._look({place}, shows)

    def _look(self, places: set[int], shows: Callable[[list[Job]], list[bool]]) -> None:
        """Ask for the continuations from some places on."""
        jobs = [
            Job(self._after_us(place), number)
            for place in sorted(places)
            for number in range(self._continuations)
        ]
        answers = iter(shows(jobs))
        for place in sorted(places):
            self._shows[place] = sum(next(answers) for _ in range(self._continuations))

    def _after_us(self, place: int) -> int | None:
        return self._sends.instants[place - 1] if place else None

    def _steps(self) -> list[tuple[int, int]]:
        """The intervals between neighbouring places, those of the largest changes first."""
        places = sorted(self._shows)

        def rank(step: tuple[int, int]) -> tuple[int, int, int]:
            first, last = step
            return (-abs(self._change(step)), first - last, first)

        return sorted(pairwise(places), key=rank)

    def _change(self, step: tuple[int, int]) -> int:
        return self._shows[step[1]] - self._shows[step[0]]

    def _large(self) -> Iterator[tuple[int, int]]:
        for step in self._steps():
            if abs(self._change(step)) >= LEAST_RISE * self._continuations:
                yield step

    def _next(self) -> int | None:
        """The place that halves the interval with the largest change; None: there is none."""
        wide = (step for step in self._large() if step[1] - step[0] > 1)
        first, last = next(wide, (0, 0))
        return (first + last) // 2 if last else None

    def points(self) -> Iterator[Point]:
        """In order of time."""
        for place in sorted(self._shows):
            yield Point(self._instant(place) if place else None, self._shows[place])

    def _instant(self, place: int) -> int:
        instants = self._sends.instants
        return instants[place] if place < self._last else instants[-1] + 1

    def rises(self) -> Iterator[Rise]:
        """The largest changes, those of one instant with their messages."""
        for first, last in list(self._large())[:MOST_RISES]:
            single = last - first == 1
            yield Rise(
                self._instant(first),
                self._instant(last),
                self._shows[first],
                self._shows[last],
                self._sends.count(first, last),
                tuple(self._sends.messages(first)[:MOST_MESSAGES]) if single else (),
            )


def _ends_us(history: History, violation: Violation) -> int:
    """When a violation was complete: at its last event; what never ends, at the end of the run."""
    if violation.severity == "liveness":
        return history.end_us
    return max((event.at_us for event in violation.witness), default=history.end_us)


def likelihood(
    traced: History,
    violation: Violation,
    asked: Question,
    *,
    continuations: int = CONTINUATIONS,
    jobs: int | None = None,
    watch: Callable[[Job, bool], object] = lambda job, shows: None,
) -> Likelihood:
    """The likelihood of a violation of a run along it, with so many continuations at each instant.

    `traced` is the history with its messages; `watch` has each continuation as it comes in.
    """
    ends_us = _ends_us(traced, violation)
    curve = Curve(Sends(traced, ends_us, asked.planned().links), continuations)
    with Executor(partial(_made, asked), _lost, processes=jobs) as executor:
        curve.carry_out(lambda some: executor.run(some, watch))
    points, rises = tuple(curve.points()), tuple(curve.rises())
    return Likelihood(asked.signature, continuations, ends_us, points, rises)
