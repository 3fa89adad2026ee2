"""Who builds a statement and who judges its answer agree on when there is nothing to do."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ddlsim.checkers.rules.idle_statements import changes_nothing
from ddlsim.model.ddl import AlterTable, DropColumn, DropConstraint, DropTable, DropView, Statement
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import NoOp, build
from tests.support.ddl_strategies import migrations, statements

MISSING = st.sampled_from(["t", "v", "w", "x"])


def grown_by(migration: list[Any]) -> Snapshot:
    snapshot = Snapshot()
    for version, built in enumerate(migration, start=1):
        snapshot = snapshot.after(version, snapshot.message_ts, snapshot.message_ts, built.objects)
    return snapshot


@st.composite
def excused(draw: st.DrawFn, snapshot: Snapshot) -> Statement:
    """A statement that often says IF EXISTS or IF NOT EXISTS, sometimes of what is not there."""
    asked: Any = draw(statements(snapshot))
    if draw(st.integers(0, 3)) == 0:
        kind = draw(st.sampled_from([DropTable, DropView]))
        asked = kind(draw(MISSING), if_exists=True)
    if isinstance(asked, AlterTable):
        actions = tuple(_excused(draw, action) for action in asked.actions)
        return replace(asked, actions=actions, if_exists=draw(st.booleans()))
    return _excused(draw, asked)


def _excused(draw: st.DrawFn, asked: Any) -> Any:
    if isinstance(asked, DropColumn | DropConstraint) and draw(st.booleans()):
        asked = type(asked)(draw(MISSING))
    for flag in ("if_exists", "if_not_exists"):
        if flag in asked.__struct_fields__:
            asked = replace(asked, **{flag: draw(st.booleans())})
    return asked


@given(st.data())
def test_builder_and_judge_agree(data: st.DataObject) -> None:
    snapshot = grown_by(data.draw(migrations()))
    asked = data.draw(excused(snapshot))
    built = build(asked, snapshot, snapshot.next_object_id)
    idle = changes_nothing(asked, snapshot.objects()) is None
    assert idle == isinstance(built, NoOp), (asked, built)
