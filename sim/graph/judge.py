"""The judge of histories held as columns: reads one by one, then the order, then the residue.

A clean history costs a few passes over its columns. Reads that no order explains are found by
comparing columns; then the graph's edges are held against the order of timestamps (or, for snapshot
isolation, against read and commit timestamps); only where that fails are components sought, and
only inside those, cycles.
"""

import numpy as np

from ddlsim.graph.certificate import (
    Order,
    in_real_time,
    rank_of,
    reads_fail,
    snapshots_hold,
    spans_of,
)
from ddlsim.graph.cycles import Cycle, Search, find_cycles, with_other_names
from ddlsim.graph.edges import Edges, data_edges, process_edges
from ddlsim.graph.history import (
    ABORTED,
    APPEND,
    COMMITTED,
    NONE,
    Array,
    ColumnHistory,
    check,
    is_write,
)
from ddlsim.graph.models import DEFAULT, Model, model_of, ruled_out
from ddlsim.graph.names import split
from ddlsim.graph.reads import Finding, dirty, fractured_reads, lost_updates, pairs_of, suspects
from ddlsim.graph.residue import Span
from ddlsim.graph.verdict import NOTHING, Anomaly, Verdict, counts_of, first_of_each
from ddlsim.graph.versions import Versions, missing, versions_of
from ddlsim.graph.words import Words


def judge(history: ColumnHistory, model: str = DEFAULT, *, strict: bool = False) -> Verdict:
    """Whether a history keeps to a model, and if not, what shows it.

    `strict` judges the graph with those anti-dependencies too that are marked `strict_only`. Raises
    `HistoryError` for columns that make no history, `ValueError` for an unknown model.
    """
    wanted = model_of(model)
    check(history)
    versions = versions_of(history)
    pairs = pairs_of(history)
    findings = [one for one in dirty(history, versions, pairs) if one.type in wanted.forbids]
    blocks = data_edges(history, versions, strict=strict)
    data = len(blocks)
    if wanted.level:
        blocks.append(process_edges(history, versions))
    order = Order(rank_of(history))
    span = Span(*spans_of(history, versions.node))
    back = [block.take(order.backward(block)) for block in blocks]
    search = _search(history, versions, (blocks, back), wanted, order, span)
    words = Words(history)
    left_out: tuple[str, ...] = ()
    inside = on_cycles(search, history.transactions)
    if search.components and "lost-update" in wanted.forbids:
        findings += lost_updates(history, versions, pairs, inside)
    cycles = with_other_names(search.cycles, history.key)
    if parts_are_sought(wanted, search, cycles):
        readers = suspects(history, versions, back[:data])
        if "G-single" in wanted.forbids:
            readers = inside if readers is None else inside & readers
        findings, left_out = with_fractured(findings, history, versions.node, readers)
    anomalies = [words.finding(one) for one in first_of_each(findings)]
    anomalies += [words.cycle(one) for one in first_of_each(cycles)]
    return verdict_of(
        wanted,
        anomalies,
        counts_of([*findings, *cycles]),
        search.certificate,
        search.notes,
        (*left_out, *_open(history, wanted), *gap_notes(missing(versions))),
    )


def with_fractured(
    findings: list[Finding], history: ColumnHistory, node: Array | None, readers: Array | None
) -> tuple[list[Finding], tuple[str, ...]]:
    """With fractured reads, and what of them was left open. `readers` as of `fractured_reads`."""
    found = fractured_reads(history, node, readers)
    if found is None:
        said = "transactions have too many keys: not all they saw of each other was compared"
        return findings, (said,)
    return findings + found, ()


def parts_are_sought(model: Model, search: Search, cycles: list[Cycle]) -> bool:
    """Whether fractured reads are looked for, beside the cycles, of which one may be called so.

    From snapshot isolation upwards each lies on a cycle: without any there is none, but of each
    type only the lightest are shown, and `not` must name the models that another one breaks.
    """
    if "fractured-read" not in model.forbids or search.certificate != "components":
        return False
    if "G-single" not in model.forbids:
        return True
    return bool(cycles) and all(split(one.type) != ("fractured-read", 0) for one in cycles)


def on_cycles(search: Search, transactions: int) -> Array:
    """Which transactions are in a component."""
    inside = np.zeros(transactions, np.bool_)
    if any(len(nodes) == transactions for nodes in search.components):
        inside[:] = True
    elif search.components:
        inside[np.concatenate(search.components)] = True
    return inside


def _search(
    history: ColumnHistory,
    versions: Versions,
    edges: tuple[list[Edges], list[Edges]],
    model: Model,
    order: Order,
    span: Span,
) -> Search:
    """The cycles, if nothing shows at once that there are none.

    `edges` are all, and those of them that go back in the order.
    """
    blocks, back = edges
    if not any(map(len, back)) and (model.level < 2 or in_real_time(order, *span)):
        return Search((), (), certificate="order")
    snapshots = "G2-item" not in model.forbids and model.level == 0
    # edges that go back are the first to fail
    if snapshots and not reads_fail(history, back) and snapshots_hold(history, versions, blocks):
        return Search((), (), certificate="snapshots")
    return find_cycles(
        history.transactions, blocks, *span, rank=order, ddl=history.ddl, model=model.name
    )


def verdict_of(
    model: Model,
    anomalies: list[Anomaly],
    counts: dict[str, int],
    certificate: str,
    notes: tuple[str, ...],
    open_: tuple[str, ...],
) -> Verdict:
    """The verdict on what was found and counted; `open_` says what may hide more."""
    valid = not any(model.forbids_type(type_) for type_ in counts)
    return Verdict(
        model.name,
        "unknown" if valid and open_ else valid,
        tuple(anomalies),
        tuple(counts.items()),
        ruled_out(counts),
        certificate if valid and not open_ else "",
        (*notes, *open_),
    )


def _open(history: ColumnHistory, model: Model) -> tuple[str, ...]:
    """What is not known of committed reads and writes, and could hide an anomaly; or that none is.
    Before it, whether the order that a model asks for beside the data's is unknown throughout.

    An append that no list shows comes after all that was read, and after all that lists show. Where
    no other transaction works on its key it hides nothing. One that is unknown counts as committed
    as soon as one of its writes has a place: then those of its writes without one leave as much
    open.
    """
    committed = (history.status == COMMITTED)[history.tx]
    if not committed.any():
        return (NOTHING,)
    unordered: tuple[str, ...] = ()
    if model.level:
        chosen = (history.status == COMMITTED) & ~history.ddl
        columns = (history.process, history.begin, history.end)
        latest = [int(column[chosen].max(initial=NONE)) for column in columns]
        unordered = order_notes(model, int(chosen.sum()), *latest)
    unplaced = history.version < 0
    if not unplaced.any():
        return unordered
    said, write = unplaced & committed, is_write(history.kind)
    if (unplaced & write & ~committed).any():
        counts = np.zeros(history.transactions, np.bool_)
        counts[history.tx[write & ~unplaced]] = True
        counts &= history.status != ABORTED
        said |= unplaced & write & counts[history.tx]
    appends = np.flatnonzero(said & (history.kind == APPEND))
    if len(appends):
        said[appends] = _of_several(history)[history.key[appends]]
    if not said.any():
        return unordered
    written = is_write(history.kind[said])
    found = {"read": int((~written).sum()), "write": int(written.sum())}
    return unordered + tuple(
        f"of {count} committed {what}s the version is not known: what they would show is open"
        for what, count in found.items()
        if count
    )


def order_notes(model: Model, count: int, process: int, begin: int, end: int) -> tuple[str, ...]:
    """What is said of committed transactions, DDLs apart, that have no process, or no instants.

    The numbers are the largest of all of them, -1 where none is known.
    """
    if count > 1 and model.level == 1 and process < 0:
        return ("no transaction has a process: what was done before what is not known",)
    if count > 1 and model.level > 1 and (begin < 0 or end < 0):
        return ("no transaction has a begin and an end: what came before what is not known",)
    return ()


def _of_several(history: ColumnHistory) -> Array:
    """The keys that several transactions work on; what was aborted does not count."""
    ops = np.flatnonzero((history.status != ABORTED)[history.tx])
    first = np.full(history.keys, history.transactions)
    last = np.full(history.keys, NONE)
    np.minimum.at(first, history.key[ops], history.tx[ops])
    np.maximum.at(last, history.key[ops], history.tx[ops])
    found: Array = first < last
    return found


def gap_notes(count: int) -> tuple[str, ...]:
    """What is said of versions that are missing; their writes could show an anomaly."""
    if not count:
        return ()
    said = f"{count:,} versions that have later ones were not written"
    return (f"{said}, though versions have no gaps: what they would show is open",)
