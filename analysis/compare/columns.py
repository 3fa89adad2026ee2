"""The columns of the table: their heads, units, and what exactly each is measured on."""

from typing import Final, NamedTuple

from ddlsim.analysis.compare.records import Line, Value
from ddlsim.verify.prices import FROZEN_MS


class Column(NamedTuple):
    """A number of a `Line`: `key` is its field, `head` and `unit` stand above it, or, where there
    is little room, the two lines of `narrow`.

    A value is shown times `scale`.
    """

    key: str
    head: str
    unit: str
    said: str
    narrow: tuple[str, str]
    scale: float = 1.0

    def of(self, line: Line) -> Value:
        """The value of a design."""
        value = getattr(line, self.key)
        assert isinstance(value, Value), self.key
        return value

    def shown(self, line: Line) -> str:
        """The number with as many digits as it needs beside its neighbours; `-` for none."""
        return self.figure(self.of(line).value)

    def interval(self, line: Line) -> str:
        """Both ends of the interval, the upper one perhaps open; empty where there is none."""
        value = self.of(line)
        if value.low is None and value.high is None:
            return ""
        most = OPEN if value.high is None else self.figure(value.high)
        return f"{self.figure(value.low)} to {most}"

    def by_formula(self, line: Line) -> str:
        """The least and the most of the closed form, marked where the number is outside; `-`: the
        design has none."""
        form = line.formulas.get(self.key)
        if form is None:
            return "-"
        ends = dict.fromkeys(short(one * self.scale) for one in (form.low, form.high))
        return "-".join(ends) + OUTSIDE * (form.agrees is False)

    def figure(self, value: float | None) -> str:
        """One number of this column."""
        return "-" if value is None else brief(value * self.scale)


def brief(number: float) -> str:
    """At least three significant digits, and no exponent."""
    for digits in (2, 1):
        if abs(number) < 10 ** (4 - digits):
            return f"{number:.{digits}f}"
    return f"{number:,.0f}"


def short(number: float) -> str:
    """Two significant digits at least, and no exponent; for the ends of a closed form."""
    size = abs(number)
    return (
        f"{number:.2f}" if 0 < size < 1 else f"{number:.1f}" if 0 < size < 10 else f"{number:.0f}"
    )


ADDED: Final = (
    "of each data operation and commit that succeeded: the part of the time from its invocation to "
    "its success in which a node waited for complete metadata on its behalf or read the schema, or "
    "in which a request of it that had to be sent again under another schema version was on its "
    "way, or the answer that said so; zeros count. Time lost with an aborted transaction is in the "
    "schema aborts"
)
DML: Final = "from the invocation of a data operation or commit to its success, everything included"
DDL: Final = "from the invocation of a statement that changed the schema to its success"
MET: Final = (
    Column("changes_met", "changes met", "per run",
           "schema changes that came into force under load: of which a committed transaction used "
           "what they made, or an operation did not find what they dropped",
           ("met", "a run")),
)  # fmt: skip
LATENCIES: Final = (
    Column("dml_added_p50", "DML added p50", "ms", ADDED, ("added", "p50 ms")),
    Column("dml_added_p99", "DML added p99", "ms", ADDED, ("added", "p99 ms")),
    Column("dml_p50", "DML p50", "ms", DML, ("DML", "p50 ms")),
    Column("dml_p99", "DML p99", "ms", DML, ("DML", "p99 ms")),
    Column("ddl_p50", "DDL p50", "ms", DDL, ("DDL", "p50 ms")),
    Column("ddl_p99", "DDL p99", "ms", DDL, ("DDL", "p99 ms")),
)
COSTS: Final = (
    Column("schema_aborts", "schema aborts", "%",
           "attempts at transactions that were aborted for a schema reason",
           ("schema", "abort %"), 100),
    Column("refused", "refused", "%",
           "data operations and commits that failed since metadata was not complete in time",
           ("refused", "%"), 100),
    Column("frozen", "frozen", "%",
           f"data operations and commits that waited {FROZEN_MS} ms or more for metadata",
           ("frozen", "%"), 100),
    Column("reads_per_transaction", "reads per tx", "",
           "schemas that readers got over the network, for each committed transaction",
           ("reads", "per tx")),
    Column("reads_per_ddl", "reads per DDL", "",
           "the same, for each statement that changed the schema", ("reads", "per DDL")),
    Column("messages_per_transaction", "sent per tx", "",
           "all messages between hosts, of clients, DDL and idle groups too, for each committed "
           "transaction", ("sent", "per tx")),
    Column("hottest_per_s", "hottest server", "/s",
           "messages that the busiest server of each run got in a second of the load",
           ("hottest", "per s")),
    Column("strict_share", "strict runs", "%",
           "runs with any anomaly in strict mode, claimed or not, explained or not",
           ("strict", "runs %"), 100),
)  # fmt: skip
BESIDE: Final = (
    Column("hottest_share", "hottest share", "%",
           "what the busiest server got of the messages to all servers",
           ("hottest", "share %"), 100),
    Column("dml_added_mean", "DML added mean", "ms", ADDED, ("added", "mean ms")),
    Column("schema_hottest_per_s", "schema server", "/s",
           "reads of the schema that the busiest of the servers which hold nothing else got in a "
           "second of the load", ("schema", "per s")),
)  # fmt: skip
"""What the text leaves out, for it is 80 columns wide."""
COLUMNS: Final = MET + LATENCIES + COSTS + BESIDE
FORMED: Final = tuple(
    column for key in (
        "dml_added_mean", "ddl_p50", "ddl_p99", "schema_aborts", "reads_per_transaction",
        "reads_per_ddl", "schema_hottest_per_s",
    ) for column in COLUMNS if column.key == key
)  # fmt: skip
"""The numbers of which some design has a closed form."""
OPEN: Final = "∞"
"""The upper end of an interval that nothing bounds."""
OUTSIDE: Final = "!"
"""Behind a closed form that the interval of the number does not meet."""
