"""What a swarm has drawn: a compact table of its knobs."""

from typing import Any, Final

from rich.console import Console

from ddlsim.cli.documents.run import Report
from ddlsim.cli.views.words import labelled, say
from ddlsim.plan.swarm_faults import KINDS
from ddlsim.plan.swarm_knobs import OFF

HEAD: Final = "drawn"
NEMESIS: Final = "nemesis"


def show(report: Report, to: Console) -> None:
    """The knobs of the run that can be repeated: those that are on, then the faults."""
    if len(report.sum.runs) > 1:
        first = report.sum.first_failed or report.sum.runs[0]
        say(f"of seed {first.seed}, which the command below repeats:", to)
    knobs = {name: value for name, value in report.drawn.items() if _is_on(value)}
    world = [_shown(name, value) for name, value in knobs.items() if name not in KINDS]
    faults = [_times(name, value) for name, value in knobs.items() if name in KINDS]
    off = [name for name in report.drawn if name not in knobs and name not in KINDS]
    labelled(HEAD, ", ".join(world), to)
    labelled(NEMESIS, ", ".join(faults) or "none", to)
    if off:
        labelled("off", ", ".join(off), to)


def _is_on(value: Any) -> bool:
    return value not in (OFF, None) and value is not False


def _shown(name: str, value: Any) -> str:
    value = f"{value:g}" if isinstance(value, float) else value
    return name if value == "on" or value is True else f"{name} {value}"


def _times(name: str, count: int) -> str:
    return name if count == 1 else f"{name} x{count}"
