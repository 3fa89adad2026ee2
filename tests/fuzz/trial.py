"""One damaged file given to its command, and what is wrong with how the command ended."""

import contextlib
import io
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import FrameType
from typing import Final, NamedTuple
from unittest.mock import patch

from ddlsim.cli import main
from tests.fuzz.formats import Format
from tests.fuzz.mutators import damaged

CPU_S: Final = 20
"""Processor time that an input may take: what takes longer is counted as slow."""
LINE_MOST: Final = 300
JUDGED: Final = ("ok", "violated", "unknown", "vacuous", "stuck", "unmet")
CODES: Final = {
    0: "ok", 1: "violated", 2: "bad input", 3: "stuck", 4: "crashed", 5: "vacuous", 6: "unknown",
    7: "not decided", 8: "unmet",
}  # fmt: skip


class SlowError(BaseException):
    """An input has taken all its time; no `except Exception` may take it for another end."""


class Ended(NamedTuple):
    """How a command ended: its outcome in a word, and what is wrong with that, if anything."""

    outcome: str
    complaint: str | None = None


def content(of: Format, seed: int, number: int) -> tuple[bytes, bytes]:
    """A whole file and the same damaged; the same for the same numbers."""
    dice = Random(f"{of.name}/{seed}/{number}")
    whole = dice.choice(of.seeds)
    return whole, damaged(whole, of.seeds, of.mutate, dice)


def trial(of: Format, seed: int, number: int) -> Ended:
    """Damage a file, have it read, and look at how that ended."""
    return given(of, *content(of, seed, number))


def given(of: Format, whole: bytes, data: bytes) -> Ended:
    """Have a file read that was `whole` once, and look at how that ended."""
    with tempfile.TemporaryDirectory(prefix="ddlsim-fuzz-") as name:
        folder = Path(name)
        file = folder / f"{of.called}{of.suffix}"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
        for other, text in of.beside:
            (folder / other).write_bytes(text)
        places = {"FILE": file, "OUT": folder / "out", "FOLDER": folder}
        places |= {other: folder / other for other, _ in of.beside}
        words = [str(places.get(word, word)) for word in of.words]
        found = _run(words)
        if found.complaint is None and found.outcome in JUDGED and of.judge is not None:
            code = 0 if found.outcome == "ok" else 1
            return found._replace(complaint=_judged(of, whole, file, code))
        return found


def _judged(of: Format, whole: bytes, file: Path, code: int) -> str | None:
    """What the format's own reader says; what it cannot read was none of the command's to read."""
    assert of.judge is not None
    try:
        return of.judge(whole, file, code)
    except Exception as error:
        return f"it was judged, and cannot be read again: {type(error).__name__}: {error}"


def _run(words: list[str]) -> Ended:
    """The command in this process, as its user would see it end."""
    out, err = io.StringIO(), io.StringIO()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DDLSIM_")}
    try:
        with (
            _bounded(),
            patch.dict(os.environ, kept, clear=True),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = main(words)
    except SlowError:
        return Ended("slow")
    except BaseException as error:
        return Ended("raised", f"{type(error).__name__}: {error}")
    return Ended(
        CODES.get(code, str(code)), _complaint(words[0], code, out.getvalue(), err.getvalue())
    )


@contextlib.contextmanager
def _bounded() -> Iterator[None]:
    def slow(_number: int, _frame: FrameType | None) -> None:
        raise SlowError

    before = signal.signal(signal.SIGVTALRM, slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _complaint(verb: str, code: int, out: str, err: str) -> str | None:
    """What no input may lead to."""
    words_only = verb == "compat"  # which tells what the catalog refuses as its result
    told = [line for line in err.split("\n") if line]
    if code == 4 or code not in CODES:
        return f"exit {code}: {out[:200]} {err[:500]}"
    if "Traceback" in out + err:
        return f"a traceback: {err[-500:]}"
    if code == 2 and not told:
        return "exit 2 without a word"
    for line in told:
        if not line.startswith("ddlsim: ") or len(line) > LINE_MOST or not line.isprintable():
            return f"an error line that is none: {line[:400]!r}"
    if not all(line.isprintable() for line in out.split("\n")):
        return f"an output with characters that act: {out[:300]!r}"
    if code == 2 and out and not words_only:
        return f"exit 2 with an output: {out[:200]!r}"
    return None
