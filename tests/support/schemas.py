"""Tiny schemas for tests, made as users make them: by SQL."""

from ddlsim import sql
from ddlsim.model.ddl import ObjectChange, SimpleChange, Statement
from ddlsim.model.ops import Get, Scan
from ddlsim.model.schema import Table
from ddlsim.protocol.schema.catalog import Catalog, Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.units import Timestamp, timestamp


def statement(text: str) -> Statement:
    """The one DDL statement of a text."""
    (parsed,) = sql.parse(text)
    assert not isinstance(parsed.statement, Get | Scan)
    return parsed.statement


def grown(snapshot: Snapshot, asked: Statement) -> tuple[Snapshot, Built | NoOp | Refused]:
    """A snapshot with a statement carried out upon it, if it can be."""
    outcome = build(asked, snapshot, snapshot.next_object_id)
    if isinstance(outcome, Built):
        version = snapshot.version + 1
        snapshot = snapshot.after(version, Timestamp(0), Timestamp(0), outcome.objects)
    return snapshot, outcome


def snapshot_of(schema: str) -> Snapshot:
    """The catalog after some statements, all of which must be carried out."""
    snapshot = Snapshot()
    for parsed in sql.parse(schema):
        assert not isinstance(parsed.statement, Get | Scan)
        snapshot, outcome = grown(snapshot, parsed.statement)
        assert isinstance(outcome, Built), outcome
    return snapshot


def outcome_of(schema: str, asked: str) -> Built | NoOp | Refused:
    """What becomes of a statement upon a schema."""
    return grown(snapshot_of(schema), statement(asked))[1]


def change_of(schema: str, asked: str) -> ObjectChange:
    """The one object change that a statement makes of a schema."""
    outcome = outcome_of(schema, asked)
    assert isinstance(outcome, Built), outcome
    (change,) = outcome.objects
    return change


def simple_change_of(schema: str, asked: str) -> SimpleChange:
    """The one simple change that a statement makes of a schema."""
    (simple,) = change_of(schema, asked).changes
    return simple


def refusal_of(schema: str, asked: str) -> Refused:
    """Why a statement is refused."""
    outcome = outcome_of(schema, asked)
    assert isinstance(outcome, Refused), outcome
    return outcome


def table_of(schema: str, name: str = "t") -> Table:
    """A table of a schema."""
    table = snapshot_of(schema).by_name(name)
    assert isinstance(table, Table), table
    return table


def install(catalog: Catalog, asked: str, activation_ms: int) -> Built:
    """Carry a statement out upon a catalog, effective from an instant on."""
    latest = catalog.latest()
    outcome = build(statement(asked), latest, latest.next_object_id)
    assert isinstance(outcome, Built), outcome
    ts = timestamp(activation_ms)
    catalog.apply(catalog.version + 1, ts, ts, outcome.objects)
    return outcome
