"""The model of a coordinator: clean-ups of aborted transactions, reports of writes."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ddlsim.cluster.models.transaction.coordinated import Open
from ddlsim.cluster.models.transaction.coordinator import CoordinatorModel
from ddlsim.model.hlc import HybridClock
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Cleanup, Finish
from ddlsim.protocol.replica_messages import Fate, Replicated, TxState, TxStateRequest
from ddlsim.units import Timestamp


class Aborted(CoordinatorModel):
    """The model of a coordinator that has sent T's outcome, which is not decided.

    `stored`: a partition of its node has stored one.
    """

    def __init__(self, *, judges: bool, stored: bool = False) -> None:
        self.said: list[str] = []
        self._judges = judges
        self._is_stored = lambda _tx: stored
        self._tx = TxId(Timestamp(1), 1, "T")
        self._open = {"T": Open(self._tx)}
        self._open["T"].finish = cast("Any", object())

    def _wrong(self, what: str) -> None:
        self.said.append(what)

    def after_clean_up(self) -> list[str]:
        """What is wrong where T is cleaned up as aborted and then is still said to be deciding."""
        sent = SimpleNamespace(message=Cleanup(Timestamp(9), self._tx, None, ()))
        self._cleanup(cast("Any", None), cast("Any", sent))
        self._state(TxStateRequest(Timestamp(9), self._tx), TxState(Timestamp(9), Fate.DECIDING))
        return self.said


def test_a_commit_partition_cleans_up_before_the_coordinator_has_its_answer() -> None:
    assert Aborted(judges=False).after_clean_up() == []
    assert Aborted(judges=True).after_clean_up() == [
        "T is cleaned up, and its outcome is not known"
    ]
    heard = Aborted(judges=False)
    heard._open["T"].is_decided = True
    assert heard.after_clean_up() == ["T has aborted, and its state is Fate.DECIDING"]


@pytest.mark.parametrize("judges", [True, False])
@pytest.mark.parametrize("is_sent", [True, False])
def test_what_a_partition_of_its_node_has_stored_is_cleaned_up_without_the_coordinator(
    *, judges: bool, is_sent: bool
) -> None:
    """Recovery aborts, too, where the coordinator has not asked for an outcome."""
    stored = Aborted(judges=judges, stored=True)
    if not is_sent:
        stored._open["T"].finish = None
    assert stored.after_clean_up() == []


class Committing(CoordinatorModel):
    """The model of a coordinator with one open transaction, T."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self._waits, self._leased, self._committing = True, True, {}
        self._loop = cast("Any", SimpleNamespace(now_us=0))
        self._clock = HybridClock(lambda: 0)
        self._tx = TxId(Timestamp(1), 1, "T")
        self._open = {"T": Open(self._tx)}

    def _wrong(self, what: str) -> None:
        self.said.append(what)

    def _compare_patience(self, tx: Open) -> None:
        """How long it waits is not looked at here."""

    def commits_after(self, *reasons: Reason | None) -> list[str]:
        """What is wrong where T commits after these reports of its write."""
        for reason in reasons:
            self._replicated(Replicated(Timestamp(2), self._tx, "T.w", reason))
        outcome = Finish(Timestamp(9), self._tx, Timestamp(9), (1, 0), ((1, 0),), (), False)
        self._compare_commit_ts(self._open["T"], outcome)
        return self.said


def test_the_first_report_of_a_write_counts() -> None:
    """Asked twice, a primary may answer again when recovery has aborted the transaction."""
    lost = ["T commits, and ['T.w'] is not replicated"]
    assert Committing().commits_after(None) == []
    assert Committing().commits_after(None, Reason.TX_FINISHED) == []
    assert Committing().commits_after(Reason.TX_FINISHED) == lost
    assert Committing().commits_after(Reason.TX_FINISHED, None) == lost


def test_a_commit_is_stamped_behind_the_reports_that_it_waits_for() -> None:
    """Not behind one that comes again, or of a write that was answered when it was replicated."""
    late = ["T commits at 0+9, and reported a write at 0+12"]
    for early, first, again, wrong in (
        (True, 12, 12, late),
        (True, 8, 12, []),
        (False, 12, 12, []),
    ):
        model = Committing()
        if early:
            model._open["T"].early["T.w"] = None
        for sent_ts in (first, again):
            model._replicated(Replicated(Timestamp(sent_ts), model._tx, "T.w", None))
        assert model.commits_after() == wrong
