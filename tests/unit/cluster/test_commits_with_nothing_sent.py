"""The model of a coordinator: what ended before any of its operations was sent."""

from ddlsim.cluster.run import run
from ddlsim.history.events import SchemaResolved, TxCommitted
from ddlsim.plan.plan import plan
from tests.support.kept_worlds import differences
from tests.support.small_scenario import scenario

NOTHING_SENT = """
delay_duration_ms = 20
operation_timeout_ms = 80
commit_wait_ms = 20
lease_duration_ms = 60
lease_check_ms = 8
[strategy]
name = "iep_literal"
[cluster]
nodes = 2
voters = 1
[run]
load_ms = 175
[schema]
sql = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"
[[faults]]
name = "crash"
node = "n1"
[[step]]
id = "d1"
client = "c1"
node = "n2"
at_ms = 0
ddl = "ALTER TABLE a ADD COLUMN w UUID"
[[step]]
id = "w1"
client = "c2"
tx = "T1"
node = "n2"
after = "d1.done"
do = ["put", "a", 1]
[[step]]
id = "e1"
client = "c2"
tx = "T1"
after = "w1.done"
do = "commit"
"""
"""T1 commits while w1, which its client gave up, waits for a primary; then w1 is refused."""


def test_an_operation_that_is_refused_behind_a_commit_without_participants_is_no_abort() -> None:
    """Its own transaction has committed, by a design that waits for no operation (F-25)."""
    history = run(plan(scenario(NOTHING_SENT, {}), models=True))
    committed = next(one for one in history.events if isinstance(one, TxCommitted))
    late = [one for one in history.events if isinstance(one, SchemaResolved)]
    assert late[-1].op == "w1"
    assert late[-1].at_us > committed.at_us
    assert differences(history) == []
