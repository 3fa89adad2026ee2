"""What the pages and figures of the study show, made of its stored JSON alone."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from ddlsim.analysis.databases.findings import FINDINGS, Finding
from ddlsim.analysis.databases.grid import NAMES
from ddlsim.foreign.recording.crossings import MEANING
from ddlsim.graph.models import model_of

Json = dict[str, Any]
SAID: Final = {
    "postgresql": "PostgreSQL", "mariadb": "MariaDB", "duckdb": "DuckDB", "sqlite": "SQLite",
}  # fmt: skip
OUTCOMES: Final = ("ok", "info")
NAMED: Final[tuple[str, ...]] = (
    "future-column", "stale-columns", "vanished-rows", "duplicate-under-unique",
    "incompatible-order", "lost-update",
)  # fmt: skip
"""Anomalies that the table tells where there is one; the others are the same as cycles."""
WORDS: Final = {"incompatible-order": "lost appends", "lost-update": "lost updates"}


MEANINGS: Final = {
    **MEANING,
    "incompatible-order": "an append was committed and read, and is in no later read",
    "lost-update": "two transactions read one version of a row, and both wrote the next",
}


class Shown(NamedTuple):
    """A cell of the table: its word, and whether that tells of an anomaly."""

    text: str
    bad: bool
    off: bool = False


class Row(NamedTuple):
    """A database at a level: what it is judged by, and its cells."""

    database: str
    level: str
    promise: str
    cells: tuple[Shown, ...]


class Cost(NamedTuple):
    """What changes of tables cost in a cell, as text."""

    database: str
    level: str
    workload: str
    changes: str
    change_ms: str
    apart_ms: str
    beside_ms: str
    stall_ms: str
    aborted: str


class View(NamedTuple):
    """All of it."""

    title: str
    lead: tuple[str, ...]
    workloads: tuple[str, ...]
    rows: tuple[Row, ...]
    costs: tuple[Cost, ...]
    strictest: tuple[Cost, ...]
    meanings: tuple[tuple[str, str], ...]
    examples: dict[str, tuple[str, Json]]
    servers: tuple[str, ...]


def of(study: Json) -> View:
    """The view of a study."""
    cells: list[Json] = study["cells"]
    workloads = tuple(dict.fromkeys(one["workload"] for one in cells))
    done = [one for one in cells if not one["lacks"]]
    costs = tuple(map(_cost, done))
    levels = {name: next(iter(_levels(cells, name)), "") for name in NAMES}
    return View(
        "What ALTER TABLE leaves of an isolation level", tuple(_lead(study, done)), workloads,
        tuple(_rows(cells, workloads)), costs,
        tuple(one for one in costs if one.level == levels[one.database]),
        tuple(_meanings(done)), dict(_examples(done)),
        tuple(dict.fromkeys(f"{one['server']} ({one['driver']})" for one in done)),
    )  # fmt: skip


def _lead(study: Json, done: Sequence[Json]) -> Iterator[str]:
    runs = [run for one in done for run in one["runs"]]
    bad = [one for one in done if anomalies(one)]
    servers = ", ".join(dict.fromkeys(one["server"] for one in done))
    yield (
        f"{len(runs)} recordings of {study['seconds']:g} seconds of {servers}: "
        f"{sum(run['committed'] for run in runs):,} committed transactions, "
        f"{sum(run['changes'] for run in runs):,} of them with a change of a table, each recording "
        f"judged by what the documentation promises for its level of isolation."
    )
    for name in NAMES:
        mine = [one for one in done if one["database"] == name]
        shown = [one for one in bad if one["database"] == name]
        if mine and shown:
            yield f"{SAID[name]}: {_types(shown)}; {len(shown)} of {len(mine)} cells."
        elif mine:
            yield f"{SAID[name]}: no anomaly in {len(mine)} cells."


def _meanings(done: Sequence[Json]) -> Iterator[tuple[str, str]]:
    """What each anomaly of the table is."""
    seen = {type_ for one in done for type_ in anomalies(one)}
    for type_ in NAMED:
        if type_ in seen and type_ in MEANINGS:
            yield WORDS.get(type_, type_), MEANINGS[type_]


def _types(shown: Sequence[Json]) -> str:
    """Anomalies with the levels at which they were seen."""
    levels: dict[str, list[str]] = {}
    for one in shown:
        for type_ in anomalies(one):
            at = levels.setdefault(type_, [])
            at += [_level(one["level"])] * (_level(one["level"]) not in at)
    groups: dict[tuple[str, ...], list[str]] = {}
    for type_, at in levels.items():
        groups.setdefault(tuple(at), []).append(WORDS.get(type_, type_))
    return "; ".join(f"{_listed(types)} at {_listed(at)}" for at, types in groups.items())


def _listed(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def anomalies(cell: Json) -> dict[str, int]:
    """The anomalies that have names, over all recordings of a cell, and how many of each."""
    found: dict[str, int] = {}
    for run in cell["runs"]:
        counts = dict(run["crossings"])
        if run["outcome"] == "violated":
            model = model_of(cell["promise"])
            counts |= {
                type_: count
                for type_, count in run["counts"].items()
                if type_ in NAMED[:4] or model.forbids_type(type_)
            }
        for type_, count in counts.items():
            found[type_] = found.get(type_, 0) + count
    named: dict[str, int] = {type_: found[type_] for type_ in NAMED if type_ in found}
    return named or dict(sorted(found.items()))


def _level(name: str) -> str:
    return name.replace("-", " ").upper()


def _levels(cells: Sequence[Json], database: str) -> list[str]:
    return list(dict.fromkeys(one["level"] for one in cells if one["database"] == database))


def _rows(cells: Sequence[Json], workloads: Sequence[str]) -> Iterator[Row]:
    known = {(one["database"], one["level"], one["workload"]): one for one in cells}
    for database in NAMES:
        for level in _levels(cells, database):
            mine = [known.get((database, level, workload)) for workload in workloads]
            promise = next((one["promise"] for one in mine if one and not one["lacks"]), "")
            shown = tuple(map(_shown, mine))
            yield Row(SAID[database], _level(level), promise, shown)


def _shown(cell: Json | None) -> Shown:
    if cell is None or cell["lacks"]:
        lacks = "" if cell is None else cell["lacks"]
        offered = lacks and not lacks.startswith("needs")
        return Shown("not offered" if offered else "not recorded", bad=False, off=True)
    found = anomalies(cell)
    by = "*" if any(run["crossings"] for run in cell["runs"]) else ""
    text = ", ".join(f"{WORDS.get(type_, type_)}{by} {count:,}" for type_, count in found.items())
    return Shown(text or "ok", bad=bool(found))


def _cost(cell: Json) -> Cost:
    ddl, dml = cell["ddl"], cell["dml"]
    tried = sum(ddl["ended"].values())
    return Cost(
        cell["database"], cell["level"], cell["workload"],
        f"{ddl['ended'].get('ok', 0):,} of {tried:,}", _ends(ddl["ms"], "max"),
        _ends(dml["apart_ms"], "p99"), _ends(dml["beside_ms"], "p99"),
        _ends(dml["stall_ms"], "max"), _aborted(dml["ended"]),
    )  # fmt: skip


def _ends(spread: Json, upper: str) -> str:
    if not spread["n"]:
        return "-"
    return f"{_ms(spread['p50'])} / {_ms(spread[upper])}"


def _ms(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _aborted(ended: dict[str, int]) -> str:
    """The share of transactions that failed, by their reason, the largest first."""
    total = sum(ended.values())
    why = sorted((-n, word) for word, n in ended.items() if word not in OUTCOMES)
    if not why:
        return "none"
    return ", ".join(f"{word} {100 * -n / total:.2g} %" for n, word in why)


def _examples(done: Sequence[Json]) -> Iterator[tuple[str, tuple[str, Json]]]:
    for one in FINDINGS:
        found = _example(one, done)
        if found is not None:
            yield one.title, found


def _example(finding: Finding, done: Sequence[Json]) -> tuple[str, Json] | None:
    """The shortest example of a finding's first type that was recorded, and where."""
    for type_ in finding.types:
        mine = [
            one
            for one in done
            if one["database"] == finding.database
            and type_ in {*one["examples"]} & {*anomalies(one)}
        ]
        if mine:
            best = min(mine, key=lambda one: len(one["examples"][type_]["lines"]))
            where = f"{SAID[best['database']]}, {_level(best['level'])}, {best['workload']}"
            return where, best["examples"][type_]
    return None
