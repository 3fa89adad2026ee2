"""Every choice of the protocol is one named function; the defaults are the documents' formulas."""

from dataclasses import fields
from typing import Any

import pytest

from ddlsim.model.ddl import ObjectChange
from ddlsim.model.hlc import HybridClock
from ddlsim.model.reasons import Reason
from ddlsim.protocol.design import flows, schema_rules, time_rules
from ddlsim.protocol.strategy import Strategy
from ddlsim.strategies.iep import IEP, IEP_LITERAL
from ddlsim.units import MIN_TIMESTAMP, timestamp
from tests.support.protocol import ADD, DROP, T
from tests.support.schemas import change_of

TS, LOGICAL = timestamp(1000), timestamp(1000, 3)


@pytest.mark.parametrize(
    ("rule", "arguments", "result"),
    [
        (time_rules.at_message_plus_delay, (LOGICAL, 100), timestamp(1100, 3)),
        (time_rules.at_message, (LOGICAL, 100), LOGICAL),
        (time_rules.operation_less_delay, (LOGICAL, 100, 7), timestamp(900, 3)),
        (time_rules.at_operation, (LOGICAL, 100, 7), LOGICAL),
        (time_rules.operation_plus_skew, (LOGICAL, 100, 7), timestamp(1007, 3)),
        (time_rules.never_waits, (LOGICAL, 100, 7), MIN_TIMESTAMP),
        (time_rules.looked_up_at_operation, (LOGICAL, 100), LOGICAL),
        (time_rules.activation_plus_skew_rounded, (TS, 7), timestamp(1007)),
        (time_rules.activation_plus_skew_rounded, (LOGICAL, 7), timestamp(1008)),
        (time_rules.activation_plus_skew_rounded, (LOGICAL, 0), timestamp(1001)),
        (time_rules.activation_plus_skew, (LOGICAL, 7), timestamp(1007, 3)),
        (time_rules.at_once, (LOGICAL, 7), MIN_TIMESTAMP),
        (schema_rules.at_enlistment, (timestamp(3), timestamp(2), timestamp(1)), timestamp(3)),
        (time_rules.largest_delay, (40, 100), 100),
        (time_rules.largest_delay, (160, 100), 160),
        (time_rules.own_delay, (40, 100), 40),
        (schema_rules.as_written, (1, 2), 1),
        (schema_rules.as_enlisted, (1, 2), 1),
        (schema_rules.under_initial, (1, 2), 1),
    ],
)
def test_numbers(rule: Any, arguments: tuple[int, ...], result: int) -> None:
    """Each formula by an example: IEP-98's first, then IEP-110's."""
    assert rule(*arguments) == result


def test_a_tick_may_tick_the_clock_or_only_look_at_it() -> None:
    """The second can tie with what comes after it [98.x.2]."""
    clock = HybridClock(lambda: 1000)
    assert (
        time_rules.tick_with_current_time(clock) == time_rules.tick_with_new_timestamp(clock) == TS
    )
    assert time_rules.tick_with_current_time(clock) == TS
    assert time_rules.tick_with_new_timestamp(clock) == timestamp(1000, 1)


def test_a_clients_version_must_be_the_enlisted_one() -> None:
    """Neither older nor newer [110.flow.2]."""
    verdicts = [schema_rules.must_equal_enlisted(version, 2) for version in (0, 1, 2, 3)]
    assert verdicts == [False, False, True, False]


def step(asked: str) -> ObjectChange:
    return change_of(T, asked)


def test_an_operation_needs_the_initial_schema() -> None:
    """Whatever the change was [110.valid.2]; and the table must exist [110.table.exists]."""
    assert schema_rules.must_be_same_schema(2, 2, ()) is None
    assert schema_rules.must_be_same_schema(1, 2, (step(ADD),)) is Reason.SCHEMA_CHANGED
    assert schema_rules.must_exist(1) is None
    assert schema_rules.must_exist(0) is Reason.TABLE_DROPPED


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((), None),
        ((ADD,), None),
        ((ADD, "ALTER TABLE t RENAME COLUMN v TO w"), None),
        ((DROP,), Reason.SCHEMA_INCOMPATIBLE),
        ((DROP, ADD), Reason.SCHEMA_INCOMPATIBLE),
        ((ADD, DROP), Reason.SCHEMA_INCOMPATIBLE),
    ],
)
def test_a_commit_needs_every_step_to_be_compatible(
    steps: tuple[str, ...], reason: Reason | None
) -> None:
    """The first, the last, and those between [110.compat.steps]."""
    assert schema_rules.each_step_forward_compatible(tuple(map(step, steps))) is reason


def test_a_row_must_not_be_newer_than_the_initial_schema() -> None:
    """One that was never written has version 0 [110.back]."""
    verdicts = [schema_rules.not_newer_than_initial(version, 2) for version in (0, 1, 2, 3)]
    assert verdicts == [None, None, None, Reason.NEWER_ROW_VERSION]


def test_iep_has_the_documents_rules() -> None:
    """With the clauses that their proofs need."""
    design = IEP
    assert (design.name, design.header.plane) == ("iep", "ignite")
    assert design.activation_ts is time_rules.at_message_plus_delay
    assert design.completeness_ts is time_rules.operation_less_delay
    assert design.acknowledge_ts is time_rules.activation_plus_skew_rounded
    assert design.check_operation_when == schema_rules.ARRIVAL_AND_AFTER_LOCKS
    assert design.publish_safe_time.after_catalog_listeners
    assert design.on_activated is flows.mark_at_activation


def test_the_letter_of_the_text_lacks_the_clauses_under_x() -> None:
    """And nothing else."""
    differing = {
        field.name
        for field in fields(Strategy)
        if getattr(IEP, field.name) != getattr(IEP_LITERAL, field.name)
    }
    assert differing == {
        "header",
        "acknowledge_ts",
        "acknowledge_known_ts",
        "before_statement",
        "clock",
        "stamp_again",
        "restored_safe_ts",
        "message_delay",
        "reader_delay_bound",
        "tick_counts",
        "take_over_clock",
        "activation_in_order",
        "tick_ts",
        "publish_safe_time",
        "check_operation_when",
        "before_commit_ts",
    }
    assert not IEP_LITERAL.check_operation_when.after_locks
    assert IEP_LITERAL.check_operation_when.on_arrival


def test_strategy_has_defaults_only_for_what_the_documents_lack() -> None:
    """A record without one of the documents' rules is no design."""
    with pytest.raises(TypeError, match="activation_ts"):
        Strategy(header=IEP.header)  # type: ignore[call-arg]  # that is the point
    nothing = [field.name for field in fields(Strategy) if getattr(IEP, field.name) is None]
    of_indexes = ["index_entries", "drain", "fills_index", "erases_index"]
    assert nothing == ["excuses_tuple", *of_indexes, "validate_at_finish"]
