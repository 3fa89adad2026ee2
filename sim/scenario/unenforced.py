"""The constraints of a scenario that are accepted as text and not enforced on rows."""

from collections.abc import Iterator

from ddlsim.model.ddl import AddConstraint, AlterTable, ConstraintSpec, CreateTable
from ddlsim.model.ops import Ddl
from ddlsim.scenario.scenario import Scenario
from ddlsim.sql import parse


def unenforced(scenario: Scenario) -> list[str]:
    """The texts of every FOREIGN KEY, and of CHECKs whose expression is none that is enforced."""
    found: dict[str, None] = {}
    for statement in _statements(scenario):
        for constraint in _constraints(statement):
            if constraint.kind != "unique" and constraint.condition is None:
                found[constraint.text] = None
    return list(found)


def _statements(scenario: Scenario) -> Iterator[object]:
    lines = [*scenario.schema, *(one for each in scenario.migrations for one in each.statements)]
    yield from (line.statement for line in lines)
    for step in scenario.steps:
        if isinstance(step.do, Ddl):
            yield from (parsed.statement for parsed in parse(step.do.sql))


def _constraints(statement: object) -> tuple[ConstraintSpec, ...]:
    if isinstance(statement, CreateTable):
        return statement.constraints
    if isinstance(statement, AlterTable):
        return tuple(one.constraint for one in statement.actions if isinstance(one, AddConstraint))
    return ()
