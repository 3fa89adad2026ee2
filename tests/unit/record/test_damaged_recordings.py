"""Damaged recordings: one line with the file and the line, or a recording that was cut off."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ddlsim.checkers.outcome import Outcome
from ddlsim.foreign.inputs import INPUTS
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.foreign.recording import agreed
from ddlsim.foreign.recording.whole import KILLED
from ddlsim.foreign.report import Report
from ddlsim.history.recording import HISTORY, STATEMENTS
from ddlsim.record.dialects.sqlite import Sqlite
from ddlsim.record.recorder import Wanted, record
from ddlsim.record.url import url_of
from tests.support.command import ddlsim

Lines = list[bytes]
NUMBERED = (b'{"event":"Begun"', b'{"event":"Ended"')


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording that no test changes."""
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "out").mkdir()
    database = Sqlite(url_of(f"sqlite:///{folder}/db"), prepared=False)
    record(database, Wanted("schema-append", 2, "serializable", 3, 100.0, 60.0, 20), folder / "out")
    return folder / "out"


@pytest.fixture
def copy(taken: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(taken, tmp_path / "copy"))


def judged(folder: Path) -> Report:
    return INPUTS["recording"].judge(str(folder / STATEMENTS), None)


def refused(folder: Path, name: str, damaged: Lines, case: object) -> None:
    """The judge refuses a file with these lines, by a line of it or of the other file."""
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(b"".join(damaged))
    said = ""
    try:
        said = str(judged(folder).outcome)
    except ForeignError as error:
        said = str(error)
    finally:
        (folder / name).write_bytes(whole)
    place = re.fullmatch(rf"{folder}/({STATEMENTS}|{HISTORY}):(\d+): .+", said)
    assert place is not None, (name, case, said)


def lines_of(folder: Path, name: str) -> Lines:
    return (folder / name).read_bytes().splitlines(keepends=True)


def test_the_recording_is_judged_as_it_is(taken: Path) -> None:
    report = judged(taken)
    assert (report.outcome, KILLED in report.notes) == (Outcome.OK, False)
    assert len(lines_of(taken, HISTORY)) > 60


CHANGED: dict[str, tuple[bytes, bytes]] = {
    "an element of a row that was read": (rb'"rows":\[\[1,null,"0', b'"rows":[[1,null,"0,77'),
    "a row that was not there": (rb'"rows":\[\[1,', b'"rows":[[7,'),
    "a column": (rb'("columns":\["id","x","v","c)0"', rb'\g<1>99"'),
    "the value of an append": (rb'"values":\[",(\d+)",', rb'"values":[",9\1",'),
    "the row of an append": (rb'("values":\[",\d+"),\d+', rb"\1,2222"),
    "the rows of a read": (rb'"values":\[(\d+),\d+\]', rb'"values":[\1,2222]'),
    "a table": (rb'"sql":"UPDATE t0', b'"sql":"UPDATE t1'),
    "a table that is none": (rb'"sql":"UPDATE t0', b'"sql":"UPDATE u0'),
    "a statement": (rb'"sql":"UPDATE t0', b'"sql":"UPDATES t0'),
    "a row that was inserted": (rb"VALUES \(1, NULL", b"VALUES (9, NULL"),
    "a count of rows": (rb'"count":1', b'"count":0'),
    "the time of a begin": (rb'("event":"Begun","tx":0,"at":\d)\d', rb"\1"),
    "a process": (rb'"process":0', b'"process":22'),
}


@pytest.mark.parametrize("what", CHANGED)
def test_files_that_contradict_each_other_are_refused(copy: Path, what: str) -> None:
    """With both places, by `check` and by `explain`; the history is not judged."""
    pattern, other = CHANGED[what]
    text = (copy / STATEMENTS).read_bytes()
    changed = re.sub(pattern, other, text, count=1)
    assert changed != text
    (copy / STATEMENTS).write_bytes(changed)
    for verb in ("check", "explain"):
        done = ddlsim(verb, str(copy / STATEMENTS))
        assert done.code == 2
        place = rf"{STATEMENTS}:\d+: its transaction has other (operations, )?process or time "
        place += rf"than line \d+ of {HISTORY}; .* or record anew"
        assert re.search(place, done.err), done.err


def test_a_history_that_says_other_than_the_statements_is_refused(copy: Path) -> None:
    """Its operations, and a begin that the statements do not have."""
    text = (copy / HISTORY).read_bytes()
    for pattern, other in (
        (rb"(:type :ok.*?:r \d+ )\[0", rb"\1[0,77"),
        (rb":time (\d)\d", rb":time \1"),
    ):
        (copy / HISTORY).write_bytes(re.sub(pattern, other, text, count=1))
        with pytest.raises(ForeignError, match=f"than line \\d+ of {HISTORY}"):
            judged(copy)
    more = re.sub(rb":process \d+(.*):index \d+", rb":process 99\1:index %d" % text.count(b"\n"),
                  text.splitlines(keepends=True)[0])  # fmt: skip
    (copy / HISTORY).write_bytes(text + more)
    with pytest.raises(ForeignError, match=f"{STATEMENTS} has no transaction for it"):
        judged(copy)


@pytest.mark.parametrize(
    "workload", ["schema-append", "retype", "truncate", "rename-swap", "drop-create", "index"]
)
def test_what_is_recorded_agrees(tmp_path: Path, workload: str) -> None:
    """In each workload, with all of its operations; and its tables, once they are new ones."""
    (tmp_path / "out").mkdir()
    database = Sqlite(url_of(f"sqlite:///{tmp_path}/db"), prepared=False)
    wanted = Wanted(workload, 2, "serializable", 3, 100.0, 60.0, 40)
    record(database, wanted, tmp_path / "out")
    assert judged(tmp_path / "out").outcome in (Outcome.OK, Outcome.VIOLATED)
    assert workload in agreed.WORKLOADS
    assert database.name in agreed.DATABASES


def test_what_is_not_the_recorders_own_is_compared_but_for_its_operations(copy: Path) -> None:
    """Another workload sends statements that are not known; its processes and times are."""
    text = (copy / STATEMENTS).read_bytes()
    other = text.replace(b'"workload":"schema-append"', b'"workload":"own"')
    (copy / STATEMENTS).write_bytes(other.replace(b'"UPDATE t0', b'"UPSERT t0'))
    assert judged(copy).outcome is Outcome.OK
    (copy / STATEMENTS).write_bytes(other.replace(b'"process":0', b'"process":22'))
    with pytest.raises(ForeignError, match="has other process or time"):
        judged(copy)


def test_a_key_that_stands_twice_is_refused(copy: Path) -> None:
    """JSON's readers take the last one, in silence."""
    first, second, *lines = lines_of(copy, STATEMENTS)
    twice = second.replace(b'"at":', b'"at":7,"at":')
    (copy / STATEMENTS).write_bytes(b"".join([first, twice, *lines]))
    with pytest.raises(ForeignError, match=":2: the key 'at' stands there twice"):
        judged(copy)


@pytest.mark.parametrize("name", [STATEMENTS, HISTORY])
def test_a_doubled_line_is_refused(copy: Path, name: str) -> None:
    lines = lines_of(copy, name)
    for at in Random(0).sample(range(len(lines)), 25):
        refused(copy, name, [*lines[: at + 1], *lines[at:]], ("doubled", at))


@pytest.mark.parametrize("name", [STATEMENTS, HISTORY])
def test_a_lost_number_is_refused(copy: Path, name: str) -> None:
    lines, dice = lines_of(copy, name), Random(1)
    numbered = [at for at, one in enumerate(lines) if name == HISTORY or one.startswith(NUMBERED)]
    for at in (*dice.sample(numbered[:-1], 15), numbered[-1]):
        refused(copy, name, [*lines[:at], *lines[at + 1 :]], ("lost", at))


def test_a_lost_statement_is_refused(copy: Path) -> None:
    """Each but a ROLLBACK, which comes behind the end of its transaction."""
    lines = lines_of(copy, STATEMENTS)
    statements = [
        at
        for at, one in enumerate(lines)
        if one.startswith(b'{"event":"Statement"') and b'"sql":"ROLLBACK"' not in one
    ]
    for at in Random(3).sample(statements, 25):
        refused(copy, STATEMENTS, [*lines[:at], *lines[at + 1 :]], ("lost statement", at))


def test_statements_that_an_earlier_recorder_did_not_count_are_judged(copy: Path) -> None:
    lines = lines_of(copy, STATEMENTS)
    text = re.sub(rb',"statements":\d+', b"", b"".join(lines))
    (copy / STATEMENTS).write_bytes(text)
    assert (len(text) < len(b"".join(lines)), judged(copy).outcome) == (True, Outcome.OK)


@pytest.mark.parametrize("name", [STATEMENTS, HISTORY])
def test_shuffled_lines_are_refused(copy: Path, name: str) -> None:
    """Those that have numbers: a statement may stand behind one that had its answer later."""
    lines, dice = lines_of(copy, name), Random(2)
    numbered = [at for at, one in enumerate(lines) if name == HISTORY or one.startswith(NUMBERED)]
    for _ in range(15):
        one, other = dice.sample(numbered, 2)
        damaged = [*lines]
        damaged[one], damaged[other] = lines[other], lines[one]
        refused(copy, name, damaged, ("swapped", one, other))
    body = lines[1:]
    dice.shuffle(body)
    refused(copy, name, [lines[0], *body], "shuffled")


def test_statements_out_of_their_transaction_are_refused(copy: Path) -> None:
    lines = lines_of(copy, STATEMENTS)
    for number in (5, 20, 40):
        at = [at for at, one in enumerate(lines) if one.startswith(b'{"event":"Statement"')][number]
        for place in (1, len(lines) - 1, len(lines)):
            without = [*lines[:at], *lines[at + 1 :]]
            damaged = [*without[:place], lines[at], *without[place:]]
            refused(copy, STATEMENTS, damaged, ("moved", at, place))


def another(value: Any) -> Any:
    """A value of another type than a field has."""
    return str(value) if isinstance(value, int | float) else 7


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("format", 9, "has format 9, and 1 is read"),
        ("promise", "eventual", "promises 'eventual'"),
        ("clients", -2, "has no clients"),
        ("tables", [], "has no clients, or no tables"),
    ],
)
def test_a_head_that_no_recorder_writes_is_refused(
    copy: Path, field: str, value: object, why: str
) -> None:
    lines = lines_of(copy, STATEMENTS)
    head = json.dumps(json.loads(lines[0]) | {field: value}, separators=(",", ":"))
    (copy / STATEMENTS).write_bytes(b"".join([f"{head}\n".encode(), *lines[1:]]))
    done = ddlsim("check", str(copy))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"{STATEMENTS}:1: {why}" in done.err


def test_a_recorder_that_was_killed_before_its_first_transaction_is_told(copy: Path) -> None:
    (copy / STATEMENTS).write_bytes(lines_of(copy, STATEMENTS)[0])
    (copy / HISTORY).write_bytes(b"")
    done = ddlsim("check", str(copy))
    assert (done.code, done.err) == (
        2, f"ddlsim: {copy}/{HISTORY}: has no transactions; record anew\n"
    )  # fmt: skip


@pytest.mark.parametrize("event", ["Recording", "Begun", "Statement", "Ended", "Closed"])
def test_a_retyped_or_lost_field_is_refused(copy: Path, event: str) -> None:
    lines = lines_of(copy, STATEMENTS)
    at = [at for at, one in enumerate(lines) if json.loads(one)["event"] == event][-1]
    fields = json.loads(lines[at])
    optional = {"values", "columns", "rows", "count", "problem", "statements"}
    for name in fields:
        changed = (
            fields | {name: another(fields[name])},
            {k: fields[k] for k in fields if k != name},
        )
        for one in changed[: 1 if name in optional else 2]:
            if name == "count":
                continue
            made = json.dumps(one, separators=(",", ":")).encode() + b"\n"
            refused(copy, STATEMENTS, [*lines[:at], made, *lines[at + 1 :]], (event, name))


def replaced(old: str, new: str) -> Callable[[bytes], bytes]:
    return lambda line: re.sub(old.encode(), new.encode(), line, count=1)


@pytest.mark.parametrize(
    "damage",
    [
        replaced(r":index (\d+)", r':index "\1"'),
        replaced(r":index \d+", ":index 99999"),
        replaced(r", :index \d+", ""),
        replaced(r":process \d+", ":process :nemesis"),
        replaced(r":process \d+", ":process 77"),
        replaced(":type :ok", ":type :fail"),
        replaced(":type :ok", ":type :info"),
        replaced(":type :ok", ":type :done"),
        replaced(r":value \[.*\],", ":value 7,"),
        replaced(r"\[:(r|append) \d+", r"[:\1 -3"),
        replaced(r"\[:(r|append)", "[:write"),
        replaced(r"\}", ""),
        replaced(r"\{", ""),
    ],
)
def test_a_retyped_entry_is_refused(copy: Path, damage: Callable[[bytes], bytes]) -> None:
    lines = lines_of(copy, HISTORY)
    for at in [at for at, one in enumerate(lines) if b":ok" in one][10:40:10]:
        changed = damage(lines[at])
        assert changed != lines[at]
        refused(copy, HISTORY, [*lines[:at], changed, *lines[at + 1 :]], at)


def test_a_cut_history_is_refused_where_its_recording_came_to_its_end(copy: Path) -> None:
    data = (copy / HISTORY).read_bytes()
    for end in Random(4).sample(range(200, len(data) - 1), 15):
        refused(copy, HISTORY, [data[:end]], ("cut", end))


def test_what_a_killed_recorder_leaves_is_judged_and_told(copy: Path) -> None:
    """The history may be ahead of the statements, in which a line may have no end."""
    data = (copy / STATEMENTS).read_bytes()
    first = data.index(b"\n") + 1
    for end in (first, *Random(5).sample(range(first, len(data) - 1), 15)):
        (copy / STATEMENTS).write_bytes(data[:end])
        report = judged(copy)
        assert (report.outcome, report.notes[0]) == (Outcome.OK, KILLED), end


def test_both_files_of_a_killed_recorder_are_judged(copy: Path) -> None:
    history = (copy / HISTORY).read_bytes()
    lines = lines_of(copy, STATEMENTS)
    at = len(lines) // 2
    last = max(
        int(one) for one in re.findall(rb'"(?:index|Begun","tx)":(\d+)', b"".join(lines[:at]))
    )
    end = history.index(b":index %d}\n" % last) + len(b":index %d}\n" % last)
    (copy / STATEMENTS).write_bytes(b"".join(lines[:at]) + lines[at][:9])
    for more in (0, 5):
        (copy / HISTORY).write_bytes(history[: end + more])
        assert judged(copy).notes[0] == KILLED


def test_a_refusal_is_one_line_and_exit_2(copy: Path) -> None:
    lines = lines_of(copy, STATEMENTS)
    (copy / STATEMENTS).write_bytes(b"".join([*lines[:9], lines[3], *lines[9:]]))
    done = ddlsim("check", str(copy))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"{STATEMENTS}:10: " in done.err
