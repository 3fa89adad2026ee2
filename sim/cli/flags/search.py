"""What the verbs take that search for violations, or make them small."""

from typing import Final

import click

from ddlsim.cli.flags import complete, values
from ddlsim.cli.flags.flag import argument, flag, repeated
from ddlsim.cli.flags.many import judging, load, output, outside
from ddlsim.cli.flags.values import Known

FATES: Final = ("late", "stall", "lost")
"""What `explore` tries of a message."""


def _another_design(setting: str = "set a key of the file") -> list[click.Parameter]:
    """What is set over a scenario."""
    return [
        flag("--strategy", "another design", "S", shell_complete=complete.strategies),
        flag("--mutant", "remove or break one rule of the design", "M",
             shell_complete=complete.mutants),
        repeated("--set", setting, "PATH=VALUE"),
    ]  # fmt: skip


def shrinking() -> list[click.Parameter]:
    """A failing run, and when its shrinking ends."""
    return [
        argument("failure", "a history that --out wrote, or a scenario with the seed that fails",
                 "[FAILURE]", required=False, shell_complete=complete.scenarios),
        flag("--seed", "the seed of a scenario (default: 0)", "N", type=values.seed),
        flag("--swarm", "what the seed draws, around the scenario if there is one"),
        *_another_design(),
        *judging(),
        flag("--violation", "what to shrink it for: an invariant, a checker, a finding, or a "
             "signature or its id (default: what the scenario expects, else the gravest)", "NAME"),
        flag("--out", "write the scenario there (default: print it)", "FILE", short="-o",
             type=values.written, shell_complete=complete.files),
        flag("--html", "write a page about the shrunk run there", "F",
             type=values.written, shell_complete=complete.files),
        flag("--time", "end after so much CPU time: 10m", "T", type=values.duration, default="60s"),
        flag("--runs", "end after so many runs", "N", type=values.positive, default="20000"),
        outside(), load(), output("text", "json"),
    ]  # fmt: skip


def exploring() -> list[click.Parameter]:
    """A small world, which of its messages are late, and how many at once."""
    return [
        argument("scenario", "a file, or the name of a shipped scenario, a small one; or a scope",
                 "SCENARIO|SCOPE", shell_complete=complete.worlds),
        flag("--depth", "so many messages are late in a run at most (default: 1); of a scope: so "
             "many actions (default: all)", "N", type=values.positive),
        flag("--late", "by so many ms; of several each is tried (default: twice DD, or 100)",
             "MS[,MS...]", type=values.delays),
        repeated("--fate", "what is tried of each message: late; stall, all behind it on its link "
                 "wait, too; lost (default: late and stall)", "F", type=Known(FATES)),
        repeated("--kind", "only messages of this kind are late (default: all)", "K"),
        flag("--seed", "the seed (default: that of the scenario, or 0)", "N", type=values.seed),
        *_another_design("set a key of the file; of a scope a constant, or the choice of a rule"),
        *judging(),
        flag("--keep-going", "do not end at the first violation"),
        flag("--time", "end after 90s, 10m or 1h, wherever it is then", "T", type=values.duration),
        flag("--out", "the directory of what is found (default: explored)", "DIR",
             type=values.written, shell_complete=complete.folders),
        flag("--tla", "write a scope there for TLC: its TLA+ module and a configuration", "DIR",
             type=values.written, shell_complete=complete.folders),
        flag("--jobs", "processes (default: all cores)", "J", type=values.positive),
        outside(), load(), output("text", "json"),
    ]  # fmt: skip


def ablating() -> list[click.Parameter]:
    """What is ablated, under which design, in which worlds, and when it ends."""
    return [
        argument("scenario", "a scope; or a file, or the name of a shipped scenario; with --swarm "
                 "it may be left out", "[SCENARIO|SCOPE]", required=False,
                 shell_complete=complete.worlds),
        flag("--seeds", "every seed from A to B, or so many (default: 10)", "A..B",
             type=values.some_seeds),
        flag("--strategy", "another design", "S", shell_complete=complete.strategies),
        repeated("--set", "set a key of the file; of a scope a constant, or the choice of a rule, "
                 "in every row", "PATH=VALUE"),
        flag("--mutants", "only these mutants (default: all that fit the design)", "M[,M...]",
             type=values.names, shell_complete=complete.mutants),
        flag("--swarm", "draw what is around the scenario from the seed"),
        *judging(),
        flag("--depth", "of a scope: runs of so many actions at most (default: all)", "N",
             type=values.positive),
        flag("--time", "end after 90s, 10m or 1h, wherever it is then", "T", type=values.duration),
        flag("--jobs", "processes (default: all cores)", "J", type=values.positive),
        outside(), load(), output("text", "json"),
    ]  # fmt: skip


def hunting() -> list[click.Parameter]:
    """What every world has, and when the hunt ends."""
    return [
        flag("--strategy", "the design", "S", shell_complete=complete.strategies),
        flag("--mutant", "remove or break one rule of the design", "M",
             shell_complete=complete.mutants),
        repeated("--set", "set a key of every world (of [protocol]: ddlsim list settings)",
                 "PATH=VALUE"),
        *judging(),
        flag("--time", "end after 90s, 10m or 1h (default: at a violation)", "T",
             type=values.duration),
        flag("--worlds", "end after so many worlds", "N", type=values.positive),
        flag("--seed", "the seed of the hunt", "N", type=values.seed, default="0"),
        flag("--corpus", "keep worlds that reached something new there, and go on with what it "
             "holds", "DIR", type=values.written, shell_complete=complete.folders),
        flag("--out", "the directory of what is found (default: found in the corpus, else hunt)",
             "DIR", type=values.written, shell_complete=complete.folders),
        flag("--keep-going", "do not end at the first violation"),
        flag("--findings", "end at what a known finding explains, too"),
        flag("--unguided", "draw every world anew: the worlds of run --swarm"),
        flag("--no-shrink", "leave what is found as it is"),
        flag("--batch", "after so many worlds new parents are chosen; part of what makes a hunt "
             "repeatable", "N", type=values.positive, default="64"),
        flag("--master", "run worlds on Spark, a batch at a time (default: none)", "URL"),
        flag("--jobs", "processes (default: all cores)", "J", type=values.positive),
        load(), output("text", "json"),
    ]  # fmt: skip
