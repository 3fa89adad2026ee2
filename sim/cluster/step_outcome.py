"""Compares the outcome of a step with its `expect`.

The reply, its rows and its time are compared when the step ends. What only events tell is compared
after the run: the schema version, timestamps, and whether the transaction of a step that `aborts`
was aborted.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ddlsim.history.events import (
    AnyEvent,
    ReadExecuted,
    TxAborted,
    TxCommitted,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.world_events import TxRecovered
from ddlsim.model.programs import Step
from ddlsim.scenario.step_expect import reasons_of
from ddlsim.scenario.tomltext import toml_value
from ddlsim.units import Timestamp, decimal, physical_ms

DEFAULT_TOLERANCE_MS: Final = 20
"""How far from `waits_until_ms` a step may end where the scenario does not say."""
AT_THE_END: Final = ("aborts", "version", "commit_ts_ms", "tu_ms")
"""What is compared when the run is over."""

Row = Mapping[str, Any]


def missed_at_once(
    expect: Any, got: str, ended_ms: float, *, rows: Sequence[Row] | None, done: bool
) -> str | None:
    """All in which the reply differs from what is expected, as far as the client sees it; or None.

    `got` is `ok`, `unknown` or a reason's code; `rows` are those of a read that succeeded,
    `done` whether a write that may be left out was carried out.
    """
    if isinstance(expect, str):
        return None if got == expect else got
    is_other = not is_wanted(expect, got)
    missed = [got] if is_other else []
    if "rows" in expect and not is_other:
        assert rows is not None, "a read has rows"
        if not same_rows(expect["rows"], rows, exact=expect.get("exact", True)):
            missed.append(f"rows {shown_rows(rows)}")
    if not is_other and expect.get("answer", done) is not done:
        missed.append(f"answer {toml_value(done)}")
    until_ms: float | None = expect.get("waits_until_ms")
    tolerance_ms: float = expect.get("tolerance_ms", DEFAULT_TOLERANCE_MS)
    if until_ms is not None and abs(ended_ms - until_ms) > tolerance_ms:
        is_named = got == "ok" or bool(missed)
        missed.append(f"{'ended' if is_named else got} at {decimal(ended_ms)} ms")
    return " and ".join(missed) or None


def is_wanted(expect: Any, got: str) -> bool:
    """Whether an outcome is one that is expected."""
    if isinstance(expect, str):
        return got == expect
    wanted = [expect.get("outcome", "ok")]
    for form in ("aborts", "fails"):
        wanted = reasons_of(expect[form]) if form in expect else wanted
    return got in wanted


# --- rows ----------------------------------------------------------------------------------------


def same_rows(wanted: Sequence[Row], rows: Sequence[Row], *, exact: bool) -> bool:
    """Whether rows and wanted rows match one to one, in any order."""
    if len(wanted) != len(rows):
        return False
    fits = [
        [place for place, row in enumerate(rows) if is_row(want, row, exact=exact)]
        for want in wanted
    ]
    taken: dict[int, int] = {}
    return all(_placed(number, fits, taken, set()) for number in range(len(wanted)))


def _placed(number: int, fits: list[list[int]], taken: dict[int, int], tried: set[int]) -> bool:
    """Match a wanted row, rematching others where needed (augmenting path); False if impossible."""
    for place in fits[number]:
        if place in tried:
            continue
        tried.add(place)
        if place not in taken or _placed(taken[place], fits, taken, tried):
            taken[place] = number
            return True
    return False


def is_row(want: Row, row: Row, *, exact: bool) -> bool:
    """Whether a row has the wanted values; `exact`: and no other column."""
    present = {name for name, cell in want.items() if cell != {"absent": True}}
    if exact and set(row) != present:
        return False
    return all(_is_cell(cell, name, row) for name, cell in want.items())


def _is_cell(cell: Any, name: str, row: Row) -> bool:
    if cell == {"absent": True}:
        return name not in row
    if name not in row:
        return False
    if cell == {"null": True}:
        return row[name] is None
    return isinstance(cell, bool) == isinstance(row[name], bool) and bool(cell == row[name])


def shown_rows(rows: Iterable[Row]) -> str:
    """Rows as an expectation writes them."""
    return toml_value(
        [
            {name: {"null": True} if cell is None else cell for name, cell in row.items()}
            for row in rows
        ]
    )


# --- what only the events show --------------------------------------------------------------------


class StepEvents:
    """The events of a run that concern its steps, by step or transaction."""

    def __init__(self, events: Iterable[AnyEvent], steps: Iterable[str]) -> None:
        self._steps = dict.fromkeys(steps)
        self._versions: dict[str, dict[int, None]] = {}
        self._updates: dict[str, UpdateLogged] = {}
        self._commits: dict[str, int] = {}
        self._aborts: dict[str, None] = {}
        for event in events:
            match event:
                case ReadExecuted() | WriteExecuted():
                    self._versions.setdefault(event.op, {})[event.version] = None
                case UpdateLogged() if event.op is not None:
                    self._updates.setdefault(event.op, event)
                case TxCommitted():
                    self._commits[event.tx] = event.commit_ts
                case TxAborted():
                    self._aborts[event.tx] = None
                case TxRecovered() if event.outcome == "aborted":
                    self._aborts[event.tx] = None

    def missed(self, step: Step) -> str | None:
        """All in which the events differ from what the step expects; None if they do not."""
        expect: dict[str, Any] = step.expect
        tolerance_ms: float = expect.get("tolerance_ms", 0)
        if "aborts" in expect and (why := self._not_over(step)) is not None:
            return why
        missed: list[str] = []
        if "version" in expect and (got := self._version(step)) != [expect["version"]]:
            missed.append(f"version {' and '.join(map(str, got))}" if got else "no version")
        for key, ts in (("commit_ts_ms", self._commit_ts(step)), ("tu_ms", self._tu(step))):
            if key not in expect:
                continue
            came_ms = None if ts is None else physical_ms(Timestamp(ts))
            if came_ms is None:
                missed.append(f"no {key}")
            elif abs(came_ms - expect[key]) > tolerance_ms:
                missed.append(f"{key} = {came_ms}")
        return " and ".join(missed) or None

    def _labels(self, step: Step) -> list[str]:
        """The ids of the step's transaction, those of its retries included."""
        if step.tx is not None:
            return [step.tx]
        again = [
            label
            for label in (*self._commits, *self._aborts)
            if label.startswith(f"{step.id}r")
            and label.removeprefix(f"{step.id}r").isdecimal()
            and label not in self._steps
        ]
        return [step.id, *again]

    def _not_over(self, step: Step) -> str | None:
        labels = self._labels(step)
        if any(label in self._commits for label in labels):
            return "its transaction committed"
        if not any(label in self._aborts for label in labels):
            return "its transaction is not over"
        return None

    def _version(self, step: Step) -> list[int]:
        update = self._updates.get(step.id)
        if update is not None:
            return [update.objects[0].version]
        return list(self._versions.get(step.id, ()))

    def _commit_ts(self, step: Step) -> int | None:
        found = (self._commits.get(label) for label in self._labels(step))
        return next((ts for ts in found if ts is not None), None)

    def _tu(self, step: Step) -> int | None:
        update = self._updates.get(step.id)
        return None if update is None else update.activation_ts
