"""Records the cells of the study, each in a process of its own, and keeps what was found."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from ddlsim.analysis.databases import timeline
from ddlsim.analysis.databases.examples import shortest
from ddlsim.analysis.databases.grid import TYPED, Cell
from ddlsim.analysis.databases.servers import Servers, lacking
from ddlsim.foreign.recording.crossings import MEANING
from ddlsim.history.recording import STATEMENTS
from ddlsim.problems import BadInputError

Json = dict[str, Any]
JUDGED: Final = (0, 1, 3)
"""Exit codes of a judgement: kept, violated, not decided."""
MORE_S: Final = 120.0
"""How much longer than its clients a recording may take, with its judgement."""


class Asked(NamedTuple):
    """How each cell is recorded: for so many seconds, from these seeds, so many clients, and so
    many changes of tables a second.
    """

    seconds: float
    seeds: tuple[int, ...]
    clients: int = 4
    ddl_per_s: float = 5.0

    def words(self, cell: Cell, url: str, seed: int, out: str) -> list[str]:
        """The words of `ddlsim` that record a cell."""
        return [
            "record", url, "--workload", cell.workload, "--isolation", cell.level,
            "--seed", str(seed), "--clients", str(self.clients), "--time", f"{self.seconds:g}s",
            "--ddl-rate", f"{self.ddl_per_s:g}", "--out", out,
        ]  # fmt: skip


def record(
    cells: Iterable[Cell], asked: Asked, servers: Servers, say: Callable[[str], None]
) -> list[Json]:
    """What was found in each cell; those that a database does not have are named as such."""
    found = []
    for cell in cells:
        needs = lacking(cell.database)
        head = {**cell._asdict(), "lacks": cell.lacks or (needs and f"needs {needs}")}
        found.append(head if head["lacks"] else {**head, **_recorded(cell, asked, servers, say)})
    return found


def _recorded(cell: Cell, asked: Asked, servers: Servers, say: Callable[[str], None]) -> Json:
    made: Json = {}
    runs: list[Json] = []
    lines: list[timeline.Timeline] = []
    told: list[tuple[str, Json]] = []
    for seed in asked.seeds:
        with TemporaryDirectory(dir=servers.folder) as place:
            out = Path(place, "recorded")
            made = _call(asked.words(cell, servers.url(cell.database), seed, str(out)))
            checked = made.pop("check")
            more, crossings = _also(cell, out)
            run = _run(made, checked, crossings)
            run["command"] = shlex.join(
                ["ddlsim", *asked.words(cell, TYPED[cell.database], seed, "recorded")]
            )
            runs.append(run)
            lines.append(timeline.read(out / STATEMENTS))
            told += [(run["command"], one) for one in checked["anomalies"] + more]
            say(f"{cell.name}, seed {seed}: {run['outcome']} {run['counts']} {run['crossings']}")
    return {
        "server": made["server"], "driver": made["driver"], "says": made["says"],
        "promise": made["promise"], "runs": runs, "examples": shortest(told),
        **timeline.figures(lines),
    }  # fmt: skip


def _run(made: Json, checked: Json, crossings: Json) -> Json:
    return {
        "seed": made["seed"], "seconds": made["seconds"], "committed": made["committed"],
        "failed": made["failed"], "unknown": made["unknown"], "changes": made["changes"],
        "outcome": checked["outcome"], "counts": checked["counts"], "notes": checked["notes"],
        "crossings": crossings,
    }  # fmt: skip


def _also(cell: Cell, out: Path) -> tuple[list[Json], Json]:
    """Anomalies between schema and rows by the second model: some of them, and how many."""
    if not cell.also:
        return [], {}
    [file] = _call(["check", str(out), "--model", cell.also])["files"]
    counts = {type_: count for type_, count in file["counts"].items() if type_ in MEANING}
    return [one for one in file["anomalies"] if one["type"] in MEANING], counts


def _call(words: Sequence[str]) -> Json:
    command = [sys.executable, "-m", "ddlsim", *words, "--output", "json"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_limit(words)
    )
    if done.returncode not in JUDGED:
        said = " ".join(done.stderr.split())[-300:]
        raise BadInputError(f"{shlex.join(words[:4])}: exit code {done.returncode}: {said}")
    found: Json = json.loads(done.stdout)
    return found


def _limit(words: Sequence[str]) -> float:
    given = words[words.index("--time") + 1] if "--time" in words else "0s"
    return float(given.removesuffix("s")) + MORE_S
