"""Loads a scenario: a file, or a shipped one by its name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ddlsim import files
from ddlsim.scenario.files import text_at
from ddlsim.scenario.problems import ScenarioError, closest
from ddlsim.scenario.scenario import Scenario, read
from ddlsim.scenario.shipped import called, place_of, roots, shipped


def load(
    path_or_name: str | Path,
    overrides: Mapping[str, Any] | None = None,
    *,
    outside: bool = False,
    idle: bool = False,
) -> Scenario:
    """The scenario in a file, or the shipped one of this name or unique base name.

    It may name files `outside` of its folder only where that is allowed, and may be without any
    work only if it is given some later (`idle`).
    """
    scenario = _found(path_or_name, overrides, outside=outside)
    if not idle and _is_idle(scenario):
        what = "nothing is done: no [[step]], [[workload]] or [[migration]]"
        remedy = "add one, or say in reaches what a run has to reach"
        raise ScenarioError(f"{scenario.name}: {what}; {remedy}")
    return scenario


def _is_idle(scenario: Scenario) -> bool:
    """Whether a run does nothing, and is not said to show something by that."""
    work = scenario.steps or scenario.workloads or scenario.migrations
    return not work and not scenario.reaches and scenario.expect == "ok"


def _found(
    path_or_name: str | Path, overrides: Mapping[str, Any] | None, *, outside: bool
) -> Scenario:
    """The scenario in a file, or the shipped one of this name."""
    given = str(path_or_name)
    if not given:
        raise ScenarioError("a scenario's name is empty; see ddlsim list scenarios")
    file = Path(given)
    if given.endswith(".toml") or file.is_file() or files.is_special(file):
        if file.is_file() or files.is_special(file):
            return _load(file, given, overrides, outside=outside, label=given)
        if place_of(given.removesuffix(".toml")) is None:
            raise ScenarioError(f"{given}: no such file{_near(given.removesuffix('.toml'))}")
        given = given.removesuffix(".toml")
    place = place_of(given)
    if place is not None:
        return _load(place, given, overrides, outside=outside)
    same = called(given)
    if len(same) == 1:
        return _load(shipped()[same[0]], same[0], overrides, outside=outside)
    if same:
        raise ScenarioError(f"{given}: several scenarios are called so: {', '.join(same)}")
    if file.is_dir():
        raise ScenarioError(f"{given}: is a folder; name a file in it, or a shipped scenario")
    if given == files.STDIN:
        raise ScenarioError(f"{given}: {files.NOT_STDIN}")
    raise ScenarioError(f"{given}: neither a file nor a shipped scenario{_near(given)}")


def _near(name: str) -> str:
    """What to do about an unknown name: similar names, or where all are listed."""
    known = shipped()
    names = dict.fromkeys([*known, *(full.rpartition("/")[2] for full in known)])
    found = closest(name, names)
    return f"; did you mean {' or '.join(found)}?" if found else "; see ddlsim list scenarios"


def _load(
    file: Path,
    name: str,
    overrides: Mapping[str, Any] | None,
    *,
    outside: bool,
    label: str | None = None,
) -> Scenario:
    return read(
        text_at(file, name),
        name,
        directory=str(file.parent),
        within=_within(file, outside=outside),
        overrides=overrides,
        label=label,
    )


def _within(file: Path, *, outside: bool) -> str:
    """The folder that holds all files which a scenario may name: its own, of a shipped one the
    folder of all, and the whole file system where that is allowed."""
    place = file.resolve()
    if outside:
        return place.anchor
    return str(next((root for root in roots() if place.is_relative_to(root)), file.parent))
