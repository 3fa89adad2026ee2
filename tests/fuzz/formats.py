"""Every format that a command reads: whole files of it, who reads them, and when "ok" is a lie.

A file with a digest must be refused or be, once read, what the undamaged file is. One without may
have become another history by its damage: then an own strict reader must find it whole.
"""

import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np

from ddlsim import sealed
from ddlsim.analysis.sweep.rows import SCHEMA
from ddlsim.analysis.tune import tuned
from ddlsim.cli import main
from ddlsim.cluster.run import run
from ddlsim.graph import store
from ddlsim.graph.history import columns_of
from ddlsim.history import codec
from ddlsim.history.history import History
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import read
from tests.fuzz import mutators, resealed, strict
from tests.fuzz.mutators import Mutator
from tests.support.advice import ADVICE
from tests.support.cells import TINY as GENERATED
from tests.support.column_histories import Shape, history, plant
from tests.support.command import TINY as SCRIPTED

ROOT: Final = Path(__file__).parents[2]
SHIPPED: Final = ROOT / "scenarios"
SCHEMA_SQL: Final = b"""\
CREATE TABLE orders (id INT PRIMARY KEY, v INT DEFAULT 5, x DOUBLE, w VARCHAR(10) NOT NULL);
CREATE TABLE c (id BIGINT, k INT, n DECIMAL(10, 2), PRIMARY KEY (id, k)) ;
CREATE INDEX i ON orders (v)
"""
MIGRATION_SQL: Final = b"""\
-- adds, drops and changes
ALTER TABLE orders ADD COLUMN note VARCHAR;
ALTER TABLE orders ALTER COLUMN w SET DATA TYPE VARCHAR(20);
ALTER TABLE orders DROP COLUMN x; DROP TABLE c /* gone */;
"""
MEASURED: Final = GENERATED.replace(
    '{ distribution = "uniform", low = 1, high = 4 }',
    '{ distribution = "empirical", file = "FILE" }',
)
SWEEP: Final = b"""\
title = "DD and the strategy"
scenarios = ["tiny.toml"]
seeds = "0..1"
histories = "none"
strategies = ["iep"]

[parameters]
dd = { path = "protocol.delay_duration_ms", values = [0, 20] }
"""
SHIPPED_SWEEP: Final = SWEEP.replace(b"tiny.toml", b"iep110/column_added")
"""The same wherever it lies: a sweep is known by the paths of its scenarios."""

Complaint = str | None
Judge = Callable[[bytes, Path, int], Complaint]
"""What is wrong with an exit code, of the undamaged bytes and the damaged file; None if nothing."""


class Format(NamedTuple):
    """A format: its files, the command that reads one (`FILE`, `OUT`), and what else stands there.

    `judge` is asked where the command ended as if the file were sound. Files are `called` so,
    before the suffix.
    """

    name: str
    suffix: str
    seeds: tuple[bytes, ...]
    words: tuple[str, ...]
    mutate: tuple[Mutator, ...]
    judge: Judge | None = None
    beside: tuple[tuple[str, bytes], ...] = ()
    called: str = "f"


# --- what is made --------------------------------------------------------------------------------


def _told(text: str, **overrides: Any) -> History:
    return run(plan(read(text, "tiny", overrides=overrides), 1))


def _histories() -> tuple[History, ...]:
    """One that is right and one that is wrong."""
    broken = (SHIPPED / "negative" / "no_operation_check.toml").read_text("utf-8")
    return _told(SCRIPTED), _told(broken)


def _stored(folder: Path, suffix: str) -> tuple[bytes, ...]:
    found = []
    for told in _histories():
        codec.save(told, folder / f"h{suffix}")
        found.append((folder / f"h{suffix}").read_bytes())
    return tuple(found)


def _columns(folder: Path) -> tuple[bytes, ...]:
    found = []
    for one in (history(1, Shape(12)), plant(history(2, Shape(12)), "G-single", "G1a")):
        store.write(folder / "c.parquet", one, 8)
        found.append((folder / "c.parquet").read_bytes())
    return tuple(found)


def _measurements(folder: Path) -> tuple[bytes, bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    rows = [("n1", "n2", 1.5), ("n2", "n1", 2.0), ("n1", "n3", 0.25), ("n3", "n1", 4.0)] * 3
    text = "from,to,delay_ms\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)
    table = {name: [row[at] for row in rows] for at, name in enumerate(("from", "to", "delay_ms"))}
    parquet.write_table(pa.table(table), folder / "m.parquet")
    return text.encode(), (folder / "m.parquet").read_bytes()


def _rows(folder: Path) -> bytes:
    """A sweep's table of rows."""
    from ddlsim.analysis.sweep.rows import Job, run_job, table
    from tests.support.cells import cell

    rows = [run_job(Job(cell(dd, protocol__delay_duration_ms=20 * dd), 1)) for dd in range(2)]
    made = table(rows, {b"ddlsim": b'{"version": "0", "title": "x"}'})
    assert made.schema.equals(SCHEMA)
    sealed.write(made, folder / "rows.parquet")
    return (folder / "rows.parquet").read_bytes()


def _manifest(folder: Path) -> bytes:
    """What a sweep wrote of itself."""
    (folder / "f.toml").write_bytes(SHIPPED_SWEEP)
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        main(["sweep", str(folder / "f.toml"), "--out", str(folder / "swept"), "--jobs", "1"])
    return (folder / "swept" / "sweep.json").read_bytes()


def _some(pattern: str, most: int) -> tuple[bytes, ...]:
    files = sorted(SHIPPED.glob(pattern), key=lambda file: (file.stat().st_size, file.name))
    return tuple(file.read_bytes() for file in files[:most])


# --- when "ok" is a lie --------------------------------------------------------------------------


def _same_history(whole: bytes, file: Path, _: int) -> Complaint:
    read, wanted = list(codec.lines(codec.load(file))), _lines(whole, file.name)
    return None if read == wanted else "another history was judged than the one that was stored"


@cache
def _lines(whole: bytes, name: str) -> list[bytes]:
    """The records of an undamaged history, read once."""
    with TemporaryDirectory(prefix="ddlsim-fuzz-") as folder:
        Path(folder, name).write_bytes(whole)
        return list(codec.lines(codec.load(Path(folder, name))))


def _same_columns(whole: bytes, file: Path, _: int) -> Complaint:
    other = file.with_name("whole.parquet")
    other.write_bytes(whole)
    read, wanted = (store.read(each) for each in (file, other))
    pairs = zip(columns_of(read).values(), columns_of(wanted).values(), strict=True)
    same = read.names == wanted.names and all(np.array_equal(a, b) for a, b in pairs)
    return None if same else "another history was judged than the one that was stored"


def _same_rows(whole: bytes, file: Path, _: int) -> Complaint:
    other = file.with_name("whole.parquet")
    other.write_bytes(whole)
    same = sealed.read(file).equals(sealed.read(other))
    return None if same else "other rows were drawn than those that were stored"


def _same_advice(whole: bytes, file: Path, _: int) -> Complaint:
    same = tuned.sealed(tuned.read(file)) == json.loads(whole)
    return None if same else "other advice was told than that which was stored"


def _jepsen(whole: bytes, file: Path, code: int) -> Complaint:
    if code or strict.jepsen(whole) is None:
        return None
    if strict.jepsen(file.read_bytes()) is None:
        return "a damaged file is ok"
    return None


def _witness(_: bytes, file: Path, code: int) -> Complaint:
    return "a damaged log is ok" if not code and not strict.witness(file.read_bytes()) else None


def formats(folder: Path) -> dict[str, Format]:
    """All of them; `folder` takes what is made on the way."""
    csv, parquet = _measurements(folder)
    lines = _stored(folder, ".jsonl")
    columns = _columns(folder)
    edn = tuple(
        (ROOT / "tests" / "golden" / "foreign" / f"{name}.edn").read_bytes()
        for name in ("list-append/G1a", "list-append/G-single", "rw-register/G1b", "list-append/G0")
    )
    jsons = tuple(strict.as_json(one) for one in edn)
    check, text, binary = ("check", "FILE"), mutators.TEXTS, mutators.BYTES
    sets = (
        Format("scenario", ".toml", (SCRIPTED.encode(), GENERATED.encode(),
               *_some("negative/*.toml", 6), *_some("faults/*.toml", 4)), ("run", "FILE"), text),
        Format("migration", ".sql", (MIGRATION_SQL,),
               ("compat", "SCHEMA", "FILE"), text, beside=(("SCHEMA", SCHEMA_SQL),)),
        Format("schema", ".sql", (SCHEMA_SQL,),
               ("compat", "FILE", "MIGRATION"), text, beside=(("MIGRATION", MIGRATION_SQL),)),
        Format("history", ".jsonl", lines, check, text, _same_history),
        Format("history-resealed", ".jsonl", lines, check, (resealed.history,)),
        Format("explain-resealed", ".jsonl", lines, ("explain", "FILE"), (resealed.history,)),
        Format("parquet", ".events.parquet", _stored(folder, ".events.parquet"), check, binary,
               _same_history),
        Format("columns", ".columns.parquet", columns, check, binary, _same_columns),
        Format("columns-resealed", ".columns.parquet", columns, check, (resealed.columns,)),
        Format("rows", ".parquet", (_rows(folder),), ("plot", "pareto", "FOLDER"), binary,
               _same_rows, called="rows"),
        Format("edn", ".edn", edn, (*check, "--input", "jepsen"), text, _jepsen),
        Format("json", ".json", jsons, (*check, "--input", "jepsen"), text, _jepsen),
        Format("witness", ".jsonl", _some("witness/*.jsonl", 9), (*check, "--input", "witness"),
               text, _witness),
        Format("csv", ".csv", (csv,), ("run", "MEASURED.toml"), text,
               beside=(("MEASURED.toml", MEASURED.replace("FILE", "f.csv").encode()),)),
        Format("measured-parquet", ".parquet", (parquet,), ("run", "MEASURED.toml"), binary,
               beside=(("MEASURED.toml", MEASURED.replace("FILE", "f.parquet").encode()),)),
        Format("sweep", ".toml", (SWEEP,), ("sweep", "FILE", "--out", "OUT", "--jobs", "1"), text,
               beside=(("tiny.toml", GENERATED.encode()),)),
        Format("manifest", ".json", (_manifest(folder),),
               ("sweep", "SWEEP.toml", "--out", "OUT", "--jobs", "1", "--resume"), text,
               beside=(("SWEEP.toml", SHIPPED_SWEEP),),
               called="out/sweep"),
        Format("advice", ".json", (json.dumps(tuned.sealed(ADVICE)).encode(),),
               ("report", "FOLDER"), text, _same_advice, called="tune"),
    )  # fmt: skip
    return {one.name: one for one in sets}
