"""What a member keeps on its disk: its term, its vote, the log, and the last snapshot.

A write counts only once it is *synced*. What a member promises to others (a vote, entries stored)
it may say only after that; what a crash loses is at most what was not synced. A disk that is
writing when the machine dies may have written some of it: a torn tail.

The log may be compacted: entries up to `base_index` are dropped once a snapshot contains them.
"""

from ddlsim.protocol.raft.messages import Entry


class Mark:
    """A write under way: what will be on the disk when it is done."""

    __slots__ = ("index", "term", "voted_for")

    def __init__(self, index: int, term: int, voted_for: str | None) -> None:
        self.index = index
        self.term = term
        self.voted_for = voted_for


class RaftLog:
    """A member's disk; indexes start at 1, 0 is the empty log's end."""

    __slots__ = (
        "_marks",
        "_synced_term",
        "_synced_vote",
        "applied",
        "base_index",
        "base_term",
        "entries",
        "snapshot_index",
        "snapshot_state",
        "snapshot_term",
        "synced_index",
        "term",
        "voted_for",
    )

    def __init__(self) -> None:
        self.term = 0
        self.voted_for: str | None = None
        self.entries: list[Entry] = []
        self.base_index = 0
        self.base_term = 0
        self.snapshot_index = 0
        self.snapshot_term = 0
        self.snapshot_state: object = None
        self.synced_index = 0
        self.applied = 0
        self._synced_term = 0
        self._synced_vote: str | None = None
        self._marks: list[Mark] = []

    @property
    def last_index(self) -> int:
        """The index of the last entry."""
        return self.base_index + len(self.entries)

    @property
    def last_term(self) -> int:
        """The term of the last entry."""
        return self.entries[-1].term if self.entries else self.base_term

    def entry(self, index: int) -> Entry:
        """The entry at an index that the log still holds."""
        place = index - self.base_index
        assert 0 < place <= len(self.entries), f"{index} is not in the log"
        return self.entries[place - 1]

    def term_at(self, index: int) -> int | None:
        """The term of an entry; None where the log does not reach, or no longer does."""
        place = index - self.base_index
        if place > 0:
            try:
                return self.entries[place - 1].term
            except IndexError:
                return None
        return None if place else self.base_term

    def between(self, index: int, last: int) -> list[Entry]:
        """Every entry behind `index`, up to that at `last`."""
        assert self.base_index <= index <= last, f"{index} is in the snapshot"
        assert last <= self.base_index + len(self.entries), f"{last} is not in the log"
        return self.entries[index - self.base_index : last - self.base_index]

    def since(self, index: int) -> tuple[Entry, ...]:
        """Every entry behind `index`."""
        assert index >= self.base_index, f"{index} is in the snapshot"
        return tuple(self.entries[index - self.base_index :])

    def truncate(self, index: int) -> None:
        """Drop the entry at `index` and all behind it."""
        assert index > self.base_index, f"{index} is in the snapshot"
        del self.entries[index - self.base_index - 1 :]
        self.synced_index = min(self.synced_index, index - 1)
        for mark in self._marks:
            mark.index = min(mark.index, index - 1)

    # --- the disk ---------------------------------------------------------------------------------

    @property
    def has_safe_term(self) -> bool:
        """Whether the present term is on the disk; a candidate's own vote is written with it."""
        return self._synced_term == self.term

    def mark(self) -> Mark:
        """Begin to write everything that there is by now."""
        mark = Mark(self.last_index, self.term, self.voted_for)
        self._marks.append(mark)
        return mark

    def sync(self, mark: Mark) -> None:
        """A write has ended: what it was to contain, and was not dropped since, is safe."""
        if mark not in self._marks:  # the disk has become faster meanwhile, and is done already
            return
        del self._marks[: self._marks.index(mark) + 1]  # it contains what the earlier ones did
        self.synced_index = max(self.synced_index, mark.index)
        self._synced_term, self._synced_vote = mark.term, mark.voted_for

    def sync_now(self) -> None:
        """A disk that takes no time; or one that had got everything before the machine died."""
        if self._marks:
            self._marks = []
        self.synced_index = self.base_index + len(self.entries)
        self._synced_term, self._synced_vote = self.term, self.voted_for

    def lose_unsynced(self, torn: int) -> None:
        """The machine died: of what was not synced, only the first `torn` entries survive.

        What a snapshot holds stays applied, also where the entries before its end are gone. It may
        have been taken before the write of its last entry ended: the term is written with it.
        """
        kept = max(self.synced_index - self.base_index, 0) + torn
        del self.entries[kept:]
        if not torn:
            self.term, self.voted_for = self._synced_term, self._synced_vote
            if self.term < self.snapshot_term:
                self.term, self.voted_for = self.snapshot_term, None
        self.applied = max(min(self.applied, self.last_index), self.snapshot_index)
        self._marks = []

    # --- snapshots --------------------------------------------------------------------------------

    def compact(self, index: int, state: object, keep: int) -> None:
        """Keep the state after `index`, and of the entries before it only the last `keep`."""
        term = self.term_at(index)
        assert term is not None, f"{index} is not in the log"
        assert index >= self.snapshot_index, f"the snapshot would go back to {index}"
        self.snapshot_index, self.snapshot_term, self.snapshot_state = index, term, state
        base = max(index - keep, self.base_index)
        base_term = self.term_at(base)
        assert base_term is not None, f"{base} is not in the log"
        del self.entries[: base - self.base_index]
        self.base_index, self.base_term = base, base_term

    def replace(self, index: int, term: int, state: object) -> None:
        """Take over a snapshot; entries behind it stay where they agree with it."""
        if self.term_at(index) == term:
            del self.entries[: index - self.base_index]
        else:
            self.entries = []
            self.synced_index = min(self.synced_index, index)
            for mark in self._marks:
                mark.index = min(mark.index, index)
        self.base_index, self.base_term = index, term
        self.snapshot_index, self.snapshot_term, self.snapshot_state = index, term, state
