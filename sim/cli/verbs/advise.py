"""`ddlsim advise`: the designs that fit a system, why the others do not, and what they cost."""

import shlex
import sys
from typing import Any, Final

import msgspec

from ddlsim.analysis.compare import advise
from ddlsim.analysis.compare.advise import AdviceTable, missed, settings_of, split
from ddlsim.analysis.compare.compare import World, compare, header_of, worlds
from ddlsim.cli import repeat, streams
from ddlsim.cli.documents import documents
from ddlsim.cli.documents.shapes_compare import Advise, Compare
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.cli.verbs import compare as verb_compare
from ddlsim.cli.views.progress import Progress
from ddlsim.history.history import FORMAT
from ddlsim.layer.switches import FEATURES, SHIPPED
from ddlsim.registry import load_file
from ddlsim.scenario import bounds
from ddlsim.strategies.base import DESIGNS

QUESTIONS: Final = (
    ("system", "concurrency", "transactions: locking or optimistic (empty: both)"),
    (
        "system",
        "store_has",
        f"the store has, by commas: {', '.join(FEATURES)}, or none (empty: {', '.join(SHIPPED)})",
    ),
    ("system", "clocks", "clocks: bounded or unbounded (empty: bounded)"),
    ("system", "delays", "message delays: bounded or unbounded (empty: unbounded)"),
    ("system", "all_reachable", "can every node always be reached: true or false (empty: false)"),
    ("system", "own_ddl", "must clients see their own DDL at once: true or false (empty: true)"),
    ("load", "read_only", "share of transactions that only read, 0 to 1 (empty: as shipped)"),
    ("load", "ddl_per_s", "DDL statements per second (empty: as shipped)"),
    ("goals", "dml_p99_ms", "DML p99 at most, ms (empty: any)"),
    ("goals", "ddl_p99_ms", "DDL p99 at most, ms (empty: any)"),
    ("goals", "schema_aborts", "share of schema aborts at most (empty: any)"),
)
WORDS: Final = ("concurrency", "clocks", "delays")
"""The answers that are strings of TOML."""
LISTS: Final = ("store_has",)
"""The answers that are names with commas between them, or `none`."""


def execute(options: Options) -> int:
    """Read or ask, run, print; 0 where some design fits, 1 where none does."""
    for file in options.load:
        load_file(file)
    facts = advise.read(options.file) if options.file else advise.parsed(asked(), "answers")
    found = advised(options, facts)
    if options.output == "json":
        streams.write(documents.text(msgspec.to_builtins(found)))
    else:
        from ddlsim.cli.views import compare as view_compare
        from ddlsim.cli.views.words import console

        view_compare.show_advice(found, console())
    return 0 if found["fits"] else 1


def asked() -> str:
    """The answers on a terminal as a file of facts; `InputError` where there is no terminal."""
    if not sys.stdin.isatty():
        raise InputError("advise: FILE.toml is missing, and no terminal answers; name a file")
    tables: dict[str, list[str]] = {"system": [], "load": [], "goals": []}
    for table, key, question in QUESTIONS:
        print(f"{question}: ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip()
        if answer:
            tables[table].append(f"{key} = {_value(key, answer)}")
    return "".join(f"[{name}]\n" + "".join(f"{one}\n" for one in tables[name]) for name in tables)


def _value(key: str, answer: str) -> str:
    """An answer as TOML has it."""
    if key in LISTS:
        names = [] if answer == "none" else [one.strip() for one in answer.split(",")]
        return "[" + ", ".join(f'"{one}"' for one in names) + "]"
    return f'"{answer}"' if key in WORDS else answer


def advised(options: Options, facts: AdviceTable) -> Advise:
    """The designs that fit, the others with their reasons, and the table of those that were run."""
    chosen = split([one for _, one in DESIGNS.items()], facts.system)
    table: Compare | None = None
    fits: list[str] = []
    others = dict(chosen.others)
    if chosen.fitting:
        also = repeat.also(options.load, outside=False)
        ran, left = worlds(
            chosen.fitting, None, lambda plane: settings_of(facts.load, plane), also=also
        )
        bounds.check_seeds("advise", len(ran) * len(options.seeds))
        with Progress(len(ran) * len(options.seeds)) as progress:
            lines = compare(
                ran, options.seeds, loads=options.load, jobs=options.jobs, watch=progress.watch
            )
        others |= {one.design: [one.why] for one in left}
        for line in lines:
            if why := missed(line, facts.system, facts.goals, facts.load):
                others[line.design] = why
            else:
                fits.append(line.design)
        made = Options(
            **{**vars(options), "strategies": chosen.fitting, "scenario": None,
               "set": _settings(facts, ran[0]), "allow_outside": False}
        )  # fmt: skip
        table = verb_compare.document(made, ran, lines, left)
        if any(_settings(facts, one) != made.set for one in ran):
            table["command"] = _command(options)  # no other one sets each plane its own
    return {
        "format": FORMAT,
        "command": _command(options),
        "facts": facts,
        "fits": fits,
        "others": {name: others[name] for name in sorted(others)},
        "table": table,
    }


def _command(options: Options) -> str:
    words = ["ddlsim", "advise", *([options.file] if options.file else [])]
    words += ["--seeds", f"{options.seeds[0]}..{options.seeds[-1]}"]
    return shlex.join([*words, *repeat.also(options.load, outside=False)])


def _settings(facts: AdviceTable, world: World) -> list[str]:
    found: dict[str, Any] = settings_of(facts.load, header_of(world.design).plane)
    return [f"{path}={value}" for path, value in found.items()]
