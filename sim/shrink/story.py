"""The text of a shrunk scenario: TOML whose comments tell what happens, in simulated time.

The head says what is violated and why; each step has what came of it in its run, each fault and
hold what it does. Times are simulated milliseconds, timestamps `218+5` as everywhere.
"""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any, Final

from ddlsim.checkers.case.words import cut, key_words, value_words
from ddlsim.checkers.judge import FINDING, Violation
from ddlsim.checkers.outcome import STATUSES, Outcome
from ddlsim.checkers.signature import CRASH, signature_of
from ddlsim.escape import escaped
from ddlsim.history.events import (
    DdlDecided,
    Failed,
    Invoked,
    Ok,
    ReadExecuted,
    TxAborted,
    TxCommitted,
    Unknown,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.world_events import TxRecovered
from ddlsim.model.settings import SYMBOLS
from ddlsim.scenario.findings import title as finding_title
from ddlsim.scenario.rules import FDB
from ddlsim.scenario.tomltext import toml_text, toml_value
from ddlsim.shrink.data import STAGING, Data, Table, steps_of
from ddlsim.shrink.fault_words import fault_words
from ddlsim.shrink.trial import Shown
from ddlsim.units import as_ms, decimal, show

WIDTH: Final = 98
TITLE: Final = 110
"""A title is cut where its first part is longer."""
ENDS: Final = {"commit": "asks to commit", "rollback": "asks to roll back"}
VERBS: Final = {"get": "reads", "scan": "scans", "put": "writes", "strict": "inserts"}
ABORTED: Final = "aborted: "
MOST_TRIES: Final = 3
"""Of more transactions in which an operation was tried the first and the last are shown."""
LONGEST_ROW: Final = 200
"""A row of an answer that is longer is cut."""
MOST_ROWS: Final = 5
"""So many rows of an answer are shown."""
Ended = Ok | Failed | Unknown


def scenario_text(
    best: Shown, sentences: Sequence[str], note: str, source: str, command: str
) -> str:
    """The whole file: `sentences` say what is violated and why, `note` and `source` what it was
    shrunk from, and `command` repeats it."""
    story = Story(best)
    data = {key: value for key, value in best.data.items() if key not in ("step", *STAGING)}
    head = [
        *(line for sentence in sentences for line in _comment(sentence)),
        "#",
        *_comment(note),
        *_comment(story.times()),
        f"# Repeat it: {escaped(command, keep='')}",
    ]
    violation = best.violation
    top: Data = {
        "title": story.title(),
        "source": source,
        "clauses": [] if violation.status == CRASH else list(violation.clauses),
        "expect": expected(best),
    }
    single = top | {key: value for key, value in data.items() if not isinstance(value, dict | list)}
    tables = {key: value for key, value in data.items() if isinstance(value, dict | list)}
    keys = [f"{key} = {toml_value(value)}" for key, value in single.items()]
    parts = ["\n".join(head), "\n".join(keys), "\n".join(_steps(best, story))]
    parts += [_table(name, table, story) for name, table in tables.items()]
    parts += [
        "\n".join(_around(name, table, story))
        for name in STAGING
        for table in best.data.get(name, [])
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def expected(best: Shown) -> Table | str:
    """What a scenario says that shows this violation, by its signature; no run is to crash."""
    violation = best.violation
    if violation.status == CRASH:
        return Outcome.OK.word
    signature = signature_of(violation).text
    for broken, status in STATUSES.items():
        if violation.status == status:
            return {broken: [violation.checker], "signature": signature}
    return {"finding": violation.status.removeprefix(FINDING), "signature": signature}


def title_of(violation: Violation) -> str:
    """One line that says what is broken: a known finding's own title, else what was seen.

    The rest of the summary stands in the comment above it.
    """
    if violation.status == CRASH:
        return signature_of(violation).text
    kind, _, number = violation.status.partition(":")
    if kind == "finding":
        return f"{number}: {finding_title(number)}"
    what = _short(violation.summary.rstrip("."))
    if violation.steps:
        parties = list(dict.fromkeys(step.source for step in violation.steps))
        what = f"no serial order holds {', '.join(parties[:-1])} and {parties[-1]}"
    return escaped(f"{violation.invariant} {violation.checker}: {what}", keep="")


def _short(summary: str) -> str:
    """The first parts of a summary, as many as a title has room for."""
    first, *others = summary.split("; ")
    for part in others:
        if len(first) + len(part) + 2 > TITLE:
            break
        first += f"; {part}"
    for mark in (": ", ", "):
        while len(first) > TITLE and mark in first:
            first = first.rpartition(mark)[0]
    return cut(first, TITLE)


def _comment(text: str, indent: str = "") -> list[str]:
    """The lines of a comment; TOML has no control characters in it."""
    return wrap(
        escaped(text),
        WIDTH - len(indent),
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _steps(best: Shown, story: "Story") -> Iterator[str]:
    """`step = [ ... ]`, a line for each with what came of it above."""
    steps = steps_of(best.data)
    if not steps:
        return
    yield "step = ["
    for step in steps:
        yield from _comment(story.step(step), "  ")
        yield f"  {toml_value(step)},"
    yield "]"


def _table(name: str, table: Any, story: "Story") -> str:
    """A table of settings, with what the main ones come to."""
    said = {"protocol": story.settings, "clocks": story.clocks}.get(name)
    text = toml_text({name: table}).rstrip()
    return text if said is None else "\n".join([*_comment(said()), text])


def _around(name: str, table: Table, story: "Story") -> Iterator[str]:
    """A fault, a hold or anything else around the steps, with what it does."""
    yield from _comment(story.around(name, table))
    yield toml_text({name: [table]}).rstrip()


# --- what happened -------------------------------------------------------------------------------


class Story:
    """What a run's history says of the steps of its scenario."""

    def __init__(self, best: Shown) -> None:
        self._best = best
        self._events: dict[str, list[Any]] = {}
        self._of_tx: dict[str, list[Any]] = {}
        for event in best.history.events:
            if isinstance(event, TxCommitted | TxAborted | TxRecovered):
                self._of_tx.setdefault(event.tx, []).append(event)
            elif (op := getattr(event, "op", None)) is not None:
                self._events.setdefault(op, []).append(event)

    # -- the head ----------------------------------------------------------------------------------

    def title(self) -> str:
        """The file's title: the known finding, or what is broken."""
        return title_of(self._best.violation)

    def times(self) -> str:
        """What the numbers of the file are."""
        if self._best.history.header.design.plane == FDB:
            stamps = "timestamps are the store's versions, +10 ten versions more"
        else:
            stamps = "in timestamps +10 is the hybrid clock's logical part"
        return f"Times are simulated milliseconds; {stamps}."

    def settings(self) -> str:
        """The settings that most stories turn on, as they are resolved; a layer uses none."""
        if self._best.history.header.design.plane == FDB:
            return ""
        numbers = self._best.history.header.settings[""]
        parts = [
            f"{word} = {numbers[name]} ms" for name, word in SYMBOLS.items() if name in numbers
        ]
        idle = " (between idle safe-time commands)" if parts and parts[-1].startswith("H ") else ""
        return ", ".join(parts) + idle

    def clocks(self) -> str:
        """How far clocks are from true time, and how they drift."""
        clocks = self._best.data["clocks"]
        own = [clock_words(node, one) for node, one in clocks.get("nodes", {}).items()]
        return f"From the start {', '.join(own)}." if own else ""

    # -- steps -------------------------------------------------------------------------------------

    def step(self, step: Table) -> str:
        """When a step was issued, what it did, under which version, and how it ended."""
        events = self._events.get(step["id"], [])
        asked = next((one for one in events if isinstance(one, Invoked)), None)
        if asked is None:
            return f"{step['id']} is never issued."
        ended = next((one for one in events if isinstance(one, Ended)), None)
        actor = step.get("tx", step["client"])
        parts = [f"{as_ms(asked.at_us)} ms: {actor} {_does(step)}"]
        if "ddl" in step:
            parts += self._ddl(events)
        elif len(tries := _tries(step, events)) > 1:
            parts += self._tried(tries)
        else:
            parts[0] += self._data(events)
            parts += self._outcome(step)
        return "; ".join([*parts, _ends(ended)]) + "."

    def _ddl(self, events: Sequence[Any]) -> Iterator[str]:
        """The updates of a statement with their timestamps, or why there is none."""
        logged = [one for one in events if isinstance(one, UpdateLogged)]
        for event in logged:
            objects = ", ".join(f"version {one.version} of {one.name}" for one in event.objects)
            stamps = f"Tm = {show(event.message_ts)}, Tu = {show(event.activation_ts)}"
            yield f"D{event.catalog_version} with {stamps}, from Tu on {objects}"
        for event in [] if logged else events:
            if isinstance(event, DdlDecided):
                outcome = "changes nothing" if event.outcome == "noop" else "is refused"
                yield f"{outcome}, by catalog version {event.catalog_version}"

    def _tried(self, tries: dict[str, list[Any]]) -> Iterator[str]:
        """The outcome of each transaction in which an operation was tried; of many the last."""
        names = list(tries)
        first = names[:MOST_TRIES] if len(names) <= MOST_TRIES else names[:1]
        for name in first:
            yield self._try(name, tries[name])
        if len(names) > MOST_TRIES:
            yield f"{len(names) - 2} more tries, {names[1]} to {names[-2]}"
            yield self._try(names[-1], tries[names[-1]])

    def _try(self, name: str, events: Sequence[Any]) -> str:
        parts = [f"try {name}{self._data(events)}", *self._ended(name)]
        return ", ".join(parts) if len(parts) > 1 else f"{parts[0]} has no outcome"

    def _data(self, events: Sequence[Any]) -> str:
        """Under which versions an operation ran, when and where, and whose rows it found."""
        ran = [one for one in events if isinstance(one, ReadExecuted | WriteExecuted)]
        if not ran:
            return ""
        versions = ", ".join(str(one) for one in dict.fromkeys(one.version for one in ran))
        stamps = dict.fromkeys(show(one.op_ts) for one in (ran[0], ran[-1]))
        nodes = ", ".join(dict.fromkeys(one.node for one in ran))
        parts = f" under version {versions} (op_ts {' to '.join(stamps)} on {nodes})"
        reads = [one for one in ran if isinstance(one, ReadExecuted)]
        found = [
            f"[{key_words(row.key)}] of {row.writer} (version {row.row_version})"
            for one in reads
            for row in one.rows
            if row.row
        ]
        return f"{parts}, finds {', '.join(found) or 'no row'}" if reads else parts

    def _outcome(self, step: Table) -> Iterator[str]:
        """The outcome of the transaction, where the step ends it, is one of its own or its last."""
        tx = str(step.get("tx", step["id"]))
        if "tx" not in step or step.get("do") in [*ENDS]:
            yield from self._ended(tx)
        elif self._is_last(step):
            yield from (f"{tx}: {one}" for one in self._ended(tx) if not one.startswith(ABORTED))

    def _is_last(self, step: Table) -> bool:
        of_tx = [one for one in steps_of(self._best.data) if one.get("tx") == step["tx"]]
        return bool(of_tx[-1]["id"] == step["id"])

    def _ended(self, tx: str) -> Iterator[str]:
        for event in self._of_tx.get(tx, []):
            if isinstance(event, TxCommitted):
                yield f"commit_ts = {show(event.commit_ts)}"
            elif isinstance(event, TxAborted):
                yield f"{ABORTED}{event.reason}"
            elif isinstance(event, TxRecovered):
                yield f"{event.outcome} by recovery on {event.node}"

    # -- around them -------------------------------------------------------------------------------

    def around(self, name: str, table: Table) -> str:
        """What an entry around the steps does, in one sentence."""
        match name:
            case "faults":
                return fault_words(self._best.history, self._best.data.get("faults", []), table)
            case "hold":
                return _hold(table)
            case "pause":
                tx = f" of {table['tx']}" if "tx" in table else ""
                return f"A task{tx} on {table['node']} waits at {table['point']} {_until(table)}."
            case "apply":
                more = f"{table['delay_ms']:g} ms more at stage {table['stage']}"
                return f"{table['node']} takes {more}."
            case "tick":
                return f"{decimal(table['at_ms'])} ms: an idle safe-time command."
            case "clock":
                return f"{decimal(table['at_ms'])} ms: {clock_words(table['node'], table)}."
        when = f"{decimal(table['at_ms'])} ms: " if table.get("at_ms") else "From the start: "
        return f"{when}{table['node']} leads {table['group']}."


def _hold(table: Table) -> str:
    """Which messages a hold is for, and what becomes of them."""
    count = table.get("messages")
    many = "every" if count is None else "the first" if count == 1 else f"the first {count} of"
    behind = f", behind the first {table['nth'] - 1} of these," if table.get("nth", 1) > 1 else ""
    kind = table.get("kind", "message of any kind")
    label = f" for {table['label']}" if "label" in table else ""
    link = f" from {table.get('from', 'anywhere')} to {table.get('to', 'anywhere')}"
    what = f"{many} {kind}{link}{label}{behind}"
    fate = "is lost" if table.get("lost") else f"is kept back {_until(table)}"
    return f"From {table.get('from_ms', 0)} ms: {what} {fate}."


def _until(table: Table) -> str:
    if "until" in table:
        return f"until {table['until']}"
    return f"until {table['until_ms']} ms" if "until_ms" in table else "for ever"


def clock_words(node: str, table: Table) -> str:
    """A node's clock as a table sets it: its offset from true time, and its drift."""
    offset_ms, drift_ppm = table.get("offset_ms"), table.get("drift_ppm")
    parts = []
    if offset_ms:
        side = "ahead of" if offset_ms > 0 else "behind"
        parts.append(f"is {decimal(abs(offset_ms))} ms {side} true time")
    elif offset_ms is not None or not drift_ppm:
        parts.append("shows true time")
    if drift_ppm:
        parts.append(f"drifts by {drift_ppm:+d} ppm")
    return f"the clock of {node} {' and '.join(parts)}"


def _tries(step: Table, events: Sequence[Any]) -> dict[str, list[Any]]:
    """What is known of each transaction that an operation without one was tried in, in order."""
    found: dict[str, list[Any]] = {}
    for event in () if "tx" in step else events:
        tx = getattr(event, "tx", None)
        if tx is not None:
            found.setdefault(tx, []).append(event)
    return found


def _does(step: Table) -> str:
    """What a step does, in words."""
    if "ddl" in step:
        return " ".join(["asks", *([step["node"]] if "node" in step else []), "for", step["ddl"]])
    do = step["do"]
    if isinstance(do, str):
        return f"runs {do}" if " " in do else ENDS.get(do, do)
    if do[0] == "find":
        asked = ", ".join(f"{name} = {value_words(value)}" for name, value in do[3].items())
        return f"asks index {do[2]} of {do[1]} for {asked}"
    verb = VERBS.get(do[0], f"{do[0]}s")
    return f"{verb} {do[1]}[{key_words(do[2])}]" if len(do) > 2 else f"{verb} {do[1]}"


def _ends(ended: Ended | None) -> str:
    """How a step ended, and when."""
    if ended is None:
        return "no answer"
    at = f"at {as_ms(ended.at_us)} ms"
    match ended:
        case Ok(value=value) if isinstance(value, list | dict):
            return f"answered {at}: {_answer(value)}"
        case Ok():
            return f"answered {at}"
        case Failed(reason=reason):
            return f"fails {at}: {reason}"
    return f"unknown {at}: {ended.reason}"


def _answer(value: list[Any] | dict[str, Any]) -> str:
    """The row or rows of an answer."""
    rows = value if isinstance(value, list) else [value]
    shown = [_row(one) if isinstance(one, dict) else str(one) for one in rows[:MOST_ROWS]]
    more = [f"{len(rows) - MOST_ROWS} more"] if len(rows) > MOST_ROWS else []
    return ", ".join([*shown, *more]) or "no row"


def _row(row: dict[str, Any]) -> str:
    cells = ", ".join(f"{name} = {value_words(cell)}" for name, cell in row.items())
    return f"({cut(cells, LONGEST_ROW)})"
