"""A deterministic simulator and judge for online schema change protocols.

`run`, `check`, `compat` and `strategy` are the Python API (`ddlsim.api`), imported when asked for.
"""

from importlib import import_module
from typing import Any, Final

__version__: Final = "0.1.0"
_API: Final = ("check", "compat", "run", "strategy")


def __getattr__(name: str) -> Any:
    if name in _API:
        return getattr(import_module("ddlsim.api"), name)
    raise AttributeError(f"module 'ddlsim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_API])
