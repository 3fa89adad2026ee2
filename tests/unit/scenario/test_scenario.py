"""The grammar of scenario files as it is accepted; what is refused stands in the goldens."""

from pathlib import Path
from typing import Any

import pytest

from ddlsim.model.ops import Begin, Commit, Ddl, Delete, Get, Operation, Put, Rollback, Scan, Update
from ddlsim.scenario import shipped
from ddlsim.scenario.load import load
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import read
from tests.support.small_scenario import PROTOCOL, SCHEMA, scenario, step


def test_the_smallest_scenario_has_three_voting_nodes() -> None:
    small = scenario()

    assert small.nodes == small.voters == ("n1", "n2", "n3")
    assert small.leader == "n1"
    assert (small.strategy, small.strategy_fields, small.mutant) == ("iep", {}, None)
    assert small.expect == "ok"
    assert not small.scripted


def test_read_gives_the_keys_at_the_top_of_a_file() -> None:
    head = (
        'title = "A title"\nsource = "IEP-98"\nclauses = ["98.past.3"]\n'
        'reaches = ["completeness-wait"]\nidle_ticks = false\n'
    )
    small = scenario(overrides={"expect": {"violated": "atomicity"}})
    assert small.expect == {"violated": ["atomicity"]}

    read_head = read(head + PROTOCOL, "head")
    assert (read_head.title, read_head.source) == ("A title", "IEP-98")
    assert read_head.clauses == ("98.past.3",)
    assert read_head.reaches == ("completeness-wait",)
    assert read_head.table.idle_ticks is False


@pytest.mark.parametrize(
    "expect",
    [
        "ok",
        "stuck",
        "vacuous",
        {"violated": ["I1", "own_ddl"]},
        {"violated": ["I3"], "signature": "I3 serializability G1a"},
        {"stuck": ["liveness"], "signature": "I9 liveness never-answered"},
        {"finding": "F-2"},
        {"finding": "F-2", "signature": "I3 serializability schema-cycle"},
    ],
)
def test_expect_of_a_run_is_read(expect: Any) -> None:
    assert scenario(overrides={"expect": expect}).expect == expect


def test_a_strategy_with_fields_and_a_mutant() -> None:
    text = '[strategy]\nname = "iep"\nmutant = "no_commit_check"\nactivation_ts = "at_message"\n'
    small = scenario(text)

    assert (small.strategy, small.mutant) == ("iep", "no_commit_check")
    assert small.strategy_fields == {"activation_ts": "at_message"}


def test_a_cluster_of_named_nodes_with_learners() -> None:
    small = scenario('[cluster]\nnodes = ["a", "b", "c", "d"]\nvoters = 2\nleader = "b"\n')

    assert small.nodes == ("a", "b", "c", "d")
    assert small.voters == ("a", "b")
    assert small.leader == "b"


def test_a_leader_from_the_start_is_the_first_leader() -> None:
    assert scenario('[[leader]]\ngroup = "meta"\nnode = "n2"\n').leader == "n2"


def test_the_largest_delay_counts_nodes_own() -> None:
    own = "[protocol.nodes.n2]\ndelay_duration_ms = {}\n"

    assert scenario(own.format(300)).largest_delay_ms == 300
    assert scenario(own.format(30)).largest_delay_ms == 100
    everywhere = "".join(own.replace("n2", node).format(30) for node in ("n1", "n2", "n3"))
    assert scenario(everywhere).largest_delay_ms == 30


TWO = "CREATE TABLE two (a INT, b VARCHAR, v INT, PRIMARY KEY (a, b))"
NAMED = "CREATE TABLE named (name VARCHAR PRIMARY KEY, v INT)"
SEEN = "CREATE VIEW seen AS SELECT * FROM t"
MOVED = "CREATE TABLE moved (id INT PRIMARY KEY, v INT); ALTER TABLE moved RENAME COLUMN id TO pk"
OPERATIONS: list[tuple[str, Operation]] = [
    ('["get", "t", 1]', Get("t", 1)),
    ('["get", "two", [1, "a"]]', Get("two", (1, "a"))),
    ('["put", "t", 2, { v = 5 }]', Put("t", 2, {"v": 5})),
    ('["put", "t", 2]', Put("t", 2)),
    ('["delete", "named", "k"]', Delete("named", "k")),
    ('["scan", "t"]', Scan("t")),
    ('"SELECT * FROM t"', Scan("t", metadata=True)),
    ('"SELECT v FROM t WHERE id = 1"', Get("t", 1, columns=("v",))),
    ("\"SELECT * FROM two WHERE b = 'a' AND a = 1\"", Get("two", (1, "a"), metadata=True)),
    ('"SELECT * FROM seen WHERE id = 1"', Get("seen", 1, metadata=True)),
    ('"SELECT * FROM moved WHERE pk = 1"', Get("moved", 1, metadata=True)),
    ('"UPDATE moved SET v = 2 WHERE pk = 1"', Update("moved", 1, {"v": 2})),
    ('"begin"', Begin()),
    ('"commit"', Commit()),
    ('"rollback"', Rollback()),
]


@pytest.mark.parametrize(("written", "meant"), OPERATIONS)
def test_do_of_a_step_is_read(written: str, meant: Operation) -> None:
    schema = SCHEMA.rstrip().removesuffix('"') + f'; {TWO}; {NAMED}; {SEEN}; {MOVED}"\n'
    text = schema + step(id='"a"', client='"c"', node='"n1"', tx='"T"', do=written)
    [made] = scenario(text).steps
    assert made.do == meant


def test_a_step_may_run_ddl() -> None:
    ddl = '"ALTER TABLE t ADD COLUMN w INT"'
    [made] = scenario(SCHEMA + step(id='"d"', client='"c"', node='"n1"', ddl=ddl)).steps
    assert made.do == Ddl("ALTER TABLE t ADD COLUMN w INT")
    assert made.tx is None


EXPECTATIONS: list[tuple[str, Any]] = [
    ('"ok"', "ok"),
    ('"unknown"', "unknown"),
    ('{ aborts = "SCHEMA_INCOMPATIBLE" }', {"aborts": "SCHEMA_INCOMPATIBLE"}),
    ('{ fails = "TABLE_NOT_FOUND" }', {"fails": "TABLE_NOT_FOUND"}),
    ("{ waits_until_ms = 900, tolerance_ms = 20 }", {"waits_until_ms": 900, "tolerance_ms": 20}),
    ("{ rows = [{ id = 1, v = 5 }] }", {"rows": [{"id": 1, "v": 5}]}),
    ("{ rows = [] }", {"rows": []}),
]


@pytest.mark.parametrize(("written", "meant"), EXPECTATIONS)
def test_expect_of_a_step_is_read(written: str, meant: Any) -> None:
    do = {"id": '"a"', "client": '"c"', "node": '"n1"', "do": '["get", "t", 1]'}
    [made] = scenario(SCHEMA + step(**do, expect=written)).steps
    assert made.expect == meant


def test_a_step_is_due_at_an_instant_or_after_an_event() -> None:
    get = {"do": '["get", "t", 1]'}
    text = SCHEMA + "".join(
        [
            step(id='"a"', client='"c1"', node='"n1"', at_ms="103.5", **get),
            step(id='"b"', client='"c2"', node='"n2"', after='"a.failed"', plus_ms="5", **get),
            step(id='"c"', client='"c1"', **get),
            step(id='"d"', client='"c1"', node='"n3"', plus_ms="2", **get),
            step(id='"e"', client='"c3"', node='"n3"', plus_ms="2", **get),
            step(id='"f"', client='"c4"', node='"n3"', **get),
        ]
    )
    made = {each.id: each for each in scenario(text).steps}

    assert (made["a"].at_us, made["a"].after) == (103_500, None)
    assert (made["b"].at_us, made["b"].after, made["b"].plus_us) == (None, "a.failed", 5_000)
    assert (made["c"].after, made["c"].plus_us, made["c"].node) == ("a.done", 0, "n1")
    assert (made["d"].after, made["d"].plus_us, made["d"].node) == ("c.done", 2_000, "n3")
    assert (made["e"].at_us, made["e"].after, made["e"].plus_us) == (2_000, None, 0)
    assert (made["f"].at_us, made["f"].after) == (0, None)


def test_a_transaction_keeps_its_coordinator() -> None:
    text = SCHEMA + "".join(
        [
            step(id='"a"', client='"c"', tx='"T"', node='"n2"', do='["get", "t", 1]'),
            step(id='"b"', client='"c"', node='"n3"', do='["get", "t", 1]'),
            step(id='"e"', client='"c"', tx='"T"', do='"commit"'),
        ]
    )
    assert [each.node for each in scenario(text).steps] == ["n2", "n3", "n2"]


def test_steps_have_the_line_of_their_table() -> None:
    text = SCHEMA + step(id='"a"', client='"c"', node='"n1"', do='["get", "t", 1]')
    [made] = scenario(text).steps
    assert made.line == 5


def test_tables_that_come_later_may_be_named() -> None:
    text = SCHEMA + "".join(
        [
            '[[migration]]\nsql = "CREATE TABLE m (id INT PRIMARY KEY)"\n',
            step(id='"d"', client='"c"', node='"n1"', ddl='"ALTER TABLE t RENAME TO u"'),
            step(id='"a"', client='"c"', node='"n1"', do='["get", "u", 1]'),
            step(id='"b"', client='"c"', node='"n1"', do='["get", "m", 1]'),
            '[[faults]]\nname = "pause"\nnode = "primary of t/0"\n',
        ]
    )
    assert [each.id for each in scenario(text).steps] == ["d", "a", "b"]


def test_scripted_is_true_for_steps_without_workloads() -> None:
    scripted = SCHEMA + step(id='"a"', client='"c"', node='"n1"', do='["get", "t", 1]')

    assert scenario(scripted).scripted
    assert not scenario(scripted + '[[workload]]\nname = "mixed"\noperations = 1\n').scripted


def test_two_workloads_of_a_kind_have_clients_of_their_own() -> None:
    text = SCHEMA + '[[workload]]\nname = "mixed"\noperations = 1\n' * 2
    assert [entry.label for entry in scenario(text).workloads] == ["mixed", "mixed2"]


# --- shipped scenarios --------------------------------------------------------------------------


REACHES = 'reaches = ["idle-tick"]\n'


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with four shipped scenarios, two of them with one base name; one lies beside it."""
    folder = tmp_path / "library"
    for name in ("first", "iep98/lag", "iep98/twin", "iep110/twin", "../outside"):
        file = folder / f"{name}.toml"
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(f'title = "{name}"\n{REACHES}{PROTOCOL}', "utf-8")
    monkeypatch.setattr(shipped, "roots", lambda: [folder])
    return folder


@pytest.mark.parametrize(
    ("asked", "name"), [("first", "first"), ("iep98/lag", "iep98/lag"), ("lag", "iep98/lag"),
                        ("iep110/twin", "iep110/twin"), ("first.toml", "first")]
)  # fmt: skip
def test_load_finds_a_shipped_scenario_by_name(library: Path, asked: str, name: str) -> None:
    assert library.is_dir()
    assert load(asked).name == load(asked).title == name


@pytest.mark.parametrize("head", ["", REACHES, 'expect = { violated = ["machinery"] }\n'])
def test_a_file_without_work_is_refused_unless_something_is_expected(
    tmp_path: Path, head: str
) -> None:
    file = tmp_path / "idle.toml"
    file.write_text(f"{head}{PROTOCOL}", "utf-8")
    if head:
        assert load(file).text.startswith(head)
        return
    with pytest.raises(ScenarioError, match=r"idle\.toml: nothing is done: .* add one, or say in"):
        load(file)
    assert load(file, idle=True).steps == ()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("lagg", "lagg: neither a file nor a shipped scenario; did you mean lag"),
        ("twin", "twin: several scenarios are called so: iep110/twin, iep98/twin"),
        ("nowhere/frist.toml", "nowhere/frist.toml: no such file"),
        ("iep98/../first", "iep98/../first: neither a file nor a shipped scenario"),
        ("./first", "./first: neither a file nor a shipped scenario"),
        ("iep98//lag", "iep98//lag: neither a file nor a shipped scenario"),
        ("../outside", "../outside: neither a file nor a shipped scenario"),
        ("/first.toml", "/first.toml: no such file"),
        ("iep98", "iep98: neither a file nor a shipped scenario"),
        ("", "a scenario's name is empty; see ddlsim list scenarios"),
        ("tests", "tests: is a folder; name a file in it, or a shipped scenario"),
        ("a\0b", "a\0b: neither a file nor a shipped scenario"),
    ],
)
def test_load_suggests_similar_names(library: Path, asked: str, message: str) -> None:
    assert library.is_dir()
    with pytest.raises(ScenarioError) as caught:
        load(asked)
    assert str(caught.value).startswith(message)


def test_a_shipped_scenario_has_one_place_whether_it_is_listed_or_asked_for() -> None:
    known = shipped.shipped()
    assert known
    assert {name: shipped.place_of(name) for name in known} == known


def test_a_file_is_read_with_the_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "new.sql").write_text("ALTER TABLE t ADD COLUMN a INT", "utf-8")
    file = tmp_path / "mine.toml"
    file.write_text(f'{PROTOCOL}{SCHEMA}[[migration]]\nfile = "new.sql"\n', "utf-8")

    read = load(file)

    assert [line.sql for line in read.migrations[0].statements] == [
        "ALTER TABLE t ADD COLUMN a INT"
    ]
    assert read.name == str(file)
