"""Runs a sweep: the chunks that are missing, round by round, then the table of rows.

`analysis/spark/spread.py` runs the chunks. The duration of the work is estimated from a few runs
whose rows are dropped.
"""

import json
import time
from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import structs

from ddlsim.analysis.spark.spread import Workers
from ddlsim.analysis.sweep import grid, provenance, store
from ddlsim.analysis.sweep.chunks import Round, Tally, Work, sound
from ddlsim.analysis.sweep.rows import rows_of
from ddlsim.analysis.sweep.sweep_file import Sweep
from ddlsim.execute.isolation import Limits
from ddlsim.execute.workers import cores
from ddlsim.model.records import Record
from ddlsim.scenario import findings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PILOT_S: Final = 1.0
PILOT_SHARE: Final = 0.1
"""The pilot, whose rows are dropped, ends after so many seconds or this share of the runs."""
CHUNK_S: Final = 2.0
CHUNK_MOST: Final = 64
TEXTS_MOST: Final = 1 << 20
"""The number of characters of scenarios that a table keeps."""


class Options(Record, frozen=True):
    """How a sweep is run; of these only `loads` changes rows.

    `command` is the command line that makes the same rows, for their provenance. With `aggregates`
    the tables of figures are written too, whatever runs the sweep.
    """

    directory: str
    command: str
    master: str | None = None
    jobs: int | None = None
    resume: bool = False
    loads: tuple[str, ...] = ()
    outside: bool = False
    settings: tuple[tuple[str, str], ...] = ()
    aggregates: bool = False


class Done(NamedTuple):
    """The result of a sweep; `by` names what ran it."""

    cells: int
    runs: int
    rounds: int
    by: str
    tables: tuple[str, ...] = ()


class Watcher:
    """Is called with the progress of a sweep; does nothing by itself."""

    def plan(self, runs: int, done: Tally) -> None:
        """The number of runs in all, and those that are done already."""

    def ran(self, tally: Tally) -> None:
        """Further runs are done."""

    def note(self, text: str) -> None:
        """A line for the user."""


Next = Callable[[Callable[[], "SparkSession"], Sequence[Round]], Round | None]
"""Returns the round after these if more seeds are needed; its first argument starts a session."""


def carry_out(
    sweep: Sweep, options: Options, watcher: Watcher, further: Next | None = None
) -> Done:
    """Run the missing chunks of a sweep, then write its table of rows."""
    cells = tuple(grid.cells(sweep))
    table = sweep.table
    asked = {
        "cells": cells,
        "seeds": [sweep.seeds.start, len(sweep.seeds)],
        "histories": table.histories,
        "budget": table.budget,
        "judging": [table.strict, table.all_claims],
        "prices": table.prices,
        "loads": options.loads,
    }
    origin = {**provenance.of_program(), "sweep": sweep.name, "text": sweep.text, "set": table.set}
    origin |= {"seeds": f"{sweep.seeds.start}..{sweep.seeds.stop - 1}", "title": table.title}
    origin["command"] = options.command
    origin["scenarios"] = _texts(sweep)
    origin["judging"] = [
        *["--allow-outside"] * options.outside,
        *(word for load in options.loads for word in ("--load", load)),
        *["--strict"] * table.strict,
        *["--all-claims"] * table.all_claims,
        *Limits(table.budget.time_s, table.budget.memory_mib).words(),
    ]
    fresh = store.Manifest(
        store.WRITER, store.FORMAT, table.title, store.fingerprint(asked), origin
    )
    with (
        store.claimed(options.directory, fresh, resume=options.resume) as manifest,
        Workers(options.master, options.jobs, dict(options.settings), watcher.note) as workers,
    ):
        work = Work(
            directory=options.directory,
            cells=cells,
            metadata=provenance.metadata({**manifest.provenance, "fingerprint": fresh.fingerprint}),
            known=findings.known(),
            loads=options.loads,
            strict=table.strict,
            all_claims=table.all_claims,
            prices=table.prices,
            histories=table.histories != "none",
            share=table.histories if isinstance(table.histories, float) else 0.0,
            limits=Limits(table.budget.time_s, table.budget.memory_mib),
        )
        return _Conductor(work, sweep.seeds, options, watcher, manifest, workers).conduct(further)


def _texts(sweep: Sweep) -> list[dict[str, Any]]:
    """The scenarios with the files they name, so that figures do not depend on the folder.

    Empty where they are large: then a figure reads their files.
    """
    found = [
        {"name": one.name, "text": one.text, "overrides": one.overrides} for one in sweep.scenarios
    ]
    return found if len(json.dumps(found)) <= TEXTS_MOST else []


class _Conductor:
    """Runs the rounds of a sweep one after the other."""

    def __init__(
        self,
        work: Work,
        seeds: range,
        options: Options,
        watcher: Watcher,
        manifest: store.Manifest,
        workers: Workers,
    ) -> None:
        self._work = work
        self._seeds = seeds
        self._options = options
        self._watcher = watcher
        self._manifest = manifest
        self._workers = workers
        self._cost_s: float | None = None
        self._by = "no worker, all was done"

    def conduct(self, further: Next | None) -> Done:
        """Run every round of the manifest, then the further ones; write the table of rows."""
        directory = self._options.directory
        store.write_cells(directory, self._work.cells, self._work.metadata)
        if not self._manifest.rounds:
            everything = tuple(range(len(self._work.cells)))
            self._begin(Round(everything, self._seeds.start, len(self._seeds), 0))
        self._look_over()
        at = 0
        while at < len(self._manifest.rounds):
            self._run(at)
            at += 1
            if at == len(self._manifest.rounds) and further is not None:
                following = further(self._workers.session, self._manifest.rounds)
                if following is not None:
                    self._begin(following)
                    self._watcher.plan(following.runs, Tally(0, 0, 0))
        rounds = len(self._manifest.rounds)
        runs = store.collect(directory, self._work.metadata, rounds)
        tables = self._aggregates()
        self._save(finished=True)
        return Done(len(self._work.cells), runs, rounds, self._by, tables)

    def _aggregates(self) -> tuple[str, ...]:
        """Write the tables of figures if they are wanted; their names."""
        if not self._options.aggregates:
            return ()
        from ddlsim.analysis.sweep import aggregates

        return tuple(aggregates.write(self._workers.session(), self._options.directory))

    def _look_over(self) -> None:
        """Count the finished runs; delete files that are not sound, so that they are run again."""
        rounds = self._manifest.rounds
        store.check_parts(self._options.directory, rounds)
        done = Tally(0, 0, 0)
        for chunk, whole in store.done(self._options.directory, rounds):
            found = sound(self._work, whole, chunk)
            if found is None:
                Path(self._options.directory, chunk.file).unlink()
                self._watcher.note(f"{chunk.file} is damaged or of another sweep; it is run again")
            else:
                done = Tally(*(a + b for a, b in zip(done, found, strict=True)))
        self._watcher.plan(sum(each.runs for each in rounds), done)

    def _begin(self, whole: Round) -> None:
        """Store a round in the manifest before its first run; its chunks are fixed from then on."""
        if not whole.size:
            whole = structs.replace(whole, size=self._chunk(whole))
        self._save(rounds=(*self._manifest.rounds, whole))

    def _save(self, **changes: Any) -> None:
        self._manifest = structs.replace(self._manifest, **changes)
        store.save(self._options.directory, self._manifest)

    def _run(self, number: int) -> None:
        """Run the missing chunks of a round."""
        whole = self._manifest.rounds[number]
        chunks = store.missing_chunks(self._options.directory, number, whole)
        if not chunks:
            return
        work_s = len(chunks) * whole.size * self._cost(whole)
        self._by = self._workers.run(self._work, whole, chunks, work_s, self._watcher.ran)

    def _cost(self, whole: Round) -> float:
        """Seconds per run, measured on a few runs spread over the cells; their rows are dropped."""
        if self._cost_s is None:
            quiet = structs.replace(self._work, histories=False)
            began = time.monotonic()
            runs = 0
            most = ceil(PILOT_SHARE * whole.runs)
            while runs < most and time.monotonic() - began < PILOT_S:
                place = whole.cells[runs * 7_919 % len(whole.cells)]
                seed = whole.first_seed + runs % whole.seeds
                rows_of([quiet.job(place, seed)], quiet.limits)
                runs += 1
            self._cost_s = (time.monotonic() - began) / runs
        return self._cost_s

    def _chunk(self, whole: Round) -> int:
        """Runs per chunk: two seconds of work at most, and at least four chunks per core."""
        size = min(CHUNK_S / self._cost(whole), whole.runs / (4 * cores()), CHUNK_MOST)
        return max(round(size), 1)
