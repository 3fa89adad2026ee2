"""For any transactions, any delays, any copies of messages between nodes: all or nothing.

Coordinators and primaries without a world around them: one catalog that never changes, a wire that
may deliver every message between nodes late and twice.
"""

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ddlsim.history.events import ReadExecuted, TxCommitted, WriteExecuted
from ddlsim.protocol.messages import Answer, ClientCommit, ClientOperation, ClientRollback, Refusal
from tests.support.protocol import Sent, Stage

KEYS = st.integers(0, 3)
NODES = ("n1", "n2", "n3")


class Op(NamedTuple):
    """One operation of a transaction; a put writes the number of its transaction and place."""

    action: str
    key: int | None


class Story(NamedTuple):
    """A transaction: who coordinates it, when it begins, what it does, whether it commits."""

    node: str
    begins_us: int
    ops: list[Op]
    commits: bool


OPS = st.one_of(
    st.builds(Op, st.sampled_from(["get", "put", "put", "delete"]), KEYS),
    st.just(Op("scan", None)),
)
STORIES = st.lists(
    st.builds(
        Story,
        st.sampled_from(NODES),
        st.integers(0, 3_000),
        st.lists(OPS, min_size=1, max_size=4),
        st.booleans() | st.just(True),
    ),
    min_size=1,
    max_size=5,
)
DELAYS = st.lists(st.integers(0, 4_000), min_size=1, max_size=12)


class Play:
    """The stories, told at the same time."""

    def __init__(self, stories: list[Story], delays: list[int], copied: int) -> None:
        self.stage = Stage(names=NODES, partitions=2, lock_retries=1)
        self.delays = delays
        self.copied = copied
        self.stage.wire.fate = self.fate
        self.told: dict[str, str] = {}
        for number, story in enumerate(stories):
            tx = f"t{number}"
            self.stage.loop.call_at(story.begins_us, self.stage.loop.spawn, self.tell(tx, story))
        self.stage.loop.run(until_us=3_000_000)

    def fate(self, sent: Sent) -> tuple[int, ...]:
        """Clients are near and heard once; among nodes everything may come late, and some twice."""
        number = len(self.stage.wire.sent)
        if "client" in (sent.sender, sent.to):
            return (0,)
        first = self.delays[number % len(self.delays)]
        if self.copied and number % self.copied == 0:
            return (first, self.delays[(number * 7) % len(self.delays)])
        return (first,)

    async def tell(self, tx: str, story: Story) -> None:
        client = self.stage.client
        for place, op in enumerate(story.ops):
            row = (op.key, place) if op.action == "put" else None
            request = ClientOperation(
                f"{tx}.{place}", tx, op.action, "t", op.key, row, 1, 1, begins=place == 0
            )
            reply: Any = await client.request(story.node, request, 10_000_000)
            if type(reply) is not Answer:
                assert type(reply) is Refusal, reply
                self.told[tx] = "aborted"
                return
        end = ClientCommit(f"{tx}.c", tx) if story.commits else ClientRollback(f"{tx}.c", tx)
        reply = await client.request(story.node, end, 10_000_000)
        assert type(reply) is Answer, reply
        self.told[tx] = "committed" if story.commits else "aborted"

    def executed(self) -> list[Any]:
        """Each operation where it ran first: a copy of a read may run again, unheard."""
        first: dict[tuple[str, int], Any] = {}
        for event in self.events(ReadExecuted) + self.events(WriteExecuted):
            known = first.setdefault((event.op, event.partition), event)
            if event.op_ts < known.op_ts:
                first[event.op, event.partition] = event
        return list(first.values())

    def events(self, kind: type) -> list[Any]:
        return sorted(self.stage.of(kind), key=lambda event: event.at_us)


@given(STORIES, DELAYS, st.integers(0, 4))
def test_transactions_are_all_or_nothing_and_serial_by_their_commit_timestamps(
    stories: list[Story], delays: list[int], copied: int
) -> None:
    """Whatever the messages between nodes do."""
    play = Play(stories, delays, copied)
    assert len(play.told) == len(stories), "everybody is told an outcome"
    committed = {event.tx: event.commit_ts for event in play.events(TxCommitted)}
    assert len(committed) == len(play.events(TxCommitted)), "committed once"
    writes = [event.op for event in play.events(WriteExecuted)]
    assert len(writes) == len(set(writes)), "written once"
    assert set(committed) == {tx for tx, outcome in play.told.items() if outcome == "committed"}
    assert not any(member.replica.has_open_work for member in play.stage.members.values())

    last: dict[tuple[int, Any], Any] = {}
    writers: dict[Any, list[str]] = {}
    for tx in sorted(committed, key=lambda tx: committed[tx]):
        story = stories[int(tx[1:])]
        mine = {
            op.key: (op.key, place) if op.action == "put" else None
            for place, op in enumerate(story.ops)
            if op.action in ("put", "delete")
        }
        for key, row in mine.items():
            last[1, key] = row
            writers.setdefault(key, []).append(tx)
    for key, expected in writers.items():
        home = play.stage[NODES[(1 + key % 2) % 3]].replica.partitions[1, key % 2]
        assert [version.writer for version in home.rows[key]] == expected
        assert home.rows[key][-1].row == last[1, key]
    stored = sum(
        len(partition.rows)
        for member in play.stage.members.values()
        for partition in member.replica.partitions.values()
    )
    assert stored == len(writers), "nothing else is stored"

    for read in play.events(ReadExecuted):
        if read.tx not in committed:
            continue
        for row in read.rows:
            if row.writer in (None, read.tx):
                continue
            assert committed[row.writer] < committed[read.tx], "what is read was committed before"
            between = [
                tx
                for tx in writers[row.key]
                if committed[row.writer] < committed[tx] < committed[read.tx]
            ]
            assert between == [], "and nothing lies between"
    for operation in play.executed():
        if operation.tx in committed:
            assert operation.op_ts < committed[operation.tx]
