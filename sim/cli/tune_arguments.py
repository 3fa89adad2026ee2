"""The flags of `ddlsim tune`."""

import argparse
import re
from collections.abc import Callable
from typing import Any

from sim.cli import values


def add_flags(add: Callable[..., Any]) -> None:
    """What was measured, what is wanted, what is set now, and how it is run."""
    add("--delays", metavar="FILE", help="measured delays, CSV or Parquet: delay_ms [from, to]")
    add("--offsets", metavar="FILE", help="measured clock offsets: offset_ms [node]")
    add(
        "--slo",
        action="append",
        default=[],
        metavar="GOAL",
        help='what to meet, such as "dml_wait_p99<=1ms" (the default), "ddl_latency_p99<=2s", '
        '"schema_abort_rate<=1e-4"',
    )
    add("--strategy", default="iep", metavar="S", help="the design (default: iep)")
    add(
        "--ddl-rate",
        type=values.rate,
        default=1 / 60,
        metavar="R",
        help="statements per second on a table (default: one a minute)",
    )
    add("--incompatible", type=_share, default=0.4, metavar="Q",
        help="the share of statements that are forward-incompatible (default: 0.4)")  # fmt: skip
    add("--tx-length", type=values.rate, default=0.05, metavar="L",
        help="seconds that a transaction thinks, beside its messages (default: 0.05)")  # fmt: skip
    add("--current-dd", type=values.seed, default=500, metavar="MS", help="DD now (500)")
    add("--current-h", type=values.positive, default=250, metavar="MS",
        help="the idle interval now (250)")  # fmt: skip
    add("--current-csmax", type=values.seed, default=500, metavar="MS", help="CSmax now (500)")
    add("--nodes", type=values.positive, default=5, metavar="N",
        help="how many nodes, where the files name none (default: 5)")  # fmt: skip
    add("--voters", type=_voters, metavar="A,B,C|N",
        help="which nodes vote in the meta storage; or how many: the first by name (default: 3)",
    )  # fmt: skip
    add("--leader", metavar="NODE",
        help="the node that leads (default: the voter under which waits are longest)")  # fmt: skip
    add("--try", dest="tried", type=_setting, action="append", default=[], metavar="SETTING",
        help="a setting to price as well, such as dd=300,h=100 or dd=300,csmax=20")  # fmt: skip
    add("--margin", type=values.rate, default=0.5, metavar="M",
        help="CSmax over the largest skew seen, as a share of it (default: 0.5)")  # fmt: skip
    add("--step", type=values.positive, default=5, metavar="MS",
        help="how finely DD is told (default: 5)")  # fmt: skip
    add("--seeds", type=values.positive, default=24, metavar="N",
        help="runs of each cell (default: 24)")  # fmt: skip
    add("--master", metavar="URL", help="Spark's master; without it, processes of this machine")
    add("--jobs", type=values.positive, metavar="N", help="so many processes, without Spark")
    add("--out", metavar="DIR", help="write tune.json and the tables of runs there")


def _share(text: str) -> float:
    value = values.rate(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"expected a share from 0 to 1, not {text!r}")
    return value


def _voters(text: str) -> int | tuple[str, ...]:
    """A number, or the names of nodes."""
    if re.fullmatch(r"[0-9]+", text):
        return values.positive(text)
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(f"expected a number, or names as in a,b,c, not {text!r}")
    return names


def _setting(text: str) -> dict[str, int]:
    """`dd=300,h=100,csmax=20`; what is left out is as recommended."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in ("dd", "h", "csmax") or not equals or name in found:
            raise argparse.ArgumentTypeError(
                f"expected dd=MS, h=MS and csmax=MS with commas, as in dd=300,h=100, not {text!r}"
            )
        found[name] = (values.positive if name == "h" else values.seed)(value)
    return found
