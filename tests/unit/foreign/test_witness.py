"""Witness logs: each invariant has its example, nothing else is accused, doubt is never "ok"."""

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.outcome import Outcome
from ddlsim.cluster.run import run
from ddlsim.foreign import inputs
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.foreign.witness import report as witness_report
from ddlsim.foreign.witness.records import hlc
from ddlsim.graph.verdict import KEPT_OF_A_KIND
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from tests.support.witness_logs import Entry, changed, judged, of, shipped, without, written

JUDGES = ("atomicity", "own_ddl", "forward_compatible")
"""The checkers that judge a witness log."""
RESOLVED = {"transaction": "T2", "purpose": "arrival"}
ACKNOWLEDGED = of("ddl_acknowledged", version=2)


def kinds(entries: list[Entry]) -> list[str]:
    return [one.kind for one in judged(entries).violations]


def problems(entries: list[Entry | str]) -> list[str]:
    """What could not be judged, of the entries themselves."""
    return [str(one) for one in judged(entries).problems if one.line]


# --- what is broken ------------------------------------------------------------------------------


REST = '"hlc": 1, "wall_ms": 1, "object": 1, "version": 1'


@pytest.mark.parametrize("name", ["atomicity", "own_ddl", "forward_compatible"])
def test_an_example_for_each_invariant(name: str) -> None:
    found = judged(shipped(name))
    assert {one.checker for one in found.violations} == {name}
    assert found.problems == ()


def test_the_clean_example_is_clean() -> None:
    found = judged(shipped())
    assert found[:4] == ((), (), 19, 3)
    records = [one["record"] for one in shipped() if one["record"] != "cluster"]
    assert dict(found.kinds) == Counter(records)


def test_each_checker_is_needed_for_its_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its judge, an example is innocent."""
    for name in ("atomicity", "own_ddl", "forward_compatible"):
        silent = type("Silent", (type(CHECKERS.get(name)),), {"check": lambda self, case: ()})
        monkeypatch.setitem(CHECKERS._items, name, silent())
        assert judged(shipped(name)).violations == ()


def test_an_update_applied_after_a_look_up_that_it_changes_breaks_i1() -> None:
    late = [entry for entry in shipped() if of("schema_applied", node="n3", version=2)(entry)]
    rest = without(of("schema_applied", node="n3", version=2))
    last = max(at for at, entry in enumerate(rest) if entry.get("node") == "n3")
    late[0]["hlc"] = rest[last]["hlc"]
    assert kinds([*rest[: last + 1], *late, *rest[last + 1 :]]) == ["late-update"]


def test_a_look_up_that_misses_an_existing_table_breaks_i1() -> None:
    none = {"object": 0, "version": 0, "table": "orders"}
    assert kinds(changed(of("schema_resolved", **RESOLVED), **none)) == ["wrong-version"]
    other = {**none, "table": "others"}
    assert kinds(changed(of("schema_resolved", **RESOLVED), **other)) == []


RENAMED = {"sql": "ALTER TABLE orders RENAME TO sales"}


@pytest.mark.parametrize(
    ("purpose", "called", "accused"),
    [
        ("enlist", "sales", []),
        ("enlist", "orders", ["wrong-version"]),
        ("enlist", "ORDERS", []),
        ("arrival", "orders", []),
        ("enlist", None, []),
    ],
)
def test_a_table_that_is_found_under_its_former_name_breaks_i1(
    purpose: str, called: str | None, accused: list[str]
) -> None:
    """Later in a transaction the name may be that of the request; another spelling says nothing."""
    named = {"table": called} if called else {}
    look = of("schema_resolved", transaction="T2")
    log = [
        {**entry, **RENAMED} if of("schema_activated", version=2)(entry) else
        {**entry, "purpose": purpose, **named} if look(entry) else entry
        for entry in without(of("transaction_committed"))
        if not of("schema_activated", version=3)(entry)
    ]  # fmt: skip
    log = [entry for entry in log if entry.get("version") != 3]
    assert kinds(log) == accused


# --- before and after on several clocks ----------------------------------------------------------


def own_ddl(**keys: object) -> list[str]:
    """The example of I4, its look-up asked for at another time or on another clock."""
    at = of("schema_resolved", transaction="T2")
    return kinds([{**entry, **keys} if at(entry) else entry for entry in shipped("own_ddl")])


def test_on_one_clock_any_time_later_is_later() -> None:
    [ack] = [entry for entry in shipped("own_ddl") if ACKNOWLEDGED(entry)]
    assert own_ddl(started_ms=ack["wall_ms"] + 0.001) == ["resolved-too-early"]
    assert own_ddl(started_ms=ack["wall_ms"]) == []


def test_on_two_clocks_only_what_is_further_apart_than_their_error() -> None:
    [ack] = [entry for entry in shipped("own_ddl") if ACKNOWLEDGED(entry)]
    assert own_ddl(clock="app-2", started_ms=ack["wall_ms"] + 7) == []
    assert own_ddl(clock="app-2", started_ms=ack["wall_ms"] + 7.5) == ["resolved-too-early"]


def test_read_only_transactions_may_read_the_past() -> None:
    assert own_ddl(read_only=True) == []


# --- what is printed -----------------------------------------------------------------------------

LATE = "late-update"


def printed(name: str) -> tuple[str, str]:
    """The argument of an example, or of one made of it, and the text of its log."""
    entries = shipped("clean" if name == LATE else name)
    if name == LATE:
        [late] = [one for one in entries if of("schema_applied", node="n3", version=2)(one)]
        last = max(at for at, entry in enumerate(entries) if entry.get("node") == "n3")
        late = {**late, "hlc": entries[last]["hlc"]}
        rest = without(of("schema_applied", node="n3", version=2))
        entries = [*rest[:last], late, *rest[last:]]
    if name == "own_ddl":
        looked = of("schema_resolved", transaction="T2")
        later = {"clock": "app-2", "started_ms": 1763700000548}
        entries = [{**one, **later} if looked(one) else one for one in entries]
    found = witness_report.report(judged(entries))
    [[_, said]] = found.found
    assert found.fields["anomalies"][0]["explanation"] == said
    for told in found.fields["violations"][0]["witness"]:
        line = entries[told.pop("line") - 1]
        assert told == line
    return said, json.dumps(entries)


@pytest.mark.parametrize("name", [*JUDGES, LATE])
def test_only_what_the_log_says_is_printed(name: str) -> None:
    said, log = printed(name)
    assert "Tm" not in said
    assert "catalog version" not in said
    for number in re.findall(r"\d{4,}", said):
        assert number in log, number
    assert re.search(r"line \d+: schema_", said)


# --- what cannot be judged -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (["}{"], "log.jsonl:21: is not JSON"),
        (['{"record": "schema_app'], "log.jsonl:21: is not JSON"),
        (["[]"], "log.jsonl:21: record: Expected `object`, got `array`"),
        (
            [f'{{"record": "schema_applied", "node": "n1", "node": "n2", {REST}}}'],
            "log.jsonl:21: node: stands there twice",
        ),
        (['{"record": "nonsense"}'], "log.jsonl:21: record: no entry is called so; known: cluster"),
        (['{"node": "n1"}'], "log.jsonl:21: record: is missing"),
        ([shipped()[0]], "log.jsonl:21: record: a second cluster entry"),
    ],
)
def test_an_unreadable_line_is_named(entries: list[Entry | str], told: str) -> None:
    [problem] = problems([*shipped(), *entries])
    assert problem.startswith(told)


@pytest.mark.parametrize(
    ("record", "keys", "told"),
    [
        ("schema_applied", {"version": "2"}, "version: Expected `int`, got `str`"),
        ("schema_applied", {"object": 0}, "object: expected a number from 1 up, not 0"),
        ("schema_applied", {"verzion": 2}, "verzion: is not known here"),
        ("schema_applied", {"version": 9}, "version: no schema_activated entry has version 9"),
        ("schema_applied", {"hlc": "12:30"}, "hlc: expected a hybrid timestamp"),
        ("schema_applied", {"hlc": "5+70000"}, "hlc: expected a hybrid timestamp"),
        ("schema_applied", {"hlc": -1}, "hlc: expected a hybrid timestamp"),
        ("schema_applied", {"hlc": "\u0661\u0662+\u0663"}, "hlc: expected a hybrid timestamp"),
        ("schema_resolved", {"purpose": "fun"}, "purpose: is 'fun'; known: enlist"),
        ("schema_resolved", {"object": 0}, "version: object and version are both 0"),
        ("schema_resolved", {"version": 7}, "version: no schema_activated entry has"),
        ("ddl_acknowledged", {"object": 3}, "version: no schema_activated entry has"),
        ("transaction_committed", {"tables": [{"object": 17}]}, "tables[0].version: is missing"),
        ("transaction_committed", {"tables": [{"object": 9, "version": 1}]}, "version: no schema"),
        ("transaction_committed", {"commit": "x"}, "commit: expected a hybrid timestamp"),
        ("schema_activated", {"sql": "SELECT 1"}, "sql: "),
        ("schema_activated", {"sql": "ALTER TABLE x DROP COLUMN y"}, "sql: cannot follow what is"),
    ],
)
def test_what_is_wrong_with_an_entry_is_named(record: str, keys: Entry, told: str) -> None:
    """The last entry of its kind, whose other lines are as they were."""
    entries: list[Entry | str] = [*shipped()]
    at = max(place for place, entry in enumerate(shipped()) if entry["record"] == record)
    entries[at] = {**shipped()[at], **keys}
    found = problems(entries)
    assert any(one.startswith(f"log.jsonl:{at + 1}: {told}") for one in found), found


def test_an_entry_with_a_lower_hlc_is_a_problem() -> None:
    entries = shipped()
    entries.append({**entries[3]})
    [problem] = problems([*entries])
    assert problem.startswith("log.jsonl:21: hlc: is lower than in the entry of n2 before it, line")


def test_two_entries_that_contradict_each_other() -> None:
    [last] = [one for one in shipped() if of("transaction_committed", transaction="T2")(one)]
    other = {**last, "node": "n4", "commit": "1763700000999"}
    assert "commit: of T2 is another one in line 19" in problems([*shipped(), other])[0]
    [activated] = [one for one in shipped() if of("schema_activated", version=3)(one)]
    torn = {**activated, "node": "n4", "activation": "1763700000901"}
    found = problems([*shipped(), torn])
    assert found[0].startswith("log.jsonl:")
    assert any("activation: version 3 of object 17 is" in one for one in found)
    same = {**activated, "node": "n4", "activation": 1763700000900 << 16}
    assert problems([*shipped(), same]) == []


def test_objects_in_doubt_are_not_judged() -> None:
    """A version is missing: whoever used the table is neither right nor wrong."""
    broken = [one for one in shipped("atomicity") if not of("schema_activated", version=2)(one)]
    found = judged(broken)
    assert found.violations == ()
    assert any("3 follows version 1 of object 17" in str(one) for one in found.problems)
    assert any("object: object 17 is in doubt" in str(one) for one in found.problems)


def test_an_unreadable_drop_leads_to_no_violation() -> None:
    none = {"object": 0, "version": 0, "table": "orders"}
    entries = [*changed(of("schema_resolved", **RESOLVED), **none), "{"]
    found = judged(entries)
    assert found.violations == ()
    assert any("may be part of what could not be read" in str(one) for one in found.problems)


@pytest.mark.parametrize(
    ("record", "invariant"),
    [("schema_resolved", "I1"), ("ddl_acknowledged", "I4"), ("transaction_committed", "I8")],
)
def test_an_invariant_without_entries_was_not_judged(record: str, invariant: str) -> None:
    found = judged(without(of(record)))
    assert invariant in {one.key for one in found.problems}


def test_operations_without_a_beginning_say_nothing_of_i4() -> None:
    entries = [{key: entry[key] for key in entry if key != "started_ms"} for entry in shipped()]
    assert {one.key for one in judged(entries).problems} == {"I4"}


def test_look_ups_elsewhere_than_at_the_primary_do_not_count_for_i4() -> None:
    found = judged(changed(of("schema_resolved", purpose="arrival"), purpose="commit"))
    assert {one.key for one in found.problems} == {"I4"}


def test_a_version_that_differs_between_nodes_leads_to_no_violation() -> None:
    entries = shipped("forward_compatible")
    [activated] = [one for one in entries if of("schema_activated", version=3)(one)]
    torn = {**activated, "node": "n4", "sql": "ALTER TABLE orders ADD COLUMN x INT"}
    found = judged([*entries, torn])
    assert found.violations == ()
    assert any("no schema_activated entry has version 3" in one.message for one in found.problems)


def test_a_statement_of_another_object() -> None:
    other = {
        **shipped()[1],
        "node": "n4",
        "object": 18,
        "sql": "CREATE TABLE lines (id INT PRIMARY KEY)",
    }
    stray = {**other, "version": 2, "sql": "ALTER TABLE orders ADD COLUMN y INT"}
    [problem] = problems([*shipped(), other, stray])
    assert problem == "log.jsonl:22: object: is 18, but the statement changes 'orders'"
    assert problems([*shipped(), other]) == []


def own_ddl_is_judged(entries: list[Entry]) -> bool:
    return not any(one.key == "I4" for one in judged(entries).problems)


@pytest.mark.parametrize("purpose", ["enlist", "arrival", "after-locks", "commit", "metadata"])
@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("started_ms", [None, 1763700000640, 1763700000650, 1763700000651])
def test_own_ddl_was_judged_if_a_guilty_log_would_be_convicted(
    purpose: str, read_only: bool, started_ms: int | None
) -> None:
    """Version 2 is acknowledged at ...650 on the clock of T2's client, and its Tu is ...600."""
    more = {"purpose": purpose, "read_only": read_only, "started_ms": started_ms}
    entries = [one for one in changed(of("schema_resolved", transaction="T2"), **more)
               if one["record"] != "schema_resolved" or one["transaction"] == "T2"]  # fmt: skip
    looked_up = of("schema_resolved", transaction="T2")
    guilty = [{**one, "at": "1763700000599"} if looked_up(one) else one for one in entries]
    convicted = "own_ddl" in {one.checker for one in judged(guilty).violations}
    assert own_ddl_is_judged(entries) is convicted
    assert own_ddl_is_judged(guilty) is convicted
    assert convicted is (
        purpose not in ("commit", "metadata") and not read_only and started_ms == 1763700000651
    )


def test_own_ddl_was_not_judged_where_nothing_was_acknowledged() -> None:
    entries = without(of("ddl_acknowledged"))
    [problem] = judged(entries).problems
    assert str(problem) == (
        "log.jsonl: I4: was not judged: there are no schema_resolved entries (enlist, arrival, "
        "after-locks; not read_only) with a started_ms after a ddl_acknowledged one"
    )


def activating(*activations: int) -> list[Entry]:
    """A table whose versions, from 1 on, activate then; nothing is done with it."""
    orders = [shipped()[0]]
    for version, activation in enumerate(activations, 1):
        created = "CREATE TABLE orders (id INT PRIMARY KEY)"
        sql = created if version == 1 else f"ALTER TABLE orders ADD COLUMN c{version} INT"
        more = {"object": 17, "version": version, "activation": str(activation), "sql": sql}
        at = {"node": "n1", "hlc": version, "wall_ms": version}
        orders.append({"record": "schema_activated", **at, **more})
    return orders


def test_a_version_that_activates_before_an_earlier_one_is_a_violation() -> None:
    """IGNITE-20498: DD was lowered between the two statements."""
    found = judged(activating(100, 500, 400))
    [violation] = found.violations
    assert (violation.invariant, violation.kind) == ("I8", "activations-unordered")
    assert violation.clauses == ("98.past.2",)
    assert violation.summary == (
        "version 3 of object 17 activates at 400, before version 2, which does at 500: then the "
        "schema goes back to it"
    )
    assert [[line.number for line in lines] for lines in found.shown] == [[3, 4]]
    assert problems([*activating(100, 500, 400)]) == []


@pytest.mark.parametrize(
    ("activations", "found"),
    [((100, 500, 500), 0), ((100, 500, 400, 450), 2), ((100, 500, 400, 600), 1), ((5, 4, 3), 2)],
)
def test_activations_are_compared_with_the_largest_before(
    activations: tuple[int, ...], found: int
) -> None:
    assert kinds(activating(*activations)) == ["activations-unordered"] * found


def test_versions_that_are_in_doubt_are_not_compared() -> None:
    entries = activating(100, 500, 400)
    assert kinds([*entries, {**entries[3], "node": "n2", "activation": "600"}]) == []
    assert kinds([entries[0], *activating(100, 500, 400)[2:]]) == []


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ([], "is empty"),
        (["nonsense"], "is not JSON"),
        ([shipped()[1]], "the first entry must be of the cluster"),
        ([{**shipped()[0], "format": 2}], "format: is 2, this program reads 1"),
        ([{**shipped()[0], "clock_error_ms": -1}], "clock_error_ms: must not be negative"),
    ],
)
def test_what_is_no_witness_log_is_bad_input(first: list[Entry | str], told: str) -> None:
    with pytest.raises(ForeignError, match=r"^log\.jsonl") as caught:
        judged(first)
    assert told in str(caught.value)


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    text = "\n".join(map(json.dumps, shipped()))
    (plain := tmp_path / "a").write_text(text, "utf-8")
    (marked := tmp_path / "b").write_text(text, "utf-8-sig")
    assert inputs.kind_of(str(marked)) == "witness"
    found, wanted = (inputs.judge("witness", str(file), None) for file in (marked, plain))
    assert found.outcome is wanted.outcome is Outcome.OK
    assert found.facts == wanted.facts


def test_hybrid_timestamps() -> None:
    assert hlc("1763700000123+4") == (1763700000123 << 16) + 4
    assert hlc("12") == 12 << 16
    assert hlc(77) == 77
    assert [hlc(bad) for bad in (-1, "", "+1", "1+", "1+65536", "1.5")] == [None] * 6


# --- laws ----------------------------------------------------------------------------------------


@given(st.sets(st.integers(1, len(shipped()) - 1)), st.sets(st.integers(1, len(shipped()) - 1)))
def test_missing_or_torn_entries_lead_to_no_violation(lost: set[int], torn: set[int]) -> None:
    """Whatever is lost of a clean log; and it is told, unless nothing was torn."""
    entries: list[Entry | str] = [
        "{" if at in torn else entry for at, entry in enumerate(shipped()) if at not in lost
    ]
    found = judged(entries)
    assert found.violations == ()
    assert bool(found.problems) or not torn - lost


@given(st.sampled_from(["clean", *JUDGES]), st.randoms(use_true_random=False))
def test_however_the_logs_of_nodes_are_mixed_the_verdict_is_the_same(
    name: str, dice: random.Random
) -> None:
    entries = shipped(name)
    queues: dict[str, list[Entry]] = {}
    for entry in entries[1:]:
        queues.setdefault(entry["node"], []).append(entry)
    turns = [node for node, queue in queues.items() for _ in queue]
    dice.shuffle(turns)
    mixed = [entries[0], *(queues[node].pop(0) for node in turns)]
    assert kinds(mixed) == kinds(entries)
    assert judged(mixed).problems == ()


# --- simulated runs, written down as a cluster would ---------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "checker"),
    [
        ("negative/no_completeness_wait", "atomicity"),
        ("negative/looks_up_in_the_past", "atomicity"),
        ("negative/acknowledges_at_once", "own_ddl"),
        ("negative/validates_at_enlistment", "forward_compatible"),
        ("generated/ddl_storm", None),
        ("iep110/views", None),
    ],
)
def test_the_log_of_a_run_has_the_verdict_of_its_history(name: str, checker: str | None) -> None:
    """The same operations and transactions are accused; rows, which logs have not, aside."""
    scenario = load(name)
    for seed in range(3):
        history = run(plan(scenario, seed))
        entries = written(history, scenario)
        found = judged(entries)
        assert [str(one) for one in found.problems if one.line] == []
        for judge in JUDGES:
            due = Counter(one.kind for one in CHECKERS.get(judge).check(Case(history)))
            del due["ddl-not-seen"], due["acknowledged-too-early"]  # of declared waits
            told = Counter(one.kind for one in found.violations if one.checker == judge)
            kept = {kind: min(times, KEPT_OF_A_KIND) for kind, times in due.items()}
            assert told == kept, (judge, seed)
        if checker is None:
            assert found.violations == ()
