"""The style of all figures, legible on screen, in print and in grey.

Measured series are solid, each with its own mark and in colours that differ in lightness too (Okabe
and Ito). An interval is a band around a line or a bar through a point. Closed forms, and nothing
else, are black and dashed.
Files repeat byte for byte: no dates, no random ids.
"""

import textwrap
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
LONGEST_NAME: Final = 90
"""The characters of a name in one line."""
CHARACTER_IN: Final = 0.085
LINE_IN: Final = 0.16
"""The height of a line of a legend."""
BESIDE: Final = 3
"""How many panels of one kind are side by side at the most."""
LINES_FREE: Final = 4
"""The lines of a legend for which a figure of its usual height has room."""
PANELS: Final = 0.78
"""The share of a figure's width that its panels have beside their numbers and a key."""
NOTE_PT: Final = 7
KEY_PT: Final = 8
QUESTION_PT: Final = 11
LEAST: Final = 8
"""The characters that a line has at the least."""


def canvas(rows: int = 1, columns: int = 1, *, height_in: float = 3.0, **more: Any) -> Any:
    """A figure of the usual width and its axes, as by `plt.subplots`, but without a window."""
    figure = Figure(figsize=(WIDTH_IN, height_in * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **more)


def panels(count: int, *, height_in: float, **more: Any) -> Any:
    """A figure with so many panels, up to `BESIDE` of them side by side, and these."""
    columns = min(BESIDE, count)
    figure, axes = canvas(-(-count // columns), columns, height_in=height_in, **more)
    for panel in axes.flat[count:]:
        panel.set_visible(False)
    return figure, axes.flat[:count]


def make_room(figure: Any, names: Sequence[str]) -> list[str]:
    """Make a figure larger for names longer than usual; returned with very long ones in lines.

    Its panels keep their width, and rows with one line their height.
    """
    lines = [textwrap.wrap(name, LONGEST_NAME) or [name] for name in names]
    longest = max((len(line) for each in lines for line in each), default=0)
    figure.set_figwidth(WIDTH_IN + CHARACTER_IN * max(longest - USUAL_NAME, 0))
    more = len(lines) * (max(map(len, lines), default=1) - 1)
    figure.set_figheight(figure.get_figheight() + LINE_IN * more)
    return ["\n".join(each) for each in lines]


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


def _listed(label: str) -> str:
    """A label as a legend takes it: matplotlib lists none that begins with an underline."""
    return f" {label}" if label.startswith("_") else label


def curve(axes: Any, x: Any, y: Any, label: str, number: int, **more: Any) -> None:
    """A line without marks, dashed by its number too: of 49 no two look alike."""
    style = LINES[(number + number // len(COLOURS)) % len(LINES)]
    axes.plot(x, y, label=_listed(label), color=colour_of(number), linestyle=style, **more)


def line(axes: Any, x: Sequence[float], middle: Any, ends: Any, label: str, number: int) -> None:
    """A series with its interval as a band, which has a gap where there is no upper end."""
    axes.plot(x, middle, label=_listed(label), **_marks(number))
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
        label=_listed(label),
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
    figure.suptitle(text, x=0.01, ha="left", fontsize=QUESTION_PT)


def broken(figure: Any, text: str, size_pt: float, share: float = 0.97) -> str:
    """A text with its lines broken where they are wider than this share of the figure."""

    def width(lines: str) -> float:
        measured = figure.text(0, 0, lines, fontsize=size_pt)
        found = float(measured.get_window_extent().width)
        measured.remove()
        return found

    most = max(map(len, text.split("\n")))
    shown = text
    while width(shown) > share * figure.bbox.width and most > LEAST:
        most = max(most * 9 // 10, LEAST)
        shown = "\n".join(textwrap.fill(one, most) for one in text.split("\n"))
    return shown


def within(panel: Any, text: str) -> str:
    """A title or a label of one of several panels, broken so that it is no wider than its panel."""
    columns = panel.get_subplotspec().get_gridspec().ncols
    return broken(panel.get_figure(), text, KEY_PT + 1, PANELS / columns)


def legend_above(figure: Any, axes: Any, columns: int, question: str) -> None:
    """A legend above all panels, under the question that the figure answers; closed forms last.

    It is of one panel, or of an array of them; of equal labels it has one. It has fewer columns
    where its labels are long, and the figure is higher then.
    """
    first: dict[str, Any] = {}
    for panel in np.ravel(axes):
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            first.setdefault(label, handle)
    entries = sorted(first.items(), key=_is_by_formula)
    question = broken(figure, question, QUESTION_PT)
    usual = min(-(-len(entries) // columns), LINES_FREE)
    for fewer in range(columns, 0, -1):
        shown = [broken(figure, label, KEY_PT, 0.9) if fewer == 1 else label
                 for label, _ in entries]  # fmt: skip
        legend = figure.legend(
            [handle for _, handle in entries],
            shown,
            loc="outside upper left",
            ncols=fewer,
            title=question,
            title_fontsize=QUESTION_PT,
            alignment="left",
            borderpad=0,
            columnspacing=1.4,
        )
        if fewer == 1 or legend.get_window_extent().width <= figure.bbox.width:
            lines = sum(1 + label.count("\n") for label in shown)
            more = -(-lines // fewer) - usual + question.count("\n")
            figure.set_figheight(figure.get_figheight() + LINE_IN * max(more, 0))
            return
        legend.remove()


def _is_by_formula(entry: tuple[str, Any]) -> bool:
    return "formula" in entry[0]


def key_of(axes: Any, marks: Sequence[tuple[str, bool]]) -> None:
    """A legend of hollow and filled marks, above a panel."""
    handles = [
        Line2D([], [], linestyle="none", label=label, **_marks(0, hollow=hollow))
        for label, hollow in marks
    ]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderpad=0)


def note(figure: Any, text: str) -> None:
    """A small line below all panels: the runs, and the meaning of the intervals."""
    shown = broken(figure, text, NOTE_PT)
    figure.supxlabel(shown, fontsize=NOTE_PT, color="#555555", x=0.01, ha="left")


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
