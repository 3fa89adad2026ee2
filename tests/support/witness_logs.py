"""Witness logs for tests: the shipped example, and logs written from simulated runs."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import ddlsim
from ddlsim.foreign.witness.records import parse
from ddlsim.foreign.witness.witness import Judgement, judge_log
from ddlsim.history import events
from ddlsim.history.history import History
from ddlsim.model.ddl import Statement
from ddlsim.scenario.scenario import Scenario

FOLDER = Path(ddlsim.__file__).parents[1] / "scenarios" / "witness"

Entry = dict[str, Any]

EPOCH_TS = 1_000_000 << 16
"""Simulated clocks begin at zero, and slow ones below; real ones do not."""


def shipped(name: str = "clean") -> list[Entry]:
    """The entries of a shipped example."""
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


def judged(entries: Iterable[Entry | str]) -> Judgement:
    """The judgement of these entries; a text stands for itself."""
    texts = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    return judge_log(parse([text.encode() for text in texts], "log.jsonl"))


def changed(at: Callable[[Entry], bool], **keys: Any) -> list[Entry]:
    """The clean example, some of its entries with other values."""
    return [{**entry, **keys} if at(entry) else entry for entry in shipped()]


def without(at: Callable[[Entry], bool]) -> list[Entry]:
    """The clean example without some of its entries."""
    return [entry for entry in shipped() if not at(entry)]


def of(record: str, **keys: Any) -> Callable[[Entry], bool]:
    """Whether an entry is of a kind and has these values."""
    return lambda entry: (
        entry["record"] == record and all(entry.get(key) == keys[key] for key in keys)
    )


# --- from simulated runs -------------------------------------------------------------------------


def written(history: History, scenario: Scenario) -> list[Entry]:
    """What the nodes of a simulated run would have written; every client shows true time."""
    return _Scribe(history, scenario).entries()


def instant(event: Any, position: int) -> float:
    """When, in milliseconds; of one simulated instant, the later in the history is later."""
    shown: float = event.at_us / 1000 + position * 1e-4
    return shown


class _Scribe:
    def __init__(self, history: History, scenario: Scenario) -> None:
        self._history = history
        self._first = [one.sql for one in scenario.schema if isinstance(one.statement, Statement)]
        asked = [(at, one) for at, one in enumerate(history.events) if type(one) is events.Invoked]
        self._asked = {event.op: event for _, event in reversed(asked)}
        self._asked_at = {event.op: at for at, event in reversed(asked)}
        self._made: dict[str, tuple[int, int]] = {}
        self._objects: dict[int, tuple[int, int]] = {}

    def entries(self) -> list[Entry]:
        found: list[Entry] = [{"record": "cluster", "format": 1, "clock_error_ms": 0}]
        found += map(self._activated, self._history.of(events.UpdateLogged))
        for position, event in enumerate(self._history.events):
            entry = self._entry(event, position)
            found += [] if entry is None else [entry]
        return found

    def _activated(self, update: events.UpdateLogged) -> Entry:
        [change] = update.objects
        made = (change.object_id, change.version)
        self._objects[update.catalog_version] = made
        if update.op is not None:
            self._made[update.op] = made
        sql = self._first.pop(0) if update.op is None else self._asked[update.op].sql
        return {
            "record": "schema_activated",
            "object": made[0],
            "version": made[1],
            "activation": max(update.activation_ts + EPOCH_TS, 0),
            "sql": sql,
            "node": "log",
            "hlc": 0,
            "wall_ms": update.at_us / 1000,
        }

    def _entry(self, event: Any, position: int) -> Entry | None:
        match event:
            case events.UpdateApplied():
                object_id, version = self._objects[event.catalog_version]
                more: Entry = {"record": "schema_applied", "object": object_id, "version": version}
            case events.SchemaResolved():
                more = self._resolved(event)
            case events.Ok() if event.op in self._made:
                object_id, version = self._made[event.op]
                more = {"record": "ddl_acknowledged", "object": object_id, "version": version}
            case events.TxCommitted():
                tables = [{"object": each[0], "version": each[1]} for each in event.tables]
                more = {"record": "transaction_committed", "transaction": event.tx}
                more |= {"commit": event.commit_ts + EPOCH_TS, "tables": tables}
            case _:
                return None
        node = getattr(event, "node", "client")
        at = {"node": node, "hlc": max(event.at_us // 1000, 0), "wall_ms": instant(event, position)}
        return {**at, **more}

    def _resolved(self, event: events.SchemaResolved) -> Entry:
        asked = None if event.op is None else self._asked.get(event.op)
        gone = not event.version
        more: Entry = {
            "record": "schema_resolved",
            "transaction": event.tx,
            "purpose": event.purpose,
            "at": event.ts + EPOCH_TS,
            "object": 0 if gone else event.object_id,
            "version": event.version,
            "operation": event.op,
        }
        if event.name is not None or gone:
            more["table"] = event.name or "gone"
        if asked is not None:
            started_ms = instant(asked, self._asked_at[asked.op])
            more |= {"started_ms": started_ms, "clock": "clients"}
        return more
