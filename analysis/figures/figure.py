"""The registry of figures, and the function that draws one.

A figure is one module `analysis/plot_NAME.py` with a function under `@figure`. It takes the cells
of a sweep (`of="history"`: one history; `of="tune"`: the advice of `ddlsim tune`) and returns a
matplotlib figure; it declares the axes that it needs, by name or by path, and a sweep without them
is refused. `ddlsim plot NAME DIR`, `python -m ddlsim.analysis.plot_NAME DIR` and, from any
folder, `python analysis/plot_NAME.py DIR` do the same.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import ddlsim.analysis
from ddlsim.analysis.sweep.cells import CellsError, Need, read
from ddlsim.analysis.sweep.chunks import DamagedPartError
from ddlsim.escape import one_line
from ddlsim.files import WriteError
from ddlsim.history.history import History

PREFIX: Final = "plot_"
Kind = Literal["sweep", "history", "tune"]


class Plot(NamedTuple):
    """One figure: its summary, the axes that it needs, its input and its function."""

    name: str
    summary: str
    needs: tuple[Need, ...]
    of: Kind
    draw: Callable[[Any], Any]


_PLOTS: dict[str, Plot] = {}


def figure(
    name: str, summary: str, *, needs: tuple[Need, ...] = (), of: Kind = "sweep"
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register a drawing function; not a second time where its module runs as a script."""

    def known(draw: Callable[[Any], Any]) -> Callable[[Any], Any]:
        if draw.__module__ != "__main__":
            _PLOTS[name] = Plot(name, summary, needs, of, draw)
        return draw

    return known


def plots() -> dict[str, Plot]:
    """Every figure by its name."""
    for module in sorted(m.name for m in pkgutil.iter_modules(ddlsim.analysis.__path__)):
        if module.startswith(PREFIX):
            importlib.import_module(f"ddlsim.analysis.{module}")
    return dict(sorted(_PLOTS.items()))


def draw(name: str, source: Path) -> Any:
    """Draw a figure from the directory of a sweep or of `tune`, or from a history's file.

    Raises `CellsError` with what is missing.
    """
    from ddlsim.analysis.figures.drawing import styled
    from ddlsim.analysis.tune import tuned

    known = plots()
    if name not in known:
        raise CellsError(f"no figure is called {name!r}; there are {', '.join(known)}")
    plot = known[name]
    with styled():
        if plot.of == "history":
            return plot.draw(_history(source))
        if plot.of == "tune":
            return plot.draw(tuned.read(source))
        cells = read(source)
        return plot.draw(cells.need(*plot.needs, figure=name))


def _history(source: Path) -> History:
    from ddlsim.history import codec

    try:
        return codec.load(source)
    except (OSError, ValueError) as error:
        raise CellsError(f"{source}: no history can be read there ({error})") from None


def write(name: str, source: Path, target: Path) -> None:
    """Draw a figure into a file; its suffix, `.svg` or `.png`, chooses the format."""
    from ddlsim.analysis.figures.drawing import save

    if target.suffix not in (".svg", ".png"):
        raise CellsError(f"{target}: a figure is an .svg or a .png")
    save(draw(name, source), target)


def main(name: str) -> int:
    """Run a figure's module as a script, with DIR and an optional FILE; return the exit code."""
    arguments = sys.argv[1:]
    if not 1 <= len(arguments) <= 2 or arguments[0].startswith("-"):
        sys.stderr.write(f"usage: plot_{name}.py DIR [FILE.svg|FILE.png]\n")
        return 2
    source = Path(arguments[0])
    folder = source if source.is_dir() else source.parent
    target = Path(arguments[1]) if len(arguments) == 2 else folder / f"{name}.svg"
    try:
        write(name, source, target)
    except (CellsError, DamagedPartError, WriteError) as error:
        sys.stderr.write(one_line(f"ddlsim: {error}") + "\n")
        return 2
    sys.stdout.write(f"{target}\n")
    return 0
