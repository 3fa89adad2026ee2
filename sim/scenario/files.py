"""The files that a scenario names: beside the scenario file, or embedded in its overrides.

A scenario from elsewhere is data: the files that it names lie at or below its own folder (for a
shipped one, the folder of all shipped ones), unless the command line allows more.
"""

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from ddlsim import files
from ddlsim.scenario.measured import text_of
from ddlsim.scenario.overrides import EMBEDDED
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, ScenarioError


class Files:
    """Reads each file once and remembers its content, so that a plan can carry it along."""

    def __init__(
        self, directory: FilePath | None, within: FilePath | None, overrides: Mapping[str, Any]
    ) -> None:
        self._directory = directory
        self._within = within or directory
        self._embedded: dict[str, str] = {
            name.removeprefix(EMBEDDED): text
            for name, text in overrides.items()
            if name.startswith(EMBEDDED)
        }

    def read(self, name: str, origin: Origin, path: Path) -> str:
        """The content of a file named relative to the scenario file; raises `OSError`."""
        if name not in self._embedded:
            if self._directory is None:
                raise origin.error(path, f"{name} cannot be read: the scenario is not a file")
            file = self._directory / name
            if not self._is_within(file):
                what = f"{name} lies outside of the scenario's folder; --allow-outside lets it in"
                raise origin.error(path, what)
            try:
                self._embedded[name] = text_of(file)
            except ScenarioError as error:
                raise origin.error(path, str(error)) from None
            except FileNotFoundError:
                raise origin.error(path, f"no file {name} beside the scenario") from None
            except (OSError, UnicodeDecodeError) as error:
                raise origin.error(path, f"{name} cannot be read: {reason(error)}") from None
        return self._embedded[name]

    def _is_within(self, file: FilePath) -> bool:
        """Whether a file lies at or below the folder, wherever links lead."""
        assert self._within is not None
        return file.resolve().is_relative_to(self._within.resolve())

    def overrides(self) -> dict[str, str]:
        """Every file read, as overrides."""
        return {f"{EMBEDDED}{name}": text for name, text in self._embedded.items()}


def reason(error: Exception) -> str:
    """Why a file cannot be read, without its path."""
    if isinstance(error, OSError):
        return error.strerror or "error"
    held = error.object if isinstance(error, UnicodeDecodeError) else b""
    return files.disguise(held) or "it is not UTF-8 text"


def text_at(file: str | FilePath, name: str, remedy: str = "") -> str:
    """The text of a file; raises `ScenarioError`, whose one line begins with `name`.

    `remedy` ends the line of a file that cannot be read.
    """
    try:
        if (why := files.unfit(file, files.TEXT_MOST)) is not None:
            raise ScenarioError(f"{name}: {why}")
        return FilePath(file).read_text(files.TEXT)
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{name}: {reason(error)}{remedy}") from None
