"""Tables that are used up: new ones take their place, and each is judged as lists of its own."""

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from threading import Event

import pytest

from ddlsim.checkers.outcome import Outcome
from ddlsim.foreign.inputs import INPUTS
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.history.recording import HISTORY, SPAN, STATEMENTS, Statement, record_of
from ddlsim.record import shape
from ddlsim.record.dialects.base import Database
from ddlsim.record.dialects.sqlite import Sqlite
from ddlsim.record.journal import Journal
from ddlsim.record.maker import Maker
from ddlsim.record.programs import AddColumn, Program
from ddlsim.record.recorder import Wanted, record
from ddlsim.record.shape import TABLES, InUse, shape_of
from ddlsim.record.url import url_of
from ddlsim.record.workloads import schema_append
from ddlsim.record.workloads.base import WORKLOADS, Ground, dice
from tests.support.recordings import lines_at, lists, put
from tests.support.waiting import until
from tests.unit.record.test_journal import HEAD

CLIENTS = 2


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are soon used up; clients wait for the new ones, so that a busy machine, on
    which these take long to make, has as many of them.
    """
    monkeypatch.setattr(shape, "TURN", 5)
    monkeypatch.setattr(shape, "MOST_WINDOWS", 2)
    monkeypatch.setattr(schema_append, "MOST_COLUMNS", 2)
    turn = InUse.turn

    def waiting(in_use: InUse) -> tuple[int, int, int]:
        until(lambda: not in_use.used_up.is_set(), "new tables")
        return turn(in_use)

    monkeypatch.setattr(InUse, "turn", waiting)


def opened(folder: Path) -> Sqlite:
    return Sqlite(url_of(f"sqlite:///{folder}/db"), prepared=False)


def recorded(folder: Path, workload: str = "schema-append", rate: float = 50.0) -> list[Statement]:
    """What was sent; the files are in `out`."""
    (folder / "out").mkdir()
    record(opened(folder), Wanted(workload, CLIENTS, "serializable", 3, rate, 60.0, 120),
           folder / "out")  # fmt: skip
    lines = map(record_of, (folder / "out" / STATEMENTS).read_bytes().splitlines())
    return [one for one in lines if isinstance(one, Statement)]


def judged(folder: Path) -> Outcome:
    return INPUTS["recording"].judge(str(folder / "out" / STATEMENTS), None).outcome


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("workload", "rate"), [("schema-append", 50.0), ("index", 0.0)])
def test_a_recording_goes_on_in_new_tables(tmp_path: Path, workload: str, rate: float) -> None:
    columns: dict[str, int] = defaultdict(int)
    reads: dict[str, int] = defaultdict(int)
    longest = 0
    for one in recorded(tmp_path, workload, rate):
        table = next((word for word in one.sql.split() if word[1:].isdigit()), "")
        columns[table] += "ADD COLUMN" in one.sql and one.problem is None
        reads[table] += one.sql.startswith("SELECT")
        if one.columns is not None and "v" in one.columns:
            at = one.columns.index("v")
            longest = max(longest, *(row[at].count(",") for row in one.rows or ()), 0)
    assert len([table for table, count in reads.items() if count]) > 2 * TABLES
    assert (max(columns.values()) <= 2, longest < 60) == (True, True)
    assert judged(tmp_path) is Outcome.OK


@pytest.mark.usefixtures("small")
def test_tables_are_lists_of_their_own_to_the_judge(tmp_path: Path) -> None:
    """A read of a new table that lacks what its writer appended there is found; so is a name."""
    recorded(tmp_path)
    file = tmp_path / "out" / HISTORY
    text = file.read_text()
    keys = {int(word) for word in text.replace("]", " ").split() if word.isdigit()}
    key = next(key for key in sorted(keys) if key > TABLES * SPAN and f"[:r {key} [0,1" in text)
    at = text.index(f"[:r {key} [0,")
    end = text.index("]", at)
    file.write_text(f"{text[:at]}[:r {key} []{text[end + 1 :]}")
    lines, index = lines_at(file.with_name(STATEMENTS)), text.count("\n", 0, at)
    [row, *_] = [row for row in lists(lines, key, range(index, index + 1)) if "," in row[2]]
    row[2] = ""
    put(file.with_name(STATEMENTS), lines)
    report = INPUTS["recording"].judge(str(tmp_path / "out" / STATEMENTS), None)
    assert report.outcome is Outcome.VIOLATED
    assert any(f"t{key // SPAN}" in one[1] for one in report.found), report.found


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("damage", ["lost", "doubled", "swapped", "early"])
def test_lines_of_new_tables_that_are_lost_or_out_of_turn_are_refused(
    tmp_path: Path, damage: str
) -> None:
    recorded(tmp_path)
    file = tmp_path / "out" / STATEMENTS
    lines = file.read_bytes().splitlines(keepends=True)
    one, other = [at for at, line in enumerate(lines) if b'"event":"Renewed"' in line][:2]
    last = [at for at, line in enumerate(lines) if b'"event":"Renewed"' in line][-1]
    changed = {
        "lost": [*lines[:last], *lines[last + 1 :]],
        "doubled": [*lines[:one], lines[one], *lines[one:]],
        "swapped": [*lines[:one], lines[other], *lines[one + 1 : other], lines[one],
                    *lines[other + 1 :]],
        "early": [lines[0], lines[one], *lines[1:one], *lines[one + 1 :]],
    }  # fmt: skip
    file.write_bytes(b"".join(changed[damage]))
    with pytest.raises(ForeignError):
        judged(tmp_path)


def test_tables_that_could_not_be_made_leave_their_numbers_unused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clients stay on those that they have; the next ones have other names."""
    made: list[str] = []
    create = Database.create

    def failing(database: Database, table: str) -> str:
        made.append(table)
        return "CREATE TABLE" if table == "t4" else create(database, table)

    monkeypatch.setattr(Sqlite, "create", failing)
    monkeypatch.setattr("ddlsim.record.maker.AGAIN_S", 0.0)
    in_use, stop, database = InUse(shape_of(1, 10, 1.0)), Event(), opened(tmp_path)
    journal = Journal(tmp_path, HEAD)
    maker = Maker(database, "serializable", journal, 2, in_use)
    maker.begin(stop)
    in_use.full(0)
    renewed = in_use.renewed

    def ended(first: int) -> None:
        renewed(first)
        stop.set()

    monkeypatch.setattr(in_use, "renewed", ended)
    maker.renew(stop)
    journal.close()
    assert (in_use.first, made[-3:]) == (2 * TABLES, ["t6", "t7", "t8"])
    names = [json.loads(line)["names"] for line in names_in(tmp_path)]
    assert names == [["t3", "t4", "t5"], ["t6", "t7", "t8"]]


def names_in(folder: Path) -> Iterable[bytes]:
    lines = (folder / STATEMENTS).read_bytes().splitlines()
    return [line for line in lines if b'"event":"Renewed"' in line]


def test_a_table_that_is_full_gets_no_column_until_new_ones_are_there() -> None:
    in_use = InUse(shape_of(2, None, 10.0))
    plan = WORKLOADS.get("schema-append").tables(dice(1, 2), Ground(in_use, 5.0, True), 2)
    added = [step for _, one in zip(range(900), plan, strict=False) for step in added_by(one)]
    assert (len(added), {one.table for one in added}) == (TABLES * shape.MOST_COLUMNS, {0, 1, 2})
    assert in_use.used_up.is_set()
    in_use.renewed(TABLES)
    assert not in_use.used_up.is_set()
    added = [step for _, one in zip(range(9), plan, strict=False) for step in added_by(one)]
    assert {one.table for one in added} <= {3, 4, 5}
    assert {one.number for one in added} == set(range(1, 1 + max(one.number for one in added)))


def added_by(program: Program) -> list[AddColumn]:
    return [step for step in program.steps if isinstance(step, AddColumn)]
