"""The text of a shrunk scenario: TOML whose comments tell what happens, in simulated time.

The head says what is violated and why; each step has what came of it in its run, each fault and
hold what it does. Times are simulated milliseconds, timestamps `218+5` as everywhere.
"""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any, Final

from ddlsim.checkers.judge import FINDING, Violation
from ddlsim.checkers.outcome import STATUSES, Outcome
from ddlsim.checkers.signature import CRASH, signature_of
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
from ddlsim.scenario.findings import title as finding_title
from ddlsim.scenario.rules import FDB
from ddlsim.scenario.tomltext import toml_text, toml_value
from ddlsim.shrink.data import STAGING, Data, Table, steps_of
from ddlsim.shrink.fault_words import fault_words
from ddlsim.shrink.trial import Shown
from ddlsim.units import as_ms, decimal, show

WIDTH: Final = 98
NAMED: Final = {
    "safe_time_interval_ms": "H",
    "delay_duration_ms": "DD",
    "max_clock_skew_ms": "CSmax",
}
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
        f"# Repeat it: {command}",
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
    """One line that says what is broken: a known finding's own title, else what was seen first.

    The rest of the summary stands in the comment above it.
    """
    if violation.status == CRASH:
        return signature_of(violation).text
    kind, _, number = violation.status.partition(":")
    if kind == "finding":
        return f"{number}: {finding_title(number)}"
    what = violation.summary.partition("; ")[0].rstrip(".")
    if violation.steps:
        parties = list(dict.fromkeys(step.source for step in violation.steps))
        what = f"no serial order holds {', '.join(parties[:-1])} and {parties[-1]}"
    return f"{violation.invariant} {violation.checker}: {what}"


def _comment(text: str, indent: str = "") -> list[str]:
    return wrap(
        text,
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
    text = toml_text({name: table}).rstrip()
    return "\n".join([*_comment(story.settings()), text]) if name == "protocol" else text


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
        for event in best.history.events:
            if isinstance(event, TxCommitted | TxAborted | TxRecovered):
                self._events.setdefault(event.tx, []).append(event)
            elif (op := getattr(event, "op", None)) is not None:
                self._events.setdefault(op, []).append(event)

    # -- the head ----------------------------------------------------------------------------------

    def title(self) -> str:
        """The file's title: the known finding, or what is broken."""
        return title_of(self._best.violation)

    def settings(self) -> str:
        """The settings that most stories turn on, as they are resolved; a layer uses none."""
        if self._best.history.header.design.plane == FDB:
            return ""
        numbers = self._best.history.header.settings[""]
        parts = [f"{word} = {numbers[name]} ms" for name, word in NAMED.items() if name in numbers]
        return ", ".join(parts)

    # -- steps -------------------------------------------------------------------------------------

    def step(self, step: Table) -> str:
        """When a step was issued, what it did, under which version, and how it ended."""
        events = self._events.get(step["id"], [])
        asked = next((one for one in events if isinstance(one, Invoked)), None)
        if asked is None:
            return f"{step['id']} is never issued."
        ended = next((one for one in events if isinstance(one, Ended)), None)
        actor = step.get("tx", step["client"])
        done = self._ddl(events) if "ddl" in step else self._data(step, events)
        parts = [f"{as_ms(asked.at_us)} ms: {actor} {_does(step)}{done}"]
        parts += self._outcome(step)
        return "; ".join([*parts, _ends(ended)]) + "."

    def _ddl(self, events: Sequence[Any]) -> str:
        """The update of a statement with its timestamps, or why there is none."""
        for event in events:
            if isinstance(event, UpdateLogged):
                objects = ", ".join(f"{one.name} version {one.version}" for one in event.objects)
                stamps = f"Tm = {show(event.message_ts)}, Tu = {show(event.activation_ts)}"
                return f": D{event.catalog_version}, {stamps}, from Tu on {objects}"
            if isinstance(event, DdlDecided):
                outcome = "does nothing" if event.outcome == "noop" else "is refused"
                return f": {outcome}, by catalog version {event.catalog_version}"
        return ""

    def _data(self, step: Table, events: Sequence[Any]) -> str:
        """Under which versions an operation ran, when and where, and whose rows it found."""
        ran = [one for one in events if isinstance(one, ReadExecuted | WriteExecuted)]
        if not ran:
            return ""
        versions = ", ".join(str(one) for one in dict.fromkeys(one.version for one in ran))
        stamps = dict.fromkeys(show(one.op_ts) for one in (ran[0], ran[-1]))
        nodes = ", ".join(dict.fromkeys(one.node for one in ran))
        parts = f" under version {versions} (op_ts {' to '.join(stamps)} on {nodes})"
        reads = [one for one in ran if isinstance(one, ReadExecuted)]
        found = [f"{row.key!r} of {row.writer}" for one in reads for row in one.rows if row.row]
        return f"{parts}, finds {', '.join(found) or 'no row'}" if reads else parts

    def _outcome(self, step: Table) -> Iterator[str]:
        """What became of the transaction, where the step ends it or is one of its own."""
        do = step.get("do")
        if "ddl" in step or ("tx" in step and do not in ("commit", "rollback")):
            return
        for event in self._events.get(str(step.get("tx", step["id"])), []):
            if isinstance(event, TxCommitted):
                yield f"commit_ts = {show(event.commit_ts)}"
            elif isinstance(event, TxAborted):
                yield f"aborted: {event.reason}"
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
                return f"{decimal(table['at_ms'])} ms: the clock of {table['node']} changes."
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


def _does(step: Table) -> str:
    """What a step does, in words."""
    if "ddl" in step:
        return f"asks {step['node']} for {step['ddl']}" if "node" in step else step["ddl"]
    do = step["do"]
    if isinstance(do, str):
        return (
            f"runs {do}"
            if " " in do
            else {"commit": "commits", "rollback": "rolls back"}.get(do, do)
        )
    verb = {"get": "reads", "scan": "scans", "put": "writes", "strict": "inserts"}.get(
        do[0], f"{do[0]}s"
    )
    return " ".join([verb, *map(str, do[1:3])])


def _ends(ended: Ended | None) -> str:
    """How a step ended, and when."""
    if ended is None:
        return "no answer"
    at = f"at {as_ms(ended.at_us)} ms"
    match ended:
        case Ok(value=value) if isinstance(value, list | dict):
            return f"answered {at}: {value}"
        case Ok():
            return f"answered {at}"
        case Failed(reason=reason):
            return f"fails {at}: {reason}"
    return f"unknown {at}: {ended.reason}"
