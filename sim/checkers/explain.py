"""An argument in words: the steps of a cycle, or the events that show a violation."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from ddlsim.checkers.base import Step
from ddlsim.checkers.case.case import Case
from ddlsim.history.events import (
    AnyEvent,
    Encoded,
    RowFinal,
    SchemaResolved,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.units import as_ms, show

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
        yield from _wrapped(f"{event.at_us / 1000:10.3f} ms  {describe(event, case)}", "  ")


def describe(event: AnyEvent, case: Case) -> str:
    """One event in one line: what it is, and its fields, with names in the place of ids.

    Timestamps are `218+5`: milliseconds and the logical part of the hybrid clock.
    """
    if isinstance(event, UpdateLogged):
        return (
            f"update {event.catalog_version} logged by {event.node}: {_changed(event)}, "
            f"Tm = {show(event.message_ts)}, Tu = {show(event.activation_ts)}"
        )
    if isinstance(event, SchemaResolved):
        name = case.schemas.name(event.object_id, event.version)
        return (
            f"{event.node} resolved {name} for {event.tx} ({event.purpose}) "
            f"at {show(event.ts)}: version {event.version}"
        )
    shown = []
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if name not in {"at_us", "rows"} and value is not None and value is not False:
            shown.append(_field(event, name, value, case))
    return f"{type(event).__name__}: {', '.join(shown)}"


def _field(event: AnyEvent, name: str, value: Any, case: Case) -> str:
    """A field as people read it."""
    if name.endswith("_ts") or name in {"ts", "stamp"}:
        return f"{name} {show(value)}"
    if name.endswith("_us"):
        return f"{name.removesuffix('_us')} {as_ms(value)} ms"
    if name == "group":
        return f"group {case.schemas.group(value)}"
    if name == "object_id":
        return f"object {case.schemas.name(value)}"
    if name == "row":
        assert isinstance(event, Encoded | WriteExecuted | RowFinal), event
        names = case.schemas.columns(event.object_id, event.version)
        cells = (f"{names.get(column, column)} = {cell!r}" for column, cell in value)
        return f"row ({', '.join(cells)})"
    if name == "tables":
        used = (f"{case.schemas.describe(one, began)} ({at} at commit)" for one, began, at in value)
        return f"tables {', '.join(used)}"
    return f"{name}" if value is True else f"{name} {value}"


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
