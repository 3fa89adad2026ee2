"""What comes in broken or goes out nowhere: one line with the place and a remedy, exit 2."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from msgspec import structs

from ddlsim import sealed
from ddlsim.cli import folder
from ddlsim.cli.verbs import tune as verb_tune
from ddlsim.files import WriteError
from ddlsim.history import codec
from tests.support.command import ROOT, TINY, Done, ddlsim
from tests.support.forked import forked
from tests.unit.cli.test_tune import small_delays

DEEP = 100_000
SMALL = 2_000
"""Bytes that a file may have where the disk is as good as full."""
ONE_TABLE = 8_000
"""Enough for a sweep's cells, and too little for a part or a history."""


def refused(done: Done, *said: str) -> None:
    """Bad input, told in one line; nothing was run."""
    assert (done.code, done.out) == (2, ""), done
    assert done.err.startswith("ddlsim: ")
    assert done.err.count("\n") == 1
    assert len(done.err) <= 301
    assert done.err[:-1].isprintable()
    for word in said:
        assert word in done.err


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored history with a cycle."""
    folder = tmp_path_factory.mktemp("kept") / "out"
    assert ddlsim("run", "negative/reads_newer_rows", "--seed", "2", "--out", str(folder)).code == 1
    return folder / "seed-2.jsonl"


# --- what comes in --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("explain FILE --html FILE", "--html FILE: that is HISTORY, which would be lost"),
        ("explain FILE --svg FILE", "--svg FILE: that is HISTORY"),
        ("explain FILE --trace-out perfetto:FILE", "--trace-out FILE: that is HISTORY"),
        ("explain FILE --html x --svg ./x", "--svg ./x: that is --html, which would be lost"),
        ("shrink FILE -o FILE", "--out FILE: that is FAILURE, which would be lost"),
        ("shrink FILE --html FILE", "--html FILE: that is FAILURE"),
        ("shrink FILE -o x --html x", "--html x: that is --out"),
    ],
)
def test_no_output_takes_the_place_of_what_is_read(history: Path, words: str, said: str) -> None:
    before = history.read_bytes()
    done = ddlsim(*(word.replace("FILE", str(history)) for word in words.split()))
    assert history.read_bytes() == before
    refused(done, said.replace("FILE", str(history)), "name another file")


def test_a_history_of_another_tool_is_kept_too(tmp_path: Path) -> None:
    file = tmp_path / "h.edn"
    file.write_bytes((ROOT / "tests/golden/foreign/list-append/G0.edn").read_bytes())
    refused(ddlsim("explain", str(file), "--svg", str(file)), "that is HISTORY")
    assert file.read_text("utf-8").startswith("; G0")


def test_a_run_does_not_clear_away_what_it_reads(tmp_path: Path) -> None:
    """Worlds of a swarm lie beside their histories."""
    folder = tmp_path / "found"
    (tmp_path / "tiny.toml").write_text(TINY, "utf-8")
    assert ddlsim("run", str(tmp_path / "tiny.toml"), "--out", str(folder)).code == 0
    world = folder / "seed-3.toml"
    world.write_text(TINY, "utf-8")
    done = ddlsim("run", str(world), "--out", f"{folder}/.")
    refused(done, "seed-3.toml is read, and would be lost with the earlier results")
    assert {one.name for one in folder.iterdir()} == {"seed-3.toml", "seed-0.jsonl", "summary.json"}
    elsewhere = ddlsim("run", str(world), "--out", str(tmp_path / "other"))
    assert (elsewhere.code, world.is_file()) == (0, True)


@pytest.mark.parametrize(
    "words",
    [("check", ""), ("compat", "", ""), ("run", "smoke", "--out", ""), ("hunt", "--out", "")],
)
def test_an_empty_name_is_not_the_folder_at_hand(
    words: tuple[str, ...], history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of a script that is not set."""
    monkeypatch.chdir(history.parent)
    names = sorted(one.name for one in history.parent.iterdir())
    refused(ddlsim(*words), "is empty; name a")
    assert sorted(one.name for one in history.parent.iterdir()) == names


def test_a_scenario_is_called_as_its_file_is(tmp_path: Path) -> None:
    file = tmp_path / "world"
    file.write_text("titel = 1", "utf-8")
    refused(ddlsim("run", str(file)), f"{file}:1: titel: unknown key")


TORN = [b"\xff\xfe\x00", b"title = '\xff'\n", b"\x80" * 5000]


@pytest.mark.parametrize("content", TORN)
@pytest.mark.parametrize(
    "words",
    [
        ("run", "FILE"),
        ("check", "FILE"),
        ("check", "FILE", "--input", "jepsen"),
        ("check", "FILE", "--input", "witness"),
        ("check", "FILE", "--input", "columns"),
        ("explain", "FILE"),
        ("compat", "FILE", "FILE"),
        ("compat", "--from-scratch", "FILE"),
        ("sweep", "FILE", "--out", "OUT"),
        ("tune", "--delays", "FILE"),
        ("plot", "run_lag", "FILE"),
        ("run", "smoke", "--migration", "FILE"),
        ("run", "smoke", "--load", "FILE.py"),
    ],
)
def test_bytes_that_are_no_text(words: tuple[str, ...], content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file"
    for name in (file, tmp_path / "file.py"):
        name.write_bytes(content)
    given = [w.replace("FILE", str(file)).replace("OUT", str(tmp_path / "out")) for w in words]
    refused(ddlsim(*given), "file")


@pytest.mark.parametrize(
    ("words", "content"),
    [
        (("run",), "x = " + "[" * DEEP),
        (("run",), "x = " + "9" * 10_000),
        (("sweep", "--out", "OUT"), "x = " + "[" * DEEP),
        (("check",), '{"event":"Header","format":' + "[" * DEEP),
        (("check", "--input", "jepsen"), '{"type":"ok","value":' + "[" * DEEP),
        (("check", "--input", "jepsen"), "{:type :ok, :process 0, :value " + "[" * DEEP),
        (("check", "--input", "witness"), '{"record":' + "[" * DEEP),
        (("compat", "--from-scratch"), "CREATE TABLE t (id INT PRIMARY KEY CHECK " + "(" * DEEP),
        (("run", "smoke", "--migration"), "ALTER TABLE t ADD COLUMN w INT DEFAULT " + "(" * DEEP),
    ],
)
def test_what_is_nested_too_deeply(words: tuple[str, ...], content: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text(content)
    given = [w.replace("OUT", str(tmp_path / "out")) for w in words]
    refused(ddlsim(*given, str(file)), "file")


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"record": [1, 2]}),
        pa.table({"record": pa.array([None, "x"])}),
        pa.table({"record": pa.array([b"\xff"], pa.binary())}),
        pa.table({"a": [1]}),
        pa.table({"record": pa.array([], pa.string())}),
        pa.table({"record": [["x"]]}),
    ],
)
@pytest.mark.parametrize("said", [None, b"ddlsim-events-2", b"ddlsim-events-9", b"\xff", b"[" * 9])
def test_parquet_of_other_types_or_metadata(
    table: pa.Table, said: bytes | None, tmp_path: Path
) -> None:
    file = tmp_path / "h.events.parquet"
    sealed.write(table.replace_schema_metadata(said and {b"ddlsim": said}), file)
    refused(ddlsim("check", str(file)), "h.events.parquet")
    refused(ddlsim("explain", str(file)), "h.events.parquet")


@pytest.mark.parametrize("how", ["sys.exit(0)", "raise SystemExit", "exit('x' * 999 + chr(27))"])
def test_a_plug_in_that_ends_the_program(how: str, tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(f"import sys\n{how}\n")
    for words in (("run", "smoke"), ("verify", "smoke"), ("list", "faults"), ("check", "x")):
        refused(ddlsim(*words, "--load", str(file)), "p.py", "ends the program when it is loaded")


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e999"])
def test_numbers_that_are_none(value: str, tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    for line in ("at_ms = 10", "at_ms = 20"):
        scenario.write_text(TINY.replace(line, f"at_ms = {value}"))
        refused(ddlsim("run", str(scenario)), "s.toml")
    rates = tmp_path / "d.csv"
    rates.write_text(f"delay_ms\n1\n{value}\n")
    refused(ddlsim("tune", "--delays", str(rates)), "d.csv")
    for flag in ("--margin", "--step", "--ddl-rate", "--tx-length", "--incompatible"):
        refused(ddlsim("tune", flag, value), flag)


def test_names_from_files_are_shown_escaped(tmp_path: Path) -> None:
    evil = "\\u001b[2J\\u202e"
    file = tmp_path / "s.toml"
    file.write_text(TINY.replace('title = "', f'title = "{evil}'))
    done = ddlsim("run", str(file))
    assert done.code == 0
    assert all(line.isprintable() for line in done.out.split("\n"))
    file.write_text(TINY.replace('node = "n1"', f'node = "{evil}"'))
    refused(ddlsim("run", str(file)))
    refused(ddlsim("run", "no\x1b]0;such\x07\nscenario" * 40))
    for output in ("text", "json", "junit"):
        file.write_text(TINY.replace("PRIMARY KEY, v INT", f'PRIMARY KEY, v INT, "{evil}" INT'))
        done = ddlsim("run", str(file), "--output", output)
        assert all(line.isprintable() for line in (done.out + done.err).split("\n"))


def test_a_history_with_names_that_act(history: Path, tmp_path: Path) -> None:
    told = codec.load(history)
    name = "\x1b[2J\u202e\r" + told.header.scenario
    told.header = structs.replace(told.header, scenario=name)
    file, page, svg = (tmp_path / each for each in ("h.jsonl", "p.html", "c.svg"))
    codec.save(told, file)
    seen = [ddlsim("explain", str(file), "--html", str(page), "--svg", str(svg)).out]
    seen += [file.read_text("utf-8") for file in (page, svg)]
    seen += [ddlsim("check", str(file), "--output", form).out for form in ("text", "json")]
    for shown in seen:
        assert r"\x1b[2J\u202e" in shown or r"\u001b[2J\u202e" in shown
        assert all(line.isprintable() for line in shown.split("\n"))


# --- what goes out --------------------------------------------------------------------------------


def with_little_room(*words: str, stdout: str | None = None, room: int = SMALL) -> Done:
    """A command whose files may be no larger than `SMALL`, its stdout perhaps a file."""
    if stdout is None:
        return forked(*words, room=room)
    with open(stdout, "w", encoding="utf-8") as file:
        return forked(*words, room=room, stdout=file.fileno())


def names(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def test_a_disk_without_room_for_a_history(tmp_path: Path) -> None:
    done = with_little_room("run", "smoke", "--out", str(tmp_path / "out"))
    refused(done, "seed-0.jsonl: cannot be written (File too large); free some space")
    assert names(tmp_path) == ["out/summary.json"]
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["finished"] is False


@pytest.mark.parametrize(
    "words",
    [("explain", "H", "--html", "F"), ("explain", "H", "--svg", "F"),
     ("explain", "H", "--trace-out", "perfetto:F"), ("plot", "run_clocks", "H", "--out", "F.svg")],
)  # fmt: skip
def test_a_disk_without_room_for_a_picture(
    words: tuple[str, ...], history: Path, tmp_path: Path
) -> None:
    before = tmp_path / ("F.svg" if "F.svg" in words else "F")
    before.write_text("what was there")
    given = [
        w.replace("F", str(tmp_path / "F")) if "F" in w else w.replace("H", str(history))
        for w in words
    ]
    refused(with_little_room(*given), str(before), "free some space")
    assert before.read_text() == "what was there"
    assert names(tmp_path) == [before.name]


def no_room(*_: object) -> None:
    raise WriteError("x/f: cannot be written (No space left on device); free some space")


@pytest.mark.parametrize("output", ["text", "json"])
def test_what_was_found_is_told_though_it_cannot_be_kept(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs may have taken hours."""
    monkeypatch.setattr(folder, "finish", no_room)
    monkeypatch.setattr(verb_tune, "save", no_room)
    out = ("--output", output, "--out", str(tmp_path / "out"))
    whole = ddlsim("run", "negative/reads_newer_rows", "--seed", "2", "--output", output)
    done = ddlsim("run", "negative/reads_newer_rows", "--seed", "2", *out)
    assert (done.code, done.err.count("\n"), "free some space" in done.err) == (2, 1, True)
    assert (done.out, whole.code) == (whole.out, 1)
    for name, made in (("_advised", (None, None)), ("document", {}), ("more_seeds", None)):
        monkeypatch.setattr(verb_tune, name, lambda *_, made=made: made)
    words = ("tune", "--delays", small_delays(tmp_path), "--output", "json")
    done = ddlsim(*words, "--out", str(tmp_path / "o"))
    assert (done.code, "free some space" in done.err) == (2, True)
    assert json.loads(done.out)["command"].startswith("ddlsim tune")


@pytest.mark.parametrize("room", [SMALL, ONE_TABLE])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_disk_without_room_for_a_sweep(jobs: str, room: int, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(TINY)
    sweep = tmp_path / "s.toml"
    sweep.write_text('title = "x"\nscenarios = ["t.toml"]\nseeds = 4\nhistories = 1.0\n')
    given = ("sweep", str(sweep), "--out", str(tmp_path / "out"), "--jobs", jobs)
    done = with_little_room(*given, room=room)
    refused(done, "cannot be written (File too large); free some space")
    assert ("cells.parquet" in done.err) == (room == SMALL)
    if jobs == "1":  # else a worker may have been ended while it wrote; --resume clears that away
        assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
@pytest.mark.parametrize(
    "words", [("run", "smoke"), ("list", "clauses"), ("run", "smoke", "--output", "json")]
)
def test_an_output_that_is_full(words: tuple[str, ...]) -> None:
    done = with_little_room(*words, stdout="/dev/full")
    refused(done, "the output cannot be written (No space left on device); free some space")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_a_place_for_errors_that_is_full_changes_no_code() -> None:
    """Exit 1 would be the code of a violation."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert forked("run", "no_such_scenario", stderr=full.fileno()).code == 2


MANY = "9" * 5_000


@pytest.mark.parametrize(
    "line",
    [
        f'[[faults]]\nname = "crash"\nnode = "primary of t/{MANY}"\nfrom_ms = 1\nfor_ms = 5\n',
        f'[[leader]]\ngroup = "t/{MANY}"\nnode = "n1"\n',
    ],
)
def test_a_partition_of_thousands_of_digits(line: str, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(f"{TINY}\n{line}")
    refused(ddlsim("run", str(file)), "s.toml")


@pytest.mark.parametrize(
    "column", ["v DOUBLE DEFAULT -1e", "v DOUBLE DEFAULT 1e999", f"v INT DEFAULT {MANY}",
               "v INT DEFAULT 1" + "0" * 400,
               f"v VARCHAR({MANY})"],
)  # fmt: skip
def test_a_constant_that_is_no_number(column: str, tmp_path: Path) -> None:
    file = tmp_path / "s.sql"
    file.write_text(f"CREATE TABLE t (id INT PRIMARY KEY, {column})")
    refused(ddlsim("compat", "--from-scratch", str(file)), "s.sql:1:", "expected")


@pytest.mark.parametrize("seeds", [f'"0..{2**63 - 1}"', f"{2**63 - 1}", f'"0..{MANY}"', '"5..2"'])
def test_seeds_that_nobody_can_count(seeds: str, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(f'title = "x"\nscenarios = ["smoke"]\nseeds = {seeds}\n')
    refused(ddlsim("sweep", str(file), "--out", str(tmp_path / "out")), "s.toml:3: seeds")


def test_a_timestamp_of_thousands_of_digits(tmp_path: Path) -> None:
    file = tmp_path / "w.jsonl"
    first = '{"record": "cluster", "format": 1, "clock_error_ms": 7}\n'
    entry = '{"record": "schema_applied", "node": "n", "wall_ms": 1, "object": 1, "version": 1, '
    file.write_text(f'{first}{entry}"hlc": "{MANY}+1"}}\n')
    done = ddlsim("check", str(file))
    assert (done.code, "expected a hybrid timestamp" in done.out) == (6, True)
