"""`ddlsim record`: a database under DDL and DML becomes a history, and the history a verdict."""

import json
import re
import shlex
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ddlsim.cli.flags.record import DISTURBED, RECORDED
from ddlsim.foreign.recording.sent import head_at
from ddlsim.history.recording import (
    HISTORY,
    STATEMENTS,
    Begun,
    Closed,
    Ended,
    Recording,
    Statement,
    record_of,
)
from ddlsim.record.faults.base import FAULTS
from ddlsim.record.url import url_of, without_password, without_secrets
from ddlsim.record.workloads.base import WORKLOADS
from tests.support.command import ddlsim
from tests.support.json_schemas import wrong
from tests.support.recordings import lines_at, lists, put, reads

Json = dict[str, Any]


def recorded(folder: Path, *words: str) -> Json:
    """The document of a short recording of SQLite."""
    done = ddlsim("record", f"sqlite:///{folder}/db", "--out", f"{folder}/out", "--transactions",
                  "80", "--ddl-rate", "300", "--clients", "2", "--output", "json",
                  *words)  # fmt: skip
    assert done.code == 0, done
    found: Json = json.loads(done.out)
    assert wrong("record", found) == []
    return found


def test_a_recording_is_repeated_once_what_its_last_line_names_is_removed(tmp_path: Path) -> None:
    url, out = f"sqlite:///{tmp_path}/db", tmp_path / "out"
    words = ("--transactions", "20", "--clients", "2")
    first = ddlsim("record", url, "--out", str(out), *words)
    told, _, command = first.out.splitlines()[-1].partition(": ")
    assert told == f"repeat, once {tmp_path}/db and {out} are removed"
    (tmp_path / "db").unlink()
    shutil.rmtree(out)
    again = ddlsim(*shlex.split(command)[1:])
    assert (first.code, again.code) == (0, 0), again
    assert again.out.splitlines()[-1] == first.out.splitlines()[-1]


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Json]:
    """A recording that no test changes, and its document."""
    folder = tmp_path_factory.mktemp("recording")
    return folder / "out", recorded(folder)


@pytest.fixture
def copy(taken: tuple[Path, Json], tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(taken[0], tmp_path / "copy"))


def test_the_flags_name_every_workload_and_every_fault() -> None:
    assert sorted(RECORDED) == sorted(WORKLOADS)
    assert sorted(DISTURBED) == sorted(FAULTS)


def is_kept(found: Json) -> None:
    assert found["changes"] > 0
    assert (found["check"]["outcome"], found["check"]["model"]) == ("ok", "strict-serializable")
    assert (found["promise"], found["says"]) == ("strict-serializable", "serializable")


def test_sqlite_keeps_what_it_documents(taken: tuple[Path, Json]) -> None:
    is_kept(taken[1])


def test_sqlite_keeps_it_with_prepared_statements(tmp_path: Path) -> None:
    found = recorded(tmp_path, "--prepared")
    is_kept(found)
    assert found["why"] == {}
    assert head_at(str(tmp_path / "out" / STATEMENTS)).prepared


@pytest.mark.parametrize("workload", [name for name in RECORDED if name != "schema-append"])
def test_sqlite_keeps_it_while_tables_are_written_anew(workload: str, tmp_path: Path) -> None:
    is_kept(recorded(tmp_path, "--workload", workload))


def test_an_append_that_a_copied_table_lacks_breaks_snapshots_and_nothing_weaker(
    copy: Path,
) -> None:
    """A planted fault: an element is gone from all later reads, as a copy made too early has it."""
    lines = (copy / HISTORY).read_text().splitlines()
    matched = [(at, LIST_READ.search(line)) for at, line in enumerate(lines)]
    at, found = next((at, one) for at, one in matched if one is not None)
    gone = re.compile(rf"(\[:r {found[1]} \[0),{found[2]}\b")
    assert any(gone.search(line) for line in lines[at + 1 :])
    later = [gone.sub(r"\1", line) for line in lines[at + 1 :]]
    (copy / HISTORY).write_text("\n".join([*lines[: at + 1], *later, ""]))
    sent = lines_at(copy / STATEMENTS)
    for row in lists(sent, int(found[1]), range(at + 1, len(lines))):
        row[2] = re.sub(rf"^0,{found[2]}\b", "0", row[2])
    put(copy / STATEMENTS, sent)
    statements = (copy / STATEMENTS).read_bytes()
    for copies, weaker in ((b"false", True), (b"true", False)):
        (copy / STATEMENTS).write_bytes(
            statements.replace(b'"copies":false', b'"copies":' + copies)
        )
        [file] = json.loads(ddlsim("check", str(copy), "--output", "json").out)["files"]
        assert "incompatible-order" in file["counts"]
        told = next(one for one in file["anomalies"] if one["type"] == "incompatible-order")
        lines = told["explanation"].splitlines()
        lost = re.compile(rf"  UPDATE t\d SET v = v \|\| \? WHERE id = \?  \(',{found[2]}', \d+\)")
        assert len([line for line in lines if lost.fullmatch(line)]) == 1, lines
        read = re.compile(r" +-> columns .*; row \d+: \[.*\]")
        assert len([line for line in lines if read.fullmatch(line)]) >= 2, lines
        assert not any(line.startswith("T") and " = [" in line for line in lines)
        assert "snapshot-isolation" in file["not"]
        assert ("read-uncommitted" in file["not"]) is weaker


def test_every_transaction_has_its_statements_and_its_end(taken: tuple[Path, Json]) -> None:
    lines = (taken[0] / STATEMENTS).read_bytes().splitlines()
    head, *rest, last = map(record_of, lines)
    assert isinstance(head, Recording)
    assert head.tables[:3] == ("t0", "t1", "t2")
    assert isinstance(last, Closed)
    begun = {one.tx for one in rest if isinstance(one, Begun)}
    ended = [one for one in rest if isinstance(one, Ended)]
    sent = {one.tx for one in rest if isinstance(one, Statement)}
    assert begun == {one.tx for one in ended} == sent
    assert sorted([*begun, *(one.index for one in ended)]) == [*range(2 * len(begun))]


def test_check_of_the_folder_judges_the_recording_once(taken: tuple[Path, Json]) -> None:
    done = ddlsim("check", str(taken[0]), "--output", "json")
    [file] = json.loads(done.out)["files"]
    assert (done.code, file) == (0, taken[1]["check"])
    assert file["file"].endswith(STATEMENTS)
    plain = ddlsim("check", str(taken[0] / HISTORY), "--output", "json")
    assert json.loads(plain.out)["files"][0]["transactions"] == file["transactions"]


SCHEMA_READ = re.compile(r":type :ok.*\[:r \d*?(?:0{7}|\b0) \[0(,[\d,]+)\]")
"""A committed read of a table's columns after one was added."""
LIST_READ = re.compile(r":type :ok.*?\[:r (\d*[1-9]) \[0,(\d+)")
"""A committed read of a row to which something was appended."""


def test_a_read_that_goes_back_is_found_and_named(copy: Path) -> None:
    """A planted fault: the last read of a table's columns lacks those that were added."""
    lines = (copy / HISTORY).read_text().splitlines()
    matched = ((at, SCHEMA_READ.search(line)) for at, line in enumerate(lines))
    at, found = [(at, one) for at, one in matched if one is not None][-1]
    lines[at] = f"{lines[at][: found.start(1)]}{lines[at][found.end(1) :]}"
    (copy / HISTORY).write_text("\n".join([*lines, ""]))
    sent = lines_at(copy / STATEMENTS)
    key = int(re.findall(r":r (\d+) ", lines[at][: found.start(1)])[-1])
    one = [one for one in reads(sent, key, range(at, at + 1)) if len(one["columns"]) > 4][-1]
    gone = {f"c{number}" for number in found[1].strip(",").split(",")}
    one["columns"] = [f"no-{name}" if name in gone else name for name in one["columns"]]
    put(copy / STATEMENTS, sent)
    done = ddlsim("check", str(copy))
    assert done.code == 1
    said = " ".join(done.out.split())
    assert "stale-columns" in said
    assert "was shown" in said
    assert "ALTER TABLE" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "'nowhere' is no URL of a database; say sqlite:///FILE, for example"),
        (("sqlite://",), "sqlite: name a file for it: sqlite:///FILE"),
        (("sqlit:///x",), "no recorded database is called 'sqlit'; did you mean sqlite?"),
        (("sqlite:///{}/none/db",), "there is no folder {}/none; make it first"),
        (("sqlite:///{}/there",), "the file exists; name one that the recorder can make"),
        (("sqlite:///{}/db", "--isolation", "chaos"),
         "--isolation chaos: sqlite has no such level; it has serializable"),
        (("sqlite:///{}/db", "--fault", "table-locked"),
         "--fault table-locked: sqlite cannot be given it; it has slow-clients"),
        (("sqlite:///{}/db", "--out", "{}"),
         "--out {}: holds there; name a new or empty directory"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    given = [word.replace("{}", str(tmp_path)) for word in words]
    given += [] if "--out" in given else ["--out", str(tmp_path / "out")]
    done = ddlsim("record", *given)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.endswith(f"{said.replace('{}', str(tmp_path))}\n")
    assert [one.name for one in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").read_text() == "mine"


def test_a_damaged_recording_is_one_line(copy: Path) -> None:
    (copy / STATEMENTS).write_bytes((copy / STATEMENTS).read_bytes()[:40])
    done = ddlsim("check", str(copy))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "is no recording" in done.err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:s%40crt@host/db",
        "postgresql+psycopg://me:%73@host/db?sslmode=prefer&sslpassword=s%40crt",
        "postgresql+psycopg://host/db?user=me&password=s%40crt",
        "mariadb+pymysql://host/?passwd=s%40crt&user=me",
    ],
)
def test_no_text_has_a_password(url: str) -> None:
    said = without_secrets(url_of(url), "host refused s@crt, which is s%40crt")
    assert said.startswith("ho")
    assert "crt" not in said
    given = without_password(url)
    assert "crt" not in given
    assert "%73" not in given
    assert "host" in given
    assert "***" in given


@pytest.mark.parametrize(
    "url",
    [
        "mariadb+pymysql://me:s@crt@host/db",
        "postgresql+psycopg://me:s@crt:x/db",
        "postgresql:me:s@crt/db",
        "sqlite://me:s%40crt@host/db",
        "sqlite:///db?password=s%40crt",
        "me:s@crt",
    ],
)
def test_a_url_that_is_refused_is_not_shown(url: str, tmp_path: Path) -> None:
    done = ddlsim("record", url, "--out", str(tmp_path / "out"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "crt" not in done.err
    assert "URL" in done.err


def test_damaged_files_are_refused_or_judged(copy: Path) -> None:
    """Each damage is drawn from a seed; none is a defect of ours, and a refusal is one line."""
    whole = {name: (copy / name).read_bytes() for name in (STATEMENTS, HISTORY)}
    dice = Random(0)
    for _ in range(24):
        name = dice.choice([STATEMENTS, HISTORY])
        data = bytearray(whole[name])
        at = dice.randrange(min(len(data), dice.choice([200, len(data)])))
        if dice.random() < 0.3:
            del data[at:]
        else:
            data[at] = dice.choice(b'0123456789"[]{}:,nx-')
        (copy / name).write_bytes(data)
        done = ddlsim("check", str(copy))
        assert done.code in (0, 1, 2, 6), (name, at, done)
        assert done.err.count("\n") == (done.code == 2)
        (copy / name).write_bytes(whole[name])
