"""Sentences about a witness log in the words of its entries: nothing else is printed.

Checkers judge events, for which this program had to invent some fields (numbers of updates, Tm,
instants since the begin). Here violations are described by the lines of the log and their numbers.
"""

from textwrap import wrap
from typing import Any, Final

import msgspec

from ddlsim.checkers.judge import Violation
from ddlsim.foreign.witness.order import UNORDERED
from ddlsim.foreign.witness.records import (
    DdlAcknowledged,
    Line,
    SchemaActivated,
    SchemaApplied,
    SchemaResolved,
)

WIDTH: Final = 76


def fields(line: Line) -> dict[str, Any]:
    """An entry as it stands in the log, its line first; what it left out is left out."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(line.entry))
    found = {key: value for key, value in found.items() if value is not None}
    if not found.get("read_only", True):
        del found["read_only"]
    return {"line": line.number, **found}


def shown(line: Line) -> list[str]:
    """An entry on lines of 76 characters."""
    found = fields(line)
    number, record, node = (found.pop(key) for key in ("line", "record", "node"))
    rest = ", ".join(f"{key} {_said(value)}" for key, value in found.items())
    return wrap(
        f"line {number}: {record} of {node}: {rest}",
        WIDTH, initial_indent="  ", subsequent_indent="      ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _said(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, str) and " " not in value:
        return value
    return msgspec.json.encode(value).decode()


def summary(violation: Violation, lines: tuple[Line, ...], clock_error_ms: float) -> str:
    """What was found, in the words of the log where the judge's own need more than it has."""
    entries = [line.entry for line in lines]
    acks = [one for one in entries if isinstance(one, DdlAcknowledged)]
    applied = [one for one in entries if isinstance(one, SchemaApplied)]
    resolved = [one for one in entries if isinstance(one, SchemaResolved)]
    if violation.kind == "resolved-too-early" and acks and resolved:
        return _too_early(acks[0], resolved[-1], clock_error_ms)
    if violation.kind == "late-update" and applied and resolved:
        late, before = applied[-1], resolved[0]
        return (
            f"node {late.node} applied version {late.version} of object {late.object} at wall_ms "
            f"{late.wall_ms:.15g}, after it had resolved a schema for {before.transaction} at "
            f"{before.at}, when that version was active"
        )
    if violation.kind == UNORDERED and len(entries) == 2:
        return _unordered([one for one in entries if isinstance(one, SchemaActivated)])
    return violation.summary


def _unordered(activated: list[SchemaActivated]) -> str:
    earlier, later = sorted(activated, key=lambda one: one.version)
    return (
        f"version {later.version} of object {later.object} activates at {later.activation}, before "
        f"version {earlier.version}, which does at {earlier.activation}: then the schema goes back "
        "to it"
    )


def _too_early(ack: DdlAcknowledged, look: SchemaResolved, clock_error_ms: float) -> str:
    clock, asked = ack.clock or ack.node, look.clock or look.node
    error = "" if clock == asked else f", which differ by {clock_error_ms:.15g} ms at most"
    name = look.operation or look.transaction
    return (
        f"version {ack.version} of object {ack.object} was acknowledged at {ack.wall_ms:.15g} on "
        f"clock {clock}; {name}, asked for later, at {look.started_ms:.15g} on clock {asked}"
        f"{error}, was resolved on node {look.node} ({look.purpose}) at {look.at}, before that "
        "version's activation"
    )
