"""`ddlsim explore`: every run of a small world in which few messages are late, or lost."""

import shlex
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ddlsim.checkers.outcome import Outcome, worst
from ddlsim.checkers.signature import CRASH
from ddlsim.cli import repeat, streams
from ddlsim.cli.documents import documents, shapes_explore
from ddlsim.cli.documents import seen as seen_as
from ddlsim.cli.exit_codes import NOT_DECIDED
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.cli.signals import code_of
from ddlsim.cli.verbs import explore_scope, hunted, scoped
from ddlsim.cli.views import words
from ddlsim.cli.views.progress import Meter
from ddlsim.escape import counted
from ddlsim.execute.parallel import Executor
from ddlsim.files import make_folder, no_file, write_text
from ddlsim.history.history import FORMAT
from ddlsim.plan import work
from ddlsim.plan.plan import plan
from ddlsim.registry import load_file
from ddlsim.scenario import bounds
from ddlsim.scenario.loosened import loosen
from ddlsim.scenario.repeated import repeated
from ddlsim.scenario.scenario import Scenario
from ddlsim.scenario.tomltext import toml_text
from ddlsim.search import exhaust
from ddlsim.search.exhaust import Exhaustion, Found, Job, Late, Message, Ran, World
from ddlsim.search.explore import STUCK
from ddlsim.search.hunt import is_known
from ddlsim.shrink.script import in_ms
from ddlsim.units import US_PER_MS

Ended = Literal["exhausted", "violation", "time", "interrupted"]
OUT: Final = "explored"
"""The directory of what is found, without --out."""
DEPTH: Final = 1
"""So many messages are late at most, without --depth."""
LATE_MS: Final = 100.0
"""By how much messages are late where a design has no DD."""
DD: Final = "delay_duration_ms"
BATCH: Final = 8
"""Runs that a process gets at once: one takes some 10 ms."""


class Done(NamedTuple):
    """What was explored, why that ended, and the number of messages of the world's own run."""

    explored: Exhaustion
    ended: Ended
    messages: int
    interrupt: KeyboardInterrupt | None = None


def execute(options: Options) -> int:
    """Explore, print what was found, write the scenarios that show it; the exit code."""
    for file in options.load:
        load_file(file)
    if scoped.is_scope(options.scenario):
        return explore_scope.execute(options)
    if options.tla is not None:
        raise InputError("explore: --tla is for scopes; those are listed by ddlsim list scopes")
    directory = options.out or OUT
    no_file("--out", directory)
    scenario = scoped.scenario_of("explore", options)
    bounds.check_run(scenario.name, scenario.estimate, None)
    world = world_of(options, scenario)
    sent = exhaust.check(world)
    if sent is not None:
        _check_kinds(world, sent)
    with nullcontext() if options.out is None else hunted.folder(directory):
        done = _explored(options, world, len(sent or ()))
        for found in done.explored.found.values():
            make_folder(Path(directory))
            write_text(_file(directory, found), _text(world, found))
    whole = document(options, scenario, done, directory)
    if options.output == "json":
        streams.write(documents.text(whole))
    else:
        show(whole)
    if done.interrupt is not None:
        return code_of(done.interrupt)
    code = outcome(done.explored).exit_code
    return NOT_DECIDED if code == 0 and done.ended == "time" else code


def world_of(options: Options, scenario: Scenario) -> World:
    """What is explored; its seed is the one given, else the scenario's own, else 0."""
    own = scenario.table.seed if options.seed is None else options.seed
    seed = 0 if own is None else own
    late_us = options.late
    if late_us is None:
        nodes = plan(scenario, seed).nodes
        dd_ms = max((node.settings.get(DD, 0) for node in nodes), default=0)
        late_us = (round((2 * dd_ms or LATE_MS) * US_PER_MS),)
    patience_ms, drain_ms = work.patience_ms(scenario), scenario.table.run.drain_ms
    overrides = dict(scenario.overrides)
    if drain_ms is not None and drain_ms < patience_ms:  # what a message is lost for ends in it
        overrides["run.drain_ms"] = patience_ms
    return World(
        name=scenario.name,
        text=scenario.text,
        overrides=overrides,
        seed=seed,
        late_us=late_us,
        fates=tuple(dict.fromkeys(options.fate)) or exhaust.DEFAULT,
        kinds=tuple(options.kind),
        loads=tuple(options.load),
        strict=options.strict,
        all_claims=options.all_claims,
    )


def _check_kinds(world: World, sent: Iterable[Message]) -> None:
    """Refuse kinds of which the world's own run sends no message."""
    known = sorted({one.kind for one in sent})
    if not known:
        raise InputError(f"explore {world.name}: no client sends a message, so none can be late")
    for kind in world.kinds:
        if kind not in known:
            what = f"no message of this kind is sent in the run; known: {', '.join(known)}"
            raise InputError(f"--kind {kind}: {what}")


# --- the search -----------------------------------------------------------------------------------


def _explored(options: Options, world: World, messages: int) -> Done:
    explored = Exhaustion(world, options.depth or DEPTH)
    until = None if options.time is None else time.monotonic() + options.time
    make = partial(exhaust.worker, world)

    def ended() -> Ended | None:
        if not options.keep_going and any(map(_is_grave, explored.found.values())):
            return "violation"
        return "time" if until is not None and time.monotonic() >= until else None

    def jobs() -> Iterator[Job]:
        for job in explored.jobs():
            if ended() is not None:
                return
            yield job

    def take(job: Job, ran: Ran) -> bool:
        explored.take(job, ran)
        meter.watch()
        return ended() is not None

    try:
        with (
            Executor(make, exhaust.lost, processes=options.jobs) as executor,
            ExploreMeter(explored) as meter,
        ):
            while ended() is None and explored.open_level() is not None:
                executor.run_in_order(jobs(), take, batch=BATCH)
    except KeyboardInterrupt as interrupt:
        return Done(explored, "interrupted", messages, interrupt)
    return Done(explored, "exhausted" if explored.exhausted else ended() or "time", messages)


def _is_grave(found: Found) -> bool:
    """Whether no known finding explains it."""
    return not is_known(found.seen)


class ExploreMeter(Meter):
    """Shows the runs of the level under way."""

    def __init__(self, explored: Exhaustion) -> None:
        super().__init__(float("inf"))
        self._explored = explored

    def watch(self) -> None:
        """Another run is done."""
        level = self._explored.levels[-1]
        self._total = level.of
        rate = self._explored.number / self.elapsed_s
        self.show(level.runs, f"some {(level.of - level.runs) / rate:.0f} s left of these")

    def status(self) -> str:
        """How far it is, in words."""
        return self.counts

    @property
    def counts(self) -> str:
        """The runs of the level, and of how many."""
        level = self._explored.levels[-1]
        return f"{level.late} late: {level.runs:,} of {counted(level.of, 'run')}"


# --- what is found --------------------------------------------------------------------------------


def outcome(explored: Exhaustion) -> Outcome:
    """The worst of all runs; ok for what a known finding explains."""
    return worst(explored.outcomes)


def _file(directory: str, found: Found) -> str:
    """The file of the scenario that shows a signature first."""
    return (Path(directory) / f"{hunted.stem_of(found.seen)}.toml").as_posix()


def _text(world: World, found: Found) -> str:
    """The scenario of a run: what is late in it as `[[hold]]` tables behind its own."""
    judged = {"strict": world.strict, "all_claims": world.all_claims}
    whole = tomllib.loads(repeated(world.text, world.overrides, world.seed, **judged))
    seen = found.seen
    loosen(whole)
    if is_known(seen):
        whole["expect"] = {"finding": hunted.finding_of(seen)}
    elif seen.status == STUCK:
        whole["expect"] = STUCK
    elif seen.status != CRASH:
        whole["expect"] = {"violated": [seen.invariant]}
    whole["hold"] = [*whole.get("hold", ()), *map(_hold, found.late)]
    scalars = {key: one for key, one in whole.items() if not isinstance(one, dict | list)}
    lines = [f"# {seen.signature}", *(f"# {sentence(late)}" for late in found.late)]
    return "\n".join([*lines, toml_text({**scalars, **whole})])


def _hold(late: Late) -> dict[str, Any]:
    hold = late.hold
    table: dict[str, Any] = {"from": hold.sender, "to": hold.to}
    table |= {} if hold.kind is None else {"kind": hold.kind, "messages": 1}
    table |= {"nth": hold.nth} if hold.nth > 1 else {}
    table["from_ms"] = in_ms(hold.from_us)
    return table | ({"lost": True} if hold.until_us is None else {"until_ms": in_ms(hold.until_us)})


def sentence(late: Late) -> str:
    """A message and its fate, in words."""
    one = late.message
    which = f"{one.kind} from {one.sender} to {one.to}, sent at {in_ms(one.sent_us):,} ms"
    if one.nth > 1:
        which += f" (number {one.nth} of that instant)"
    if late.by_us is None:
        return f"{which}, is lost"
    behind = " with all behind it on its link" if late.fate == "stall" else ""
    return f"{which}, is {in_ms(late.by_us)} ms late{behind}"


# --- the document ---------------------------------------------------------------------------------


def document(
    options: Options, scenario: Scenario, done: Done, directory: str
) -> shapes_explore.Explore:
    """The document of `--output json`."""
    explored = done.explored
    world = explored.world
    return {
        "format": FORMAT,
        "scenario": scenario.name,
        "strategy": scenario.strategy,
        "mutant": scenario.mutant,
        "seed": world.seed,
        "outcome": outcome(explored).word,
        "ended": done.ended,
        "depth": explored.depth,
        "late_ms": [one / US_PER_MS for one in world.late_us],
        "fates": list(world.fates),
        "kinds": list(world.kinds),
        "messages": done.messages,
        "runs": explored.number,
        "histories": sum(level.histories for level in explored.levels),
        "outcomes": {
            one.word: count for one, count in sorted(explored.outcomes.items(), key=_by_word)
        },
        "levels": [
            {"late": one.late, "runs": one.runs, "of": one.of, "histories": one.histories}
            for one in explored.levels
        ],
        "found": [_found(options, directory, one) for one in explored.found.values()],
        "command": _command(options, world),
    }


def _by_word(entry: tuple[Outcome, int]) -> str:
    return entry[0].word


def _found(options: Options, directory: str, found: Found) -> shapes_explore.ExploreFound:
    file = _file(directory, found)
    words_ = ["ddlsim", "run", file, *repeat.also(options.load, outside=options.allow_outside)]
    return {
        **seen_as.document(found.seen),
        "runs": found.runs,
        "first": found.number,
        "late": [_late(one) for one in found.late],
        "sentences": [sentence(one) for one in found.late],
        "file": file,
        "command": shlex.join(words_),
    }


def _late(late: Late) -> shapes_explore.LateMessage:
    one = late.message
    return {
        "from": one.sender,
        "to": one.to,
        "kind": one.kind,
        "sent_ms": one.sent_us / US_PER_MS,
        "nth": one.nth,
        "fate": late.fate,
        "late_ms": None if late.by_us is None else late.by_us / US_PER_MS,
    }


def _command(options: Options, world: World) -> str:
    """The command that explores again."""
    said = ["ddlsim", "explore", options.scenario, "--seed", str(world.seed)]
    said += ["--depth", str(options.depth or DEPTH)]
    said += ["--late", ",".join(f"{in_ms(one)}" for one in world.late_us)]
    for flag in ("strategy", "mutant", "out"):
        if getattr(options, flag) is not None:
            said += [f"--{flag}", str(getattr(options, flag))]
    for flag in ("set", "kind", "fate"):
        for value in getattr(options, flag):
            said += [f"--{flag}", value]
    said += ["--keep-going"] * options.keep_going
    said += repeat.judging(options) + repeat.also(options.load, outside=options.allow_outside)
    return shlex.join(said)


def show(whole: shapes_explore.Explore) -> None:
    """The same for people."""
    to = words.console()
    design = words.design(whole["strategy"], whole["mutant"])
    of = f"{whole['scenario']}, {design}, seed {whole['seed']}"
    words.verdict(Outcome.called(whole["outcome"]), of, to)
    by = " or ".join(f"{late_ms:g}" for late_ms in whole["late_ms"])
    said = (WORDS[one].format(by=by) for one in whole["fates"])
    fate = ", or ".join(said)
    kinds = f" ({', '.join(whole['kinds'])})" if whole["kinds"] else ""
    most = f"{whole['depth']} messages{kinds} are" if whole["depth"] > 1 else f"1 message{kinds} is"
    words.labelled("explored", f"all runs in which at most {most} {fate}", to)
    for level in whole["levels"]:
        runs = "1 run" if level["of"] == 1 else f"{level['of']:,} runs"
        part = runs if level["runs"] == level["of"] else f"{level['runs']:,} of {runs}"
        new = "1 history" if level["histories"] == 1 else f"{level['histories']:,} histories"
        words.labelled(f"{level['late']} late", f"{part}, {new} not seen before", to)
    ends = ", ".join(f"{count:,} {word}" for word, count in whole["outcomes"].items())
    words.labelled("outcomes", f"{ends}; {ENDS[whole['ended']]}", to)
    for one in whole["found"]:
        words.say(seen_as.heading(one), to, "bold")
        often = f"in {counted(one['runs'], 'run')}, first in run {one['first']:,}"
        words.labelled("summary", f"{one['summary']}; {often}", to)
        for text in one["sentences"]:
            words.labelled("late", text, to)
        words.labelled("scenario", one["file"], to)
        words.command(one["command"], to)
    words.command(whole["command"], to)


WORDS: Final = {
    "late": "{by} ms late",
    "stall": "{by} ms late with all behind it on its link",
    "lost": "lost",
}
"""The fates of messages, in words."""
ENDS: Final = {
    "exhausted": "there are no others",
    "violation": "ended by what it found",
    "time": "ended by --time, with runs left",
    "interrupted": "ended by an interrupt, with runs left",
}
"""What ended it, in words."""
