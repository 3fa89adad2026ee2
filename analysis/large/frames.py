"""A column history too large for one machine, as Spark frames: transactions, versions, edges.

The same graph as `ddlsim.graph.edges` builds in memory. Operations are partitioned by key; the
writers of a version and of the next one are window functions over a key's versions. A transaction's
`place` is a number that rises with its rank, its number deciding ties: an edge goes back if it
comes from a higher place.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

from ddlsim.graph.edges import PREDICATE_EDGE, PROCESS, RW, STRICT_ONLY, WR, WW, after_ends
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
    from pyspark.sql import DataFrame, SparkSession

FOREVER: Final = 2**63 - 1
LISTS: Final = tuple(name for name in OF_OPERATIONS if name != "tx")
BUCKETS: Final = 256
"""Into how many stretches of time the search for breaches of real time is cut."""
WRITES: Final = f"kind in ({WRITE}, {APPEND})"
READ: Final = f"not write and status = {COMMITTED}"


def transactions(spark: "SparkSession", path: str | Path) -> "DataFrame":
    """Every transaction with its operations as lists, its number `tx`, `node`, and `place`.

    The frame is computed once and kept, so that places stay what they are.
    """
    frame = spark.read.parquet(Path(path).resolve().as_uri())
    number, ops = "_metadata.row_index as tx", f"arrays_zip({', '.join(LISTS)}) as ops"
    frame = frame.selectExpr(number, *OF_TRANSACTIONS, ops)
    installs = f"exists(ops, op -> op.{WRITES} and op.version >= 0)"
    node = f"status = {COMMITTED} or status = {UNKNOWN} and {installs} as node"
    frame = frame.selectExpr("*", node, "if(commit_ts >= 0, commit_ts, read_ts) as stamp")
    stamped = frame.where(f"status = {COMMITTED} and stamp < 0").isEmpty()
    last = f"{FOREVER // 4}L"
    at = "stamp" if stamped else f"if(end >= 0, least(end, {last}), {last})"
    ranked = frame.selectExpr("* except (stamp)", f"{at} as rank", "not ddl as later")
    ordered = ranked.orderBy("rank", "later", "tx")
    return ordered.selectExpr(
        "* except (rank, later)", "monotonically_increasing_id() as place"
    ).localCheckpoint()


def operations(txs: "DataFrame") -> "DataFrame":
    """Every operation with what counts of its transaction, and its place `pos` there."""
    whose = ("tx", "place", "status", "node")
    exploded = txs.selectExpr(*whose, "posexplode(ops) as (pos, op)")
    return exploded.selectExpr(*whose, "pos", "op.*", f"op.{WRITES} as write")


def versions(ops: "DataFrame") -> "DataFrame":
    """Every operation that tells a version, with the writers of that version and of the next.

    `writer` installed the version; `node_writer` is the same where it counts as committed, and
    `next_writer` installed the nearest later version of one that does. `replaced` is a write that
    its transaction followed by another one on the key, whatever that one tells.
    """
    to_come = (
        "over (partition by tx, key order by pos desc"
        " rows between unbounded preceding and 1 preceding)"
    )
    replaced = f"write and coalesce(bool_or(write) {to_come}, false) as replaced"
    writer = "struct(tx, place, status, node, pos)"
    told = ops.selectExpr("*", replaced).where("version >= 0")
    told = told.selectExpr(
        "*", f"if(write, {writer}, null) as w", f"if(write and node, {writer}, null) as nw"
    )
    same = "over (partition by key, version)"
    later = (
        "over (partition by key order by version desc"
        " range between unbounded preceding and 1 preceding)"
    )
    before = "over (partition by key order by version range between 1 preceding and 1 preceding)"
    return told.selectExpr(
        "* except (w, nw)",
        f"max(w) {same} as writer",
        f"count(w) {same} as writers",
        f"max(nw) {same} as node_writer",
        f"last(nw, true) {later} as next_writer",
        f"max(w) {before} as writer_before",
    )


def grouped(frame: "DataFrame", key: str, *figures: str) -> "DataFrame":
    """The key and these aggregates of it, a row for each key."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    return frame.groupBy(key).agg(*(F.expr(figure) for figure in figures))


def _each(frame: "DataFrame", *rows: str) -> "DataFrame":
    """A row for each of these structures that is not null, for each row of the frame.

    One pass: a union of a frame with itself would compute it once for each part.
    """
    return frame.selectExpr(f"inline(array_compact(array({', '.join(rows)})))")


# --- edges ----------------------------------------------------------------------------------------


def edges(txs: "DataFrame", told: "DataFrame", *, strict: bool, process: bool) -> "DataFrame":
    """Every edge between two different transactions, with their places and what shows it."""
    marks = f"if(kind = {PREDICATE}, {PREDICATE_EDGE}, 0)"
    anti = READ if strict else f"{READ} and not strict_only"
    only = f"if(strict_only, {STRICT_ONLY}, 0)"
    own = told.selectExpr("*", "struct(tx, place) as own")
    version, turn = ("key", "version"), ("tx", "pos")
    found = _each(
        own,
        _edge("write and node", 0, version, "own", "next_writer", f"{WW}"),
        _edge(f"{READ} and kind != {PRECEDES}", 1, turn, "node_writer", "own", f"{WR} + {marks}"),
        _edge(anti, 2, turn, "own", "next_writer", f"{RW} + {marks} + {only}"),
    )
    return found.unionByName(_process(txs)) if process else found


def _edge(
    where: str, block: int, order: tuple[str, str], source: str, target: str, kind: str
) -> str:
    """An edge from one transaction to another; null where there is none.

    `block`, `first` and `second` give the order in which the judge in memory lists edges.
    """
    first, second = order
    return f"""if({where} and {source}.tx != {target}.tx, named_struct(
        'block', {block}, 'first', cast({first} as long), 'second', cast({second} as long),
        'source', named_struct('tx', {source}.tx, 'place', {source}.place),
        'target', named_struct('tx', {target}.tx, 'place', {target}.place),
        'kind', cast({kind} as int), 'why_tx', tx, 'why_pos', cast(pos as long)
    ), null)"""


_ENDS: Final = ("struct(tx, place) as earlier", "struct(next as tx, next_place as place) as later")


def _process(txs: "DataFrame") -> "DataFrame":
    """From each transaction to those of its process that follow it, as `process_edges` has them.

    A process that does several things at once is taken as a whole; the others by a window function.
    """
    known = "process >= 0 and (begin >= 0 or end >= 0) and node"
    at, ended = "if(begin >= 0, begin, end) as at", f"status != {UNKNOWN} as ended"
    placed = txs.where(known).selectExpr("*", "-1 as pos", at, ended)
    until = f"if(ended, greatest(end, at), {FOREVER}L) as until"
    turn = "row_number() over (partition by process order by at, tx) as turn"
    placed = placed.selectExpr("*", "struct(tx, place) as own", until, turn)
    earlier = (
        "over (partition by process order by turn rows between unbounded preceding and 1 preceding)"
    )
    before = "if(ended, struct(tx, place, until), null)"
    placed = placed.selectExpr("*", f"last({before}, true) {earlier} as before")
    crossed = "bool_or(coalesce(before.until > at, false)) over (partition by process) as several"
    placed = placed.selectExpr("*", crossed)
    at_once = placed.where("several").select("process", "turn", "tx", "place", "at", "until")
    pairs = at_once.groupBy("process").applyInArrow(
        _after_ends, "process long, turn int, tx long, place long, next long, next_place long"
    )
    pairs = pairs.selectExpr("*", "-1 as pos", *_ENDS)
    in_turn = _edge("not several", 3, ("process", "turn"), "before", "own", f"{PROCESS}")
    behind = f"process + {2**32}"
    after = _edge("true", 3, (behind, "turn"), "earlier", "later", f"{PROCESS}")
    return _each(placed, in_turn).unionByName(_each(pairs, after))


def _after_ends(rows: Any) -> Any:
    """Of one process: each transaction with those that began when it had ended, none between."""
    rows = rows.sort_by("turn")
    numbers = np.arange(rows.num_rows)
    process, begin, until = (rows[name].to_numpy() for name in ("process", "at", "until"))
    first, then = after_ends(numbers, process, begin, until)
    found = rows.take(first).select(["process", "turn", "tx", "place"])
    found = found.set_column(0, "process", found["process"].cast(pa.int64()))
    found = found.set_column(1, "turn", pa.array(np.arange(len(first), dtype=np.int32)))
    following = rows.take(then)
    found = found.append_column("next", following["tx"])
    return found.append_column("next_place", following["place"])


def back_in_time(txs: "DataFrame") -> "DataFrame":
    """Places (low, high) of those that began after one at a higher place had ended.

    Ends and begins are one series of events in time; the highest place that has ended so far is a
    running maximum, taken in stretches of time, with what the stretches before came to.
    """
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    ended = f"if(end >= 0 and status != {UNKNOWN}, struct(end as at, 1 as what, place), null)"
    began = "if(begin >= 0, struct(begin as at, 0 as what, place), null)"
    events = _each(txs.where("node"), began, ended)
    low, high = events.selectExpr("min(at)", "max(at)").first() or (None, None)
    if low is None:
        return events.selectExpr("place as low", "place as high")
    width = max((high - low) // BUCKETS, 1)
    events = events.selectExpr(
        "*", "if(what = 1, place, null) as done", f"(at - {low}L) div {width}L as stretch"
    )
    sums = grouped(events, "stretch", "max(done) as most")
    before = "over (order by stretch rows between unbounded preceding and 1 preceding)"
    sums = sums.selectExpr("stretch", f"max(most) {before} as so_far")
    inside = (
        "over (partition by stretch order by at, what"
        " rows between unbounded preceding and current row)"
    )
    found = events.join(F.broadcast(sums), "stretch")
    found = found.selectExpr("*", f"greatest(max(done) {inside}, so_far) as high")
    return found.where("what = 0 and high > place").selectExpr("place as low", "high")


# --- reads that no order explains -----------------------------------------------------------------


def findings(told: "DataFrame") -> "DataFrame":
    """Every finding of `ddlsim.graph.reads` but lost updates: type, transactions, order."""
    own = (
        "over (partition by tx, key order by pos rows between unbounded preceding and 1 preceding)"
    )
    certain = f"kind != {PREDICATE}"
    plain = told.where(f"kind != {PRECEDES}").selectExpr(
        "*",
        f"last(if({certain}, version, null), true) {own} as found_before",
        f"last(if(write, version, null), true) {own} as own_before",
        "max(replaced) over (partition by key, version) as stale",
    )
    dirty = f"write and node and writer_before.status = {ABORTED}"
    stale = f"{READ} and stale and writer.tx != tx and writer.status != {ABORTED}"
    changed = f"{READ} and {certain} and found_before != version"
    missed = f"{READ} and own_before != version"
    turned = f"write and status != {ABORTED} and own_before > version"
    return _each(
        plain,
        _found(changed, 0, "internal", "-1"),
        _found(f"{READ} and writer.status = {ABORTED}", 1, "G1a", "writer.tx"),
        _found(dirty, 2, "dirty-update", "writer_before.tx", ("key", "version")),
        _found(stale, 3, "G1b", "writer.tx"),
        _found(turned, 4, "incompatible-order", "-1"),
        _found(f"{READ} and version > 0 and writer is null", 5, "garbage-read", "-1"),
        _found(f"{READ} and writer.tx = tx and writer.pos > pos", 6, "future-read", "-1"),
        _found(missed, 7, "missed-own-write", "-1"),
    )


def _found(
    where: str, number: int, type_: str, other: str, order: tuple[str, str] = ("tx", "pos")
) -> str:
    """A finding at an operation; null where there is none."""
    first, second = order
    return f"""if({where}, named_struct(
        'number', {number}, 'type', '{type_}', 'tx', tx, 'other', cast({other} as long),
        'key', key, 'version', version,
        'first', cast({first} as long), 'second', cast({second} as long)
    ), null)"""
