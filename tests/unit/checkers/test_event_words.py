"""Every kind of event has words, which name no class, no id and no packed number."""

import re
from typing import get_args

import pytest
from msgspec import structs

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.event_words import OF_EVENTS, told
from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run
from ddlsim.history.events import (
    AnyEvent,
    DdlDecided,
    Encoded,
    Enlisted,
    LockWaited,
    SafeTimeAdvanced,
    TxCommitted,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.index_events import IndexWritten
from ddlsim.history.world_events import CommandLogged, LeaseBegan, PartDiverged, PartitionSafeTime
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.units import timestamp
from tests.support.history import add_column
from tests.unit.checkers.test_serializability import b2_t2

NAMES = re.compile(
    "|".join(rf"\b{one.__name__}\b" for one in get_args(AnyEvent) if len(one.__name__) > 7)
)
AT = timestamp(351, 5)


def test_every_kind_of_event_has_words() -> None:
    assert {*get_args(AnyEvent)} == {*OF_EVENTS}


@pytest.mark.parametrize(
    "name", ["smoke", "findings/F-1", "strategies/A9-T3", "strategies/C6-T2", "iep98/own_ddl"]
)
def test_words_name_no_class_no_id_and_no_packed_number(name: str) -> None:
    history = run(plan(load(name), 0, trace=True))
    case = Case(history)
    for event in history.events:
        said = told(case, event)
        stamps = [one for one in event.__struct_fields__ if one.endswith("_ts") or one == "ts"]
        packed = [str(getattr(event, one)) for one in stamps]
        assert said
        assert not NAMES.search(said), said
        assert not any(number in said for number in packed if len(number) > 5), said
        assert not re.search(r"\w_(id|ts|us)\b", re.sub(r"(begin|commit|op)_ts", "", said)), said
        assert "-86400000" not in said


def test_events_are_told_with_names_and_plain_timestamps() -> None:
    case = Case(b2_t2(add_column(2, "w")).history())
    t = next(event.object_id for event in case.history.events if isinstance(event, Enlisted))
    row = ((0, 7), (1, None))
    wrote = WriteExecuted(351_000, "n1", "T1", "c1.3", t, 0, 7, AT, 1, row)
    under = "at op_ts = 351+5 under version 1"
    assert told(case, wrote) == f"on n1 T1 writes t[7] {under}: (id = 7, v = null)"
    wrote = structs.replace(wrote, key=("a b", None, 7), row=None)
    assert told(case, wrote) == f"on n1 T1 deletes t['a b', null, 7] {under}"
    wrote = structs.replace(wrote, key="k" * 99)
    assert told(case, wrote) == f"on n1 T1 deletes t['{'k' * 58}…] {under}"
    waited = LockWaited(351_000, "n1", "T1", "c1.3", t, 7, 2_500, granted=True)
    assert told(case, waited) == "on n1 T1 has the lock on t[7] after 2.5 ms"
    encoded = Encoded(351_000, "c1", "c1.3", t, 1, row)
    assert told(case, encoded) == (
        "c1 encodes the row (id = 7, v = null) of c1.3 under version 1 of t"
    )
    entry = IndexWritten(351_000, "n1", "T1", "c1.3", t, 3, (None,), 7, added=True)
    assert told(case, entry) == "on n1 T1 puts the entry (null) of key 7 into index 3 of t"
    committed = TxCommitted(351_000, "n1", "T1", AT, ((t, 1, 0),))
    assert told(case, committed) == (
        "on n1 T1 commits: commit_ts = 351+5, with version 1 of t (none at commit_ts)"
    )


def test_what_the_machinery_did_is_told() -> None:
    case = Case(b2_t2(add_column(2, "w")).history())
    assert told(case, SafeTimeAdvanced(1, "n1", AT)) == "n1 publishes the safe time 351+5"
    assert told(case, PartitionSafeTime(1, "n1", "meta", AT)) == (
        "n1 has applied everything of meta up to 351+5"
    )
    assert told(case, CommandLogged(1, "n1", "meta", 6, 2, AT)) == (
        "n1 applies index 6 of the log of meta, of term 2 and stamped 351+5"
    )
    assert told(case, LeaseBegan(1, "n1", "meta", "n2", 0, AT)) == (
        "n1 records the lease of meta: n2 is primary from 0 until 351+5"
    )
    decided = DdlDecided(351_000, "n1", "d", "installed", 2, AT, timestamp(400))
    assert told(case, decided) == "on n1 d has made D2; its client is answered at 400"


def test_a_table_is_called_by_the_name_that_its_transaction_knows() -> None:
    """A lock that was refused before a rename was told under the later name."""
    history = run(plan(load("strategies/B5-T4"), 0))
    case = Case(history)
    [logged, *_] = [one for one in history.of(UpdateLogged) if one.op is not None]
    [changed] = logged.objects
    before, after = (case.schemas.name(changed.object_id, one) for one in (1, 2))
    assert before != after
    waits = LockWaited(
        logged.at_us - 1, "n1", "no such", "o", changed.object_id, 7, 1, granted=False
    )
    assert f"the lock on {before}[7]" in told(case, waits)
    later = LockWaited(logged.at_us, "n1", "no such", "o", changed.object_id, 7, 1, granted=False)
    assert f"the lock on {after}[7]" in told(case, later)
    group = f"{changed.object_id}/0"
    assert case.schemas.group(group, logged.at_us - 1) == f"{before}/0"
    assert case.schemas.group(group) == f"{after}/0"


def test_a_part_that_diverged_is_told_with_names_of_objects() -> None:
    history = b2_t2(add_column(2, "w")).history()
    t = next(one.object_id for one in history.events if isinstance(one, Enlisted))
    what = f"r ran under version 1 of object {t} at 5"
    history.events.append(PartDiverged(5_000, "n1", "operations", what))
    case = Case(history)
    said = "operations did not do what the model of it does: r ran under version 1 of t at 5"
    assert told(case, history.events[-1]) == f"on n1 {said}"
    [anomaly] = [one for one in judge(history).violations if one.kind == "operations-diverged"]
    assert "of node n1 did not do what the model of it does: r ran under version 1 of t" in (
        anomaly.summary
    )
