"""A space-time picture of a run on a store: its versions are no time."""

from ddlsim.checkers.argument import Argument, argue, party_of
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import judge
from ddlsim.cli.picture import page as picture
from ddlsim.cli.picture import space as picture_space
from ddlsim.cli.picture.state import states
from ddlsim.cluster.run import run
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
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


def test_requests_of_clients_arrive_and_the_fifth_open_transaction_is_named() -> None:
    """Between request and first use the store gives a read version, in a batch of its own."""
    history = run(plan(load("strategies/C3-T1"), 0, trace=True))
    case, violation = Case(history), judge(history).violations[0]
    argument = argue(case, violation)
    space = picture_space.space(case, violation, argument)
    lanes = {lane.x: lane.name for lane in space.layout.lanes}
    arrows = [(lanes[one.x1], lanes[one.x2]) for one in space.arrows]
    assert ("c2", "a") in arrows
    assert ("w5", "b") in arrows
    shown = [row.shown.step for row in space.layout.rows if row.number is not None]
    *_, (before, after) = states(case, space.steps, shown, ["a", "b"], space.tables)
    assert before["b", "open transactions"] == "w1 t v2, w2 t v2, w3 t v2, w4 t v2"
    assert after["b", "open transactions"] == "1 earlier, w2 t v2, w3 t v2, w4 t v2, w5 t v1"
    page = picture.html(case, "", [picture.ArguedViolation(violation, argument)], "")
    assert "of these, the store's own work, are folded" in page.replace("&#39;", "'")
    assert "renew leases" not in page
    beside = int(page.partition("they stand below")[2].partition("(max-width: ")[2].split("px")[0])
    assert beside == int(space.layout.width * 0.7) + 400  # eleven lanes and the words of steps
