"""The columnar judge against networkx on the same edges, by its size, and from a file.

Ratios are measured in one process on CPU time, minima of rounds, and printed beside their
aims. `DDLSIM_LARGEST=10000000` measures growth up to that size.
"""

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from ddlsim.graph.certificate import Order, in_real_time, rank_of, spans_of
from ddlsim.graph.edges import Edges, compact, data_edges, joined, process_edges
from ddlsim.graph.history import READ, Array, ColumnHistory
from ddlsim.graph.judge import judge
from ddlsim.graph.models import MODELS
from ddlsim.graph.residue import Span, chain_of
from ddlsim.graph.store import read, write
from ddlsim.graph.verdict import Verdict
from ddlsim.graph.versions import versions_of
from tests.bench.figures import show
from tests.support.column_histories import Shape, history

pytestmark = pytest.mark.bench

CS_MAX = 2_000
"""The skew: that of two hundred transactions."""
LARGEST = int(os.environ.get("DDLSIM_LARGEST", "300000"))


def seconds(doing: Callable[[], object], rounds: int = 3) -> float:
    best = math.inf
    for _ in range(rounds):
        began = time.process_time()
        doing()
        best = min(best, time.process_time() - began)
    return best


def whole_graph(found: ColumnHistory) -> tuple[Edges, Span]:
    """All edges between transactions, without missing ends, and real time."""
    versions = versions_of(found)
    blocks = [*data_edges(found, versions), process_edges(found, versions)]
    edges = joined([compact(block, found.transactions) for block in blocks])
    return edges, Span(*spans_of(found, versions.node))


def by_networkx(n: int, edges: Edges, span: Span) -> int:
    """The components larger than one, real time as a chain of instants."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edges_from(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
    chain = chain_of(span)
    graph.add_edges_from(zip(chain.ended.tolist(), (chain.ended_at + n).tolist(), strict=True))
    graph.add_edges_from((n + at, n + at + 1) for at in range(chain.instants - 1))
    graph.add_edges_from(zip((chain.begun_at + n).tolist(), chain.begun.tolist(), strict=True))
    return sum(len(part) > 1 for part in nx.strongly_connected_components(graph))


@pytest.mark.parametrize("skew", [0, CS_MAX])
def test_the_judge_beats_networkx_on_the_same_edges(skew: int) -> None:
    n = 30_000
    found = history(1, Shape(n, skew=skew))
    edges, span = whole_graph(found)
    order = Order(rank_of(found))
    plain = seconds(lambda: by_networkx(n, edges, span), 1)
    certificate = seconds(
        lambda: (Order(rank_of(found)), order.backward(edges).any(), in_real_time(order, *span)), 9
    )
    judged = seconds(lambda: judge(found), 5)
    assert judge(found).valid is True
    print(
        f"\nskew {skew}: certificate {plain / certificate:.0f} times networkx ({plain:.2f} s), "
        f"whole judge {plain / judged:.0f} times, {n / judged / 1e6:.2f} M transactions/s"
    )
    show("networkx / certificate", plain / certificate, least=200)
    show("networkx / whole judge", plain / judged, least=40)


@pytest.mark.parametrize("skew", [0, CS_MAX])
def test_the_cost_grows_with_the_size(skew: int) -> None:
    sizes = [size for size in (10_000, 100_000, 300_000, 1_000_000, 10_000_000) if size <= LARGEST]
    costs = []
    for size in sizes:
        found = history(2, Shape(size, skew=skew))
        costs.append(seconds(lambda found=found: judge(found)))  # type: ignore[misc] # bound here
        print(f"\nskew {skew}: {size} transactions, {size / costs[-1] / 1e6:.2f} M/s", end="")
    exponent = float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
    print(f", exponent {exponent:.2f}")
    show("exponent", exponent, most=1.35)


JUDGED = [name for name in MODELS if "serializable" in name or "snapshot" in name]


def stale(found: ColumnHistory, reads: Array, back: int) -> ColumnHistory:
    """The history with some reads of versions that are so much older, or the oldest."""
    version = found.version.copy()
    version[reads] = np.maximum(version[reads] - back, 1)
    return replace(found, version=version)


def times_a_valid_one(
    found: ColumnHistory, wrong: ColumnHistory, model: str, rounds: int
) -> tuple[float, Verdict]:
    """How many times as long a history is judged as the valid one it is made of; by turns."""
    valid = invalid = math.inf
    for _ in range(rounds):
        valid = min(valid, seconds(lambda: judge(found, model), 1))
        invalid = min(invalid, seconds(lambda: judge(wrong, model), 1))
    return invalid / valid, judge(wrong, model)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("skew", [0, CS_MAX])
def test_a_history_with_one_bad_read_costs_little_more_than_a_valid_one(
    skew: int, model: str
) -> None:
    """The read of the version before, of a middle one or of the oldest, soon, halfway or late."""
    found = history(3, Shape(100_000, skew=skew))
    reads = np.flatnonzero((found.kind == READ) & (found.version > 5))
    seen = []
    for where in (len(reads) // 50, len(reads) // 2, len(reads) - 1):
        read = reads[where : where + 1]
        version = int(found.version[read[0]])
        for back in (1, version - version // 2, version):
            wrong = stale(found, read, back)
            ratio, verdict = times_a_valid_one(found, wrong, model, 5)
            seen.append(ratio)
            print(f"\n{model}, skew {skew}: {dict(verdict.counts)}, {ratio:.2f}", end="")
            assert verdict.valid is False or MODELS[model].level < 2
    show("one bad read / a valid history", max(seen), most=1.5)


@pytest.mark.parametrize("model", JUDGED)
def test_three_thousand_bad_reads_cost_a_bounded_multiple_of_a_valid_history(model: str) -> None:
    found = history(3, Shape(100_000))
    reads = np.flatnonzero((found.kind == READ) & (found.version > 3))
    some = np.random.default_rng(1).choice(reads, 3_000, replace=False)
    for back in (1, 3):
        ratio, verdict = times_a_valid_one(found, stale(found, some, back), model, 2)
        print(f"\n{model}, {back} versions before: {dict(verdict.counts)}", end="")
        assert verdict.valid is False
        show("3,000 bad reads / a valid history", ratio, most=18)


def test_a_file_is_read_and_judged_fast(tmp_path: Path) -> None:
    n = 200_000
    found = history(4, Shape(n))
    write(tmp_path / "h.parquet", found)
    from_file = seconds(lambda: judge(read(tmp_path / "h.parquet")))
    print(f"\nfrom a file: {n / from_file / 1e3:.0f}k transactions/s")
    show("from a file / in memory", from_file / seconds(lambda: judge(found)), most=12)
