"""The exact command that repeats a run."""

import argparse
import shlex
from collections.abc import Sequence

from sim.history.history import Header
from sim.world import swarm
from sim.world.overrides import repeat_options

DESIGN = {"strategy.name": "--strategy", "strategy.mutant": "--mutant"}


def of_options(options: argparse.Namespace, seed: int) -> str:
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
    for flag in ("strict", "all_claims", "trace", "allow_outside"):
        if getattr(options, flag):
            words.append(f"--{flag.replace('_', '-')}")
    for file in options.load:
        words += ["--load", file]
    return shlex.join(words)


def of_header(header: Header) -> str:
    """The command that makes a history again, as far as its header tells."""
    words = ["ddlsim", "run", *swarm.words(header.scenario), "--seed", str(header.seed)]
    given = dict(header.overrides)
    for path, flag in DESIGN.items():
        if path in given:
            words += [flag, str(given.pop(path))]
    return shlex.join(words + repeat_options(given))


def of_scenario(
    name: str,
    seed: int,
    *,
    strategy: str | None = None,
    mutant: str | None = None,
    loads: Sequence[str] = (),
) -> str:
    """The command that runs one seed of a scenario as its file says, perhaps by another design."""
    words = ["ddlsim", "run", name, "--seed", str(seed)]
    words += [] if strategy is None else ["--strategy", strategy]
    words += [] if mutant is None else ["--mutant", mutant]
    for file in loads:
        words += ["--load", file]
    return shlex.join([*words, "--expect"])
