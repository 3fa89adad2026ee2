"""Imports modules from changed source, beside the others as they are."""

import ast
import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Final

from ddlsim.mutation.mutants import Mutant, files
from ddlsim.mutation.source import COUNTS, MARK, ROOT, Module, counted, marked

THIRD_PARTY: Final = (
    "simpy",
    "numpy",
    "numpy.random",
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


class _Changed:
    """A module's file, and its changed tree."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.path = str(ROOT / file)
        self.tree = tree


class _Loader(Loader):
    """Executes a changed module; no compiled copy of it is read or written."""

    def __init__(self, changed: _Changed) -> None:
        self._changed = changed

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None  # an ordinary one

    def exec_module(self, module: ModuleType) -> None:
        code = compile(self._changed.tree, self._changed.path, "exec", dont_inherit=True)
        exec(code, module.__dict__)


class _Finder(MetaPathFinder):
    def __init__(self, changed: Mapping[str, _Changed]) -> None:
        self._changed = changed

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        changed = self._changed.get(fullname)
        if changed is None:
            return None
        return spec_from_file_location(fullname, changed.path, loader=_Loader(changed))


def _use(changed: Mapping[str, _Changed]) -> None:
    for name in changed:
        assert name not in sys.modules, f"{name} is imported already"
    sys.meta_path.insert(0, _Finder(changed))


def install(mutant: Mutant) -> Reached:
    """Have this process import the mutant's module; returns the count of its changed statement.

    The module must not be imported yet.
    """
    reached = Reached()
    setattr(builtins, MARK, reached)
    file = mutant.place.partition(":")[0]
    tree = marked(mutant.source, mutant.line, mutant.column)
    _use({mutant.module: _Changed(file, tree)})
    return reached


def install_counts() -> list[int]:
    """Have this process count the protocol's statements; returns the counts by their numbers."""
    changed: dict[str, _Changed] = {}
    end = 0
    for file in files():
        module = Module.read(file)
        end = counted(module.tree, end)
        changed[module.name] = _Changed(file, module.tree)
    counts = [0] * end
    setattr(builtins, COUNTS, counts)
    _use(changed)
    return counts
