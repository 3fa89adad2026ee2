"""JSON Schemas of every file that is read and every document that is printed.

They are generated from the records that read a file and from the shapes of the documents. What the
program knows by name (designs, rules, probes, workloads, faults, ...) stands in them, plug-ins that
were loaded included. Inputs are strict, as their readers are; documents may get more fields.
`sim/schemas/` and the documentation have them as files.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, Final, NamedTuple

import msgspec

from ddlsim.analysis.compare.advise import AdviceTable, invariants
from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.judge import Violation
from ddlsim.checkers.outcome import STATUSES
from ddlsim.cli.documents import (
    shapes,
    shapes_ablate,
    shapes_compare,
    shapes_explain,
    shapes_explore,
    shapes_hunt,
    shapes_predict,
    shapes_record,
    shapes_rehearse,
    shapes_shrink,
)
from ddlsim.cli.documents import (
    shapes_list as list_shapes,
)
from ddlsim.layer.switches import FEATURES
from ddlsim.lint import document as lint
from ddlsim.model import probes
from ddlsim.model.clauses import CLAUSES, PAUSE_POINTS
from ddlsim.model.reasons import Reason
from ddlsim.model.settings import PRESETS, REQUIRED
from ddlsim.mutants.base import MUTANTS
from ddlsim.nemesis.base import FAULTS
from ddlsim.record.rehearsal.load_file import LoadTable
from ddlsim.registry import Registry
from ddlsim.scenario.config import NodeClock, NodeProtocol
from ddlsim.scenario.expect import WORDS
from ddlsim.scenario.faults import FaultTimes
from ddlsim.scenario.moments import moments
from ddlsim.scenario.rules import fields_of_designs, is_number, planes, rules_of
from ddlsim.scenario.scenario import NO_MUTANT
from ddlsim.scenario.script import EVENT
from ddlsim.scenario.tables import ScenarioTable
from ddlsim.scenario.vocabulary import all_kinds
from ddlsim.strategies.base import DESIGNS, LAYER_DESIGNS
from ddlsim.workload.base import WORKLOADS

Schema = dict[str, Any]
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
DEFS: Final = "#/$defs/"
MS: Final[Schema] = {"type": "number", "minimum": 0}
VALUE: Final[Schema] = {"type": ["boolean", "number", "string"]}
KEY: Final[Schema] = {"anyOf": [VALUE, {"type": "array", "items": VALUE, "minItems": 2}]}
NULL: Final[Schema] = {"const": {"null": True}}
CELLS: Final[Schema] = {"type": "object", "additionalProperties": {"anyOf": [VALUE, NULL]}}


class Published(NamedTuple):
    """A schema: what it describes, the command or file that it belongs to, and how it is made."""

    summary: str
    source: str
    make: Callable[[], Schema]


def schema(name: str) -> Schema:
    """The schema of this name."""
    published = SCHEMAS[name]
    made = published.make()
    head = {"$schema": DIALECT, "title": f"ddlsim {name}", "description": published.summary}
    return head | made


# --- from records --------------------------------------------------------------------------------


def _components(types: Iterable[Any]) -> dict[str, Schema]:
    """The schemas of types and of all that they contain, by name, their docstrings as prose."""
    _, made = msgspec.json.schema_components(list(types), ref_template=f"{DEFS}{{name}}")
    return {name: _tidy(made[name]) for name in sorted(made)}


def _tidy(found: Any) -> Any:
    """Docstrings without the indentation of the code."""
    if isinstance(found, list):
        return [_tidy(each) for each in found]
    if not isinstance(found, dict):
        return found
    return {
        key: inspect.cleandoc(each) if key == "description" and isinstance(each, str)
        else _tidy(each)
        for key, each in found.items()
    }  # fmt: skip


def _without_null(found: Any) -> Any:
    """The same for a file of TOML, which has no null."""
    if isinstance(found, list):
        return [_without_null(each) for each in found if each != {"type": "null"}]
    if not isinstance(found, dict):
        return found
    kept = {k: _without_null(v) for k, v in found.items() if (k, v) != ("default", None)}
    only = kept.get("anyOf", ())
    return {**kept, **kept.pop("anyOf")[0]} if len(only) == 1 else kept


def _document(*shapes_: Any) -> Callable[[], Schema]:
    """What makes the schema of a document that has one of these shapes."""

    def made() -> Schema:
        defs = _components(shapes_)
        roots = [_ref(each.__name__) for each in shapes_]
        return {**(roots[0] if len(roots) == 1 else {"anyOf": roots}), "$defs": defs}

    return made


def _check() -> Schema:
    return _with_witness(_document(shapes.Check)(), "Checked")


def _record() -> Schema:
    return _with_witness(_document(shapes_record.Record)(), "Checked")


def _rehearse() -> Schema:
    return _with_witness(_document(shapes_rehearse.Rehearse)(), "Checked")


def _load() -> Schema:
    defs = _components([LoadTable])
    return {**_ref("LoadTable"), "$defs": _without_null(defs)}


def _facts() -> Schema:
    defs = _components([AdviceTable])
    system = defs["SystemTable"]["properties"]
    system["store_has"]["items"] = _known(FEATURES)
    system["invariants"]["items"] = _known(invariants())
    return {**_ref("AdviceTable"), "$defs": _without_null(defs)}


def _explain() -> Schema:
    made = _document(shapes_explain.Explain, shapes_explain.ExplainForeign)()
    return _with_witness(made, "ExplainForeign")


def _with_witness(made: Schema, shape: str) -> Schema:
    """The violations of a file: of this program's history, or of a witness log."""
    made["$defs"] |= _components([Violation, shapes.WitnessViolation])
    kinds = {"anyOf": [_ref("Violation"), _ref("WitnessViolation")]}
    made["$defs"][shape]["properties"]["violations"] = {"type": "array", "items": kinds}
    return made


def _list() -> Schema:
    """A list has entries of one shape; one without further keys must not pass for another's."""
    kinds = list(dict.fromkeys(list_shapes.LISTED.values()))
    defs = _components(kinds)
    defs["Listed"]["additionalProperties"] = False
    lists = [{"type": "array", "items": _ref(kind.__name__)} for kind in kinds]
    return {"anyOf": lists, "$defs": defs}


# --- scenarios -----------------------------------------------------------------------------------


def _scenario() -> Schema:
    defs = _components([ScenarioTable, NodeProtocol, NodeClock, FaultTimes])
    times = defs.pop("FaultTimes")["properties"]
    defs["Moment"] = _known(moments())
    _narrow(defs["MomentTable"]["properties"], "moment", _ref("Moment"))
    for key in ("when", "until"):
        times[key] = {"anyOf": [_ref("Moment"), _ref("MomentTable")]}
    top = defs["ScenarioTable"]["properties"]
    names = sorted({*CHECKERS, *(one.invariant for _, one in CHECKERS.items())})
    defs["Expect"] = _expect(names)
    defs["Strategy"] = _strategy()
    defs["Do"], defs["StepExpect"] = _do(), _step_expect()
    defs |= {f"workload {name}": _plugin(name, kind, {}) for name, kind in WORKLOADS.items()}
    defs |= {f"fault {name}": _plugin(name, kind, times) for name, kind in FAULTS.items()}
    _narrow(top, "expect", _ref("Expect"))
    _narrow(top, "expect_under", _under("Expect"))
    _narrow(top, "strategy", _ref("Strategy"))
    _narrow(top, "workload", _any_of("workload", WORKLOADS))
    _narrow(top, "faults", _any_of("fault", FAULTS))
    plane = {"properties": {"plane": {"const": "fdb"}}, "required": ["plane"]}
    layered = {"properties": {"cluster": plane}, "required": ["cluster"]}
    of_layers = {"properties": {"name": _known(LAYER_DESIGNS)}, "required": ["name"]}
    designed = {"properties": {"strategy": of_layers}, "required": ["strategy"]}
    numbers = {"anyOf": [{"required": ["preset"]}, {"required": list(REQUIRED)}]}
    protocol = {"properties": {"protocol": numbers}, "required": ["protocol"]}
    defs["ScenarioTable"]["anyOf"] = [protocol, layered, designed]
    top["clauses"]["items"] = _known(clause.id for clause in CLAUSES)
    for key in ("reaches", "never_reaches"):
        top[key]["items"] = _known(probe.name for probe in probes.known())
    _narrow(defs["Protocol"]["properties"], "preset", _known(PRESETS))
    _narrow(defs["Protocol"]["properties"], "nodes", _each("NodeProtocol"))
    _narrow(defs["Clocks"]["properties"], "nodes", _each("NodeClock"))
    defs["Cluster"]["properties"]["nodes"]["anyOf"][1]["uniqueItems"] = True
    defs["Clocks"] |= _never("offset_ms", "max_skew_ms")
    defs["Schema"] |= _never("sql", "file")
    defs["Migration"] |= _either("sql", "file")
    _script(defs)
    return {**_ref("ScenarioTable"), "$defs": _without_null(dict(sorted(defs.items())))}


def _script(defs: dict[str, Schema]) -> None:
    """What only a scripted scenario has."""
    step = defs["StepTable"]["properties"]
    _narrow(step, "do", _ref("Do"))
    _narrow(step, "expect", _ref("StepExpect"))
    _narrow(step, "expect_under", _under("StepExpect"))
    event = {"type": "string", "pattern": EVENT.pattern}
    for table, key in (("StepTable", "after"), ("HoldTable", "until"), ("PauseTable", "until")):
        _narrow(defs[table]["properties"], key, event)
    for table in ("HoldTable", "Link"):
        _narrow(defs[table]["properties"], "kind", _known(all_kinds()))
    point = _known(point.name for point in PAUSE_POINTS)
    _narrow(defs["PauseTable"]["properties"], "point", point)
    for table in ("HoldTable", "PauseTable"):
        defs[table] |= _either("until", "until_ms")
    for_good: Schema = {"lost": {"const": True}, "until": False, "until_ms": False}
    defs["HoldTable"]["oneOf"].append({"required": ["lost"], "properties": for_good})
    defs["StepTable"] |= _either("do", "ddl")
    defs["StepTable"]["dependentSchemas"] = {
        "at_ms": {"properties": {"plus_ms": False}},
        "ddl": {"properties": {"tx": False}},
    }
    defs["ClockTable"]["anyOf"] = [{"required": ["offset_ms"]}, {"required": ["drift_ppm"]}]


def _narrow(properties: dict[str, Schema], key: str, to: Schema) -> None:
    """Say more of a key than the type of its field does; its default stays."""
    kept = {name: properties[key][name] for name in ("default",) if name in properties[key]}
    properties[key] = {**to, **kept}


def _either(*keys: str) -> Schema:
    """Just one of these keys."""
    return {"oneOf": [{"required": [key]} for key in keys]}


def _never(*keys: str) -> Schema:
    """Not all of these keys."""
    return {"not": {"required": list(keys)}}


def _ref(name: str) -> Schema:
    return {"$ref": f"{DEFS}{name}"}


def _known(names: Iterable[str]) -> Schema:
    return {"enum": list(names)}


def _each(name: str) -> Schema:
    return {"type": "object", "additionalProperties": _ref(name)}


def _under(name: str) -> Schema:
    """A table by designs: `iep`, `iep + no_commit_check`."""
    pattern = rf"^(?:{'|'.join(DESIGNS)})(?: \+ (?:{'|'.join(MUTANTS)}))?$"
    return {**_each(name), "propertyNames": {"pattern": pattern}}


def _any_of(kind: str, known: Registry[Any]) -> Schema:
    return {"type": "array", "items": {"oneOf": [_ref(f"{kind} {name}") for name in known]}}


def _plugin(name: str, kind: type[Any], more: dict[str, Schema]) -> Schema:
    """The table of a workload or fault: its record's fields, and its name."""
    found = _components([kind])[kind.__name__]
    types = {each.name for each in fields(kind)}
    properties = {key: each for key, each in found["properties"].items() if key in types}
    if more and "kind" in properties:
        _narrow(properties, "kind", _known([*all_kinds()]))
    summary: str = getattr(kind, "summary")  # noqa: B009 - of every plug-in, not of its type
    if getattr(kind, "instant", False):
        more = {key: each for key, each in more.items() if key not in ("for_ms", "until")}
    return {
        "type": "object",
        "description": f"{summary}.\n\n{inspect.getdoc(kind)}",
        "properties": {"name": {"const": name}, **properties, **more},
        "required": ["name", *found["required"]],
        "additionalProperties": False,
    }


def _strategy() -> Schema:
    """`[strategy]`: a design, a mutant of it, and rules of single fields."""
    properties: dict[str, Schema] = {
        "name": _known(DESIGNS),
        "mutant": _known([*MUTANTS, NO_MUTANT]),
    }
    for plane in planes():
        for field in fields_of_designs(plane):
            number = {"type": "integer", "minimum": 0}
            known = number if is_number(field, plane) else _known(rules_of(field, plane))
            before = properties.get(field)
            properties[field] = known if before is None else {"anyOf": [before, known]}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _expect(names: list[str]) -> Schema:
    """The outcome that a scenario expects."""
    one, finding = _known(names), {"type": "string", "pattern": r"^F-\d+$"}
    judges = {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}
    signature = {"signature": {"type": "string", "minLength": 1}}
    return {
        "anyOf": [
            _known(list(WORDS)),
            *(_object({kind: judges} | signature, kind) for kind in STATUSES),
            _object({"finding": finding} | signature, "finding"),
        ]
    }


def _object(properties: dict[str, Schema], *required: str) -> Schema:
    """A table of these keys and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _do() -> Schema:
    """`do` of a step: begin, commit, rollback, an operation as a list, or a statement of SQL."""
    writes = {"enum": ["put", "insert", "strict", "replace"]}
    table = {"type": "string"}

    def form(*parts: Schema) -> Schema:
        return {"type": "array", "prefixItems": [*parts], "items": False, "minItems": len(parts)}

    return {
        "anyOf": [
            {"enum": ["begin", "commit", "rollback"]},
            {"type": "string", "pattern": r"^\s*\S+\s+\S"},
            form({"enum": ["get", "delete"]}, table, KEY),
            form(writes, table, KEY),
            form(writes, table, KEY, CELLS),
            form({"const": "scan"}, table),
            form({"const": "find"}, table, table, CELLS),
        ]
    }


def _step_expect() -> Schema:
    """What a step must come to."""
    reason = _known(one.name for one in Reason)
    reasons = {"anyOf": [reason, {"type": "array", "items": reason, "minItems": 1}]}
    words = {"enum": ["ok", "unknown"]}
    cell = {"anyOf": [VALUE, NULL, {"const": {"absent": True}}]}
    rows = {"type": "array", "items": {"type": "object", "additionalProperties": cell}}
    ends: Schema = {"outcome": words, "aborts": reasons, "fails": reasons, "rows": rows,
            "answer": {"type": "boolean"}}  # fmt: skip
    times: Schema = dict.fromkeys(("waits_until_ms", "commit_ts_ms", "tu_ms"), MS)
    version = {"type": "integer", "minimum": 1}
    more: Schema = {"exact": {"type": "boolean"}, "tolerance_ms": MS}
    event: Schema = _object({**ends, **times, "version": version, **more})
    event["anyOf"] = [{"required": [key]} for key in (*ends, *times, "version")]
    event["not"] = {"anyOf": [{"required": [a, b]} for a in ends for b in ends if a < b]}
    event["dependentRequired"] = {"exact": ["rows"]}
    return {"anyOf": [words, event]}


# --- sweeps --------------------------------------------------------------------------------------


def _sweep() -> Schema:
    from ddlsim.analysis.sweep.sweep_file import HISTORIES, SweepTable

    defs = _components([SweepTable])
    top = defs["SweepTable"]["properties"]
    top["seeds"] = {
        "anyOf": [{"type": "string", "pattern": r"^\s*\d+\s*\.\.\s*\d+\s*$"},
                  {"type": "integer", "minimum": 1}]
    }  # fmt: skip
    share = {"type": "number", "minimum": 0, "maximum": 1}
    _narrow(top, "histories", {"anyOf": [_known(HISTORIES), share]})
    for key, known in (("strategies", DESIGNS), ("mutants", [*MUTANTS, NO_MUTANT])):
        lists = {"type": "array", "items": _known(known), "minItems": 1}
        _narrow(top, key, lists)
    values: list[Schema] = [{"type": "array", "minItems": 1}, {"type": "string"}]
    names = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    path: Schema = {"anyOf": [{"type": "string"}, names]}
    named = _object({"path": path, "values": {"anyOf": values}}, "path", "values")
    axis = {"anyOf": [*values, named]}
    _narrow(top, "parameters", {"type": "object", "additionalProperties": axis})
    return {**_ref("SweepTable"), "$defs": _without_null(defs)}


SCHEMAS: Final[dict[str, Published]] = {
    "scenario": Published("a scenario file (TOML)", "ddlsim run SCENARIO", _scenario),
    "sweep-file": Published("a sweep file (TOML)", "ddlsim sweep SWEEP.toml", _sweep),
    "run": Published(
        "the result of a run, with `--swarm` too; summary.json of `--out`",
        "ddlsim run --output json",
        _document(shapes.Run),
    ),
    "check": Published("verdicts on histories", "ddlsim check --output json", _check),
    "record": Published(
        "a recording of a database, and its verdict", "ddlsim record --output json", _record
    ),
    "rehearse": Published(
        "a rehearsal of a migration; rehearsal.json of `--out`",
        "ddlsim rehearse --output json",
        _rehearse,
    ),
    "load": Published(
        "a load of a rehearsal (TOML)", "ddlsim rehearse --load WORKLOAD.toml", _load
    ),
    "facts": Published("the facts about a system (TOML)", "ddlsim advise FACTS.toml", _facts),
    "explain": Published(
        "the arguments against a history",
        "ddlsim explain --output json",
        _explain,
    ),
    "compat": Published(
        "the lint of a migration", "ddlsim compat --output json", _document(lint.Report)
    ),
    "shrink": Published(
        "a shrunk scenario", "ddlsim shrink --output json", _document(shapes_shrink.Shrink)
    ),
    "verify": Published(
        "the result of the regression suite",
        "ddlsim verify --output json",
        _document(shapes.Verify),
    ),
    "sweep": Published(
        "what a sweep came to", "ddlsim sweep --output json", _document(shapes.Sweep)
    ),
    "explore": Published(
        "what the runs of a small world with few late messages came to",
        "ddlsim explore --output json",
        _document(shapes_explore.Explore, shapes_explore.ExploreScope),
    ),
    "ablate": Published(
        "rules of a scope, or mutants of a scenario, and the invariants that show them",
        "ddlsim ablate --output json",
        _document(shapes_ablate.AblateScope, shapes_ablate.AblateScenario),
    ),
    "hunt": Published(
        "what a hunt came to and found", "ddlsim hunt --output json", _document(shapes_hunt.Hunt)
    ),
    "compare": Published(
        "designs side by side",
        "ddlsim compare --output json",
        _document(shapes_compare.Compare),
    ),
    "advise": Published(
        "the designs that fit a system",
        "ddlsim advise --output json",
        _document(shapes_compare.Advise),
    ),
    "tune": Published(
        "the recommended settings; tune.json of `--out`",
        "ddlsim tune --output json",
        _document(shapes.Tune),
    ),
    "predict": Published(
        "what a recorded database is predicted to do, and did; prediction.json of `--out`",
        "ddlsim tune --from --output json",
        _document(shapes_predict.Predict),
    ),
    "list": Published("what there is to choose from", "ddlsim list --output json", _list),
}
"""Every schema by its name."""
