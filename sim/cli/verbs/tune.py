"""`ddlsim tune`: from measured delays and clocks to DD, H and CSmax, with reasons and risks."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from ddlsim import files
from ddlsim.analysis.formula.wait_model import COARSE
from ddlsim.analysis.spark.spread import NONE
from ddlsim.analysis.sweep import provenance
from ddlsim.analysis.tune import tuned
from ddlsim.analysis.tune.advise import Advice, Advisor
from ddlsim.analysis.tune.cells import DELAYS, OFFSETS, Load, Setting
from ddlsim.analysis.tune.document import WRITER, document
from ddlsim.analysis.tune.goals import TuneError, read_goals
from ddlsim.analysis.tune.request import LEASES_PER_MS, Chosen, Request, Wish
from ddlsim.analysis.tune.runs import Runs
from ddlsim.analysis.tune.world import ASSUMED, World, by_name, world_of
from ddlsim.cli import streams
from ddlsim.cli.documents import documents
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError, note
from ddlsim.cli.views.progress import Progress
from ddlsim.execute.isolation import Limits
from ddlsim.files import write_text
from ddlsim.registry import load_file
from ddlsim.scenario import bounds
from ddlsim.scenario.files import reason
from ddlsim.scenario.measured import Measured, parse, text_of

OURS = ("tune.json", "rows.parquet", "cells.parquet")
EXPECTED_CELLS = 30
"""About so many cells are run; what a progress bar begins with."""
MS_PER_S = 1_000


def execute(options: Options) -> int:
    """Read, run, answer; 0 once there is an answer, 2 (by exception) where there cannot be one."""
    for file in options.load:
        load_file(file)
    if options.calm is not None:
        from ddlsim.cli.verbs import predict as verb_predict

        return verb_predict.execute(options)
    try:
        request = request_of(options)
        if options.out is not None:
            claim(options.out)
        advice, runs = _advised(request, options)
    except TuneError as error:
        raise InputError(f"tune: {error}") from None
    found = document(advice)
    found["command"] = command_of(options)
    found["more_seeds"] = more_seeds(options, found)
    found["provenance"] = provenance.of_program()
    kept = None
    try:
        if options.out is not None:
            save(options.out, found, advice, runs)
            kept = options.out
    finally:  # it took long, and is no less true where it cannot be kept
        show(options, found, kept)
        streams.result().flush()
    return 0


def show(options: Options, found: dict[str, Any], kept: str | None) -> None:
    """Print the answer in the wanted form; `kept` is where it was written."""
    if options.output == "json":
        streams.write(documents.text(found))
    else:
        from ddlsim.cli.views import tune as view_tune
        from ddlsim.cli.views.words import console

        view_tune.show(found, console(), kept)


def _advised(request: Request, options: Options) -> tuple[Advice, Runs]:
    bounds.check_seeds("tune", EXPECTED_CELLS * options.seeds)
    on_spark = options.master not in {None, NONE}
    if options.jobs is not None and on_spark:
        raise InputError("tune: --jobs is for processes, --master for Spark; keep one of them")
    if on_spark:
        note(f"starting Spark ({options.master})")
    with (
        Progress(EXPECTED_CELLS * len(request.seeds)) as progress,
        Runs(
            request.seeds,
            master=options.master,
            jobs=options.jobs,
            loads=request.loads,
            watch=progress.count,
            limits=Limits(options.time, options.memory),
        ) as runs,
    ):
        return Advisor(request, runs).advise(), runs


def more_seeds(options: Options, found: dict[str, Any]) -> dict[str, Any] | None:
    """With how many seeds the goals of the recommended setting would be decided; None: they are."""
    wanted = [goal["seeds"] for goal in found["goals"] if goal["seeds"]]
    if not wanted:
        return None
    return {"seeds": max(wanted), "command": command_of(options, max(wanted))}


# --- the request ---------------------------------------------------------------------------------


def request_of(options: Options) -> Request:
    """The options with their files read; a mistake is an error with file and line."""
    texts: dict[str, str] = {}
    delays = _measured(options.delays, "delay", DELAYS, texts)
    offsets = _measured(options.offsets, "offset", OFFSETS, texts)
    if delays is None:
        note(f"no --delays: the answer is for {ASSUMED}, not for a cluster of yours")
    world = world_of(delays, offsets, options.nodes, options.voters)
    request = Request(
        world=world,
        texts=texts,
        goals=read_goals(options.slo),
        strategy=options.strategy,
        present=Setting(options.current_dd, options.current_h, options.current_csmax),
        ddl_rate=options.ddl_rate,
        load=Load(options.incompatible, options.tx_length * MS_PER_S),
        margin=options.margin,
        step=options.step,
        seeds=range(options.seeds),
        wishes=tuple(_wish(each) for each in options.tried),
        loads=tuple(options.load),
    )
    _ = request.uses_dd  # raises for a design that cannot be tuned, before any run
    return _led(request, options.leader, _voters_chosen(options.voters, world))


def _wish(setting: dict[str, int]) -> Wish:
    fields = {"dd": "dd", "h": "h", "csmax": "cs_max"}
    return tuple((fields[name], value) for name, value in setting.items())


def _voters_chosen(voters: int | tuple[str, ...] | None, world: World) -> str:
    if isinstance(voters, tuple):
        return "as given"
    return f"the first {world.voters} by name"


def _led(request: Request, leader: str | None, voters: str) -> Request:
    """The same under a leader: the one that is named, or the worst of those that may lead.

    Which one that is depends on the delays and names, and not on the order of lines.
    """
    world: World = request.world
    if leader is not None:
        if leader not in world.nodes:
            known = ", ".join(world.nodes)
            raise TuneError(f"--leader {leader}: no node is called so; nodes: {known}")
        if world.voting and leader not in world.voting:
            known = ", ".join(world.voting)
            raise TuneError(f"--leader {leader}: only a voter can lead; --voters are {known}")
        led, how = replace(world, leader=leader), "as given"
    else:
        candidates = world.voting or world.nodes[: world.voters]
        led = world.worst_led(COARSE, request.present.h, LEASES_PER_MS, by_name(candidates))
        how = "longest waits"
    return replace(request, world=led, chosen=Chosen(voters, how))


def _measured(file: str | None, quantity: str, name: str, texts: dict[str, str]) -> Measured | None:
    """The measurements of a file; its text is kept under the name that scenarios know."""
    if file is None:
        return None
    try:
        text = text_of(Path(file))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--{quantity}s {file}: {reason(error)}; name a CSV or Parquet file"
        ) from None
    texts[name] = text
    return parse(text, file, quantity)


def command_of(options: Options, seeds: int | None = None) -> str:
    """The command that answers the same again; or with more seeds."""
    words = ["ddlsim", "tune"]
    for name in ("delays", "offsets", "strategy", "ddl_rate", "incompatible", "tx_length",
                 "current_dd", "current_h", "current_csmax", "nodes", "voters", "leader",
                 "margin", "step", "seeds"):  # fmt: skip
        value = seeds if name == "seeds" and seeds else getattr(options, name)
        if value is not None:
            written = ",".join(value) if isinstance(value, tuple) else str(value)
            words += [f"--{name.replace('_', '-')}", written]
    for setting in options.tried:
        words += ["--try", ",".join(f"{name}={value}" for name, value in setting.items())]
    for goal in options.slo:
        words += ["--slo", goal]
    for file in options.load:
        words += ["--load", file]
    return shlex.join(words)


# --- the directory -------------------------------------------------------------------------------


def claim(directory: str) -> None:
    """Refuse, before anything is run, a directory that holds something else than such an answer."""
    path = Path(directory)
    files.no_file("--out", directory)
    names = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
    if names and not _is_ours(path / OURS[0]):
        what = f"holds {names[0]}, which `tune` did not write"
        raise InputError(f"--out {directory}: {what}; nothing was overwritten, name another one")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {directory}: {reason(error)}; name another directory") from None


def _is_ours(file: Path) -> bool:
    try:
        if files.unfit(file, files.TEXT_MOST) is not None:
            return False
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("writer") == WRITER


def save(directory: str, found: dict[str, Any], advice: Advice, runs: Runs) -> None:
    """The answer, and the rows and cells that it is made from, each file whole or not there."""
    from ddlsim.analysis.sweep import rows, store
    from ddlsim.analysis.sweep.chunks import write_table

    origin = provenance.metadata({**found["provenance"], "command": found["command"]})
    write_table(rows.table(runs.rows, origin), Path(directory, OURS[1]))
    store.write_cells(directory, advice.cells, origin)
    write_text(Path(directory, OURS[0]), documents.text(tuned.sealed(found)) + "\n")
