"""Files of a campaign, and the list of equivalent mutants."""

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from ddlsim.files import make_folder, write_text
from ddlsim.model.records import Record
from ddlsim.mutation.course import Surveyed
from ddlsim.mutation.mutants import mutants
from ddlsim.mutation.records import Result
from ddlsim.mutation.source import ROOT
from ddlsim.problems import BadInputError
from ddlsim.search.digest import digest_of

EQUIVALENT: Final = ROOT / "mutation" / "equivalent.toml"
AT: Final = " @ "
"""Between the id of a mutant in that list and its digest."""


class Header(Record, frozen=True):
    """What all lines of a file share: the source that they come from."""

    tree: str


JUDGING: Final = ("analysis", "checkers", "cli", "graph", "mutation", "plugin", "search", "shrink")
"""The folders of the package whose source decides nothing in a run."""


class Store:
    """The directory of a campaign: its header, its survey, and a line for every result."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._results = folder / "results.jsonl"
        self._worlds = folder / "worlds.jsonl"
        make_folder(folder)
        header, path = Header(digest_of(ROOT, ("mutation",))), folder / "campaign.json"
        if not path.exists():
            write_text(path, msgspec.json.encode(header).decode())
        elif msgspec.json.decode(path.read_bytes(), type=Header) != header:
            raise BadInputError(f"{folder}: holds results of other source")

    def results(self) -> list[Result]:
        """The last result of each mutant so far; a last line that was cut off does not count."""
        found = (msgspec.json.decode(line, type=Result) for line in _lines(self._results))
        return list({one.id: one for one in found}.values())

    def add(self, result: Result) -> None:
        """Append a result."""
        with self._results.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")

    def surveyed(self) -> list[Surveyed]:
        """The worlds that were surveyed with this source, judges apart."""
        first, *others = _lines(self._worlds) or [b""]
        if first != _worlds_header():
            self._worlds.unlink(missing_ok=True)
            return []
        return [msgspec.json.decode(line, type=Surveyed) for line in others]

    def add_worlds(self, worlds: Sequence[Surveyed]) -> None:
        """Append worlds of the survey."""
        lines = [] if self._worlds.exists() else [_worlds_header()]
        lines += [msgspec.json.encode(world) for world in worlds]
        with self._worlds.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in lines))

    def write_report(self, text: str) -> Path:
        """Write the report; returns its file."""
        path = self._folder / "report.txt"
        write_text(path, f"{text}\n")
        return path


def _worlds_header() -> bytes:
    """What worlds of a survey must share: source, and the fields in which they are kept."""
    fields = " ".join(Surveyed.__struct_fields__)
    return msgspec.json.encode(Header(f"{digest_of(ROOT, JUDGING)} {fields}"))


def _lines(path: Path) -> list[bytes]:
    """The whole lines of a file; a last one that was cut off is removed."""
    if not path.exists():
        return []
    whole, _, cut = path.read_bytes().rpartition(b"\n")
    if cut:
        os.truncate(path, len(whole) + 1 if whole else 0)
    return whole.splitlines()


def listed() -> dict[tuple[str, str], str]:
    """The reasons why in the list of equivalent mutants, by id and digest."""
    found = tomllib.loads(EQUIVALENT.read_text("utf-8"))
    named = {str(name).partition(AT): str(reason) for name, reason in found.items()}
    return {(name, digest): reason for (name, _, digest), reason in named.items()}


def equivalent() -> dict[str, str]:
    """The reason why by the id of each equivalent mutant.

    None by an id that means another change by now.
    """
    known = mutants()
    return {
        name: reason
        for (name, digest), reason in listed().items()
        if name in known and known[name].digest == digest
    }
