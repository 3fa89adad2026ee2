"""Files of a campaign, and the list of equivalent mutants."""

import hashlib
import os
import tomllib
from pathlib import Path
from typing import Final

import msgspec

from ddlsim.files import make_folder, write_text
from ddlsim.model.records import Record
from ddlsim.mutation.records import Result
from ddlsim.mutation.source import ROOT
from ddlsim.mutation.trial import Budget
from ddlsim.problems import BadInputError

EQUIVALENT: Final = ROOT / "mutation" / "equivalent.toml"


class Header(Record, frozen=True):
    """What all results of a directory share: the package's source, and the budget of a mutant."""

    tree: str
    budget: Budget


def tree() -> str:
    """A digest of the package's source."""
    digest = hashlib.sha256()
    for path in sorted(ROOT.rglob("*.py")):
        if "mutation" not in path.parts:
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class Store:
    """The directory of a campaign: its header, and a line for every result."""

    def __init__(self, folder: Path, budget: Budget) -> None:
        self._folder = folder
        self._results = folder / "results.jsonl"
        make_folder(folder)
        header, path = Header(tree(), budget), folder / "campaign.json"
        if not path.exists():
            write_text(path, msgspec.json.encode(header).decode())
        elif msgspec.json.decode(path.read_bytes(), type=Header) != header:
            raise BadInputError(f"{folder}: holds results of other source, or of another budget")

    def results(self) -> list[Result]:
        """The results so far; a last line that was cut off does not count."""
        if not self._results.exists():
            return []
        whole, _, cut = self._results.read_bytes().rpartition(b"\n")
        if cut:
            os.truncate(self._results, len(whole) + 1 if whole else 0)
        return [msgspec.json.decode(line, type=Result) for line in whole.splitlines()]

    def add(self, result: Result) -> None:
        """Append a result."""
        with self._results.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")

    def write_report(self, text: str) -> Path:
        """Write the report; returns its file."""
        path = self._folder / "report.txt"
        write_text(path, f"{text}\n")
        return path


def equivalent() -> dict[str, str]:
    """The reason why by the id of each equivalent mutant."""
    found = tomllib.loads(EQUIVALENT.read_text("utf-8"))
    return {str(name): str(reason) for name, reason in found.items()}
