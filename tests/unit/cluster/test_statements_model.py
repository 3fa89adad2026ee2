"""The model of DDL statements agrees with the catalog, and sees faults that are planted in it."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from ddlsim import sql
from ddlsim.cluster.models.design.rule_forms import may_cross_as_shipped
from ddlsim.cluster.models.schema.samples import Sample, beside, catalog
from ddlsim.cluster.models.schema.statements import difference
from ddlsim.model.ddl import AddColumn, AlterTable, ColumnSpec, DropTable, ObjectChange, Statement
from ddlsim.model.schema import ColumnType, Table
from ddlsim.protocol.design import as_shipped
from ddlsim.protocol.schema import alter_table, by_name, column_types, ddl, ddl_answers
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.workload import statements as drawn

MANY = 3000


def differs(statement: Statement) -> str | None:
    on = catalog()
    return difference(statement, on, build(statement, on, on.next_object_id))


def samples(count: int = MANY) -> Iterator[Statement]:
    for number in range(count):
        yield Sample(number).statement()


def steps() -> Iterator[ObjectChange]:
    for statement in samples():
        built = build(statement, catalog(), catalog().next_object_id)
        yield from built.objects if isinstance(built, Built) else ()


def test_the_model_agrees_with_the_catalog() -> None:
    assert [why for one in samples() if (why := differs(one)) is not None] == []


@pytest.mark.parametrize("text", [*drawn.REFUSED, *drawn.NOOPS])
def test_it_agrees_on_what_drawn_worlds_have_refused(text: str) -> None:
    (parsed,) = sql.parse(text.format(t="t", k="id", o="u", z="z", y="y"))
    assert not isinstance(build(parsed.statement, catalog(), 99), Built)
    assert differs(parsed.statement) is None


def test_samples_are_of_every_kind_and_some_of_them_are_installed() -> None:
    assert len({type(one) for one in samples(500)}) == len(Statement.__args__)
    assert len(list(islice(steps(), 300))) == 300


def test_a_statement_has_the_same_samples_each_time_and_another_one_has_others() -> None:
    one, other = DropTable("t"), DropTable("u")
    assert [*beside(one, 5, 1)] == [*beside(one, 5, 1)] != [*beside(other, 5, 1)]
    assert not [*beside(one, 5, 13)]


def nothing(*_: Any, **__: Any) -> None:
    return None


def yes(*_: Any, **__: Any) -> bool:
    return True


def no(*_: Any) -> bool:
    return False


def as_it_is(value: Any, *_: Any) -> Any:
    return value


FAULTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "lets a foreign key refer to anything": (ddl, "unknown_reference", nothing),
    "converts anything": (alter_table, "convertible", yes),
    "converts nothing": (alter_table, "convertible", no),
    "takes any default": (alter_table, "fit_constant", as_it_is),
    "keeps any default": (alter_table, "fit", as_it_is),
    "forgets defaults": (alter_table, "same_default", yes),
    "compares with any constant": (alter_table, "as_enforced", as_it_is),
    "needs no default": (alter_table, "is_mandatory", no),
    "needs a default": (alter_table, "is_mandatory", yes),
    "takes a column twice": (alter_table, "repeated", nothing),
    "indexes a column twice": (ddl, "repeated", nothing),
    "drops what a view reads": (ddl, "read_by_view", nothing),
    "takes any name": (ddl, "name_taken", nothing),
    "knows no forms of constants": (column_types, "_exists", yes),
    "knows no words": (ddl_answers, "kind_of", lambda _: "table"),
    "folds texts": (column_types, "_plain", lambda value, _: str(value).lower()),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, function, fault = FAULTS[name]
    monkeypatch.setattr(module, function, fault)
    assert any(differs(one) for one in samples())


def test_a_number_beyond_all_of_a_type_is_no_default() -> None:
    spec = ColumnSpec("big", ColumnType("REAL"), has_default=True, default=1e39)
    (refused, allowed) = (
        build(AlterTable("t", (AddColumn(one),)), catalog(), 99)
        for one in (spec, ColumnSpec("big", ColumnType("DOUBLE"), has_default=True, default=1e39))
    )
    assert not isinstance(refused, Built)
    assert isinstance(allowed, Built)


@pytest.mark.parametrize(
    ("type_", "default", "text"),
    [
        ("DECIMAL(7, 2)", "0.5", "0.50"),
        ("DECIMAL(7, 2)", "5", "5.00"),
        ("DOUBLE", "5", "5.0"),
        ("REAL", "0.1", "0.1"),
        ("INT", "5", "5"),
        ("BOOLEAN", "TRUE", "true"),
    ],
)
@pytest.mark.parametrize("way", ["DEFAULT {0}", ", ALTER COLUMN d SET DEFAULT {0}"])
def test_a_default_keeps_its_form_in_a_statement_that_changes_the_type_behind_it(
    type_: str, default: str, text: str, way: str
) -> None:
    """As it does where another statement changes the type [110.compat.compound]."""
    actions = (
        f"ADD COLUMN d {type_} {way.format(default)}, ALTER COLUMN d SET DATA TYPE VARCHAR(30)"
    )
    (parsed,) = sql.parse(f"ALTER TABLE t {actions}")
    built = build(parsed.statement, catalog(), 99)
    assert isinstance(built, Built)
    table = built.objects[0].definition
    assert isinstance(table, Table)
    assert column_types.text_of(table.columns[-1].default) == text
    assert differs(parsed.statement) is None


def shipped(step: ObjectChange) -> bool:
    return as_shipped.each_step_as_shipped((step,)) is None


def test_the_form_of_the_shipped_judgement_agrees_with_it() -> None:
    judged = [(step, catalog().by_id(step.object_id)) for step in steps()]
    assert [step for step, on in judged if shipped(step) != may_cross_as_shipped(step, on)] == []


def test_the_shipped_judgement_of_a_new_column_does_not_depend_on_how_it_got_its_default() -> None:
    for actions in ("d DATE DEFAULT {0}", "d DATE, ALTER COLUMN d SET DEFAULT {0}"):
        text = actions.format("DATE '2000-02-29'")
        (parsed,) = sql.parse(f"ALTER TABLE t ADD COLUMN {text}")
        built = build(parsed.statement, catalog(), 99)
        assert isinstance(built, Built)
        (step,) = built.objects
        assert shipped(step)
        assert may_cross_as_shipped(step, catalog().by_id(step.object_id))


@pytest.mark.parametrize("function", ["shape", "_same_column"])
def test_it_sees_a_fault_in_the_comparison_by_name(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = [(step, catalog().by_id(step.object_id)) for step in steps()]
    fault = {"shape": nothing, "_same_column": lambda new, _: new}[function]
    monkeypatch.setattr(by_name, function, fault)
    found = []
    for step, on in judged:
        try:
            found.append(shipped(step) != may_cross_as_shipped(step, on))
        except KeyError:
            found.append(True)
    assert any(found)
