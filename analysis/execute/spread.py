"""A function applied to many things on Spark, one task each, the results in their order."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")

TASKS_MOST: Final = 4_096
"""More tasks than that would cost more than they spread."""


def spread(spark: "SparkSession", function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """What the function makes of each item; it is sent to the workers by its name."""
    if not items:
        return []
    sent = [pickle.dumps(item) for item in items]

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for place in batch["id"].to_pylist():
                result = pickle.dumps(function(pickle.loads(sent[place])))
                columns = [pa.array([place], pa.int64()), pa.array([result], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, names=["id", "result"])

    frame = spark.range(len(items), numPartitions=min(len(items), TASKS_MOST))
    found = frame.mapInArrow(task, "id long, result binary").toArrow().sort_by("id")
    return [pickle.loads(result) for result in found["result"].to_pylist()]
