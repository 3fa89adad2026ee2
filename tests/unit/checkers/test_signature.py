"""Signatures: equal for one hole in whatever world, different for holes that break differently."""

import tomllib
from itertools import chain, combinations

import pytest

from ddlsim.checkers.base import Step
from ddlsim.checkers.judge import Violation, judge
from ddlsim.checkers.signature import Signature, signature_of
from ddlsim.cluster.designs import with_fields, with_rules_of
from ddlsim.cluster.run import run
from ddlsim.model.design import DesignHeader
from ddlsim.plan.plan import plan
from ddlsim.scenario import findings
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import read
from ddlsim.scenario.shipped import shipped
from ddlsim.strategies.base import STRATEGIES

FINDINGS = [name for name in shipped() if name.startswith("findings/")]
ONE_SYMPTOM = [{"F-19", "F-20", "F-21"}]
"""Different open rules let the same promise break without a cycle: a node uses the version in force
(I1). A history shows the broken promise; the design, the rule."""


def violation(
    kind: str, *edges: str, clauses: tuple[str, ...] = (), summary: str = ""
) -> Violation:
    """A violation of I3 with a cycle of `source kind, edge` pairs."""
    steps = tuple(
        Step(f"x{at}", f"x{at + 1}", source, edge, "because")
        for at, (source, edge) in enumerate(one.split(" -", 1) for one in edges)
    )
    return Violation(
        "I3", "serializability", kind, "safety", "violation", False, summary,
        steps=steps, clauses=clauses,
    )  # fmt: skip


def text(kind: str, *edges: str, clauses: tuple[str, ...] = ()) -> str:
    return signature_of(violation(kind, *edges, clauses=clauses)).text


def finding_of(name: str) -> tuple[str, Signature]:
    """The finding that a shipped scenario shows, and the signature of its violation."""
    scenario = load(name)
    wanted = f"finding:{tomllib.loads(scenario.text)['finding']['id']}"
    found = judge(run(plan(scenario, 0)), findings=findings.known()).violations
    return wanted, next(signature_of(one) for one in found if one.status == wanted)


def literal_with(rules: dict[str, str]) -> DesignHeader:
    """The design `iep_literal` with these rules in its fields."""
    return with_rules_of(with_fields(STRATEGIES.get("iep_literal"), rules))


def test_findings_have_different_signatures_unless_they_share_a_symptom() -> None:
    shown = {status.removeprefix("finding:"): one for status, one in map(finding_of, FINDINGS)}
    assert len(shown) == len(FINDINGS)
    same = [set(pair) for pair in combinations(shown, 2) if shown[pair[0]] == shown[pair[1]]]
    assert same == [set(pair) for ids in ONE_SYMPTOM for pair in combinations(sorted(ids), 2)]


@pytest.mark.parametrize("ids", ONE_SYMPTOM, ids=lambda ids: ",".join(sorted(ids)))
def test_findings_with_one_symptom_are_known_apart_by_the_design(ids: set[str]) -> None:
    """Where `iep_literal` takes the closing rules of all others, each is the only one left."""
    tables = {one.id: one for one in findings.described() if one.id in ids}
    assert len({one.signature for one in tables.values()}) == 1
    for left in ids:
        others = [tables[one].closing for one in sorted(ids - {left})]
        design = literal_with(dict(chain.from_iterable(one.items() for one in others)))
        concerned = {one.id for one in findings.known() if one.concerns(design)}
        assert concerned & ids == {left}


@pytest.mark.parametrize("name", ["findings/F-1", "findings/F-9"])
def test_a_signature_has_no_names_and_no_instants(name: str) -> None:
    wanted, here = finding_of(name)
    text = load(name).text.replace('"T1"', '"Tx"').replace('"c3"', '"z"').replace("= 100", "= 137")
    there = read(text, "renamed")
    found = judge(run(plan(there, 0)), findings=findings.known()).violations
    assert here in [signature_of(one) for one in found if one.status == wanted]


def test_orders_and_further_transactions_on_a_cycle_make_no_difference() -> None:
    short = text(
        "schema-G-single", "D(column-added) -wr-schema", "T -wr-row", "T -rw-schema[metadata]"
    )
    longer = text(
        "schema-G-single-realtime", "D(column-dropped) -wr-schema", "T -process", "T -rt",
        "T -ww-row", "T -rw-schema[metadata]",
    )  # fmt: skip
    assert short == longer


@pytest.mark.parametrize(
    "other",
    [
        ("D(column-added) -wr-schema", "T -wr-row", "T -rw-schema[metadata, late]"),
        ("D(column-added) -wr-schema", "T -wr-row", "T -rw-schema[110.column.drop]"),
        ("D(index-created) -wr-schema", "T -wr-row", "T -rw-schema[metadata]"),
        ("D(object-created) -wr-schema", "T -wr-row", "T -rw-schema[metadata]"),
        ("D(column-added) -wr-schema", "T -rw-schema[metadata]"),
        ("T -wr-row", "T -rw-row"),
    ],
)
def test_another_rule_way_or_class_of_ddl_is_another_signature(other: tuple[str, ...]) -> None:
    one = text(
        "schema-G-single", "D(column-added) -wr-schema", "T -wr-row", "T -rw-schema[metadata]"
    )
    assert text("schema-G-single", *other) != one


def test_a_cycle_on_rows_keeps_its_name_and_takes_a_clients_order_for_real_time() -> None:
    process = text("G-single-process", "T -process", "T -rw-row")
    assert process == text("G-single-realtime", "T -rt", "T -rw-row")
    assert process != text("G-single", "T -wr-row", "T -rw-row")


def test_without_a_cycle_kind_and_clauses_count_and_the_summary_does_not() -> None:
    one = violation("wrong-version", clauses=("98.ap",), summary="n3 at 354")
    two = violation("wrong-version", clauses=("98.ap",), summary="n1 at 20")
    assert signature_of(one) == signature_of(two)
    assert signature_of(one).id == signature_of(two).id
    assert text("wrong-version", clauses=("98.own",)) != signature_of(one).text
    assert text("late-update", clauses=("98.ap",)) != signature_of(one).text
