"""Queries by a value of another type: TRUE is no number, though Python takes it for 1, and a value
that is too long for its column is a text, too.
"""

import pytest

from ddlsim.checkers.judge import judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.cluster.run import run
from ddlsim.history.events import Ok
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import read

SCENARIO = """
[strategy]
name = "{design}"

[cluster]
nodes = 1

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v {before}, n INT)"

[[step]]
id = "d"
client = "c"
node = "n1"
at_ms = 10
ddl = "ALTER TABLE t DROP COLUMN v, ADD COLUMN v {after} DEFAULT {value}"

[[step]]
id = "i"
client = "c"
after = "d.ok"
ddl = "CREATE INDEX i ON t ({indexed})"

[[step]]
id = "w"
client = "c"
after = "i.ok"
do = ["put", "t", 1, {{ n = 7 }}]

[[step]]
id = "f"
client = "c"
after = "w.ok"
do = ["find", "t", "", {{ v = {asked} }}]
"""
"""The column gets a type that the last step does not know of, and a default, which its row has."""


def found_in(text: str, design: str) -> list[object]:
    """The rows of the query's answer; what else has happened is as it should be."""
    if design == "ignite_index":
        text += '\n[protocol]\npreset = "ignite3_tests"\n'
    history = run(plan(read(text, "query"), 0, models=True))
    assert judge(history).outcome is Outcome.OK
    [answer] = [one for one in history.of(Ok) if one.op == "f"]
    assert isinstance(answer.value, list)
    return answer.value


NARROWED = """
[strategy]
name = "{design}"

[cluster]
nodes = 1

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v BOOLEAN)"

[[step]]
id = "w"
client = "c"
node = "n1"
at_ms = 10
do = ["put", "t", 1, {{ v = false }}]

[[step]]
id = "d"
client = "c"
after = "w.ok"
ddl = "ALTER TABLE t ALTER COLUMN v SET DATA TYPE VARCHAR(4)"

[[step]]
id = "f"
client = "c"
after = "d.ok"
do = ["find", "t", "", {{ v = false }}]
"""


@pytest.mark.parametrize("design", ["c16_safe", "record_layer"])
def test_a_value_from_before_a_narrowing_is_found_by_itself(design: str) -> None:
    """`false` has five characters; what a narrowing does to a row is not modelled."""
    assert len(found_in(NARROWED.format(design=design), design)) == 1


@pytest.mark.parametrize("indexed", ["n", "v"])
@pytest.mark.parametrize("design", ["ignite_index", "c16_safe"])
@pytest.mark.parametrize(
    ("before", "after", "value", "asked", "found"),
    [
        ("INT", "BOOLEAN", "TRUE", "1", 0),
        ("INT", "BOOLEAN", "FALSE", "0", 0),
        ("BOOLEAN", "INT", "1", "true", 0),
        ("BOOLEAN", "DOUBLE", "0", "false", 0),
        ("INT", "BIGINT", "1", "1", 1),
        ("INT", "DOUBLE", "1", "1", 1),
    ],
)
def test_a_truth_value_equals_no_number(
    indexed: str, design: str, before: str, after: str, value: str, asked: str, found: int
) -> None:
    text = SCENARIO.format(
        design=design, indexed=indexed, before=before, after=after, value=value, asked=asked
    )
    assert len(found_in(text, design)) == found
