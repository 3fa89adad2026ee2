"""Faults planted by hand that no drawn world had shown: each breaks the scenario written for it."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ddlsim.checkers.judge import judge
from ddlsim.cluster.models.transaction.participant import ModelledParticipant
from ddlsim.cluster.run import run
from ddlsim.cluster.store_models.storage import ModelledStorage
from ddlsim.fdb.membership import Process
from ddlsim.fdb.sequencer import Sequencer
from ddlsim.layer.schema_change import SchemaChange
from ddlsim.plan.plan import plan
from ddlsim.protocol.transaction import conditional, enlistment, execution
from ddlsim.protocol.transaction.coordinator import Coordinator
from ddlsim.protocol.transaction.execution import Executor
from ddlsim.protocol.transaction.marking import Marks
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.protocol.transaction.readers import Readers
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.scenario.load import load
from tests.support.edits import plant

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


class Fault(NamedTuple):
    """A text of a function and what replaces it, the scenario, and an invariant that it breaks."""

    owner: Any
    name: str
    before: str
    after: str
    scenario: str
    invariant: str


FAULTS = (
    Fault(
        Participant, "is_new", "if active.ops.get(op) == lease_start:", "if op in active.ops:",
        "transactions/sent_again_under_a_later_lease", "I12",
    ),
    Fault(
        Readers, "_seen", "intent.commit_place, request.read_ts",
        "intent.commit_place, request.read_ts if request.action == 'get' else None",
        "transactions/scan_of_the_past_over_a_slow_finish", "I10",
    ),
    Fault(
        Participant, "_begin_cleaning", "if commit_ts is None and active is not None:",
        "if False:", "faults/recovered_beside_a_late_write", "I3",
    ),
    Fault(
        Transaction, "answered_early", "self._note(self.early.pop(op))", "self.early.pop(op)",
        "faults/refusal_overtakes_its_answer", "I7",
    ),
    Fault(
        Replica, "_checked", "(*request.views, (request.table_id",
        "(*(request.views if purpose == 'arrival' else ()), (request.table_id",
        "transactions/view_dropped_during_a_lock_wait", "I12",
    ),
    Fault(
        enlistment, "_one", "if known is not None:",
        "if known is not None and known.version == found.version:",
        "transactions/view_altered_and_used_by_name", "I12",
    ),
    Fault(
        execution, "is_overtaken",
        "return known is not None and known.tx == request.tx and op_ts <= known.op_ts <= now",
        "return False", "transactions/pipelined_over_a_raised_delay", "I7",
    ),
    Fault(
        Replica, "_ended_alike", "self._record_refusal(request, answered.reason)", "pass",
        "transactions/late_copy_of_a_refused_write", "I7",
    ),
    Fault(
        Executor, "_report", "if reason is not None and self.on_refused is not None:",
        "if False:", "transactions/reads_what_was_fenced", "I10",
    ),
    Fault(
        conditional, "repeated_answer", "done = stored or on_its_way", "done = stored",
        "transactions/copy_of_an_insert_on_its_way", "I7",
    ),
    Fault(
        Executor, "_report_again", "(op in stored or is_aborted)", "op in stored",
        "faults/report_of_a_write_lost", "I12",
    ),
    Fault(
        Coordinator, "_looked_up", "if tx.state is ABORTED:", "if False:",
        "transactions/time_limit_before_a_look_up", "I12",
    ),
    Fault(
        Marks, "mark_incompatible", "tx.read_ts is None and self._is_doomed", "self._is_doomed",
        "transactions/reader_across_a_drop", "I11",
    ),
    Fault(
        Coordinator, "_operate", "tx.state is ABORTED and (is_over or type(reply) is Answer)",
        "tx.state is ABORTED and type(reply) is Answer", "transactions/marked_while_waiting", "I12",
    ),
    Fault(
        Process, "start", "self._known = self.node.disk[KNOWN] = generation.number",
        "self._known = generation.number", "faults/copy_of_a_recruitment", "I12",
    ),
    Fault(
        Sequencer, "_due", "if now_ms < self._seen_ms:", "if False:",
        "faults/versions_go_on", "I12",
    ),
    Fault(
        SchemaChange, "_left", "transaction.set(started_key(process), self.part.now_ms())", "pass",
        "faults/statement_sent_before_a_restart", "I9",
    ),
    Fault(
        ModelledParticipant, "_run_cleaning", "self.node.watch.now_us + self.node.disk_delay_us",
        "-1", "faults/outcome_sent_again_behind_a_slow_disk", "I12",
    ),
    Fault(
        ModelledStorage, "pong", "self._answered = None", "pass",
        "faults/pulled_within_a_pause", "I12",
    ),
    Fault(
        ModelledStorage, "_pulls", "max(self._next_us, behind_a_pause_us)", "self._next_us",
        "faults/asked_again_behind_a_pause", "I12",
    ),
)  # fmt: skip


def broken(scenario: str) -> set[str]:
    """The invariants that a scenario breaks, models beside its parts."""
    read = load(str(SCENARIOS / f"{scenario}.toml"))
    found = judge(run(plan(read, 0, models=True)))
    return {one.invariant for one in found.violations if one.status == "violation"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.scenario)
def test_a_fault_breaks_the_scenario_written_for_it(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert broken(fault.scenario) == set()
    plant(monkeypatch, *fault[:4])
    assert fault.invariant in broken(fault.scenario)
