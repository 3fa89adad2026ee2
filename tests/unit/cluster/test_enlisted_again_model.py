"""The models of a coordinator that enlists a table again: I12 sees it done at the wrong time."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ddlsim.cluster.models.design.rule_forms import FORMS
from ddlsim.cluster.models.transaction.coordinated import Open, Operation
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Operated
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.scenario.load import load
from ddlsim.units import Timestamp
from tests.scenarios.runs import runner_of

AFTER_USE = "strategies/B9-retry-after-use"


def kinds(name: str) -> set[tuple[str, str]]:
    row = runner_of(load(name, {}), models=True).row(0)
    return {(one.invariant, one.kind) for one in row.violations}


def test_a_run_agrees_with_its_models() -> None:
    for name in (AFTER_USE, "strategies/B9-T1-coordinator-retry"):
        assert kinds(name) == set(), name


def test_a_second_enlistment_of_what_has_run_diverges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a request counts alone, whatever was requested before."""

    def alone(self: Transaction, table_id: int) -> None:
        self.asked[table_id] = 1

    monkeypatch.setattr(Transaction, "asks", alone)
    assert {("I5", "two-versions"), ("I12", "coordinator-diverged")} <= kinds(AFTER_USE)


@pytest.mark.parametrize(("rule", "due"), [("client_retry", ()), ("coordinator_retry", (0,))])
def test_each_rule_has_a_form(rule: str, due: tuple[int, ...]) -> None:
    assert tuple(ran for ran in range(3) if FORMS[rule](ran)) == due


class Sent:
    """A transaction with requests for table 1, by operations of their own."""

    def __init__(self, *, implicit: bool = False) -> None:
        self.tx = Open(TxId(Timestamp(1), 1, "T"))
        request = cast("Any", SimpleNamespace(implicit=implicit))
        self.operation = Operation(request, 0)
        self.message = cast("Any", SimpleNamespace(table_id=1, views=((7, 1),)))
        self.tx.versions = {1: 1, 7: 1, 2: 1}

    def asks(self, times: int) -> "Sent":
        for number in range(times):
            self.tx.asks(cast("Any", number), cast("Any", SimpleNamespace(message=self.message)))
        return self

    def answered(self, reason: Reason | None = Reason.SCHEMA_CHANGED, *, ran: bool = False) -> bool:
        value = Operated(Timestamp(2), Timestamp(1), reason, ran=ran)
        return self.operation.ran_not(self.tx, self.message, value)


def test_versions_are_open_again_once_every_request_was_refused_for_the_schema() -> None:
    sent = Sent().asks(2)
    assert sent.answered()
    assert (sent.tx.failed, sent.tx.versions) == (True, {1: 1, 7: 1, 2: 1})
    assert Reason.SCHEMA_CHANGED in sent.operation.reasons
    assert sent.answered()
    assert (sent.tx.failed, sent.tx.versions) == (False, {2: 1})
    assert sent.operation.reasons == {}


def test_what_else_refuses_or_has_run_opens_nothing() -> None:
    assert not Sent().asks(1).answered(Reason.LOCK_CONFLICT)
    assert not Sent().asks(1).answered(None)
    assert not Sent().asks(1).answered(ran=True)
    assert not Sent(implicit=True).asks(1).answered()
