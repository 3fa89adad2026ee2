"""Settings over a scenario file: `--set path=value`, embedded files and `--migration`.

Overrides travel with a plan and its history, so that a run can be repeated without any file but the
scenario's text. Beside paths of keys there are two special ones: `file:NAME` holds the content of a
file that the scenario names, and `--migration` names the file that replaces its DDL.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from ddlsim.scenario.positions import Path, read_path, show_path
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.tomltext import toml_value

EMBEDDED: Final = "file:"
MIGRATION: Final = "--migration"
_BARE_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def read_setting(text: str) -> tuple[str, Any]:
    """`path=value` of the command line; the value is TOML, a bare word a string."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise ScenarioError(f"--set {text}: expected path=value")
    value = value.strip()
    if _BARE_WORD.fullmatch(value) and value not in {"true", "false", "inf", "nan"}:
        return path.strip(), value
    try:
        (only,) = tomllib.loads(f"value = {value}").values()
    except ValueError:  # not TOML, or more than one value
        raise ScenarioError(f"--set {text}: {value!r} is not a TOML value") from None
    return path.strip(), only


def paths_of(overrides: Mapping[str, Any]) -> dict[Path, Any]:
    """The overrides of single keys."""
    found = {}
    for name, value in overrides.items():
        if not name.startswith(EMBEDDED) and name != MIGRATION:
            try:
                found[read_path(name)] = value
            except ValueError as error:
                raise ScenarioError(f"--set {name}: {error}") from None
    return found


def flags_of(overrides: Mapping[str, Any]) -> dict[Path, str]:
    """The keys that flags of their own set, each with the flag as it was given."""
    if MIGRATION not in overrides:
        return {}
    return {("migration", 0, "file"): f"{MIGRATION} {overrides[MIGRATION]}"}


def apply_overrides(data: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a scenario's data with every override set; missing tables are made."""
    for path, value in paths_of(overrides).items():
        _put(data, path, _copy(value))
    if MIGRATION in overrides:
        first: dict[str, Any] = next(iter(data.get("migration", [])), {})
        pace = {key: first[key] for key in ("at_ms", "node", "every_ms") if key in first}
        data["migration"] = [{**pace, "file": overrides[MIGRATION]}]
    return data


def _put(data: Any, path: Path, value: Any) -> None:
    """Set one value in place."""
    here = data
    for depth, part in enumerate(path[:-1]):
        if isinstance(here, dict) and isinstance(part, str):
            here = here.setdefault(part, [] if isinstance(path[depth + 1], int) else {})
        else:
            here = here[_index(here, path, depth)]
    last = path[-1]
    if isinstance(here, dict) and isinstance(last, str):
        here[last] = value
    else:
        here[_index(here, path, len(path) - 1)] = value


def _index(here: Any, path: Path, depth: int) -> int:
    part, shown = path[depth], show_path(path)
    if not isinstance(here, list):
        whole = show_path(path[:depth])
        raise ScenarioError(f"--set {shown}: {whole or 'the file'} has no key {part!r}")
    if not isinstance(part, int):
        raise ScenarioError(f"--set {shown}: {show_path(path[:depth])} is a list; say which: [0]")
    if part >= len(here):
        whole, last = show_path(path[:depth]), len(here) - 1
        there = f"the last one is {whole}[{last}]" if here else f"the file has no {whole}"
        raise ScenarioError(f"--set {shown}: {there}")
    return part


def _copy(value: Any) -> Any:
    """A deep copy of tables and lists: a later override may reach into an earlier one's value."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def repeat_options(overrides: Mapping[str, Any]) -> list[str]:
    """The command line options that set these overrides again."""
    options: list[str] = []
    for name, value in overrides.items():
        if name == MIGRATION:
            options += [MIGRATION, str(value)]
        elif not name.startswith(EMBEDDED):
            options += ["--set", f"{name}={toml_value(value)}"]
    return options
