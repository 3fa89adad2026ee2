"""Transactions lie across the activation of the planned DDL."""

from dataclasses import replace

import pytest

from ddlsim.model.ops import Commit, Get, Put
from tests.support.workloads import steps, workload, world

PLANNED = world(ddl={500: "ALTER TABLE t ADD COLUMN a INT", 900: "DROP TABLE u"})
BORDERS_US = (600_000, 1_000_000)  # the statements' instants and a DD of 100 ms


def test_every_client_crosses_every_border() -> None:
    made = steps("transborder", there=PLANNED, clients=3)
    txs = dict.fromkeys((step.client, step.tx) for step in made)

    assert list(txs) == [(f"w-{c}", f"w-{c}-{n}") for c in (1, 2, 3) for n in (1, 2)]


def test_a_transaction_begins_before_the_border_and_commits_after_it() -> None:
    for seed in range(30):
        made = steps("transborder", seed, PLANNED, clients=2, before_ms=(5, 60), after_ms=(0, 60))
        for tx in dict.fromkeys(step.tx for step in made):
            first, *others = [step for step in made if step.tx == tx]
            border_us = BORDERS_US[int(str(tx)[-1]) - 1]
            assert first.at_us is not None
            assert border_us - 60_000 <= first.at_us <= border_us - 5_000
            assert first.at_us + sum(step.plus_us for step in others) >= border_us
            assert others[-1].do == Commit()
            assert [step.after for step in others] == [
                f"{tx}-{number}.done" for number in range(1, len(others) + 1)
            ]


def test_the_numbers_of_operations_are_those_asked_for() -> None:
    made = steps("transborder", there=PLANNED, before=2, after=1, writes=0.0)
    assert len(made) == 2 * (2 + 1 + 1)


def test_a_share_of_the_transactions_reads_the_past() -> None:
    made = steps("transborder", there=PLANNED, clients=50, writes=1.0, read_only=0.3)
    reading = {step.tx for step in made if step.read_only}
    assert 15 < len(reading) < 45
    for step in made:
        assert isinstance(step.do, (Get if step.tx in reading else Put) | Commit)


@pytest.mark.parametrize(("load_us", "crossed"), [(None, 2), (900_000, 2), (899_999, 1), (0, 0)])
def test_a_statement_behind_the_load_is_not_crossed(load_us: int | None, crossed: int) -> None:
    """It is not begun; what crosses those before it stays as it is."""
    there = replace(PLANNED, load_us=load_us)
    made = steps("transborder", there=there)

    assert len({step.tx for step in made}) == crossed
    assert made == steps("transborder", there=PLANNED)[: len(made)]


def test_without_planned_ddl_there_is_nothing_to_cross() -> None:
    with pytest.raises(ValueError, match=r"name: transborder needs a \[\[migration\]\]"):
        workload("transborder").fits(world())
