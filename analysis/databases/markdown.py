"""The study as Markdown, for readers of the checkout."""

from collections.abc import Iterator, Sequence
from typing import Final

from ddlsim.analysis.databases.findings import FINDINGS, NOTHING, PROMISES, Finding
from ddlsim.analysis.databases.view import SAID, Cost, Shown, View

STAR: Final = (
    "\\* counted by the order of sessions and not by what is promised alone: see the finding."
)
COST_HEAD: Final = (
    "database, workload", "changes committed", "change (ms)", "statement apart (ms)",
    "statement beside (ms)", "longest wait for a change (ms)", "transactions aborted",
)  # fmt: skip
COST_SAYS: Final = (
    "Median and longest of a change of a table, from its first statement to its commit; median "
    "and 99th percentile of a statement of other clients that overlaps no change, and of one that "
    "does; median and longest of what the slowest of them waited from the beginning of the change "
    "on. Statements that would wait for longer than 0.3 s (PostgreSQL), 1 s (MariaDB) or 2 s "
    "(SQLite) fail instead; SQLite's writers try again after pauses of up to 0.1 s. `no-row`: an "
    "UPDATE of a row that is always there changed none, so that the client gave up; the database "
    "would have committed. The machine did other work too, so throughput and latency compare a "
    "database with itself alone."
)
TABLE_SAYS: Final = (
    "The number behind an anomaly is how often it was seen, over all recordings of the cell. "
    "Not offered: MariaDB commits DDL by itself, so it has no such change in one "
    "transaction. READ COMMITTED may show each statement another state, and does."
)
LEFT_OUT: Final = "what does not matter is left out, and `:t2/5` is the list in row 5 of table t2"
HOW: Final = (
    "*The schema of a table is one more list*: ADD COLUMN appends to it, SELECT * reads it with "
    "the rows, and one serialization graph has both. "
    "[How a database is recorded](../../docs/how-to/record.md) tells the workloads and the models; "
    "[study.json](study.json) has every number of this page with the command that records its cell "
    "again; [page.html](page.html) has the scripts on the page. Scripts are for two sessions side "
    "by side, with the answers as comments, and a test sends each of them to the real server as it "
    "is written. `python3 dev.py study --script NAME` does so too; DuckDB has one process, so its "
    "two sessions are two cursors of it."
)


def page(view: View, command: str) -> str:
    """The README of the study."""
    return "\n".join([*_head(view, command), *_findings(view), *_costs(view), *_how(view)])


def _head(view: View, command: str) -> Iterator[str]:
    yield from (f"# {view.title}", "", *(f"* {one.title}." for one in FINDINGS), "")
    yield from (" ".join(view.lead), "")
    heads = ("database", "level", "judged as", *view.workloads)
    rows = [(one.database, one.level, one.promise, *map(_shown, one.cells)) for one in view.rows]
    yield from _table(heads, rows)
    yield from (f"* `{type_}`: {meaning}" for type_, meaning in view.meanings)
    yield from ("", STAR, "", "```sh", command, "```", "")
    yield from (TABLE_SAYS, "")


def _shown(cell: Shown) -> str:
    text = cell.text.replace("*", r"\*")
    return f"**{text}**" if cell.bad else text


def _findings(view: View) -> Iterator[str]:
    yield from ("## Findings", "")
    for number, one in enumerate(FINDINGS, 1):
        yield from (f"### {number}. {one.title}", "", one.why, "")
        yield from (f"* [{each.place}]({each.url}): {each.says}." for each in one.sources)
        yield from ("", f"What to do: {one.advice}", "", f"By hand: {_scripts(one.scripts)}.", "")
        yield from (f"Without the anomaly: {_scripts(one.controls)}.", "")
        yield from _example(view, one)
    yield from ("### No anomaly", "", f"SQLite: {_scripts(NOTHING)}.", "")
    yield from ("### What is promised", "")
    yield from (f"* [{one.place}]({one.url}): {one.says}." for one in PROMISES.values())
    yield ""


def _scripts(names: Sequence[str]) -> str:
    return ", ".join(f"[{name}](scripts/{name}.sql)" for name in names)


def _example(view: View, one: Finding) -> Iterator[str]:
    if one.title in view.examples:
        where, example = view.examples[one.title]
        yield from (
            f"As it was recorded ({where}); {LEFT_OUT}:",
            "",
        )
        yield "```"
        yield from (*example["lines"], "```", "", "```sh", example["command"], "```", "")


def _costs(view: View) -> Iterator[str]:
    yield from ("## What a change costs", "", COST_SAYS, "")
    yield from _table(COST_HEAD, [_cost(one) for one in view.strictest])
    yield from ("![statements around a change](around.svg)", "")
    yield from ("![how long changes take](durations.svg)", "")


def _cost(one: Cost) -> tuple[str, ...]:
    name = f"{SAID[one.database]}, {one.workload}"
    return (name, *one[3:])


def _how(view: View) -> Iterator[str]:
    yield from ("## How it was made", "", HOW, "")
    yield from (f"Recorded: {'; '.join(view.servers)}.", "")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(one)} |" for one in rows)
    yield ""
