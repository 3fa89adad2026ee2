"""`ddlsim rehearse`: a user's migration on a copy of their schema, under load, and what it did."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

from msgspec import structs

from ddlsim import files
from ddlsim.checkers.outcome import Outcome, worst
from ddlsim.cli import streams
from ddlsim.cli.documents import documents
from ddlsim.cli.documents.shapes import Checked
from ddlsim.cli.documents.shapes_rehearse import (
    CrossingLoad,
    LatencyOf,
    Predicted,
    RefusedBy,
    Rehearse,
    RehearsedStatement,
    RowAnomaly,
)
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.cli.verbs.check_foreign import Foreign
from ddlsim.cli.verbs.effects import effects
from ddlsim.cli.verbs.predicted import agreement, predictions
from ddlsim.cli.verbs.record import folder_of
from ddlsim.foreign import inputs
from ddlsim.foreign.recording.documented import DOCUMENTED
from ddlsim.history.history import FORMAT
from ddlsim.history.recording import STATEMENTS
from ddlsim.record import kept
from ddlsim.record.rehearsal import load_file, own_rows
from ddlsim.record.rehearsal.load_file import Load
from ddlsim.record.rehearsal.measure import (
    Crossing,
    Figures,
    Latency,
    Lines,
    Measured,
    lines_of,
    measure,
)
from ddlsim.record.rehearsal.migration import ENDS, OPENS, Mark, Order
from ddlsim.record.rehearsal.rehearse import Rehearsed, Script, Wanted, rehearse
from ddlsim.record.rehearsal.rows import Anomaly, anomalies
from ddlsim.record.rehearsal.stages.base import STAGES, Limits, Stage
from ddlsim.record.rehearsal.tables import schema_sql
from ddlsim.record.url import url_of, without_password
from ddlsim.scenario.files import text_at
from ddlsim.sql.errors import SqlError
from ddlsim.sql.splitting import split

KIND: Final = "recording"
DOCUMENT: Final = "rehearsal.json"
PAGE: Final = "rehearsal.html"
UNTAKEN: Final = "no column takes the load's values"
CROSSED: Final = "updates of other rows change its values, as triggers do"
OWN_LOAD: Final = (
    "values of rows are not judged: the load is your own, and its values are not known to be unique"
)


def execute(options: Options) -> int:
    """Rehearse, measure, tell; 1 for an anomaly or a stall that is too long, 3 for a refusal."""
    stage = staged(options)
    wanted = _wanted(stage, options)
    with _folder(options.out) as folder:
        done = rehearse(stage, wanted, folder)
        found, judged, picture = document(options, stage, wanted, done, folder)
        if options.out is not None:
            from ddlsim.cli.views import rehearse_page

            files.write_text(folder / DOCUMENT, documents.text(found))
            files.write_text(folder / PAGE, rehearse_page.html(found, picture))
    if options.output == "json":
        streams.write(documents.text(found))
    else:
        from ddlsim.cli.views import rehearse as view_rehearse
        from ddlsim.cli.views.words import console

        view_rehearse.show(found, judged, console())
    return Outcome.called(found["outcome"]).exit_code


def staged(options: Options) -> Stage:
    """The place of the rehearsal."""
    url = url_of(options.url)
    stage = STAGES.get(url.drivername)(url, prepared=False)
    if options.in_place and options.schema is not None:
        raise InputError("--schema: --in-place takes the tables that are there; keep one of them")
    stage.in_place = options.in_place
    stage.structure = options.schema is None
    return stage


def _wanted(stage: Stage, options: Options) -> Wanted:
    load = load_file.parsed("", "") if options.load is None else load_file.read(options.load)
    if options.clients is not None:
        load = Load(structs.replace(load.table, clients=options.clients), load.origin)
    isolation = options.isolation or load.table.isolation or stage.usual
    if isolation not in stage.levels:
        known = ", ".join(stage.levels)
        raise InputError(f"--isolation {isolation}: {stage.name} has no such level; it has {known}")
    limits = Limits(options.lock_timeout_ms, options.statement_timeout_ms)
    stage.limits = Limits(load.table.lock_timeout_ms, stage.limits.statement_ms)
    schema = None if options.schema is None else _script(stage, options.schema)
    return Wanted(
        _script(stage, options.migration), _sent(stage, options.load, load), schema, load,
        isolation, options.seed, options.rows, limits, options.before, options.pause, options.after,
    )  # fmt: skip


def _script(stage: Stage, file: str) -> Script:
    """The statements of a file; `InputError` where there are none, or it cannot be read."""
    try:
        found = split(text_at(file, file), stage.name)
    except SqlError as error:
        raise InputError(
            f"{file}:{error.line}: {error.message}; expected {error.expected}"
        ) from None
    if not found:
        raise InputError(f"{file}: there is no statement in it")
    return Script(file, tuple(Order(*one) for one in found))


def _sent(stage: Stage, file: str | None, load: Load) -> Script:
    """The statements of a load; `ScenarioError` for what is not one statement, or ends one."""
    orders: list[Order] = []
    for at, one in enumerate(load.table.transaction):
        for place, text in enumerate(one.statements):
            path = ("transaction", at, "statements", place)
            try:
                found = [Order(*each) for each in split(text, stage.name)]
            except SqlError as error:
                raise load.origin.error(path, error.message) from None
            if len(found) != 1 or found[0].begins(*OPENS, *ENDS):
                what = "expected one statement, which is sent between BEGIN and COMMIT"
                raise load.origin.error(path, what)
            orders.append(found[0]._replace(line=load.origin.line(path)))
    return Script(file or "", tuple(orders))


@contextmanager
def _folder(directory: str | None) -> Iterator[Path]:
    """The folder of --out, or one that is gone in the end, whatever ends this process."""
    if directory is not None:
        with folder_of(directory) as folder:
            yield folder
        return
    with kept.folder() as folder:
        yield folder


# --- the document --------------------------------------------------------------------------------


def document(
    options: Options, stage: Stage, wanted: Wanted, done: Rehearsed, folder: Path
) -> tuple[Rehearse, Foreign | None, list[tuple[float, float]]]:
    """The document, what the judge of histories says, and the latencies of the load over time."""
    clients = wanted.load.table.clients
    lines = lines_of(folder, clients, done.targets, [one.name for one in done.tables])
    figures = measure(lines, done.marks)
    notes = list(done.notes)
    rows, judged = _judged(options, stage, wanted, done, folder, lines, notes)
    began = min((one.at for one in lines.calls), default=0)
    statements = _statements(stage, done, figures, began)
    ended = done.tally.ended
    found: Rehearse = {
        "format": FORMAT,
        "command": command_of(options),
        "directory": options.out,
        "migration": options.migration,
        "outcome": _outcome(options, done, figures, rows, judged).word,
        "database": stage.name,
        "server": done.facts.server,
        "driver": done.facts.driver,
        "isolation": wanted.isolation,
        "says": done.says,
        "promise": done.promise,
        "in_place": stage.in_place,
        "source": _source(options, stage),
        "tables": [one.name for one in done.tables],
        "clients": clients,
        "seed": wanted.seed,
        "committed": ended["ok"],
        "failed": ended["fail"],
        "unknown": ended["info"],
        "why": dict(sorted(done.tally.why.items())),
        "before": _latency(figures.before),
        "after": _latency(figures.after),
        "aborts_before": figures.aborts_before,
        "longest_before_ms": round(figures.longest_before_ms, 3),
        "stall_ms": round(figures.stall_ms, 3),
        "stalled": figures.stalled,
        "max_stall_ms": options.max_stall_ms,
        "statements": statements,
        "anomalies": [_anomaly(stage, one) for one in rows],
        "notes": notes,
        "silent": done.silent,
        "check": None if judged is None else cast(Checked, judged.document()),
    }  # fmt: skip
    picture = [((one.until - began) / 1e6, (one.until - one.at) / 1e6)
               for one in lines.calls if one.table]  # fmt: skip
    return found, judged, picture


def _judged(
    options: Options,
    stage: Stage,
    wanted: Wanted,
    done: Rehearsed,
    folder: Path,
    lines: Lines,
    notes: list[str],
) -> tuple[list[Anomaly], Foreign | None]:
    """What is wrong with rows, and what the judge of histories says."""
    if wanted.load.table.transaction:
        notes.append(OWN_LOAD)
        load, mark = wanted.load, stage.mark
        found = own_rows.anomalies(lines, load, mark, done.targets, done.ends, done.marks, notes)
        return found, None
    found = anomalies(lines, done.targets, done.last, done.marks, notes)
    notes += [f"{one.name}: its rows are read, not written: {CROSSED if one.crossed else UNTAKEN}"
              for one in done.targets if one.column is None]  # fmt: skip
    notes += [f"{one.name}: neither read nor written: it has no primary key"
              for one in done.tables if not one.key]  # fmt: skip
    file = (folder / STATEMENTS).as_posix()
    shown = file if options.out else STATEMENTS
    return found, Foreign(shown, KIND, inputs.INPUTS[KIND].judge(file, None))


def _anomaly(stage: Stage, found: Anomaly) -> RowAnomaly:
    """What a database's documentation says is of rows that come back."""
    documented = DOCUMENTED.get((stage.name, found.type), "") if found.passing else ""
    return {
        "type": found.type,
        "table": found.table,
        "count": found.number,
        "example": found.example,
        "documented": documented,
    }


def _source(options: Options, stage: Stage) -> str:
    """What the migration was run on, in words."""
    if options.in_place:
        return f"{without_password(options.url)} itself"
    return options.schema or f"{without_password(options.url)} ({stage.source})"


def _outcome(
    options: Options, done: Rehearsed, figures: Figures, rows: list[Anomaly], judged: Foreign | None
) -> Outcome:
    found = [Outcome.OK if judged is None else judged.outcome]
    if rows or (options.max_stall_ms is not None and figures.stall_ms > options.max_stall_ms):
        found.append(Outcome.VIOLATED)
    if any(one.problem is not None for one in done.marks):
        found.append(Outcome.STUCK)
    if not done.tally.ended["ok"]:
        found.append(Outcome.VACUOUS)
    return worst(found)


def _statements(
    stage: Stage, done: Rehearsed, figures: Figures, began: int
) -> list[RehearsedStatement]:
    orders = [one.order for one in done.marks]
    told = predictions(schema_sql(done.tables, folds=stage.folds), orders, folds=stage.folds)
    empty = Measured(0.0, "", Latency(0, 0, 0, 0, 0), {}, {}, Crossing(0, 0))
    measured = iter(figures.statements)
    return [
        _statement(mark, began, next(measured) if mark.has_run else empty, predicted, figures)
        for mark, predicted in zip(done.marks, told, strict=True)
    ]


def _statement(
    mark: Mark, began: int, measured: Measured, predicted: Predicted, figures: Figures
) -> RehearsedStatement:
    problem = mark.problem
    refused: RefusedBy | None = None
    if problem is not None:
        refused = {"code": problem.code, "kind": problem.kind, "text": problem.text}
    crossing: CrossingLoad = {"transactions": measured.crossing.transactions,
                "aborted": measured.crossing.aborted}  # fmt: skip
    kinds, words = effects(measured, figures, mark.waited_ms)
    return {
        "line": mark.order.line,
        "sql": mark.order.sql,
        "ran": mark.has_run,
        "started_ms": round((mark.at - began) / 1e6, 3) if mark.has_run else 0.0,
        "duration_ms": round((mark.until - mark.at) / 1e6, 3),
        "waited_ms": None if mark.waited_ms is None else round(mark.waited_ms, 3),
        "behind": mark.behind,
        "waited_for": list(mark.holders),
        "stall_ms": round(measured.stall_ms, 3),
        "stalled": measured.stalled,
        "latency": _latency(measured.latency),
        "aborts": measured.aborts,
        "examples": measured.examples,
        "refused": refused,
        "predicted": predicted,
        "crossing": crossing,
        "agreement": agreement(predicted, crossing, refused=problem is not None)
        if mark.has_run
        else "not seen",
        "effects": kinds,
        "measured": words if mark.has_run else "it was not reached",
    }


def _latency(found: Latency) -> LatencyOf:
    return {
        "count": found.number,
        "p50_ms": round(found.p50_ms, 3),
        "p99_ms": round(found.p99_ms, 3),
        "max_ms": round(found.max_ms, 3),
        "per_s": round(found.per_s, 1),
    }


def command_of(options: Options) -> str:
    """The command that rehearses again; a password in the URL is left out, and so is the folder of
    `--out`, which holds the first rehearsal.
    """
    words = ["ddlsim", "rehearse", without_password(options.url), options.migration]
    for name in ("schema", "load", "clients", "isolation", "max_stall_ms"):
        value = getattr(options, name)
        if value is not None:
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            words += [f"--{name.replace('_', '-')}", shown]
    words += ["--rows", str(options.rows), "--seed", str(options.seed)]
    words += ["--lock-timeout-ms", str(options.lock_timeout_ms)]
    words += ["--statement-timeout-ms", str(options.statement_timeout_ms)]
    for name in ("before", "pause", "after"):
        words += [f"--{name}", f"{getattr(options, name):g}s"]
    return shlex.join(words + ["--in-place"] * options.in_place)
