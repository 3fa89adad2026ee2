"""IEP-98, clause by clause in the document's order, each in the smallest world that shows it.

The definitions and the flow of a schema change; safe time is in `test_iep98_safe_time`.

Each world is told a second time with the clause broken: by a mutant, by another rule in a field of
the strategy, or without the part of the world that the clause speaks of. It then comes out
otherwise. PROTOCOL.md says which clauses are left out.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.history.events import RowFinal, UpdateApplied, UpdateLogged
from ddlsim.protocol.design import time_rules
from ddlsim.protocol.design.flows import replicate_wait_acknowledge
from tests.clauses.story import (
    HERE,
    SLOW_CATALOG,
    SPLIT,
    TWO_PARTITIONS,
    Story,
    Told,
    answers,
    differs,
    held,
    late,
    moments,
    offset,
    told_at,
)

# --- definitions ---------------------------------------------------------------------------------


def test_a_version_is_effective_from_its_first_instant_on() -> None:
    """Tu = 210: a commit at 209 is on the old version, one at 210 on the new [98.def.1]."""
    story = Story(
        """
        20   T0@n3: w0 = put t 1
        20   T1@n3: w1 = put t 2
        110  d@n2: d = ALTER TABLE t DROP COLUMN v
        209  T0: e0 = commit
        210  T1: e1 = commit
        """,
        offset("n2", -5) + late("n3", 105, 300),
        leaders=HERE,
    )
    shown = answers("e0", "e1")
    assert shown(story.tell()) == ["ok", "SCHEMA_INCOMPATIBLE"]
    assert differs(story, shown, "open_boundary")


def test_an_update_is_visible_once_the_node_has_applied_it() -> None:
    """In n3's log since 110, applied there at 310: whoever does not wait misses it till then
    [98.def.2]."""
    lines = """
        20   w@n3: w = put t 1 { v = 1 }
        110  d@n1: d = ALTER TABLE t RENAME COLUMN v TO w
        309  r1@n3: r1 = get t 1
        311  r2@n3: r2 = get t 1
        """
    told = Story(lines, SLOW_CATALOG, leaders=HERE).tell(completeness_ts=time_rules.never_waits)
    assert answers("r1", "r2")(told) == [{"id": 1, "v": 1}, {"id": 1, "w": 1}]
    assert [event.at_us for event in told.of(UpdateApplied, node="n3")][-1] == 310_000
    at_once = Story(lines, leaders=HERE).tell(completeness_ts=time_rules.never_waits)
    assert answers("r1", "r2")(at_once) == [{"id": 1, "w": 1}, {"id": 1, "w": 1}]


def test_updates_arrive_in_order_once_and_without_gaps() -> None:
    """The first of two is lost on its way to n3: it takes neither before it has both [98.def.3]."""
    story = Story(
        """
        110  d1@n1: d1 = ALTER TABLE t ADD COLUMN w INT
        120  d2@n1: d2 = ALTER TABLE t ADD COLUMN x INT
        """,
        '[[faults]]\nname = "message_loss"\nnode = "n3"\nkind = "append-entries"\n'
        "probability = 1\nfrom_ms = 105\nfor_ms = 10\n"
        + held("n3", "n1", "append-reply", 105, 300),
    )

    def applied(told: Told) -> list[tuple[int, int]]:
        events = [event for event in told.of(UpdateApplied, node="n3") if event.at_us]
        return [(event.catalog_version, event.at_us) for event in events]

    assert applied(story.tell()) == [(2, 300_000), (3, 300_000)]
    assert differs(story, applied, "appends_past_gaps")


def test_all_participants_of_a_commit_use_one_version() -> None:
    """Two nodes keep a row each, under one version and at one timestamp [98.one]."""
    story = Story(
        """
        20   T@n1: w1 = put t 1
        20   T: w2 = put t 2
        110  d@n1: d = ALTER TABLE t ADD COLUMN w INT
        d.ok T: e = commit
        """,
        TWO_PARTITIONS,
        leaders=SPLIT,
    )

    def kept(told: Told) -> tuple[set[str], set[tuple[int, int]], set[str]]:
        rows = told.of(RowFinal, writer="T")
        stamps = {(row.version, row.commit_ts) for row in rows}
        return {row.node for row in rows}, stamps, told.breaches

    nodes, stamps, breaches = kept(story.tell())
    assert (nodes, len(stamps), breaches) == ({"n2", "n3"}, 1, set())
    assert differs(story, kept, "participant_forgets_writes", "participant_stamps_its_own")


def test_all_nodes_answer_alike_for_one_timestamp() -> None:
    """At 215 n2 and n3, which lags, are both on the new version [98.ap]."""
    story = Story(
        """
        20   a@n2: a = put t 2 { v = 2 }
        20   b@n3: b = put t 1 { v = 1 }
        110  d@n1: d = ALTER TABLE t RENAME COLUMN v TO w
        215  r2@n2: r2 = get t 2
        215  r3@n3: r3 = get t 1
        """,
        TWO_PARTITIONS + late("n3", 105, 400),
        leaders=SPLIT,
    )
    shown = answers("r2", "r3")
    assert shown(story.tell()) == [{"id": 2, "w": 2}, {"id": 1, "w": 1}]
    assert story.tell("no_completeness_wait").breaches >= {"I1"}
    assert differs(story, shown, "no_completeness_wait")


@pytest.mark.parametrize("mutant", ["acknowledges_at_activation", "acknowledges_at_once"])
def test_a_client_sees_its_own_ddl_on_any_node(mutant: str) -> None:
    """Another connection, no token, and a node whose clock is CSmax behind [98.own]."""
    story = Story(
        """
        20   w@n1: w = put t 1 { v = 1 }
        110  d@n1: d = ALTER TABLE t ADD COLUMN w INT DEFAULT 7
        d.ok r@n3: r = SELECT * FROM t
        """,
        offset("n3", -7),
        leaders=HERE,
    )
    shown = answers("r")
    assert shown(story.tell()) == [[{"id": 1, "v": 1, "w": 7}]]
    assert differs(story, shown, mutant)


# --- the flow of a schema change -----------------------------------------------------------------


def test_a_statement_becomes_one_message() -> None:
    """Whatever it does, and however many things it does at once [98.flow.1]."""
    story = Story("110 d@n2: d = ALTER TABLE t DROP COLUMN v, ADD COLUMN w INT")

    def messages(told: Told) -> list[int]:
        return [len(event.objects[0].changes) for event in told.of(UpdateLogged, op="d")]

    async def in_pieces(change: Any, op: str, statement: Any) -> Any:
        for action in statement.actions:
            piece = replace(statement, actions=(action,))
            done = await replicate_wait_acknowledge(change, f"{op}/{type(action).__name__}", piece)
        return done

    assert messages(story.tell()) == [2]
    assert differs(story, messages, install=in_pieces)


def test_the_meta_storage_brings_the_message_to_every_node() -> None:
    """Voters and learners alike, each after its own way [98.flow.2]."""
    world = "[cluster]\nnodes = 4\nvoters = 3\n[network]\nlatency_ms = 10\n"
    lines = "100 d@n2: d = ALTER TABLE t ADD COLUMN w INT"

    def arrived(told: Told) -> dict[str, int]:
        (logged,) = told.of(UpdateLogged, op="d")
        applied = told.of(UpdateApplied, message_ts=logged.message_ts)
        return {event.node: event.at_us // 1000 for event in applied}

    assert arrived(Story(lines, world).tell()) == {"n1": 130, "n2": 140, "n3": 140, "n4": 140}
    cut = world + held("n1", "n4", "append-entries", 0, 500)
    assert arrived(Story(lines, cut).tell())["n4"] == 500


def test_each_node_interprets_the_activation_alone() -> None:
    """n3 hears nothing from anyone after 165 and switches at Tu = 210 [98.flow.3]."""
    story = Story(
        """
        20   w@n3: w = put t 1 { v = 1 }
        110  d@n1: d = ALTER TABLE t RENAME COLUMN v TO w
        209.9 r1@n3: r1 = get t 1
        211  r2@n3: r2 = get t 1
        """,
        '[[hold]]\nto = "n3"\nfrom = "n1"\nfrom_ms = 165\nuntil_ms = 500\n',
        leaders=HERE,
    )

    shown = told_at("r1", "r2")
    assert shown(story.tell()) == ([{"id": 1, "v": 1}, {"id": 1, "w": 1}], [209.9, 211])
    assert differs(story, shown, "looks_up_in_the_past", completeness_ts=time_rules.at_operation)


def test_a_ddl_is_acknowledged_when_it_is_active_everywhere() -> None:
    """Tu = 210 and a logical part, CSmax = 7: at 218; what changes nothing as well [98.flow.4]."""
    story = Story(
        """
        110  d@n1: d = CREATE TABLE u (id INT PRIMARY KEY)
        120  c@n2: noop = CREATE TABLE IF NOT EXISTS u (id INT PRIMARY KEY)
        120  b@n2: refused = CREATE TABLE u (id INT PRIMARY KEY)
        217  a@n1: busy = get t 1
        217  e@n2: busy2 = get t 2
        """
    )
    shown = moments("d", "noop", "refused")
    assert shown(story.tell()) == [218, 218, 218]
    assert answers("d", "noop", "refused")(story.tell()) == ["ok", "ok", "OBJECT_EXISTS"]
    not_rounded = time_rules.activation_plus_skew
    assert differs(story, shown, "acknowledges_at_activation", "noop_without_wait")
    assert differs(story, shown, acknowledge_ts=not_rounded, acknowledge_known_ts=not_rounded)
