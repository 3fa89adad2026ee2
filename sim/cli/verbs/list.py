"""`ddlsim list`: what there is to choose from, each kind as a list of objects."""

import shutil
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from ddlsim.cli import streams
from ddlsim.cli.documents import documents
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.escape import escaped
from ddlsim.model.clauses import CLAUSES, PAUSE_POINTS
from ddlsim.model.reasons import Reason
from ddlsim.registry import load_file

if TYPE_CHECKING:
    from ddlsim.model.settings import Setting

SCHEMAS: Final = "schemas"
Entry = dict[str, Any]
WIDTH_AWAY: Final = 80
NAME_MOST: Final = 26
OURS: Final = "ours"
"""The source of what no document names."""
OF_RECORD: Final = "ddlsim record"
"""The remark on what a recording has, and no scenario."""
BASELINE: Final = "iep"
FEW_DESIGNS: Final = 4
"""So many designs are named in the text; the JSON names all."""
REMARK: Final = "remark"
"""Not in the JSON: what the text says of an entry besides its summary."""


def execute(options: Options) -> int:
    """Print one of the lists."""
    for file in options.load:
        load_file(file)
    if options.what == SCHEMAS and options.name is not None:
        streams.write(documents.text(_schema(options.name)))
        return 0
    entries = list(LISTS[options.what]())
    if options.name is not None:
        entries = _named(options.name, options.what, entries)
    if options.output == "json":
        public = [{key: entry[key] for key in entry if key != REMARK} for entry in entries]
        streams.write(documents.text(public))
    else:
        for line in lines(entries, width()):
            streams.write(escaped(line))
    return 0


def _named(name: str, what: str, entries: list[Entry]) -> list[Entry]:
    """The entry of this name, or the rules of this field; `InputError` where there is none."""
    found = [entry for entry in entries if name in (entry["name"], entry.get("field"))]
    if not found:
        from ddlsim.scenario.problems import few

        fields = dict.fromkeys(str(entry["field"]) for entry in entries if "field" in entry)
        names = [entry["name"] for entry in entries]
        near = few(name, [*fields, *names], f"ddlsim list {what}")
        raise InputError(f"list: {what} has no {name!r}; {near}")
    return found


def _schema(name: str) -> dict[str, Any]:
    from ddlsim.cli.documents import schemas as known

    return known.schema(_named(name, SCHEMAS, list(schemas()))[0]["name"])


def width() -> int:
    """80 columns, or what the terminal has."""
    return shutil.get_terminal_size().columns if streams.result().isatty() else WIDTH_AWAY


def lines(entries: list[Entry], columns: int) -> list[str]:
    """Names on the left, what they are on the right."""
    longest = max((len(entry["name"]) for entry in entries), default=0)
    left = min(longest, NAME_MOST) + 2
    found = []
    for entry in entries:
        words = entry["summary"] or "(no summary)"
        if entry.get(REMARK):
            words = f"{words} ({entry[REMARK]})"
        name = entry["name"].ljust(left)
        if len(entry["name"]) > left - 2:
            found.append(entry["name"])
            name = " " * left
        found += textwrap.wrap(
            words, max(columns, 40), initial_indent=name, subsequent_indent=" " * left
        )
    return found


def _entry(name: str, summary: str, source: str, remark: str = "", **more: Any) -> Entry:
    return {"name": name, "summary": summary, "source": source, **more, REMARK: remark}


def scenarios() -> Iterator[Entry]:
    """Every shipped scenario; whether it can be run is for `run` to say."""
    from ddlsim.scenario.shipped import shipped

    for name, path in shipped().items():
        try:
            table = tomllib.loads(path.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            table = {"title": "cannot be read; `ddlsim run` tells why"}
        more = {"expect": table.get("expect", "ok"), "clauses": table.get("clauses", [])}
        yield _entry(name, table.get("title", ""), table.get("source", ""), **more)


def strategies() -> Iterator[Entry]:
    """Every design."""
    from ddlsim.strategies.base import DESIGNS

    for name, item in DESIGNS.items():
        one = item.header
        claims = {claim.invariant: list(claim.assumes) for claim in one.claims}
        yield _entry(name, one.summary, one.source, one.source, plane=one.plane, claims=claims)


def mutants() -> Iterator[Entry]:
    """Every broken rule, and the checker that must convict it."""
    from ddlsim.mutants.base import MUTANTS

    for name, one in MUTANTS.items():
        more = {
            "plane": one.plane,
            "breaks": one.breaks,
            "also": list(one.also),
            "under": one.under,
            "caught_by": one.caught_by,
        }
        remark = f"plane {one.plane}; caught by {one.caught_by}"
        yield _entry(name, one.summary, one.source, remark, **more)


def faults() -> Iterator[Entry]:
    """Every kind of fault, of scenarios and of recordings."""
    from ddlsim.nemesis.base import FAULTS
    from ddlsim.record.faults.base import FAULTS as RECORDED

    for name, one in FAULTS.items():
        yield _entry(name, one.summary, one.source or OURS, verb="run")
    for name, recorded in RECORDED.items():
        yield _entry(name, recorded.summary, OURS, OF_RECORD, verb="record")


def workloads() -> Iterator[Entry]:
    """Every kind of workload, of scenarios and of recordings."""
    from ddlsim.record.workloads.base import WORKLOADS as RECORDED
    from ddlsim.workload.base import WORKLOADS

    for name, one in WORKLOADS.items():
        lacks = [
            f"on plane {plane} without {', '.join(keys)}" for plane, keys in one.cannot.items()
        ]
        yield _entry(name, one.summary, one.source or OURS, "; ".join(lacks), cannot=one.cannot,
                     verb="run")  # fmt: skip
    for name, recorded in RECORDED.items():
        yield _entry(name, recorded.summary, OURS, OF_RECORD, cannot={}, verb="record")


def checkers() -> Iterator[Entry]:
    """Every judge, with the invariant that it judges."""
    from ddlsim.checkers.base import CHECKERS

    for name, one in CHECKERS.items():
        more = {"invariant": one.invariant, "class": one.severity}
        remark = f"{one.invariant}, {one.severity}"
        yield _entry(name, one.summary, one.invariant, remark, **more)


def clauses() -> Iterator[Entry]:
    """Every clause of the documents, and the named points at which a scenario can pause a task."""
    for one in CLAUSES:
        remark = "must" if one.must else ""
        yield _entry(one.id, one.sentence, one.source, remark, kind="clause", must=one.must)
    for point in PAUSE_POINTS:
        more = {"kind": "pause point", "must": False}
        yield _entry(point.name, point.sentence, point.source, "pause point", **more)


def findings() -> Iterator[Entry]:
    """Every known hole in the documents: what it breaks, what closes it, which designs have it."""
    from ddlsim.cluster.designs import with_rules_of
    from ddlsim.scenario import findings as known
    from ddlsim.scenario.shipped import shipped
    from ddlsim.strategies.base import DESIGNS

    headers = [with_rules_of(design) for _, design in DESIGNS.items()]
    shown = known.known()
    files = shipped()
    for table in known.described():
        of = [one for one in shown if one.id == table.id]
        has = [header.name for header in headers if any(one.concerns(header) for one in of)]
        breaks = list(dict.fromkeys(one.invariant for one in of))
        closing = " and ".join(f"{field} = {rule}" for field, rule in table.closing.items())
        closed = f"closed by {closing}; " if closing else ""
        scenario = f"{known.FOLDER}{table.id}"
        remark = f"breaks {', '.join(breaks)}; {closed}in {_few(has)}; ddlsim run {scenario}"
        source = tomllib.loads(files[scenario].read_text("utf-8"))["source"]
        yield _entry(table.id, table.title, source, remark, breaks=breaks,
                     clauses=list(table.clauses), scenario=scenario, closing=table.closing,
                     strategies=has)  # fmt: skip


def _few(designs: list[str]) -> str:
    """A few designs by name; of many their number, and the baseline if it is among them."""
    if len(designs) <= FEW_DESIGNS:
        return ", ".join(designs)
    if BASELINE in designs:
        return f"{BASELINE} and {len(designs) - 1} other designs"
    return f"{len(designs)} designs"


def reasons() -> Iterator[Entry]:
    """Why an operation fails or a transaction aborts: the closed list."""
    for one in Reason:
        source = "IEP-110" if one.is_schema else "the transaction protocol"
        remark = "retriable" if one.retriable else ""
        more = {"retriable": one.retriable, "schema": one.is_schema}
        yield _entry(one.name, one.sentence, source, remark, **more)


def probes() -> Iterator[Entry]:
    """Every branch that counts how often it was reached, for `reaches` of a scenario."""
    from ddlsim.model.probes import known

    return (_entry(probe.name, probe.sentence, OURS) for probe in known())


def moments() -> Iterator[Entry]:
    """Everything at which a fault can begin or heal, and the roles that it binds."""
    from ddlsim.scenario.moments import moments as known

    for name, one in sorted(known().items()):
        more = {"kind": one.source, "fields": list(one.fields), "roles": list(one.roles)}
        yield _entry(name, one.sentence, OURS, one.source, **more)


def rules() -> Iterator[Entry]:
    """Every rule of every field that `[strategy]` of a scenario may set, field by field."""
    from ddlsim.scenario.rules import (
        fields_of_designs,
        is_number,
        number,
        number_in_words,
        planes,
        rules_of,
    )

    seen: dict[str, None] = {}
    for plane, field in ((one, field) for one in planes() for field in fields_of_designs(one)):
        more: dict[str, Any] = {"field": field, "rule": None, "default": False}
        if is_number(field, plane):
            words = f"{number(field, plane).doc}: {number_in_words(field, plane)}"
            yield _entry(f"{field}=N", words, OURS, **more)
        for name, rule in rules_of(field, plane).items():
            if f"{field}={name}" in seen:
                continue  # a field and a rule of the same names on both planes
            seen[f"{field}={name}"] = None
            remark = "the default" if rule.default else ""
            more = {"field": field, "rule": name, "default": rule.default}
            yield _entry(f"{field}={name}", rule.summary, rule.source or OURS, remark, **more)


def scopes() -> Iterator[Entry]:
    """Every scope that `explore` takes: its constants, rules, designs and mutants."""
    from ddlsim.spec.base import SCOPES

    for name, one in SCOPES.items():
        variants = {**one.designs, **one.mutants}
        constants = {
            each.name: {
                "text": each.text, "default": each.default, "least": each.least, "most": each.most,
            }
            for each in one.constants
        }  # fmt: skip
        more = {
            "invariants": list(one.invariants),
            "constants": constants,
            "rules": {each.name: dict(each.choices) for each in one.rules},
            "clauses": {each.name: each.clause for each in one.rules},
            "designs": {key: dict(each.rules) for key, each in one.designs.items()},
            "mutants": {key: dict(each.rules) for key, each in one.mutants.items()},
            "with": {key: dict(each.constants) for key, each in variants.items() if each.constants},
            "breaks": {key: list(each.breaks) for key, each in variants.items() if each.breaks},
        }
        named = ", ".join((*constants, *(each.name for each in one.rules)))
        remark = f"judges {', '.join(one.invariants)}; --set {named}"
        yield _entry(name, one.title, one.source, remark, **more)


def settings() -> Iterator[Entry]:
    """Every setting of `[protocol]` and, as `fdb.NAME`, of the store in `[fdb]`: its bounds, and
    its default or what it follows from."""
    from ddlsim.fdb.settings import STORE_SETTINGS
    from ddlsim.model.settings import SETTINGS

    for name, one in SETTINGS.items():
        yield _setting(name, one, "IEP-98" if one.clauses else OURS)
    for name, one in STORE_SETTINGS.items():
        yield _setting(f"fdb.{name}", one, f"FoundationDB, {one.source}" if one.source else OURS)


def _setting(name: str, one: "Setting", source: str) -> Entry:
    from ddlsim.model.settings import PRESETS

    more = {
        "unit": one.unit or None,
        "default": one.default,
        "follows": None if one.rule is None else one.rule.words,
        "least": None if one.is_switch else one.least,
        "most": one.most,
        "per_node": one.per_node,
        "presets": {preset: given[name] for preset, given in PRESETS.items() if name in given},
        "clauses": list(one.clauses),
    }
    return _entry(name, one.doc, source, one.otherwise, **more)


def figures() -> Iterator[Entry]:
    """Every figure, and what its sweep must vary."""
    from ddlsim.analysis.figures.catalog import PLOTS

    sources = {
        "history": "a run",
        "sweep": "a sweep",
        "tune": "what tune found",
        "compare": "the JSON of compare",
        "prediction": "what tune --from predicts",
    }
    for name, plot in PLOTS.items():
        paths = [need.path for need in plot.needs]
        source = sources[plot.of]
        over = f"over {', '.join(paths) or 'designs'}" if plot.of == "sweep" else f"of {source}"
        more = {"needs": [need.name for need in plot.needs], "paths": paths}
        yield _entry(name, plot.summary, source, over, **more)


def schemas() -> Iterator[Entry]:
    """Every JSON Schema; `ddlsim list schemas NAME` prints it."""
    from ddlsim.cli.documents import schemas as known

    for name, one in known.SCHEMAS.items():
        yield _entry(name, one.summary, one.source, one.source)


def terms() -> Iterator[Entry]:
    """Every word that screens show."""
    from ddlsim.model.terms import terms as known

    return (_entry(*one) for one in known())


LISTS: Final[dict[str, Callable[[], Iterable[Entry]]]] = {
    "scenarios": scenarios,
    "strategies": strategies,
    "mutants": mutants,
    "faults": faults,
    "workloads": workloads,
    "checkers": checkers,
    "clauses": clauses,
    "findings": findings,
    "reasons": reasons,
    "probes": probes,
    "moments": moments,
    "rules": rules,
    "scopes": scopes,
    "settings": settings,
    "figures": figures,
    "terms": terms,
    SCHEMAS: schemas,
}
