"""The verbs, their flags, and what each takes; everything heavy is imported by the verb itself."""

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from sim import __version__
from sim.cli import environment, exit_codes, sweep_arguments, tune_arguments
from sim.cli.problems import InputError, near
from sim.cli.values import duration, memory, positive, rate, seed, seeds, some_seeds
from sim.columns.models import MODELS
from sim.foreign.inputs import INPUTS

VERBS: Final = {
    "run": "plan, run and judge a scenario, for one seed or many",
    "check": "judge stored histories again, or those of others",
    "explain": "tell in words and pictures why a history is judged as it is",
    "compat": "lint a migration: which transactions in flight survive it",
    "verify": "run the regression suite: scenarios, mutants, claims",
    "sweep": "run scenarios x designs x parameters x seeds into one table of rows",
    "tune": "recommend DD, H and CSmax for measured delays and clocks",
    "plot": "draw a figure of a sweep or of a run",
    "report": "one page about a sweep: verdicts, figures, tables, and the command for each number",
    "list": "what there is to choose from",
}
LISTS: Final = (
    "scenarios",
    "strategies",
    "mutants",
    "faults",
    "workloads",
    "checkers",
    "clauses",
    "reasons",
    "probes",
    "rules",
    "figures",
)
INPUT_KINDS: Final = ("auto", "native", *INPUTS)
OUTPUTS: Final = ("text", "json", "junit")
TOP_FLAGS: Final = ("-h", "--help", "--version")
EPILOG: Final = f"""\
exit codes:
{exit_codes.told()}

`ddlsim VERB --help` tells a verb's flags. Each has an environment variable:
DDLSIM_SEED stands for --seed, and so on. DDLSIM_DEBUG=1 shows tracebacks.
"""


class Parser(argparse.ArgumentParser):
    """A parser that raises where argparse would print its usage and exit."""

    def error(self, message: str) -> NoReturn:
        said = plain(message)
        for action in self._actions:
            if said == f"{action.metavar} is missing" and action.choices:
                said = f"{said}; known: {', '.join(map(str, action.choices))}"
        raise InputError(f"{self.prog.partition(' ')[2]}: {said}".removeprefix(": "))


def plain(message: str) -> str:
    """argparse's words as ours."""
    message = re.sub(r"^argument (-[-a-z]+|[A-Z-]+)(/-?-[a-z]+)?: ", r"\1: ", message)
    message = message.replace("expected one argument", "a value is missing")
    if found := re.match(r"^(\S+): invalid choice: '?(.*?)'? \(choose from (.*)\)$", message):
        choices = [choice.strip(" '") for choice in found.group(3).split(",")]
        message = f"{found.group(1)}: unknown {found.group(2)!r}; {near(found.group(2), choices)}"
    return re.sub(r"^the following arguments are required: (.*)$", r"\1 is missing", message)


def parse(
    argv: Sequence[str], variables: dict[str, str], top: Parser, verbs: dict[str, Parser]
) -> argparse.Namespace:
    """The verb with its options; what is not given is taken from the environment."""
    if argv[0] == "help":
        argv = [*argv[1:2], "--help"]
    verb = argv[0]
    if verb.startswith("-") and verb not in TOP_FLAGS:
        raise InputError(f"{verb.partition('=')[0]}: the verb comes first; see ddlsim --help")
    if verb not in VERBS and verb not in TOP_FLAGS:
        raise InputError(f"no verb is called {verb!r}; {near(verb, list(VERBS))}")
    chosen = verbs.get(verb)
    given: dict[str, object] = {}
    if chosen is not None:
        given = environment.defaults(chosen, variables)
        chosen.set_defaults(**given)
    options, rest = top.parse_known_args(argv)
    if chosen is not None and rest:
        rest = _taken(rest, options, chosen)
    if rest:
        assert chosen is not None, rest
        raise InputError(f"{verb}: {_unknown(rest[0], chosen)}")
    if verb == "run":
        _one_kind_of_seed(options, given)
        if options.scenario is None and not options.swarm:
            raise InputError("run: SCENARIO is missing; or say --swarm")
    return options


def _taken(
    rest: list[str], options: argparse.Namespace, parser: argparse.ArgumentParser
) -> list[str]:
    """Add the words behind a flag to the list before it, if the verb takes any number of them."""
    lists = [
        action
        for action in parser._actions
        if not action.option_strings and action.nargs in {"*", "+"}
    ]
    if not lists or any(word.startswith("-") and word != "-" for word in rest):
        return [word for word in rest if word.startswith("-")] or rest
    setattr(options, lists[0].dest, [*getattr(options, lists[0].dest), *rest])
    return []


def _unknown(word: str, parser: argparse.ArgumentParser) -> str:
    """What to say to a word that no flag or argument takes."""
    if not word.startswith("-"):
        return f"unexpected argument {word!r}; see --help"
    flag = word.partition("=")[0]
    known = [name for action in parser._actions for name in action.option_strings]
    long = [name for name in known if name.startswith("--")]
    return f"unknown flag {flag}; {near(flag, long, cutoff=0.7)}"


def _one_kind_of_seed(options: argparse.Namespace, given: dict[str, object]) -> None:
    """--seed and --seeds exclude each other; one from the environment gives way."""
    if options.seed is None or options.seeds is None:
        return
    if "seed" in given and options.seed == given["seed"]:
        options.seed = None
    elif "seeds" in given and options.seeds == given["seeds"]:
        options.seeds = None
    else:
        raise InputError("run: --seed and --seeds exclude each other; keep one of them")


# --- the parsers ---------------------------------------------------------------------------------


def parsers() -> tuple[Parser, dict[str, Parser]]:
    """The whole command line, and each verb's part of it."""
    top = Parser(
        prog="ddlsim",
        description="A deterministic simulator and judge for online schema change protocols.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"ddlsim {__version__}")
    below = top.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    builders = {
        "run": _run,
        "check": _check,
        "explain": _explain,
        "compat": _compat,
        "verify": _verify,
        "sweep": _sweep,
        "tune": _tune,
        "plot": _plot,
        "report": _report,
        "list": _list,
    }
    verbs: dict[str, Parser] = {}
    for name, build in builders.items():
        parser = below.add_parser(
            name,
            help=VERBS[name],
            description=f"{VERBS[name][0].upper()}{VERBS[name][1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        build(parser)
        parser.epilog = environment.epilog(parser)
        verbs[name] = parser
    return top, verbs


def _run(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "scenario",
        nargs="?",
        metavar="SCENARIO",
        help="a file, or the name of a shipped scenario; with --swarm it may be left out",
    )
    add("--seed", type=seed, metavar="N", help="the seed (default: 0)")
    add("--seeds", type=seeds, metavar="A..B", help="every seed from A to B, on all cores")
    add("--strategy", metavar="S", help="run another design")
    add("--mutant", metavar="M", help="remove or break one rule of the design")
    add("--set", action="append", default=[], metavar="PATH=VALUE", help="set a key of the file")
    add("--migration", metavar="FILE.sql", help="the DDL to run instead of the scenario's")
    _judging(parser)
    add("--expect", action="store_true", help="exit 0 if it ends as the scenario expects, else 1")
    add("--swarm", action="store_true", help="draw what is around the scenario from the seed")
    add("--trace", action="store_true", help="record messages too")
    _budgets(parser.add_argument)
    _reading(parser)
    _loading(parser)
    add("--out", metavar="DIR", help="write histories and summary.json there")
    add("--stream", action="store_true", help="write the history to --out while the run goes on")
    add("--unjudged", action="store_true", help="with --stream: leave the history to check")
    add("--jobs", type=positive, metavar="J", help="processes for --seeds (default: all cores)")
    _output(parser, OUTPUTS)


def _check(parser: Parser) -> None:
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="a history of --out or of others, or a directory")
    _inputs(parser)
    add("--master", metavar="URL", help="judge on Spark, a task for each file (default: none)")
    _judging(parser)
    _loading(parser)
    _output(parser, OUTPUTS)


def _explain(parser: Parser) -> None:
    add = parser.add_argument
    add("history", metavar="HISTORY", help="a history that --out wrote, or one of others")
    _inputs(parser)
    add("--svg", metavar="F", help="draw the gravest cycle as a small graph")
    add("--html", metavar="F", help="one page: arguments, cycles, and a timeline")
    add("--trace-out", metavar="perfetto:F", help="the run as Chrome trace JSON, for Perfetto")
    _judging(parser)
    _loading(parser)
    _output(parser, ("text", "json"))


def _compat(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "files",
        nargs="*",
        metavar="FILE.sql",
        help="what exists before, then the statements to judge: files, folders of them, or - for "
        "the standard input, in this order",
    )
    add(
        "--from-scratch",
        action="extend",
        default=[],
        nargs="+",
        metavar="FILE.sql",
        help="judge files, in this order, that begin with nothing",
    )
    add(
        "--baseline",
        choices=("iep", "ignite3", "b12"),
        default="iep",
        metavar="B",
        help="whose rules: iep (the text, default), ignite3 (the shipped code), b12 (iep on empty "
        "tables)",
    )
    add("--ddl-rate", type=rate, metavar="R", help="statements per second on a table")
    add("--tx-length", type=rate, metavar="L", help="seconds from first use to commit")
    _output(parser, ("text", "json", "junit", "sarif", "github"))


def _verify(parser: Parser) -> None:
    add = parser.add_argument
    what = "files, folders or shipped names (default: everything that is shipped)"
    add("scenarios", nargs="*", metavar="SCENARIO", help=what)
    help_seeds = "so many seeds of each, or every seed from A to B (default: 10)"
    add("--seeds", type=some_seeds, metavar="N", help=help_seeds)
    add("--time", type=duration, metavar="T", help="end after 90s, 10m or 1h, wherever it is then")
    add("--jobs", type=positive, metavar="J", help="processes (default: all cores)")
    _reading(parser)
    _loading(parser)
    _output(parser, OUTPUTS)


def _sweep(parser: Parser) -> None:
    sweep_arguments.add_sweep_flags(parser.add_argument)
    _reading(parser)
    _loading(parser)
    _output(parser, ("text", "json"))


def _plot(parser: Parser) -> None:
    sweep_arguments.add_plot_flags(parser.add_argument)


def _report(parser: Parser) -> None:
    sweep_arguments.add_report_flags(parser.add_argument)


def _tune(parser: Parser) -> None:
    tune_arguments.add_flags(parser.add_argument)
    _budgets(parser.add_argument)
    _loading(parser)
    _output(parser, ("text", "json"))


def _list(parser: Parser) -> None:
    parser.add_argument("what", choices=LISTS, metavar="WHAT", help=", ".join(LISTS))
    _loading(parser)
    _output(parser, ("text", "json"))


def _inputs(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--input",
        choices=INPUT_KINDS,
        default="auto",
        metavar="KIND",
        help=f"what the files are: {', '.join(INPUT_KINDS)} (default: auto)",
    )
    add(
        "--model",
        choices=tuple(MODELS),
        metavar="M",
        help="what a history of others should keep to: strict-serializable (default), "
        "serializable, snapshot-isolation, read-atomic, read-committed, ...",
    )


def _judging(parser: Parser) -> None:
    add = parser.add_argument
    add("--strict", action="store_true", help="count what only the strict graph shows")
    add(
        "--all-claims",
        action="store_true",
        help="judge invariants that the design does not claim, too",
    )


def _budgets(add: Callable[..., object]) -> None:
    what = "a run that takes longer (90s, 10m, 1h) is not judged: unknown"
    add("--time", type=duration, metavar="T", help=what)
    what = "a run that needs more (512MiB, 2GiB) is not judged: unknown"
    add("--memory", type=memory, metavar="M", help=what)


def _reading(parser: Parser) -> None:
    parser.add_argument(
        "--allow-outside",
        action="store_true",
        help="let a scenario name files outside of its folder",
    )


def _loading(parser: Parser) -> None:
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="FILE.py",
        help="a file with more plug-ins; it is run as it is, so load only what you trust",
    )


def _output(parser: Parser, kinds: tuple[str, ...]) -> None:
    parser.add_argument(
        "--output",
        choices=kinds,
        default="text",
        metavar="KIND",
        help=f"{', '.join(kinds[:-1])} or {kinds[-1]} (default: text)",
    )
