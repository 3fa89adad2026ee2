"""The linter's verdicts for people: each statement with its rules, then each table, then rates."""

from collections import Counter
from typing import Any

from rich.console import Console
from rich.text import Text

from ddlsim.cli.views.words import block, say

GOOD, BAD, REFUSED = "green", "bold red", "bold yellow"
VERDICTS = {True: ("may commit", GOOD), False: ("ABORT", BAD), None: ("REFUSED", REFUSED)}
RULES = {
    "iep": "the rules of IEP-110",
    "ignite3": "the rules of Ignite 3 as shipped",
    "b12": "the rules of IEP-110 and of design B12, where tables are empty",
}
BACKWARD = {
    "iep": "If it still reads or writes there after it, it aborts anyway.",
    "ignite3": "If it still reads or writes there after it, it aborts, but for indexes and names.",
    "b12": "If it still reads or writes there after it, it aborts anyway.",
}
SINCE = {"iep": "", "ignite3": " (counted from its begin, as Ignite 3 does)", "b12": ""}
DESIGNS = (
    ("option_3", "IEP-110, operations up to the commit"),
    ("option_3_one_operation", "IEP-110, one operation and the commit"),
    ("options_1_and_2", "options 1 and 2: operate on after DDL"),
    ("exact_match", "any new version aborts"),
)
WIDEST = max(len(label) for _, label in DESIGNS)


def show(report: dict[str, Any], to: Console, *, from_scratch: bool = False) -> None:
    """The whole report."""
    files = report["files"]
    _head(report, to)
    for statement in report["statements"]:
        to.print()
        _statement(statement, to, several=len(files) > 1)
    to.print()
    _tables(report, to, from_scratch=from_scratch)
    if "expected_abort_share" in report:
        to.print()
        _rates(report, to)


def _head(report: dict[str, Any], to: Console) -> None:
    """The verdict, how many statements do what, and what a verdict is about."""
    statements = report["statements"]
    counts = Counter(statement["forward_compatible"] for statement in statements)
    word, style = ("NOT COMPATIBLE", BAD) if counts[False] else ("COMPATIBLE", GOOD)
    if counts[None]:
        word, style = ("REFUSED", REFUSED) if not counts[False] else (f"{word}, REFUSED", BAD)
    parts = [f"{len(statements)} statement{'' if len(statements) == 1 else 's'}"]
    parts += [f"{counts[False]} that abort{'s' * (counts[False] == 1)}"] if counts[False] else []
    parts += [f"{counts[None]} refused"] if counts[None] else []
    ignored = sum(statement["ignored"] is not None for statement in statements)
    parts += [f"{ignored} ignored"] if ignored else []
    if ignored and counts[False] == ignored and not counts[None]:
        word, style = "COMPATIBLE, BUT FOR WHAT IS IGNORED", REFUSED
    passed = len(report["passed_over"])
    parts += [f"{passed} passed over"] if passed else []
    baseline = report["baseline"]
    files = report["files"]
    of = files[0] if len(files) == 1 else f"{len(files)} files"
    said = f"  {of}: {', '.join(parts)}, baseline {baseline}"
    to.print(Text.assemble((word, style), said), soft_wrap=True)
    what = "Judged is a transaction that used the table before a statement and commits after it, by"
    say(f"{what} {RULES[baseline]}. {BACKWARD[baseline]}", to)


def _statement(statement: dict[str, Any], to: Console, *, several: bool) -> None:
    word, style = VERDICTS[statement["forward_compatible"]]
    label = word if word == "REFUSED" else f"transactions {word}"
    if statement["ignored"] is not None:
        reason = statement["ignored"]["reason"]
        label, style = f"{label}, ignored" + (f": {reason}" if reason else ""), REFUSED
    if statement["no_op"] is not None:
        label, style = "nothing changes", GOOD
    file = f"{statement['file']}, " if several else ""
    to.print(Text.assemble(f"{file}line {statement['line']}: ", (label, style)), soft_wrap=True)
    block(" ".join(statement["sql"].split()), to)
    for rule in statement["rules"]:
        verdict = "yes" if rule["verdict"] == "compatible" else "NO "
        column = f"{rule['column']}: " if rule["column"] else ""
        block(f"  {verdict} {column}{rule['reason']} [{rule['clause']}]", to)
    if statement["error"] is not None:
        block(f"  {statement['error']['message']}; judged as if it were not there", to)
    if statement["no_op"] is not None:
        block(f"  {statement['no_op']}", to)
    if statement["remedy"] and statement["ignored"] is None:
        block("  instead:", to)
        for place, step in enumerate(statement["remedy"], 1):
            sql = f": {' '.join(step['sql'].split())}" if step["sql"] else ""
            block(f"    {place}. {step['do']}{sql}", to)


def _tables(report: dict[str, Any], to: Console, *, from_scratch: bool) -> None:
    """What becomes of transactions that span the whole migration."""
    since = "since its creation" if from_scratch else "before the first statement"
    names = report["tables"]
    if not names:
        to.print("there is no table that a transaction could have used")
        return
    say(f"A transaction that used a table {since} and commits after the last statement:", to)
    width = max(map(len, names))
    for name, verdict in names.items():
        word, style = ("may commit", GOOD) if verdict["forward_compatible"] else ("aborts", BAD)
        because = ""
        if verdict["because"] is not None:
            because = f", because of {_place(report, verdict['because'])}"
        if verdict["changed_by"] is not None:
            because += f"; must not use it any more after {_place(report, verdict['changed_by'])}"
        line = f"  {name.ljust(width)}  "
        to.print(Text.assemble(line, (word, style), because), soft_wrap=True)


def _place(report: dict[str, Any], number: int) -> str:
    """Where a statement stands: its line, and its file where there are several."""
    statement = report["statements"][number]
    file = f"{statement['file']}:" if len(report["files"]) > 1 else "line "
    return f"{file}{statement['line']}"


def _rates(report: dict[str, Any], to: Console) -> None:
    """The closed forms, for all statements and for each table that some of them concern."""
    shares = report["expected_abort_share"]
    if not shares["statements"]:
        to.print("No statement changes a table that is in use: they abort nothing.")
        return
    say(
        f"If statements like these keep coming to a table, {shares['ddl_rate']:g} a second, "
        f"{100 * shares['incompatible_share']:.0f} % of them incompatible, and a transaction uses "
        f"it for {shares['tx_length']:g} s{SINCE[report['baseline']]}, this share of transactions "
        f"aborts:",
        to,
    )
    to.print(f"  {''.ljust(WIDEST)}  always {shares['tx_length']:g} s  on average", soft_wrap=True)
    lasting, room = shares["exponential_length"], len(f"always {shares['tx_length']:g} s") - 2
    for name, label in DESIGNS:
        line = f"  {label.ljust(WIDEST)}  {100 * shares[name]:{room}.2f} %"
        to.print(f"{line}  {100 * lasting[name]:8.2f} %", soft_wrap=True)
    tables = {name: one for name, one in shares["tables"].items() if one["statements"]}
    if len(tables) > 1:
        _each_table(tables, to)


def _each_table(tables: dict[str, Any], to: Console) -> None:
    """The same for each table by its own statements, as the design has it at worst and at best."""
    say("By table, each with its own mix of statements, IEP-110 at worst and at best:", to)
    width = max(map(len, tables))
    for name, one in tables.items():
        worst, best = (100 * one[key] for key in ("option_3", "option_3_one_operation"))
        mix = f"{100 * one['incompatible_share']:.0f} % incompatible"
        to.print(f"  {name.ljust(width)}  {worst:6.2f} %  {best:6.2f} %  {mix}", soft_wrap=True)
