"""What members of a replication group say to each other."""

from typing import Final

from ddlsim.model.records import Record
from ddlsim.units import Timestamp


class Entry(Record, frozen=True):
    """One entry of the log."""

    term: int
    command: object


class AppendEntries(Record, frozen=True):
    """Entries that follow the one at `prev_index`, and how far the log is committed.

    `round` numbers heartbeats, which are answered also when they bring nothing; 0 is none.
    """

    term: int
    prev_index: int
    prev_term: int
    entries: tuple[Entry, ...]
    commit_index: int
    round: int = 0


class AppendReply(Record, frozen=True):
    """`match_index`: up to where the logs agree (success), or where to try again (refusal)."""

    term: int
    success: bool
    match_index: int
    round: int = 0


class RequestVote(Record, frozen=True):
    """A candidate asks for a vote in `term`; with `pre` it asks whether it would get one.

    `forced`: the leader itself asked for this election: members that hear it vote as well.
    """

    term: int
    last_index: int
    last_term: int
    pre: bool = False
    forced: bool = False


class VoteReply(Record, frozen=True):
    """Whether the vote is given; `term` is the voter's, or the one asked for if it is given."""

    term: int
    granted: bool
    pre: bool = False


class TimeoutNow(Record, frozen=True):
    """The leader hands over: stand for election at once. `payload` is its clock, if it tells it."""

    term: int
    payload: Timestamp | None = None


class InstallSnapshot(Record, frozen=True):
    """The state after the entry at `last_index`, for a member that lags behind the log's start."""

    term: int
    last_index: int
    last_term: int
    state: object


class SnapshotReply(Record, frozen=True):
    """The state is in, or was not needed; the logs agree up to `match_index`."""

    term: int
    match_index: int


RaftMessage = (
    AppendEntries
    | AppendReply
    | RequestVote
    | VoteReply
    | TimeoutNow
    | InstallSnapshot
    | SnapshotReply
)
RAFT_MESSAGES: Final[tuple[type[RaftMessage], ...]] = (
    AppendEntries,
    AppendReply,
    RequestVote,
    VoteReply,
    TimeoutNow,
    InstallSnapshot,
    SnapshotReply,
)
"""Every kind of them."""
