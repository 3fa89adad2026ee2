"""The table of designs on the FoundationDB plane: what its runs tell, and what they do not."""

from functools import cache

from ddlsim.analysis.compare import compare as comparing
from ddlsim.analysis.compare.compare import World, line_of, worlds
from ddlsim.analysis.compare.records import Value
from ddlsim.cluster.fdb_cluster import schema_servers
from ddlsim.cluster.run import run
from ddlsim.history.events import Invoked, RowFinal, TxBegan
from ddlsim.history.history import History
from ddlsim.history.world_events import MessageSent
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import override
from ddlsim.verify.campaign import Runner
from ddlsim.verify.prices import Prices, prices


@cache
def on_store() -> tuple[World, History, Prices]:
    """A traced run of a layer that reads the schema in every transaction."""
    one = worlds(["c1_schema"], None, {})[0][0]
    planned = plan(one.scenario, 1, trace=True)
    history = run(planned)
    return one, history, prices(history, schema_servers(planned))


def test_reads_of_the_server_that_holds_only_the_schema_are_reads_of_the_schema() -> None:
    one, history, taken = on_store()
    (server,) = schema_servers(plan(one.scenario, 1))
    assert server not in {row.node for row in history.of(RowFinal)}
    reads = [
        event
        for event in history.events
        if type(event) is MessageSent and event.to == server and event.kind in ("get", "get-range")
    ]
    begun = sum(type(event) is TxBegan for event in history.events)
    assert taken.schema_reads == len(reads) >= begun > 50
    assert server in taken.received
    assert not {one.client for one in history.of(Invoked)} & set(taken.received)


def test_where_the_schema_shares_its_servers_its_reads_are_not_told() -> None:
    one, history, _ = on_store()
    shared = override(one.scenario, {"fdb.replicas": 2})
    assert schema_servers(plan(shared, 1)) == ()
    assert schema_servers(plan(worlds(["iep"], None, {})[0][0].scenario, 1)) == ()
    assert prices(history).schema_reads is None


def test_a_layer_does_not_tell_what_an_operation_waited() -> None:
    one, _, taken = on_store()
    assert (taken.added_us, taken.frozen) == (None, None)
    told = line_of(one, [Runner(comparing.job_of(one, ())).row(1)], ())
    why = "runs on plane fdb do not tell what an operation waited for the schema"
    for value in (told.dml_added_p50, told.dml_added_p99, told.frozen):
        assert value == Value(None, why=why)
    assert told.reads_per_transaction.value is not None
    assert told.reads_per_transaction.value > 1
    assert told.dml_p50.value is not None
