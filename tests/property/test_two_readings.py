"""The protocol's and the judges' readings of IEP-110 agree on every simple change.

They are written by different hands from the same text. Where they differ, the text is unclear, and
PROTOCOL.md has to say how it is read.
"""

import pytest
from hypothesis import given, settings

from sim.model.ddl import SimpleChange
from sim.protocol.compatibility import judge
from tests.ddl_strategies import simple_changes

spec = pytest.importorskip("sim.checkers.spec", reason="the judges' reading is not written yet")


@settings(max_examples=2_000)
@given(simple_changes())
def test_both_readings_agree(change: SimpleChange) -> None:
    ours = all(verdict.compatible for verdict in judge(change))
    assert spec.forward_compatible(change) is ours
