"""A rehearsal on a terminal: a table with a row for each statement, then what is behind it."""

from typing import Final, Literal

from rich.console import Console
from rich.table import Table

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.documents.shapes_rehearse import LatencyOf, Rehearse, RehearsedStatement
from ddlsim.cli.verbs.check_foreign import Foreign
from ddlsim.cli.verbs.predicted import NOTHING
from ddlsim.cli.views.words import command, labelled, say, verdict
from ddlsim.escape import counted, escaped
from ddlsim.foreign.report import headline
from ddlsim.record.errors import CLASSES
from ddlsim.record.rehearsal.rows import MEANING

WORDS: Final = {
    "survive": "compat: transactions in flight survive",
    "abort": "compat: transactions in flight abort",
    "refused": "compat: the catalog refuses it",
    "none": "compat says nothing",
}
HEADS: Final = ("ms", "waited", "behind", "stall", "aborts", "compat", "reality")
TOLD_MS: Final = 10.0
"""Shorter stalls are in the table alone."""
LEAST: Final = 16
"""Characters of a statement that are always shown."""
SHORT: Final = {"survive": "survive", "abort": "abort", "refused": "refused", "none": "-"}


def show(found: Rehearse, judged: Foreign | None, to: Console) -> None:
    """The whole report."""
    verdict(
        Outcome.called(found["outcome"]),
        f"{found['migration']}: {found['server']}, {found['isolation']}",
        to,
    )
    labelled("rehearsed on", ("the database itself: " if found["in_place"] else "a copy: ")
             + found["source"], to)  # fmt: skip
    labelled("load", f"{found['clients']} clients: {ended(found)}", to)
    labelled("before", latency(found["before"], found["longest_before_ms"]), to)
    labelled("after", latency(found["after"]), to)
    labelled("longest stall", stall(found), to)
    to.print()
    to.print(_table(found, to.width))
    for number, one in enumerate(found["statements"], 1):
        if lines := details(one):
            to.print()
            say(f"{number}. line {one['line']}: {' '.join(one['sql'].split())[:200]}", to, "bold")
            for label, text in lines:
                labelled(f"  {label}", text, to)
    to.print()
    _anomalies(found, to)
    if judged is not None:
        to.print()
        judged.show(to)
    to.print()
    command(found["command"], to, "on the database as it was" if found["in_place"] else "")


def ended(found: Rehearse) -> str:
    """How the transactions of the load ended."""
    text = f"{found['committed']:,} committed, {found['failed']:,} failed, "
    text += f"{found['unknown']:,} unknown"
    if found["why"]:
        text += " (" + ", ".join(f"{n:,} {why}" for why, n in found["why"].items()) + ")"
    return text + (f"; {found['silent']} clients did not end in time" if found["silent"] else "")


def latency(one: LatencyOf, longest: float | None = None) -> str:
    """Quantiles of latency in words."""
    if not one["count"]:
        return "no statement of the load succeeded"
    text = f"{one['per_s']:,.0f} statements a second; p50 {one['p50_ms']:.1f} ms, "
    text += f"p99 {one['p99_ms']:.1f} ms, longest {one['max_ms']:,.1f} ms"
    return text if longest is None else f"{text}; longest wait of a table {longest:,.1f} ms"


def stall(found: Rehearse) -> str:
    """The longest stall, and whether it is too long."""
    text = f"{found['stall_ms']:,.0f} ms"
    text += f" on {found['stalled']}" if found["stalled"] else ""
    most = found["max_stall_ms"]
    if most is None:
        return text
    return f"{text}; {'MORE' if found['stall_ms'] > most else 'no more'} than {most:,g} ms"


def _table(found: Rehearse, width: int) -> Table:
    rows = [cells(one) for one in found["statements"]]
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("statement", no_wrap=True)
    taken = 0
    for at, head in enumerate(HEADS):
        most = max(len(one) for one in (head, *(row[at] for row in rows)))
        taken += most + 1
        side: Literal["left", "right"] = "left" if head in ("compat", "reality") else "right"
        table.add_column(head, justify=side, no_wrap=True, min_width=most)
    room = max(LEAST, width - taken - len(str(len(rows))) - 2)
    for number, (one, row) in enumerate(zip(found["statements"], rows, strict=True), 1):
        text = escaped(" ".join(one["sql"].split()), keep="")
        table.add_row(str(number), shorten(text, room), *row)
    return table


def shorten(text: str, room: int) -> str:
    """A text in as many characters at most."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def cells(one: RehearsedStatement) -> list[str]:
    """The numbers of a statement."""
    said = SHORT[one["predicted"]["verdict"]]
    if not one["ran"]:
        return ["not run", "", "", "", "", said, ""]
    waited = "-" if one["waited_ms"] is None else f"{one['waited_ms']:,.0f}"
    took = "refused" if one["refused"] else f"{one['duration_ms']:,.1f}"
    aborts = f"{sum(one['aborts'].values()):,}"
    agreed: str = one["agreement"]
    if agreed in ("no prediction", "not seen"):
        agreed = ", ".join(one["effects"]) or "no effect"
    return [took, waited, str(one["behind"]), f"{one['stall_ms']:,.0f}", aborts, said, agreed]


def details(one: RehearsedStatement) -> list[tuple[str, str]]:
    """What the numbers of a statement do not tell."""
    told: list[tuple[str, str]] = []
    if one["refused"]:
        told.append(("refused", f"{one['refused']['kind']}: {one['refused']['text']}"))
    told += [("waited for", sql) for sql in one["waited_for"][:3]]
    if one["stall_ms"] >= TOLD_MS:
        told.append(("stalled", f"{one['stalled']}; {latency(one['latency'])}"))
    for kind, count in one["aborts"].items():
        told.append(("aborts", f"{count:,} {kind}, {CLASSES[kind]}: {one['examples'][kind]}"))
    if one["ran"]:
        told.append(("measured", one["measured"]))
    if one["predicted"]["why"] != NOTHING:
        told.append(("predicted", prediction(one)))
    return told


def prediction(one: RehearsedStatement) -> str:
    """What was predicted, and what came of it."""
    said, crossing = one["predicted"], one["crossing"]
    text = WORDS[said["verdict"]]
    text += f" [{', '.join(said['clauses'])}]" if said["clauses"] else ""
    text += f": {said['why']}" if said["why"] else ""
    if one["agreement"] in ("no prediction", "not seen") and not crossing["transactions"]:
        return text if not one["ran"] else f"{text}; not seen: no transaction was across it"
    across = counted(crossing["transactions"], "transaction")
    aborted = f"{crossing['aborted']:,} aborted for the schema"
    return f"{text}; {across} across it, {aborted}: {one['agreement']}"


def _anomalies(found: Rehearse, to: Console) -> None:
    for one in found["anomalies"]:
        say(f"{headline(one['type'], one['count'])}: {one['table']}", to, "bold red")
        say(f"{MEANING[one['type']]}; {one['example']}", to, indent="  ")
        say(one["documented"], to, indent="  ")
    if not found["anomalies"]:
        say("no row vanished, and in the end no acknowledged write is lost, as far as judged", to)
    for note in found["notes"]:
        labelled("not judged" if "judged" in note else "note", note, to)
