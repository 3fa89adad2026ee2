"""The forms beside the rules of designs: faults planted in a rule are seen.

Some differ from the rule only where two timestamps are equal, which no drawn world shows here.
"""

from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.model.hlc import HybridClock
from ddlsim.model.reasons import Reason
from ddlsim.protocol.design import as_shipped, failure_rules, flows, schema_rules
from ddlsim.protocol.schema import column_types
from ddlsim.units import Timestamp
from tests.support.kept_worlds import first_part


def in_three(attempts: int) -> bool:
    return attempts < 3


async def look_up_at_once(sync: Any, op_ts: Timestamp) -> Any:
    return sync.catalog.at(op_ts)


def later_versions_too(client_version: int, enlist_version: int) -> bool:
    return client_version >= enlist_version


def at_the_end_too(commit_ts: Timestamp, expiration_ts: Timestamp) -> Reason | None:
    return None if commit_ts <= expiration_ts else Reason.PRIMARY_EXPIRED


def with_the_last_activation(activation_ts: int, last_ts: int) -> int:
    return max(activation_ts, last_ts)


def one_version_later(row_version: int, initial: int) -> Reason | None:
    return None if row_version <= initial + 1 else Reason.NEWER_ROW_VERSION


def to_anything(before: Any, after: Any) -> bool:
    del before, after
    return True


def by_the_clock(clock: HybridClock, last_stamp: Timestamp) -> Timestamp:
    del last_stamp
    return clock.current()


RULES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "tries thrice": (failure_rules.up_to_ten_times, in_three),
    "does not wait": (flows.wait_then_look_up, look_up_at_once),
    "takes later rows": (schema_rules.must_equal_enlisted, later_versions_too),
    "lets commit at the end of a lease": (failure_rules.while_the_lease_lasts, at_the_end_too),
    "activates two at once": (failure_rules.after_the_last_activation, with_the_last_activation),
    "stamps twice alike": (failure_rules.beyond_the_log, by_the_clock),
    "converts any type": (column_types.convertible, to_anything),
    "reads newer rows": (schema_rules.not_newer_than_initial, one_version_later),
}


@pytest.mark.parametrize("name", RULES)
def test_a_planted_rule_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, fault = RULES[name]
    monkeypatch.setattr(rule, "__code__", fault.__code__)
    monkeypatch.setitem(rule.__globals__, "Reason", Reason)
    assert first_part(monkeypatch) == "rules"


def every_change(change: Any) -> str | None:
    del change
    return None


def any_version(initial: int, current: int, steps: Any) -> Reason | None:
    del initial, current, steps
    return None


SHIPPED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "narrows": (as_shipped.allow_what_widens, every_change),
    "operates on any version": (as_shipped.same_table_version, any_version),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_planted_rule_of_the_shipped_code_is_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule, fault = SHIPPED[name]
    monkeypatch.setattr(rule, "__code__", fault.__code__)
    assert first_part(monkeypatch, strategy="ignite3") == "rules"
