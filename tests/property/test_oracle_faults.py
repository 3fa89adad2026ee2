"""Each rule of the table and each part of the oracle is broken once, and the comparison notices."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from ddlsim.checkers.spec import oracle as spec_oracle
from ddlsim.checkers.spec import spec, types
from ddlsim.checkers.spec import tuples as spec_tuples
from ddlsim.checkers.spec.oracle import breach, detected, operations
from ddlsim.checkers.spec.tuples import Access, State, executed
from ddlsim.model.ddl import SimpleChange
from ddlsim.model.schema import Column, ColumnType
from ddlsim.protocol.schema import column_types, compatibility
from ddlsim.protocol.schema.column_types import longest_text, precision_of
from ddlsim.protocol.schema.compatibility import IEP, Rule, RuleVerdict
from tests.support.oracle_world import differences, small_changes

SMALL = list(small_changes())
CLAUSES = tuple(
    f"110.{name}"
    for name in (
        *("column.add", "column.default", "column.drop", "column.nullable", "column.rename"),
        *("column.type", "constraint.drop", "later.2", "later.3", "ours.constraint.add"),
        *("ours.index.create", "ours.index.drop", "ours.index.unique", "table.create"),
        *("table.drop", "table.rename", "view", "zone"),
    )
)

Patch = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """No verdict and no domain of a broken oracle is remembered by a whole one."""
    fresh = lru_cache(maxsize=None)(types.domain.__wrapped__)
    monkeypatch.setattr(types, "domain", fresh)
    monkeypatch.setattr(spec_oracle, "domain", fresh)


def noticed(rules: tuple[Rule, ...] = IEP.rules) -> bool:
    """Whether the rule table and the oracle differ anywhere on the small universe."""
    return next(differences(SMALL, IEP._replace(rules=rules)), None) is not None


def put(place: Any, name: str, value: Any) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr(place, name, value)


def item(place: dict[str, Any], key: str, value: Any) -> Patch:
    return lambda monkeypatch: monkeypatch.setitem(place, key, value)


def flipped(rule: Rule, clause: str) -> Rule:
    """A rule that says the contrary under one clause."""

    def said(change: SimpleChange, kind: str) -> RuleVerdict | None:
        verdict = rule(change, kind)
        if verdict is None or verdict.clause != clause:
            return verdict
        return verdict._replace(compatible=not verdict.compatible)

    return said


def test_nothing_broken_nothing_different() -> None:
    assert not noticed()


def test_the_small_universe_has_every_clause_and_no_other() -> None:
    found = {one.clause for change, kind in SMALL for one in spec.rulings(change, kind)}
    assert sorted(found) == list(CLAUSES)


# --- the rule table ------------------------------------------------------------------------------


@pytest.mark.parametrize("clause", CLAUSES)
def test_a_rule_that_says_the_contrary_is_noticed(clause: str) -> None:
    assert noticed(tuple(flipped(rule, clause) for rule in IEP.rules))


@pytest.mark.parametrize(
    "left_out", range(len(IEP.rules)), ids=lambda number: IEP.rules[number].__name__
)
def test_a_rule_that_is_left_out_is_noticed(left_out: int) -> None:
    assert noticed(IEP.rules[:left_out] + IEP.rules[left_out + 1 :])


def by_name_only(before: ColumnType, after: ColumnType) -> bool:
    return before.name == after.name


def any_scale(before: ColumnType, after: ColumnType) -> bool:
    if before.name == after.name == "DECIMAL":
        return precision_of(before) <= precision_of(after)
    return column_types.widens(before, after)


OFF_BY_ONE = {
    f"{type_name} text {by:+d}": item(
        column_types._FIXED_TEXTS, type_name, column_types._FIXED_TEXTS[type_name] + by
    )
    for type_name in column_types._FIXED_TEXTS
    for by in (-1, 1)
}
TABLE_FAULTS: dict[str, Patch] = {
    **OFF_BY_ONE,
    "sizes do not matter": put(compatibility, "widens", by_name_only),
    "the scale does not matter": put(compatibility, "widens", any_scale),
    "everything is text": put(compatibility, "fits_as_text", lambda _, to: to.name == "VARCHAR"),
    "nothing is text": put(compatibility, "fits_as_text", lambda *_: False),
    "a text of all sizes is shorter": put(
        column_types, "longest_text", lambda one: longest_text(one) - 1
    ),
    "INTEGER is wider than BIGINT": put(
        column_types, "INTEGER_TYPES", ("TINYINT", "SMALLINT", "BIGINT", "INTEGER")
    ),
    "DOUBLE is narrower than REAL": put(column_types, "FLOAT_TYPES", ("DOUBLE", "REAL")),
    "a fraction's digits do not matter": put(column_types, "TEMPORAL_TYPES", ()),
    "retyped defaults are new defaults": put(compatibility, "same_default", lambda *_: False),
}


@pytest.mark.parametrize("fault", TABLE_FAULTS)
def test_a_fault_of_the_table_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    TABLE_FAULTS[fault](monkeypatch)
    assert noticed()


# --- the oracle ----------------------------------------------------------------------------------


def nothing(*_: Any) -> None:
    """What a requirement says that is not tested."""


def only(function: str) -> Patch:
    """Tries one edge of each type: the first, or the last."""
    at = {"first": slice(0, 1), "last": slice(-1, None)}[function]
    return put(spec_oracle, "edges_of", lambda type_: types.domain(type_).edges[at])


def named_by_anything(state: State, operation: Any) -> Any:
    return executed(state, operation._replace(name=state.name))


def named_by_the_newest(state: State, operation: Any) -> Any:
    return executed(state._replace(aliases=()), operation)


def without_left_out(initial: State, target: State) -> Any:
    """Operations that give every column a value."""
    full = {column.id for column in initial.columns}
    return (one for one in operations(initial, target) if one.values.keys() == full)


def without_null(initial: State, target: State) -> Any:
    """Operations that have a value for every column."""
    columns = {column.id for column in initial.columns}
    for one in operations(initial, target):
        if one.values.keys() == columns and all(given.datum for given in one.values.values()):
            yield one


def shows_todays_default(row: Any, source: State, target: State) -> Any:
    """An added column shows nothing in old rows."""
    upgraded = spec_tuples.upgraded_row(row, source, target)
    known = {column.id for column in source.columns}
    cells = {id_: datum if id_ in known else None for id_, datum in upgraded.cells.items()}
    return upgraded._replace(cells=cells)


def unchanged(datum: Any, *_: Any) -> Any:
    return datum


def wider(by: int) -> dict[str, int]:
    return {name: bits + by for name, bits in types.BITS.items()}


def built_at_once(index: Any, *, built: bool) -> Any:
    del built
    bare = spec._table(*(Column(id_, "c", ColumnType("BIGINT")) for id_ in index.columns))
    return bare, bare._replace(accesses=(Access(index.id, index.columns, index.unique),))


def unpadded(name: str, digits: int) -> Any:
    return _points(name, digits)._replace(text=lambda datum: datum.content)


def unscaled(digits: int, scale: int) -> Any:
    return _decimals(digits, 0)._replace(kind=f"decimal {scale}")


def without_length(name: str, length: int) -> Any:
    return _strings(name, length)._replace(holds=lambda _: True)


_points, _decimals, _strings = types._points, types._decimals, types._strings

ORACLE_FAULTS: dict[str, Patch] = {
    "requirement 1 is not tested": put(spec_oracle, "not_allowed", nothing),
    "requirement 2 is not tested": put(spec_oracle, "lost", nothing),
    "requirement 3 is not tested": put(spec_oracle, "detected", nothing),
    "everything may exist": put(spec_oracle, "forbidden", nothing),
    "nothing need be unique": put(spec_oracle, "clash", lambda *_: False),
    "names mean anything": put(spec_oracle, "executed", named_by_anything),
    "an old name means nothing": put(spec_oracle, "executed", named_by_the_newest),
    "only the first edge is tried": only("first"),
    "only the last edge is tried": only("last"),
    "no column is ever left out": put(spec_oracle, "operations", without_left_out),
    "no value is ever missing": put(spec_oracle, "operations", without_null),
    "old rows lack added columns": put(spec_oracle, "upgraded_row", shows_todays_default),
    "values never become text": put(spec_tuples, "upgraded_datum", unchanged),
    "each type holds each value": put(spec_tuples, "holds", lambda *_: True),
    "no type holds any value": put(spec_tuples, "holds", lambda *_: False),
    "all integers are equally wide": put(types, "BITS", dict.fromkeys(types.BITS, 64)),
    "integers are a bit wider": put(types, "BITS", wider(10)),
    "each REAL is a DOUBLE's": put(types, "_is_single", lambda _: True),
    "the longest REAL is another": put(types, "LONG_REAL", -0.5),
    "the longest DOUBLE is another": put(types, "LONG_DOUBLE", -0.5),
    "fractions are not padded": put(types, "_points", unpadded),
    "decimals have no scale": put(types, "_decimals", unscaled),
    "strings have no length": put(types, "_strings", without_length),
    "a new index is read at once": put(spec, "_indexed", built_at_once),
    "a change has one aspect only": put(spec, "_altered", lambda *two: _altered(*two)[:1]),
    "retyped defaults are new defaults": put(spec, "_same_default", lambda *_: False),
    "what is dropped is still there": put(spec, "NOTHING", State("t")),
}
_altered = spec._altered
for _name, (_kind, *_edges) in types._FEW.items():
    ORACLE_FAULTS[f"{_name} is written longer"] = item(
        types._FEW, _name, (_kind, *(f"{edge} " for edge in _edges))
    )


@pytest.mark.parametrize("fault", ORACLE_FAULTS)
def test_a_fault_of_the_oracle_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ORACLE_FAULTS[fault](monkeypatch)
    assert noticed()


def test_an_old_tuple_is_not_found_by_an_index_that_is_built_already() -> None:
    """Requirement 3 where the index does not wait for its build [110.ours.index.create]."""
    column = Column(1, "v", ColumnType("INTEGER"))
    bare = State("t", (column,))
    registered = bare._replace(accesses=(Access(7, (1,), built=False),))
    assert breach(bare, registered) is None
    found = breach(bare, bare._replace(accesses=(Access(7, (1,)),)))
    assert found is not None
    assert (found.requirement, "index" in found.reason) == ("110.fwd.3", True)


def test_an_operation_that_the_commit_schema_refuses_shows_where_it_was_run() -> None:
    column = Column(1, "v", ColumnType("INTEGER"))
    (operation, *_) = operations(State("t", (column,)), State("t"))
    row = executed(State("t", (column,)), operation)
    assert row is not None
    told = detected([spec_oracle.Trial(operation, row, row)], State("t"))
    assert told == "the same operation would be refused under the commit schema"
