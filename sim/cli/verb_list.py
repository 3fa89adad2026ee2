"""`ddlsim list`: what there is to choose from, each kind as a list of objects."""

import shutil
import sys
import textwrap
import tomllib
from collections.abc import Callable
from typing import Any, Final

from ddlsim.cli import documents
from ddlsim.cli.options import Options
from ddlsim.escape import escaped
from ddlsim.model.clauses import CLAUSES, PAUSE_POINTS
from ddlsim.model.reasons import Reason
from ddlsim.registry import load_file

Entry = dict[str, Any]
WIDTH_AWAY: Final = 80
NAME_MOST: Final = 26
OURS: Final = "ours"
"""The source of what no document names."""
REMARK: Final = "remark"
"""Not in the JSON: what the text says of an entry besides its summary."""


def execute(options: Options) -> int:
    """Print one of the lists."""
    for file in options.load:
        load_file(file)
    entries = LISTS[options.what]()
    if options.output == "json":
        told = [{key: entry[key] for key in entry if key != REMARK} for entry in entries]
        print(documents.text(told))
    else:
        for line in lines(entries, width()):
            print(escaped(line))
    return 0


def width() -> int:
    """80 columns, or what the terminal has."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH_AWAY


def lines(entries: list[Entry], columns: int) -> list[str]:
    """Names on the left, what they are on the right."""
    longest = max((len(entry["name"]) for entry in entries), default=0)
    left = min(longest, NAME_MOST) + 2
    told = []
    for entry in entries:
        words = entry["summary"] or "(no summary)"
        if entry.get(REMARK):
            words = f"{words} ({entry[REMARK]})"
        name = entry["name"].ljust(left)
        if len(entry["name"]) > left - 2:
            told.append(entry["name"])
            name = " " * left
        told += textwrap.wrap(
            words, max(columns, 40), initial_indent=name, subsequent_indent=" " * left
        )
    return told


def scenarios() -> list[Entry]:
    """Every shipped scenario; whether it can be run is for `run` to say."""
    from ddlsim.scenario.shipped import shipped

    entries = []
    for name, path in shipped().items():
        try:
            table = tomllib.loads(path.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            table = {"title": "cannot be read; `ddlsim run` tells why"}
        entries.append(
            {
                "name": name,
                "summary": table.get("title", ""),
                "source": table.get("source", ""),
                "expect": table.get("expect", "ok"),
                "clauses": table.get("clauses", []),
            }
        )
    return entries


def strategies() -> list[Entry]:
    """Every design."""
    from ddlsim.strategies.base import STRATEGIES

    entries = []
    for name, item in STRATEGIES.items():
        header = item.header
        claims = {claim.invariant: list(claim.assumes) for claim in header.claims}
        entry = {"name": name, "summary": header.summary, "source": header.source}
        entries.append({**entry, "plane": header.plane, "claims": claims})
    return entries


def mutants() -> list[Entry]:
    """Every broken rule, and the checker that must convict it."""
    from ddlsim.mutants.base import MUTANTS

    return [
        {
            "name": name,
            "summary": item.summary,
            "source": item.source,
            "breaks": item.breaks,
            "also": list(item.also),
            "caught_by": item.caught_by,
            REMARK: f"caught by {item.caught_by}",
        }
        for name, item in MUTANTS.items()
    ]


def faults() -> list[Entry]:
    """Every kind of fault."""
    from ddlsim.nemesis.base import FAULTS

    return [_plain(name, item) for name, item in FAULTS.items()]


def workloads() -> list[Entry]:
    """Every kind of workload."""
    from ddlsim.workload.base import WORKLOADS

    return [_plain(name, item) for name, item in WORKLOADS.items()]


def _plain(name: str, item: Any) -> Entry:
    return {"name": name, "summary": item.summary, "source": item.source or OURS}


def checkers() -> list[Entry]:
    """Every judge, with the invariant that it judges."""
    from ddlsim.checkers.base import CHECKERS

    return [
        {
            "name": name,
            "summary": item.summary,
            "source": item.invariant,
            "invariant": item.invariant,
            "class": item.severity,
            REMARK: f"{item.invariant}, {item.severity}",
        }
        for name, item in CHECKERS.items()
    ]


def clauses() -> list[Entry]:
    """Every clause of the documents, and the named points at which a scenario can pause a task."""
    entries: list[Entry] = [
        {
            "name": clause.id,
            "summary": clause.sentence,
            "source": clause.source,
            "kind": "clause",
            "must": clause.must,
            REMARK: "must" if clause.must else "",
        }
        for clause in CLAUSES
    ]
    entries += [
        {
            "name": point.name,
            "summary": point.sentence,
            "source": point.source,
            "kind": "pause point",
            "must": False,
            REMARK: "pause point",
        }
        for point in PAUSE_POINTS
    ]
    return entries


def reasons() -> list[Entry]:
    """Why an operation fails or a transaction aborts: the closed list."""
    return [
        {
            "name": reason.name,
            "summary": reason.sentence,
            "source": "IEP-110" if reason.is_schema else "the transaction protocol",
            "retriable": reason.retriable,
            "schema": reason.is_schema,
            REMARK: "retriable" if reason.retriable else "",
        }
        for reason in Reason
    ]


def probes() -> list[Entry]:
    """Every branch that counts how often it was reached, for `reaches` of a scenario."""
    from ddlsim.model.probes import known

    return [{"name": probe.name, "summary": probe.sentence, "source": OURS} for probe in known()]


def rules() -> list[Entry]:
    """Every rule of every field that `[strategy]` of a scenario may set, field by field."""
    from ddlsim.scenario.rules import (
        fields_of_designs,
        is_number,
        rules_of,
    )

    entries: list[Entry] = []
    for field in fields_of_designs():
        if is_number(field):
            what = {"name": f"{field}=0", "summary": "a whole number", "source": OURS}
            entries.append({**what, "field": field, "rule": None, "default": False})
        for name, rule in rules_of(field).items():
            entries.append(
                {
                    "name": f"{field}={name}",
                    "summary": rule.summary,
                    "source": rule.source or OURS,
                    "field": field,
                    "rule": name,
                    "default": rule.default,
                    REMARK: "the default" if rule.default else "",
                }
            )
    return entries


def figures() -> list[Entry]:
    """Every figure, and what its sweep must vary."""
    from ddlsim.analysis.figures.figure import plots

    sources = {"history": "a run", "sweep": "a sweep", "tune": "what tune found"}
    return [
        {
            "name": name,
            "summary": plot.summary,
            "source": sources[plot.of],
            "needs": [need.name for need in plot.needs],
            "paths": [need.path for need in plot.needs],
            REMARK: f"over {', '.join(need.path for need in plot.needs) or 'designs'}"
            if plot.of == "sweep"
            else f"of {sources[plot.of]}",
        }
        for name, plot in plots().items()
    ]


def terms() -> list[Entry]:
    """Every word that screens show."""
    from ddlsim.model.terms import terms as known

    return [{"name": one.name, "summary": one.sentence, "source": one.source} for one in known()]


LISTS: Final[dict[str, Callable[[], list[Entry]]]] = {
    "scenarios": scenarios,
    "strategies": strategies,
    "mutants": mutants,
    "faults": faults,
    "workloads": workloads,
    "checkers": checkers,
    "clauses": clauses,
    "reasons": reasons,
    "probes": probes,
    "rules": rules,
    "figures": figures,
    "terms": terms,
}
