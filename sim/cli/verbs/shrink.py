"""`ddlsim shrink`: a failing run to the smallest scripted scenario that fails in the same way."""

from pathlib import Path

from ddlsim.cli import repeat, streams
from ddlsim.cli.documents import documents
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError, note
from ddlsim.cli.signals import code_of
from ddlsim.cli.verbs import shrunk
from ddlsim.files import apart, write_text
from ddlsim.history import codec
from ddlsim.plan import swarm
from ddlsim.registry import load_file
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import Scenario
from ddlsim.shrink import failing
from ddlsim.shrink.shrink import Budget


def execute(options: Options) -> int:
    """Shrink, write or print the scenario, and tell the exit code."""
    for file in options.load:
        load_file(file)
    failure = options.failure if _is_file(options.failure) else None
    apart({"FAILURE": failure, "--out": options.out, "--html": options.html})
    scenario, seed = _failure(options)
    state = failing.begun(
        scenario,
        seed,
        Budget(options.runs, options.time),
        strict=options.strict,
        all_claims=options.all_claims,
        violation=options.violation,
    )
    shorter = shrunk.shrunk_text(state, options.out or shrunk.PRINTED, options.load)
    if options.out is not None:
        write_text(options.out, shorter.text)
    if options.html is not None:
        write_text(options.html, shrunk.page_of(shorter))
    if options.output == "json":
        streams.write(documents.text(shrunk.document(shorter, options.out)))
    else:
        streams.write(shorter.text if options.out is None else f"{shorter.command}\n", end="")
    note(shrunk.sentence(shorter))
    return 0 if state.interrupt is None else code_of(state.interrupt)


def _is_file(name: str | None) -> bool:
    """Whether it names a file, and not a shipped scenario or nothing."""
    return name is not None and Path(name).is_file()


def _failure(options: Options) -> tuple[Scenario, int]:
    """The scenario and the seed of what failed: of a history its own, else those given."""
    name = options.failure
    given = repeat.settings(options)
    if name is not None and _is_file(name) and not name.endswith(".toml"):
        if given or options.seed is not None or options.swarm:
            what = "a history has its own seed and design; leave out --seed, --set and the like"
            raise InputError(f"shrink {name}: {what}")
        return failing.of_header(codec.load(name).header)
    seed = 0 if options.seed is None else options.seed
    if options.swarm:
        base = None if name is None else load(name, outside=options.allow_outside)
        return swarm.scenario(swarm.source_of(base, given), seed), seed
    if name is None:
        raise InputError("shrink: FAILURE is missing; name a history or a scenario, or say --swarm")
    scenario = load(name, given, outside=options.allow_outside)
    own = scenario.table.seed if options.seed is None else None
    return scenario, seed if own is None else own
