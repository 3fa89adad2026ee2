"""Executions of registers that are sought: valid histories of any length are found valid."""

from random import Random

import numpy as np
import pytest

from ddlsim.foreign import jepsen
from ddlsim.foreign.inference import serial
from ddlsim.foreign.inference.registers import Registers
from tests.isolation import made
from tests.support.jepsen_histories import REGISTERS, Shape, edn, history
from tests.support.register_cases import verdict_on

VALID = {
    "serial": ("strict-serializable", "serializable", "snapshot-isolation"),
    "stale-serial": ("serializable", "snapshot-isolation"),
    "snapshot": ("strong-snapshot-isolation", "snapshot-isolation"),
    "stale-snapshot": ("snapshot-isolation",),
}
"""Of stores of each level, models that their histories keep to, whatever they are."""


@pytest.mark.parametrize("level", VALID)
def test_valid_histories_of_a_thousand_are_found_valid(level: str) -> None:
    shape = made.Shape(level, lists=False, transactions=1000, keys=8, clients=8, info=0.02)
    parsed = jepsen.parse(made.as_edn(made.run(shape, Random(3))))
    for model in VALID[level]:
        assert jepsen.judge(parsed, model).verdict.valid is True, model


@pytest.mark.parametrize(
    "shape",
    [
        Shape(400, REGISTERS, keys=3),
        Shape(400, REGISTERS, processes=30),
        Shape(400, REGISTERS, unknown=0.2),
        Shape(400, REGISTERS, failed=0.3, operations=8),
    ],
)
def test_serial_histories_in_real_time_are_found_valid(shape: Shape) -> None:
    for seed in range(3):
        assert verdict_on(history(shape, seed)).valid is True


@pytest.mark.parametrize("level", ["serial", "snapshot"])
def test_order_of_keeps_real_time_and_explains_reads(level: str) -> None:
    """Told by walking along it: a transaction reads what is there when it commits, if serial."""
    shape = made.Shape(level, lists=False, transactions=300, keys=5, clients=6, info=0.05)
    parsed = jepsen.parse(made.as_edn(made.run(shape, Random(1))))
    registers = Registers(parsed)
    blocks = [registers.wr()]
    place = serial.order_of(registers, blocks, apart=level == "snapshot")
    assert place is not None
    node = registers.node
    assert sorted(place[node]) == list(range(int(node.sum())))
    assert (place[~node] < 0).all()
    row = np.argsort(np.where(node, place, len(place)))[: int(node.sum())]
    latest = np.maximum.accumulate(parsed.begin[row])
    assert all(parsed.end[tx] < 0 or parsed.end[tx] > latest[at] for at, tx in enumerate(row))
    if level == "serial":
        state: dict[int, object] = {}
        for tx in row.tolist():
            for op in np.flatnonzero(parsed.tx == tx).tolist():
                key = int(parsed.key[op])
                if parsed.kind[op]:
                    state[key] = parsed.value(op)
                else:
                    assert parsed.value(op) == state.get(key)


def test_order_of_gives_up_after_its_steps_and_the_verdict_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[int] = []
    lay = serial._Search._lay
    monkeypatch.setattr(
        serial._Search, "_lay", lambda self, one: steps.append(one) or lay(self, one)
    )
    monkeypatch.setattr(serial, "STEPS_EACH", 0)
    monkeypatch.setattr(serial, "STEPS", 50)
    parsed = jepsen.parse(edn(history(Shape(400, REGISTERS), seed=2)).encode())
    registers = Registers(parsed)
    assert serial.order_of(registers, [registers.wr()]) is None
    assert len(steps) <= 52
    verdict = jepsen.judge(parsed, "strict-serializable").verdict
    assert verdict.valid == "unknown"
    assert any("a valid one may exist or not" in note for note in verdict.notes)


def test_an_order_found_by_the_search_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search gives is an order to be tried, no verdict."""
    parsed = jepsen.parse(edn(history(Shape(400, REGISTERS), seed=2)).encode())
    reverse = np.arange(len(parsed))[::-1].copy()
    monkeypatch.setattr(serial, "order_of", lambda *_, **__: reverse)
    assert jepsen.judge(parsed, "strict-serializable").verdict.valid == "unknown"
