"""A shrunk scenario with names, keys and values that are odd is a scenario all the
same, and neither it nor its page has anything invisible or any markup of theirs."""

import json
import tomllib
from pathlib import Path

import pytest

from ddlsim.escape import escaped
from ddlsim.scenario.tomltext import toml_value
from tests.support.command import ddlsim

SCENARIO = """\
title = "A statement drops a column before a commit that is not checked"

[strategy]
name = "iep"
mutant = "no_commit_check"

[protocol]
preset = "ignite3_tests"

[cluster]
nodes = 2

[network]
latency_ms = 1

[schema]
sql = {schema}

[[step]]
id = "w"
client = "c1"
tx = "T1"
node = "n1"
at_ms = 0
do = ["put", {table}, [{key}, 3], {{ {column} = {cell} }}]

[[step]]
id = "d"
client = "c2"
node = "n2"
at_ms = 10
ddl = {ddl}

[[step]]
id = "c"
client = "c1"
tx = "T1"
after = "d.done"
do = "commit"
"""
LONG = 300


def scenario(table: str, column: str, key: str, cell: str) -> str:
    quoted_table, quoted_column = ('"' + one.replace('"', '""') + '"' for one in (table, column))
    columns = f"id VARCHAR(4000), part INT, {quoted_column} VARCHAR(9000), PRIMARY KEY (id, part)"
    values = {
        "schema": f"CREATE TABLE {quoted_table} ({columns})",
        "ddl": f"ALTER TABLE {quoted_table} DROP COLUMN {quoted_column}",
        "table": table, "column": column, "key": key, "cell": cell,
    }  # fmt: skip
    return SCENARIO.format(**{name: toml_value(value) for name, value in values.items()})


@pytest.mark.parametrize(
    ("table", "column", "key", "cell"),
    [
        ("<script>t</script>", "</td><b>", "<img src=x>", "&amp;<b>"),
        ("t\x00\x07", "v\x1b[31m", "k\x1c\x7f", "x\x00"),
        ("t\u202e\u2028", "v\u200f", "k\x85", "x\u202e"),
        ("a\nb", "v\n[x]\n#", "k\n]\nstep = 1\n", "x\n\"\"\"\n'''"),
        ('"', "'", "\\", "\"'\\"),
        ("t", "v", "k" * LONG, "y" * 9000),
    ],
    ids=["markup", "control", "bidirectional", "lines", "quotes", "long"],
)
def test_odd_names_leave_a_scenario_and_a_page(
    tmp_path: Path, table: str, column: str, key: str, cell: str
) -> None:
    odd, small, page = (str(tmp_path / name) for name in ("odd.toml", "s.toml", "s.html"))
    Path(odd).write_text(scenario(table, column, key, cell), "utf-8")
    ddlsim("shrink", odd, "--violation", "I2", "-o", small, "--html", page)
    text = Path(small).read_bytes().decode()
    assert escaped(text) == text
    [put] = [one for one in tomllib.loads(text)["step"] if isinstance(one.get("do"), list)]
    assert put["do"][:3] == ["put", table, [key, 3]]
    assert len(tomllib.loads(text)["title"]) < 150
    assert ddlsim("run", small, "--expect", "--output", "json").code == 0
    assert max(len(line) for line in text.splitlines() if line.startswith("  #")) < 200
    html = Path(page).read_bytes().decode()
    assert escaped(html) == html
    assert not any(tag in html for tag in ("<script>t", "</td><b>", "<img src=x"))


def test_the_command_in_the_head_is_one_line(tmp_path: Path) -> None:
    odd, small = tmp_path / "odd.toml", tmp_path / "a\nb.toml"
    odd.write_text(scenario("t", "v", "k", "x"), "utf-8")
    ddlsim("shrink", str(odd), "-o", str(small))
    text = small.read_text("utf-8")
    assert tomllib.loads(text)["title"].startswith("I")
    assert "# Repeat it: ddlsim run" in text


def test_a_key_of_text_is_told_as_a_value(tmp_path: Path) -> None:
    odd = tmp_path / "odd.toml"
    odd.write_text(scenario("t", "v", "k", "x"), "utf-8")
    found = json.loads(ddlsim("shrink", str(odd), "--output", "json").out)
    assert "T1 writes t['k', 3] under version 1" in found["scenario"]
