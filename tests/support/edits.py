"""A method of the product with some of its text replaced: a fault for a test to plant."""

import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest


def edited(owner: Any, name: str, before: str, after: str) -> Callable[..., Any]:
    """A function of a class or a module, `before` replaced in its source; it must stand there once.

    The function sees what its module has, and `super()` works.
    """
    function = getattr(owner, name)
    text = textwrap.dedent(inspect.getsource(function))
    assert text.count(before) == 1, f"{before!r} is {text.count(before)} times in {name}"
    wrapped = textwrap.indent(text.replace(before, after), "    ")
    module = sys.modules[function.__module__]
    made: dict[str, Any] = {}
    source = f"def make(__class__):\n{wrapped}\n    return {name}\n"
    exec(compile(source, module.__file__ or "", "exec"), module.__dict__, made)  # ours
    result: Callable[..., Any] = made["make"](owner)
    return result


def plant(patch: pytest.MonkeyPatch, owner: Any, name: str, before: str, after: str) -> None:
    """Put the edited function in the place of the product's, wherever a module of it has it."""
    function, fault = getattr(owner, name), edited(owner, name, before, after)
    patch.setattr(owner, name, fault)
    for module in [one for key, one in sys.modules.items() if key.startswith("ddlsim.protocol")]:
        if getattr(module, name, None) is function:
            patch.setattr(module, name, fault)
