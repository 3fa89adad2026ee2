"""Where text reaches a console: whatever it shows is escaped, from any source.

Names and titles come out of files. A hook of the console sees everything that is about to be
printed, so no view can forget it; rich's own control sequences (colours) pass.
"""

from collections.abc import Iterable

from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.segment import Segment

from ddlsim.escape import escaped


class _Escaped:
    """Something to print, its text escaped."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inner, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)


class Escaping(RenderHook):
    """Escapes all that a console prints."""

    def process_renderables(
        self, renderables: Iterable[ConsoleRenderable]
    ) -> list[ConsoleRenderable]:
        return [_Escaped(one) for one in renderables]


def guarded(console: Console) -> Console:
    """The same console, which shows nothing unescaped from now on."""
    console.push_render_hook(Escaping())
    return console
