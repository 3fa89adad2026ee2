"""Results as the one JSON document of `--output json`."""

import json
from typing import Any

import msgspec

from sim.checkers.base import Violation
from sim.cli.report import Report
from sim.history.history import FORMAT
from sim.world.campaign import RunRow


def text(document: Any) -> str:
    """A document as it is printed: characters that are not printable as JSON's own escapes."""
    found = json.dumps(document, indent=2, ensure_ascii=False)
    return found if _is_plain(found) else "".join(map(_escaped, found))


def _is_plain(found: str) -> bool:
    return all(line.isprintable() for line in found.split("\n"))


def _escaped(sign: str) -> str:
    """A character of a JSON document; those outside of texts are all printable, or line ends."""
    return sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1]


def run(report: Report) -> dict[str, Any]:
    """The shape `run` of the interface."""
    more: dict[str, Any] = {}
    if report.drawn:
        more["swarm"] = dict(report.drawn)
    if len(report.sum.runs) > 1:
        more["never_reached"] = list(report.never_reached)
    return {
        "format": FORMAT,
        "scenario": report.scenario,
        "strategy": report.strategy,
        "mutant": report.mutant,
        "settings": report.settings,
        "outcome": report.sum.outcome.word,
        "expected": report.expect,
        "as_expected": report.sum.as_expected,
        "unexpected": list(report.sum.unexpected),
        "command": report.command,
        **more,
        "runs": [_row(row) for row in report.sum.runs],
    }


def _row(row: RunRow) -> dict[str, Any]:
    return {
        "seed": row.seed,
        "outcome": row.outcome.word,
        "fingerprint": row.fingerprint,
        "reached": row.reached,
        "violations": [violation(each) for each in row.violations],
        "omitted": row.omitted,
        "missed": list(row.missed),
        "unmatched": list(row.unmatched),
        "stuck": list(row.stuck),
        "unjudged": list(row.unjudged),
        "figures": msgspec.to_builtins(row.figures),
        "crash": row.crash,
    }


def violation(found: Violation) -> dict[str, Any]:
    """One element of `violations`."""
    document: dict[str, Any] = msgspec.to_builtins(found)
    return document
