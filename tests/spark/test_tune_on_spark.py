"""Cells of `tune` give the same rows on Spark as in this process."""

from typing import Any

import pytest

from ddlsim.analysis.tune.cells import Cells, Load, Setting
from ddlsim.analysis.tune.runs import Runs
from ddlsim.analysis.tune.world import world_of


@pytest.mark.slow
def test_spark_gives_the_rows_of_this_process(spark: Any) -> None:
    cells = Cells(world_of(None, None, 3, None), {}, "iep", Load(0.4, 20), ())
    made = [cells.looks(Setting(100, 50, 10)), cells.skewed(Setting(100, 50, 10), 1.5)]
    with Runs(range(3, 5), jobs=1) as here:
        here.run(made)
    there = Runs(range(3, 5), master="given")
    there._workers.spark = spark
    figures = there.run(made)
    assert there.count == here.count == 4
    assert [row["fingerprint"] for row in there.rows] == [row["fingerprint"] for row in here.rows]
    assert [dict(row["first_wait_us"]["counts"]) for row in figures[0].rows] == [
        dict(row["first_wait_us"]["counts"]) for row in here.rows[:2]
    ]
