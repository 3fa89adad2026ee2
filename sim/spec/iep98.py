"""The scope `iep98`: schema synchronization, with whatever clocks and delays.

Nodes have clocks that count ticks and never differ by more than `skew`; one node leads the meta
storage. It logs up to `ddls` updates, and each node applies them in order, whenever. A node
*resolves* the schema at its clock's time, Top. What must hold:

* I1, the Atomicity Property: a resolution returns the number of updates that the whole log, what is
  logged later included, has with Tu <= Top.
* I4: once a DDL is acknowledged, every node resolves it.

Time is only the order of events here: a message may take any time, a node may stop for any time.
So what holds, holds for all delays; and the shortest run that breaks something is found first. A
tick of the leader stands for an idle command of the log, too: its safe time is that at once.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ddlsim.spec.base import Constant, Label, Rule, Scope, Variant, raised, replaced, scope

NONE: Final = -1
"""In place of a version: no node has resolved at that time."""
ATOMICITY: Final = "I1"
OWN_DDL: Final = "I4"


class Update(NamedTuple):
    """An update of the log: the timestamp of its message, and the one at which it activates."""

    message: int
    activation: int


class State(NamedTuple):
    """The variables, in the order of the TLA+ module; what is by node has one value for each.

    `now` are clocks, `safe` safe times, `applied` the updates applied. `resolved` has for each Top
    the version that was resolved, or `NONE`; `acknowledged` counts DDLs, `changes` those of the
    leader, which is `leader` (from 0). `broken` ends a run.
    """

    now: tuple[int, ...]
    safe: tuple[int, ...]
    applied: tuple[int, ...]
    log: tuple[Update, ...]
    resolved: tuple[int, ...]
    acknowledged: int
    leader: int
    changes: int
    broken: tuple[str, ...]


class Bounds(NamedTuple):
    """The constants."""

    nodes: int
    time: int
    ddls: int
    dd: int
    skew: int
    csmax: int
    changes: int
    clients: int


CONSTANTS: Final = (
    Constant("nodes", "nodes, one of which leads the meta storage", 3, 1, 6),
    Constant("time", "the last tick of every clock", 5, 1, 30),
    Constant("ddls", "DDLs that may be logged", 2, 1, 6),
    Constant("dd", "DD, the delay duration, in ticks", 2, 0, 20),
    Constant("skew", "by how many ticks two clocks differ at most; they tick one by one", 2, 1, 30),
    Constant("csmax", "CSmax, as the rules have it, in ticks", 2, 0, 30),
    Constant("changes", "times that another node becomes leader of the meta storage", 0, 0, 3),
    Constant("clients", "1: clients wait for acknowledgements; 0: there are none", 1, 0, 1),
)

ACTIVATION: Final[Mapping[str, Callable[[int, int], int]]] = {
    "dd_after_message": lambda message, dd: message + dd,
    "with_message": lambda message, dd: message,
    "dd_before_message": lambda message, dd: message - dd,
    "less_than_dd_after_message": lambda message, dd: message + max(dd - 1, 0),
}
"""Tu by Tm and DD."""
WAIT: Final[Mapping[str, Callable[[int, int, int], int]]] = {
    "top_less_dd": lambda top, dd, csmax: top - dd,
    "top": lambda top, dd, csmax: top,
    "top_plus_csmax": lambda top, dd, csmax: top + csmax,
    "top_less_dd_plus_csmax": lambda top, dd, csmax: top - dd + csmax,
    "top_less_dd_less_one": lambda top, dd, csmax: top - dd - 1,
    "top_less_twice_dd": lambda top, dd, csmax: top - 2 * dd,
    "never": lambda top, dd, csmax: 0,
}
"""The safe time that is waited for, by Top, DD and CSmax."""
LOOKUP: Final[Mapping[str, Callable[[int, int], int]]] = {
    "at_top": lambda top, dd: top,
    "at_top_less_dd": lambda top, dd: top - dd,
    "before_top": lambda top, dd: top - 1,
}
"""The time up to which updates count, by Top and DD."""
NEWEST: Final = "newest_applied"

RULES: Final = (
    Rule("activation", "98.past.2", {
        "dd_after_message": "Tu = Tm + DD",
        "with_message": "Tu = Tm",
        "dd_before_message": "Tu = Tm - DD",
        "less_than_dd_after_message": "Tu = Tm + DD - 1: the DD of its node is smaller",
    }),
    Rule("wait", "98.past.3", {
        "top_less_dd": "for safeTime >= Top - DD",
        "top": "for safeTime >= Top",
        "top_plus_csmax": "for safeTime >= Top + CSmax",
        "top_less_dd_plus_csmax": "for safeTime >= Top - DD + CSmax",
        "top_less_dd_less_one": "for safeTime >= Top - DD - 1",
        "top_less_twice_dd": "for safeTime >= Top - 2 DD",
        "never": "for nothing",
    }),
    Rule("lookup", "98.past.3", {
        "at_top": "the last version with Tu <= Top",
        "at_top_less_dd": "the last version with Tu <= Top - DD",
        "before_top": "the last version with Tu < Top",
        NEWEST: "the last version that the node has applied",
    }),
    Rule("stamps", "98.x.2", {
        "fresh": "Tm is larger than every safe time that was published",
        "may_tie": "Tm may be the safe time that was published last",
    }),
    Rule("safe_time", "98.x.3", {
        "behind_updates": "advances once what is before it is applied",
        "before_updates": "may advance before that",
    }),
    Rule("take_over", "98.x.1", {
        "merges": "a new leader's clock is raised to the largest timestamp of the log",
        "keeps_own_clock": "a new leader trusts its own clock",
    }),
    Rule("acknowledgement", "98.flow.4", {
        "csmax_after_activation": "once a clock shows Tu + CSmax",
        "at_activation": "once a clock shows Tu",
        "at_once": "once it is logged",
        "all_nodes": "once every node has applied it and shows Tu",
    }),
)  # fmt: skip


class SchemaSynchronization:
    """The machine; `steps` is the module's `Next`, action for action."""

    def __init__(
        self, constants: Mapping[str, int], rules: Mapping[str, str], judged: Collection[str]
    ) -> None:
        self.bounds = Bounds(**constants)
        self._judges_atomicity = ATOMICITY in judged
        self._judges_own_ddl = OWN_DDL in judged
        self._activation = ACTIVATION[rules["activation"]]
        self._wait = WAIT[rules["wait"]]
        self._lookup = LOOKUP.get(rules["lookup"])
        self._may_tie = rules["stamps"] == "may_tie"
        self._may_overtake = rules["safe_time"] == "before_updates"
        self._merges = rules["take_over"] == "merges"
        self._acknowledgement = rules["acknowledgement"]

    def first(self) -> State:
        """Clocks at 0, nothing logged; node 1 leads."""
        zeros = (0,) * self.bounds.nodes
        return State(zeros, zeros, zeros, (), (NONE,) * (self.bounds.time + 1), 0, 0, 0, ())

    def broken(self, state: State) -> tuple[str, ...]:
        """What the last action broke."""
        return state.broken

    def tests(self, label: Label, after: State) -> tuple[str, ...]:
        """A resolution at a time at which an update is active; one after an acknowledgement."""
        if label[0] != "resolve":
            return ()
        active = _true_version(after, after.now[label[1]]) > 0
        return (ATOMICITY,) * active + (OWN_DDL,) * (after.acknowledged > 0)

    def steps(self, state: State) -> Iterator[tuple[Label, State]]:
        """Every action that may be taken."""
        if state.broken:
            return
        ahead = min(self.bounds.time, min(state.now) + self.bounds.skew)
        for node, now in enumerate(state.now):
            if now < ahead:
                yield ("tick", node), self._ticked(state, node)
            if node != state.leader:
                yield from self._synced(state, node)
                if state.changes < self.bounds.changes:
                    yield ("lead", node), self._led(state, node)
            resolved = self._resolved(state, node)
            if resolved is not None:
                yield ("resolve", node), resolved
        if self.bounds.clients and self._may_acknowledge(state):
            yield ("acknowledge",), state._replace(acknowledged=state.acknowledged + 1)
        if len(state.log) < self.bounds.ddls and (self._may_tie or state.now[state.leader] < ahead):
            yield ("log",), self._logged(state)

    def _ticked(self, state: State, node: int) -> State:
        """A clock goes on; the leader's is a safe time as soon as it shows it."""
        now = replaced(state.now, node, state.now[node] + 1)
        if node != state.leader:
            return state._replace(now=now)
        return state._replace(now=now, safe=raised(state.safe, node, now[node]))

    def _logged(self, state: State) -> State:
        """The leader logs an update under a timestamp, and has it applied."""
        leader = state.leader
        message = state.now[leader] + (not self._may_tie)
        activation = self._activation(message, self.bounds.dd)
        log = (*state.log, Update(message, activation))
        late = self._judges_atomicity and any(
            one != NONE for one in state.resolved[max(activation, 0) :]
        )
        return state._replace(
            now=replaced(state.now, leader, message),
            safe=raised(state.safe, leader, message),
            applied=replaced(state.applied, leader, len(log)),
            log=log,
            broken=(ATOMICITY,) if late else (),
        )

    def _synced(self, state: State, node: int) -> Iterator[tuple[Label, State]]:
        """A node applies the next update, or takes the leader's safe time."""
        applied = state.applied[node]
        if applied < len(state.log):
            message = state.log[applied].message
            yield (
                ("apply", node),
                state._replace(
                    applied=replaced(state.applied, node, applied + 1),
                    safe=raised(state.safe, node, message),
                ),
            )
        newest = state.safe[state.leader]
        if state.safe[node] < newest and (self._may_overtake or applied == len(state.log)):
            yield ("advance", node), state._replace(safe=replaced(state.safe, node, newest))

    def _led(self, state: State, node: int) -> State:
        """Another node leads: it has the whole log, and the safe times in it."""
        newest = state.safe[state.leader]
        return state._replace(
            now=raised(state.now, node, newest) if self._merges else state.now,
            safe=replaced(state.safe, node, newest),
            applied=replaced(state.applied, node, len(state.log)),
            leader=node,
            changes=state.changes + 1,
        )

    def _resolved(self, state: State, node: int) -> State | None:
        """A node resolves the schema at its clock's time; None where it must wait, or did it."""
        top, bounds = state.now[node], self.bounds
        if state.safe[node] < self._wait(top, bounds.dd, bounds.csmax):
            return None
        version = state.applied[node]
        if self._lookup is not None:
            until = self._lookup(top, bounds.dd)
            version = sum(one.activation <= until for one in state.log[:version])
        wrong = self._judges_atomicity and version != _true_version(state, top)
        unseen = self._judges_own_ddl and version < state.acknowledged
        if state.resolved[top] == version and not wrong and not unseen:
            return None
        return state._replace(
            resolved=replaced(state.resolved, top, version),
            broken=(ATOMICITY,) * wrong + (OWN_DDL,) * unseen,
        )

    def _may_acknowledge(self, state: State) -> bool:
        """Whether the oldest DDL without one gets its acknowledgement."""
        number = state.acknowledged
        if number == len(state.log):
            return False
        activation = state.log[number].activation
        match self._acknowledgement:
            case "csmax_after_activation":
                return max(state.now) >= activation + self.bounds.csmax
            case "at_activation":
                return max(state.now) >= activation
            case "all_nodes":
                return min(state.now) >= activation and min(state.applied) > number
        return True

    def words(self, label: Label, before: State, after: State) -> str:
        """An action in words; nodes, DDLs and versions count from 1, version 0 is the first."""
        match label:
            case ("log",):
                made = after.log[-1]
                stamps = f"Tm = {made.message}, Tu = {made.activation}"
                return f"node {before.leader + 1}, the leader, logs DDL {len(after.log)}: {stamps}"
            case ("acknowledge",):
                return f"DDL {after.acknowledged} is acknowledged"
            case ("tick", node):
                return f"the clock of node {node + 1} shows {after.now[node]}"
            case ("apply", node):
                which = f"applies DDL {after.applied[node]}"
                return f"node {node + 1} {which}, its safe time is {after.safe[node]}"
            case ("advance", node):
                return f"the safe time of node {node + 1} becomes {after.safe[node]}"
            case ("lead", node):
                clock = f"its clock shows {after.now[node]}, the log {after.safe[node]}"
                return f"node {node + 1} becomes the leader: {clock}"
            case (_, node):
                top = before.now[node]
                had = f"safe time {before.safe[node]}, {before.applied[node]} DDL applied"
                return f"node {node + 1} resolves version {after.resolved[top]} at {top} ({had})"
        raise AssertionError(label)

    def why(self, invariant: str, state: State) -> str:
        """What a broken state shows."""
        if invariant == OWN_DDL:
            which = f"DDL {state.acknowledged} is acknowledged"
            return f"{which}, and a node resolved an older version after that"
        for top, version in enumerate(state.resolved):
            true = _true_version(state, top)
            if version not in {NONE, true}:
                return f"at {top} version {version} was resolved; by the log it is version {true}"
        raise AssertionError(state)

    def shown(self, state: State) -> dict[str, Any]:
        """The variables by name; the leader counts from 1."""
        return {
            **state._asdict(),
            "log": [one._asdict() for one in state.log],
            "leader": state.leader + 1,
        }


def _true_version(state: State, top: int) -> int:
    """How many updates of the whole log have activated at a time."""
    return sum(one.activation <= top for one in state.log)


UNMERGED: Final = {"changes": 1, "ddls": 1}
"""A change of the leader, so that it can matter; one DDL is enough then."""
DESIGNS: Final[Mapping[str, Variant]] = {
    "iep": Variant({}),
    "iep_literal": Variant(
        {"stamps": "may_tie", "safe_time": "before_updates", "take_over": "keeps_own_clock"},
        (ATOMICITY, OWN_DDL),
    ),
    "a0_on_receipt": Variant(
        {
            "activation": "with_message",
            "wait": "never",
            "lookup": NEWEST,
            "acknowledgement": "at_once",
        },
        (ATOMICITY, OWN_DDL),
    ),
    "a1_naive_future": Variant({"wait": "never"}, (ATOMICITY, OWN_DDL)),
    "a5_safetime": Variant({"activation": "with_message", "wait": "top"}),
    "a6_safetime_csmax": Variant({"activation": "with_message", "wait": "top_plus_csmax"}),
    "a7_dd": Variant({}),
    "a7_unmerged": Variant({"take_over": "keeps_own_clock"}, (ATOMICITY, OWN_DDL), UNMERGED),
    "a7_dd_csmax": Variant(
        {"take_over": "keeps_own_clock", "wait": "top_less_dd_plus_csmax"}, (), UNMERGED
    ),
    "a8_all_acks": Variant({"acknowledgement": "all_nodes"}),
}
MUTANTS: Final[Mapping[str, Variant]] = {
    "activates_before_message": Variant({"activation": "dd_before_message"}, (ATOMICITY, OWN_DDL)),
    "activates_with_message": Variant({"activation": "with_message"}, (ATOMICITY, OWN_DDL)),
    "message_carries_own_delay": Variant(
        {"activation": "less_than_dd_after_message"}, (ATOMICITY, OWN_DDL)
    ),
    "no_completeness_wait": Variant({"wait": "never"}, (ATOMICITY, OWN_DDL)),
    "looks_up_in_the_past": Variant({"lookup": "at_top_less_dd"}, (ATOMICITY, OWN_DDL)),
    "open_boundary": Variant({"lookup": "before_top"}, (ATOMICITY, OWN_DDL)),
    "ticks_may_tie": Variant({"stamps": "may_tie"}, (ATOMICITY, OWN_DDL)),
    "safe_time_before_listeners": Variant({"safe_time": "before_updates"}, (ATOMICITY, OWN_DDL)),
    "acknowledges_at_activation": Variant({"acknowledgement": "at_activation"}, (OWN_DDL,)),
    "acknowledges_at_once": Variant({"acknowledgement": "at_once"}, (OWN_DDL,)),
}

IEP98: Final = scope(
    Scope(
        name="iep98",
        title="schema synchronization: what a node resolves, whatever clocks and messages do",
        source="IEP-98",
        constants=CONSTANTS,
        rules=RULES,
        invariants=(ATOMICITY, OWN_DDL),
        designs=DESIGNS,
        mutants=MUTANTS,
        make=SchemaSynchronization,
        tla=Path(__file__).with_suffix(".tla"),
    )
)
