"""The rows of an ablation: every other choice of every rule once, their names, and the controls."""

from ddlsim.spec.ablation import Named, Row, rows_of
from ddlsim.spec.base import Scope, set_up
from ddlsim.spec.iep98 import IEP98
from ddlsim.spec.iep110 import IEP110


def by_choice(rows: list[Row]) -> dict[tuple[str | None, str | None], Row]:
    return {(row.rule, row.choice): row for row in rows if row.rule is not None}


def test_there_is_a_row_for_every_other_choice_of_every_rule() -> None:
    for scope in (IEP98, IEP110):
        control = set_up(scope)
        rows = by_choice(rows_of(control))
        assert list(rows) == [
            (rule.name, choice)
            for rule in scope.rules
            for choice in rule.choices
            if choice != rule.default
        ]
        for (rule, choice), row in rows.items():
            assert row.setup.rules == {**control.rules, rule: choice}
            assert row.setup.constants == {**control.constants, **row.constants}


def test_the_control_has_another_choice_where_one_is_set() -> None:
    rows = rows_of(set_up(IEP98, settings={"wait": "top"}), {"wait"})
    assert rows[0].setup.rules["wait"] == "top"
    changed = by_choice(rows)
    assert ("wait", "top_less_dd") in changed
    assert ("wait", "top") not in changed
    assert all(row.setup.rules["wait"] == "top" for row in rows if row.rule != "wait")


def test_a_row_has_the_names_of_a_mutant_and_of_a_design_that_are_just_that() -> None:
    named = {choice: row.named for (_, choice), row in by_choice(rows_of(set_up(IEP98))).items()}
    assert named["never"] == Named("no_completeness_wait", "a1_naive_future")
    assert named["all_nodes"] == Named(None, "a8_all_acks")
    assert named["may_tie"] == Named("ticks_may_tie", None)
    assert named["top"] == Named()  # a5_safetime differs in its activation, too


def test_under_another_design_a_row_has_the_name_of_no_design() -> None:
    rows = by_choice(rows_of(set_up(IEP98, "a5_safetime")))
    assert rows["wait", "never"].named == Named("no_completeness_wait", None)
    assert rows["acknowledgement", "all_nodes"].named == Named()


def others(scope: Scope, *fixed: str, **settings: object) -> list[tuple[object, dict[str, int]]]:
    """The rows with constants of their own, controls too."""
    rows = rows_of(set_up(scope, settings=settings), {*fixed, *settings})
    return [(row.choice, dict(row.constants)) for row in rows if row.constants]


def test_constants_that_it_takes_are_those_of_the_row_and_of_one_more_control() -> None:
    late = {"changes": 1, "ddls": 1}
    assert others(IEP98) == [(None, late), ("keeps_own_clock", late)]
    one = {"transactions": 1}  # `operations` is 2 anyway
    assert others(IEP110) == [
        *((None, one), (None, {"ddls": 2}), ("follows_compatible", one), ("follows_any", one)),
        *(("own_version", one), ("last_step_at_commit_ts", {"ddls": 2})),
    ]


def test_constants_that_are_set_stay() -> None:
    assert others(IEP98, changes=0) == [(None, {"ddls": 1}), ("keeps_own_clock", {"ddls": 1})]
    assert others(IEP98, changes=1, ddls=1) == []
    assert ("own_version", {"transactions": 1}) not in others(IEP110, transactions=2)
