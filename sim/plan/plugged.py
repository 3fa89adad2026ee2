"""What workloads and faults from outside of the tree give to a plan: looked at before any run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from ddlsim.fitting import OURS
from ddlsim.model.programs import DdlItem, Program, Step, TransactionItem
from ddlsim.model.records import Record
from ddlsim.registry import place_in_plugins
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import Scenario

ITEMS: Final = (TransactionItem, DdlItem)


@contextmanager
def refused_at(scenario: Scenario, key: str) -> Iterator[None]:
    """Turn what the plug-in of a key of the scenario raises into `ScenarioError`.

    `ValueError` says what is wrong with the key; anything else is a mistake in a plug-in's file. A
    defect of our own goes on.
    """
    try:
        yield
    except ScenarioError:
        raise
    except (Exception, SystemExit) as error:
        place = place_in_plugins(error)
        if isinstance(error, ValueError):
            raise ScenarioError(f"{scenario.name}: {key}.{error}{place}") from None
        if not place:
            raise
        what = f"{type(error).__name__}: {error}"
        raise ScenarioError(f"{scenario.name}: {key}: {what}{place}; mend the plug-in") from error


def programs_of(scenario: Scenario, plugin: object, key: str, made: Any) -> list[Program]:
    """The programs that a workload has made; `ScenarioError` for any that cannot be run."""
    if _is_ours(plugin):
        found: list[Program] = made
        return found
    what = f"{scenario.name}: {key}: programs()"
    programs = _all(what, (Program,), made)
    for at, program in enumerate(programs):
        place = f"{what}[{at}]"
        if not isinstance(program.client, str):
            raise ScenarioError(f"{place}.client is {program.client!r:.60}; give a text")
        for number, item in enumerate(_all(f"{place}.items", ITEMS, program.items)):
            _check_item(f"{place}.items[{number}]", item, scenario.nodes)
    return programs


def steps_of(scenario: Scenario, plugin: object, key: str, made: Any) -> list[Step]:
    """The same of the steps that a workload has made."""
    if _is_ours(plugin):
        found: list[Step] = made
        return found
    what = f"{scenario.name}: {key}: steps()"
    steps = _all(what, (Step,), made)
    for at, step in enumerate(steps):
        _check_item(f"{what}[{at}]", step, scenario.nodes)
    return steps


def _is_ours(plugin: object) -> bool:
    return type(plugin).__module__.startswith(OURS)


def _all(what: str, kinds: tuple[type, ...], made: Any) -> list[Any]:
    """A list of records of these kinds."""
    names = " or ".join(kind.__name__ for kind in kinds)
    if not isinstance(made, list | tuple):
        raise ScenarioError(f"{what} is {made!r:.60}, not a list of {names}; give one")
    for at, one in enumerate(made):
        if not isinstance(one, kinds):
            raise ScenarioError(f"{what}[{at}] is {one!r:.60}, not a {names}; give one")
    return list(made)


def _check_types(what: str, one: Record) -> None:
    """Raise where a field of a record has a value of another type."""
    try:
        msgspec.convert(msgspec.to_builtins(one), type(one))
    except (msgspec.ValidationError, TypeError) as error:
        told = str(error)[:1].lower() + str(error)[1:]
        raise ScenarioError(f"{what}: {told}; give one of the right type") from None


def _check_item(what: str, item: TransactionItem | DdlItem | Step, nodes: tuple[str, ...]) -> None:
    _check_types(what, item)
    if item.node not in nodes:
        raise ScenarioError(f"{what}.node: no node {item.node!r}; nodes are {', '.join(nodes)}")
    for field in ("pause_us", "gap_us", "rest_us", "at_us", "plus_us"):
        value = getattr(item, field, None)
        if value is not None and value < 0:
            raise ScenarioError(f"{what}.{field}: {value} is below 0; give 0 or more")
