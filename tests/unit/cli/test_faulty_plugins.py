"""Plug-ins with a mistake: one line says what is wrong, where, and what to do; nothing passes."""

import json
import shlex
from pathlib import Path

import pytest

from ddlsim.cli.verbs.new import filled
from tests.support.command import AT_ONCE, Done, process
from tests.support.forked import forked

WORK = """--set 'workload=[{ name = "own", clients = 2 }]'"""
FAULT = """--set 'faults=[{ name = "own", node = "n3", from_ms = 1200, for_ms = 600 }]'"""
USE = {
    "strategy": "--strategy own",
    "mutant": "--mutant own",
    "checker": "--all-claims",
    "workload": WORK,
    "fault": FAULT,
}
"""How a run uses a plug-in of each kind that is called `own`."""
STEP = "operations=(Get(table.name, key), Put(table.name, key))"
PAUSE = "pause_us=die.duration_us(self.pause_ms)"
TU = "return plus_ms(message_ts, 2 * delay_duration_ms)"
RULE = "activation_ts=twice_the_delay_later"
EACH = "for ddl in case.ddls.values():"


def run_with(folder: Path, kind: str, change: tuple[str, str], more: str = "") -> Done:
    """A run under a skeleton in which one text is replaced."""
    before, after = change
    text = filled(kind, "own")
    assert before in text
    (folder / "own.py").write_text(text.replace(before, after), "utf-8")
    return forked(*shlex.split(f"run smoke --load own.py {USE[kind]} {more}"), cwd=folder)


AT_LOAD = {
    "strategy": [
        (
            "(message_ts: Timestamp, delay_duration_ms: int)",
            "(message_ts)",
            "`activation_ts` takes",
        ),
        ("=twice_the_delay_later", "=7", "`activation_ts` is 7; give a function"),
        ("def twice", "async def twice", "`activation_ts` is async, and nothing awaits it"),
        (' plane="ignite"', ' plane="oracle"', "its plane is 'oracle'"),
        (' plane="ignite"', ' plane="fdb"', "`layer_design` adds those of 'fdb'"),
        (
            ' plane="ignite"',
            ' plane="ignite", backward="x"',
            "`backward` is 'x'; known: forbid_all",
        ),
        ('all_but("I11")', '("I1",)', "`claims` is ('I1',); give a tuple of Claim"),
        ('name="own"', "name=5", "its name is 5; give a text in quotes"),
        ('name="own"', 'name=""', "its name is ''; give one of printable characters"),
        ("replace(\n        IEP,", "dict(", "a design is a record"),
    ],
    "mutant": [
        ('"activation_ts"', '"activation_tz"', "'activation_tz'; did you mean activation_ts"),
        ('"98.past.2"', '"98.past.99"', "no clause is called '98.past.99'; ddlsim list clauses"),
        ('"atomicity"', '"atomicity", plane="fdb"', "plane 'fdb' has no field `activation_ts`"),
        ('"atomicity"', '"atomicity", plane="x"', "no plane is called 'x'; known: ignite, fdb"),
        ('"atomicity"', '"atomicity", also="98.def.1"', "`also` is '98.def.1'; give a tuple"),
        (", delay_duration_ms: int)", ")", "`activation_ts` takes"),
        ('    """Schema updates', '    1\n    """Schema updates', "its rule has no docstring"),
    ],
    "checker": [
        ('"I100"', '"I3"', "invariant I3 is that of 'serializability'; take another number"),
        ('"I100"', '"mine"', "its `invariant` is 'mine'; give I and a number, as I100"),
        ('= "quality"', '= "bad"', "its `severity` is 'bad'; known: safety"),
        ('("client",)', '"client"', "`voices` is 'client'; give a tuple of texts"),
        ('("client",)', '("clients",)', "`voices` has 'clients'; known: client, witness"),
        ("self, case: Case", "self", "`check` takes ()"),
        ("def check(", "def chek(", "it has no method `check`; give it one"),
        ("Checker())", "Checker)", "it is a class; add an object of it"),
        ('name = "own"', 'name = "atomicity"', "two checker plug-ins are called 'atomicity'"),
    ],
    "workload": [
        ("(Workload):", ":", "it is no subclass of Workload; make it one"),
        (", dice: Dice)", ")", "`programs` takes"),
        ("summary:", "summery:", "it has no `summary`; give a text"),
        ("keys: int = 10", "keys: 'Foo' = 10", "name 'Foo' is not defined); import or mend it"),
        ("keys: int = 10", "keys: complex = 3j", "no key can be of the type of its field `keys`"),
        ('name: ClassVar[str] = "own"', "n = 1", "its name is ''"),
    ],
    "fault": [
        ("by_ms: float", "by_ms: complex", "the type of its field `by_ms`; take int"),
        ("def begin(", "def began(", "it has no method `begin`; give it one"),
        (", actions: FaultActions)", ")", "`begin` takes (self)"),
        ('("node",)', '("nodes",)', "`targets` has 'nodes'; known: "),
        ('("node",)', '"node"', "`targets` is 'node'; give a tuple of texts"),
        ("by_ms: float = 50", "by_ms: float = 50\n    for_ms: int = 1", "its field `for_ms` says"),
    ],
}
"""By kind: what is replaced by what, and what must be said when the file is loaded."""


@pytest.mark.parametrize(
    ("kind", "before", "after", "said"),
    [(kind, *case) for kind, cases in AT_LOAD.items() for case in cases],
)
def test_load_refuses_a_plugin_that_cannot_be_used(
    kind: str, before: str, after: str, said: str, tmp_path: Path
) -> None:
    done = run_with(tmp_path, kind, (before, after))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("ddlsim: own.py, line "), done.err
    assert said in done.err
    assert done.err.count("\n") == 1


BEFORE_A_RUN = {
    "strategy": [('all_but("I11")', '(Claim("I99"),)', "claims I99, which no checker judges")],
    "mutant": [
        ('"atomicity"', '"atomicitty"', "caught by: no checker is called 'atomicitty'; did you"),
        ('"atomicity"', '"atomicity", under="x"', "under: no strategy is called 'x'"),
    ],
    "workload": [
        ("return made", "return None", "programs() is None, not a list of Program"),
        ("made.append(", "made.append(1) or (", "programs()[0] is 1, not a Program"),
        (STEP, "operations=['get']", "programs()[0].items[0]: expected"),
        (STEP, "operations=None", "programs()[0].items[0]: expected"),
        ("node=die.pick(world.nodes)", "node='n9'", ".node: no node 'n9'; nodes are n1"),
        (PAUSE, "pause_us=-5", ".pause_us: -5 is below 0; give 0 or more"),
        (PAUSE, "pause_us=1.5", "programs()[0].items[0]: expected `int`, got `float`"),
        ("Program(client", "Program(7", "programs()[0].client is 7; give a text"),
        (
            "tables = world",
            "raise KeyError(1)\n        tables = world",
            "KeyError: 1 (own.py, line",
        ),
        ("tables = world", "exit(0)\n        tables = world", "SystemExit: 0 (own.py, line"),
    ],
    "fault": [
        (
            "    def begin",
            "    def decide(self, world, die): ...\n    def begin",
            "decide() of own",
        ),
        ("    targets:", "    planes = ('fdb',)\n    targets:", "acts on plane fdb, not on ignite"),
    ],
}
"""The same for what is seen once a run is planned."""


@pytest.mark.parametrize(
    ("kind", "before", "after", "said"),
    [(kind, *case) for kind, cases in BEFORE_A_RUN.items() for case in cases],
)
def test_run_refuses_what_a_plugin_gives_to_the_plan(
    kind: str, before: str, after: str, said: str, tmp_path: Path
) -> None:
    after = after.replace("Claim(", "__import__('ddlsim.model.design').model.design.Claim(")
    done = run_with(tmp_path, kind, (before, after))
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


IN_A_RUN = {
    "strategy": [
        (TU, "raise ValueError('hello')", "ValueError: hello (own.py, line "),
        (TU, "raise SystemExit(0)", "SystemExit: 0 (own.py, line "),
        (
            TU,
            TU.removeprefix("return "),
            "rule twice_the_delay_later (own.py, line 15) gave `activation_ts` None, not Timestamp",
        ),
        (RULE, "judges_commit=lambda *, wrote, queried: None", "`judges_commit` None, not bool"),
        (RULE, "check_commit=lambda steps: 'no'", "`check_commit` 'no', not Reason or None"),
        (RULE, "enlist=lambda *_: None", "`enlist` None, and it is awaited; write `async def`"),
    ],
    "mutant": [
        (
            "    return message_ts",
            "    message_ts",
            "own.py, line 12) gave `activation_ts` None, not",
        )
    ],
    "checker": [
        (EACH, f"raise KeyError('x')\n        {EACH}", "KeyError: 'x' (own.py, line "),
        (EACH, f"yield 'bad'\n        {EACH}", "checker 'own' gave 'bad', not an Anomaly"),
        (
            EACH,
            f"yield Anomaly('x', 'y', witness=('e',))\n        {EACH}",
            "gave an Anomaly whose `witness` has 'e', not one Event",
        ),
    ],
    "fault": [
        ("node = actions", "1 / 0\n        node = actions", "zero (own.py, line "),
        (
            "to=node",
            "to='n9'",
            "no node is called 'n9'; known: n1, n2, n3, ",
        ),
        ("kind=None", "kind='append'", "no message is of the kind 'append'; did you mean append-"),
    ],
}
"""The same for what goes wrong in a run: it is crashed, never ok, and the line is named."""


@pytest.mark.parametrize(
    ("kind", "before", "after", "said"),
    [(kind, *case) for kind, cases in IN_A_RUN.items() for case in cases],
)
def test_a_run_in_which_a_plugin_fails_is_crashed(
    kind: str, before: str, after: str, said: str, tmp_path: Path
) -> None:
    done = run_with(tmp_path, kind, (before, after), "--output json")
    assert done.code == 4
    document = json.loads(done.out)
    assert document["outcome"] == "crashed"
    assert said in document["runs"][0]["crash"]


def test_several_seeds_in_which_a_rule_ends_the_program_are_crashed(tmp_path: Path) -> None:
    """They ended with exit code 0 and without a word."""
    done = run_with(tmp_path, "strategy", (TU, "raise SystemExit(0)"), "--seeds 0..2 --jobs 2")
    assert done.code == 4
    assert "SystemExit" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("hunt --strategy own --worlds 3 --no-shrink --keep-going --jobs 1", "in 3 worlds"),
        ("shrink smoke --strategy own", "# The run crashes (SystemExit in own.py"),
    ],
)
def test_a_rule_that_ends_the_program_is_a_crash_to_hunt_and_shrink(
    words: str, said: str, tmp_path: Path
) -> None:
    """It ended them, after no world at all."""
    text = filled("strategy", "own").replace(TU, "raise SystemExit(0)")
    (tmp_path / "own.py").write_text(text, "utf-8")
    done = forked(*shlex.split(f"{words} --load own.py"), cwd=tmp_path)
    assert said in done.out


@pytest.mark.parametrize(
    ("more", "python"),
    [("", ("-m", "ddlsim")), ("--time 1h", ("-m", "ddlsim")), ("--seeds 0..1 --jobs 2", AT_ONCE)],
)
def test_what_a_plugin_prints_goes_to_stderr(
    more: str, python: tuple[str, ...], tmp_path: Path
) -> None:
    """It stood on stdout in front of the JSON document; in processes for many seeds it was lost."""
    text = filled("strategy", "own").replace(TU, f"print('asked')\n    {TU}")
    (tmp_path / "own.py").write_text(f"{text}\nprint('loaded')\n", "utf-8")
    words = f"run smoke --load own.py --strategy own --output json {more}"
    done = process(*shlex.split(words), python=python, program=(), cwd=tmp_path)
    assert (done.code, json.loads(done.out)["outcome"]) == (0, "ok"), done.err
    assert "loaded" in done.err
    assert "asked" in done.err


@pytest.mark.parametrize("words", ["list strategies --output json", "shrink smoke --strategy own"])
def test_a_plugin_prints_to_stderr_in_every_command(words: str, tmp_path: Path) -> None:
    text = filled("strategy", "own").replace(TU, "print('asked')\n    raise ValueError(1)")
    (tmp_path / "own.py").write_text(f"{text}\nprint('loaded')\n", "utf-8")
    done = forked(*shlex.split(f"{words} --load own.py"), cwd=tmp_path)
    assert done.code == 0, done.err
    assert "loaded" in done.err
    assert "loaded" not in done.out
    assert "asked" not in done.out
