"""Every run of a small world in which few of its messages are late or lost: see `Exhaustion`.

That is delay bounding (Emmi, Qadeer and Rakamarić, Delay-Bounded Scheduling, 2011) over messages. A
run in which some are late is the run without the last of them until that one is sent: so messages
are chosen in the order of their sending, each set of them is run once, and every run is an ordinary
scenario with a `[[hold]]` for each message that is late. What is chosen among are the messages
between hosts from the first that a client sends or gets to the last one.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, TypeVar

from msgspec import structs

from ddlsim.checkers.judge import judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.cluster.designs import check_design
from ddlsim.cluster.run import run
from ddlsim.history.events import AnyEvent
from ddlsim.history.world_events import MessageDelivered, MessageSent
from ddlsim.model.records import Record
from ddlsim.plan.plan import plan
from ddlsim.plan.records import HoldPlan, PausePlan, Plan
from ddlsim.registry import load_file
from ddlsim.scenario import findings
from ddlsim.scenario.loosened import whenever_done
from ddlsim.scenario.scenario import Scenario, read
from ddlsim.search.crash import crash_of
from ddlsim.search.explore import BAD_INPUT, Seen, seen_in, seen_lost, seen_of
from ddlsim.units import Micros

W = TypeVar("W", HoldPlan, PausePlan)


class Message(Record, frozen=True):
    """A message: of those sent at one instant the `nth` of its kind on its link, and the `behind`th
    on its link at all.
    """

    sender: str
    to: str
    kind: str
    sent_us: int
    nth: int
    behind: int


Fate = Literal["late", "stall", "lost"]
"""What happens to a message: it is late; it and all behind it on its link wait for it to arrive, as
on one TCP connection; or it is lost."""
DEFAULT: Final[tuple[Fate, ...]] = ("late", "stall")
FATES: Final[tuple[Fate, ...]] = ("late", "stall", "lost")


class Late(Record, frozen=True):
    """A message and its fate; it arrives so long after it was sent, None: never."""

    message: Message
    fate: Fate
    by_us: int | None

    @property
    def hold(self) -> HoldPlan:
        """What makes it so."""
        one, alone = self.message, self.fate != "stall"
        sent_us = Micros(one.sent_us)
        until_us = None if self.by_us is None else Micros(sent_us + self.by_us)
        return HoldPlan(
            sender=one.sender,
            to=one.to,
            kind=one.kind if alone else None,
            from_us=sent_us,
            until_us=until_us,
            until=None,
            label=None,
            messages=1 if alone else None,
            nth=one.nth if alone else one.behind,
            lost=self.by_us is None,
        )


class World(Record, frozen=True):
    """What is exhausted: a scenario and its seed, how messages may fare, and how runs are judged.

    Each fate is tried of each message, those with a delay with each of `late_us`. `kinds` are the
    kinds of messages that may be late, all where it is empty.
    """

    name: str
    text: str
    overrides: dict[str, Any]
    seed: int
    late_us: tuple[int, ...]
    fates: tuple[Fate, ...] = DEFAULT
    kinds: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    strict: bool = False
    all_claims: bool = False

    @property
    def choices(self) -> tuple[tuple[Fate, int | None], ...]:
        """What is tried of each message."""
        found: list[tuple[Fate, int | None]] = []
        for fate in self.fates:
            found += [(fate, None)] if fate == "lost" else [(fate, by) for by in self.late_us]
        return tuple(found)


class Job(Record, frozen=True):
    """A run: what is late in it, in the order of sending; `wider`: its messages are asked for."""

    late: tuple[Late, ...]
    wider: bool


class Ran(Record, frozen=True):
    """What came of a run; `fingerprint` is that of its history without messages.

    `messages` are those that may be late besides: sent behind the last one that is.
    """

    outcome: Outcome
    fingerprint: str
    seen: tuple[Seen, ...]
    messages: tuple[Message, ...] = ()


class Found(Record, frozen=True):
    """A signature with a status, in how many runs it was, and what is late in the first of them."""

    seen: Seen
    late: tuple[Late, ...]
    number: int
    runs: int = 1


class Level(Record, frozen=True):
    """The runs with so many messages late: how many were made, and `of` how many that is.

    The histories of `histories` of them were not those of earlier runs.
    """

    late: int
    runs: int
    of: int
    histories: int


# --- one run --------------------------------------------------------------------------------------


class Worker:
    """Runs the world in this process."""

    def __init__(self, world: World) -> None:
        for file in world.loads:
            load_file(file)
        self._world = world
        self._scenario = scenario_of(world)
        self._findings = findings.known()

    def act(self, jobs: Sequence[Job]) -> list[Ran]:
        """What came of each run."""
        return [self._ran(job) for job in jobs]

    def _ran(self, job: Job) -> Ran:
        world = self._world
        try:
            planned = plan_of(self._scenario, world.seed, job, models=not job.late)
            history = run(planned)
            events = history.events
            if job.wider:
                history.events = [event for event in events if not is_message(event)]
            verdict = judge(
                history, strict=world.strict, all_claims=world.all_claims, findings=self._findings
            )
        except BAD_INPUT:
            raise
        except (Exception, SystemExit) as error:
            return Ran(Outcome.CRASHED, "", (seen_of(crash_of(error)),))
        sent = messages_of(events, planned, job.late, world.kinds) if job.wider else ()
        return Ran(verdict.outcome, history.fingerprint(), tuple(seen_in(verdict)), sent)


def scenario_of(world: World) -> Scenario:
    """The scenario of a world, read again."""
    return read(world.text, world.name, overrides=world.overrides)


def plan_of(scenario: Scenario, seed: int, job: Job, *, models: bool = False) -> Plan:
    """The plan of a run: what its scenario expects of another run is not asked for.

    What waits for a step to be ok, or to fail, waits for its end: where a message is late it may
    end otherwise, and what waits for it is to go on.

    `models` compare the parts of nodes, in the world's own run alone: that takes ten times as long
    as a run of plane `fdb`, twice as long on the other one.
    """
    own = plan(scenario, seed, trace=job.wider, models=models)
    return structs.replace(
        own,
        holds=(*map(_until_done, own.holds), *(one.hold for one in job.late)),
        pauses=tuple(map(_until_done, own.pauses)),
        steps=tuple(
            structs.replace(step, expect=None, after=whenever_done(step.after))
            for step in own.steps
        ),
        reaches=(),
        never_reaches=(),
    )


def _until_done(one: W) -> W:
    return structs.replace(one, until=whenever_done(one.until))


def is_message(event: AnyEvent) -> bool:
    """Whether it is there only where messages are recorded."""
    return type(event) is MessageSent or type(event) is MessageDelivered


def messages_of(
    events: Sequence[AnyEvent], planned: Plan, late: tuple[Late, ...], kinds: Sequence[str]
) -> tuple[Message, ...]:
    """The messages that may be late beside some that are, in the order of sending.

    The last one that is late is sent in the run, which until then is the one it was chosen in: a
    hold touches nothing before the instant from which on it is in force, nor what others let go.
    """
    clients = {step.client for step in planned.steps}
    clients |= {program.client for program in planned.programs}
    sent = [event for event in events if type(event) is MessageSent]
    by_client = [
        number
        for number, event in enumerate(sent)
        if event.sender in clients or event.to in clients
    ]
    if not by_client:
        return ()
    met: Counter[tuple[str, str, str | None, int]] = Counter()
    found: list[Message] = []
    for event in sent:
        where = event.sender, event.to, event.kind, event.at_us
        link = event.sender, event.to, None, event.at_us
        met[where] += 1
        met[link] += 1
        found.append(Message(*where, met[where], met[link]))
    if late:
        assert late[-1].message in found, f"{late[-1].message} is not sent where it is late"
        first = found.index(late[-1].message) + 1
    else:
        first = by_client[0]
    return tuple(
        one
        for one in found[first : by_client[-1] + 1]
        if one.sender != one.to and (not kinds or one.kind in kinds)
    )


def worker(world: World) -> Callable[[Sequence[Job]], list[Ran]]:
    """What a process runs: see `Executor`."""
    return Worker(world).act


def lost(job: Job, how: str) -> Ran:
    """The result of a run that no process survives."""
    return Ran(Outcome.CRASHED, "", (seen_lost(how),))


def check(world: World) -> tuple[Message, ...] | None:
    """The messages of the world's own run; raises what is wrong with the scenario or its design.

    None if the run crashes, which is then the first result.
    """
    scenario = scenario_of(world)
    planned = plan_of(scenario, world.seed, Job((), wider=True))
    check_design(planned)
    try:
        history = run(planned)
    except (Exception, SystemExit):
        return None
    return messages_of(history.events, planned, (), ())


# --- all runs -------------------------------------------------------------------------------------


class Exhaustion:
    """The runs of a world with at most `depth` messages late, level by level; what they came to.

    Runs are numbered from 0, the world's own. What is kept does not depend on the processes that
    run them, since results are taken in order.
    """

    def __init__(self, world: World, depth: int) -> None:
        self.world, self.depth = world, depth
        self.outcomes: Counter[Outcome] = Counter()
        self.found: dict[tuple[str, str], Found] = {}
        self.levels: list[Level] = []
        self.number = 0
        self.exhausted = False
        """Whether it is known that there are no other runs."""
        self._known: set[str] = set()
        self._parents: list[tuple[tuple[Late, ...], tuple[Message, ...]]] = []
        self._next: list[tuple[tuple[Late, ...], tuple[Message, ...]]] = []

    def open_level(self) -> int | None:
        """Begin the next level, where all runs of the last one were made.

        Returns how many runs it has; None where there are no other runs.
        """
        late = len(self.levels)
        assert not late or self.levels[-1].runs == self.levels[-1].of, "a level is left in part"
        self._parents, self._next = self._next, []
        choices = len(self.world.choices)
        count = sum(len(sent) for _, sent in self._parents) * choices if late else 1
        if late > self.depth or not count:
            self.exhausted = True
            return None
        self.levels.append(Level(late, 0, count, 0))
        return count

    def jobs(self) -> Iterator[Job]:
        """The runs of the level that was begun."""
        wider = len(self.levels) <= self.depth
        if len(self.levels) == 1:
            yield Job((), wider)
            return
        choices = self.world.choices
        for late, sent in self._parents:
            for message in sent:
                for fate, by_us in choices:
                    yield Job((*late, Late(message, fate, by_us)), wider)

    def take(self, job: Job, ran: Ran) -> None:
        """Count the result of the next run."""
        level = self.levels[-1]
        is_new = ran.fingerprint not in self._known and bool(ran.fingerprint)
        self._known.add(ran.fingerprint)
        self.levels[-1] = structs.replace(
            level, runs=level.runs + 1, histories=level.histories + is_new
        )
        self.outcomes[ran.outcome] += 1
        for seen in ran.seen:
            key = seen.id, seen.status
            known = self.found.get(key)
            if known is None:
                self.found[key] = Found(seen, job.late, self.number)
            else:
                self.found[key] = structs.replace(known, runs=known.runs + 1)
        if job.wider and ran.messages:
            self._next.append((job.late, ran.messages))
        self.number += 1
