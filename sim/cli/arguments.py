"""The verbs, their flags, and what each takes; everything heavy is imported by the verb itself.

`parse` turns the words of a command line into a verb and its options. What is wrong with them is
an `InputError` in one line: click's exceptions say which flag and which value (`slips.sentence`).
"""

import os
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import click
from click import Argument
from click.core import ParameterSource, augment_usage_errors

from ddlsim import __version__
from ddlsim.cli import exit_codes
from ddlsim.cli.flags import complete, values
from ddlsim.cli.flags.flag import PREFIX, Verb, argument, flag, is_switch, repeated
from ddlsim.cli.flags.many import budgets, inputs, judging, load, output, outside
from ddlsim.cli.flags.record import recording, rehearsal
from ddlsim.cli.flags.search import ablating, exploring, hunting, shrinking
from ddlsim.cli.flags.slips import sentence
from ddlsim.cli.flags.values import Known
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError, note

VERBS: Final = {
    "run": "plan, run and judge a scenario, for one seed or many",
    "check": "judge stored histories again, or external ones",
    "record": "a real database under DDL and DML as a history, judged like any other",
    "rehearse": "a migration on a copy of a real schema under load: stalls, aborts, anomalies",
    "explain": "tell in words and pictures why a history is judged as it is",
    "shrink": "the smallest scripted scenario that fails as a run did",
    "explore": "every run of a small world with few messages late, or every state of a scope",
    "ablate": "the matrix of rules left out or changed, and the invariants that show it",
    "compat": "lint a migration: which transactions in flight survive it",
    "verify": "run the regression suite: scenarios, mutants, claims",
    "hunt": "search for violations in drawn worlds, guided by coverage",
    "sweep": "run scenarios x designs x parameters x seeds into one table of rows",
    "compare": "designs side by side: what each keeps, and what it costs",
    "advise": "the designs that fit a system, and why the others do not",
    "tune": "recommend DD, H and CSmax for measured delays and clocks",
    "plot": "draw a figure of a sweep or of a run",
    "report": "one page about a sweep: verdicts, figures, tables, and the command for each number",
    "list": "what there is to choose from",
    "new": "write a working file to begin with: a plug-in or a scenario",
    "completion": "the script that completes ddlsim's words in a shell",
}
LISTS: Final = (
    "scenarios",
    "strategies",
    "mutants",
    "faults",
    "workloads",
    "checkers",
    "clauses",
    "findings",
    "reasons",
    "probes",
    "moments",
    "rules",
    "scopes",
    "settings",
    "figures",
    "terms",
    "schemas",
)
NEW: Final = ("strategy", "mutant", "checker", "workload", "fault", "scenario")
"""What `new` makes a file for."""
OUTPUTS: Final = ("text", "json", "junit")
SHELLS: Final = ("bash", "zsh", "fish")
DEBUG: Final = f"{PREFIX}DEBUG"
COMPLETE: Final = "_DDLSIM_COMPLETE"
"""Set by a shell that asks for completions."""
NO: Final = ("", "0", "false", "no", "off")
EPILOG: Final = f"""\b
exit codes:
{exit_codes.lines()}

\b
`ddlsim VERB --help` tells a verb's flags. Each has an environment variable:
DDLSIM_SEED stands for --seed, and so on. DDLSIM_DEBUG=1 shows tracebacks.
"""


def parse(words: Sequence[str]) -> tuple[str, Options]:
    """The verb and its options; what is not given is taken from the environment.

    Raises `InputError`, or `click.exceptions.Exit` where help was asked for and printed.
    """
    words = [*words[1:2], "--help"] if words[0] == "help" else words
    try:
        with COMMAND.make_context("ddlsim", list(words)) as context:
            found: tuple[str, Options] = COMMAND.invoke(context)
            return found
    except click.UsageError as error:
        raise InputError(sentence(error)) from None


def options(verb: str, given: Mapping[str, Any]) -> Options:
    """The options of a verb for values from Python, which are what its words would be.

    None stands for what is not given; the environment is not looked at. Raises `TypeError` for a
    name that is no option of the verb, `InputError` for a value that its flag does not take.
    """
    command = COMMAND.commands[verb]
    assert isinstance(command, Verb), f"{verb} is no verb"
    params = {str(each.name): each for each in command.params}
    if unknown := sorted(set(given) - set(params)):
        raise TypeError(f"{verb} takes no {unknown[0]!r}; it takes {', '.join(sorted(params))}")
    with click.Context(COMMAND, info_name="ddlsim") as parent:
        context = click.Context(command, parent, verb)
        try:
            for name, each in params.items():
                with augment_usage_errors(context, each):
                    context.params[name] = _option(context, each, given.get(name))
            command.check(context)
            return Options(**context.params)
        except click.UsageError as error:
            raise InputError(sentence(error)) from None


def _option(context: click.Context, param: click.Parameter, value: Any) -> Any:
    """The value of an option: its default, or what its flag makes of a value's text."""
    if value is None:
        return _default(context, param)
    if is_switch(param):
        if isinstance(value, bool):
            return value
        raise click.BadParameter(f"expected True or False, not {value!r}")
    if param.multiple or param.nargs == -1:
        several = value if isinstance(value, list | tuple) else [value]
        words = tuple(_word(each) for each in several)
        return param.process_value(context, words)
    return param.process_value(context, _word(value))


def _default(context: click.Context, param: click.Parameter) -> Any:
    if param.required:
        raise click.MissingParameter(ctx=context, param=param)
    if param.multiple or param.nargs == -1:
        return ()
    if is_switch(param):
        return False
    default = param.to_info_dict()["default"]
    return None if default is None else param.type_cast_value(context, default)


def seed_of(value: Any) -> int:
    """A seed that is given from Python, a number or its text; raises `InputError`."""
    try:
        return values.seed(_word(value))
    except click.BadParameter as error:
        raise InputError(f"seed: {error.message}") from None


def _word(value: Any) -> str:
    """A value as a word of the command line."""
    if isinstance(value, range) and value and value.step == 1:
        return f"{value.start}..{value[-1]}"
    if isinstance(value, str | Path | int | float) and not isinstance(value, bool):
        return str(value)
    raise click.BadParameter(f"expected a text or a number, or a list of them, not {value!r}")


def debugging() -> bool:
    """Whether tracebacks are asked for."""
    return os.environ.get(DEBUG, "").lower() not in NO


def note_unused_variables() -> None:
    """Note variables that look like ours and are not: a misspelt one would have no effect."""
    flags = (each for verb in COMMAND.commands.values() for each in verb.params)
    known = sorted({DEBUG, *(str(each.envvar) for each in flags if each.envvar)})
    for name in sorted(one for one in os.environ if one.startswith(PREFIX) and one not in known):
        found = get_close_matches(name, known, n=1, cutoff=0.85)
        if found:
            note(f"{name} is not used; did you mean {found[0]}?")


# --- the verbs -----------------------------------------------------------------------------------


class Verbs(click.Group):
    """All verbs, in the order of `VERBS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)


def _verb(
    name: str,
    params: list[click.Parameter],
    greedy: Sequence[str] = (),
    check: Callable[[click.Context], None] | None = None,
) -> Verb:
    return Verb(name, VERBS[name], params, greedy, check)


def _what_to_run(context: click.Context) -> None:
    """--seed and --seeds exclude each other; one from the environment gives way."""
    given = context.params
    if given["scenario"] is None and not given["swarm"]:
        raise click.UsageError("SCENARIO is missing; or say --swarm", context)
    if given["seed"] is None or given["seeds"] is None:
        return
    for name in ("seed", "seeds"):
        if context.get_parameter_source(name) is ParameterSource.ENVIRONMENT:
            given[name] = None
            return
    raise click.UsageError("--seed and --seeds exclude each other; keep one of them", context)


def _command() -> Verbs:
    """The whole command line."""
    command = Verbs(
        "ddlsim",
        help="A deterministic simulator and judge for online schema change protocols.",
        epilog=EPILOG,
        subcommand_metavar="VERB ...",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    click.version_option(__version__, prog_name="ddlsim", message="%(prog)s %(version)s")(command)
    for verb in (_run(), _check(), _record(), _rehearse(), _explain(), _shrink(), _explore(),
                 _ablate(), _compat(), _verify(), _hunt(), _sweep(), _compare(), _advise(),
                 _tune(), _plot(), _report(), _list(), _new(), _completion()):  # fmt: skip
        command.add_command(verb)
    return command


def _run() -> Verb:
    return _verb("run", [
        argument("scenario", "a file, or the name of a shipped scenario; with --swarm it may be "
                 "left out", "[SCENARIO]", required=False, shell_complete=complete.scenarios),
        flag("--seed", "the seed (default: that of the scenario, or 0)", "N", type=values.seed),
        flag("--seeds", "every seed from A to B, on all cores", "A..B", type=values.seeds),
        flag("--strategy", "run another design", "S", shell_complete=complete.strategies),
        flag("--mutant", "remove or break one rule of the design", "M",
             shell_complete=complete.mutants),
        repeated("--set", "set a key of the file (of [protocol], [fdb]: ddlsim list settings)",
                 "PATH=VALUE"),
        flag("--migration", "the DDL to run instead of the scenario's", "FILE.sql",
             shell_complete=complete.files),
        *judging(),
        flag("--expect", "exit 0 if it ends as the scenario expects, else 1"),
        flag("--swarm", "draw what is around the scenario from the seed"),
        flag("--until-violation", "end at the first seed that is violated, stuck or crashed"),
        flag("--no-shrink", "leave a violation as it is: the first unexpected one is shrunk, in "
             "text, on a terminal or with --out"),
        flag("--trace", "record messages too"),
        *budgets(), outside(), load(),
        flag("--out", "write summary.json and histories there, of the first seed and of each that "
             "fails, instead of those of an earlier run", "DIR",
             type=values.written, shell_complete=complete.folders),
        flag("--stream", "write the history to --out while the run goes on"),
        flag("--unjudged", "with --stream: leave the history to check"),
        flag("--jobs", "processes for --seeds (default: all cores)", "J", type=values.positive),
        output(*OUTPUTS),
    ], check=_what_to_run)  # fmt: skip


def _check() -> Verb:
    return _verb("check", [
        argument("files", "a history of --out or an external one, or a directory", "FILE...",
                 nargs=-1, required=True),
        *inputs(),
        flag("--master", "judge on Spark, a task for each file (default: none)", "URL"),
        *judging(), load(), output(*OUTPUTS),
    ])  # fmt: skip


def _record() -> Verb:
    return _verb("record", recording())


def _rehearse() -> Verb:
    return _verb("rehearse", rehearsal())


def _explain() -> Verb:
    return _verb("explain", [
        argument("history", "a history that --out wrote, or an external one", "HISTORY"),
        *inputs(),
        flag("--svg", "draw the most severe cycle as a small graph", "F",
             type=values.written, shell_complete=complete.files),
        flag("--html", "one page: the violation step by step, arguments, cycles", "F",
             type=values.written, shell_complete=complete.files),
        flag("--trace-out", "the run as Chrome trace JSON, for Perfetto", "perfetto:F",
             type=values.written),
        flag("--likelihood", "how likely the violation was at each instant: the share of runs that "
             "are the same up to there, with other delays from there on, which show it"),
        flag("--continuations", "so many runs from each instant (default: 30)", "N",
             type=values.positive),
        flag("--jobs", "processes of --likelihood (default: all cores)", "J",
             type=values.positive),
        *judging(), load(), output("text", "json"),
    ])  # fmt: skip


def _shrink() -> Verb:
    return _verb("shrink", shrinking())


def _explore() -> Verb:
    return _verb("explore", exploring())


def _ablate() -> Verb:
    return _verb("ablate", ablating(), check=_what_to_ablate)


def _what_to_ablate(context: click.Context) -> None:
    """Something must be named, or drawn."""
    if context.params["scenario"] is None and not context.params["swarm"]:
        what = (
            "SCENARIO or SCOPE is missing; ddlsim list scopes and ddlsim list scenarios tell them"
        )
        raise click.UsageError(f"{what}; or say --swarm", context)


def _compat() -> Verb:
    return _verb("compat", [
        argument("files", "what exists before, then the statements to judge: files, folders of "
                 "them, or - for the standard input, in this order", "[FILE.sql]...", nargs=-1),
        repeated("--from-scratch", "judge files, in this order, that begin with nothing",
                 "FILE.sql...", shell_complete=complete.files),
        flag("--baseline", "whose rules: iep (the text), ignite3 (the shipped code), b12 (iep on "
             "empty tables)", "B", type=Known(("iep", "ignite3", "b12")), default="iep"),
        flag("--ddl-rate", "statements per second on a table", "R", type=values.rate),
        flag("--tx-length", "seconds from first use to commit", "L", type=values.rate),
        output("text", "json", "junit", "sarif", "github"),
    ], greedy=("--from-scratch",))  # fmt: skip


def _verify() -> Verb:
    return _verb("verify", [
        argument("scenarios", "files, folders or shipped names (default: everything that is "
                 "shipped)", "[SCENARIO]...", nargs=-1, shell_complete=complete.scenarios),
        flag("--seeds", "so many seeds of each, or every seed from A to B (default: 10)", "N",
             type=values.some_seeds),
        flag("--time", "end after 90s, 10m or 1h, wherever it is then", "T", type=values.duration),
        flag("--jobs", "processes (default: all cores)", "J", type=values.positive),
        flag("--power", "also the power of the search: how many of a fixed sample of small faults "
             "in the protocol's source the swarm convicts (minutes, beside those of --time)"),
        outside(), load(), output(*OUTPUTS),
    ])  # fmt: skip


def _hunt() -> Verb:
    return _verb("hunt", hunting())


def _sweep() -> Verb:
    return _verb("sweep", [
        argument("file", "what to sweep over; docs/how-to/sweep.md shows one", "SWEEP.toml"),
        flag("--out", "the directory of its tables, new or empty", "DIR", required=True,
             type=values.written, shell_complete=complete.folders),
        flag("--resume", "go on with what DIR holds of this sweep"),
        flag("--master", "Spark's: local[*], spark://HOST:PORT, yarn, k8s://...; none runs "
             "processes without Spark (default: what is quicker here)", "URL"),
        flag("--jobs", "so many processes, without Spark", "N", type=values.positive),
        flag("--seeds", "other seeds than the file's", "A..B", type=values.seeds),
        repeated("--until", 'more seeds until the intervals are narrow: "schema_abort_rate '
                 'ci=0.002"', "TARGET"),
        flag("--aggregates", "per_cell and per_seed tables too (by Spark)"),
        repeated("--conf", "a setting of Spark", "KEY=VALUE"),
        outside(), load(), output("text", "json"),
    ])  # fmt: skip


def _compare() -> Verb:
    return _verb("compare", [
        argument("strategies", "the designs (default: all)", "[STRATEGY]...", nargs=-1,
                 shell_complete=complete.strategies),
        flag("--scenario", "the scenario of all designs (default: comparison/PLANE for each plane)",
             "S", shell_complete=complete.scenarios),
        flag("--seeds", "so many seeds of each design, or every seed from A to B", "N",
             type=values.some_seeds, default="20"),
        repeated("--set", "set a key of the scenario (of [protocol], [fdb]: ddlsim list settings)",
                 "PATH=VALUE"),
        flag("--shrunk", "shrink a breach of each design that no shipped scenario shows, into this "
             "directory, new or empty", "DIR",
             type=values.written, shell_complete=complete.folders),
        flag("--jobs", "processes (default: all cores)", "J", type=values.positive),
        outside(), load(), output("text", "json", "markdown", "html"),
    ])  # fmt: skip


def _advise() -> Verb:
    return _verb("advise", [
        argument("file", "facts about a system, docs/how-to/compare.md shows some (default: they "
                 "are asked for on the terminal)", "[FILE.toml]", required=False),
        flag("--seeds", "so many seeds of each design, or every seed from A to B", "N",
             type=values.some_seeds, default="20"),
        flag("--jobs", "processes (default: all cores)", "J", type=values.positive),
        load(), output("text", "json"),
    ])  # fmt: skip


def _tune() -> Verb:
    return _verb("tune", [
        flag("--from", "a calm recording of a database, with a little DDL: predict what DDL waits "
             "and what stalls behind it", "DIR", shell_complete=complete.folders),
        flag("--against", "a recording of the same database under load: predict it, and show what "
             "it did", "DIR", shell_complete=complete.folders),
        flag("--delays", "measured delays, CSV or Parquet: delay_ms [from, to]", "FILE",
             shell_complete=complete.files),
        flag("--offsets", "measured clock offsets: offset_ms [node]", "FILE",
             shell_complete=complete.files),
        repeated("--slo", 'what to meet, such as "dml_wait_p99<=1ms" (the default), '
                 '"ddl_latency_p99<=2s", "schema_abort_rate<=1e-4"', "GOAL"),
        flag("--strategy", "the design", "S", default="iep", shell_complete=complete.strategies),
        flag("--ddl-rate", "statements per second on a table", "R", type=values.rate,
             default=str(1 / 60), show_default="one a minute"),
        flag("--incompatible", "the share of statements that are forward-incompatible", "Q",
             type=values.share, default="0.4"),
        flag("--tx-length", "seconds that a transaction thinks, beside its messages", "L",
             type=values.rate, default="0.05"),
        flag("--current-dd", "DD now", "MS", type=values.seed, default="500"),
        flag("--current-h", "the idle interval now", "MS", type=values.positive, default="250"),
        flag("--current-csmax", "CSmax now", "MS", type=values.seed, default="500"),
        flag("--nodes", "how many nodes, where the files name none", "N", type=values.positive,
             default="5"),
        flag("--voters", "which nodes vote in the meta storage; or how many: the first by name "
             "(default: 3)", "A,B,C|N", type=values.voters),
        flag("--leader", "the node that leads (default: the voter under which waits are longest)",
             "NODE"),
        repeated("--try", "a setting to price as well, such as dd=300,h=100 or dd=300,csmax=20",
                 "SETTING", type=values.setting),
        flag("--margin", "CSmax over the largest skew seen, as a share of it", "M",
             type=values.rate, default="0.5"),
        flag("--step", "the precision of the DD that is recommended", "MS",
             type=values.positive, default="5"),
        flag("--seeds", "runs of each cell", "N", type=values.positive, default="24"),
        flag("--master", "Spark's master; without it, processes of this machine", "URL"),
        flag("--jobs", "so many processes, without Spark", "N", type=values.positive),
        flag("--out", "write tune.json and the tables of runs there", "DIR",
             type=values.written, shell_complete=complete.folders),
        *budgets(), load(), output("text", "json"),
    ], check=_what_to_tune)  # fmt: skip


def _what_to_tune(context: click.Context) -> None:
    """Recordings of a database go with each other, measurements of delays with theirs."""
    options = context.params
    if options["against"] is not None and options["calm"] is None:
        raise InputError("--against: a recording is predicted from another one; add --from DIR")
    if options["calm"] is None:
        return
    for name in ("delays", "offsets", "slo", "tried"):
        if options[name]:
            flag_ = {"tried": "try"}.get(name, name)
            raise InputError(f"--from with --{flag_}: give recordings or measured delays, not both")


def _plot() -> Verb:
    return _verb("plot", [
        argument("name", "which figure; `ddlsim list figures` tells them", "NAME",
                 shell_complete=complete.figures),
        argument("source", "a sweep's directory, or a history for figures of one run", "DIR"),
        flag("--out", "an .svg or .png (default: DIR/NAME.svg)", "FILE",
             type=values.written, shell_complete=complete.files),
    ])  # fmt: skip


def _report() -> Verb:
    return _verb("report", [
        argument("source", "a sweep's directory", "DIR", shell_complete=complete.folders),
        flag("--out", "the page (default: DIR/report.html)", "FILE",
             type=values.written, shell_complete=complete.files),
    ])  # fmt: skip


def _list() -> Verb:
    what = Argument(["what"], help=", ".join(LISTS), metavar="WHAT", type=Known(LISTS))
    name = Argument(["name"], help="only this one; of schemas, the JSON Schema itself",
                    metavar="[NAME]", required=False)  # fmt: skip
    return _verb("list", [what, name, load(), output("text", "json")])


def _new() -> Verb:
    kinds = Argument(["kind"], help=", ".join(NEW), metavar="KIND", type=Known(NEW))
    name = Argument(["name"], help="what it is called; the file is NAME.py or NAME.toml, in this "
                    "folder, and none is overwritten", metavar="NAME")  # fmt: skip
    return _verb("new", [kinds, name])


def _completion() -> Verb:
    help_ = "bash, zsh or fish; docs/reference/outcomes.md tells where its script is put"
    return _verb(
        "completion", [Argument(["shell"], help=help_, metavar="SHELL", type=Known(SHELLS))]
    )


COMMAND: Final = _command()
"""The command with its verbs."""
