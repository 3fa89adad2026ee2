"""The directory of `--out`: histories and summary.json, and nothing overwritten that is not ours.

A directory is ours if it is new, empty, or holds a summary.json that we wrote; in it, the files
called `seed-N.jsonl`, `seed-N.toml`, `seed-N.shrunk.toml`, `seed-N.shrunk.html` and summary.json
are ours. Whatever else there is stays.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ddlsim import files
from ddlsim.cli.documents.documents import text
from ddlsim.cli.problems import InputError
from ddlsim.files import write_text

SUMMARY: Final = "summary.json"
WRITER: Final = "ddlsim"
OURS: Final = re.compile(
    r"^(?:seed-\d+\.(?:jsonl|toml|shrunk\.(?:toml|html))|summary\.json)"
    r"(?:(?:\.\d+)?\.(?:tmp|partial))?$"
)
HISTORY: Final = re.compile(r"^seed-\d+\.jsonl$")


def claim(directory: str, read: Iterable[str] = ()) -> None:
    """Make the directory ours and empty of earlier results, or refuse before anything is run: also
    where the files that the command has read are among those results."""
    path = Path(directory)
    files.no_file("--out", directory)
    for file in map(Path, read):
        if OURS.match(file.name) and file.is_file() and file.resolve().parent == path.resolve():
            what = "is read, and would be lost with the earlier results"
            raise InputError(f"--out {directory}: {file} {what}; name another directory")
    try:
        if path.is_dir():
            _clear(path, directory)
        path.mkdir(parents=True, exist_ok=True)
        write_text(path / SUMMARY, text({"writer": WRITER, "finished": False}) + "\n")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(f"--out {directory}: {why}; name another directory") from None


def _clear(path: Path, directory: str) -> None:
    names = sorted(entry.name for entry in path.iterdir())
    if names and not _is_ours(path / SUMMARY):
        raise InputError(
            f"--out {directory}: holds {names[0]}, which ddlsim did not write; "
            "name a new or empty directory"
        )
    for name in names:
        if OURS.match(name) and name != SUMMARY:
            (path / name).unlink()


def _is_ours(summary: Path) -> bool:
    try:
        if files.unfit(summary, files.TEXT_MOST) is not None:
            return False
        found = json.loads(summary.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("writer") == WRITER


def histories(directory: str) -> tuple[str, ...]:
    """The histories in a directory of ours, by their seeds."""
    names = [e.name for e in Path(directory).iterdir() if HISTORY.match(e.name)]
    ordered = sorted(names, key=lambda name: int(name.partition("-")[2].partition(".")[0]))
    return tuple((Path(directory) / name).as_posix() for name in ordered)


class ShrunkFiles(NamedTuple):
    """The files of a shrunk run: its scenario and the page about it."""

    scenario: str
    page: str


def shrunk(directory: str, seed: int) -> ShrunkFiles:
    """The files in a directory of ours that a seed's shrunk run has."""
    name = Path(directory, f"seed-{seed}.shrunk").as_posix()
    return ShrunkFiles(f"{name}.toml", f"{name}.html")


def finish(directory: str, document: Mapping[str, Any]) -> None:
    """Write the summary: the document that `--output json` prints, signed."""
    signed = {"writer": WRITER, "finished": True, **document}
    write_text(Path(directory, SUMMARY), text(signed) + "\n")
