"""The ledger of findings is complete for small cycles, by a model written from the documents.

`python -m tests.ledger.test_ledger` goes through three DDLs and two transactions as well, and runs
a script of every class.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain

import pytest
from msgspec import structs

from ddlsim.checkers.findings import Finding
from ddlsim.cluster.designs import rules_of
from ddlsim.model.design import DesignHeader
from ddlsim.scenario import findings
from ddlsim.strategies.base import STRATEGIES
from ddlsim.verify.campaign import Job, Runner
from ddlsim.verify.row import RunRow
from tests.ledger.cycles import cycles
from tests.ledger.known import explanation, possible, reaches_beyond, structure, ways_back
from tests.ledger.rules import CLOSED, SKEW, Cycle, Ddl, Rules, Tx
from tests.ledger.scripts import script

SIZES = ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1))
"""How many DDLs, and how many transactions."""
FULL = (*SIZES, (3, 2))
SKEWED = Rules(skew=SKEW)
"""The rules of the documents; agreeing clocks are among those that may differ."""


@cache
def all_possible(ddls: int, transactions: int) -> tuple[Cycle, ...]:
    return tuple(possible(ddls, transactions, SKEWED))


def of(design: str) -> tuple[Finding, ...]:
    """The findings that concern a design."""
    chosen = STRATEGIES.get(design)
    header: DesignHeader = structs.replace(chosen.header, rules=rules_of(chosen))
    return tuple(one for one in findings.known() if one.concerns(header))


def unexplained(size: tuple[int, int]) -> Iterator[Cycle]:
    """Possible cycles that are no finding, with whichever of their edges leading back."""
    known = of("iep")
    for cycle in all_possible(*size):
        sets = list(ways_back(cycle, SKEWED))
        if not sets or any(explanation(cycle, back, known) is None for back in sets):
            yield cycle


@pytest.mark.parametrize("size", SIZES)
def test_every_cycle_that_the_rules_allow_is_a_finding(size: tuple[int, int]) -> None:
    assert [structure(cycle) for cycle in unexplained(size)] == []


def test_every_finding_of_the_documents_past_a_ddl_is_met() -> None:
    """F-6 has no DDL: its cycle is not among them. F-15 (I7) is about one row and has no cycle."""
    met = {
        explanation(cycle, back, of("iep"))
        for size in SIZES[:3]
        for cycle in all_possible(*size)
        for back in ways_back(cycle, SKEWED)
    }
    assert met == {one.id for one in of("iep")} - {"F-6", "F-15"}


def test_each_finding_is_needed() -> None:
    """Without it some cycle would be no finding.

    Not so for F-6 and F-15, which no cycle past a DDL is, nor for F-8: a case of F-9 with a name of
    its own.
    """
    known = of("iep")
    for left_out in known:
        others = tuple(one for one in known if one is not left_out)
        lost = [
            cycle
            for size in SIZES[:3]
            for cycle in all_possible(*size)
            if any(explanation(cycle, back, others) is None for back in ways_back(cycle, SKEWED))
        ]
        assert bool(lost) != (left_out.id in {"F-6", "F-8", "F-15"}), left_out.id


def test_what_clocks_lead_back_lies_within_csmax() -> None:
    for size in SIZES[:3]:
        for cycle in all_possible(*size):
            for back in ways_back(cycle, SKEWED):
                assert not reaches_beyond(cycle, SKEWED, back)


@pytest.mark.parametrize("size", SIZES)
def test_the_closing_rules_leave_none(size: tuple[int, int]) -> None:
    assert list(possible(*size, CLOSED)) == []


@pytest.mark.parametrize("rule", ["exact", "answers_when_past", "also_read_only"])
def test_without_a_closing_rule_there_are_some(rule: str) -> None:
    less: dict[str, bool] = {rule: False}
    assert list(possible(1, 2, replace(CLOSED, **less)))


@pytest.mark.parametrize("rule", ["checks_operations", "checks_commits"])
def test_without_a_rule_of_the_documents_there_are_more(rule: str) -> None:
    less: dict[str, bool] = {rule: False}
    assert len(list(possible(1, 2, replace(SKEWED, **less)))) > len(all_possible(1, 2))


def test_the_model_is_not_empty() -> None:
    """Most cycles are impossible, and some of each kind of edge are looked at."""
    drawn = list(chain.from_iterable(cycles(*size) for size in SIZES[:3]))
    assert {way.kind for cycle in drawn for way in cycle.ways} == {
        "ww-schema", "wr-schema", "rw-schema", "wr-row", "rw-row", "ww-row", "rt", "process",
    }  # fmt: skip
    count = Counter(size for size in SIZES for _ in all_possible(*size))
    assert count == {(1, 2): 28, (2, 1): 6, (2, 2): 212, (3, 1): 36}


# --- the same in the simulator -------------------------------------------------------------------


def classes(sizes: tuple[tuple[int, int], ...]) -> dict[object, str]:
    """A script of each class of cycles that can be where clocks agree."""
    found: dict[object, str] = {}
    for cycle in chain.from_iterable(cycles(*size) for size in sizes):
        key = (structure(cycle), tuple(map(_kind, cycle.nodes)))
        if key not in found:
            text = script(cycle)
            if text is not None:
                found[key] = text
    return found


def _kind(node: Ddl | Tx) -> str:
    return node.kind if isinstance(node, Ddl) else f"read-only {node.read_only}"


def ran(text: str, strategy: str) -> tuple[RunRow, set[str]]:
    """The run of a script, and the statuses of what was found, but for needless aborts."""
    row = Runner(Job("ledger", text, {"strategy.name": strategy}, models=False)).row(0)
    judged = [one.status for one in row.violations if one.severity != "quality"]
    return row, {status for status in judged if status != "accepted"}


def faults(text: str) -> Iterator[str]:
    """How the simulator does not confirm a class."""
    row, statuses = ran(text, "iep")
    if row.crash or row.missed or row.stuck:
        yield f"iep does not do it: {row.crash} {row.missed}"
    if not statuses or not all(status.startswith("finding:") for status in statuses):
        yield f"iep: {statuses}"
    row, statuses = ran(text, "iep_closed")
    if row.crash or row.stuck or statuses:
        yield f"iep_closed: {row.crash} {statuses}"


def test_the_simulator_confirms_each_class() -> None:
    """`iep` carries the script out and shows findings alone, `iep_closed` shows nothing."""
    found = classes(SIZES[:3])
    assert len(found) == 22
    for key, text in found.items():
        assert list(faults(text)) == [], key


def main() -> int:
    """The full form: 0 if the ledger is complete and the simulator confirms it."""
    wrong = 0
    for size in FULL:
        lost = [structure(cycle) for cycle in unexplained(size)]
        left = [structure(cycle) for cycle in possible(*size, CLOSED)]
        told = f"{lost or 'all explained'}; {left or 'none of the closed design'}"
        sys.stdout.write(f"{size}: {len(all_possible(*size))} possible; {told}\n")
        wrong += len(lost) + len(left)
    found = classes(SIZES)
    for key, text in found.items():
        for fault in faults(text):
            sys.stdout.write(f"{key}: {fault}\n")
            wrong += 1
    sys.stdout.write(f"{len(found)} classes run\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
