"""One session for all tests of Spark, tuned to start quickly; begun when the first test asks."""

from collections.abc import Iterator
from typing import Any

import pytest

from analysis import spark as sessions

CORES = 2


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on two cores."""
    settings = {**sessions.QUICK, "spark.sql.shuffle.partitions": "2"}
    with sessions.session(f"local[{CORES}]", name="tests", settings=settings) as session:
        yield session
