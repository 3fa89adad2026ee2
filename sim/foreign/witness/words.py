"""What a witness log shows, told by its own entries: nothing that stands in no line is printed.

The judges speak of events; this program had to make up some of what those hold (numbers of
updates, Tm, instants since the beginning). Here they are what the lines say, with their numbers.
"""

from textwrap import wrap
from typing import Any, Final

import msgspec

from ddlsim.checkers.judge import Violation
from ddlsim.foreign.witness.records import DdlAcknowledged, Line, SchemaApplied, SchemaResolved

WIDTH: Final = 76


def fields(line: Line) -> dict[str, Any]:
    """An entry as it stands in the log, its line first; what it left out is left out."""
    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(line.entry))
    told = {key: value for key, value in told.items() if value is not None}
    if not told.get("read_only", True):
        del told["read_only"]
    return {"line": line.number, **told}


def shown(line: Line) -> list[str]:
    """An entry on lines of 76 characters."""
    told = fields(line)
    number, record, node = (told.pop(key) for key in ("line", "record", "node"))
    rest = ", ".join(f"{key} {_said(value)}" for key, value in told.items())
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
    return violation.summary


def _too_early(ack: DdlAcknowledged, look: SchemaResolved, clock_error_ms: float) -> str:
    told, asked = ack.clock or ack.node, look.clock or look.node
    error = "" if told == asked else f", which differ by {clock_error_ms:.15g} ms at most"
    name = look.operation or look.transaction
    return (
        f"version {ack.version} of object {ack.object} was acknowledged at {ack.wall_ms:.15g} on "
        f"clock {told}; {name}, asked for later, at {look.started_ms:.15g} on clock {asked}"
        f"{error}, was resolved on node {look.node} ({look.purpose}) at {look.at}, before that "
        "version's activation"
    )
