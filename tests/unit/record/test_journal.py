"""The journal of a recording: what is on file when, and in which order."""

import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ddlsim.history.recording import (
    FORMAT,
    HISTORY,
    STATEMENTS,
    Begun,
    Closed,
    Ended,
    Recording,
    Statement,
    record_of,
)
from ddlsim.record import journal
from ddlsim.record.journal import Journal

HEAD = Recording(
    FORMAT, "test", "sqlite", "", "", {}, "serializable", "", "strict-serializable", "", "", 0, 2,
    0.0, False, False, ("t0",),
)  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Journal]:
    """A journal in the test's folder."""
    one = Journal(tmp_path, HEAD)
    with closing(one):
        yield one


def lines_in(folder: Path) -> list[object]:
    return [record_of(line) for line in (folder / STATEMENTS).read_bytes().splitlines()]


def indices_in(folder: Path) -> list[int]:
    return [int(one) for one in re.findall(r":index (\d+)", (folder / HISTORY).read_text())]


def test_an_end_is_on_file_with_all_that_came_before_it(made: Journal, tmp_path: Path) -> None:
    first = made.begin(0, "[:append 1 5]")
    made.statement(first, 7, "UPDATE t0")
    second = made.begin(1, "[:r 1 nil]")
    made.end(second, 1, "ok", "[:r 1 [0,5]]")
    assert indices_in(tmp_path) == [0, 1, 2]
    head, *rest = lines_in(tmp_path)
    assert isinstance(head, Recording)
    assert [type(one) for one in rest] == [Begun, Statement, Begun, Ended]
    sent = rest[1]
    assert isinstance(sent, Statement)
    assert (sent.at, sent.until > 7) == (7, True)


def test_a_statement_is_on_file_soon_though_no_transaction_ends(
    made: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.statement(made.begin(0, ""), 7, "BEGIN")
    assert len(lines_in(tmp_path)) == 1
    monkeypatch.setattr(journal, "OLDEST_NS", -1)
    made.statement(0, 8, "UPDATE t0")
    assert len(lines_in(tmp_path)) == 4
    assert indices_in(tmp_path) == [0]


def test_what_waits_is_written_at_the_close(made: Journal, tmp_path: Path) -> None:
    made.statement(made.begin(0, ""), 7, "BEGIN")
    made.close(Closed(9))
    assert [type(one) for one in lines_in(tmp_path)] == [Recording, Begun, Statement, Closed]
    made.close()
    assert indices_in(tmp_path) == [0]


def test_every_client_finds_its_own_end_on_file(made: Journal, tmp_path: Path) -> None:
    """Whichever of them has written it."""
    missed: list[int] = []

    def work(process: int) -> None:
        for _ in range(40):
            tx = made.begin(process, "[:r 1 nil]")
            made.end(tx, process, "ok", "[:r 1 [0]]")
            if f'"Ended","tx":{tx},'.encode() not in (tmp_path / STATEMENTS).read_bytes():
                missed.append(tx)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert missed == []
    assert indices_in(tmp_path) == [*range(320)]
    at = [one.at for one in lines_in(tmp_path) if isinstance(one, Begun | Ended)]
    assert at == sorted(at)


def test_the_history_is_written_before_the_statements(
    made: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a recorder that is killed between the two, the history may say more, not less."""
    put, order = made._put, list[str]()

    def noted(file: Any, lines: bytes) -> None:
        order.append(Path(file.name).name)
        put(file, lines)

    monkeypatch.setattr(made, "_put", noted)
    made.end(made.begin(0, ""), 0, "ok", "")
    assert order == [HISTORY, STATEMENTS]
