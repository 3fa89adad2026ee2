"""How much each judge had before it: counted a second way, from the bare records of the file."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.extent import AMOUNTS, Extent, extents
from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run
from ddlsim.history import codec
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load

NAMES = ("smoke", "iep98/own_ddl", "iep110/validated_at_commit", "transactions/read_only")


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_shipped_checker_has_amounts() -> None:
    shipped = [name for name in CHECKERS if CHECKERS.get(name).__module__.startswith("ddlsim.")]
    assert sorted(shipped) == sorted(AMOUNTS)


@pytest.mark.parametrize("name", NAMES)
def test_amounts_are_those_of_the_bare_records(name: str, tmp_path: Path) -> None:
    history = run(plan(load(name), 1))
    codec.save(history, tmp_path / "history.jsonl")
    found = {one.checker: one for one in extents(Case(history))}
    lines = records(tmp_path / "history.jsonl")
    kinds = Counter(line["event"] for line in lines)
    of = {kind: [line for line in lines if line["event"] == kind] for kind in kinds}

    def first(checker: str) -> int:
        return next(iter(found[checker].amounts.values()))

    committed = {line["tx"] for line in of.get("TxCommitted", [])}
    aborted = {line["tx"] for line in of.get("TxAborted", [])}
    assert first("atomicity") == kinds["SchemaResolved"]
    assert first("uniform_commit") == len(committed)
    graph = found["serializability"].amounts
    assert graph["committed transactions"] == len(committed)
    assert first("serializability") == len(committed) + len(of.get("DdlDecided", []))
    assert found["serializability"].amounts["schema updates"] == sum(
        line["op"] is not None for line in of["UpdateLogged"]
    )
    crossed = {
        line["tx"]
        for line in of.get("TxCommitted", [])
        if any(initial != now for _, initial, now in line["tables"])
    }
    assert first("forward_compatible") == len(crossed)
    rows = sum(len(line["rows"]) for line in of["ReadExecuted"])
    assert first("data_matches_schema") == rows + kinds["WriteExecuted"]
    assert found["data_matches_schema"].amounts["rows read"] == rows
    assert found["data_matches_schema"].amounts["rows written"] == kinds["WriteExecuted"]
    assert first("liveness") == kinds["Invoked"]
    assert (
        found["liveness"].amounts["that ended"] == kinds["Ok"] + kinds["Failed"] + kinds["Unknown"]
    )
    assert found["precision"].amounts["aborted transactions"] == len(aborted)
    assert first("precision") == len(aborted) + kinds["SchemaResolved"] + kinds["DdlDecided"]
    ddl = {line["op"] for line in of.get("DdlDecided", [])}
    told = [at for at, line in enumerate(lines) if line["event"] == "Ok" and line["op"] in ddl]
    later = sum(line["event"] == "Invoked" for line in lines[told[0] :]) if told else 0
    assert first("own_ddl") == later
    readers = {line["tx"] for line in of["ReadExecuted"]}
    past = {line["tx"] for line in of["TxBegan"] if line["read_ts"] is not None}
    assert first("opacity") == len(readers - (committed - past))


@pytest.mark.parametrize(
    "name",
    [
        "findings/F-7",  # a cycle of statements alone
        "iep98/using_safe_time",  # look-ups that took too long, and no abort
        "strategies/B12-T1",  # a row that was written and never read
        "strategies/C1-T2",  # a committed transaction that only read
        "strategies/C12-T4",  # a version that is not in force at the commit
        "strategies/C14-T2",  # a row without its entry, and no entry at all
        "strategies/C15-T1",  # a commit whose validator took its own version for the one in force
    ],
)
def test_what_broke_an_invariant_could_have_broken_it(name: str) -> None:
    history = run(plan(load(name), 0))
    found = {one.checker for one in judge(history, all_claims=True).violations}
    assert found
    assert not [one for one in extents(Case(history)) if one.checker in found and one.is_empty]


def test_an_extent_of_nothing_is_empty() -> None:
    history = run(plan(load("iep98/own_ddl"), 0))
    found = {one.checker: one for one in extents(Case(history))}
    assert not found["own_ddl"].is_empty
    assert found["forward_compatible"].is_empty
    assert not Extent("I1", "of_a_plugin", claimed=True, judged=True, amounts={}).is_empty


def test_extents_say_which_claims_are_not_made() -> None:
    history = run(plan(load("iep98/own_ddl", {"strategy.name": "a1_naive_future"}), 0))
    claimed = {one.invariant for one in history.header.design.claims}
    assert {one.invariant for one in extents(Case(history)) if one.claimed} == claimed & {
        one.invariant for one in extents(Case(history))
    }
    assert all(one.claimed for one in extents(Case(history), all_claims=True))
