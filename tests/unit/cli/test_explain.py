"""`ddlsim explain`: external histories, what was checked of an "ok", which files were written."""

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.command import ROOT, TINY, ddlsim
from tests.unit.cli.test_histories import files_of

WITNESS = ROOT / "scenarios" / "witness"
CYCLE = """\
{:index 0 :type :invoke :f :txn :process 0 :time 1 :value [[:append 1 1] [:r 2 nil]]}
{:index 1 :type :invoke :f :txn :process 1 :time 2 :value [[:append 2 1] [:r 1 nil]]}
{:index 2 :type :ok :f :txn :process 0 :time 3 :value [[:append 1 1] [:r 2 [1]]]}
{:index 3 :type :ok :f :txn :process 1 :time 4 :value [[:append 2 1] [:r 1 [1]]]}
"""


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def fine(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("explain")
    (folder / "tiny.toml").write_text(TINY, "utf-8")
    ddlsim("run", str(folder / "tiny.toml"), "--out", str(folder / "out"))
    return str(folder / "out" / "seed-0.jsonl")


def test_an_ok_says_what_was_checked_and_how_much(fine: str) -> None:
    done = ddlsim("explain", fine)
    assert done.code == 0
    assert done.out.startswith("OK  ")
    told = flat(done.out)
    assert re.search(
        r"I1 atomicity: \d look-ups of a schema, \d nodes?, 3 applied updates; nothing", told
    )
    assert "I4 own_ddl: 0 operations after an acknowledged DDL, 1 acknowledged DDL; " in told
    assert "nothing that could have broken it" in told
    unmet = json.loads(ddlsim("explain", fine, "--output", "json").out)["not_met"]
    assert "submit-resent" in unmet
    assert f"not met {len(unmet)} probes" in told


def test_the_same_as_data(fine: str) -> None:
    found = json.loads(ddlsim("explain", fine, "--output", "json").out)
    checked = {one["checker"]: one for one in found["checked"]}
    assert checked["atomicity"]["found"] == 0
    assert checked["own_ddl"]["nothing_to_judge"] is True
    assert checked["own_ddl"]["looked_at"]["acknowledged DDL"] == 1
    assert "failover" in found["not_met"]
    assert "ddl-installed" not in found["not_met"]
    assert found["files"] == []


def test_what_was_found_is_counted_beside_what_was_looked_at(tmp_path: Path) -> None:
    ddlsim("run", "negative/reads_newer_rows", "--seed", "2", "--out", str(tmp_path / "bad"))
    path = str(tmp_path / "bad" / "seed-2.jsonl")
    found = json.loads(ddlsim("explain", path, "--output", "json").out)
    checked = {one["checker"]: one["found"] for one in found["checked"]}
    assert checked["serializability"] > 0
    [file] = files_of(path)
    assert sum(checked.values()) >= len(file["violations"])


def test_it_says_which_files_it_wrote(fine: str, tmp_path: Path) -> None:
    page, trace = str(tmp_path / "page.html"), str(tmp_path / "trace.json")
    words = ("explain", fine, "--html", page, "--trace-out", f"perfetto:{trace}")
    done = ddlsim(*words)
    assert f"wrote {page}, {trace}" in flat(done.out)
    assert Path(page).is_file()
    assert json.loads(ddlsim(*words, "--output", "json").out)["files"] == [page, trace]


def test_an_unmet_step_is_told(tmp_path: Path) -> None:
    wanted = '{ v = 5 }]\nexpect = "ok"'
    assert wanted in TINY
    text = TINY.replace(wanted, '{ v = 5 }]\nexpect = { aborts = "BAD_ROW" }')
    (tmp_path / "tiny.toml").write_text(text, "utf-8")
    ddlsim("run", str(tmp_path / "tiny.toml"), "--out", str(tmp_path / "out"))
    done = ddlsim("explain", str(tmp_path / "out" / "seed-0.jsonl"))
    assert done.out.startswith("UNMET  ")
    assert "step w (line 14): expected { aborts" in flat(done.out)


# --- external histories --------------------------------------------------------------------------


def test_a_witness_log_is_explained(tmp_path: Path) -> None:
    done = ddlsim("explain", str(WITNESS / "clean.jsonl"))
    assert (done.code, done.out.split()[0]) == (0, "OK")
    assert "I4 own_ddl: 2 ddl_acknowledged, 3 schema_resolved" in flat(done.out)
    broken = ddlsim("explain", str(WITNESS / "own_ddl.jsonl"), "--input", "witness")
    assert broken.out.split()[0] == "VIOLATED"
    assert "version 2 of object 17 was acknowledged at 1763700000540 on clock app-1" in flat(
        broken.out
    )


def test_a_jepsen_history_is_explained_under_a_model(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(CYCLE, "utf-8")
    done = ddlsim("explain", str(path))
    assert (done.code, done.out.split()[0]) == (0, "VIOLATED")
    told = flat(done.out)
    assert "model: strict-serializable" in told
    assert "orders: the data, the order of each process, real time" in told
    weak = ddlsim("explain", str(path), "--input", "jepsen", "--model", "read-uncommitted")
    assert weak.out.split()[0] == "OK"
    told = flat(weak.out)
    assert "Nothing was found that is forbidden." in told
    assert "phenomena: G0, " in told
    assert "transactions: 2 committed" in told
    assert f"repeat: ddlsim check {path} --input jepsen --model read-uncommitted" in told
    found = json.loads(ddlsim("explain", str(path), "--output", "json").out)
    assert (found["outcome"], found["input"], found["files"]) == ("violated", "jepsen", [])
    assert {one["what"] for one in found["checked"]} >= {"model", "phenomena", "transactions"}


def test_the_command_that_judges_again_can_be_copied(tmp_path: Path) -> None:
    path = tmp_path / "my history.edn"
    path.write_text(CYCLE, "utf-8")
    told = ddlsim("explain", str(path)).out.splitlines()[-1]
    words = shlex.split(told.removeprefix("repeat: ddlsim "))
    assert words == ["check", str(path), "--input", "jepsen"]
    assert ddlsim(*words).code == 1


def test_a_cycle_of_others_is_drawn(tmp_path: Path) -> None:
    path, drawn = tmp_path / "history.edn", tmp_path / "cycle.svg"
    path.write_text(CYCLE, "utf-8")
    done = ddlsim("explain", str(path), "--svg", str(drawn), "--output", "json")
    assert (done.code, json.loads(done.out)["files"]) == (0, [str(drawn)])
    text = "".join(ElementTree.parse(drawn).getroot().itertext())
    for part in ("T2", "T3", "[[:append 1 1] [:r 2 [1]]]", "wr", "T3 read [1] at key 1"):
        assert part in text, part
    none = ddlsim("explain", str(path), "--svg", str(drawn), "--model", "read-uncommitted")
    assert none.code == 2
    assert "is a cycle to draw" in none.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--svg", "x.svg"), "nothing that was found in"),
        (("--html", "x.html"), "--html: draws runs of this program"),
        (("--trace-out", "perfetto:x"), "--trace-out: draws runs of this program"),
        (("--strict",), "--strict: is for runs of this program"),
    ],
)
def test_what_histories_of_others_have_not_is_refused(
    words: tuple[str, ...], complaint: str
) -> None:
    done = ddlsim("explain", str(WITNESS / "clean.jsonl"), *words)
    assert (done.code, done.out) == (2, "")
    assert complaint in done.err


def test_a_model_is_not_for_a_run_of_this_program(fine: str) -> None:
    done = ddlsim("explain", fine, "--model", "serializable")
    assert done.code == 2
    assert "--model is for external histories" in done.err


@pytest.mark.parametrize("verb", ["explain", "check"])
@pytest.mark.parametrize("given", ["findings/F-1", "F-1", "smoke.toml", "scenarios/smoke.toml"])
def test_a_scenario_in_place_of_a_history_gets_the_command_that_runs_it(
    verb: str, given: str
) -> None:
    for more in ([], ["--model", "serializable"]):
        done = ddlsim(verb, given, *more)
        assert (done.code, done.out) == (2, "")
        told = f"{given}: is a scenario and no history; run it first: ddlsim run {given} --out DIR"
        assert done.err == f"ddlsim: {told}\n"


def test_a_history_in_place_of_a_scenario_is_named_as_such(fine: str) -> None:
    for verb in ("run", "verify", "explore"):
        done = ddlsim(verb, fine)
        assert done.code == 2
        told = f"{fine}:1: not TOML: it is JSON; a stored history is for ddlsim check and ddlsim"
        assert told in done.err
