"""Values in what models find: timestamps are shown, never packed."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ddlsim.cluster.models.words import when, words
from ddlsim.model.records import Record
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.leases import Lease
from ddlsim.units import Timestamp, timestamp

AT = timestamp(45, 832)
SOURCE = Path(__file__).resolve().parents[3] / "sim"
STAMPS = ("_ts", "stamp", "safe_time", "lease_start")
"""Ends of the names that timestamps have."""


class Inner(NamedTuple):
    began: Timestamp | None
    count: int


@dataclass
class Outer:
    inner: Inner
    by_name: dict[str, Timestamp]


class Broken(Record, frozen=True):
    what: "Missing"  # type: ignore[name-defined]  # noqa: F821
    number: int


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (AT, Timestamp, "45+832"),
        (AT, Timestamp | None, "45+832"),
        (None, Timestamp, "None"),
        (AT, None, str(AT)),
        (7, int, "7"),
        ("a", None, "'a'"),
        (int, None, "<class 'int'>"),
        (TxId(AT, 0, "mixed-19"), None, "mixed-19"),
        ((AT, 7), tuple[Timestamp, int], "(45+832, 7)"),
        ((AT, AT), tuple[Timestamp, ...], "(45+832, 45+832)"),
        ((AT,), tuple[Timestamp], "(45+832,)"),
        ((), tuple[Timestamp, ...], "()"),
        ([(AT, 7)], list[tuple[Timestamp, int]], "[(45+832, 7)]"),
        ({"n1": AT}, dict[str, Timestamp], "{'n1': 45+832}"),
        ({"n1": 7}, None, "{'n1': 7}"),
        (Inner(AT, 7), None, "Inner(began=45+832, count=7)"),
        (Inner(None, 7), None, "Inner(began=None, count=7)"),
        ([Inner(AT, 7)], None, "[Inner(began=45+832, count=7)]"),
        (
            Outer(Inner(AT, 7), {"n1": AT}),
            None,
            "Outer(inner=Inner(began=45+832, count=7), by_name={'n1': 45+832})",
        ),
        (
            Lease((1, 0), "n1", AT, timestamp(5045)),
            None,
            "Lease(place=(1, 0), holder='n1', start_ts=45+832, expiration_ts=5045)",
        ),
        (Broken("a", 7), None, "Broken(what='a', number=7)"),
    ],
)
def test_timestamps_are_shown_by_their_types(value: object, kind: Any, expected: str) -> None:
    assert words(value, kind) == expected


def test_when_shows_a_timestamp_or_what_stands_in_its_place() -> None:
    assert (when(AT), when(None)) == ("45+832", "None")


def packed(tree: ast.AST) -> list[str]:
    """The timestamps, by their names, that a module shows as they are, or compares without type."""
    nodes = list(ast.walk(tree))
    values = [one.value for one in nodes if isinstance(one, ast.FormattedValue)]
    for one in nodes:
        if isinstance(one, ast.Call) and ast.unparse(one.func).endswith("divergence.compare"):
            values += one.args[1:3] if len(one.args) == 3 else []
    return [name for name in map(ast.unparse, values) if name.endswith(STAMPS)]


@pytest.mark.parametrize("room", ["checkers", "cli", "cluster", "kernel", "protocol", "shrink"])
def test_no_message_has_a_packed_timestamp(room: str) -> None:
    found = {
        path: packed(ast.parse(path.read_text())) for path in SOURCE.joinpath(room).rglob("*.py")
    }
    assert found
    assert not {path.name: names for path, names in found.items() if names}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("f'{op} ran at {answer.op_ts}, by {show(read_ts)}'", ["answer.op_ts"]),
        ("self._divergence.compare('it', self.safe_ts, due)", ["self.safe_ts"]),
        ("self._divergence.compare('it', self.safe_ts, due, Timestamp)", []),
    ],
)
def test_a_packed_timestamp_is_seen(text: str, names: list[str]) -> None:
    assert packed(ast.parse(text)) == names
