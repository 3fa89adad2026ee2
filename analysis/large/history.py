"""The judge of a column history too large for one machine; its verdict is the in-memory judge's.

Spark builds the graph by key and holds every edge, and real time, against the order of timestamps.
Where all point forward there is no cycle. Otherwise every cycle lies within a *window*: a stretch
of that order which edges that go back span without a gap. Only the windows' transactions and edges
are collected, and searched and explained by `ddlsim.graph` as if they were all. (For snapshot
isolation the judge in memory knows one more certificate; there only its name may differ.)
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

from ddlsim.analysis.large import frames as large_frames
from ddlsim.graph import store
from ddlsim.graph.certificate import spans_of
from ddlsim.graph.cycles import Search, find_cycles, with_other_names
from ddlsim.graph.edges import Edges
from ddlsim.graph.history import (
    ABORTED,
    APPEND,
    COMMITTED,
    DTYPES,
    NONE,
    OF_TRANSACTIONS,
    Array,
    ColumnHistory,
    HistoryError,
    Names,
    is_write,
)
from ddlsim.graph.judge import (
    gap_notes,
    on_cycles,
    order_notes,
    parts_are_sought,
    verdict_of,
    with_fractured,
)
from ddlsim.graph.models import DEFAULT, Model, model_of
from ddlsim.graph.reads import Finding, lost_updates, pairs_of
from ddlsim.graph.verdict import (
    KEPT_OF_A_KIND,
    NOTHING,
    Anomaly,
    Step,
    Verdict,
    counts_of,
    first_of_each,
)
from ddlsim.graph.versions import Versions
from ddlsim.graph.words import Words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BLOCKS: Final = 4


class Windows(NamedTuple):
    """Stretches of places, apart from each other, in ascending order; both ends are inside."""

    low: Array
    high: Array


class Cut(NamedTuple):
    """What lies within the windows: its history, numbered anew, the old numbers, and its edges."""

    history: ColumnHistory
    numbers: Array
    node: Array
    place: Array
    blocks: list[Edges]


def judge(
    spark: "SparkSession", path: str | Path, model: str = DEFAULT, *, strict: bool = False
) -> Verdict:
    """What `ddlsim.graph.judge.judge` says of a stored history, without ever holding all of it.

    Raises `HistoryError` for a file that is no history, `ValueError` for an unknown model.
    """
    wanted = model_of(model)
    names = store.names(Path(path))
    txs = large_frames.transactions(spark, path)
    ops = large_frames.operations(txs)
    told = large_frames.versions(ops).persist()
    try:
        _refuse_twice(told)
        open_ = _open(txs, ops, wanted)
        counts, anomalies = _findings(told, wanted, names)
        edges = large_frames.edges(txs, told, strict=strict, process=wanted.level > 0)
        windows = _windows(txs, edges, wanted)
        if not len(windows.low):
            return verdict_of(wanted, anomalies, counts, "order", (), open_)
        cut = _cut(txs, edges, windows, names)
    finally:
        told.unpersist()
    search = _searched(cut, model)
    if search.certificate == "order":
        return verdict_of(wanted, anomalies, counts, "order", (), open_)
    words = Words(cut.history)
    inside_cycles = on_cycles(search, cut.history.transactions)
    lost = _lost_updates(cut, search, wanted, inside_cycles)
    cycles = with_other_names(search.cycles, cut.history.key)
    if parts_are_sought(wanted, search, cycles):
        readers = inside_cycles if "G-single" in wanted.forbids else None
        lost, left_out = with_fractured(lost, cut.history, cut.node, readers)
        open_ = (*left_out, *open_)
    inside = [words.finding(one) for one in first_of_each(lost)]
    inside += [words.cycle(one) for one in first_of_each(cycles)]
    for type_, count in counts_of([*lost, *cycles]).items():
        counts[type_] = counts.get(type_, 0) + count
    anomalies += [_renumbered(one, cut.numbers) for one in inside]
    return verdict_of(wanted, anomalies, counts, "components", search.notes, open_)


def _refuse_twice(told: "DataFrame") -> None:
    """Two operations that install the same version make no history."""
    twice = told.where("write and writers > 1").orderBy("key", "version", "tx", "pos").take(2)
    if twice:
        one, other = twice
        raise HistoryError(
            f"transactions {one.tx} and {other.tx} both install version {one.version} of key "
            f"{one.key}"
        )


def _open(txs: "DataFrame", ops: "DataFrame", model: Model) -> tuple[str, ...]:
    """What is not known of committed operations, in the words of the judge in memory."""
    said = f"version < 0 and (status = {COMMITTED} or write and node)"
    places = "write and version > 0"
    nodes = f"filter (where status != {ABORTED})"
    keys = large_frames.grouped(
        ops,
        "key",
        f"count_if(status = {COMMITTED}) as committed",
        f"count_if({said} and not write) as reads",
        f"count_if({said} and write and kind != {APPEND}) as writes",
        f"count_if({said} and kind = {APPEND}) as appends",
        f"min(tx) {nodes} != max(tx) {nodes} as several",
        f"max(version) filter (where {places}) - count_if({places}) as gaps",
    )
    open_writes = "writes + if(several, appends, 0)"
    each = ("committed", "reads", open_writes, "gaps")
    totals = [f"coalesce(sum({one}), 0)" for one in each]
    committed, reads, writes, gaps = keys.selectExpr(*totals).collect()[0]
    missing = gap_notes(gaps)
    if not committed:
        return (NOTHING, *missing)
    latest = [f"coalesce(max({name}), {NONE})" for name in ("process", "begin", "end")]
    alike = txs.where(f"status = {COMMITTED} and not ddl").selectExpr("count(tx)", *latest)
    notes = [
        f"of {count} committed {what}s the version is not known: what they would show is open"
        for what, count in (("read", reads), ("write", writes))
        if count
    ]
    return (*order_notes(model, *alike.collect()[0]), *notes, *missing)


# --- reads ----------------------------------------------------------------------------------------


def _findings(
    told: "DataFrame", model: Model, names: Names
) -> tuple[dict[str, int], list[Anomaly]]:
    """How many reads of each type no order explains, and the first of each in words."""
    forbidden = ", ".join(f"'{name}'" for name in sorted(model.forbids))
    found = large_frames.findings(told).where(f"type in ({forbidden})")
    found = found.selectExpr(
        "*",
        "row_number() over (partition by type order by first, second) as place",
        "count(*) over (partition by type) as count",
    )
    kept = found.where(f"place <= {KEPT_OF_A_KIND}").orderBy("number", "place").collect()
    counts = {row.type: row["count"] for row in kept}
    empty = {name: np.zeros(0, dtype) for name, dtype in DTYPES.items()}
    columns = {name: np.array([row[name] for row in kept], int) for name in ("key", "version")}
    words = Words(ColumnHistory(**{**empty, **columns}, names=names))
    return counts, [
        words.finding(Finding(row.type, row.tx, row.other, op)) for op, row in enumerate(kept)
    ]


def _lost_updates(cut: Cut, search: Search, model: Model, inside: Array) -> list[Finding]:
    """Updates that were lost among transactions on cycles."""
    if not search.components or "lost-update" not in model.forbids:
        return []
    history = cut.history
    pairs = np.stack([history.key, history.version], axis=1)
    slot = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    slot = np.where(history.version < 0, -1, slot)
    none = np.zeros(0, np.int64)
    write = is_write(history.kind)
    versions = Versions(none, slot, write, none, none, none, none, cut.node)
    return lost_updates(history, versions, pairs_of(history), inside)


# --- windows --------------------------------------------------------------------------------------


def _windows(txs: "DataFrame", edges: "DataFrame", model: Model) -> Windows:
    """The stretches that edges, or real time, go back over."""
    back = edges.where("source.place > target.place")
    back = back.selectExpr("target.place as low", "source.place as high")
    if model.level > 1:
        back = back.unionByName(large_frames.back_in_time(txs))
    found = back.groupBy("low").agg({"high": "max"}).toDF("low", "high").toArrow()
    return merged(*(found[name].to_numpy() for name in ("low", "high")))


def merged(low: Array, high: Array) -> Windows:
    """Intervals that share a place, as one."""
    if not len(low):
        return Windows(low, high)
    order = np.argsort(low, kind="stable")
    low, reach = low[order], np.maximum.accumulate(high[order])
    begins = np.append(True, low[1:] > reach[:-1])
    ends = np.append(begins[1:], True)
    return Windows(low[begins], reach[ends])


def _cut(txs: "DataFrame", edges: "DataFrame", windows: Windows, names: Names) -> Cut:
    """Collect what lies within the windows, an edge if both of its ends lie in the same one."""

    def inside(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            window = number(windows, batch["place"].to_numpy())
            yield batch.filter(pa.array(window >= 0))

    def together(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            source, target = (
                number(windows, batch[name].to_numpy()) for name in ("source_place", "target_place")
            )
            yield batch.filter(pa.array((source >= 0) & (source == target)))

    lists = [f"ops.{name} as {name}" for name in large_frames.LISTS]
    kept = txs.selectExpr(*OF_TRANSACTIONS, "tx", "node", "place", *lists)
    ends = [f"{e}.{n} as {e}_{n}" for e in ("source", "target") for n in ("tx", "place")]
    flat = edges.selectExpr("block", "first", "second", "kind", "why_tx", "why_pos", *ends)
    rows = kept.mapInArrow(inside, kept.schema).toArrow().sort_by("tx")
    links = flat.mapInArrow(together, flat.schema).toArrow()
    order = [(name, "ascending") for name in ("block", "first", "second")]
    return _numbered(rows, links.sort_by(order), names)


def number(windows: Windows, place: Array) -> Array:
    """The number of the window that each place lies in, -1 for none."""
    at = np.searchsorted(windows.low, place, side="right") - 1
    return np.where((at >= 0) & (place <= windows.high[at]), at, -1)


def _numbered(rows: Any, links: Any, names: Names) -> Cut:
    """The same with transactions numbered from 0, and operations from 0."""
    columns = {name: rows[name].to_numpy().astype(DTYPES[name]) for name in OF_TRANSACTIONS}
    numbers = rows["tx"].to_numpy()
    lists = {name: rows[name].combine_chunks() for name in large_frames.LISTS}
    lengths = np.diff(lists["key"].offsets.to_numpy())
    for name, column in lists.items():
        columns[name] = column.flatten().to_numpy(zero_copy_only=False).astype(DTYPES[name])
    columns["tx"] = np.repeat(np.arange(len(numbers), dtype=np.int32), lengths)
    called = [names.transaction(int(each)) for each in numbers]
    history = ColumnHistory(**columns, names=Names(called, names.keys))
    first_op = np.append(0, np.cumsum(lengths))

    def local(name: str) -> Array:
        found: Array = np.searchsorted(numbers, links[name].to_numpy()).astype(np.int32)
        return found

    why = first_op[local("why_tx")] + links["why_pos"].to_numpy()
    why = np.where(links["why_pos"].to_numpy() < 0, -1, why).astype(np.int32)
    every = Edges(
        local("source_tx"), local("target_tx"), links["kind"].to_numpy().astype(np.uint16), why
    )
    block = links["block"].to_numpy()
    blocks = [every.take(block == at) for at in range(BLOCKS)]
    node = rows["node"].to_numpy(zero_copy_only=False).astype(np.bool_)
    return Cut(history, numbers, node, rows["place"].to_numpy(), blocks)


def _searched(cut: Cut, model: str) -> Search:
    """The cycles within the windows."""
    begin, end = spans_of(cut.history, cut.node)
    return find_cycles(
        cut.history.transactions,
        cut.blocks,
        begin,
        end,
        rank=cut.place,
        ddl=cut.history.ddl,
        model=model,
    )


def _renumbered(found: Anomaly, numbers: Array) -> Anomaly:
    """An anomaly with the transactions' own numbers."""
    steps = tuple(
        Step(int(numbers[one.source]), int(numbers[one.target]), one.edge, one.because)
        for one in found.steps
    )
    return replace(found, txns=tuple(int(numbers[tx]) for tx in found.txns), steps=steps)
