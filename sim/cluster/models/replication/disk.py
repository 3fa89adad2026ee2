"""The model of what a member keeps on its disk, and of what a crash leaves of it at least."""

from ddlsim.protocol.raft.messages import Entry


class Write:
    """A write under way: what is safe once it has ended."""

    def __init__(self, index: int, term: int, vote: str | None) -> None:
        self.index = index
        self.term = term
        self.vote = vote


class Disk:
    """A member's log behind `base`, its term, vote and snapshot; `safe` survives a crash."""

    def __init__(self) -> None:
        self.term = 0
        self.vote: str | None = None
        self.entries: list[Entry] = []
        self.last = 0
        self.base = 0
        self.base_term = 0
        self.snapshot: tuple[int, int, object] = (0, 0, None)
        self.safe = Write(0, 0, None)
        self.writing: list[Write] = []

    def promised(self) -> tuple[int, str | None]:
        """The term and the vote that survive a crash; a snapshot has the term of its end."""
        term = self.snapshot[1]
        return (self.safe.term, self.safe.vote) if term <= self.safe.term else (term, None)

    def add(self, entry: Entry) -> None:
        """Append an entry."""
        self.entries.append(entry)
        self.last += 1

    def term_at(self, index: int) -> int | None:
        """The term of an entry; None for one that is not there."""
        if index == self.base:
            return self.base_term
        there = self.base < index <= self.last
        return self.entries[index - self.base - 1].term if there else None

    def cut(self, index: int) -> None:
        """Drop all behind an index."""
        del self.entries[max(index - self.base, 0) :]
        self.last = self.base + len(self.entries)
        for one in (self.safe, *self.writing):
            one.index = min(one.index, index)

    def begin(self) -> Write:
        """Begin to write all that there is."""
        self.writing.append(Write(self.last, self.term, self.vote))
        return self.writing[-1]

    def end(self, write: Write) -> None:
        """A write has ended; one that began later may have ended before."""
        if write in self.writing:
            del self.writing[: self.writing.index(write) + 1]
            write.index = max(self.safe.index, write.index)
            self.safe = write

    def write_now(self) -> None:
        """Write all without a delay."""
        self.writing.clear()
        safe = self.safe
        safe.index, safe.term, safe.vote = self.last, self.term, self.vote

    def compact(self, index: int, state: object, keep: int) -> None:
        """Keep a snapshot, and the entries behind it and `keep` before it."""
        self.snapshot = (index, self.term_at(index) or 0, state)
        base = max(index - keep, self.base)
        self.base_term = self.term_at(base) or 0
        del self.entries[: base - self.base]
        self.base = base

    def replace(self, index: int, term: int, state: object) -> None:
        """Take over a snapshot; entries behind it stay where it agrees with the log."""
        if self.term_at(index) == term:
            del self.entries[: index - self.base]
        else:
            self.cut(index)
            self.entries = []
        self.base, self.base_term, self.snapshot = index, term, (index, term, state)
        self.last = index + len(self.entries)
