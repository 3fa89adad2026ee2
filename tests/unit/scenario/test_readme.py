"""The grammar's documentation: its examples run as they say, and it leaves no key out."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ddlsim
from ddlsim.cluster.run import run
from ddlsim.history.world_events import NeverCompleted, NothingMatched, StepMissed
from ddlsim.nemesis.base import FAULTS
from ddlsim.plan.plan import plan
from ddlsim.scenario import config, script, steps
from ddlsim.scenario.config import TableRecord
from ddlsim.scenario.scenario import read
from ddlsim.scenario.tables import ScenarioTable
from ddlsim.workload.base import WORKLOADS

TEXT = (Path(ddlsim.__file__).parents[1] / "scenarios" / "README.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_there_are_three_generated_and_four_scripted_examples() -> None:
    read_all = [read(text, "example") for text in EXAMPLES]
    assert [example.scripted for example in read_all] == [
        False,
        True,
        True,
        True,
        True,
        False,
        False,
    ]


def test_every_form_of_an_operation_is_told() -> None:
    told = next(line for line in TEXT.splitlines() if line.startswith("| `do` |"))
    forms = {re.sub(r", \{.*|\]", "", form) for form in steps.FORMS.values()}
    assert {form for form in forms if form.replace(', "t", 1', "") not in told} == set()


def test_the_short_form_stands_first_of_the_scripted_ones() -> None:
    assert "step = [" in EXAMPLES[1]
    assert "[[step]]" not in EXAMPLES[1]
    assert all("[[step]]" in text for text in EXAMPLES[2:5])


def test_a_stale_read_is_unmet_under_a_design_that_shows_the_column() -> None:
    """The README's first schedule passed under the right design too: no row said that w is gone."""
    history = run(plan(read(EXAMPLES[2], "example", overrides={"strategy.name": "iep"}), 1))
    assert [(missed.step, missed.got) for missed in history.of(StepMissed)][-1] == (
        "stale",
        "rows [{ id = 1, v = 1, w = 7 }]",
    )


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text[11:40])
def test_an_example_runs_and_its_steps_come_out_as_expected(text: str) -> None:
    history = run(plan(read(text, "example"), 1))

    assert history.of(StepMissed) == []
    assert history.of(NeverCompleted) == []
    assert history.of(NothingMatched) == []


def records(module: Any) -> list[type[TableRecord]]:
    return [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, TableRecord) and each is not TableRecord
    ]


@pytest.mark.parametrize(
    "record", [*records(config), *records(script), ScenarioTable], ids=lambda each: each.__name__
)
def test_every_key_of_a_table_is_mentioned(record: type[TableRecord]) -> None:
    for field in msgspec.structs.fields(record):
        key = field.encode_name
        assert re.search(rf"[`\[.{{ ]{key}[`\].= ]", TEXT), key


@pytest.mark.parametrize("name", [*WORKLOADS, *FAULTS])
def test_every_key_of_a_plugin_is_mentioned_beside_its_name(name: str) -> None:
    kind: Any = WORKLOADS.get(name) if name in WORKLOADS else FAULTS.get(name)
    [line] = [line for line in TEXT.splitlines() if line.startswith("|") and f"`{name}`" in line]
    common = ("clients", "tables") if name in WORKLOADS else ()
    for key in [field.name for field in fields(kind)]:
        assert key in common or re.search(rf"`{key}[` ]", line), key


def test_defaults_of_workloads_are_those_documented() -> None:
    for name in WORKLOADS:
        [line] = [line for line in TEXT.splitlines() if line.startswith(f"| `{name}`")]
        defaults = {field.name: field.default for field in fields(WORKLOADS.get(name))}
        for key, value in re.findall(r"`(\w+) = ([^`]+)`", line):
            shown = defaults[key]
            assert value == str(list(shown) if isinstance(shown, tuple) else shown), (name, key)
