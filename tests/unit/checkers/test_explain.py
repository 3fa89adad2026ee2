"""The argument in words, as a person reads it."""

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.explain import cycle, timeline
from ddlsim.checkers.judge import judge
from ddlsim.history.history import History
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
    assert "1000.000 ms on n1 D2 is in the log (ALTER D): Tm = 1000, Tu = 1100" in said
    assert "1155.000 ms B looks up t at 1155 (arrival of T): version 1" in said


def test_every_line_of_a_cycle_fits() -> None:
    assert max(map(len, cycle_of(b2_t2(add_column(2, "w")).history()))) <= 80
