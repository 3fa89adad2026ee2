"""Flags, their values and their variables: whatever is mistyped is told in one line."""

import re
from pathlib import Path
from typing import Any

import click
import pytest

from ddlsim.cli.arguments import COMMAND, LISTS, VERBS, parse
from ddlsim.cli.flags.values import seed, seeds
from tests.support.command import ddlsim, variables_of

MISTYPED = [
    ("rnu smoke", "no verb is called 'rnu'; did you mean run?"),
    ("nonsense", f"no verb is called 'nonsense'; known: {', '.join(VERBS)}"),
    ("--seed 3 run smoke", "--seed: the verb comes first; see ddlsim --help"),
    ("--verbose=1", "--verbose: the verb comes first; see ddlsim --help"),
    ("run", "run: SCENARIO is missing; or say --swarm"),
    ("run smoke more", "run: unexpected argument 'more'; see --help"),
    ("run smoke --sede 3", "run: unknown flag --sede; did you mean --seed or --seeds or --set?"),
    ("run smoke --see 3", "run: unknown flag --see; did you mean --seed or --seeds or --set?"),
    ("run smoke --seed", "run: --seed: a value is missing"),
    ("run smoke --seed x", "run: --seed: expected a whole number, not 'x'"),
    ("run smoke --seed 1_0", "run: --seed: expected a whole number, not '1_0'"),
    ("run smoke --seed 0x1_0", "run: --seed: expected a whole number, not '0x1_0'"),
    ("compat a b --ddl-rate 1_0", "compat: --ddl-rate: expected a number from 0 up, not '1_0'"),
    (
        "explore smoke --late 1_0",
        "explore: --late: expected milliseconds, as in 20 or 20,100, not '1_0'",
    ),
    ("run smoke --seed=-1", "run: --seed: expected a number from 0 up, not -1"),
    ("run smoke --seeds 3", "run: --seeds: expected A..B, such as 0..99, not '3'"),
    ("run smoke --seeds 3..1", "run: --seeds: 3..1 is empty; say 1..3"),
    ("run smoke --seeds 3..x", "run: --seeds: expected a whole number, not 'x'"),
    (
        "run smoke --seed 1 --seeds 1..2",
        "run: --seed and --seeds exclude each other; keep one of them",
    ),
    ("run smoke --jobs 0", "run: --jobs: expected a number from 1 up, not '0'"),
    ("run smoke --output xml", "run: --output: unknown 'xml'; known: text, json, junit"),
    ("run smoke --output jason", "run: --output: unknown 'jason'; did you mean json?"),
    ("run smoke --strict=1", "run: --strict: takes no value"),
    ("check", "check: FILE is missing"),
    ("sweep a.toml", "sweep: --out is missing"),
    ("completion tcsh", "completion: SHELL: unknown 'tcsh'; did you mean zsh or fish or bash?"),
    (
        "check x --input elle",
        "check: --input: unknown 'elle'; known: auto, native, recording, witness, jepsen, columns",
    ),
    ("explain", "explain: HISTORY is missing"),
    ("list", f"list: WHAT is missing; known: {', '.join(LISTS)}"),
    (
        "list Scenarios",
        "list: WHAT: unknown 'Scenarios'; did you mean scenarios or schemas or scopes?",
    ),
    ("list rules --strategy iep", "list: unknown flag --strategy; known: --help, --load, --output"),
    ("verify smoke --seed 3", "verify: unknown flag --seed; did you mean --seeds?"),
    (
        "verify smoke --seeds 3 --mutant x",
        (
            "verify: unknown flag --mutant; known: --help, --seeds, --time, --jobs, "
            "--power, --allow-outside, --load, --output"
        ),
    ),
    ("verify SMOKE", "SMOKE: neither a file nor a shipped scenario; did you mean smoke?"),
    ("run smoke --strategy IEP", "no strategy is called 'IEP'; did you mean iep?"),
    (
        "run smoke --set network.loss=0.1 --set network.loss=0",
        "--set: 0 for network.loss, which --set says to be 0.1; keep one of them",
    ),
    (
        "run smoke --set network.loss=nan",
        "smoke.toml: --set network.loss: must be at least 0, not nan",
    ),
    (
        "hunt --strategy iep --set strategy.name=ignite3",
        "--strategy: 'iep' for strategy.name, which --set says to be 'ignite3'; keep one of them",
    ),
    (
        "compare iep --set strategy.name=ignite3",
        "compare: --set strategy.name: name designs as arguments; leave it out",
    ),
    ("run smoke --set step.0.expect=1", "--set step[0].expect: the file has no step"),
    ("run iep98/own_ddl --set step[10].id=1", "--set step[10].id: the last one is step[9]"),
    ("compat a --output GitHub b", "compat: --output: unknown 'GitHub'; did you mean github?"),
    (
        "compat --schema a --migration b",
        (
            "compat: unknown flag --schema; known: --help, --from-scratch, --baseline, --ddl-rate, "
            "--tx-length, --output"
        ),
    ),
    ("list scenario", "list: WHAT: unknown 'scenario'; did you mean scenarios or schemas?"),
    ("compat", "compat: SCHEMA.sql is missing; or say --from-scratch FILE.sql"),
    ("compat a.sql", "compat: MIGRATION.sql is missing; or say --from-scratch FILE.sql"),
    (
        "compat a.sql --from-scratch b.sql",
        "compat: --from-scratch takes the place of SCHEMA.sql; keep one of them",
    ),
    ("compat a b --ddl-rate 1", "compat: --tx-length is missing; the two go together"),
    ("compat a b --ddl-rate x", "compat: --ddl-rate: expected a number from 0 up, not 'x'"),
    (
        "compat a b --baseline mysql",
        "compat: --baseline: unknown 'mysql'; known: iep, ignite3, b12",
    ),
]


WRITTEN = [
    *("run smoke --out -", "explain x --svg -", "explain x --html -", "sweep x --out -"),
    *("explain x --trace-out perfetto:-", "compare iep --shrunk -", "tune --out -"),
    *("plot x y --out -", "report x --out -", "shrink x -o -", "shrink x --html -"),
    *("explore x --out -", "hunt --corpus -", "hunt --out -", "record x --out -"),
    "rehearse x y --out -",
]
"""A file or a folder that is written, by every flag that names one."""


@pytest.mark.parametrize("words", WRITTEN)
def test_a_dash_is_no_name_of_what_is_written(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file or a folder called `-` was made, and stdout had nothing of it."""
    monkeypatch.chdir(tmp_path)
    done = ddlsim(*words.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("- is not stdout here; name a file or a folder, ./- if one is -\n")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_called_dash_can_be_named() -> None:
    verb, options = parse(["explain", "x", "--html", "./-", "--svg", "a.svg"])
    assert (verb, options.html, options.svg) == ("explain", "./-", "a.svg")


@pytest.mark.parametrize(("words", "told"), MISTYPED, ids=[words for words, _ in MISTYPED])
def test_a_slip_is_told_in_one_line(words: str, told: str) -> None:
    done = ddlsim(*words.split())
    assert done == (2, "", f"ddlsim: {told}\n")


def test_a_name_that_is_empty_is_told() -> None:
    done = ddlsim("verify", "")
    assert done == (2, "", "ddlsim: a scenario's name is empty; see ddlsim list scenarios\n")


@pytest.mark.parametrize(
    ("words", "dest", "expected"),
    [
        ("compat a.sql --baseline ignite3 b.sql", "files", ["a.sql", "b.sql"]),
        ("compat --baseline ignite3 a.sql --output json b.sql -", "files", ["a.sql", "b.sql", "-"]),
        ("verify smoke --seeds 3 iep98", "scenarios", ["smoke", "iep98"]),
        ("check a.jsonl --output json b.jsonl", "files", ["a.jsonl", "b.jsonl"]),
        ("compat --from-scratch a --output json --from-scratch b c", "from_scratch", list("abc")),
    ],
)
def test_files_may_stand_on_both_sides_of_a_flag(
    words: str, dest: str, expected: list[str]
) -> None:
    assert list(of(words, dest)) == expected


def test_help_is_a_word_too() -> None:
    assert ddlsim("help") == ddlsim("--help") == ddlsim("-h")
    assert ddlsim("help", "compat") == ddlsim("compat", "--help")
    assert ddlsim("help", "compat").out.startswith("Usage: ddlsim compat [OPTIONS] [FILE.sql]...\n")


def test_alone_it_prints_help() -> None:
    alone = ddlsim()
    assert (alone.code, alone.err) == (0, "")
    assert alone == ddlsim("--help")
    assert re.findall(r"^  ([a-z]+)  ", alone.out, re.MULTILINE) == [*VERBS]
    assert "exit codes" in alone.out


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_tells_the_rule_by_which_each_flag_has_a_variable(verb: str) -> None:
    told = ddlsim(verb, "--help").out
    flags = [
        flag
        for flag in re.findall(r"^  (?:-o, )?(--[a-z-]+)", told, re.MULTILINE)
        if flag != "--help"
    ]
    assert bool(flags) is (verb not in ("completion", "new"))
    variables = {max(p.opts, key=len): p.envvar for p in COMMAND.commands[verb].params if p.envvar}
    ruled = {f: "DDLSIM_" + f[2:].replace("-", "_").upper() for f in flags}
    if verb == "rehearse":  # its load is no file of Python, which DDLSIM_LOAD means elsewhere
        ruled["--load"] = "DDLSIM_REHEARSE_LOAD"
        assert ruled["--load"] in told
    assert variables == ruled
    if flags:
        assert (
            f"Each flag has an environment variable: {variables[flags[0]]} is {flags[0]}." in told
        )


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("17", 17), ("007", 7), ("0x5eed", 24301)])
def test_seeds_may_be_written_in_hex(text: str, value: int) -> None:
    assert seed(text) == value


def test_both_ends_of_a_range_are_in_it() -> None:
    assert list(seeds("3..5")) == [3, 4, 5]
    assert list(seeds("4..4")) == [4]


# --- variables ------------------------------------------------------------------------------------


def of(words: str, name: str, **variables: str) -> Any:
    with variables_of(variables):
        return getattr(parse(words.split())[1], name)


def test_a_variable_stands_for_a_flag() -> None:
    assert of("run s", "seed", DDLSIM_SEED="7") == 7
    assert of("run s", "output", DDLSIM_OUTPUT="json") == "json"
    assert of("run s", "all_claims", DDLSIM_ALL_CLAIMS="1") is True
    assert of("run s", "all_claims", DDLSIM_ALL_CLAIMS="no") is False
    assert of("compat --from-scratch a", "baseline", DDLSIM_BASELINE="ignite3") == "ignite3"


def test_the_command_line_has_the_last_word() -> None:
    assert of("run s --seed 8", "seed", DDLSIM_SEED="7") == 8


def test_an_empty_variable_says_nothing() -> None:
    assert of("run s", "seed", DDLSIM_SEED="") is None


def test_several_values_are_words_as_in_a_shell() -> None:
    variables = {"DDLSIM_SET": "a=1 'schema.sql=CREATE TABLE t'"}
    assert of("run s --set b=2", "set", **variables) == ("a=1", "schema.sql=CREATE TABLE t", "b=2")
    assert of("run s", "set") == ()


def test_a_seed_on_the_command_line_sends_away_seeds_of_the_environment() -> None:
    assert of("run s --seed 8", "seeds", DDLSIM_SEEDS="0..9") is None
    assert of("run s --seeds 0..9", "seed", DDLSIM_SEED="8") is None


def test_a_variable_of_another_verb_does_not_matter() -> None:
    assert ddlsim("list", "reasons", DDLSIM_SEED="x").code == 0


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("SEED", "x", "expected a whole number, not 'x'"),
        ("STRICT", "maybe", "expected 1 or 0, not 'maybe'"),
        ("OUTPUT", "xml", "unknown 'xml'; known: text, json, junit"),
        ("SET", "'a=1", "a quotation mark is not closed"),
    ],
)
def test_a_bad_variable_is_named(name: str, value: str, told: str) -> None:
    done = ddlsim("run", "smoke", **{f"DDLSIM_{name}": value})
    assert done == (2, "", f"ddlsim: DDLSIM_{name}: {told}\n")


def test_a_slip_in_a_variables_name_is_noted() -> None:
    done = ddlsim("list", "reasons", DDLSIM_OUTPT="json", DDLSIM_ELSEWHERE="1")
    assert done.err == "ddlsim: DDLSIM_OUTPT is not used; did you mean DDLSIM_OUTPUT?\n"
    assert done.code == 0


def test_a_value_is_checked_as_on_the_command_line() -> None:
    done = ddlsim("run", "smoke", DDLSIM_JOBS="0")
    assert done.err == "ddlsim: DDLSIM_JOBS: expected a number from 1 up, not '0'\n"


def test_each_flag_has_a_variable_of_its_own_name() -> None:
    """But the load of a rehearsal: DDLSIM_LOAD names files of Python to all other verbs."""
    flags = [
        (verb.name, one.opts[0], one.envvar)
        for verb in COMMAND.commands.values()
        for one in verb.params
        if isinstance(one, click.Option)
    ]
    others = [one for one in flags if one[2] != "DDLSIM_" + one[1][2:].replace("-", "_").upper()]
    assert others == [("rehearse", "--load", "DDLSIM_REHEARSE_LOAD")]
