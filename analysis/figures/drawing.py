"""The style of all figures, legible on screen, in print and in grey.

Measured series are solid, each with its own mark and in colours that differ in lightness too (Okabe
and Ito). An interval is a band around a line or a bar through a point. Closed forms, and nothing
else, are black and dashed.
Files repeat byte for byte: no dates, no random ids.
"""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ddlsim.escape import escaped
from ddlsim.files import beside

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#666666")
FORM: Final[Any] = {"color": "#000000", "linestyle": (0, (3, 2)), "linewidth": 1.1, "zorder": 3}
"""The style of a closed form, drawn above the measured series."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES: Final = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
BAND: Final = 0.18
BARS: Final[Any] = {"elinewidth": 0.9, "capsize": 2}
"""How the bar of an interval looks."""
NO_END: Final = {"arrowstyle": "<-", "linewidth": 0.9, "color": "#666666", "shrinkB": 0}
"""How an end that nothing bounds looks: an arrow from the point."""
ARROW: Final = 12
"""Its length in points."""
STYLE: Final[Any] = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "svg.hashsalt": "ddlsim",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
}
UNSAID: Final = dict.fromkeys(("Creator", "Date", "Format", "Type"))
"""The metadata of an SVG: none, above all no date."""
WIDTH_IN: Final = 7.0
USUAL_NAME: Final = 22
CHARACTER_IN: Final = 0.085
LINE_IN: Final = 0.16
"""The height of a line of a legend."""


def canvas(rows: int = 1, columns: int = 1, *, height_in: float = 3.0, **more: Any) -> Any:
    """A figure of the usual width and its axes, as by `plt.subplots`, but without a window."""
    figure = Figure(figsize=(WIDTH_IN, height_in * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **more)


def make_room(figure: Any, names: Sequence[str]) -> None:
    """Widen a figure for names longer than usual; its panels keep their width."""
    longest = max(map(len, names), default=0)
    figure.set_figwidth(WIDTH_IN + CHARACTER_IN * max(longest - USUAL_NAME, 0))


def styled() -> Any:
    """A context with the style, for drawing and writing."""
    return mpl.rc_context(STYLE)


def colour_of(number: int) -> str:
    """The colour of the series with this number."""
    return COLOURS[number % len(COLOURS)]


def _marks(number: int, *, hollow: bool = True) -> dict[str, Any]:
    """Colour and mark of the series with this number."""
    colour = colour_of(number)
    marker = MARKERS[number % len(MARKERS)]
    return {"color": colour, "marker": marker, "markerfacecolor": "white" if hollow else colour}


def curve(axes: Any, x: Any, y: Any, label: str, number: int, **more: Any) -> None:
    """A line without marks, dashed by its number too."""
    style = LINES[number % len(LINES)]
    axes.plot(x, y, label=label, color=colour_of(number), linestyle=style, **more)


def line(axes: Any, x: Sequence[float], middle: Any, ends: Any, label: str, number: int) -> None:
    """A series with its interval as a band, which has a gap where there is no upper end."""
    axes.plot(x, middle, label=label, **_marks(number))
    axes.fill_between(x, *ends, color=colour_of(number), alpha=BAND, linewidth=0)
    no_ends(axes, x, middle, ends[1])


def points(axes: Any, x: Any, middle: Any, low: Any, high: Any, label: str, number: int) -> None:
    """Measured values with their intervals, and no line between them.

    An interval without an upper end has an arrow instead of a bar.
    """
    known = np.isfinite(high)
    axes.errorbar(
        x,
        middle,
        yerr=np.where(known, [np.maximum(middle - low, 0), np.maximum(high - middle, 0)], np.nan),
        label=label,
        linestyle="none",
        **_marks(number),
        **BARS,
    )
    no_ends(axes, x, middle, high)


def no_ends(axes: Any, x: Any, middle: Any, high: Any) -> None:
    """An arrow up from each point whose interval has no upper end."""
    for at, value, end in zip(x, middle, high, strict=True):
        if np.isposinf(end) and np.isfinite(value):
            unbounded(axes, at, value, (0, ARROW))


def unbounded(axes: Any, x: float, y: float, way: tuple[float, float]) -> None:
    """An arrow from a point, so far in points."""
    axes.annotate("", (x, y), way, textcoords="offset points", arrowprops=NO_END)


def point(axes: Any, x: Any, y: Any, label: str | None, number: int, *, hollow: bool) -> None:
    """One point with intervals both ways; `x` and `y` are (middle, low, high).

    An upper end that nothing bounds is an arrow.
    """
    axes.errorbar(
        x[0],
        y[0],
        xerr=_bar(x),
        yerr=_bar(y),
        label=label,
        linestyle="none",
        markersize=7,
        **_marks(number, hollow=hollow),
        **BARS,
    )
    for value, way in ((x, (ARROW, 0)), (y, (0, ARROW))):
        if np.isposinf(value[2]) and np.isfinite((x[0], y[0])).all():
            unbounded(axes, x[0], y[0], way)


def _bar(value: Any) -> list[list[float]] | None:
    """The extent of an interval to both sides; None where it is a point or lacks an end."""
    if not np.isfinite(value).all():
        return None
    below, above = max(value[0] - value[1], 0), max(value[2] - value[0], 0)
    return [[below], [above]] if below or above else None


def form(axes: Any, x: Any, y: Any, label: str | None) -> None:
    """Draw a closed form."""
    axes.plot(x, y, label=label, **FORM)


def bracket(axes: Any, x: Any, low: Any, high: Any, label: str | None) -> None:
    """Draw two closed forms that enclose the truth, with hatching between them."""
    for edge in (low, high):
        axes.plot(x, edge, **{**FORM, "linewidth": 0.8})
    axes.fill_between(
        x,
        low,
        high,
        label=label,
        facecolor="none",
        edgecolor="#000000",
        hatch="////",
        linewidth=0,
        alpha=0.35,
    )


def logarithmic(axis: Any, *, subs: tuple[float, ...] = (1.0, 2.0, 5.0)) -> None:
    """Make an axis logarithmic, with few and plain numbers.

    `subs` are the multiples of a power of ten that have a number. Where no value is above zero the
    axis stays linear.
    """
    if not np.isfinite(axis.get_minpos()):
        return
    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def key_above(axes: Any) -> None:
    """A legend of one column above its panel."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)


def heading(figure: Any, text: str) -> None:
    """The question that a figure answers, above all panels."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=11)


def legend_above(figure: Any, axes: Any, columns: int, question: str) -> None:
    """A legend above all panels, under the question that the figure answers; closed forms last.

    It has fewer columns where its labels are long, and the figure is higher then.
    """
    entries = sorted(zip(*axes.get_legend_handles_labels(), strict=True), key=_is_by_formula)
    usual = -(-len(entries) // columns)
    for fewer in range(columns, 0, -1):
        legend = figure.legend(
            [handle for handle, _ in entries],
            [label for _, label in entries],
            loc="outside upper left",
            ncols=fewer,
            title=question,
            title_fontsize=11,
            alignment="left",
            borderpad=0,
            columnspacing=1.4,
        )
        if fewer == 1 or legend.get_window_extent().width <= figure.bbox.width:
            more = -(-len(entries) // fewer) - usual
            figure.set_figheight(figure.get_figheight() + LINE_IN * more)
            return
        legend.remove()


def _is_by_formula(entry: tuple[Any, str]) -> bool:
    return "formula" in entry[1]


def key_of(axes: Any, marks: Sequence[tuple[str, bool]]) -> None:
    """A legend of hollow and filled marks, above a panel."""
    handles = [
        Line2D([], [], linestyle="none", label=label, **_marks(0, hollow=hollow))
        for label, hollow in marks
    ]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderpad=0)


def note(figure: Any, text: str) -> None:
    """A small line below all panels: the runs, and the meaning of the intervals."""
    figure.supxlabel(text, fontsize=7, color="#555555", x=0.01, ha="left")


def save(figure: Any, file: Path) -> None:
    """Write an SVG or PNG (by the suffix); the same data give the same bytes."""
    metadata = UNSAID if file.suffix == ".svg" else {"Software": None}
    _escape(figure)
    with mpl.rc_context(STYLE), beside(file) as partial:
        figure.savefig(partial, format=file.suffix[1:], metadata=metadata)


def _escape(figure: Any) -> None:
    """Escape unprintable characters of names, which come from files."""
    for text in figure.findobj(Text):
        text.set_text(escaped(text.get_text()))


def svg_text(figure: Any) -> str:
    """The figure as an SVG element for a page."""
    written = StringIO()
    _escape(figure)
    with mpl.rc_context(STYLE):
        figure.savefig(written, format="svg", metadata=UNSAID)
    text = written.getvalue()
    return text[text.index("<svg") :]


def own_ids(svg: str, name: str) -> str:
    """Prefix the ids of a figure with its name, so that they are unique on the page."""
    return (
        svg.replace('id="', f'id="{name}-')
        .replace('href="#', f'href="#{name}-')
        .replace("url(#", f"url(#{name}-")
    )
