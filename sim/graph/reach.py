"""What lies on ways from edges that go back to edges that go back, where all others go forward.

Few edges are followed one by one in the order of places. Many are in sweeps: all at once, and along
each run of edges that stand behind each other in their block, as those of one client's transactions
or of one key's writes do, by a running maximum. So a sweep follows a whole run, and some six reach
all of 12,000 transactions, in a third of the time; where `SWEEPS` do not, the rest is followed one
by one.
"""

from typing import Final, NamedTuple

import numpy as np

from ddlsim.graph.edges import RW, Edges, joined
from ddlsim.graph.history import Array

FEW: Final = 2_000
"""So many edges are followed one by one."""
SWEEPS: Final = 16
"""So often all edges are followed before the rest is followed one by one."""


class Reached(NamedTuple):
    """Nodes by whether an anti-dependency was the last edge (`anti`) or another one (`plain`)."""

    plain: bytearray
    anti: bytearray

    def masks(self) -> tuple[Array, Array]:
        """Both as arrays over the same memory."""
        return np.frombuffer(self.plain, np.bool_), np.frombuffer(self.anti, np.bool_)


class Rows(NamedTuple):
    """Edges that all are anti-dependencies, or none of them; to twice the `run` each lies in."""

    source: Array
    target: Array
    anti: bool
    run: Array | None

    def flipped(self) -> "Rows":
        """The same the other way round."""
        run = None if self.run is None else self.run[-1] - self.run[::-1]
        return Rows(self.target[::-1], self.source[::-1], self.anti, run)

    def along(self, marked: Array) -> Array:
        """The edges that are marked, and those behind them in their run."""
        if self.run is None:
            return marked
        found: Array = (np.maximum.accumulate(self.run + marked) & 1) > 0
        return found


def on_ways_back(place: Array, blocks: list[Edges], *, apart: bool) -> tuple[Array, bool]:
    """The nodes on ways from the targets of edges that go back to the sources of such edges.

    Every cycle holds an edge that goes back, so that all its nodes are among these. With `apart` no
    two anti-dependencies follow each other on a way. Also whether the nodes are one component,
    since all edges that go back have one target: from there each of the nodes is reached, and each
    leads there.
    """
    edges = joined(blocks)
    anti = (edges.kind & RW) != 0 if apart else np.zeros(len(edges), np.bool_)
    back = place.take(edges.source) > place.take(edges.target)
    source, target, led = edges.source[back], edges.target[back], anti[back]
    on = Reached(bytearray(len(place)), bytearray(len(place)))
    leads = Reached(bytearray(len(place)), bytearray(len(place)))
    (plain, after), (any_, after_plain) = on.masks(), leads.masks()
    plain[target[~led]] = True
    after[target[led]] = True
    any_[source] = True
    after_plain[source[~led]] = True
    settled = False
    if len(edges) > FEW:
        rows = [one for block in blocks for one in _rows(place, block, apart=apart)]
        settled = _swept(rows, plain, after, back=False)
        settled &= _swept([one.flipped() for one in rows], any_, after_plain, back=True)
    if not settled:
        _one_by_one(edges, anti, np.flatnonzero(~back), place, on, leads)
    kept = np.flatnonzero((plain & any_) | (after & after_plain))
    return kept, len(np.unique(2 * target.astype(np.int64) + led)) == 1


def _rows(place: Array, block: Edges, *, apart: bool) -> list[Rows]:
    """The edges of a block that go forward, anti-dependencies apart from others."""
    ahead = place.take(block.source) < place.take(block.target)
    anti = ahead & ((block.kind & RW) != 0) if apart else np.zeros(len(block), np.bool_)
    found: list[Rows] = []
    for chosen, are_anti in ((ahead & ~anti, False), (anti, True)):
        source, target = block.source[chosen].astype(np.intp), block.target[chosen].astype(np.intp)
        if len(source):
            run = np.cumsum(np.append(True, source[1:] != target[:-1]), dtype=np.int32) * 2
            alone = are_anti or int(run[-1]) == 2 * len(source)
            found.append(Rows(source, target, are_anti, None if alone else run))
    return found


def _swept(rows: list[Rows], plain: Array, anti: Array, *, back: bool) -> bool:
    """Spread what is reached over edges, until nothing is added; False where that takes long.

    With `back`, edges are flipped and `plain` marks the nodes that lead to the end if no
    anti-dependency led to them, `anti` those that do although one did.
    """
    count = -1
    for _ in range(SWEEPS):
        for one in rows:
            if one.anti and back:
                plain[one.target[anti[one.source]]] = True
            elif one.anti:
                anti[one.target[plain[one.source]]] = True
            else:
                begun = plain if back else plain | anti
                hit = one.target[one.along(begun[one.source])]
                plain[hit] = True
                if back:
                    anti[hit] = True
        now = int(np.count_nonzero(plain)) + int(np.count_nonzero(anti))
        if now == count:
            return True
        count = now
    return False


def _one_by_one(
    edges: Edges, anti: Array, ahead: Array, place: Array, on: Reached, leads: Reached
) -> None:
    """Follow the edges `ahead` in the order of places, and back."""
    ahead = ahead[np.argsort(place[edges.source[ahead]], kind="stable")]
    source, target = edges.source[ahead].tolist(), edges.target[ahead].tolist()
    marks = anti[ahead].tolist()
    plain, after = on
    for one, other, led in zip(source, target, marks, strict=True):
        if led:
            if plain[one]:
                after[other] = 1
        elif plain[one] or after[one]:
            plain[other] = 1
    plain, after = leads
    for one, other, led in zip(*map(reversed, (source, target, marks)), strict=True):
        if led:
            if after[other]:
                plain[one] = 1
        elif plain[other]:
            plain[one] = after[one] = 1
