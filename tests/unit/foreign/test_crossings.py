"""Anomalies between a schema and rows, each alone in a small recording, beside innocent ones."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from ddlsim.foreign.inputs import INPUTS
from ddlsim.history.recording import (
    FORMAT,
    HISTORY,
    SPAN,
    STATEMENTS,
    Begun,
    Closed,
    Ended,
    Recording,
    line_of,
)

CLIENTS = 3
SESSION = "strong-session-serializable"
STRICT = "strict-serializable"
FUTURE, STALE, VANISHED = NAMED = "future-column", "stale-columns", "vanished-rows"


class Tx(NamedTuple):
    """A transaction of a client: when it begins and ends, and its operations in Jepsen's form."""

    process: int
    begin: int
    end: int
    operations: str
    outcome: str = "ok"


def adds(process: int, begin: int, end: int, more: str = "", outcome: str = "ok") -> Tx:
    """Adds column 7 to the table t0, and does more."""
    return Tx(process, begin, end, f"[:append 0 7] {more}".strip(), outcome)


def reads(process: int, begin: int, end: int, columns: str, row: str, more: str = "") -> Tx:
    """Reads the columns and row 1 of t0, and does more."""
    return Tx(process, begin, end, f"[:r 0 [{columns}]] [:r 1 {row}] {more}".strip())


def recorded(folder: Path, transactions: list[Tx]) -> str:
    """A recording of them: two tables with rows 1 and 2, each a list of 0 at first."""
    keys = [table * SPAN + row for table in (0, 1) for row in (0, 1, 2)]
    made = Tx(CLIENTS + 1, -2, -1, " ".join(f"[:append {key} 0]" for key in keys))
    ends = sorted(
        (at, one, at == one.end) for one in (made, *transactions) for at in (one.begin, one.end)
    )
    head = Recording(
        FORMAT, "test", "none", "None 0", "none", {}, "serializable", "serializable",
        "serializable", "none", "schema-append", 0, CLIENTS, 1.0, False, False, ("t0", "t1"),
    )  # fmt: skip
    lines, history, number = [line_of(head)], list[str](), dict[Tx, int]()
    for index, (_, one, is_end) in enumerate(ends):
        kind, value = (one.outcome, one.operations) if is_end else ("invoke", asked(one.operations))
        history.append(
            f"{{:type :{kind}, :f :txn, :value [{value}], :process {one.process}, "
            f":time {index}, :index {index}}}\n"
        )
        if is_end:
            lines.append(line_of(Ended(number[one], index, one.outcome, "", index)))
        else:
            number[one] = index
            lines.append(line_of(Begun(index, index, one.process)))
    lines.append(line_of(Closed(len(ends))))
    (folder / STATEMENTS).write_bytes(b"".join(lines))
    (folder / HISTORY).write_text("".join(history))
    return str(folder / STATEMENTS)


def asked(operations: str) -> str:
    return re.sub(r"(\[:r \d+) (?:\[[^]]*\]|nil)\]", r"\1 nil]", operations)


LATER = reads(2, 90, 91, "0 7", "[0 5]", f"[:r {SPAN} [0]] [:r {SPAN + 1} [0]]")
"""What all that was done leaves, so that each element has its place."""
CASES = {
    "a column before its own transaction's row": (
        "serializable", [adds(0, 1, 9, "[:append 1 5]"), reads(1, 2, 8, "0 7", "[0]")], {FUTURE: 1},
    ),
    "both of them": (
        "serializable", [adds(0, 1, 9, "[:append 1 5]"), reads(1, 2, 8, "0 7", "[0 5]")], {},
    ),
    "none of them": (
        "serializable", [adds(0, 1, 9, "[:append 1 5]"), reads(1, 2, 8, "0", "[0]")], {},
    ),
    "a row without its own transaction's column": (
        "serializable", [adds(0, 1, 9, "[:append 1 5]"), reads(1, 2, 8, "0", "[0 5]")], {STALE: 1},
    ),
    "it is allowed at read committed": (
        "read-committed", [adds(0, 1, 9, "[:append 1 5]"), reads(1, 2, 8, "0 7", "[0]")], {},
    ),
    "a column that was rolled back names no crossing": (
        "serializable",
        [adds(0, 1, 9, "[:append 1 6]", "fail"), reads(1, 2, 8, "0 7", "[0]"),
         Tx(0, 10, 11, "[:append 1 5]")],
        {"G1a": 1},
    ),
    "a transaction that reads its own column": (
        "serializable",
        [Tx(0, 1, 9, "[:append 0 7] [:r 0 [0 7]] [:r 1 [0]] [:append 1 5]")], {},
    ),
    "a column before what its session did ahead of it": (
        SESSION, [Tx(0, 1, 2, "[:append 1 5]"), adds(0, 3, 4), reads(1, 0, 9, "0 7", "[0]")],
        {FUTURE: 1},
    ),
    "it breaks no serial order": (
        "serializable",
        [Tx(0, 1, 2, "[:append 1 5]"), adds(0, 3, 4), reads(1, 0, 9, "0 7", "[0]")], {},
    ),
    "a row of another session is no session's order": (
        SESSION, [Tx(2, 1, 2, "[:append 1 5]"), adds(0, 3, 4), reads(1, 0, 9, "0 7", "[0]")], {},
    ),
    "a row of what its session did after the column": (
        SESSION, [adds(0, 1, 2), Tx(0, 3, 4, "[:append 1 5]"), reads(1, 0, 9, "0", "[0 5]")],
        {STALE: 1},
    ),
    "a row that is gone beside one that is there": (
        "serializable",
        [adds(0, 1, 9, "[:append 1 5]"),
         reads(1, 2, 8, "0 7", "nil", f"[:r {SPAN} [0]] [:r {SPAN + 1} [0]]")],
        {VANISHED: 1},
    ),
    "a row that is gone, and nothing else": (
        STRICT, [adds(0, 1, 9, "[:append 1 5]"), Tx(1, 2, 8, "[:r 1 nil]")], {VANISHED: 1},
    ),
    "it may have come before all": (
        "serializable", [adds(0, 1, 9, "[:append 1 5]"), Tx(1, 2, 8, "[:r 1 nil]")], {},
    ),
    "columns that are gone are no rows": (
        "serializable", [adds(0, 1, 9, "[:append 1 5]"), reads(1, 2, 8, "", "[0]")],
        {"fractured-read": 1},
    ),
    "a row that a client inserted, before it did": (
        STRICT,
        [adds(0, 1, 9, "[:append 1 5]"), Tx(1, 2, 3, "[:r 3 nil] [:r 2 [0]]"),
         Tx(1, 4, 5, "[:append 3 8]"), Tx(1, 6, 7, "[:r 3 [8]]")],
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_crossing_has_its_name_and_innocent_reads_have_none(case: str, tmp_path: Path) -> None:
    model, transactions, expected = CASES[case]
    report = INPUTS["recording"].judge(recorded(tmp_path, [*transactions, LATER]), model)
    counts = report.fields["counts"]
    found = {name: n for name, n in counts.items() if name in {*expected, *NAMED}}
    assert found == expected
    assert (report.outcome.word == "violated") is bool(expected)
