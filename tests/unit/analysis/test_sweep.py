"""Sweeps without Spark: the same rows for any number of processes, resumed after any death."""

import io
import json
import shlex
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from ddlsim import sealed
from ddlsim.analysis.spark import spread
from ddlsim.analysis.sweep import aggregates, provenance, store
from ddlsim.analysis.sweep.chunks import DamagedPartError, Round, Work, read_table
from ddlsim.analysis.sweep.rows import SCHEMA, Job, run_job, table
from tests.support.command import Done, ddlsim
from tests.support.json_schemas import wrong
from tests.support.sweeps import (
    begin,
    children,
    command_of,
    kill,
    rows_bytes,
    sweep_file,
    wait_for_parts,
)
from tests.support.waiting import PATIENCE_S, until

LINUX = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")


def sweep(file: str, out: Path, *words: str) -> Done:
    return ddlsim("sweep", file, "--out", str(out), *words)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A sweep of 3 cells and 16 seeds that nothing has disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    file = sweep_file(folder, 16)
    done = sweep(file, folder / "out", "--jobs", "1")
    assert done.code == 0, done.err
    return file, folder / "out"


def test_the_rows_are_those_of_the_runs(whole: tuple[str, Path]) -> None:
    from ddlsim.analysis.sweep import grid
    from ddlsim.analysis.sweep.sweep_file import load_sweep

    rows = store.read_rows(str(whole[1]))
    assert rows.num_rows == 48
    assert rows.schema.equals(SCHEMA)
    cells = grid.cells(load_sweep(whole[0]))
    jobs = [Job(cell, seed) for cell in cells for seed in (0, 15)]
    wanted = table(map(run_job, jobs))
    taken = rows.take([cell.number * 16 + seed for cell in cells for seed in (0, 15)])
    assert taken.combine_chunks().equals(wanted.combine_chunks())


def test_every_table_has_its_provenance(whole: tuple[str, Path]) -> None:
    for file in (whole[1] / "rows.parquet", whole[1] / "cells.parquet"):
        told = provenance.read(pq.read_schema(file).metadata)
        assert told["version"] == provenance.of_program()["version"]
        assert told["packages"]["pyarrow"]
        assert told["seeds"] == "0..15"
        assert told["command"] == f"ddlsim sweep {whole[0]}"
        assert "protocol.delay_duration_ms" in told["text"]
    part = next((whole[1] / "parts").glob("*.parquet"))
    assert provenance.read(pq.read_schema(part).metadata) == told
    cells = read_table(whole[1] / store.CELLS, "")
    assert cells["dd"].to_pylist() == [0, 20, 60]


def test_the_command_of_the_provenance_gives_the_same_rows(tmp_path: Path) -> None:
    """Where the rows go, and who runs them, is left to whoever says it again."""
    file = sweep_file(tmp_path, 6)
    assert sweep(file, tmp_path / "one", "--seeds", "2..3", "--jobs", "1").code == 0
    first = command_in(tmp_path / "one")
    assert shlex.split(first) == ["ddlsim", "sweep", file, "--seeds", "2..3"]
    again = [*shlex.split(first)[1:], "--out", str(tmp_path / "two"), "--jobs", "1"]
    assert ddlsim(*again).code == 0
    assert rows_bytes(tmp_path / "two") == rows_bytes(tmp_path / "one")


def test_claimed_keeps_the_command_of_further_rounds(tmp_path: Path) -> None:
    """Of rounds beyond the first, that which began them; whoever looks on asks for no seeds."""
    one = Round((0,), 0, 4, 2)
    told = {"command": "ddlsim sweep x.toml"}
    fresh = store.Manifest(store.WRITER, store.FORMAT, "x", "abc", told)
    until = structs.replace(fresh, provenance={"command": "ddlsim sweep x.toml --until TARGET"})
    directory = str(tmp_path / "out")
    begun = []
    for asks, rounds in ((fresh, ()), (until, (one,)), (fresh, (one, one))):
        with store.claimed(directory, asks, resume=True) as manifest:
            assert manifest == store.load(directory)
            begun.append(manifest.provenance["command"])
            store.save(directory, structs.replace(manifest, rounds=(*rounds, one)))
    assert begun == [told["command"], until.provenance["command"], until.provenance["command"]]


def command_in(directory: Path) -> str:
    """The command in the rows' provenance, which is the manifest's and the cells' too."""
    told = [
        provenance.read(pq.read_schema(directory / name).metadata)["command"]
        for name in ("rows.parquet", "cells.parquet")
    ]
    assert told == [store.load(str(directory)).provenance["command"]] * 2
    return str(told[0])


def test_a_finished_sweep_is_not_run_again(whole: tuple[str, Path]) -> None:
    before = rows_bytes(whole[1])
    again = sweep(whole[0], whole[1])
    assert again.code == 2
    told = "holds the sweep 'a tiny sweep', 48 runs done; say --resume, or name another directory"
    assert again.err == f"ddlsim: --out {whole[1]}: {told}\n"
    resumed = sweep(whole[0], whole[1], "--resume", "--output", "json")
    document = json.loads(resumed.out)
    assert (resumed.code, document["runs"], document["by"]) == (0, 48, "no worker, all was done")
    assert rows_bytes(whole[1]) == before


@pytest.mark.parametrize(("words", "made"), [((), []), (("--aggregates",), ["per_cell"])])
def test_aggregates_are_written_where_they_are_asked_for(
    words: tuple[str, ...],
    made: list[str],
    whole: tuple[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where Spark ran a sweep they were written anyhow; what runs it depends on the machine."""

    def begun(workers: Any) -> Any:
        workers.spark = "a session"
        return workers

    monkeypatch.setattr(spread.Workers, "__enter__", begun)
    monkeypatch.setattr(aggregates, "write", lambda _spark, _directory: ["per_cell"])
    file, out = whole
    done = sweep(file, out, "--resume", "--output", "json", *words)
    tables = [Path(one).name for one in json.loads(done.out)["tables"]]
    assert [one for one in tables if one not in (store.ROWS, store.CELLS)] == made


@LINUX
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_driver_resumes_and_repeats_nothing(
    whole: tuple[str, Path], tmp_path: Path, number: int
) -> None:
    out = tmp_path / "out"
    process = begin(whole[0], "--out", str(out), "--jobs", "2")
    wait_for_parts(out, 2, process)
    below = children(process.pid)
    process.send_signal(number)
    process.communicate()
    assert not (out / "rows.parquet").exists()
    until(lambda: not any("spawn_main" in command_of(p) for p in below), "workers to end")
    done = {file: file.stat().st_mtime_ns for file in (out / "parts").glob("part-*.parquet")}
    (out / "parts" / "part-000-000099.parquet.123.tmp").write_bytes(b"half")
    assert sweep(whole[0], out, "--jobs", "2").code == 2
    assert sweep(whole[0], out, "--jobs", "1", "--resume").code == 0
    assert {file: file.stat().st_mtime_ns for file in done} == done
    assert rows_bytes(out) == rows_bytes(whole[1])
    assert not list(out.rglob("*.tmp"))


@LINUX
def test_a_killed_worker_is_replaced_and_three_give_the_bytes_of_one(
    whole: tuple[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    process = begin(whole[0], "--out", str(out), "--jobs", "3")
    wait_for_parts(out, 1, process)
    workers = [p for p in children(process.pid) if "spawn_main" in command_of(p)]
    kill(workers[0])
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert rows_bytes(out) == rows_bytes(whole[1])


def test_sweep_overwrites_no_other_directory(whole: tuple[str, Path], tmp_path: Path) -> None:
    before = rows_bytes(whole[1])
    other = sweep_file(tmp_path, 3)
    for words in ((), ("--resume",)):
        done = sweep(other, whole[1], *words)
        assert done.code == 2
        assert "begun from another file" in done.err
        assert "nothing was overwritten; name another directory" in done.err
    assert rows_bytes(whole[1]) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    done = sweep(other, tmp_path / "mine")
    assert (done.code, list((tmp_path / "mine").iterdir())) == (
        2,
        [tmp_path / "mine" / "thesis.tex"],
    )
    assert "holds thesis.tex, which no sweep wrote" in done.err
    assert "it is a file" in sweep(other, tmp_path / "mine" / "thesis.tex").err
    (tmp_path / "mine" / "sweep.json").write_text('{"writer": "me"}')
    assert "is not of this program" in sweep(other, tmp_path / "mine").err


def test_resume_refuses_another_version_of_the_program(
    whole: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = provenance.of_program()
    monkeypatch.setattr(provenance, "of_program", lambda: {**real, "commit": "abc"})
    done = sweep(whole[0], whole[1], "--resume")
    assert done.code == 2
    assert "now it is abc; nothing was overwritten" in done.err


def test_two_processes_cannot_sweep_into_one_directory(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, 40)
    process = begin(file, "--out", str(tmp_path / "out"), "--jobs", "1")
    try:
        wait_for_parts(tmp_path / "out", 1, process)
        done = sweep(file, tmp_path / "out", "--resume")
        assert (done.code, "another process is at this sweep" in done.err) == (2, True)
    finally:
        kill(process.pid)
        process.communicate()


def harmed(part: Path) -> Iterator[bytes]:
    """A part cut short, with an edited value, with other columns, and without a digest."""
    data, said = part.read_bytes(), sealed.metadata(part)
    table = pq.read_table(part, partitioning=None).replace_schema_metadata(said)
    yield data[: len(data) // 2]
    at = table.schema.get_field_index("outcome")
    lies = pa.array(["stuck"] * table.num_rows, pa.string())
    for edited in (table.set_column(at, table.schema.field(at), lies.cast(table["outcome"].type)),
                   table.drop_columns(["outcome"])):  # fmt: skip
        pq.write_table(edited, part)
        yield part.read_bytes()
    sealed.write(sealed_without(table), part)
    yield part.read_bytes().replace(sealed.DIGEST, b"ddlsim.digesT")


def sealed_without(table: pa.Table) -> pa.Table:
    said = {k: v for k, v in table.schema.metadata.items() if k != sealed.DIGEST}
    return table.replace_schema_metadata(said)


def test_a_damaged_part_is_run_again(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, 3, more='mutants = ["no_completeness_wait"]')
    out = tmp_path / "out"
    assert sweep(file, out, "--jobs", "1").code == 0
    part, rows = min((out / "parts").iterdir()), rows_bytes(out)
    whole = part.read_bytes()
    for data in list(harmed(part)):
        part.write_bytes(data)
        done = sweep(file, out, "--resume", "--jobs", "1")
        assert (done.code, f"{part.name} is damaged or of another sweep" in done.err) == (0, True)
        assert rows_bytes(out) == rows
        assert sealed.read(part).equals(pq.read_table(io.BytesIO(whole)).replace_schema_metadata(
            sealed.read(part).schema.metadata))  # fmt: skip


def test_a_part_of_another_chunk_is_run_again(tmp_path: Path) -> None:
    file, out = sweep_file(tmp_path, 3), tmp_path / "out"
    assert sweep(file, out, "--jobs", "1").code == 0
    first, *others = sorted((out / "parts").iterdir())
    rows = rows_bytes(out)
    if others:
        others[0].write_bytes(first.read_bytes())
        assert "is run again" in sweep(file, out, "--resume", "--jobs", "1").err
        assert rows_bytes(out) == rows
    stray = first.with_name("part-000-000999.parquet")
    stray.write_bytes(first.read_bytes())
    done = sweep(file, out, "--resume", "--jobs", "1")
    told = f"ddlsim: {stray}: no chunk of this sweep is called so; move it away\n"
    assert (done.code, done.err) == (2, told)


def test_a_damaged_table_is_refused(whole: tuple[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(whole[1], folder)
    file = folder / store.ROWS
    said = sealed.metadata(file)
    table = pq.read_table(file, partitioning=None).replace_schema_metadata(said)
    at = table.schema.get_field_index("schema_aborts")
    edited = pa.array([0] * table.num_rows, table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), edited), file)
    with pytest.raises(DamagedPartError, match="its content is not that of its digest"):
        store.read_rows(str(folder))
    done = ddlsim("plot", "delay", str(folder))
    assert (done.code, "it is damaged" in done.err) == (2, True)


def test_sweep_lists_failures_with_their_histories(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, 1, more='mutants = ["none", "no_completeness_wait"]')
    Path(file).write_text(
        Path(file).read_text().replace("tiny.toml", "negative/no_completeness_wait"), "utf-8"
    )
    done = sweep(file, tmp_path / "out", "--jobs", "1", "--output", "json")
    document = json.loads(done.out)
    assert wrong("sweep", document) == []
    origin = document["provenance"]
    for key in origin:
        left = {name: value for name, value in origin.items() if name != key}
        for planted in (left, {**origin, key: 1}):
            assert wrong("sweep", {**document, "provenance": planted}), key
    assert wrong("sweep", {**document, "provenance": {**origin, "planted": 1}})
    assert document["outcomes"]["violated"] > 0
    broken = next(each for each in document["violations"] if each["status"] == "violation")
    history = tmp_path / "out" / broken["first"]["history"]
    again = ddlsim("check", str(history), "--output", "json")
    assert json.loads(again.out)["files"][0]["outcome"] == "violated"
    shown = sweep(file, tmp_path / "out", "--resume")
    assert "violation" in shown.out
    assert shown.code == 0


def test_workers_use_one_process_for_short_work_unless_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used: list[int] = []
    monkeypatch.setattr(spread, "cores", lambda: 4)
    monkeypatch.setattr(spread, "run_on_processes", lambda *given: used.append(given[3]))
    for jobs, work_s in ((None, 0.5), (None, 5.0), (3, 0.5)):
        with spread.Workers(None, jobs) as workers:
            workers.run(Work("", (), {}), Round((), 0, 0, 1), [], work_s, lambda tally: None)
    assert used == [1, 4, 3]


def test_sweep_refuses_bad_arguments_before_any_run(tmp_path: Path) -> None:
    file = sweep_file(tmp_path)
    for words, told in (
        (("--master", "sparc://x"), "--master sparc://x: expected none, local[*]"),
        (("--master", "local[2]", "--jobs", "2"), "keep one of them"),
        (("--conf", "x=1"), "expected spark.KEY=VALUE"),
    ):
        done = sweep(file, tmp_path / "out", *words)
        assert (done.code, told in done.err) == (2, True), done.err
    assert "no such file" in sweep("missing.toml", tmp_path / "out").err.lower()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"first_seed": 0', '"first_seed": 9223372036854775808'),
        ('"first_seed": 0', '"first_seed": 1'),
        ('"seeds": 1,', '"seeds": 2,'),
    ],
)
def test_resume_refuses_an_edited_manifest(old: str, new: str, tmp_path: Path) -> None:
    """Found by the fuzzer: what is to be run is read from it."""
    words = ("sweep", sweep_file(tmp_path, 1), "--out", str(tmp_path / "o"), "--jobs", "1")
    assert ddlsim(*words).code == 0
    file = tmp_path / "o" / "sweep.json"
    text = file.read_text("utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), "utf-8")
    done = ddlsim(*words, "--resume")
    assert (done.code, "its sweep.json is damaged" in done.err) == (2, True), done
