"""A cycle as a small graph: an SVG written directly, legible in print and in grey.

Boxes stand below each other in the order of the cycle; each edge leads down to the next, with its
name and its reason beside it, and the last one goes back up at the left. So nothing can overlap,
however many boxes there are. Anti-dependencies are dashed, time is dotted.
"""

from collections.abc import Sequence
from textwrap import wrap
from typing import Final

from ddlsim.checkers.argument import Argument, Party
from ddlsim.checkers.base import Step
from ddlsim.escape import markup
from ddlsim.units import decimal

WIDTH: Final = 780
LEFT: Final = 200
"""The margin at the left, where the last edge goes back up with its name and reason."""
BOX: Final = 300
LINE: Final = 15
SIZE: Final = 12
CHARACTER: Final = 0.56 * SIZE
"""The room for a character of a proportional font, rather too much."""
BOLD: Final = 0.68 * SIZE
PAD: Final = 9
BACK: Final = 26
"""How far the way back is from the boxes."""
DASHES: Final = {"rw": "7 4", "rt": "2 4", "process": "2 4"}
STYLE: Final = (
    ".cycle text{font:12px 'DejaVu Sans',Verdana,Arial,sans-serif;fill:#000}"
    ".cycle .n{font-weight:bold}.cycle .s{fill:#333}"
    ".cycle .w{fill:none;stroke:#000;stroke-width:1.6}"
    ".cycle .t{fill:#fff;stroke:#000;stroke-width:1.4}"
    ".cycle .d{fill:#e4e4e4;stroke:#000;stroke-width:2.4}"
)


def svg(argument: Argument, title: str) -> str:
    """The picture of an argument that is a cycle."""
    return _Picture(argument).svg(title)


class _Picture:
    """Lays the boxes out from top to bottom, then draws."""

    def __init__(self, argument: Argument) -> None:
        self._parties = argument.parties
        self._steps = argument.steps
        self._parts: list[str] = []
        self._tops: list[float] = []
        self._bottoms: list[float] = []

    def svg(self, title: str) -> str:
        """The whole document."""
        last = len(self._steps) - 1
        back = _label(self._steps[last], LEFT - 12)
        y: float = 14
        for at, party in enumerate(self._parties):
            y = self._box(party, y)
            if at < last:
                label = _label(self._steps[at], WIDTH - LEFT - BACK - BOX // 2 - 24)
                below = y + max(len(label) * LINE + 16, 44)
                self._down(self._steps[at], label, y, below)
                y = below
        height = max(y + 14, self._back(self._steps[last], back))
        head = (
            f'<svg class="cycle" xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}" role="img">'
        )
        marker = (
            '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" '
            'markerHeight="8" orient="auto"><path d="M0 0L10 5L0 10z"/></marker></defs>'
        )
        page = f'<rect class="page" width="{WIDTH}" height="{height:g}" fill="#fff"/>'
        style = f"<title>{markup(title)}</title><style>{STYLE}</style>"
        return "\n".join([head, style, marker, page, *self._parts, "</svg>"]) + "\n"

    def _box(self, party: Party, y: float) -> float:
        """A party from `y` down; where it ends."""
        lines = [(line, "n") for line in _wrapped(party.name, BOX - 2 * PAD, BOLD)]
        lines += [(line, "") for line in _wrapped(party.did, BOX - 2 * PAD)]
        lines += [(line, "s") for line in _wrapped(_where(party), BOX - 2 * PAD)]
        lines += [(line, "s") for line in _wrapped(_when(party), BOX - 2 * PAD)]
        height = len(lines) * LINE + 2 * PAD
        look = "d" if party.is_ddl else "t"
        round_ = 2 if party.is_ddl else 10
        x = LEFT + BACK
        self._parts.append(
            f'<rect class="{look}" x="{x}" y="{y:g}" width="{BOX}" height="{height}" '
            f'rx="{round_}"/>'
        )
        self._text(lines, x + PAD, y + PAD)
        self._tops.append(y)
        self._bottoms.append(y + height)
        return y + height

    def _down(self, step: Step, label: list[tuple[str, str]], top: float, bottom: float) -> None:
        x = LEFT + BACK + BOX // 2
        self._parts.append(f'<path class="w" d="M{x} {top:g}V{bottom - 1:g}"{_look(step)}/>')
        self._text(label, x + 12, (top + bottom - len(label) * LINE) / 2)

    def _back(self, step: Step, label: list[tuple[str, str]]) -> float:
        """From the last box to the first, at the left; how far down its words reach."""
        x = LEFT + BACK
        low = (self._tops[-1] + self._bottoms[-1]) / 2
        high = (self._tops[0] + self._bottoms[0]) / 2
        turn = LEFT + 4
        if len(self._tops) == 1:
            low, high = self._bottoms[0] - 8, self._tops[0] + 8
        self._parts.append(
            f'<path class="w" d="M{x} {low:g}H{turn + 8}Q{turn} {low:g} {turn} {low - 8:g}'
            f'V{high + 8:g}Q{turn} {high:g} {turn + 8} {high:g}H{x - 1}"{_look(step)}/>'
        )
        top = max(14, (low + high - len(label) * LINE) / 2)
        self._text(label, 8, top)
        return top + len(label) * LINE + 14

    def _text(self, lines: Sequence[tuple[str, str]], x: float, y: float) -> None:
        for at, (line, look) in enumerate(lines):
            below = y + at * LINE + SIZE - 1
            cls = f' class="{look}"' if look else ""
            self._parts.append(f'<text x="{x:g}" y="{below:g}"{cls}>{markup(line)}</text>')


def _look(step: Step) -> str:
    kind = step.edge.partition("-")[0]
    dashes = f' stroke-dasharray="{DASHES[kind]}"' if kind in DASHES else ""
    return f'{dashes} marker-end="url(#arrow)"'


def _label(step: Step, room: float) -> list[tuple[str, str]]:
    """An edge's name, and under it the sentence that says why it is there."""
    named = [(line, "n") for line in _wrapped(step.edge, room, BOLD)]
    return named + [(line, "s") for line in _wrapped(step.because, room)]


def _where(party: Party) -> str:
    client = "" if party.client is None else f"client {party.client}"
    node = "" if party.node is None else f"node {party.node}"
    return ", ".join(one for one in (client, node) if one)


def _when(party: Party) -> str:
    parts = [f"{name} {value}" for name, value in party.stamps.items()]
    if party.begins_ms is not None:
        until = "" if party.ends_ms is None else f"{decimal(party.ends_ms)}"
        parts.append(f"{decimal(party.begins_ms)}…{until} ms")
    return ", ".join(parts)


def _wrapped(text: str, room: float, character: float = CHARACTER) -> list[str]:
    """Lines that fit; a word that alone does not is broken."""
    return wrap(text, max(8, int(room / character)), break_on_hyphens=False)
