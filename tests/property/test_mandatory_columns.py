"""The two steps of a mandatory column: cancelled they leave nothing, confirmed what was asked."""

from hypothesis import given
from hypothesis import strategies as st

from ddlsim.checkers.spec.spec import judged_step
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from ddlsim.model.schema import Table
from ddlsim.protocol.design.mandatory_columns import (
    _ended,
    _with_columns,
    _with_pending,
    adds_mandatory_columns,
)
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.compatibility import is_forward_compatible
from ddlsim.protocol.schema.ddl import Built, Refused
from ddlsim.protocol.schema.ddl_answers import refuse
from ddlsim.units import Timestamp
from tests.support.schemas import grown, snapshot_of, statement

SCHEMA = "CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE INDEX i ON t (v)"
ROWS = refuse("it has rows")
KINDS = ("INT NOT NULL", "INT", "INT NOT NULL DEFAULT 1", "VARCHAR(5) NOT NULL")

added = st.lists(st.sampled_from(KINDS), min_size=1, max_size=4).map(
    lambda kinds: ", ".join(f"c{number} {kind}" for number, kind in enumerate(kinds))
)
MEANWHILE = (
    "ALTER TABLE t ADD COLUMN other INT",
    "ALTER TABLE t ALTER COLUMN v SET DEFAULT 3",
    "CREATE INDEX j ON t (c0)",
    "CREATE UNIQUE INDEX k ON t (v, c0)",
    "ALTER TABLE t RENAME COLUMN c0 TO d0",
    "ALTER TABLE t RENAME TO u",
)
meanwhile = st.lists(st.sampled_from(MEANWHILE), max_size=3, unique=True)


def installed(snapshot: Snapshot, built: Built | Refused | object) -> Snapshot:
    assert isinstance(built, Built), built
    return snapshot.after(snapshot.version + 1, Timestamp(0), Timestamp(0), built.objects)


def shown(snapshot: Snapshot) -> object:
    """The table as people see it: by names, without ids and versions."""
    table = snapshot.by_id(1)
    assert isinstance(table, Table), table
    names = {column.id: column.name for column in table.columns}
    columns = [(one.name, one.type, one.nullable, one.default) for one in table.columns]
    indexes = [(one.name, [names[id_] for id_ in one.columns]) for one in table.indexes]
    return table.name, columns, indexes


def done(snapshot: Snapshot, statements: list[str]) -> Snapshot:
    """The statements carried out, as far as the catalog allows them."""
    for text in statements:
        snapshot, _ = grown(snapshot, statement(text))
    return snapshot


@given(added)
def test_confirmed_it_is_the_table_that_was_asked_for(columns: str) -> None:
    asked, before = statement(f"ALTER TABLE t ADD COLUMN ({columns})"), snapshot_of(SCHEMA)
    pending = _with_pending(asked, before)
    assert isinstance(pending, Built)
    if not adds_mandatory_columns(asked):
        assert pending == _with_columns(asked, before)
        return
    after = installed(before, pending)
    confirmed = _ended(pending.objects[0], None, after)
    wanted = installed(before, _with_columns(asked, before))
    assert shown(installed(after, confirmed)) == shown(wanted)


@given(added.filter(lambda text: "NOT NULL" in text), meanwhile)
def test_cancelled_it_takes_back_just_what_it_added(columns: str, others: list[str]) -> None:
    """What others did meanwhile stays, but for indexes over what goes."""
    asked, before = statement(f"ALTER TABLE t ADD COLUMN ({columns})"), snapshot_of(SCHEMA)
    pending = _with_pending(asked, before)
    assert isinstance(pending, Built)
    after = done(installed(before, pending), others)
    left = installed(after, _ended(pending.objects[0], ROWS, after))
    assert shown(left) == shown(done(before, [text for text in others if "c0" not in text]))


@given(added, meanwhile)
def test_rules_and_judges_agree_on_each_step(columns: str, others: list[str]) -> None:
    """Pending is incompatible, confirmed compatible, cancelled incompatible."""
    asked, before = statement(f"ALTER TABLE t ADD COLUMN ({columns})"), snapshot_of(SCHEMA)
    pending = _with_pending(asked, before)
    assert isinstance(pending, Built)
    after = done(installed(before, pending), others)
    (first,) = pending.objects
    mandatory = any(isinstance(one, ColumnPending) for one in first.changes)
    verdicts = [(first, not mandatory)]
    for why in (None, ROWS) if mandatory else ():
        ended = _ended(first, why, after)
        assert isinstance(ended, Built)
        (last,) = ended.objects
        verdicts.append((last, all(isinstance(one, ColumnConfirmed) for one in last.changes)))
        assert verdicts[-1][1] is (why is None)
    for step, compatible in verdicts:
        assert is_forward_compatible(step) is compatible
        assert judged_step(step.changes, step.kind).compatible is compatible
