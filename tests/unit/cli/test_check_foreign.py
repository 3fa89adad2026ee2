"""`ddlsim check` of external histories."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # pyarrow ships no types
import pytest

from ddlsim.graph import store
from ddlsim.graph.history import READ, SCHEMA, WRITE, Names, make
from tests.support import jepsen_histories as synthetic
from tests.support.column_histories import Shape as Columns
from tests.support.column_histories import history as columns
from tests.support.command import ddlsim as call
from tests.support.jepsen_histories import APPENDS, REGISTERS, Shape, history
from tests.support.jepsen_plants import plant

WITNESS = Path(__file__).parents[3] / "scenarios" / "witness" / "clean.jsonl"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """A valid history, one with an anomaly, and one that is cut off."""
    clean = synthetic.edn(history(Shape(30), seed=1))
    bad = synthetic.edn(plant([], APPENDS, "G2-item"))
    texts = {"valid": clean, "bad": bad, "cut": clean[:-20], "empty": "", "no": "no history"}
    for name, text in texts.items():
        (tmp_path / f"{name}.edn").write_text(text)
    return {name: str(tmp_path / f"{name}.edn") for name in texts}


@pytest.mark.parametrize(("name", "code"), [("valid", 0), ("bad", 1), ("cut", 6)])
@pytest.mark.parametrize("kind", ["auto", "jepsen"])
def test_the_exit_code_tells_the_verdict(
    files: dict[str, str], name: str, code: int, kind: str
) -> None:
    assert call("check", files[name], "--input", kind).code == code


@pytest.mark.parametrize("name", ["empty", "no"])
def test_what_is_no_history_is_bad_input(files: dict[str, str], name: str) -> None:
    done = call("check", files[name], "--input", "jepsen")
    assert done.code == 2
    assert done.err.startswith(f"ddlsim: {files[name]}:")
    assert "Traceback" not in done.err


def test_what_was_not_recognised_is_said_to_be_so(tmp_path: Path) -> None:
    file = tmp_path / "none.json"
    file.write_text("[]")
    done = call("check", str(file))
    assert done.code == 2
    assert "and none of another tool was recognised" in done.err
    assert done.err.endswith("or name its kind with --input\n")


def test_the_json_is_the_check_document(files: dict[str, str]) -> None:
    done = call("check", files["valid"], files["bad"], "--output", "json")
    document = json.loads(done.out)
    assert done.code == 1
    assert document["format"] == 1
    good, bad = document["files"]
    assert (good["input"], good["outcome"], good["valid"]) == ("jepsen", "ok", True)
    assert (bad["outcome"], bad["valid"], bad["model"]) == (
        "violated", False, "strict-serializable",
    )  # fmt: skip
    [anomaly] = bad["anomalies"]
    assert anomaly["type"] == "G2-item"
    assert [step["edge"] for step in anomaly["steps"]] == ["rw", "rw"]
    assert anomaly["steps"][0]["from"] == anomaly["steps"][1]["to"] == anomaly["txns"][0]
    assert "serializable" in bad["not"]
    assert bad["violations"] == []


def test_the_model_is_what_is_asked_for(files: dict[str, str]) -> None:
    done = call("check", files["bad"], "--model", "snapshot-isolation", "--output", "json")
    [judged] = json.loads(done.out)["files"]
    assert done.code == 0
    assert (judged["valid"], judged["model"]) == (True, "snapshot-isolation")
    wrong = call("check", files["bad"], "--model", "serialisable")
    assert wrong.code == 2
    assert "did you mean" in wrong.err


def test_a_model_is_not_for_histories_of_this_program(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text('{"event":"Header"}\n')
    done = call("check", str(file), "--model", "serializable")
    assert done.code == 2
    assert "--model is for external histories" in done.err


@pytest.mark.parametrize("verb", ["check", "explain"])
def test_with_a_model_a_file_that_is_none_is_told_as_without_it(verb: str, tmp_path: Path) -> None:
    packed = tmp_path / "history.edn.gz"
    packed.write_bytes(b"\x1f\x8b\x08\x00")
    for file in (tmp_path / "lost.edn", packed):
        plain = call(verb, str(file))
        done = call(verb, str(file), "--model", "serializable")
        assert (done.code, done.err) == (plain.code, plain.err) == (2, plain.err)
        assert "--model" not in done.err


@pytest.mark.parametrize("model", ["serializable", "strict-serializable"])
def test_a_witness_log_takes_no_model(model: str) -> None:
    done = call("check", str(WITNESS), "--model", model)
    assert done.code == 2
    assert "--model is for histories of operations" in done.err


def test_junit_has_a_failure_and_an_error(files: dict[str, str]) -> None:
    done = call("check", files["valid"], files["bad"], files["cut"], "--output", "junit")
    suite = ElementTree.fromstring(done.out)[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")


def test_people_read_the_argument(files: dict[str, str]) -> None:
    done = call("check", files["bad"])
    assert "G2-item" in done.out
    assert "a contradiction" in done.out
    assert max(map(len, done.out.splitlines()[1:])) <= 80


def test_a_directory_is_judged_by_content_where_the_ending_does_not_tell(
    files: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    Path(files["valid"]).rename(folder / "a.edn")
    (folder / "b.json").write_text(synthetic.json_lines(plant([], APPENDS, "G2-item")))
    (folder / "c.json").write_text(json.dumps({"format": 1, "outcomes": {"ok": 3}}))
    (folder / "d.json").write_text("[]")
    store.write(folder / "e.parquet", columns(1, Columns(9)))
    pq.write_table(pa.table({"seed": [1]}), folder / "f.parquet")
    done = call("check", str(folder), "--output", "json")
    judged = json.loads(done.out)["files"]
    assert [Path(one["file"]).name for one in judged] == ["a.edn", "b.json", "e.parquet"]
    assert [one["valid"] for one in judged] == [True, False, True]
    passed = "passed over, for they hold no history: c.json, d.json, f.parquet"
    assert done.err.strip() == f"ddlsim: {folder}: {passed}"


@pytest.mark.parametrize("ending", [".edn", ".json", ".parquet"])
def test_a_link_that_leads_nowhere_is_not_passed_over(
    files: dict[str, str], tmp_path: Path, ending: str
) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    Path(files["valid"]).rename(folder / "a.edn")
    (link := folder / f"b{ending}").symlink_to("nowhere")
    done = call("check", str(folder))
    assert done.code == 2
    assert f"ddlsim: {link}: " in done.err
    assert "No such file or directory" in done.err


def test_columns_have_edges_that_only_the_strict_graph_has(tmp_path: Path) -> None:
    """A transaction on the version before a DDL read a row that was written on the one after it."""
    operations = {
        "tx": [0, 1, 1, 2, 2],
        "key": [0, 0, 1, 0, 1],
        "kind": [WRITE, SCHEMA, WRITE, SCHEMA, READ],
        "version": [1, 1, 1, 0, 1],
        "strict_only": [False, False, False, True, False],
    }
    times = {"begin": [0, 0, 0], "end": [9, 9, 9], "ddl": [True, False, False]}
    file = str(tmp_path / "h.columns.parquet")
    named = Names(None, ["schema:t", "x"])
    store.write(Path(file), make(transactions=times, operations=operations, names=named))
    assert call("check", file).code == 0
    for done in (call("check", file, "--strict"), call("explain", file, "--strict")):
        assert "schema-G-single" in done.out
        assert "3 transactions as columns, strict; model strict-serializable" in done.out
    assert call("check", file, "--strict").code == 1


@pytest.mark.parametrize(("others", "code"), [(("bad",), 1), (("valid",), 2), ((), 2)])
def test_a_file_that_cannot_be_judged_hides_no_other_and_is_hidden_by_none(
    files: dict[str, str], tmp_path: Path, others: tuple[str, ...], code: int
) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    for name in ("a.edn", "c.edn"):
        (folder / name).write_text("")
    for name in others:
        Path(files[name]).rename(folder / "b.edn")
    done = call("check", str(folder))
    assert done.code == code
    assert ("b.edn" in done.out) is bool(others)
    told = done.err.splitlines()
    assert [Path(line.split(": ")[1]).name for line in told] == ["a.edn", "c.edn"]
    assert all("Traceback" not in line for line in told)


def test_a_file_that_cannot_be_judged_is_left_out_of_the_document(files: dict[str, str]) -> None:
    done = call("check", files["empty"], files["bad"], "--output", "json")
    assert [one["file"] for one in json.loads(done.out)["files"]] == [files["bad"]]
    assert (done.code, files["empty"] in done.err) == (1, True)


def test_packed_histories_of_a_directory_are_named(files: dict[str, str], tmp_path: Path) -> None:
    for name in ("a.edn.gz", "b.events.parquet.zst", "notes.gz", "c.json.bz2"):
        (tmp_path / name).write_bytes(b"")
    done = call("check", str(tmp_path), "--model", "read-committed")
    assert done.code == 2  # some files of the fixture hold nothing
    for name in ("empty", "no"):
        Path(files[name]).unlink()
    done = call("check", str(tmp_path), "--model", "read-committed")
    passed = "passed over, for they are packed: a.edn.gz, b.events.parquet.zst, c.json.bz2"
    assert (done.code, done.err.strip()) == (6, f"ddlsim: {tmp_path}: {passed}")


def test_a_directory_without_a_history_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text("{}")
    done = call("check", str(tmp_path))
    assert (done.code, "no history below it" in done.err) == (2, True)


@pytest.mark.parametrize("ends", ["", ":fail", ":info"])
@pytest.mark.parametrize("said", ["[[:append 1 1]]", "[[:w 1 1]]"])
def test_where_nothing_committed_nothing_was_judged(tmp_path: Path, ends: str, said: str) -> None:
    file = tmp_path / "none.edn"
    line = f"{{:type %s, :f :txn, :process 0, :value {said}}}\n"
    file.write_text(line % ":invoke" + (line % ends if ends else ""))
    done = call("check", str(file), "--output", "json")
    [judged] = json.loads(done.out)["files"]
    assert (done.code, judged["outcome"], judged["valid"]) == (6, "unknown", "unknown")
    assert "no transaction with an operation is known to have committed" in judged["notes"][0]
    suite = ElementTree.fromstring(call("check", str(file), "--output", "junit").out)[0]
    assert suite.get("errors") == "1"


def test_what_is_read_of_an_aborted_transaction_counts_all_the_same(tmp_path: Path) -> None:
    """An anomaly is one even if hardly anything committed."""
    file = tmp_path / "dirty.edn"
    line = "{:type %s, :f :txn, :process %d, :value [[%s]]}\n"
    file.write_text(
        line % (":invoke", 0, ":append 1 1") + line % (":fail", 0, ":append 1 1")
        + line % (":invoke", 1, ":r 1 nil") + line % (":ok", 1, ":r 1 [1]")
    )  # fmt: skip
    assert call("check", str(file)).code == 1


def test_registers_as_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "registers.json"
    file.write_text(synthetic.json_lines(plant([], REGISTERS, "lost-update")))
    done = call("check", str(file), "--output", "json")
    assert "lost-update" in json.loads(done.out)["files"][0]["counts"]
