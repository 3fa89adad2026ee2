"""The formats that `ddlsim check --input` knows besides the native one; each is one `Input`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from ddlsim import sealed
from ddlsim.files import HISTORY_MOST, unfit
from ddlsim.foreign.report import Report
from ddlsim.graph.models import DEFAULT
from ddlsim.history import parquet

HEAD: Final = 4096
"""Bytes at the begin of a file by which its format is recognised."""
NATIVE: Final = b'{"event":"Header"'
"""How a history of this program begins; other readers are not even imported for it."""

RECORDING: Final = b'{"event":"Recording"'
"""How a recording of a database begins."""
PARQUET: Final = (parquet.KIND.encode(), sealed.COLUMNS.encode())
"""What the footers of Parquet files that are histories say, of events or of columns."""


class Input(NamedTuple):
    """A format: its name, whether a file that begins so is one, and its judge.

    `judge` takes the path and the name of a model, None for the format's own default; it raises
    `ForeignError` for a file in which nothing can be judged. `judge_strictly` counts what only the
    strict graph shows, too; None: files of this format do not tell that.
    """

    name: str
    recognises: Callable[[bytes], bool]
    judge: Callable[[str, str | None], Report]
    judge_strictly: Callable[[str, str | None], Report] | None = None


def _is_jepsen(head: bytes) -> bool:
    from ddlsim.foreign import jepsen

    return jepsen.recognises(head)


def _jepsen(path: str, model: str | None) -> Report:
    from ddlsim.foreign import jepsen

    return jepsen.report(path, model or DEFAULT)


def _is_witness(head: bytes) -> bool:
    from ddlsim.foreign.witness import records as witness_records

    return witness_records.recognises(head)


def _witness(path: str, model: str | None) -> Report:
    from ddlsim.foreign.witness import report as witness_report

    return witness_report.judge(path, model)


def _is_columns(head: bytes) -> bool:
    return head.startswith(parquet.MAGIC)


def _columns(path: str, model: str | None, *, strict: bool = False) -> Report:
    from ddlsim.foreign import columns_report

    return columns_report.judge(path, model or DEFAULT, strict=strict)


def _is_recording(head: bytes) -> bool:
    return head.startswith(RECORDING)


def _recording(path: str, model: str | None) -> Report:
    from ddlsim.foreign.recording import report as recording_report

    return recording_report.judge(path, model)


COLUMNS: Final = "columns"
_KNOWN: Final = (
    Input("recording", _is_recording, _recording),
    Input("witness", _is_witness, _witness),
    Input("jepsen", _is_jepsen, _jepsen),
    Input(COLUMNS, _is_columns, _columns, partial(_columns, strict=True)),
)
INPUTS: Final = {one.name: one for one in _KNOWN}
"""Every format by its name; `auto` tries them in this order."""


def judge(kind: str, path: str, model: str | None, *, strict: bool = False) -> Report:
    """What a format's judge says of a file, `strict` with what only the strict graph shows, where
    its files tell that."""
    known = INPUTS[kind]
    chosen = known.judge_strictly if strict else None
    return (chosen or known.judge)(path, model)


def kind_of(path: str) -> str:
    """The format of a file by how it begins; `native` if it is none of these, or none to be read
    (its reader says why)."""
    if is_native(path):
        return "native"
    head = _head(path)
    return next((one.name for one in INPUTS.values() if one.recognises(head)), "native")


def is_native(path: str) -> bool:
    """Whether a file begins as a history of this program."""
    head = _head(path)
    return head.startswith(NATIVE) or (head.startswith(parquet.MAGIC) and parquet.is_one(path))


def is_history(path: str) -> bool:
    """Whether a file that may be anything is a history, of this program or of another format.

    One that cannot be read may be one; reading it fails, and says why.
    """
    head = _beginning(path)
    if head is None:
        return True
    if head.startswith(parquet.MAGIC):
        footer = _footer(path)
        return any(kind in footer for kind in PARQUET)
    return head.startswith(NATIVE) or kind_of(path) != "native"


def _footer(path: str) -> bytes:
    """The footer of a Parquet file, whose length stands behind it; no library is needed for it."""
    if unfit(path, HISTORY_MOST) is not None:
        return b""
    size = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(size - 8 - length, 0))
        return file.read(length)


def _head(path: str) -> bytes:
    """How a file begins; nothing for one that is not to be read, or cannot be."""
    return _beginning(path) or b""


def _beginning(path: str) -> bytes | None:
    """How a file begins; nothing for one that is not to be read, None for one that cannot be."""
    try:
        if unfit(path, HISTORY_MOST) is not None:
            return b""
        with Path(path).open("rb") as file:
            return file.read(HEAD)
    except OSError:
        return None
