"""A cluster is what its plan says: machines, clocks, links, schema, roles."""

import pytest

from ddlsim.cluster.cluster import BOOT_TS, initial_schema
from ddlsim.history.events import UpdateLogged
from ddlsim.history.world_events import ClockSet
from ddlsim.model.ddl import ObjectCreated
from ddlsim.model.schema import Table
from ddlsim.protocol.messages import CatalogUpdate
from ddlsim.units import timestamp
from tests.support.worlds import built

TWO = """[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE u (id INT PRIMARY KEY)"
"""


class Ping:
    """A message without content."""


def test_there_is_a_host_a_port_and_a_server_for_each_node() -> None:
    """Under the names of the plan, in its order; the first voter leads unless it is said."""
    cluster = built('[cluster]\nnodes = ["a", "b", "c"]\nvoters = 2')
    for made in (cluster.hosts, cluster.ports, cluster.servers):
        assert list(made) == ["a", "b", "c"]
    assert cluster.leader == "a"
    assert built('[cluster]\nleader = "n2"').leader == "n2"
    leaders = [server.metastorage.group.is_leader for server in cluster.servers.values()]
    assert leaders == [True, False, False]


def test_every_clock_has_the_offset_and_drift_of_the_plan() -> None:
    """Offset and drift; the history begins with them."""
    cluster = built("[clocks.nodes.n2]\noffset_ms = -3\n[clocks.nodes.n3]\ndrift_ppm = 40")
    cluster.loop.run(until_us=1_000_000)
    shown = [host.clock.read_us() for host in cluster.hosts.values()]
    assert shown == [1_000_000, 997_000, 1_000_040]
    told = [event for event in cluster.recorder.history.events if type(event) is ClockSet]
    assert [(e.node, e.offset_us, e.drift_ppm) for e in told] == [
        ("n1", 0, 0),
        ("n2", -3_000, 0),
        ("n3", 0, 40),
    ]


def test_every_node_has_its_settings() -> None:
    """Its own over the cluster's; times in the protocol's units."""
    cluster = built("[protocol.nodes.n2]\ndelay_duration_ms = 30\nresend_ms = 5")
    first, second, _ = (port.settings for port in cluster.ports.values())
    assert (first.delay_duration_ms, second.delay_duration_ms) == (100, 30)
    assert (first.max_clock_skew_ms, first.safe_time_interval_ms) == (7, 50)
    assert (first.operation_timeout_us, first.resend_us) == (30_000_000, 200_000)
    assert (second.resend_us, second.ddl_attempts, second.lock_retries) == (5_000, 10, 3)


def test_initial_schema_is_on_every_node_from_boot_ts() -> None:
    """One catalog version for each statement, and none of them came through the log."""
    cluster = built(TWO)
    for server in cluster.servers.values():
        assert server.catalog.version == 2
        assert [table.name for table in server.catalog.at(BOOT_TS).tables()] == ["t", "u"]
        assert server.sync.safe_time == timestamp(0)
        assert server.metastorage.group.member.log.entries == []
    logged = [event for event in cluster.recorder.history.events if type(event) is UpdateLogged]
    assert [(e.catalog_version, e.activation_ts, e.op) for e in logged] == [
        (1, BOOT_TS, None),
        (2, BOOT_TS, None),
    ]


def test_a_schema_of_several_statements_is_built_step_by_step() -> None:
    """Later statements see what earlier ones made."""
    versions = initial_schema(
        "CREATE TABLE t (id INT PRIMARY KEY); ALTER TABLE t ADD COLUMN v INT; DROP TABLE t"
    )
    changes = [objects[0] for objects in versions]
    assert [(change.object_id, change.version) for change in changes] == [(1, 1), (1, 2), (1, 3)]
    assert changes[0].changes == (ObjectCreated(),)
    assert isinstance(changes[1].definition, Table)
    assert changes[2].definition is None
    assert initial_schema("") == ()


def arrivals(text: str, *links: tuple[str, str]) -> list[int]:
    """How long a message takes on each link, in microseconds."""
    cluster = built(text)
    seen: dict[tuple[str, str], int] = {}
    for name, host in cluster.hosts.items():
        host.on(Ping, lambda sender, _, to=name: seen.setdefault((sender, to), cluster.loop.now_us))
    for sender, to in links:
        cluster.hosts[sender].send(to, Ping())
    cluster.loop.run(until_us=40_000)
    return [seen.get(link, -1) for link in links]


def test_links_have_the_latency_of_the_plan() -> None:
    """Later entries win; a link without an entry takes no time."""
    links = ("n1", "n2"), ("n2", "n1"), ("n1", "n3")
    assert arrivals("", *links) == [0, 0, 0]
    assert arrivals("[network]\nlatency_ms = 2", *links) == [2_000, 2_000, 2_000]
    one = '[network]\nlatency_ms = 2\n[[network.links]]\nfrom = "n1"\nto = "n2"\nlatency_ms = 9\n'
    assert arrivals(one, *links) == [9_000, 2_000, 2_000]
    assert arrivals(f'{one}kind = "submit"', *links) == [2_000, 2_000, 2_000]


def test_links_have_loss_duplication_and_reordering_of_the_plan() -> None:
    """Loss, here, of everything on one link and nothing on the others."""
    lossy = '[[network.links]]\nfrom = "n1"\nto = "n2"\nloss = 1.0'
    assert arrivals(lossy, ("n1", "n2"), ("n2", "n1")) == [-1, 0]


def test_primary_of_gives_the_primary_of_each_partition() -> None:
    """By the name that the table had when the run began; some are placed by hand."""
    placed = '[[leader]]\ngroup = "u/1"\nnode = "n2"\n'
    cluster = built(f"[cluster]\npartitions = 3\n{placed}{TWO}")
    assert [cluster.primary_of("t", number) for number in range(3)] == ["n2", "n3", "n1"]
    assert [cluster.primary_of("u", number) for number in range(3)] == ["n3", "n2", "n2"]
    assert cluster.primary_of("t") == "n2"


def test_a_primary_can_be_placed_on_any_partition_of_a_tables_zone() -> None:
    """Where the zone has more partitions than tables outside of zones; `z` alone is `z/0`."""
    zone = "CREATE ZONE five WITH (PARTITIONS = 5); CREATE TABLE z (id INT PRIMARY KEY) ZONE five"
    placed = "".join(f'[[leader]]\ngroup = "{group}"\nnode = "n2"\n' for group in ("z", "z/4"))
    cluster = built(f'{placed}[schema]\nsql = "{zone}"')
    assert [cluster.primary_of("z", number) for number in (0, 4)] == ["n2", "n2"]
    assert cluster.primary_of("z", 3) == "n3"


def test_planned_delays_of_stages_hold_from_the_start() -> None:
    """Each on its node."""
    cluster = built('[[apply]]\nnode = "n2"\nstage = "catalog"\ndelay_ms = 40')
    delays = {
        name: server.metastorage.application.delays for name, server in cluster.servers.items()
    }
    assert (delays["n2"].catalog, delays["n2"].log, delays["n1"].catalog) == (40_000, 0, 0)


def test_step_clock_and_set_drift_record_the_clock() -> None:
    """Its offset from true time at that instant, and its rate."""
    cluster = built()
    cluster.loop.run(until_us=100_000)
    cluster.set_drift("n2", 10_000)
    cluster.loop.run(until_us=200_000)
    cluster.step_clock("n2", -7_000)
    told = [event for event in cluster.recorder.history.events if type(event) is ClockSet]
    assert told[-2:] == [
        ClockSet(100_000, "n2", 0, 10_000),
        ClockSet(200_000, "n2", -6_000, 10_000),
    ]
    assert cluster.hosts["n2"].clock.read_us() == 194_000


def test_with_recording_off_a_cluster_records_nothing() -> None:
    """It is built in the same way."""
    cluster = built(recording=False)
    assert cluster.recorder.history.events == []
    assert not cluster.ports["n1"].recording


@pytest.mark.parametrize(("own", "largest"), [(30, 100), (300, 300)])
def test_the_leader_knows_the_largest_delay_of_any_node(own: int, largest: int) -> None:
    """A message must not activate before any reader's wait is over."""
    cluster = built(f"[protocol.nodes.n3]\ndelay_duration_ms = {own}")
    cluster.ports["n1"].spawn(
        cluster.servers["n1"].metastorage.submit(CatalogUpdate("d/0", 1, 20, ()))
    )
    cluster.loop.run(until_us=10_000)
    [logged] = [e for e in cluster.recorder.history.events if type(e) is UpdateLogged and e.op]
    assert logged.delay_duration_ms == largest
