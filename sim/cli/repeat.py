"""The exact command that repeats a run."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.execute.isolation import Limits
from ddlsim.history.history import Header
from ddlsim.plan import swarm
from ddlsim.scenario.overrides import EMBEDDED, MIGRATION, read_setting, repeat_options
from ddlsim.scenario.shipped import place_of

DESIGN = {"strategy.name": "--strategy", "strategy.mutant": "--mutant"}


def settings(options: Options) -> dict[str, Any]:
    """What the command line sets over a scenario, by path; raises `InputError` where two differ."""
    given = [("--set", *read_setting(text)) for text in options.set]
    given += [(flag, path, getattr(options, flag[2:], None)) for path, flag in DESIGN.items()]
    found: dict[str, Any] = {}
    for flag, path, value in given:
        if value is None:
            continue
        first = found.setdefault(path, value)
        if first is not value and first != value:  # NaN is not equal to itself
            what = f"{value!r} for {path}, which --set says to be {first!r}"
            raise InputError(f"{flag}: {what}; keep one of them")
    return found


def of_options(options: Options, seed: int) -> str:
    """The command that runs one seed again, with everything that shapes or judges the run."""
    what = [] if options.scenario is None else [options.scenario]
    what += ["--swarm"] if options.swarm else []
    words = ["ddlsim", "run", *what, "--seed", str(seed)]
    for flag in ("strategy", "mutant"):
        if getattr(options, flag) is not None:
            words += [f"--{flag}", getattr(options, flag)]
    for setting in options.set:
        words += ["--set", setting]
    if options.migration is not None:
        words += ["--migration", options.migration]
    words += judging(options) + ["--trace"] * options.trace
    words += also(options.load, outside=options.allow_outside)
    words += Limits(options.time, options.memory).words()
    return shlex.join(words)


def judging(options: Options) -> list[str]:
    """The flags of how a run is judged."""
    return ["--strict"] * options.strict + ["--all-claims"] * options.all_claims


def also(loads: Sequence[str], *, outside: bool) -> list[str]:
    """The flags of plug-ins, and of a scenario that may name files outside of its folder."""
    words = ["--allow-outside"] if outside else []
    return [*words, *(word for file in loads for word in ("--load", file))]


def of_header(header: Header, options: Options) -> str:
    """The command that makes a history again, as far as its header tells, and judges it as these
    options do, with their plug-ins."""
    words = ["ddlsim", "run", *swarm.words(header.scenario), "--seed", str(header.seed)]
    given = dict(header.overrides)
    words += judging(options) + also(options.load, outside=_reads_outside(header))
    for path, flag in DESIGN.items():
        if path in given:
            words += [flag, str(given.pop(path))]
    return shlex.join(words + repeat_options(given))


def _reads_outside(header: Header) -> bool:
    """Whether the scenario named files that, by their names, lie outside of its folder."""
    given = header.overrides
    names = [
        Path(key.removeprefix(EMBEDDED))
        for key in given
        if key.startswith(EMBEDDED) and key != f"{EMBEDDED}{given.get(MIGRATION)}"
    ]
    leads_out = any(name.is_absolute() or ".." in name.parts for name in names)
    return leads_out and place_of(header.scenario) is None


def of_scenario(
    name: str,
    seed: int,
    *,
    strategy: str | None = None,
    mutant: str | None = None,
    also: Sequence[str] = (),
) -> str:
    """The command that runs one seed of a scenario as its file says, perhaps by another design;
    `also` are further flags."""
    words = ["ddlsim", "run", name, "--seed", str(seed)]
    words += [] if strategy is None else ["--strategy", strategy]
    words += [] if mutant is None else ["--mutant", mutant]
    return shlex.join([*words, *also, "--expect"])
