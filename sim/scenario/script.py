"""The tables of a scripted scenario: an explicit timeline for any hand-written interleaving."""

import re
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, field

from ddlsim.scenario.config import Positive, TableRecord, Text
from ddlsim.units import FOREVER_MS, Ms, SignedMs

Identifier = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$")]
"""The name of a step, a client or a transaction."""

EVENT: Final = re.compile(r"^([A-Za-z_][A-Za-z0-9_.-]*)\.(ok|failed|done|invoked)$")
"""An event that can be awaited: a step's id and, after the last dot, its outcome."""


class StepTable(TableRecord, frozen=True):
    """`[[step]]`: one operation of one client."""

    id: Identifier
    client: Identifier
    tx: Identifier | None = None
    node: str | None = None
    at_ms: Ms | None = None
    after: str | None = None
    plus_ms: Ms | None = None
    do: str | list[Any] | None = None
    ddl: Text | None = None
    session: bool = False
    read_only: bool = False
    misfit: bool = False
    values: Positive | None = None
    as_of_ms: Annotated[int, Meta(ge=-FOREVER_MS, le=FOREVER_MS)] | None = None
    fresh: bool = False
    expect: str | dict[str, Any] | None = None
    expect_under: dict[str, Any] = field(default_factory=dict)


class HoldTable(TableRecord, frozen=True):
    """`[[hold]]`: messages kept back, or `lost`.

    `label` is a step's id: only the messages sent for it; `messages`: so many of them at most, from
    the `nth` on.
    """

    sender: str | None = field(default=None, name="from")
    to: str | None = None
    kind: str | None = None
    from_ms: Ms = 0
    until_ms: Ms | None = None
    until: str | None = None
    label: str | None = None
    messages: Positive | None = None
    nth: Positive = 1
    lost: bool = False


class ApplyTable(TableRecord, frozen=True):
    """`[[apply]]`: slow application of the meta storage on one node."""

    node: str
    stage: Literal["log", "catalog", "listener"]
    delay_ms: Ms


class TickTable(TableRecord, frozen=True):
    """`[[tick]]`: an idle safe-time command at this instant."""

    at_ms: Ms


class ClockTable(TableRecord, frozen=True):
    """`[[clock]]`: a node's clock steps to an offset from true time, or changes its rate."""

    node: str
    at_ms: Ms
    offset_ms: SignedMs | None = None
    drift_ppm: Annotated[int, Meta(gt=-1_000_000, le=1_000_000)] | None = None


class LeaderTable(TableRecord, frozen=True):
    """`[[leader]]`: the node that leads a group from this instant on; at 0, from the start."""

    group: str
    node: str
    at_ms: Ms = 0


class PauseTable(TableRecord, frozen=True):
    """`[[pause]]`: a task of a node waits at a named point of the protocol."""

    node: str
    point: str
    until: str | None = None
    until_ms: Ms | None = None
    tx: Identifier | None = None
