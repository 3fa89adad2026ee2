"""`--set path=value`, embedded files and `--migration`."""

import re
from pathlib import Path
from typing import Any

import pytest

from ddlsim.scenario.overrides import read_setting, repeat_options
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import override, read, with_migration
from ddlsim.scenario.tomltext import toml_value
from tests.support.small_scenario import SCHEMA, scenario, step

SETTINGS: list[tuple[str, tuple[str, Any]]] = [
    ("protocol.delay_duration_ms=80", ("protocol.delay_duration_ms", 80)),
    ("network.loss = 0.5", ("network.loss", 0.5)),
    ("idle_ticks=false", ("idle_ticks", False)),
    ("strategy.name=a5_safetime", ("strategy.name", "a5_safetime")),
    ('title="a = b"', ("title", "a = b")),
    ('reaches=["x", "y"]', ("reaches", ["x", "y"])),
    ('network.latency_ms={ distribution = "constant", value = 2 }',
     ("network.latency_ms", {"distribution": "constant", "value": 2})),
]  # fmt: skip


@pytest.mark.parametrize(("text", "setting"), SETTINGS)
def test_a_setting_is_a_path_and_a_toml_value(text: str, setting: tuple[str, Any]) -> None:
    assert read_setting(text) == setting


@pytest.mark.parametrize("text", ["protocol", "=5", "a=[1", "a=b c", "a=1\nb=2"])
def test_read_setting_refuses_other_texts(text: str) -> None:
    with pytest.raises(ScenarioError, match="--set"):
        read_setting(text)


@pytest.mark.parametrize("value", [5, 0.5, True, 'a "b" c', [1, "x"], {"a": 1, "b": [2]}])
def test_toml_value_writes_what_toml_reads(value: Any) -> None:
    assert read_setting(f"key={toml_value(value)}") == ("key", value)


def test_an_override_counts_over_the_file() -> None:
    changed = override(scenario(), {"protocol.delay_duration_ms": 80, "run.load_ms": 5})

    assert changed.numbers["delay_duration_ms"] == 80
    assert changed.table.run.load_ms == 5
    assert override(changed, {"run.load_ms": 6}).numbers["delay_duration_ms"] == 80


def test_an_override_reaches_into_lists() -> None:
    text = SCHEMA + '[[workload]]\nname = "mixed"\noperations = 5\n'

    changed = scenario(text, {"workload[0].clients": 3, "workload.0.operations": 7})

    assert changed.workloads[0].workload.clients == 3
    assert changed.table.workload[0]["operations"] == 7


def test_an_override_of_an_override_leaves_what_was_given_alone() -> None:
    workloads = [{"name": "mixed", "operations": 5}]

    changed = scenario(SCHEMA, {"workload": workloads, "workload[0].clients": 3})

    assert changed.workloads[0].workload.clients == 3
    assert workloads == [{"name": "mixed", "operations": 5}]


BAD: list[tuple[str, Any, str]] = [
    ("protocol.delay_duration", 5, "unknown key; did you mean delay_duration_ms?"),
    ("protocol.nope_ms", 5, "unknown key; see ddlsim list settings"),
    ("protocol.nodes.n2.nope_ms", 5, "unknown key; see ddlsim list settings"),
    ("protocol.presett", "x", "unknown key; did you mean preset?"),
    ("protocol.delay_duration_ms", -5, "must be at least 0, not -5"),
    ("workload[1].clients", 5, "the file has no workload"),
    ("workload.clients", 5, "workload is a list; say which: [0]"),
    ("workload[3].clients", 5, "the last one is workload[0]"),
    ("idle_ticks.x", 5, "idle_ticks has no key 'x'"),
    ("clok.drift_ppm", 5, "clok: unknown key; did you mean clock or clocks?"),
    ("a..b", 5, "not a path of keys: 'a..b'"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD, ids=lambda value: str(value)[:20])
def test_a_path_that_leads_nowhere_is_named(path: str, value: Any, message: str) -> None:
    text = 'idle_ticks = true\n[protocol]\npreset = "ignite3_tests"\n'
    if "has no workload" not in message:
        text += SCHEMA + '[[workload]]\nname = "mixed"\noperations = 5\n'
    with pytest.raises(ScenarioError) as caught:
        read(text, "small.toml", overrides={path: value})
    assert str(caught.value).removeprefix("small.toml: ") == f"--set {path}: {message}"


def test_a_migration_takes_the_place_of_the_scenarios_ddl(tmp_path: Path) -> None:
    file = tmp_path / "new.sql"
    file.write_text("ALTER TABLE t ADD COLUMN a INT;\nDROP TABLE t;", "utf-8")
    text = SCHEMA + '[[migration]]\nat_ms = 7\nnode = "n2"\nevery_ms = 3\nsql = "DROP TABLE t"\n'

    changed = with_migration(scenario(text), str(file))

    [entry] = changed.migrations
    assert [line.sql for line in entry.statements] == [
        "ALTER TABLE t ADD COLUMN a INT",
        "DROP TABLE t",
    ]
    assert (entry.table.at_ms, entry.node, entry.table.every_ms) == (7, "n2", 3)
    assert changed.arguments() == ["small.toml", "--migration", str(file)]


def test_a_migration_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"--migration nowhere\.sql: No such file"):
        with_migration(scenario(SCHEMA), "nowhere.sql")

    broken = tmp_path / "broken.sql"
    broken.write_text("ALTER TABLE t ADD COLUMN a INT;\nDORP TABLE t;", "utf-8")
    what = rf"^--migration {re.escape(str(broken))}:2: unexpected 'DORP'"
    with pytest.raises(ScenarioError, match=what):
        with_migration(scenario(SCHEMA), str(broken))


def test_a_migration_that_does_not_fit_is_named_with_its_line(tmp_path: Path) -> None:
    """The scenario's file is right, and no --set is given."""
    file = tmp_path / "new.sql"
    file.write_text("ALTER TABLE t ADD COLUMN a INT;\n\nALTER TABLE t DROP COLUMN b;", "utf-8")
    what = rf"^--migration {re.escape(str(file))}:3: 'ALTER TABLE t DROP COLUMN b': no version of t"
    with pytest.raises(ScenarioError, match=what):
        with_migration(scenario(SCHEMA), str(file))


def test_the_pace_of_a_replaced_migration_is_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "new.sql").write_text("DROP TABLE t", "utf-8")
    text = f'[protocol]\npreset = "ignite3_tests"\n{SCHEMA}'
    text += '[[migration]]\nat_ms = 7\nnode = "n9"\nsql = "DROP TABLE t"\n'
    with pytest.raises(ScenarioError, match=r"^small\.toml:\d+: migration\[0\]\.node: no node"):
        read(text, "small.toml", overrides={"--migration": str(tmp_path / "new.sql")})


def test_scripted_ddl_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "new.sql").write_text("DROP TABLE t", "utf-8")
    scripted = SCHEMA + step(id='"d"', client='"c1"', node='"n1"', ddl='"DROP TABLE t"')

    with pytest.raises(ScenarioError, match="scripted in steps"):
        with_migration(scenario(scripted), str(tmp_path / "new.sql"))


def test_a_scenario_can_be_read_again_without_its_files(tmp_path: Path) -> None:
    (tmp_path / "t.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY)", "utf-8")
    text = '[protocol]\npreset = "ignite3_tests"\n[schema]\nfile = "t.sql"\n'
    first = read(text, "with_file.toml", directory=str(tmp_path))

    again = read(first.text, first.name, overrides=first.overrides)

    assert again.schema == first.schema
    assert repeat_options(first.overrides) == []
