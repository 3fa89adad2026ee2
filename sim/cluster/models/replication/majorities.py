"""Majorities of groups of any size, asked beside each run.

Drawn worlds have groups of one, three and five. So beside each run groups of up to six voters are
asked what a majority of them is: an entry is committed once so many store it, a member leads once
so many vote for it, and a leader is silent since the instant since which so many were heard.
"""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.protocol.raft import Member
from ddlsim.protocol.raft.log import RaftLog
from ddlsim.protocol.raft.messages import AppendReply, VoteReply
from ddlsim.protocol.replication.group import Group

SIZES: Final = range(2, 7)
"""Of the groups; one of one voter has a majority whatever it does."""
NOW_US: Final = 100


def compare_majorities(divergence: Divergence) -> None:
    """Let the other voters of each group answer, one after the other."""
    for size in SIZES:
        least = next(votes for votes in range(size + 1) if votes > size - votes)
        divergence.compare(f"stored by how many of {size} an entry commits", _stored(size), least)
        divergence.compare(f"how many of {size} elect a leader", _elected(size), least)
        for silent in range(size):
            found = _heard_us(size, silent) == NOW_US
            due = size - silent >= least
            divergence.compare(f"whether {silent} of {size} may be silent", found, due)


def _voters(size: int) -> tuple[str, ...]:
    return tuple(f"n{number}" for number in range(1, size + 1))


def _others(size: int) -> Iterator[tuple[int, str]]:
    """The other voters, each with how many have answered together with the first one then."""
    return enumerate(_voters(size)[1:], 2)


def _stored(size: int) -> int:
    """By how many an entry of the first one has to be stored."""
    member = Member("n1", _voters(size), (), RaftLog(), leader="n1")
    index = member.propose("c")
    member.sync_now()
    for count, peer in _others(size):
        member.step(peer, AppendReply(member.term, success=True, match_index=index))
        if member.commit_index == index:
            return count
    return 0


def _elected(size: int) -> int:
    """How many have to vote for the first one, itself included, that it leads."""
    member = Member("n1", _voters(size), (), RaftLog())
    member.election_timeout()
    for _, peer in _others(size):
        member.step(peer, VoteReply(member.term + 1, granted=True, pre=True))
        member.sync_now()
        if member.role.value == "candidate":
            break
    for count, peer in _others(size):
        member.step(peer, VoteReply(member.term, granted=True))
        if member.is_leader:
            return count
    return 0


def _heard_us(size: int, silent: int) -> int:
    """Since when a majority was heard, where so many of the others were not heard since 1."""
    voters = _voters(size)
    heard = {name: 1 if place <= silent else NOW_US for place, name in enumerate(voters)}
    group: Any = SimpleNamespace(
        node=SimpleNamespace(name="n1", watch=SimpleNamespace(now_us=NOW_US)),
        voters=voters,
        _heard_us=heard,
    )
    return Group._majority_heard_us(group)
