"""`ddlsim check` and `ddlsim explain`: stored histories judged again, and told in words."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from ddlsim.checkers.judge import Violation
from ddlsim.cli.verbs import check_native
from ddlsim.graph.models import MODELS
from ddlsim.history import codec
from tests.support.command import ddlsim

NEGATIVE = "negative/reads_newer_rows"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history with a cycle in it, and a clean one."""
    folder = tmp_path_factory.mktemp("kept")
    ddlsim("run", NEGATIVE, "--seed", "2", "--out", str(folder / "bad"))
    ddlsim("run", "smoke", "--out", str(folder / "good"))
    return folder


def bad(kept: Path) -> str:
    return str(kept / "bad" / "seed-2.jsonl")


def good(kept: Path) -> str:
    return str(kept / "good" / "seed-0.jsonl")


def files_of(*words: str) -> list[Any]:
    told = json.loads(ddlsim("check", *words, "--output", "json").out)
    assert told["format"] == 1
    files: list[Any] = told["files"]
    return files


# --- check ----------------------------------------------------------------------------------------


def test_a_clean_history_is_valid(kept: Path) -> None:
    assert ddlsim("check", good(kept)).code == 0
    [file] = files_of(good(kept))
    assert (file["file"], file["input"]) == (good(kept), "native")
    assert (file["outcome"], file["valid"], file["model"]) == ("ok", True, "relaxed")
    assert (file["anomalies"], file["not"]) == ([], [])


def test_a_cycle_is_told_by_its_steps(kept: Path) -> None:
    done = ddlsim("check", bad(kept))
    assert done.code == 1
    assert done.out.startswith(f"VIOLATED  {bad(kept)}\n")
    [file] = files_of(bad(kept))
    assert (file["outcome"], file["valid"]) == ("violated", False)
    anomaly = next(one for one in file["anomalies"] if one["steps"])
    assert anomaly["type"].startswith("schema-G")
    assert all(set(step) == {"from", "to", "edge", "because"} for step in anomaly["steps"])
    nodes = [step["from"] for step in anomaly["steps"]]
    assert [step["to"] for step in anomaly["steps"]] == [*nodes[1:], nodes[0]]
    assert anomaly["txns"] == [node for node in nodes if not node.startswith("D")]
    assert anomaly["explanation"].startswith("a cycle: ")
    assert {one["status"] for one in file["violations"]} >= {"violation"}
    assert file["not"] == [*MODELS][3:]


@pytest.mark.parametrize(
    ("checker", "kind", "names"),
    [
        ("serializability", "G-single-realtime", [*MODELS][7:]),
        ("serializability", "schema-G2-item-process",
         ["strong-session-serializable", "strict-serializable"]),
        ("serializability", "G2-item",
         ["serializable", "strong-session-serializable", "strict-serializable"]),
        ("serializability", "G1b", [*MODELS][1:]),
        ("serializability", "non-repeatable-read", [*MODELS][2:]),
        ("serializability", "ddl-not-seen", []),
        ("opacity", "fractured-read", []),
    ],
)  # fmt: skip
def test_every_model_that_an_anomaly_breaks_is_named(
    checker: str, kind: str, names: list[str]
) -> None:
    found = Violation("I3", checker, kind, "safety", "violation", strict_only=False, summary="so")
    assert check_native.ruled_out([found]) == names


def test_it_says_what_the_run_said(kept: Path) -> None:
    run = json.loads(ddlsim("run", NEGATIVE, "--seed", "2", "--output", "json").out)["runs"][0]
    [file] = files_of(bad(kept))
    assert file["violations"] == run["violations"]
    assert file["fingerprint"] == run["fingerprint"]


def test_the_worst_of_several_files_counts(kept: Path) -> None:
    assert ddlsim("check", good(kept), bad(kept), good(kept)).code == 1
    assert [file["valid"] for file in files_of(good(kept), bad(kept))] == [True, False]


def test_without_the_witness_it_cannot_tell(kept: Path, tmp_path: Path) -> None:
    history = codec.load(good(kept))
    history.header = structs.replace(history.header, voices=("client",))
    path = str(tmp_path / "client.jsonl")
    codec.save(history, path)
    done = ddlsim("check", path)
    assert done.code == 6
    assert "could not be judged" in done.out
    [file] = files_of(path)
    assert (file["outcome"], file["valid"]) == ("unknown", "unknown")


def test_a_probe_counts_when_any_history_of_the_scenario_has_reached_it(
    kept: Path, tmp_path: Path
) -> None:
    paths = []
    for number, probes in enumerate(({"seen": 1}, {})):
        history = codec.load(good(kept))
        history.header = structs.replace(history.header, reaches=("seen",))
        history.probes.clear()
        history.probes.update(probes)
        paths.append(str(tmp_path / f"{number}.jsonl"))
        codec.save(history, paths[-1])
    assert ddlsim("check", paths[1]).code == 5
    assert ddlsim("check", *paths).code == 0


def test_junit_has_a_test_for_each_file(kept: Path) -> None:
    done = ddlsim("check", good(kept), bad(kept), "--output", "junit")
    assert done.code == 1
    assert f'<testcase name="{good(kept)}" classname="histories" />' in done.out
    assert 'tests="2" failures="1" errors="0"' in done.out


@pytest.mark.parametrize("verb", ["check", "explain"])
def test_a_bad_file_is_one_line_beside_what_the_others_show(
    verb: str, kept: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(Path(good(kept)).read_bytes()[:5000])
    words = [good(kept), str(cut)] if verb == "check" else [str(cut)]
    done = ddlsim(verb, *words)
    assert done.code == 2
    if verb == "check":
        assert good(kept) in done.out
    else:
        assert done.out == ""
    assert done.err.startswith(f"ddlsim: {cut}:")
    assert done.err.count("\n") == 1


def test_a_changed_history_is_refused(kept: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.jsonl"
    text = Path(good(kept)).read_text("utf-8").replace('"kind":"get"', '"kind":"put"', 1)
    changed.write_text(text, "utf-8")
    done = ddlsim("check", str(changed))
    assert done.code == 2
    assert "it was changed after the run" in done.err


# --- explain --------------------------------------------------------------------------------------


def test_the_argument_is_told_in_full(kept: Path) -> None:
    done = ddlsim("explain", bad(kept))
    assert done.code == 0
    assert done.out.startswith(f"VIOLATED  {NEGATIVE}, seed 2\n")
    assert "because" in done.out
    assert "a cycle" in done.out
    assert max(map(len, done.out.splitlines()[:-1])) <= 80


def test_its_last_line_makes_the_history_again(kept: Path, tmp_path: Path) -> None:
    done = ddlsim("explain", bad(kept))
    command = done.out.splitlines()[-1].removeprefix("repeat: ddlsim ").split()
    ddlsim(*command, "--out", str(tmp_path / "again"))
    again = codec.load(tmp_path / "again" / "seed-2.jsonl")
    assert again.fingerprint() == codec.load(bad(kept)).fingerprint()


def test_it_repeats_what_was_set_over_the_scenario(tmp_path: Path) -> None:
    flags = "--seed 1 --strategy a5_safetime --set network.latency_ms=3"
    ddlsim("run", "smoke", *flags.split(), "--out", str(tmp_path / "one"))
    done = ddlsim("explain", str(tmp_path / "one" / "seed-1.jsonl"))
    command = done.out.splitlines()[-1].removeprefix("repeat: ddlsim ").split()
    ddlsim(*command, "--out", str(tmp_path / "two"))
    one, two = (codec.load(tmp_path / name / "seed-1.jsonl") for name in ("one", "two"))
    assert one.fingerprint() == two.fingerprint()
    assert "--strategy" in command
