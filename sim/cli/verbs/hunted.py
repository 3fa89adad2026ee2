"""What a hunt has found, as files: each world that showed a new signature, shrunk, and a picture.

The names are those of the signature: `I3-1a2b3c4d.toml` is the world as it was run, with its design
and seeds; `I3-1a2b3c4d.shrunk.toml` and `.shrunk.html` are what is left of it, and the page about
that. The world of a recorded finding is `F-6-1a2b3c4d.toml`: a violation may have the same
signature.
"""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ddlsim.checkers.argument import argue
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import FINDING
from ddlsim.cli import repeat
from ddlsim.cli.picture.words import three_sentences
from ddlsim.cli.problems import note
from ddlsim.cli.verbs import shrunk
from ddlsim.escape import no_flag
from ddlsim.files import make_folder, write_text
from ddlsim.plan import swarm
from ddlsim.scenario.overrides import repeat_options
from ddlsim.scenario.repeated import repeated
from ddlsim.scenario.scenario import read
from ddlsim.search.corpus import Found, State
from ddlsim.search.explore import LOST, Seen, Target
from ddlsim.search.hunt import is_known
from ddlsim.shrink import failing
from ddlsim.shrink.shrink import Budget, Shrinking


class Shrunk(NamedTuple):
    """The files of a shrunk world, the command that repeats it, and what it shows in sentences."""

    scenario: str
    page: str
    command: str
    story: tuple[str, ...]


@contextmanager
def folder(directory: str) -> Iterator[None]:
    """A directory for what may be found; a new one goes again where nothing was.

    `WriteError` where there cannot be one: before anything is run, not after it.
    """
    path = Path(directory)
    is_new = not path.exists()
    make_folder(path)
    try:
        yield
    finally:
        if is_new and not any(path.iterdir()):
            path.rmdir()


def stem(found: Found) -> str:
    """What the files of what was found are called."""
    return stem_of(found.seen)


def stem_of(seen: Seen) -> str:
    """What the files of a signature are called."""
    prefix = finding_of(seen) or seen.invariant or seen.status
    return f"{prefix}-{seen.id}" if seen.id != prefix else prefix


def finding_of(seen: Seen) -> str:
    """The recorded finding that explains a signature; empty if none does."""
    return seen.status.removeprefix(FINDING) if is_known(seen) else ""


def file_of(directory: str, found: Found) -> str:
    """The file of the world that showed a signature first."""
    return no_flag((Path(directory) / f"{stem(found)}.toml").as_posix())


def write(directory: str, state: State) -> None:
    """Write the world of each signature."""
    target = state.target
    judged = {"strict": target.strict, "all_claims": target.all_claims}
    for found in state.found:
        make_folder(Path(directory))
        world = repeated(found.world.text, target.overrides, found.world.seed, **judged)
        file = file_of(directory, found)
        command = _shrink_command(file, found, target.loads)
        write_text(file, f"# {found.seen.signature}\n# {command}\n{world}")


def _shrink_command(file: str, found: Found, loads: Sequence[str]) -> str:
    """The command that shrinks a world for this signature, or runs one that no process survives."""
    plug_ins = repeat.also(loads, outside=False)
    if found.seen.kind == LOST:
        return shlex.join(["ddlsim", "run", file, *plug_ins])
    return shlex.join(["ddlsim", "shrink", file, "--violation", found.seen.id, *plug_ins])


def command_of(directory: str, found: Found, target: Target) -> str:
    """The command that runs the world again: by the swarm's seed, or by its file."""
    if not found.drawn:
        words = ["ddlsim", "run", file_of(directory, found)]
        return shlex.join(words + repeat.also(target.loads, outside=False))
    words = ["ddlsim", "run", "--swarm", "--seed", str(found.world.seed)]
    given = dict(target.overrides)
    for path, flag in repeat.DESIGN.items():
        if path in given:
            words += [flag, str(given.pop(path))]
    words += ["--strict"] * target.strict + ["--all-claims"] * target.all_claims
    words += repeat.also(target.loads, outside=False)
    return shlex.join(words + repeat_options(given))


class AllShrunk(NamedTuple):
    """What was shrunk, by the stem of its signature, and what interrupted that."""

    worlds: dict[str, Shrunk]
    interrupt: KeyboardInterrupt | None = None


def shrink_all(directory: str, state: State) -> AllShrunk:
    """Shrink each world that was the first with violations that no finding explains, or crashed.

    Each is shrunk for the gravest violation; after an interrupt no other one is begun.
    """
    worlds: dict[int, list[Found]] = {}
    for one in state.found:
        if not is_known(one.seen) and one.seen.kind != LOST:
            worlds.setdefault(one.number, []).append(one)
    shrunk: dict[str, Shrunk] = {}
    try:
        for alike in worlds.values():
            first = _begun(alike[0], state.target)
            if first is not None:
                text = first.target.signature.text
                named = next((one for one in alike if one.seen.signature == text), alike[0])
                shrunk[stem(named)] = _shrink(directory, named, first, state.target)
                if first.interrupt is not None:
                    return AllShrunk(shrunk, first.interrupt)
    except KeyboardInterrupt as interrupt:
        return AllShrunk(shrunk, interrupt)
    return AllShrunk(shrunk)


def _begun(found: Found, target: Target) -> Shrinking | None:
    scenario = read(found.world.text, swarm.NAME, overrides=target.overrides)
    seed, strict, all_claims = found.world.seed, target.strict, target.all_claims
    try:
        return failing.begun(scenario, seed, Budget(), strict=strict, all_claims=all_claims)
    except failing.NothingToShrinkError as error:
        note(str(error))
        return None


def _shrink(directory: str, found: Found, state: Shrinking, target: Target) -> Shrunk:
    name = file_of(directory, found).removesuffix(".toml")
    shorter = shrunk.shrunk_text(state, f"{name}.shrunk.toml", target.loads)
    write_text(f"{name}.shrunk.toml", shorter.text)
    write_text(f"{name}.shrunk.html", shrunk.page_of(shorter))
    note(shrunk.sentence(shorter))
    best = shorter.shrunk.best
    case = Case(best.history)
    story = three_sentences(case, best.violation, argue(case, best.violation))
    return Shrunk(f"{name}.shrunk.toml", f"{name}.shrunk.html", shorter.command, story)
