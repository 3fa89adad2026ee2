"""The figures of a run, or of several, as two small tables."""

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table

from ddlsim.cli.views.words import labelled
from ddlsim.history.figures import Durations, Figures


def show(taken: Figures, to: Console) -> None:
    """Two small tables, and a line for what does not fit into them."""
    counts = _table("transactions", "attempts", "committed", "aborted", "unknown", "schema aborts")
    counts.add_row(
        "",
        f"{taken.attempts:,}",
        f"{taken.committed:,}",
        f"{sum(taken.aborted.values()):,}",
        f"{taken.unknown:,}",
        f"{100 * taken.schema_abort_rate:.2f} %",
    )
    to.print(counts)
    if taken.aborted:
        by_count = sorted(taken.aborted.items(), key=lambda item: (-item[1], item[0]))
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in by_count)
        labelled("aborted for", reasons, to)
    if taken.needless_aborts:
        causes = ", ".join(f"{cause} {n:,}" for cause, n in taken.needless_aborts.items())
        labelled("needlessly", causes, to)
    to.print()
    spans = _table("milliseconds", "count", "above 0", "mean", "p50", "p99", "max")
    for name, span in (
        ("DDL latency", taken.ddl_latency_ms),
        *[("DDL, no-ops", taken.ddl_noop_latency_ms)] * bool(taken.ddl_noop_latency_ms.count),
        ("DML latency", taken.dml_latency_ms),
        ("schema wait", taken.schema_wait_ms),
    ):
        spans.add_row(name, *_cells(span))
    to.print(spans)
    if taken.after_heal_ms is not None:
        labelled("after healing", f"all had ended within {short(taken.after_heal_ms)} ms", to)
    if taken.blocked_behind:
        labelled(
            "blocked", f"{taken.blocked_behind:,} times behind a transaction with a faulty node", to
        )
    labelled("simulated", f"{taken.simulated_ms:,.0f} ms, {taken.events:,} events", to)


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
    table.add_column(first, width=13)
    for name in others:
        table.add_column(name, justify="right", min_width=8)
    return table


def _cells(span: Durations) -> Iterable[str]:
    yield f"{span.count:,}"
    yield f"{span.waited:,}"
    for value in (span.mean, span.p50, span.p99, span.max):
        yield "-" if value is None else short(value)


def short(value: float) -> str:
    """A number with as many digits as it needs to be compared with its neighbours."""
    return f"{value:,.{2 if value < 100 else 1 if value < 1000 else 0}f}"
