"""An argument in words: the steps of a cycle, or the events that show a violation."""

from collections.abc import Iterator
from textwrap import wrap

from ddlsim.checkers.base import Step
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.event_words import told
from ddlsim.history.events import AnyEvent, UpdateLogged
from ddlsim.units import show

WIDTH = 80


def cycle(case: Case, steps: tuple[Step, ...], witness: tuple[AnyEvent, ...] = ()) -> Iterator[str]:
    """`T1 < D2, because …; D2 < T2, because …; T2 < T1, because …: a cycle`."""
    for event in witness:
        if isinstance(event, UpdateLogged):
            statement = case.statement(event.op) or _changed(event)
            active = f"Tm = {show(event.message_ts)}"
            active += f", Tu = {show(event.activation_ts)}"
            yield from _wrapped(f"D{event.catalog_version}: {statement} ({active})", "  ")
    for at, step in enumerate(steps, 1):
        end = ": a cycle" if at == len(steps) else ";"
        arrow = f"{step.source} < {step.target} ({step.edge})"
        yield from _wrapped(f"{arrow}, because {step.because}{end}", "  ")


def timeline(case: Case, witness: tuple[AnyEvent, ...]) -> Iterator[str]:
    """The events that show it, by their instants."""
    for event in sorted(witness, key=lambda one: one.at_us):
        yield from _wrapped(f"{event.at_us / 1000:10.3f} ms  {told(case, event)}", "  ")


def _changed(event: UpdateLogged) -> str:
    tags = [
        f"{change.name} {one.__struct_config__.tag}"
        for change in event.objects
        for one in change.changes
    ]
    return ", ".join(tags) or "nothing"


def _wrapped(text: str, indent: str) -> list[str]:
    return wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
