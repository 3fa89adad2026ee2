"""ddlsim from Python, for notebooks and tests: what the commands do, with results as values.

>>> import ddlsim
>>> runs = ddlsim.run("strategies/B3-T1")
>>> runs.outcome, runs.as_expected
('violated', True)
>>> [one.kind for one in runs.violations]
['schema-G-single', 'ddl-not-seen']
>>> graph = runs.graph()
>>> graph.nodes["D2"]["kind"], graph.nodes["D2"]["sql"]
('ddl', 'ALTER TABLE t ADD COLUMN w INT')
>>> import networkx as nx
>>> sorted(nx.find_cycle(graph)[0][:2])
['D2', 'T2']

What a command takes as a flag is a keyword here (`all_claims=True`); environment variables are not
looked at. What cannot be used raises `ValueError`, in the words of the command; a library of an
extra that is missing raises `ImportError` with the command that installs it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import msgspec

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.graph.networkx_graph import networkx_graph
from ddlsim.checkers.judge import Violation
from ddlsim.cli import arguments
from ddlsim.cli.documents import documents
from ddlsim.cli.documents.run import Report
from ddlsim.cli.problems import InputError, unusable
from ddlsim.cli.verbs import check as verb_check
from ddlsim.cli.verbs import compat as verb_compat
from ddlsim.cli.verbs import run as verb_run
from ddlsim.cli.verbs.check_foreign import Foreign
from ddlsim.cluster.run import run as run_plan
from ddlsim.extras import needed_by
from ddlsim.history import codec
from ddlsim.history.events import AnyEvent
from ddlsim.history.figures import Figures
from ddlsim.history.history import History
from ddlsim.layer.design import LayerDesign
from ddlsim.lint import compat as linter
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.protocol.strategy import Strategy
from ddlsim.scenario.tomltext import toml_value
from ddlsim.strategies.base import DESIGNS
from ddlsim.verify.campaign import Runner, swarm_source

__all__ = ["Checked", "Migration", "Runs", "check", "compat", "run", "strategy"]


Facts = Iterable[tuple[str, str]]
"""What is shown of a result: names and values."""


class Runs:
    """What `run` found: rows, verdicts and figures; any run's events and graph."""

    def __init__(self, report: Report, runner: Runner) -> None:
        self.report = report
        """What the command prints."""
        self._runner = runner
        self._histories: dict[int, History] = {}

    @property
    def outcome(self) -> str:
        """The worst outcome of all runs."""
        return self.report.sum.outcome.word

    @property
    def as_expected(self) -> bool:
        """Whether everything ended as the scenario says."""
        return self.report.sum.as_expected

    @property
    def verdicts(self) -> dict[int, str]:
        """The outcome of each seed."""
        return {row.seed: row.outcome.word for row in self.report.sum.runs}

    @property
    def violations(self) -> tuple[Violation, ...]:
        """What was found, in the order of the seeds; each tells its `status`."""
        return tuple(one for row in self.report.sum.runs for one in row.violations)

    @property
    def figures(self) -> Figures | None:
        """The figures of all runs together; None where no run has any."""
        return self.report.figures

    @property
    def command(self) -> str:
        """The command that repeats the first failed run, or the first run."""
        return self.report.command

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document of `ddlsim run --output json`."""
        return _plain(self.report.document())

    @cached_property
    def rows(self) -> Any:
        """A `pandas.DataFrame` with a row for each run: seed, outcome, and one column a figure.

        A reason for which a run aborted nothing is 0 in its row, a figure that it has not is NaN.
        """
        with needed_by("rows"):
            import pandas as pd  # type: ignore[import-untyped]  # pandas ships no types
        table = pd.json_normalize(
            [
                {
                    "seed": row.seed,
                    "outcome": row.outcome.word,
                    "fingerprint": row.fingerprint,
                    "violations": len(row.violations),
                    **(msgspec.to_builtins(row.figures) if row.figures is not None else {}),
                }
                for row in self.report.sum.runs
            ]
        )
        for name in table.columns.difference(["outcome", "fingerprint"]):
            if name.startswith(("aborted.", "needless_aborts.")):
                table.loc[table["attempts"].notna() & table[name].isna(), name] = 0
                if table[name].notna().all():
                    table[name] = table[name].astype(int)
            elif table[name].dtype == object:  # no run has it
                table[name] = table[name].astype(float)
        return table

    def history(self, seed: int | None = None) -> History:
        """The record of one run (default: the first failed one, or the first).

        A run is a function of scenario and seed: it is run again, once.
        """
        rows = self.report.sum
        chosen = (rows.first_failed or rows.runs[0]).seed
        if seed is not None:
            chosen = arguments.seed_of(_number(seed))
        if chosen not in self.verdicts:
            raise ValueError(f"seed {chosen} was not run; there are {sorted(self.verdicts)}")
        if chosen not in self._histories:
            job = self._runner.job
            scenario = self._runner.scenario or swarm.scenario(swarm_source(job), chosen)
            planned = plan(scenario, chosen, trace=job.trace, models=True)
            self._histories[chosen] = run_plan(planned)
        return self._histories[chosen]

    def events(self, seed: int | None = None) -> Sequence[AnyEvent]:
        """The events of one run, in order."""
        return self.history(seed).events

    def graph(self, seed: int | None = None) -> Any:
        """The serialization graph of one run, a `networkx.MultiDiGraph`.

        Nodes are committed transactions, DDL statements with an update, and statements that only
        read the catalog (`kind`). Edges have a `kind` (ww, wr, rw, rt, process), the `name` that
        findings use, the sentence `because`, and `strict_only`. Real time (rt, process) is there in
        its least form: what follows from other such edges is left out.
        """
        return networkx_graph(Case(self.history(seed)))

    def _facts(self) -> Facts:
        design = " + ".join(filter(None, (self.report.strategy, self.report.mutant)))
        counted = {word: list(self.verdicts.values()).count(word) for word in _in(self.verdicts)}
        yield "scenario", self.report.scenario
        yield "design", design
        yield "outcome", self.outcome
        yield "runs", ", ".join(f"{times} {word}" for word, times in counted.items())

    def __repr__(self) -> str:
        return _line("Runs", self._facts())

    def _repr_html_(self) -> str:
        return _table((*self._facts(), ("repeat", self.command)))


class Checked:
    """What `check` found in one file."""

    def __init__(self, file: str, document: Mapping[str, Any]) -> None:
        self.file = file
        self.document = _plain(document)
        """The file's element of `ddlsim check --output json`."""

    @property
    def outcome(self) -> str:
        """How the history is judged."""
        return str(self.document["outcome"])

    @property
    def valid(self) -> bool | str:
        """Whether it is what it should be, or "unknown"."""
        found: bool | str = self.document["valid"]
        return found

    @property
    def anomalies(self) -> list[dict[str, Any]]:
        """What was found, each with its type, transactions, steps and explanation."""
        found: list[dict[str, Any]] = self.document["anomalies"]
        return found

    @cached_property
    def _history(self) -> History:
        if self.document["input"] != "native":
            raise ValueError(f"{self.file}: only histories of this program have events and a graph")
        return codec.load(self.file)

    @property
    def events(self) -> Sequence[AnyEvent]:
        """The events of a history of this program."""
        return self._history.events

    def graph(self) -> Any:
        """The serialization graph of a history of this program, as of `Runs.graph`."""
        return networkx_graph(Case(self._history))

    def _facts(self) -> Facts:
        types = ", ".join(one["type"] for one in self.anomalies) or "none"
        return ("file", self.file), ("outcome", self.outcome), ("anomalies", types)

    def __repr__(self) -> str:
        return _line("Checked", self._facts())

    def _repr_html_(self) -> str:
        return _table(self._facts())


class Migration:
    """What `compat` says of a migration."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        """The document of `ddlsim compat --output json`."""

    @property
    def exit_code(self) -> int:
        """0 where all transactions in flight survive, 1 where some abort, 3 where some statement
        is refused."""
        return linter.exit_code(self.document)

    @property
    def statements(self) -> list[dict[str, Any]]:
        """The statements with their verdicts."""
        found: list[dict[str, Any]] = self.document["statements"]
        return found

    def _facts(self) -> Facts:
        return ((one["sql"], _survival(one)) for one in self.statements)

    def __repr__(self) -> str:
        return _line("Migration", self._facts())

    def _repr_html_(self) -> str:
        return _table(self._facts())


def run(
    scenario: str | Path | None = None,
    *,
    seed: int | None = None,
    seeds: range | None = None,
    strategy: str | None = None,
    mutant: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **flags: Any,
) -> Runs:
    """Plan, run and judge a scenario for one seed or many, as `ddlsim run` does.

    `settings` are those of `--set`, by path; `flags` the others of the command (`migration`,
    `strict`, `all_claims`, `load`, `out`, `jobs`, `time`, `memory`, ...).

    >>> run("strategies/B3-T1", seed=0, settings={"cluster.nodes": 4}).verdicts
    {0: 'violated'}
    """
    if scenario is None and not flags.get("swarm"):
        raise ValueError("run: the scenario is missing; or say swarm=True")
    if seeds is not None and not _is_from_to(seeds):
        what = "a range of at least one seed, in steps of 1, such as range(100)"
        raise ValueError(f"run: seeds is {what}")
    given = {"seed": _number(seed), "seeds": seeds, "strategy": strategy, "mutant": mutant}
    changed = [_setting(path, value) for path, value in _items(settings)]
    options = arguments.options("run", {"scenario": scenario, **given, "set": changed, **flags})
    with _doing("run"):
        report, job = verb_run.judged(options)
        return Runs(report, Runner(job))


def check(path: str | Path, **flags: Any) -> Checked:
    """Judge a stored history, of this program or an external one, as `ddlsim check` does.

    `flags` are those of the command (`model`, `input`, `strict`, `all_claims`, `load`, `master`).

    >>> found = check("tests/golden/foreign/list-append/G-single.edn")
    >>> found.valid, [one["type"] for one in found.anomalies]
    (False, ['G-single', 'fractured-read'])
    """
    options = arguments.options("check", {**_apart(flags), "files": path})
    with _doing("check"):
        if Path(path).is_dir():
            raise InputError(f"{path}: is a folder; name one history")
        [judged] = verb_check.results_of(options)
    if isinstance(judged, InputError):
        raise judged
    kind = judged.input if isinstance(judged, Foreign) else "native"
    return Checked(str(path), {"input": kind, **judged.document()})


def compat(schema: str | Path | None = None, *migration: str | Path, **flags: Any) -> Migration:
    """Lint a migration of a schema, files or folders of them, as `ddlsim compat` does; with
    `from_scratch`, a file or a list of them, there is no schema before.

    >>> found = compat("scenarios/realistic/schema.sql", "scenarios/realistic/orders.sql")
    >>> found.exit_code
    1
    """
    files = migration if schema is None else (schema, *migration)
    options = arguments.options("compat", {**_apart(flags), "files": files})
    with _doing("compat"):
        return Migration(verb_compat.report_of(options))


def strategy(name: str) -> Strategy | LayerDesign:
    """A design by its name: its header with summary, source and claims, and a rule for each field.

    >>> strategy("iep").header.source
    'IEP-98, IEP-110'
    """
    return DESIGNS.get(str(name))


@contextmanager
def _doing(verb: str) -> Iterator[None]:
    """Errors about a missing library, or a file, have the words that the command has for them."""
    try:
        with needed_by(verb):
            yield
    except OSError as error:
        if error.filename is None:
            raise
        raise InputError(unusable(error)) from None


def _plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document as its reader has it from `--output json`."""
    found: dict[str, Any] = json.loads(documents.text(document))
    return found


def _apart(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags of a verb whose files are arguments of their own."""
    if "files" in flags:
        raise TypeError("files are given by position, not as files=")
    return flags


def _is_from_to(seeds: object) -> bool:
    return isinstance(seeds, range) and bool(seeds) and seeds.step == 1


def _items(settings: object) -> Iterable[tuple[str, Any]]:
    if settings is None:
        return ()
    if isinstance(settings, Mapping):
        return settings.items()
    raise ValueError(f"run: settings is a mapping of paths to values, not {settings!r}")


def _setting(path: str, value: Any) -> str:
    """A setting as the text of `--set`."""
    try:
        return f"{path}={toml_value(_number(value))}"
    except TypeError:
        raise ValueError(f"run: settings: {path}: no TOML value is {value!r}") from None


def _number(value: Any) -> Any:
    """A whole number or a fraction of another library, such as numpy, as Python's own."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return float(value) if isinstance(value, Real) and not isinstance(value, bool) else value


def _in(verdicts: Mapping[int, str]) -> list[str]:
    return sorted(set(verdicts.values()))


def _survival(statement: Mapping[str, Any]) -> str:
    """What becomes of the transactions in flight, in a word; or of the statement itself."""
    if statement["error"] is not None:
        return "refused"
    return "survive" if statement["forward_compatible"] else "abort"


def _line(kind: str, facts: Facts) -> str:
    """A result as one line of a Python shell."""
    return f"<{kind}: {'; '.join(f'{name}: {value}' for name, value in facts)}>"


def _table(facts: Facts) -> str:
    rows = (f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts)
    return f"<table>{''.join(rows)}</table>"
