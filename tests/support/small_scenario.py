"""A scenario that is as small as possible, to which each test adds what it is about."""

from typing import Any

from ddlsim.scenario.scenario import Scenario, read

PROTOCOL = '[protocol]\npreset = "ignite3_tests"\n'
SCHEMA = '[schema]\nsql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"\n'


def scenario(text: str = "", overrides: dict[str, Any] | None = None) -> Scenario:
    """A scenario with a protocol, and the rest as given."""
    return read(f"{PROTOCOL}{text}", "small.toml", overrides=overrides)


def step(**keys: str) -> str:
    """A `[[step]]`; the values are written as TOML."""
    return "[[step]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())
