"""Worlds that are drawn for a fault which others do not show: a plant in the code, and its judge.

Each seed is that of a small world which convicts; where draws have changed, it is another.
"""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.cluster.run import run
from ddlsim.history.world_events import PartDiverged
from ddlsim.layer import backfill
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.plan.swarm_knobs import OFF
from ddlsim.protocol.commands import WriteIntent
from ddlsim.protocol.design import mandatory_columns
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.metastorage.application import Application
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.raft.member import Member
from ddlsim.protocol.raft.messages import VoteReply
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.schema import renaming
from ddlsim.protocol.transaction import execution
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.protocol.transaction.readers import Readers
from ddlsim.protocol.transaction.routing import Router
from ddlsim.units import plus_ms
from tests.support.drawn_worlds import drawn_of, kinds, under

pytestmark = pytest.mark.slow


class WithoutIntents:
    """A replica whose machine shows no intents."""

    def __init__(self, local: Any) -> None:
        self._local = local
        self.machine = self if hasattr(local, "intents") else WithoutIntents(local.machine)
        self.intents: dict[object, object] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._local, name)


async def found_without_intents(method: Any, self: Readers, local: Any, *given: Any) -> Any:
    """A query by an index in the past overlooks intents, whatever has become of them."""
    return await method(self, WithoutIntents(local), *given)


def all_but_the_first(method: Any, *given: Any) -> Any:
    """A dropped table takes one of its old names along, not all."""
    return method(*given)[:1]


def as_it_compares(_method: Any, values: object) -> object:
    """Entries of values that are equal count as one."""
    return values


def unheard(method: Any, self: Application, state: object) -> None:
    """Who watches the catalog hears nothing of what comes in a snapshot."""
    watchers, self.watchers = self.watchers, []
    method(self, state)
    self.watchers = watchers


def by_the_catalog(method: Any, self: Application, *given: Any) -> Any:
    """The last activation is that of the catalog, which may be behind the log."""
    self._last_activation_ts = self.catalog.latest().activation_ts
    return method(self, *given)


def under_the_next_lease(
    method: Any, self: Router, tx: Any, request: Any, enlistment: Any, number: int, **more: Any
) -> Any:
    """A transaction goes on under the lease that there is by now."""
    place = (enlistment.table.id, number)
    known, now = tx.participants.get(place), self.leases.of(place)
    if known is not None and now is not None and now.start_ts > known.start_ts:
        del tx.participants[place]
    return method(self, tx, request, enlistment, number, **more)


def last_activation_left(method: Any, self: Application, state: object) -> None:
    """What a snapshot brings does not count as the last activation."""
    known = self._last_activation_ts
    method(self, state)
    self._last_activation_ts = known


def few_results(method: Any, self: Application) -> Any:
    """A snapshot has the results of the last two commands alone."""
    state = method(self)
    return replace(state, results=state.results[-2:])


async def replicated_at_once(_method: Any, _self: TransactionCompletion, _tx: Any) -> None:
    """A commit does not wait until the writes of its transaction are replicated."""


def default_for_null(method: Any, cells: Any, source: Any, target: Any) -> Any:
    """A NULL in an older row is shown as the default that its column was added with."""
    initial = {column.id: column.initial_default for column in target.columns}
    shown = method(cells, source, target)
    return tuple((one, initial[one] if value is None else value) for one, value in shown)


def first_restart_only(method: Any, self: Application, message_ts: Any, command: Any) -> None:
    """Only the first restart of a node ends the leases of the life before."""
    known = self.joined.get(command.node)
    method(self, message_ts, command)
    if known is not None:
        self.joined[command.node] = known


def votes_at_once(method: Any, self: Member, *given: Any) -> None:
    """A vote is sent before it is on the disk."""
    method(self, *given)
    votes = [one for one in self._promised if isinstance(one[1], VoteReply)]
    self._promised = [one for one in self._promised if one not in votes]
    self.outbox += votes


def late_intents_win(method: Any, self: Partition, command: WriteIntent) -> Any:
    """An intent that comes late takes the place of a later one of its transaction."""
    known = self.intents.get(command.key)
    if known is not None and known.tx == command.tx and known.op != command.op:
        del self.intents[command.key]
    return method(self, command)


def of_any_life(_method: Any, _self: Leases, _start_ts: Any) -> bool:
    """A lease of an earlier life is served."""
    return True


def takes_what_comes(method: Any, self: Group) -> None:
    """A proposal gets the result of whatever is applied at its index."""
    index, _ = self.member.committed[0]
    waiting = self._waiting.pop(index, None)
    method(self)
    if waiting is not None:
        waiting.set(self._last_result[1])


async def looks_too_early(method: Any, change: Any, op: str, added: Any, read_ts: Any) -> object:
    """A table is looked at as of some DDs before its pending column is in force."""
    before_ts = plus_ms(read_ts, -4 * change.node.settings.delay_duration_ms)
    return await method(change, op, added, before_ts)


PLANTS: list[tuple[object, str, Callable[..., Any], str, str, int, str]] = [
    (
        renaming,
        "_aliases_of",
        all_but_the_first,
        "b13_alias",
        "table dropped while old names stay",
        141,
        "alias-of-nothing",
    ),
    (
        backfill,
        "pack",
        as_it_compares,
        "c1_schema",
        "indexed integers become floats",
        9,
        "row-not-found",
    ),
    (
        Readers,
        "_found",
        found_without_intents,
        "ignite_index",
        "build aimed at",
        78,
        "row-not-found",
    ),
    (
        Application,
        "_install",
        unheard,
        "b13_alias",
        "leader by a snapshot",
        144,
        "alias-stands-still",
    ),
    (
        Application,
        "_compare_and_set",
        by_the_catalog,
        "iep",
        "DD lowered before a slow catalog",
        52,
        "wrong-version",
    ),
    (
        Application,
        "_install",
        last_activation_left,
        "iep",
        "DD lowered before a snapshot",
        81,
        "wrong-version",
    ),
    (Application, "snapshot", few_results, "iep_closed", "leader returns", 32, "failed-but-logged"),
    (
        TransactionCompletion,
        "writes_are_replicated",
        replicated_at_once,
        "iep_closed",
        "operations and commit together",
        57,
        "lost-write",
    ),
    (
        execution,
        "upgrade",
        default_for_null,
        "iep_closed",
        "defaults of older rows",
        56,
        "misread-row",
    ),
    (
        Application,
        "_take_joined",
        first_restart_only,
        "iep_closed",
        "primary restarts twice",
        1782,
        "left-open",
    ),
    (
        Partition,
        "_write",
        late_intents_win,
        "iep_closed",
        "own writes late into the log",
        2181,
        "G1b",
    ),
    (
        Member,
        "_take_request",
        votes_at_once,
        "iep_closed",
        "leader returns, how",
        812,
        "two-leaders",
    ),
    (
        mandatory_columns,
        "_why_not_empty",
        looks_too_early,
        "b12_two_step",
        "mandatory columns of an empty table",
        45,
        "missing-value",
    ),
    (Leases, "is_of_this_life", of_any_life, "iep_closed", "restart at a read", 711, "G-single"),
    (Router, "ask_primary", under_the_next_lease, "iep", "restless leases", 96, "under-two-leases"),
]


@pytest.mark.parametrize(
    ("owner", "attribute", "planted", "design", "knob", "seed", "kind"),
    PLANTS,
    ids=[one[4] for one in PLANTS],
)
def test_a_world_shows_the_fault_that_it_is_drawn_for(
    owner: object,
    attribute: str,
    planted: Callable[..., Any],
    design: str,
    knob: str,
    seed: int,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert drawn_of(seed, design).knobs[knob] != OFF
    assert kinds(design, seed) == set()
    own = getattr(owner, attribute)
    monkeypatch.setattr(owner, attribute, lambda *given, **more: planted(own, *given, **more))
    assert kind in kinds(design, seed)


def test_a_primary_that_restarts_within_a_build_holds_up_the_statement_of_its_index() -> None:
    """Its partition is filled once it has another lease: it takes part in the statement."""
    seed, design = 11302002, "ignite_index"
    assert drawn_of(seed, design).knobs["build aimed at"] == "partition"
    assert kinds(design, seed) == set()


def test_a_leader_that_returns_is_sent_what_has_taken_the_place_of_its_own_entries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What takes the results of these for its own differs from the model of its group."""
    seed, design = 188, "iep_closed"
    assert drawn_of(seed, design).knobs["leader overtaken"] != OFF

    def parts() -> set[str]:
        world = plan(swarm.scenario(under(design), seed), seed, models=True)
        return {one.part for one in run(world).of(PartDiverged)}

    assert parts() == set()
    own = Group._apply_next
    monkeypatch.setattr(Group, "_apply_next", lambda group: takes_what_comes(own, group))
    assert "group" in parts()
