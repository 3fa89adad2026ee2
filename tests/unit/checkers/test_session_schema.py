"""I13: a session's schema never goes back, and has what its own statements made."""

from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.extent import extents
from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run
from ddlsim.history.events import Failed, Invoked, Ok
from ddlsim.history.history import History
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import read
from ddlsim.strategies.base import DESIGNS
from ddlsim.verify.campaign import Job, Runner

BACK = "strategies/C4-T3"
OWN = """
[strategy]
name = "c4_fetch"
{rule}

[cluster]
plane = "fdb"
nodes = ["a", "b"]

[network]
latency_ms = 1

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"

[[hold]]
from = "storage3"
to = "b"
kind = "fired"
from_ms = 200
until_ms = 2000

[[step]]
id = "d"
client = "c1"
node = "a"
at_ms = 300
ddl = "ALTER TABLE t ADD COLUMN w INT"
session = true

[[step]]
id = "r"
client = "c1"
node = "b"
after = "d.ok"
do = ["get", "t", 9]
session = true
"""
"""A client's statement at a; its next operation is at b, whose watch fires late."""


@cache
def history(name: str) -> History:
    return run(plan(load(name), 0))


def own(rule: str, **changes: Any) -> History:
    return run(plan(read(OWN.format(rule=rule), "own", overrides=changes), 0))


def told(found: History) -> list[tuple[str, str]]:
    return [
        (one.kind, one.summary)
        for one in judge(found, all_claims=True).violations
        if one.invariant == "I13"
    ]


def changed(found: History, kind: type, **fields: Any) -> History:
    """The same history, in which the events of a kind have other fields."""
    other = History(found.header)
    other.events = [replace(e, **fields) if type(e) is kind else e for e in found.events]
    return other


def test_a_session_that_has_used_a_newer_version_must_not_go_back() -> None:
    ((kind, said),) = told(history(BACK))
    assert kind == "session-went-back"
    assert "c1 has used, in r1, version 2 of t; r2" in said
    assert "ran on node b under version 1 of t" in said
    assert told(history(f"{BACK}-control")) == []


def test_without_a_token_an_operation_owes_its_client_nothing() -> None:
    assert told(changed(history(BACK), Invoked, session=False)) == []


def test_what_was_never_answered_has_not_been_seen() -> None:
    silent = History(history(BACK).header)
    silent.events = [
        Failed(one.at_us, one.client, one.op, "TX_CONFLICT")
        if type(one) is Ok and one.op == "r1" else one
        for one in history(BACK).events
    ]  # fmt: skip
    assert told(silent) == []


def test_a_session_uses_what_its_own_statement_has_made() -> None:
    assert told(own("")) == []
    ((kind, said),) = told(own('admit = "always"'))
    assert kind == "session-went-back"
    assert "c1 has installed, by d, version 2 of t; r" in said


def test_a_design_whose_tokens_tell_no_schema_is_not_judged() -> None:
    assert told(own('admit = "always"\ntoken = "no_token"')) == []
    assert told(own("", **{"strategy.name": "c2_watch"})) == []


@pytest.mark.parametrize("name", ["c4_session", "c4_fetch", "c4_retry"])
def test_designs_with_such_tokens_claim_it_and_no_other_does(name: str) -> None:
    claiming = {
        one for one in DESIGNS if any(c.invariant == "I13" for c in DESIGNS.get(one).header.claims)
    }
    assert name in claiming
    assert claiming == {"c4_session", "c4_fetch", "c4_retry"}


def test_how_much_there_was_to_judge_is_told() -> None:
    found = {one.checker: one for one in extents(Case(history(BACK)))}
    assert found["session_schema"].amounts == {
        "operations with a token that tells a schema": 3,
        "sessions": 1,
    }
    none = {one.checker: one for one in extents(Case(history("smoke")))}
    assert none["session_schema"].is_empty


@pytest.mark.slow
def test_drawn_worlds_show_a_token_that_is_not_advanced() -> None:
    """A world with sessions, and with a process that is cut off from the schema."""

    def broken(**fields: str) -> bool:
        settings = {f"strategy.{key}": value for key, value in fields.items()}
        row = Runner(Job("", "", settings, swarm=True, models=False)).row(31)
        return any(one.invariant == "I13" for one in row.violations)

    assert broken(name="c4_session", token="as_asked")
    assert broken(name="c4_fetch", admit="always")
    assert not broken(name="c4_session")
