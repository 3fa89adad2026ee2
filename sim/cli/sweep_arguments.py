"""The flags of the verbs that make, draw and report sweeps."""

from collections.abc import Callable
from typing import Any

from sim.cli.values import positive, seeds

Add = Callable[..., Any]


def add_sweep_flags(add: Add) -> None:
    """What is swept, where to, and what runs it."""
    add("file", metavar="SWEEP.toml", help="what to sweep over; the README shows one")
    add("--out", required=True, metavar="DIR", help="the directory of its tables, new or empty")
    add("--resume", action="store_true", help="go on with what DIR holds of this sweep")
    add(
        "--master",
        metavar="URL",
        help="Spark's: local[*], spark://HOST:PORT, yarn, k8s://...; none runs processes without "
        "Spark (default: what is quicker here)",
    )
    add("--jobs", type=positive, metavar="N", help="so many processes, without Spark")
    add("--seeds", type=seeds, metavar="A..B", help="other seeds than the file's")
    add(
        "--until",
        action="append",
        default=[],
        metavar="TARGET",
        help='more seeds until the intervals are narrow: "schema_abort_rate ci=0.002"',
    )
    add("--aggregates", action="store_true", help="per_cell and per_seed tables too (by Spark)")
    add("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark")


def add_plot_flags(add: Add) -> None:
    """Which figure, of what, and where to."""
    add("name", metavar="NAME", help="which figure; `ddlsim list figures` tells them")
    add("source", metavar="DIR", help="a sweep's directory, or a history for figures of one run")
    add("--out", metavar="FILE", help="an .svg or .png (default: DIR/NAME.svg)")


def add_report_flags(add: Add) -> None:
    """Of what, and where to."""
    add("source", metavar="DIR", help="a sweep's directory")
    add("--out", metavar="FILE", help="the page (default: DIR/report.html)")
