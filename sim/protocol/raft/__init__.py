"""Raft (Ongaro and Ousterhout, 2014) as a step machine: messages, log and member."""

from ddlsim.protocol.raft.log import Mark, RaftLog
from ddlsim.protocol.raft.member import Member
from ddlsim.protocol.raft.messages import (
    RAFT_MESSAGES,
    AppendEntries,
    AppendReply,
    Entry,
    InstallSnapshot,
    RaftMessage,
    RequestVote,
    SnapshotReply,
    TimeoutNow,
    VoteReply,
)

__all__ = [
    "RAFT_MESSAGES",
    "AppendEntries",
    "AppendReply",
    "Entry",
    "InstallSnapshot",
    "Mark",
    "Member",
    "RaftLog",
    "RaftMessage",
    "RequestVote",
    "SnapshotReply",
    "TimeoutNow",
    "VoteReply",
]
