"""A plug-in that a table of the scenario names."""

from typing import Any

from ddlsim.registry import Registry, UnknownPluginError
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, near


def plugin(registry: Registry[Any], table: dict[str, Any], origin: Origin, path: Path) -> Any:
    """What the key `name` means; without one, or with an unknown one, an error with a remedy."""
    name = table.get("name")
    if name is None:
        raise origin.error(path, f"name is missing; known: {', '.join(registry)}")
    if not isinstance(name, str):
        raise origin.error((*path, "name"), f"expected a string, not {name}")
    try:
        return registry.get(name)
    except UnknownPluginError:
        what = f"no {registry.kind} is called {name!r}; {near(name, registry)}"
        raise origin.error((*path, "name"), what) from None
