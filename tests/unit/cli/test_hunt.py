"""`ddlsim hunt`: what it prints and keeps, how it ends, and that it repeats."""

import json
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.documents import hunt as hunt_report
from ddlsim.cli.signals import EndedError
from ddlsim.cli.verbs import hunt as verb_hunt
from ddlsim.cli.verbs import hunted
from ddlsim.search.corpus import Found, State, load
from ddlsim.search.explore import Explored, Explorer, Job, Seen, Stored, Target
from ddlsim.search.hunt import Hunt, until_violation
from ddlsim.search.vary import PARTS
from tests.support.command import AT_ONCE, ROOT, Done, ddlsim, process
from tests.support.json_schemas import wrong
from tests.support.killing import heeds_signals
from tests.support.waiting import until

SMALL = ("--set", "workload[0].operations=6", "--set", "workload[0].clients=2", "--batch", "4")
CLOSED = ("--strategy", "iep_closed", "--seed", "13", *SMALL)
BROKEN = (*CLOSED, "--seed", "6", "--mutant", "activates_with_message")


def hunt(folder: Path, *words: str) -> Done:
    return ddlsim("hunt", "--jobs", "1", *words, "--out", str(folder / "out"))


def seen(identity: str, status: str) -> Seen:
    return Seen(identity, identity, status, "I3", "serializability", "G1c", "summary")


def document(done: Done) -> Any:
    return json.loads(done.out)


def timeless(text: str) -> Any:
    """The document without what depends on the machine."""
    found = json.loads(text)
    for one in (found, *found["found"]):
        del one["cpu_s"]
    del found["per_cpu_hour"]
    return found


def kept(folder: Path) -> State:
    """The state that a corpus holds without what depends on the machine."""
    found = load(str(folder))
    assert found is not None
    return structs.replace(found, cpu_s=0.0)


def test_a_hunt_that_finds_nothing_is_ok_and_says_what_it_covered(tmp_path: Path) -> None:
    done = hunt(tmp_path, *CLOSED, "--worlds", "3", "--output", "json")
    assert done.code == 0
    found = document(done)
    assert wrong("hunt", found) == []
    assert (found["outcome"], found["ended"], found["worlds"]) == ("ok", "worlds", 3)
    assert found["features"] == sum(found["coverage"].values()) > 50
    rates = found["per_cpu_hour"]
    assert rates["worlds"] == pytest.approx(3 * 3600 / found["cpu_s"], rel=0.01)
    assert rates["transactions"] > rates["worlds"] > rates["signatures"] == 0
    words = shlex.split(found["command"])  # another batch would choose other parents
    assert words[words.index("--batch") + 1] == "4"
    assert words[words.index("--worlds") + 1] == "3"
    assert not (tmp_path / "out").exists()


def test_a_violation_ends_with_a_scenario_a_picture_and_sentences(tmp_path: Path) -> None:
    done = hunt(tmp_path, *BROKEN, "--output", "json")
    assert done.code == 1
    found = document(done)
    assert wrong("hunt", found) == []
    assert (found["outcome"], found["ended"]) == ("violated", "violation")
    first = next(one for one in found["found"] if one.get("shrunk"))
    assert first["shrunk"]["story"][0].startswith(f"{first['invariant']} ")
    assert first["status"] == "violation"
    assert len(first["shrunk"]["story"]) == 3
    assert "<html" in Path(first["shrunk"]["page"]).read_text("utf-8")
    for command in (first["command"], first["shrunk"]["command"]):
        program, *words = shlex.split(command)
        assert program == "ddlsim"
        repeated = json.loads(ddlsim(*words, "--output", "json").out)
        assert first["kind"] in {one["kind"] for one in repeated["runs"][0]["violations"]}
    file = Path(first["file"])
    title, command = file.read_text("utf-8").split("\n")[:2]
    assert title == f"# {first['signature']}"
    program, *words = shlex.split(command.removeprefix("# "))
    own = json.loads(ddlsim(*words, "--runs", "1", "--output", "json").out)["signature"]
    assert own["text"] == first["signature"]
    text = hunt(tmp_path, *BROKEN, "--no-shrink").out
    assert first["signature"] in text.replace("\n", " ")
    assert f"repeat: {first['command']}" in text


def test_a_world_that_the_swarm_did_not_draw_is_repeated_by_its_file(tmp_path: Path) -> None:
    target = Target({"strategy.mutant": "activates_with_message", "workload[0].operations": 6})
    world = Explorer(target).explore([Job(0, 1)])[0].world
    found = Found(seen("a1b2", "violation"), 1, 0, 0.5, world, drawn=False)
    hunted.write(str(tmp_path), State(target, 0, 4, True, found=(found,)))
    program, *words = shlex.split(hunted.command_of(str(tmp_path), found, target))
    assert program == "ddlsim"
    assert words[1] == str(tmp_path / "I3-a1b2.toml")
    again = json.loads(ddlsim(*words, "--output", "json").out)
    assert again["mutant"] == "activates_with_message"
    assert (
        again["runs"][0]["outcome"]
        == Explorer(target).explore([Job(0, 1, parent=world, as_is=True)])[0].outcome.word
    )


def test_a_finding_and_a_violation_of_one_signature_have_files_of_their_own(tmp_path: Path) -> None:
    statuses = ("finding:F-6", "finding:F-7", "violation")
    found = [
        Found(seen("a1b2", status), 1, 0, 0.5, Stored(f'title = "{status}"\n', 1), drawn=True)
        for status in statuses
    ]
    hunted.write(str(tmp_path), State(Target({}), 0, 4, True, found=tuple(found)))
    texts = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    for one, status in zip(found, statuses, strict=True):
        data = tomllib.loads(texts[f"{hunted.stem(one)}.toml"])
        assert data == {"title": status, "seeds": dict.fromkeys(PARTS, 1)}


def test_the_command_in_a_file_loads_the_plug_ins(tmp_path: Path) -> None:
    """Without them the mutant that the file names is not known."""
    found = [
        Found(seen(id_, status), 1, 0, 0.5, Stored('title = "x"', 1), drawn=True)
        for id_, status in (("a1b2", "violation"), ("c3d4", "crash"))
    ]
    target = Target({}, loads=("own plug-in.py",))
    hunted.write(str(tmp_path), State(target, 0, 4, True, found=tuple(found)))
    for one in found:
        file = hunted.file_of(str(tmp_path), one)
        command = Path(file).read_text("utf-8").split("\n")[1]
        assert shlex.split(command.removeprefix("# "))[-2:] == ["--load", "own plug-in.py"]


def test_keep_going_counts_what_comes_after_the_first(tmp_path: Path) -> None:
    words = (*BROKEN, "--worlds", "6", "--keep-going", "--no-shrink", "--output", "json")
    done = hunt(tmp_path, *words)
    assert done.code == 1
    found = document(done)
    assert (found["ended"], found["worlds"]) == ("worlds", 6)
    assert len({(one["id"], one["status"]) for one in found["found"]}) == len(found["found"])
    assert max(one["worlds"] for one in found["found"]) > 1


def test_a_hunt_is_the_same_in_other_processes(tmp_path: Path) -> None:
    """Two at once, and under another hash seed."""
    words = ("hunt", *BROKEN, "--worlds", "6", "--keep-going", "--no-shrink", "--output", "json")
    out = ("--out", str(tmp_path))
    here = ddlsim(*words, *out, "--jobs", "1").out
    there = process(*words, *out, "--jobs", "2", program=AT_ONCE, PYTHONHASHSEED="4711")
    assert there.code == 1
    assert timeless(there.out) == timeless(here)


def test_a_killed_hunt_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    words = ("hunt", *CLOSED, "--jobs", "1", "--output", "json", "--worlds", "9")
    uncut, cut = tmp_path / "whole", tmp_path / "cut"
    whole = ddlsim(*words, "--corpus", str(uncut))
    command = [sys.executable, "-m", "ddlsim", *words, "--corpus", str(cut)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as running:
        until((cut / "hunt.json").exists, "the first batch")
        running.send_signal(signal.SIGKILL)
    done = ddlsim(*words, "--corpus", str(cut))
    after, before = timeless(done.out), timeless(whole.out)
    assert after.pop("command") != before.pop("command")
    assert after == before
    assert kept(cut) == kept(uncut)


def test_a_corpus_of_another_program_is_run_again_and_what_is_gone_is_said(tmp_path: Path) -> None:
    words = (*CLOSED, "--corpus", str(tmp_path / "corpus"), "--output", "json")
    first = hunt(tmp_path, *words, "--worlds", "3")
    assert "wrote it" not in first.err
    path = tmp_path / "corpus" / "hunt.json"
    own = json.loads(path.read_text("utf-8"))
    state = own["state"] | {"program": "0.0.9 0123456789ab"}
    gone = structs.asdict(seen("a1b2", "violation")) | {"signature": "I3 gone"}
    world = state["entries"][0]["world"] | {"text": (path.parent / "world-0.toml").read_text()}
    state["found"] = [
        {"seen": gone, "count": 1, "number": 0, "cpu_s": 0.1, "world": world, "drawn": True}
    ]
    path.write_text(json.dumps(own | {"state": state}), "utf-8")
    again = hunt(tmp_path, *words, "--worlds", "4")
    err = again.err.replace("\n", " ")
    assert "ddlsim 0.0.9 0123456789ab wrote it, this is " in err
    assert "run again first: 3 worlds, which have shown 1 signature" in err
    assert "found by an earlier program, and not shown by this one: I3 gone" in err
    assert (again.code, document(again)["found"], document(again)["worlds"]) == (0, [], 4)
    assert document(again)["features"] >= document(first)["features"]


def test_an_interrupted_hunt_keeps_its_corpus_and_prints_what_it_has(tmp_path: Path) -> None:
    words = ("hunt", *CLOSED, "--jobs", "1", "--corpus", str(tmp_path), "--output", "json")
    command = [sys.executable, "-m", "ddlsim", *words]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heeds_signals,  # noqa: PLW1509 - no threads here
    ) as running:
        until((tmp_path / "hunt.json").exists, "the first batch")
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate()
    assert running.returncode == 130
    found = json.loads(out)
    assert found["ended"] == "interrupted"
    assert found["worlds"] >= 4
    kept = json.loads((tmp_path / "hunt.json").read_text("utf-8"))
    assert kept["state"]["number"] == found["worlds"]


def test_an_interrupt_ends_the_shrinking_of_all_that_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what was found is printed all the same."""
    begun: list[str] = []

    def interrupted(found: Found, target: Target) -> None:
        begun.append(found.seen.id)
        raise EndedError(signal.SIGTERM)

    worlds = [
        Found(seen(name, "violation"), 1, number, 0.5, Stored(f'title = "{name}"\n', 1), drawn=True)
        for number, name in enumerate(("a1b2", "c3d4"))
    ]
    state = State(Target({}), 0, 4, True, found=tuple(worlds))
    monkeypatch.setattr(hunted, "_begun", interrupted)
    monkeypatch.setattr(verb_hunt, "hunted_state", lambda *_: verb_hunt.Done(state, "violation"))
    done = hunt(tmp_path, "--output", "json")
    assert (done.code, begun) == (143, ["a1b2"])
    assert [one["id"] for one in document(done)["found"]] == ["a1b2", "c3d4"]


def test_time_ends_a_hunt(tmp_path: Path) -> None:
    done = hunt(tmp_path, *CLOSED, "--time", "1s", "--output", "json")
    assert document(done)["ended"] == "time"
    assert done.code == 0


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--strategy", "iepp"), "did you mean iep"),
        (("--mutant", "none_such"), "none_such"),
        (("--set", "cluster.nodes=zero"), "cluster.nodes"),
        (("--master", "local[1]", "--jobs", "2"), "keep one of them"),
        (("--batch", "0"), "from 1 up"),
        (("--corpus", __file__), "it is a file"),
        (("--out", __file__), "it is a file"),
        (("--out", f"{__file__}/found"), "cannot be written"),
        (("SCENARIO",), "unexpected argument"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_runs(words: tuple[str, ...], what: str) -> None:
    done = ddlsim("hunt", *words)
    assert done.code == 2
    assert what in done.err
    assert "worlds" not in done.err
    assert done.out == ""


def test_a_known_finding_is_reported_and_ends_a_hunt_only_on_request() -> None:
    """Of a result that was not run: a world that shows one may need long to be found."""
    known = seen("a", "finding:F-1")
    for findings, stopped in ((False, False), (True, True)):
        hunt = Hunt(State(Target({}), 0, 4, True), until_violation(findings=findings))
        world = Stored("", 1)
        hunt.take(hunt.jobs()[0], Explored(world, True, Outcome.OK, (), 1, (known,), 1.0))
        assert hunt.stopped is stopped
        assert hunt_report.outcome(hunt.state) is Outcome.OK
