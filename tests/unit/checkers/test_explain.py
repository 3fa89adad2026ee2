"""The argument in words, as a person reads it."""

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.explain import cycle, describe, timeline
from ddlsim.checkers.judge import judge
from ddlsim.history.events import Enlisted, LockWaited, WriteExecuted
from ddlsim.history.history import History
from ddlsim.history.world_events import PartitionSafeTime
from ddlsim.units import timestamp
from tests.support.history import Story, add_column
from tests.unit.checkers.test_serializability import b2_t2

CYCLE = """\
D2: ALTER D (Tm = 20, Tu = 20)
D2 < T2 (wr-schema), because T2 wrote row 'z' under version 2 of t at 26 on n1, which D2 had
installed; T2 < T (wr-row), because T read t['z'] = ('z', 'T2:op2.1', 'T2:op2.2') of T2 at 30 on n1;
T < D2 (rw-schema[newer-row, late]), because T wrote row 'x' under version 1 of t at 10 on n1, and
D2 replaced it by version 2 at 20 (T read row 'z' as written under version 2, which the rule
forbid_all does not allow [110.back]): a cycle
"""


def words(text: str) -> str:
    """A text whatever its lines."""
    return " ".join(text.split())


def cycle_of(history: History) -> list[str]:
    """The lines of the cycle of its first violation."""
    violation = judge(history).violations[0]
    return [*cycle(Case(history), violation.steps, violation.witness)]


def test_a_cycle_is_argued_step_by_step() -> None:
    assert words(" ".join(cycle_of(b2_t2(add_column(2, "w")).history()))) == words(CYCLE)


def test_a_wrong_look_up_is_shown_by_its_events() -> None:
    story = Story(("I1",))
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=1100, submit=1000, tm=1000)
    story.resolve("T", t, 1155, 1, node="B")
    history = story.history()
    [violation] = judge(history).violations
    said = words(" ".join(timeline(Case(history), violation.witness)))
    assert "1000.000 ms update 2 logged by n1: t column-added, Tm = 1000, Tu = 1100" in said
    assert "1155.000 ms B resolved t for T (arrival) at 1155: version 1" in said


def test_every_line_fits_and_every_event_has_words() -> None:
    history = b2_t2(add_column(2, "w")).history()
    assert max(map(len, cycle_of(history))) <= 80
    case = Case(history)
    for event in history.events:
        said = describe(event, case)
        fields = [name for name in event.__struct_fields__ if name.endswith("ts")]
        packed = [str(getattr(event, name)) for name in {*fields, "ts", "stamp"} & set(fields)]
        assert said
        assert not any(number in said for number in packed if len(number) > 5)
        assert "object_id" not in said


def test_events_are_described_with_names_and_plain_timestamps() -> None:
    case = Case(b2_t2(add_column(2, "w")).history())
    t = next(event.object_id for event in case.history.events if isinstance(event, Enlisted))
    at = timestamp(351, 5)
    row = ((0, 7), (1, None))
    wrote = WriteExecuted(351_000, "n1", "T1", "c1.3", t, 0, 7, at, 1, row)
    assert describe(wrote, case) == (
        "WriteExecuted: node n1, tx T1, op c1.3, object t, partition 0, key 7, op_ts 351+5, "
        "version 1, row (id = 7, v = None)"
    )
    safe = PartitionSafeTime(351_000, "n1", "t/0", at)
    assert describe(safe, case) == "PartitionSafeTime: node n1, group t/0, ts 351+5"
    waited = LockWaited(351_000, "n1", "T1", "c1.3", t, 7, 2_500, granted=True)
    assert describe(waited, case).endswith("object t, key 7, waited 2.5 ms, granted")
