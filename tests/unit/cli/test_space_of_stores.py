"""A space-time picture of a run on a store: its versions are no time."""

from ddlsim.checkers.argument import Argument, party_of
from ddlsim.checkers.case.case import Case
from ddlsim.cli import picture_space
from ddlsim.cluster.run import run
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import read
from ddlsim.units import Timestamp, physical_ms

RECOVERED = """
[strategy]
name = "c15_unassuming"
[cluster]
plane = "fdb"
nodes = 2
[schema]
sql = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"
[[faults]]
name = "crash"
node = "proxy1"
from_ms = 20
for_ms = 100
[[step]]
id = "d1"
client = "c2"
node = "n2"
at_ms = 2_000
ddl = "ALTER TABLE a ADD COLUMN s VARCHAR(10)"
[network]
latency_ms = 1
"""


def test_a_version_of_a_store_is_drawn_where_it_came_and_not_by_a_clock() -> None:
    """Its recovery has raised versions by 100 seconds: by a clock they would lie behind the run."""
    case = Case(run(plan(read(RECOVERED, "recovered"), 0)))
    (update,) = (one for _, one in case.schemas.updates if one.op is not None)
    assert physical_ms(Timestamp(update.message_ts)) > 100_000
    whole = Argument("", (party_of(case, "D2"),), (), ())
    marks = picture_space.space(case, None, whole).layout.marks
    assert [mark.named.name for mark in marks] == ["Tm D2", "Tu D2"]
    assert [mark.named.place[0] for mark in marks] == [update.at_us] * 2
    assert all(mark.named.text.endswith("ms, a version of the store") for mark in marks)
