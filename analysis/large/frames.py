"""A column history too large for one machine, as Spark frames: transactions, versions, edges.

The same graph as `ddlsim.graph.edges` builds in memory. Operations are partitioned by key; the
writers of a version and of the next one are window functions over a key's versions. A transaction's
`place` is a number that rises with its rank, its number deciding ties: an edge goes back if it
comes from a higher place.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ddlsim.graph.edges import PREDICATE_EDGE, PROCESS, RW, STRICT_ONLY, WR, WW
from ddlsim.graph.history import (
    ABORTED,
    APPEND,
    COMMITTED,
    OF_OPERATIONS,
    OF_TRANSACTIONS,
    PRECEDES,
    PREDICATE,
    UNKNOWN,
    WRITE,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FOREVER: Final = 2**63 - 1
LISTS: Final = tuple(name for name in OF_OPERATIONS if name != "tx")
EDGE: Final = ("block", "first", "second", "source", "target", "kind", "why_tx", "why_pos")
"""`block`, `first` and `second` give the order in which the judge in memory lists edges."""
BUCKETS: Final = 256
"""Into how many stretches of time the search for breaches of real time is cut."""
WRITES: Final = f"kind in ({WRITE}, {APPEND})"


def transactions(spark: "SparkSession", path: str | Path) -> "DataFrame":
    """Every transaction with its operations as lists, its number `tx`, `node`, and `place`.

    The frame is computed once and kept, so that places stay what they are.
    """
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    frame = spark.read.parquet(Path(path).resolve().as_uri())
    wanted = [*OF_TRANSACTIONS, *LISTS]
    frame = frame.select(F.col("_metadata.row_index").alias("tx"), *wanted)
    frame = frame.withColumn("ops", F.expr(f"arrays_zip({', '.join(LISTS)})")).drop(*LISTS)
    installs = F.expr(f"exists(ops, op -> op.{WRITES} and op.version >= 0)")
    node = (F.col("status") == COMMITTED) | ((F.col("status") == UNKNOWN) & installs)
    stamp = F.expr("if(commit_ts >= 0, commit_ts, read_ts)")
    frame = frame.withColumn("node", node).withColumn("stamp", stamp)
    stamped = frame.where((F.col("status") == COMMITTED) & (F.col("stamp") < 0)).isEmpty()
    late = F.when(F.col("end") >= 0, F.col("end")).otherwise(F.lit(FOREVER // 4))
    rank = F.col("stamp") if stamped else late
    ranked = frame.withColumn("rank", rank * 2 + (~F.col("ddl")).cast("long"))
    ordered = ranked.orderBy("rank", "tx").drop("stamp", "rank")
    return ordered.withColumn("place", F.monotonically_increasing_id()).localCheckpoint()


def operations(txs: "DataFrame") -> "DataFrame":
    """Every operation with what counts of its transaction, and its place `pos` there."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    whose = ("tx", "place", "status", "node")
    exploded = txs.select(*whose, F.posexplode("ops").alias("pos", "op")).select(
        *whose, "pos", "op.*"
    )
    return exploded.withColumn("write", F.expr(WRITES))


def versions(ops: "DataFrame") -> "DataFrame":
    """Every operation that tells a version, with the writers of that version and of the next.

    `writer` installed the version; `node_writer` is the same where it counts as committed, and
    `next_writer` installed the nearest later version of one that does. `replaced` is a write that
    its transaction followed by another one on the key, whatever that one tells.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    writer = F.struct("tx", "place", "status", "node", "pos")
    own = Window.partitionBy("tx", "key").orderBy(F.col("pos").desc())
    to_come = own.rowsBetween(Window.unboundedPreceding, -1)
    again = F.coalesce(F.sum(F.col("write").cast("int")).over(to_come), F.lit(0)) > 0
    told = ops.withColumn("replaced", F.col("write") & again).where("version >= 0")
    told = told.withColumn("w", F.when(F.col("write"), writer))
    told = told.withColumn("nw", F.when(F.col("write") & F.col("node"), writer))
    key = Window.partitionBy("key")
    same = Window.partitionBy("key", "version")
    later = key.orderBy(F.col("version").desc()).rangeBetween(Window.unboundedPreceding, -1)
    before = key.orderBy("version").rangeBetween(-1, -1)
    return (
        told.withColumn("writer", F.max("w").over(same))
        .withColumn("writers", F.count("w").over(same))
        .withColumn("node_writer", F.max("nw").over(same))
        .withColumn("next_writer", F.last("nw", ignorenulls=True).over(later))
        .withColumn("writer_before", F.max("w").over(before))
        .drop("w", "nw")
    )


# --- edges ----------------------------------------------------------------------------------------


def edges(txs: "DataFrame", told: "DataFrame", *, strict: bool, process: bool) -> "DataFrame":
    """Every edge between two different transactions, with their places and what shows it."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    lit = F.lit
    reads = told.where(f"not write and status = {COMMITTED}")
    marks = F.when(F.col("kind") == PREDICATE, lit(PREDICATE_EDGE)).otherwise(lit(0))
    own = F.struct("tx", "place")
    only = F.when(F.col("strict_only"), lit(STRICT_ONLY)).otherwise(lit(0))
    written = told.where("write and node")
    anti = reads if strict else reads.where("not strict_only")
    seen = reads.where(f"kind != {PRECEDES}")
    blocks = [
        _block(written, 0, "key", "version", own, F.col("next_writer"), lit(WW)),
        _block(seen, 1, "tx", "pos", F.col("node_writer"), own, lit(WR) + marks),
        _block(anti, 2, "tx", "pos", own, F.col("next_writer"), lit(RW) + marks + only),
    ]
    if process:
        blocks.append(_process(txs))
    return _union(blocks).where("source.tx != target.tx")


def _block(
    frame: "DataFrame",
    number: int,
    first: str,
    second: str,
    source: "Column",
    target: "Column",
    kind: "Column",
) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    ends = [F.struct(f"{name}.tx", f"{name}.place").alias(name) for name in ("source", "target")]
    chosen = frame.withColumn("source", source).withColumn("target", target)
    return chosen.where("source is not null and target is not null").select(
        F.lit(number).alias("block"),
        F.col(first).cast("long").alias("first"),
        F.col(second).cast("long").alias("second"),
        *ends,
        kind.cast("int").alias("kind"),
        F.col("tx").alias("why_tx"),
        F.col("pos").cast("long").alias("why_pos"),
    )


def _union(frames: "list[DataFrame]") -> "DataFrame":
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame)
    return whole


def _process(txs: "DataFrame") -> "DataFrame":
    """From each transaction to the next one of its process."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    when = F.expr("if(begin >= 0, begin, end)")
    known = f"process >= 0 and (begin >= 0 or end >= 0) and node and status != {UNKNOWN}"
    own = F.struct("tx", "place")
    order = Window.partitionBy("process").orderBy("when", "tx")
    placed = txs.where(known).withColumn("when", when)
    placed = placed.withColumn("following", F.lead(own).over(order))
    placed = placed.withColumn("pos", F.lit(-1))
    return _block(placed, 3, "process", "when", own, F.col("following"), F.lit(PROCESS))


def back_in_time(txs: "DataFrame") -> "DataFrame":
    """Places (low, high) of those that began after one at a higher place had ended.

    Ends and begins are one series of events in time; the highest place that has ended so far is a
    running maximum, taken in stretches of time, with what the stretches before came to.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    node = txs.where("node")
    ended = node.where(f"end >= 0 and status != {UNKNOWN}").select(
        F.col("end").alias("at"), F.lit(1).alias("what"), F.col("place")
    )
    began = node.where("begin >= 0").select(
        F.col("begin").alias("at"), F.lit(0).alias("what"), F.col("place")
    )
    events = began.unionByName(ended).withColumn("done", F.expr("if(what = 1, place, null)"))
    low, high = events.agg(F.min("at"), F.max("at")).first() or (None, None)
    if low is None:
        return events.select(F.col("place").alias("low"), F.col("place").alias("high"))
    width = max((high - low) // BUCKETS, 1)
    events = events.withColumn("stretch", F.expr(f"(at - {low}L) div {width}L"))
    before = Window.orderBy("stretch").rowsBetween(Window.unboundedPreceding, -1)
    sums = events.groupBy("stretch").agg(F.max("done").alias("most"))
    sums = sums.withColumn("so_far", F.max("most").over(before)).select("stretch", "so_far")
    inside = Window.partitionBy("stretch").orderBy("at", "what")
    running = inside.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    highest = F.greatest(F.max("done").over(running), F.col("so_far"))
    found = events.join(F.broadcast(sums), "stretch").withColumn("high", highest)
    found = found.where("what = 0 and high > place")
    return found.select(F.col("place").alias("low"), "high")


# --- reads that no order explains -----------------------------------------------------------------


def findings(told: "DataFrame") -> "DataFrame":
    """Every finding of `ddlsim.graph.reads` but lost updates: type, transactions, order."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    own = Window.partitionBy("tx", "key").orderBy("pos")
    same = Window.partitionBy("key", "version")
    plain = told.where(f"kind != {PRECEDES}")
    plain = plain.withColumn("found_before", F.lag("version").over(own))
    plain = plain.withColumn("stale", F.max("replaced").over(same))
    mine = F.last(F.expr("if(write, version, null)"), ignorenulls=True)
    so_far = own.rowsBetween(Window.unboundedPreceding, -1)
    plain = plain.withColumn("own_before", mine.over(so_far))
    read = plain.where(f"not write and status = {COMMITTED}")
    updates = plain.where("write and node")
    chosen = [
        _found(read.where("version != found_before"), 0, "internal", F.lit(-1)),
        _found(read.where(f"writer.status = {ABORTED}"), 1, "G1a", F.col("writer.tx")),
        _found(
            updates.where(f"writer_before.status = {ABORTED}"),
            2,
            "dirty-update",
            F.col("writer_before.tx"),
            ("key", "version"),
        ),
        _found(
            read.where(f"stale and writer.tx != tx and writer.status != {ABORTED}"),
            3,
            "G1b",
            F.col("writer.tx"),
        ),
        _found(read.where("version > 0 and writer is null"), 4, "garbage-read", F.lit(-1)),
        _found(read.where("writer.tx = tx and writer.pos > pos"), 5, "future-read", F.lit(-1)),
        _found(
            read.where(f"own_before != version and kind != {PREDICATE}"),
            6,
            "missed-own-write",
            F.lit(-1),
        ),
    ]
    return _union(chosen)


def _found(
    frame: "DataFrame",
    number: int,
    type_: str,
    other: "Column",
    order: tuple[str, str] = ("tx", "pos"),
) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    return frame.select(
        F.lit(number).alias("number"),
        F.lit(type_).alias("type"),
        "tx",
        other.cast("long").alias("other"),
        "key",
        "version",
        F.col(order[0]).cast("long").alias("first"),
        F.col(order[1]).cast("long").alias("second"),
    )
