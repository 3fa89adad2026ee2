"""Imports one module from changed source, beside the others as they are."""

import builtins
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Final

from ddlsim.mutation.mutants import Mutant
from ddlsim.mutation.source import MARK, ROOT, marked

THIRD_PARTY: Final = (
    "simpy",
    "numpy",
    "msgspec",
    "networkx",
    "sqlglot",
    "sqlglot.dialects",
    "orjson",
)
"""What the parent imports once for all trials."""


class Reached:
    """Counts how often the changed statement was about to be executed."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


class _Loader(Loader):
    """Executes the changed module; no compiled copy of it is read or written."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None  # an ordinary one

    def exec_module(self, module: ModuleType) -> None:
        one = self._mutant
        tree = marked(one.source, one.line, one.column)
        exec(compile(tree, _file(one), "exec", dont_inherit=True), module.__dict__)


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        return spec_from_file_location(fullname, _file(self._mutant), loader=_Loader(self._mutant))


def _file(mutant: Mutant) -> str:
    return str(ROOT / mutant.place.partition(":")[0])


def install(mutant: Mutant) -> Reached:
    """Have this process import the mutant's module; returns the count of its changed statement.

    The module must not be imported yet.
    """
    assert mutant.module not in sys.modules, f"{mutant.module} is imported already"
    reached = Reached()
    setattr(builtins, MARK, reached)
    sys.meta_path.insert(0, _Finder(mutant))
    return reached
