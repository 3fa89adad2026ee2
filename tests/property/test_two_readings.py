"""The protocol's and the judges' readings of IEP-110 agree on every simple change.

They are written by different hands from the same text. Where they differ, the text is unclear, and
PROTOCOL.md has to say how it is read.
"""

from itertools import product

from hypothesis import given, settings

from ddlsim.checkers.spec.spec import forward_compatible
from ddlsim.model.ddl import ColumnAltered, SimpleChange
from ddlsim.model.schema import FLOAT_TYPES, INTEGER_TYPES, TEMPORAL_TYPES, Column, ColumnType
from ddlsim.protocol.schema.compatibility import judge
from tests.support.ddl_strategies import simple_changes

TYPES = [
    *(ColumnType(name) for name in (*INTEGER_TYPES, *FLOAT_TYPES, "BOOLEAN", "DATE", "UUID")),
    *(ColumnType("VARCHAR", length=length) for length in (*range(1, 46), 65536)),
    *(ColumnType("VARBINARY", length=length) for length in (1, 5, 6, 22, 65536)),
    *(ColumnType(name, precision=digits) for name in TEMPORAL_TYPES for digits in (0, 1, 6, 9)),
    *(
        ColumnType("DECIMAL", precision=precision, scale=scale)
        for precision, scale in product((1, 5, 6, 32767), (0, 1, 5, 7))
    ),
]


def agrees(change: SimpleChange) -> bool:
    return forward_compatible(change) is all(verdict.compatible for verdict in judge(change))


def test_both_readings_agree_on_every_change_of_type() -> None:
    differ = [
        f"{before} to {after}"
        for before, after in product(TYPES, TYPES)
        if before != after
        and not agrees(ColumnAltered(Column(1, "a", before), Column(1, "a", after)))
    ]
    assert differ == []


@settings(max_examples=300)
@given(simple_changes())
def test_both_readings_agree_on_every_simple_change(change: SimpleChange) -> None:
    assert agrees(change)
