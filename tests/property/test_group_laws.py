"""Whatever dies, hangs or is cut off: what a proposer was told is kept, and all replicas agree."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ddlsim.protocol.replication.group import Pending
from tests.support.replicas import ELECTION_MS, Replicas

NAMES = "abc"
NODES = st.sampled_from(NAMES)
STEPS = st.one_of(
    st.tuples(st.just("say"), st.integers(1, 3)),
    st.tuples(st.just("cut"), st.sets(NODES, max_size=2)),
    st.tuples(st.just("crash"), st.tuples(NODES, st.booleans(), st.integers(0, 2))),
    st.tuples(st.just("restart"), NODES),
    st.tuples(st.just("disk"), st.tuples(NODES, st.sampled_from([0, 3_000, 40_000]))),
    st.tuples(st.just("wait"), st.sampled_from([1, 2, 7, ELECTION_MS, 4 * ELECTION_MS])),
    st.tuples(st.just("transfer"), NODES),
)


class Story:
    """Three members, what was said and what its proposers were told."""

    def __init__(self) -> None:
        self.trio = Replicas(NAMES, snapshot_entries=3)
        self.told: list[str] = []
        self.pending: list[tuple[str, Pending]] = []
        self.number = 0

    def step(self, what: str, how: Any) -> None:
        """One thing happens, if it can."""
        trio = self.trio
        alive = {name: trio.nodes[name].alive for name in NAMES}
        match what:
            case "say":
                for _ in range(how):
                    self.say()
            case "cut":
                trio.cut = how
            case "crash" if alive[how[0]]:
                trio.crash(how[0], lost=how[1], torn=how[2])
            case "restart" if not alive[how]:
                trio.restart(how)
            case "disk":
                trio.nodes[how[0]].disk_delay_us = how[1]
            case "wait":
                trio.later(how)
            case "transfer" if alive[how]:
                self.transfer(how)

    def transfer(self, name: str) -> None:
        for leader in self.trio.leaders:
            if leader != name:
                self.trio[leader].transfer_to(name)

    def say(self) -> None:
        for leader in self.trio.leaders[-1:]:
            self.number += 1
            word = f"w{self.number}"
            result = self.trio.say(leader, word)
            if type(result) is Pending:
                self.pending.append((word, result))
            else:
                self.told.append(word)

    def heal(self) -> None:
        """Everything works again, for long enough; and one more word is said."""
        trio = self.trio
        trio.cut = set()
        for name in NAMES:
            if not trio.nodes[name].alive:
                trio.restart(name)
            trio.nodes[name].disk_delay_us = 0
        trio.later(30 * ELECTION_MS)
        self.say()
        trio.later(5 * ELECTION_MS)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_acknowledged_entries_stay_and_replicas_agree(steps: list[tuple[str, Any]]) -> None:
    """No word twice, none lost that its proposer was told of, the same order everywhere."""
    story = Story()
    for what, how in steps:
        story.step(what, how)
    story.heal()
    words = story.trio.words()
    assert words[0] == words[1] == words[2]
    assert words[0][-1] == f"w{story.number}", "nobody leads, though everything works"
    assert len(set(words[0])) == len(words[0])
    told = story.told + [
        word
        for word, result in story.pending
        if result.future.done and result.future.value == f"heard {word}"
    ]
    assert set(told) <= set(words[0])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["say", "slow", "fast", "crash", "torn", "wait"]), max_size=25))
def test_a_group_of_one_loses_no_entry(steps: list[str]) -> None:
    """Its machine checks that no index is missing; what was told survives any crash."""
    alone = Replicas("a", snapshot_entries=2)
    told: list[str] = []
    pending: list[tuple[str, Pending]] = []
    for number, step in enumerate([*steps, "fast", "wait", "say", "wait"]):
        match step:
            case "say":
                result = alone.say("a", f"w{number}")
                if type(result) is Pending:
                    pending.append((f"w{number}", result))
                else:
                    told.append(f"w{number}")
            case "slow" | "fast":
                alone.nodes["a"].disk_delay_us = 5_000 * (step == "slow")
            case "crash" | "torn":
                told += [word for word, each in pending if each.future.done]
                pending = []
                alone.crash("a", lost=True, torn=step == "torn")
                alone.restart("a")
                alone.later(6)
            case "wait":
                alone.later(6)
    told += [word for word, each in pending if each.future.done]
    words = alone.machines["a"].words
    assert set(told) <= set(words)
    assert words == sorted(words, key=lambda word: int(word[1:]))
